//! One input of `append`: owns the open file or standard input, guarantees that records come in order and
//! none is split, never holds more than one record and its read-ahead.

#![expect(clippy::disallowed_types, reason = "the command line reads its user's files")]

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use kelda_client::limits::MAX_RECORD_BYTES;

use super::batches::Shape;
use crate::exit::Failure;

const BUFFER_BYTES: usize = 256 * 1024;
/// Most bytes of one record as a line of JSON: base64, or text that has to be escaped here and there.
const MAX_LINE_BYTES: usize = 2 * MAX_RECORD_BYTES;
const STANDARD_INPUT: &str = "standard input";

/// One input, read record by record.
pub struct Input {
    name: String,
    reader: BufReader<Box<dyn Read + Send>>,
    /// Bytes of a file; nothing for a pipe or a terminal, where reading can mean waiting.
    len: Option<u64>,
    line: u64,
    done: bool,
    by_line: bool,
}

impl Input {
    /// Opens files, `-` and none being standard input.
    pub fn open_all(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
        if paths.is_empty() {
            return Ok(vec![Input::open(Path::new("-"))?]);
        }
        paths.iter().map(|path| Input::open(path)).collect()
    }

    fn open(path: &Path) -> Result<Input, Failure> {
        let (name, file) = if path == Path::new("-") {
            let own = io::stdin().as_fd().try_clone_to_owned().map(File::from);
            (STANDARD_INPUT.to_owned(), own)
        } else {
            (path.display().to_string(), File::open(path))
        };
        let file = file.map_err(|error| failed(&name, &error))?;
        let about = file.metadata().map_err(|error| failed(&name, &error))?;
        if about.is_dir() {
            return Err(Failure::local(format!("{name}: it is a directory; name the files in it")));
        }
        let len = about.is_file().then_some(about.len());
        Ok(Input::new(name, Box::new(file), len))
    }

    fn new(name: String, reader: Box<dyn Read + Send>, len: Option<u64>) -> Input {
        let reader = BufReader::with_capacity(BUFFER_BYTES, reader);
        Input { name, reader, len, line: 0, done: false, by_line: true }
    }

    /// Its bytes, when they are known.
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// Puts the next record's bytes in `record` (a line keeps its newline); false at the end.
    pub fn next(&mut self, record: &mut Vec<u8>, shape: Shape) -> Result<bool, Failure> {
        record.clear();
        if self.done {
            return Ok(false);
        }
        self.line += 1;
        self.by_line = shape != Shape::Whole;
        let most = if shape == Shape::Records { MAX_LINE_BYTES } else { MAX_RECORD_BYTES };
        let mut limited = (&mut self.reader).take(most as u64 + 1);
        let read = match shape {
            Shape::Whole => limited.read_to_end(record),
            Shape::Lines | Shape::Records => limited.read_until(b'\n', record),
        };
        let read = read.map_err(|error| failed(&self.name, &error))?;
        if read > most {
            return Err(Failure::input(format!("{}: a record of more than {most} bytes", self.place())));
        }
        self.done = shape == Shape::Whole || read == 0;
        Ok(read > 0)
    }

    /// Whether the next record may be long in coming: it is not read ahead, and the input is no file.
    pub fn would_wait(&self) -> bool {
        self.len.is_none() && !self.reader.buffer().contains(&b'\n')
    }

    /// Where the record is that was read last.
    pub fn place(&self) -> String {
        if self.by_line { format!("{} line {}", self.name, self.line) } else { self.name.clone() }
    }
}

#[cfg(test)]
impl Input {
    /// A file that holds these bytes.
    pub fn of_bytes(name: &str, bytes: Vec<u8>) -> Input {
        let len = Some(bytes.len() as u64);
        Input::new(name.to_owned(), Box::new(io::Cursor::new(bytes)), len)
    }
}

fn failed(name: &str, error: &io::Error) -> Failure {
    Failure::local(format!("{name}: {error}"))
}
