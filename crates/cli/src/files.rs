//! The input of `append`: owns the open file or standard input, guarantees that records come in order and
//! none is split, never holds more than one line.

#![expect(clippy::disallowed_types, reason = "the command line reads its user's files")]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use kelda_client::limits::MAX_RECORD_BYTES;

use crate::exit::Failure;

const BUFFER_BYTES: usize = 256 * 1024;

/// One input, read record by record.
pub struct Input {
    name: PathBuf,
    reader: Box<dyn BufRead + Send>,
    whole: bool,
    done: bool,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path, whole: bool) -> Result<Input, Failure> {
        let reader: Box<dyn BufRead + Send> = if path == Path::new("-") {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, io::stdin()))
        } else {
            let file = File::open(path).map_err(|error| failed(path, &error))?;
            Box::new(BufReader::with_capacity(BUFFER_BYTES, file))
        };
        Ok(Input { name: path.to_owned(), reader, whole, done: false })
    }

    /// Puts the next record's bytes in `record` (a line keeps its newline); false at the end.
    pub fn next(&mut self, record: &mut Vec<u8>) -> Result<bool, Failure> {
        record.clear();
        if self.done {
            return Ok(false);
        }
        let limit = MAX_RECORD_BYTES as u64 + 1;
        let mut limited = (&mut self.reader).take(limit);
        let read = if self.whole { limited.read_to_end(record) } else { limited.read_until(b'\n', record) };
        let read = read.map_err(|error| failed(&self.name, &error))?;
        if read as u64 == limit {
            let name = self.name.display();
            return Err(Failure::local(format!("{name}: a record of more than {MAX_RECORD_BYTES} bytes")));
        }
        self.done = self.whole || read == 0;
        Ok(read > 0)
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::local(format!("{}: {error}", path.display()))
}
