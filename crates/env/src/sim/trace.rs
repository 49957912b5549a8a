//! What happened in a run: owns its digest and its last lines. Guarantees that two runs with equal digests did the same
//! things in the same order. Never grows without bound.

use std::collections::VecDeque;

/// Lines kept for the message of a failed run.
const RECENT_LINES: usize = 200;

/// The offset basis and the prime of the 64-bit FNV-1a hash.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

pub(super) struct Trace {
    hash: u64,
    recent: VecDeque<String>,
}

impl Trace {
    pub(super) fn new() -> Trace {
        Trace { hash: FNV_BASIS, recent: VecDeque::new() }
    }

    pub(super) fn push(&mut self, line: String) {
        for byte in line.bytes().chain([b'\n']) {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        }
        if self.recent.len() == RECENT_LINES {
            self.recent.pop_front();
        }
        self.recent.push_back(line);
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    pub(super) fn recent(&self) -> String {
        self.recent.iter().fold(String::new(), |text, line| text + line + "\n")
    }
}
