//! Which offsets are done with, above the restart point: owns the runs of them, guarantees that touching runs are one, so
//! that there are never more runs than entries in hand and one. Never knows why an offset is done with.

use std::collections::BTreeMap;

/// Runs of offsets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(BTreeMap<u64, Run>);

/// A run, from its key up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) end: u64,
    /// The highest of it that was finished; the others are gone.
    pub(crate) finished: Option<u64>,
}

impl Ranges {
    /// Adds `start..end`, of which `finished` is the highest that was finished.
    pub(crate) fn add(&mut self, mut start: u64, mut end: u64, mut finished: Option<u64>) {
        // The run before, if it reaches this one, and all that begin within.
        while let Some((&begins, &run)) = self.0.range(..=end).next_back() {
            if run.end < start {
                break;
            }
            self.0.remove(&begins);
            (start, end) = (start.min(begins), end.max(run.end));
            finished = finished.max(run.finished);
        }
        self.0.insert(start, Run { end, finished });
    }

    /// Where the run ends that `offset` is in.
    pub(crate) fn end_of(&self, offset: u64) -> Option<u64> {
        let (_, run) = self.0.range(..=offset).next_back()?;
        (run.end > offset).then_some(run.end)
    }

    /// Where the first run above `offset` begins.
    pub(crate) fn next_start(&self, offset: u64) -> Option<u64> {
        self.0.range(offset.checked_add(1)?..).next().map(|(start, _)| *start)
    }

    /// Takes the run out that `offset` is in.
    pub(crate) fn take(&mut self, offset: u64) -> Option<Run> {
        let (&start, &run) = self.0.range(..=offset).next_back()?;
        if run.end <= offset {
            return None;
        }
        self.0.remove(&start);
        Some(run)
    }

    /// How many runs there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_what_a_set_is(added in prop::collection::vec((0_u64..60, 1_u64..6, any::<bool>()), 0..40)) {
            let (mut ranges, mut set, mut done) = (Ranges::default(), BTreeSet::new(), BTreeSet::new());
            for (start, length, finished) in added {
                let end = start + length;
                ranges.add(start, end, finished.then_some(end - 1));
                set.extend(start..end);
                if finished {
                    done.insert(end - 1);
                }
            }
            for offset in 0..70 {
                let end = set.contains(&offset).then(|| (offset..).find(|at| !set.contains(at)));
                prop_assert_eq!(ranges.end_of(offset), end.flatten());
                let next = (offset + 1..70).find(|at| set.contains(at) && !set.contains(&(at - 1)));
                prop_assert_eq!(ranges.next_start(offset), next);
                if let Some(run) = ranges.clone().take(offset) {
                    let start = (0..=offset).rev().take_while(|at| set.contains(at)).last();
                    let highest = done.range(start.unwrap_or(offset)..run.end).next_back().copied();
                    prop_assert_eq!((Some(run.end), run.finished), (ranges.end_of(offset), highest));
                }
            }
        }
    }
}
