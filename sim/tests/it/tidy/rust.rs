//! Just enough of Rust's syntax to measure functions: owns what is code and what is text or comment, guarantees
//! nothing about programs that do not compile, never resolves a name.

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// From the line of its `fn` to that of its closing brace, both included.
    pub lines: usize,
}

/// The functions of a file, nested ones too.
pub fn functions(text: &str) -> Vec<Function> {
    let code = code_only(text);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let starts_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let rest = code[at + 3..].trim_start();
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !starts_word || name.is_empty() {
            continue;
        }
        if let Some(end) = body_end(&code[at..]) {
            let lines = code[at..at + end].matches('\n').count() + 1;
            found.push(Function { name, lines });
        }
    }
    found
}

/// The end of the body of the function that `code` begins with; none for a declaration.
fn body_end(code: &str) -> Option<usize> {
    let (mut braces, mut others) = (0, 0);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => others += 1,
            ')' | ']' => others -= 1,
            ';' if braces == 0 && others == 0 => return None,
            '{' => braces += 1,
            '}' if braces == 1 => return Some(at),
            '}' if braces == 0 => return None,
            '}' => braces -= 1,
            _ => {}
        }
    }
    None
}

/// The text with comments, strings and characters replaced by spaces; lines stay where they are.
pub fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = blank_length(rest, code.chars().next_back()).unwrap_or(0);
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    code
}

/// The length of the comment, string or character that `rest` begins with.
fn blank_length(rest: &str, before: Option<char>) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if rest.starts_with('"') {
        return Some(string(rest));
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with('r') && !in_word || before == Some('b') && rest.starts_with('r') {
        return raw_string(rest);
    }
    None
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character, not a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (_, _escaped) = chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}

fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    let body = rest[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(rest.len(), |at| 2 + hashes + at + end.len()))
}

#[test]
fn functions_are_measured_past_strings_comments_and_lifetimes() {
    let text = r##"
fn one() { 1 }
fn two<'a>(x: &'a str, y: [u8; 2]) -> char
{ // } not here
    let _ = ("}", '}', '\'', b'}', r#"}"}"#, br"}", "\"}");
    /* } /* } */ } */
    fn inner() {
    }
    'x'
}
trait T { fn declared(&self); fn given(&self) {
} }
const F: fn (u8) = |_| {};
"##;
    let expected = [("one", 1), ("two", 8), ("inner", 2), ("given", 2)];
    let expected = expected.map(|(name, lines)| Function { name: name.to_owned(), lines });
    assert_eq!(functions(text), expected);
}
