//! What is printed: owns standard output, guarantees that a reader who went away ends the command quietly,
//! never mixes messages into data.

use std::io::{self, BufWriter, StdoutLock, Write};

use kelda_client::StoredRecord;
use serde_json::json;

use crate::args::Format;
use crate::exit::Failure;

const BUFFER_BYTES: usize = 256 * 1024;

/// Prints records in one format.
pub struct Records {
    format: Format,
    out: BufWriter<StdoutLock<'static>>,
}

impl Records {
    pub fn new(format: Format) -> Records {
        Records { format, out: BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock()) }
    }

    pub fn print(&mut self, record: &StoredRecord) -> Result<(), Failure> {
        let body = &record.record.body;
        let written = match self.format {
            Format::Raw => self.out.write_all(body),
            Format::Lines if body.ends_with(b"\n") => self.out.write_all(body),
            Format::Lines => self.out.write_all(body).and_then(|()| self.out.write_all(b"\n")),
            Format::Json => self.print_json(record),
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

/// Says what an append did.
pub fn appended(json: bool, name: &str, records: u64, bytes: u64, next: Option<u64>) -> Result<(), Failure> {
    if json {
        let next_offset = next.map(|next| next.to_string());
        return line(
            &json!({"stream": name, "records": records, "bytes": bytes, "next_offset": next_offset}),
        );
    }
    let until = next.map(|next| format!(", next offset {next}")).unwrap_or_default();
    eprintln!("{name}: {records} records, {bytes} bytes appended{until}");
    Ok(())
}

/// Prints one line of JSON.
pub fn line(value: &serde_json::Value) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{value}").map_err(|error| failed(&error))
}

/// Prints one line of text.
pub fn text(value: &str) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{value}").map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::local(format!("standard output: {error}")),
    }
}
