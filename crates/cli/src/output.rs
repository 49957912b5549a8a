//! What is printed: owns standard output, guarantees that a reader who went away ends the command quietly,
//! never mixes messages into data.

mod pretty;

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};

use kelda_client::StoredRecord;

use crate::args::Format;
use crate::exit::Failure;

const BUFFER_BYTES: usize = 256 * 1024;

/// So many records, in words.
pub fn records(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}

/// Prints records in one format.
pub struct Records {
    format: Format,
    pretty: pretty::Style,
    out: BufWriter<StdoutLock<'static>>,
}

impl Records {
    pub fn new(format: Format) -> Records {
        let pretty = pretty::Style::new(io::stdout().is_terminal());
        Records { format, pretty, out: BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock()) }
    }

    pub fn print(&mut self, record: &StoredRecord) -> Result<(), Failure> {
        let body = &record.record.body;
        let written = match self.format {
            Format::Raw => self.out.write_all(body),
            Format::Lines if body.ends_with(b"\n") => self.out.write_all(body),
            Format::Lines => self.out.write_all(body).and_then(|()| self.out.write_all(b"\n")),
            Format::Json => self.print_json(record),
            Format::Pretty => self.out.write_all(self.pretty.record(record).as_bytes()),
        };
        written.map_err(|error| failed(&error))
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| failed(&error))
    }

    fn print_json(&mut self, record: &StoredRecord) -> io::Result<()> {
        let mut line = Vec::new();
        kelda_server::http::json::put_record(&mut line, record, true);
        line.push(b'\n');
        self.out.write_all(&line)
    }
}

/// Prints one line of JSON.
pub fn line(value: &serde_json::Value) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{value}").map_err(|error| failed(&error))
}

/// An offset as all JSON of Kelda writes it: 20 digits.
pub fn offset(offset: u64) -> String {
    format!("{offset:020}")
}

/// Prints one line of text.
pub fn text(value: &str) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{value}").map_err(|error| failed(&error))
}

/// Prints text as it is.
pub fn whole(value: &str) -> Result<(), Failure> {
    bytes(value.as_bytes())
}

/// Prints bytes as they are.
pub fn bytes(value: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(value).and_then(|()| out.flush()).map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::local(format!("standard output: {error}")),
    }
}
