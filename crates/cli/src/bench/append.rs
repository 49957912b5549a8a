//! `kelda bench append`: owns what is appended and until when. Guarantees that what is counted was acknowledged as durable.
//! Never looks at what was stored.

use std::time::Duration;

use hyper::Method;
use serde_json::json;

use super::args::{AppendArgs, EndArgs, Form};
use super::connection::Target;
use super::load::{self, End, Pace, Work};
use super::payload::{self, Payload};
use super::report::{Measurement, Report};
use super::size;
use super::streams::Streams;
use super::world::World;
use crate::exit::Failure;

/// How long it takes when nothing else ends it.
const DURATION: Duration = Duration::from_secs(10);

pub async fn run(world: &World, endpoint: &str, args: &AppendArgs) -> Result<Report, Failure> {
    let form = form(args)?;
    let append = Append {
        streams: args.streams,
        form,
        batch: args.batch,
        record_bytes: args.record_bytes,
        pace: Pace {
            in_flight: args.in_flight,
            rate: args.rate,
            warm_up: args.warm_up,
            end: end(&args.end, args.batch, args.record_bytes),
        },
        keep: args.keep,
    };
    let parameters = json!({
        "streams": args.streams,
        "in_flight": args.in_flight,
        "batch": args.batch,
        "form": form,
        "record_bytes": args.record_bytes,
        "records": args.end.records,
        "bytes": args.end.bytes,
        "duration_seconds": args.end.duration.map(|it| it.as_secs_f64()),
        "warm_up_seconds": args.warm_up.as_secs_f64(),
        "rate": args.rate,
    });
    let measured = append.measure(world, endpoint).await?;
    Ok(Report::new(world, "append", Some(endpoint), parameters).with(measured))
}

/// Appends to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Append {
    pub streams: u32,
    pub form: Form,
    pub batch: u32,
    pub record_bytes: u64,
    pub pace: Pace,
    pub keep: bool,
}

impl Append {
    pub async fn measure(&self, world: &World, endpoint: &str) -> Result<Measurement, Failure> {
        let target = Target::new(endpoint)?;
        let (random, record_bytes) = (&*world.random, self.record_bytes as usize);
        let (body, content_type) = payload::batch(random, self.form, self.batch, record_bytes)?;
        let streams =
            Streams::create(endpoint, random, self.streams, "application/octet-stream", self.keep).await?;
        let (records, bytes) = (u64::from(self.batch), u64::from(self.batch) * self.record_bytes);
        let paths = streams.paths()?;
        let work = Work { method: Method::POST, paths, payload: Payload::Fixed(body), content_type };
        let tally = streams.during(load::measure(world, &target, work, self.pace)).await?;
        Ok(Measurement::of_load(self.name(), &tally, records, bytes).with_cpu(tally.processor))
    }

    fn name(&self) -> String {
        let streams =
            if self.streams == 1 { "1 stream".to_owned() } else { format!("{} streams", self.streams) };
        let (batch, size, in_flight) = (self.batch, size::format(self.record_bytes), self.pace.in_flight);
        format!("append {batch} x {size}, {streams}, {in_flight} in flight")
    }
}

/// The form of the requests.
fn form(args: &AppendArgs) -> Result<Form, Failure> {
    match args.form {
        None if args.batch == 1 => Ok(Form::Raw),
        None => Ok(Form::Binary),
        Some(Form::Raw) if args.batch > 1 => {
            let batch = args.batch;
            Err(Failure::usage(format!(
                "--form raw has one record in a request, not {batch}: use json or binary"
            )))
        }
        Some(form) => Ok(form),
    }
}

/// The end that was asked for, in whole requests.
fn end(end: &EndArgs, batch: u32, record_bytes: u64) -> End {
    let batch = u64::from(batch);
    match (end.records, end.bytes) {
        (Some(records), _) => End::Requests(records.div_ceil(batch)),
        (None, Some(bytes)) => End::Requests(bytes.div_ceil(batch * record_bytes)),
        (None, None) => End::After(end.duration.unwrap_or(DURATION)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_whole_requests() {
        let at = |records, bytes, duration| end(&EndArgs { records, bytes, duration }, 256, 1024);
        assert_eq!(at(Some(256), None, None), End::Requests(1));
        assert_eq!(at(Some(257), None, None), End::Requests(2));
        assert_eq!(at(None, Some(1), None), End::Requests(1));
        assert_eq!(at(None, Some(20 << 30), None), End::Requests(81_920));
        assert_eq!(at(None, None, Some(Duration::from_secs(3))), End::After(Duration::from_secs(3)));
        assert_eq!(at(None, None, None), End::After(DURATION));
    }
}
