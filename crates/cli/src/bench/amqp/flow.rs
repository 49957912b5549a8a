//! Messages through one queue: owns how they are published, consumed and timed. Guarantees that every message is confirmed, and
//! comes once and in order, or the measurement fails. Never knows which broker it is.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use kelda_env::processor_time;

use super::frames::{self, Frame};
use super::link::{Broker, Link};
use crate::bench::latency::Latencies;
use crate::bench::payload::{self, Payload, STAMP_BYTES};
use crate::bench::report::{Counts, Measurement};
use crate::bench::size;
use crate::bench::world::World;
use crate::exit::Failure;

/// Most messages without their confirm.
const UNCONFIRMED: usize = 1000;
const PREFETCH: u16 = 1000;
/// Deliveries that one acknowledgement is for.
const ACKNOWLEDGED: u64 = 100;
/// Bytes that are made ready to be written at once.
const OUT_BYTES: usize = 256 << 10;

/// What is published.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) messages: u64,
    pub(super) message_bytes: u64,
}

/// Confirms that are waited for, in the order of their messages.
struct Confirms {
    /// When each was sent, in nanoseconds.
    sent: VecDeque<u64>,
    /// The tag of the first of them.
    first: u64,
    latencies: Latencies,
}

impl Confirms {
    fn new() -> Confirms {
        Confirms { sent: VecDeque::with_capacity(UNCONFIRMED), first: 1, latencies: Latencies::new() }
    }

    /// Takes what came; the time is that of now.
    fn take(&mut self, frame: Frame, now: u64) -> Result<(), Failure> {
        let Frame::Method(id, arguments) = frame else { return Ok(()) };
        let confirmed = (id == frames::ACK).then(|| frames::acknowledged(arguments)).flatten();
        let Some((tag, multiple)) = confirmed else {
            let what = if id == frames::NACK { "a message was refused" } else { "no confirm came" };
            return Err(Failure::local(format!("{what}: method {id:?} of the broker")));
        };
        let end = self.first + self.sent.len() as u64;
        if !(self.first..end).contains(&tag) || !multiple && tag != self.first {
            return Err(Failure::local(format!("the confirm {tag} came while {} was the next", self.first)));
        }
        for sent in self.sent.drain(..=(tag - self.first) as usize) {
            self.latencies.add_nanos(now.saturating_sub(sent));
        }
        self.first = tag + 1;
        Ok(())
    }
}

/// Publishes to a queue that is there, at most so many unconfirmed.
pub(super) async fn publish(
    world: &World,
    broker: &Broker,
    queue: &str,
    load: Load,
) -> Result<Measurement, Failure> {
    let mut link = Link::open(broker, &world.clock, false).await?;
    link.confirms().await?;
    let body = payload::record(&*world.random, load.message_bytes as usize);
    let mut message = BytesMut::new();
    frames::put_message(&mut message, queue, &body, link.body_bytes);
    let mut confirms = Confirms::new();
    let (began, processor) = (world.clock.monotonic(), processor_time());
    let mut left = load.messages;
    loop {
        let now = world.nanos();
        while left > 0 && confirms.sent.len() < UNCONFIRMED && link.out.len() < OUT_BYTES {
            link.out.put_slice(&message);
            confirms.sent.push_back(now);
            left -= 1;
        }
        if left == 0 && confirms.sent.is_empty() {
            break;
        }
        link.pump().await?;
        let now = world.nanos();
        while let Some(frame) = link.next_frame()? {
            confirms.take(frame, now)?;
        }
    }
    let (elapsed, processor) = (world.clock.monotonic() - began, processor_time() - processor);
    link.close().await?;
    let name = format!("publish {}, {UNCONFIRMED} unconfirmed", size::format(load.message_bytes));
    Ok(Measurement::new(name, elapsed, counts(load.messages, load.message_bytes))
        .with_latency("confirm", &confirms.latencies)
        .with_cpu(processor))
}

/// Consumes all that [`publish`] published, from the first on.
pub(super) async fn consume(
    world: &World,
    broker: &Broker,
    queue: &str,
    load: Load,
) -> Result<Measurement, Failure> {
    let mut link = Link::open(broker, &world.clock, false).await?;
    let (began, processor) = (world.clock.monotonic(), processor_time());
    link.consume(queue, "first", PREFETCH).await?;
    let (mut messages, mut part) = (0, 0);
    while messages < load.messages {
        while let Some(frame) = link.next_frame()? {
            let Frame::Body(body) = frame else { continue };
            part += body.len() as u64;
            if part < load.message_bytes {
                continue;
            }
            (messages, part) = (messages + 1, 0);
            if messages % ACKNOWLEDGED == 0 {
                link.acknowledge(messages);
            }
        }
        if messages < load.messages {
            link.pump().await?;
        }
    }
    let (elapsed, processor) = (world.clock.monotonic() - began, processor_time() - processor);
    link.close().await?;
    let name = format!("consume {}, prefetch {PREFETCH}", size::format(load.message_bytes));
    Ok(Measurement::new(name, elapsed, counts(messages, load.message_bytes)).with_cpu(processor))
}

/// Publishes so many a second and times each from there to its delivery, on a connection of its own.
pub(super) async fn latency(
    world: &World,
    broker: &Broker,
    queue: &str,
    (rate, duration, message_bytes): (f64, Duration, u64),
) -> Result<Measurement, Failure> {
    let count = (rate * duration.as_secs_f64()).ceil().max(1.0) as u64;
    let mut reader = Link::open(broker, &world.clock, false).await?;
    reader.consume(queue, "next", PREFETCH).await?;
    let mut writer = Link::open(broker, &world.clock, false).await?;
    writer.confirms().await?;
    let began = world.clock.monotonic();
    let sending = send_paced(world, &mut writer, queue, (rate, count, message_bytes));
    let (latencies, ()) = tokio::try_join!(receive(world, &mut reader, count), sending)?;
    let elapsed = world.clock.monotonic() - began;
    reader.close().await?;
    writer.close().await?;
    let name = format!("{rate} messages a second, {}", size::format(message_bytes));
    Ok(Measurement::new(name, elapsed, counts(count, message_bytes)).with_latency("delivery", &latencies))
}

async fn send_paced(
    world: &World,
    link: &mut Link,
    queue: &str,
    (rate, count, message_bytes): (f64, u64, u64),
) -> Result<(), Failure> {
    let payload = Payload::Stamped(payload::record(&*world.random, message_bytes as usize));
    let mut confirms = Confirms::new();
    let began = world.clock.monotonic();
    for number in 0..count {
        let due = began + Duration::from_secs_f64(number as f64 / rate);
        let wait = due.saturating_sub(world.clock.monotonic());
        let mut timer = world.clock.sleep(wait);
        while due > world.clock.monotonic() {
            tokio::select! {
                () = &mut timer => break,
                pumped = link.pump() => pumped?,
            }
        }
        let now = world.nanos();
        while let Some(frame) = link.next_frame()? {
            confirms.take(frame, now)?;
        }
        frames::put_message(&mut link.out, queue, &payload.at(now), link.body_bytes);
        confirms.sent.push_back(now);
        while !link.out.is_empty() {
            link.pump().await?;
        }
    }
    while !confirms.sent.is_empty() {
        link.pump().await?;
        let now = world.nanos();
        while let Some(frame) = link.next_frame()? {
            confirms.take(frame, now)?;
        }
    }
    Ok(())
}

async fn receive(world: &World, link: &mut Link, count: u64) -> Result<Latencies, Failure> {
    let (mut latencies, mut messages, mut newest) = (Latencies::new(), 0, 0);
    while messages < count {
        link.pump().await?;
        let now = world.nanos();
        while let Some(frame) = link.next_frame()? {
            // A body of more than one frame begins with the stamp; what follows has none that grows.
            let Frame::Body(body) = frame else { continue };
            let Some(sent) = stamp(&body) else { continue };
            if sent < newest {
                return Err(Failure::local("a message came before one that was sent earlier"));
            }
            (messages, newest) = (messages + 1, sent);
            latencies.add_nanos(now.saturating_sub(sent));
            link.acknowledge(messages);
        }
    }
    Ok(latencies)
}

/// When a message was sent; none for a part that is not its beginning.
fn stamp(body: &[u8]) -> Option<u64> {
    std::str::from_utf8(body.get(..STAMP_BYTES)?).ok()?.parse().ok()
}

fn counts(messages: u64, bytes: u64) -> Counts {
    Counts { requests: 0, records: messages, bytes: messages * bytes, errors: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(tag: u64, multiple: bool) -> Frame {
        let mut arguments = BytesMut::new();
        arguments.put_u64(tag);
        arguments.put_u8(multiple.into());
        Frame::Method(frames::ACK, arguments)
    }

    #[test]
    fn confirms_count_in_order_and_each_once() {
        let mut confirms = Confirms::new();
        confirms.sent.extend([10, 20, 30]);
        confirms.take(ack(2, true), 40).unwrap();
        assert_eq!((confirms.sent.len(), confirms.first), (1, 3));
        assert!(confirms.take(ack(2, false), 40).is_err(), "a second time");
        assert!(confirms.take(ack(4, true), 40).is_err(), "never sent");
        confirms.take(ack(3, false), 50).unwrap();
        assert_eq!((confirms.sent.len(), confirms.latencies.summary().count), (0, 3));
    }

    #[test]
    fn a_refusal_or_a_gap_is_a_failure() {
        let mut confirms = Confirms::new();
        confirms.sent.extend([10, 20]);
        assert!(confirms.take(ack(2, false), 30).is_err(), "one before it waits");
        let refused = Frame::Method(frames::NACK, BytesMut::new());
        assert!(confirms.take(refused, 30).is_err());
        confirms.take(Frame::Other, 30).unwrap();
    }
}
