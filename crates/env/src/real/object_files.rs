//! Reading objects that are files: owns the files that are kept open and the reads of their ranges. Guarantees that what
//! the page cache of the system holds is read without a change of threads and that everything else is read where it may
//! block. Never keeps more files open than the bound, never writes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};

/// The system reads files into memory in pieces of about this size, or larger ones; in bytes.
const PROBE_BYTES: usize = 64 << 10;
/// Files that are kept open.
const MAX_OPEN: usize = 64;

/// The files of objects that were read lately.
#[derive(Default)]
pub(super) struct ObjectFiles {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// Grows by one with every use, so it orders the files by their last use.
    clock: u64,
    files: BTreeMap<String, (u64, Arc<File>)>,
}

impl ObjectFiles {
    /// The file of an object, if it is open.
    pub(super) fn get(&self, key: &str) -> Option<Arc<File>> {
        let mut open = self.open.lock();
        open.clock += 1;
        let now = open.clock;
        let (used, file) = open.files.get_mut(key)?;
        *used = now;
        Some(Arc::clone(file))
    }

    /// Opens the file of an object; may block.
    ///
    /// # Errors
    /// It is not there, or cannot be opened.
    pub(super) fn open(&self, key: &str, path: &Path) -> io::Result<Arc<File>> {
        let file = Arc::new(File::open(path)?);
        let mut open = self.open.lock();
        open.clock += 1;
        let now = open.clock;
        if open.files.len() >= MAX_OPEN {
            let oldest = open.files.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|key| open.files.remove(&key));
        }
        open.files.insert(key.to_owned(), (now, Arc::clone(&file)));
        Ok(file)
    }

    /// Closes the file of an object whose name goes or gets other bytes.
    pub(super) fn forget(&self, key: &str) {
        self.open.lock().files.remove(key);
    }
}

/// Ranges of a file, if all of them seem to be in memory already.
pub(super) fn read_now(file: &File, ranges: &[Range<u64>]) -> Option<Vec<Bytes>> {
    ranges.iter().map(|range| part_now(file, range)).collect()
}

fn part_now(file: &File, range: &Range<u64>) -> Option<Bytes> {
    let mut probes = (range.start..range.end).step_by(PROBE_BYTES).chain(range.end.checked_sub(1));
    if !probes.all(|position| is_cached(file, position)) {
        return None;
    }
    // What the system dropped since the look is read from the medium here, which is rare and short. Anything else that is
    // odd is for the read that may block to report.
    read(file, range).ok().filter(|bytes| bytes.len() == length(range))
}

/// Whether a byte of a file can be read without waiting for the medium.
fn is_cached(file: &File, position: u64) -> bool {
    let mut byte = [0];
    let slice = &mut [IoSliceMut::new(&mut byte)];
    preadv2(file, slice, position, ReadWriteFlags::NOWAIT) == Ok(1)
}

/// A range of a file; shorter when the file ends in it. May block.
///
/// # Errors
/// The file cannot be read.
pub(super) fn read(file: &File, range: &Range<u64>) -> io::Result<Bytes> {
    let want = length(range);
    let mut bytes = Vec::with_capacity(want);
    while bytes.len() < want {
        let position = range.start + bytes.len() as u64;
        match pread(file, spare_capacity(&mut bytes), position) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // The allocator may give more room than was asked for.
    bytes.truncate(want);
    Ok(bytes.into())
}

fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX)
}
