//! What a check found: owns the kinds of faults and the list of them. Guarantees that the list is bounded and the count
//! exact, and that several faults at one place are one. Never decides what a fault is.

use kelda_format::{Offset, StreamId};

/// Findings that are kept; those beyond are counted.
pub const MAX_FINDINGS: usize = 1000;

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its bytes are not what was written.
    Damaged,
    /// It is not there.
    Missing,
    /// It was written by a newer version of Kelda.
    Newer,
    /// It does not belong to this metadata.
    Foreign,
    /// The medium does not give its bytes.
    Unreadable,
}

/// Records that a fault makes unreadable, or that it makes uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affected {
    /// The stream.
    pub stream: StreamId,
    /// The first offset.
    pub from: Offset,
    /// The offset after the last; none where it is not known how many records there were.
    pub to: Option<Offset>,
}

/// One thing that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub fault: Fault,
    /// Path below the data directory, or key in the object store.
    pub file: String,
    /// The byte of the file, where one can be named.
    pub position: Option<u64>,
    /// What was found, and what would be right.
    pub detail: String,
    /// The records concerned; none when no record that can be read lies there.
    pub affected: Vec<Affected>,
}

/// All findings of a check.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
    total: u64,
}

impl Findings {
    /// The findings that were kept, in the order in which they were made.
    #[must_use]
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Takes a finding in. One at the place of an earlier one only adds records to that.
    pub fn push(&mut self, finding: Finding) {
        let mut of_file = self.list.iter_mut().rev().take_while(|known| known.file == finding.file);
        let same = |known: &&mut Finding| known.position.is_some() && known.position == finding.position;
        if let Some(known) = of_file.find(same) {
            finding.affected.into_iter().for_each(|records| add(&mut known.affected, records));
            return;
        }
        self.total += 1;
        if self.list.len() < MAX_FINDINGS {
            self.list.push(finding);
        }
    }
}

/// Adds records to a list, as part of a range that they overlap or go on.
fn add(list: &mut Vec<Affected>, records: Affected) {
    let goes_on = |known: &Affected| known.stream == records.stream && known.to == Some(records.from);
    match list.iter().position(goes_on) {
        Some(at) => list[at].to = records.to,
        None if list.contains(&records) => {}
        None => list.push(records),
    }
}
