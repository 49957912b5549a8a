//! Spans of time as RabbitMQ writes them: a number and one of `Y M D h m s`.

/// The units, longest first, in milliseconds.
const UNITS: [(char, u64); 6] = [
    ('Y', 365 * 86_400_000),
    ('M', 30 * 86_400_000),
    ('D', 86_400_000),
    ('h', 3_600_000),
    ('m', 60_000),
    ('s', 1_000),
];

/// Milliseconds of a span; nothing when it is none, or of no time. One line end behind it is taken as RabbitMQ takes it.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let unit = text.chars().last()?;
    let (_, ms) = UNITS.into_iter().find(|(letter, _)| *letter == unit)?;
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // What is longer than any number is for ever.
    let count: u64 = digits.parse().unwrap_or(u64::MAX);
    (count > 0).then(|| count.saturating_mul(ms))
}

/// The canonical spelling: the largest of `D h m s` that holds it exactly, rounded up to seconds.
pub fn format(ms: u64) -> String {
    let ms = ms.div_ceil(1_000).saturating_mul(1_000);
    let (letter, size) = UNITS[2..].iter().find(|(_, size)| ms.is_multiple_of(*size)).unwrap_or(&UNITS[5]);
    format!("{}{letter}", ms / size)
}
