//! Comparisons with a target: owns what is divided by what and how large it is to be. Guarantees that a ratio of something
//! that was not measured is missed, not met. Never measures.

use serde::Serialize;

/// Which side of the target is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wanted {
    /// As much as the target or more.
    AtLeast,
    /// Less than the target.
    Under,
}

/// A value beside its target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub name: String,
    pub value: f64,
    pub wanted: Wanted,
    pub target: f64,
    pub met: bool,
}

impl Ratio {
    pub fn new(name: impl Into<String>, part: f64, whole: f64, wanted: Wanted, target: f64) -> Ratio {
        let value = if whole > 0.0 { part / whole } else { 0.0 };
        let measured = part > 0.0 && whole > 0.0;
        let good = match wanted {
            Wanted::AtLeast => value >= target,
            Wanted::Under => value < target,
        };
        Ratio { name: name.into(), value, wanted, target, met: measured && good }
    }

    /// Of several rounds, each with its part and its whole, at least one: the one whose ratio is in the middle, of two the
    /// lower one. The lowest and the highest are told in the name.
    pub fn median(name: &str, pairs: &[(f64, f64)], wanted: Wanted, target: f64) -> Ratio {
        let mut all: Vec<Ratio> =
            pairs.iter().map(|(part, whole)| Ratio::new(name, *part, *whole, wanted, target)).collect();
        all.sort_by(|one, other| one.value.total_cmp(&other.value));
        let (lowest, highest) = (all[0].value, all[all.len() - 1].value);
        let mut ratio = all.swap_remove((all.len() - 1) / 2);
        if pairs.len() > 1 {
            ratio.name = format!("{name} ({lowest:.2} to {highest:.2} in {} rounds)", pairs.len());
        }
        ratio
    }

    /// The target in words.
    pub fn goal(&self) -> String {
        match self.wanted {
            Wanted::AtLeast => format!("at least {}", self.target),
            Wanted::Under => format!("under {}", self.target),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_met_on_its_side_of_the_target() {
        let met = |part, whole, wanted| Ratio::new("x", part, whole, wanted, 0.5).met;
        assert!(met(1.0, 2.0, Wanted::AtLeast), "the target itself is enough");
        assert!(!met(0.9, 2.0, Wanted::AtLeast));
        assert!(met(0.9, 2.0, Wanted::Under));
        assert!(!met(1.0, 2.0, Wanted::Under), "the target itself is too much");
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        for wanted in [Wanted::AtLeast, Wanted::Under] {
            assert!(!Ratio::new("x", 1.0, 0.0, wanted, 0.5).met);
            assert!(!Ratio::new("x", 0.0, 1.0, wanted, 0.5).met);
        }
    }
}
