//! Producers against a server of the test, in virtual time, that loses requests and answers.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use kelda_format::batch::{Batch, BatchBuilder};
use kelda_format::records::decode_write;
use kelda_format::{Headers, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::*;
use crate::codec::{Encode, Text};
use crate::error::Problem;
use crate::meters::Labels;
use crate::outgoing::Outgoing;
use crate::producer::{Bounds, Producer, Sent, State};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Fine,
    /// It never arrives.
    Lost,
    /// It is done, and the answer is lost.
    Unanswered,
    Overloaded,
    /// The certificate has expired.
    Untrusted,
    /// Nothing comes for 30 seconds, and then the connection ends.
    Silent,
    /// A refusal with this status and code.
    Refused(u16, &'static str),
}

struct Server {
    idempotent: bool,
    /// Whether the producer's id is its own, so that it may begin anew.
    random_id: bool,
    /// Whether nothing arrives and nothing is answered.
    away: AtomicBool,
    state: Mutex<Stored>,
    out: AtomicUsize,
    most_out: AtomicUsize,
}

#[derive(Default)]
struct Stored {
    records: Vec<String>,
    epoch: u64,
    /// First offset by sequence.
    sequences: Vec<(u64, usize)>,
    fates: VecDeque<Fate>,
    chance: Option<u64>,
    sizes: Vec<usize>,
}

fn problem(status: u16, code: &str) -> Error {
    let r#type = format!("urn:kelda:problem:{code}");
    Error::Problem(Box::new(Problem { status, r#type, ..Problem::default() }))
}

impl Server {
    fn new(idempotent: bool) -> Arc<Server> {
        Server::of(idempotent, true)
    }

    fn of(idempotent: bool, random_id: bool) -> Arc<Server> {
        let (out, most_out) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (away, state) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Server { idempotent, random_id, away, state, out, most_out })
    }

    /// The producer is not known any more.
    fn forget(&self) {
        self.state.lock().sequences.clear();
    }

    fn fates(&self, fates: &[Fate]) {
        self.state.lock().fates.extend(fates);
    }

    fn records(&self) -> Vec<String> {
        self.state.lock().records.clone()
    }

    fn random(&self) -> u64 {
        let mut state = self.state.lock();
        let seed = state.chance.unwrap_or(1);
        let next = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.chance = state.chance.map(|_| next);
        next >> 33
    }

    async fn serve(&self, epoch: u64, request: Request) -> Verdict {
        let out = self.out.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_out.fetch_max(out, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(1 + self.random() % 50)).await;
        let chance = self.state.lock().chance.is_some();
        let fate = self.state.lock().fates.pop_front();
        let fate = fate.unwrap_or_else(|| match self.random() % 10 {
            0 if chance => Fate::Lost,
            1 if chance => Fate::Unanswered,
            2 if chance => Fate::Overloaded,
            _ => Fate::Fine,
        });
        let endpoint = || "test".to_owned();
        let lost = Error::OutcomeUnknown { endpoint: endpoint(), cause: "reset".to_owned() };
        let fate = if self.away.load(Ordering::Relaxed) { Fate::Lost } else { fate };
        let verdict = match fate {
            Fate::Lost => Err(lost),
            Fate::Untrusted => Err(Error::Tls { endpoint: endpoint(), cause: "expired".to_owned() }),
            Fate::Overloaded => Err(problem(503, "overloaded")),
            Fate::Silent => {
                tokio::time::sleep(Duration::from_secs(30)).await;
                Err(lost)
            }
            Fate::Refused(status, code) => Err(problem(status, code)),
            Fate::Fine => self.state.lock().append(epoch, &request, self.idempotent),
            Fate::Unanswered => self.state.lock().append(epoch, &request, self.idempotent).and(Err(lost)),
        };
        tokio::time::sleep(Duration::from_millis(self.random() % 20)).await;
        self.out.fetch_sub(1, Ordering::Relaxed);
        if self.away.load(Ordering::Relaxed) {
            return Err(Error::OutcomeUnknown { endpoint: endpoint(), cause: "reset".to_owned() });
        }
        verdict
    }
}

impl Stored {
    fn append(&mut self, epoch: u64, request: &Request, idempotent: bool) -> Verdict {
        let batch = decode_write(&request.body).unwrap();
        let (tail, count) = (self.records.len() as u64, batch.count());
        let appended = |first_offset: u64, duplicate: bool| Appended {
            first_offset: Some(first_offset),
            next_offset: first_offset + u64::from(count),
            timestamp: (!duplicate).then_some(Timestamp(1)),
            duplicate,
        };
        if idempotent && epoch < self.epoch {
            return Err(problem(403, "stale-epoch"));
        }
        if idempotent && epoch > self.epoch && request.sequence == 0 {
            self.epoch = epoch;
            self.sequences.clear();
        }
        let expected = self.sequences.len() as u64;
        if idempotent && request.sequence < expected {
            let (first, records) = self.sequences[request.sequence as usize];
            assert_eq!(records, count as usize, "a sequence is of one batch");
            return Ok(appended(first, true));
        }
        if idempotent && request.sequence > expected {
            let Error::Problem(mut gap) = problem(409, "sequence-gap") else { unreachable!() };
            gap.fields.insert("expected_seq".to_owned(), expected.into());
            return Err(Error::Problem(gap));
        }
        if request.expected.is_some_and(|offset| offset != tail) {
            return Err(problem(412, "match-offset"));
        }
        self.sequences.push((tail, count as usize));
        self.sizes.push(count as usize);
        self.records.extend(batch.records().map(|one| String::from_utf8(one.body.to_vec()).unwrap()));
        Ok(appended(tail, false))
    }
}

struct To(Arc<Server>, u64);

impl Append for To {
    fn append(&self, request: Request) -> BoxFuture<'static, Verdict> {
        let (server, epoch) = (Arc::clone(&self.0), self.1);
        Box::pin(async move { server.serve(epoch, request).await })
    }

    fn renew(&mut self) -> Option<u64> {
        self.1 += 1;
        self.0.random_id.then_some(self.1)
    }

    fn id(&self) -> Option<&str> {
        self.0.idempotent.then_some("me")
    }

    fn may_be_in_use(&self) -> bool {
        self.0.idempotent && !self.0.random_id
    }
}

fn producer(server: &Arc<Server>, window: usize, bounds: Bounds) -> Producer<str, Text> {
    producer_with(server, window, bounds, RetryPolicy::forever())
}

fn producer_with(
    server: &Arc<Server>,
    window: usize,
    bounds: Bounds,
    reconnect: RetryPolicy,
) -> Producer<str, Text> {
    let buffer = Arc::new(Buffer {
        stream: "events".to_owned(),
        bounds,
        state: Mutex::new(State::default()),
        work: Notify::new(),
        room: Notify::new(),
        ended: watch::Sender::new(false),
    });
    let to = Box::new(To(Arc::clone(server), 0));
    let linger = Duration::from_millis(5);
    let meters = ProducerMeters::new(&Labels::new("events", "test"));
    let sending = Sending::new(Arc::clone(&buffer), to, window, linger, reconnect, Sender::new(), meters);
    tokio::spawn(sending.run());
    let (content_type, payload) = ("text/plain".to_owned(), std::marker::PhantomData);
    let tracing = crate::trace::Tracing::default();
    Producer {
        buffer,
        codec: Text,
        tracing,
        over_amqp: false,
        content_type,
        id: None,
        epoch: Arc::default(),
        payload,
    }
}

const BOUNDS: Bounds = Bounds { batch_bytes: 1_000, batch_records: 100, buffer_bytes: 10_000 };

async fn send_all<C: Encode<str>>(producer: &Producer<str, C>, count: u64) -> Vec<Sent> {
    let mut sent = Vec::new();
    for number in 0..count {
        sent.push(producer.send(&number.to_string()).await.unwrap());
        if number % 37 == 0 {
            tokio::time::sleep(Duration::from_millis(number % 11)).await;
        }
    }
    sent
}

#[tokio::test(start_paused = true)]
async fn every_record_is_stored_once_and_in_order_whatever_is_lost() {
    for (seed, window) in [(1, 1), (2, 4), (3, 8), (4, 3)] {
        let server = Server::new(true);
        server.state.lock().chance = Some(seed);
        let producer = producer(&server, window, BOUNDS);
        let sent = send_all(&producer, 3_000).await;
        producer.flush().await.unwrap();
        let expected: Vec<String> = (0..3_000).map(|number| number.to_string()).collect();
        assert_eq!(server.records(), expected, "window {window}");
        for (offset, sent) in sent.into_iter().enumerate() {
            assert_eq!(sent.await.unwrap().offset, Some(offset as u64));
        }
        assert!(server.most_out.load(Ordering::Relaxed) <= window);
        producer.close().await.unwrap();
    }
}

/// Hours in which the server is away every minute or so.
#[tokio::test(start_paused = true)]
async fn hundreds_of_outages_neither_lose_nor_repeat_nor_reorder() {
    for (seed, window) in [(11, 1), (12, 2), (13, 4), (14, 8)] {
        let began = tokio::time::Instant::now();
        let server = Server::new(true);
        server.state.lock().chance = Some(seed);
        let producer = producer(&server, window, BOUNDS);
        let going = Arc::clone(&server);
        let outages = tokio::spawn(async move {
            for _ in 0..300 {
                tokio::time::sleep(Duration::from_millis(going.random() % 60_000)).await;
                going.away.store(true, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(going.random() % 40_000)).await;
                going.away.store(false, Ordering::Relaxed);
            }
        });
        let mut sent = Vec::new();
        while !outages.is_finished() {
            for _ in 0..server.random() % 30 {
                sent.push(producer.send(&sent.len().to_string()).await.unwrap());
            }
            tokio::time::sleep(Duration::from_millis(server.random() % 5_000)).await;
        }
        producer.flush().await.unwrap();
        assert!(began.elapsed() > Duration::from_secs(3 * 3_600), "{:?}", began.elapsed());
        assert!(server.records().iter().enumerate().all(|(at, record)| *record == at.to_string()));
        assert_eq!(server.records().len(), sent.len(), "window {window}");
        for (offset, sent) in sent.into_iter().enumerate() {
            assert_eq!(sent.await.unwrap().offset, Some(offset as u64));
        }
        producer.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_lone_record_goes_at_once_and_company_is_batched() {
    let server = Server::new(true);
    let producer = producer(&server, 2, BOUNDS);
    let first = producer.send("0").await.unwrap();
    tokio::task::yield_now().await;
    for number in 1..=50 {
        drop(producer.send(&number.to_string()).await.unwrap());
    }
    assert_eq!(first.await.unwrap().offset, Some(0));
    producer.close().await.unwrap();
    assert_eq!(server.state.lock().sizes, [1, 50]);
}

#[tokio::test(start_paused = true)]
async fn sending_waits_when_too_much_is_under_way() {
    let server = Server::new(true);
    server.fates(&[Fate::Overloaded; 200]);
    let producer = producer(&server, 2, BOUNDS);
    let body = "x".repeat(1_000);
    let mut taken = 0;
    let limit = Duration::from_secs(10);
    while tokio::time::timeout(limit, producer.send(&body)).await.is_ok() {
        taken += 1;
    }
    assert_eq!(taken, 9, "10,000 bytes, at 1,016 each");
    producer.flush().await.unwrap();
    assert_eq!(server.records().len(), 9, "giving up the wait took the record back");
    producer.send(&body).await.unwrap().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_idempotence_nothing_is_sent_twice() {
    let server = Server::new(false);
    server.fates(&[Fate::Fine, Fate::Unanswered, Fate::Overloaded, Fate::Fine]);
    let producer = producer(&server, 1, BOUNDS);
    let mut verdicts = Vec::new();
    for number in 0..3 {
        let sent = producer.send(&number.to_string()).await.unwrap();
        verdicts.push(sent.await.map(|receipt| receipt.offset));
    }
    assert!(matches!(verdicts[1], Err(Error::OutcomeUnknown { .. })), "{verdicts:?}");
    assert_eq!((verdicts[0].clone().unwrap(), verdicts[2].clone().unwrap()), (Some(0), Some(2)));
    assert_eq!(server.records(), ["0", "1", "2"], "what did nothing was sent again, what is unknown was not");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_the_producer_and_everyone_is_told() {
    let server = Server::new(true);
    server.fates(&[Fate::Fine, Fate::Refused(409, "sealed")]);
    let producer = producer(&server, 1, BOUNDS);
    producer.send("0").await.unwrap().await.unwrap();
    let sent = [producer.send("1").await.unwrap(), producer.send("2").await.unwrap()];
    for sent in sent {
        assert_eq!(sent.await.unwrap_err().code(), Some("sealed"));
    }
    assert_eq!(producer.send("3").await.err().unwrap().code(), Some("sealed"));
    assert_eq!(producer.flush().await.unwrap_err().code(), Some("sealed"));
    assert_eq!(producer.close().await.unwrap_err().code(), Some("sealed"));
}

/// The next one is renewed.
#[tokio::test(start_paused = true)]
async fn a_certificate_that_expires_does_not_end_a_producer() {
    let server = Server::new(true);
    server.fates(&[Fate::Fine, Fate::Untrusted, Fate::Untrusted]);
    let producer = producer(&server, 1, BOUNDS);
    for number in 0..3 {
        producer.send(&number.to_string()).await.unwrap().await.unwrap();
    }
    assert_eq!(server.records(), ["0", "1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_does_not_hold_is_told_and_the_producer_goes_on() {
    let server = Server::new(true);
    let producer = producer(&server, 4, BOUNDS);
    for number in 0..3 {
        drop(producer.send(&number.to_string()).await.unwrap());
    }
    let wrong = producer.send_at(2, Outgoing::new("no")).await;
    assert_eq!(wrong.unwrap_err().code(), Some("match-offset"));
    let (right, after) =
        futures::future::join(producer.send_at(3, Outgoing::new("yes")), producer.send("after")).await;
    assert_eq!(right.unwrap().offset, Some(3));
    assert_eq!(after.unwrap().await.unwrap().offset, Some(4));
    assert_eq!(server.records(), ["0", "1", "2", "yes", "after"]);
}

#[tokio::test(start_paused = true)]
async fn an_epoch_that_is_in_use_is_no_acknowledgement() {
    for (fates, random_id) in [(&[][..], true), (&[][..], false), (&[Fate::Overloaded][..], false)] {
        let server = Server::of(true, random_id);
        server.fates(fates);
        server.state.lock().sequences.push((0, 1));
        server.state.lock().records.push("of another".to_owned());
        let producer = producer(&server, if random_id { 1 } else { 4 }, BOUNDS);
        // What is behind the first is not stored either, though its sequence is the next.
        let mut sent = vec![producer.send("mine").await.unwrap()];
        tokio::task::yield_now().await;
        sent.push(producer.send("and mine").await.unwrap());
        for sent in sent {
            let error = sent.await.unwrap_err();
            assert!(matches!(error, Error::Invalid { what: "producer epoch", .. }), "{error}");
        }
        assert_eq!(server.records(), ["of another"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_beyond_the_limits_is_refused_by_itself() {
    let server = Server::new(true);
    let producer = producer(&server, 1, BOUNDS);
    let header = "x".repeat(70_000);
    let refused = producer.send_message(Outgoing::new("a").header("big", header)).await;
    assert!(matches!(refused.err(), Some(Error::Limit(_))));
    assert_eq!(producer.send("b").await.unwrap().await.unwrap().offset, Some(0));
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_is_written_although_the_producer_is_dropped() {
    let server = Server::new(true);
    let producer = producer(&server, 1, BOUNDS);
    let sent = send_all(&producer, 50).await;
    drop(producer);
    for sent in sent {
        sent.await.unwrap();
    }
    assert_eq!(server.records().len(), 50);
}

#[test]
fn what_becomes_of_records_is_measured() {
    let values = crate::meters::tests::recorded(async {
        let server = Server::new(true);
        server.fates(&[
            Fate::Overloaded,
            Fate::Unanswered,
            Fate::Fine,
            Fate::Fine,
            Fate::Refused(409, "sealed"),
        ]);
        let producer = producer(&server, 1, BOUNDS);
        for body in ["a", "b"] {
            producer.send(body).await.unwrap().await.unwrap();
        }
        producer.send("c").await.unwrap().await.unwrap_err();
        producer.close().await.unwrap_err();
    });
    let count = |name: &str| values[&format!("producer_{name}")];
    assert_eq!((count("records_total"), count("failed_records_total")), (2.0, 1.0), "{values:?}");
    assert_eq!((count("retries_total"), count("duplicate_batches_total")), (2.0, 1.0), "{values:?}");
    assert_eq!((count("batch_records"), count("unacknowledged_bytes")), (3.0, 0.0), "{values:?}");
    assert!(count("request_seconds") > 0.0 && count("bytes_total") > 2.0, "{values:?}");
    assert!(count("batch_bytes") > count("bytes_total"), "{values:?}");
}

/// Weeks pass between the records, and the server remembers a producer for one.
#[tokio::test(start_paused = true)]
async fn a_producer_that_was_forgotten_goes_on() {
    for window in [1, 4] {
        let server = Server::new(true);
        let producer = producer(&server, window, BOUNDS);
        for week in 0..3_u64 {
            let sent = send_all(&producer, 300).await;
            for (index, sent) in sent.into_iter().enumerate() {
                assert_eq!(sent.await.unwrap().offset, Some(week * 300 + index as u64), "window {window}");
            }
            server.forget();
            tokio::time::sleep(Duration::from_secs(8 * 24 * 3_600)).await;
        }
        let expected: Vec<String> = (0..3).flat_map(|_| (0..300).map(|number| number.to_string())).collect();
        assert_eq!(server.records(), expected, "window {window}");
        producer.close().await.unwrap();
    }
}

/// Forgotten at any moment, while requests and answers are lost: a record is never stored twice or out of
/// order, and when nobody knows, that is what is said.
#[tokio::test(start_paused = true)]
async fn one_that_is_forgotten_at_work_stores_nothing_twice() {
    let mut ends = [0, 0];
    for seed in 0..200 {
        let server = Server::new(true);
        server.state.lock().chance = Some(seed);
        let producer = producer(&server, 1 + seed as usize % 4, BOUNDS);
        let mut known = true;
        for number in 0..400 {
            if number == 199 {
                server.forget();
            }
            match producer.send(&number.to_string()).await {
                // To a server that forgets, a first batch that is sent again is a first batch. It remembers for days, so that
                // nobody waits as long for the first answer.
                Ok(sent) if number == 0 => drop(sent.await.unwrap()),
                Ok(sent) => drop(sent),
                Err(error) => {
                    known = false;
                    assert!(error.is_outcome_unknown(), "{error}");
                    break;
                }
            }
            tokio::time::sleep(Duration::from_millis(server.random() % 30)).await;
        }
        if let Err(error) = producer.flush().await {
            known = false;
            assert!(matches!(error, Error::ProducerForgotten { outcome_unknown: true, .. }), "{error}");
        }
        let records = server.records();
        let expected: Vec<String> = (0..records.len()).map(|number| number.to_string()).collect();
        assert_eq!(records, expected, "seed {seed}");
        assert!(!known || records.len() == 400, "seed {seed}");
        ends[usize::from(known)] += 1;
    }
    assert!(ends[0] > 10 && ends[1] > 10, "both ways are met: {ends:?}");
}

#[tokio::test(start_paused = true)]
async fn one_whose_last_batch_may_be_stored_ends_when_it_is_forgotten() {
    let server = Server::new(true);
    let producer = producer(&server, 1, BOUNDS);
    producer.send("0").await.unwrap().await.unwrap();
    server.fates(&[Fate::Unanswered, Fate::Lost]);
    let sent = producer.send("1").await.unwrap();
    until_records(&server, 2).await;
    server.forget();
    let error = sent.await.unwrap_err();
    assert!(matches!(&error, Error::ProducerForgotten { outcome_unknown: true, .. }), "{error}");
    assert!(error.is_outcome_unknown() && !error.is_retryable());
    assert_eq!(server.records(), ["0", "1"]);
}

#[tokio::test(start_paused = true)]
async fn one_with_a_fixed_id_ends_since_another_run_may_have_written_meanwhile() {
    let server = Server::of(true, false);
    let producer = producer(&server, 1, BOUNDS);
    producer.send("0").await.unwrap().await.unwrap();
    server.forget();
    let error = producer.send("1").await.unwrap().await.unwrap_err();
    assert!(matches!(&error, Error::ProducerForgotten { outcome_unknown: false, .. }), "{error}");
    assert!(error.to_string().contains("\"me\"") && !error.is_outcome_unknown(), "{error}");
    assert_eq!(server.records(), ["0"]);
}

async fn until_records(server: &Server, count: usize) {
    while server.records().len() < count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn batch(bodies: &[&str]) -> Batch {
    let mut batch = BatchBuilder::new();
    for body in bodies {
        batch.push(body.as_bytes(), &Headers::none(), None).unwrap();
    }
    batch.finish()
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_the_callers_own_is_stored_as_it_is_and_in_order() {
    let server = Server::new(true);
    server.state.lock().chance = Some(7);
    let producer = producer(&server, 4, BOUNDS);
    let mut sent = Vec::new();
    for number in 0..200 {
        drop(producer.send(&format!("{number} alone")).await.unwrap());
        let (first, second) = (format!("{number} first"), format!("{number} second"));
        sent.push(producer.send_batch(batch(&[&first, &second])).await.unwrap());
    }
    for (number, sent) in sent.into_iter().enumerate() {
        let appended = sent.await.unwrap();
        let first = number as u64 * 3 + 1;
        assert_eq!((appended.first_offset, appended.next_offset), (Some(first), first + 2));
    }
    let expected = (0..200).flat_map(|n| ["alone", "first", "second"].map(|which| format!("{n} {which}")));
    assert_eq!(server.records(), expected.collect::<Vec<_>>());
    assert_eq!(server.state.lock().sizes.iter().filter(|size| **size == 2).count(), 200);
    let refused = producer.send_batch(batch(&[])).await;
    assert!(matches!(refused.err(), Some(Error::Invalid { what: "batch", .. })));
    producer.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn batches_that_fail_together_count_once_against_the_patience() {
    let server = Server::new(true);
    server.fates(&[Fate::Silent; 100]);
    let reconnect = RetryPolicy::within(Duration::from_secs(60));
    let producer = producer_with(&server, 4, BOUNDS, reconnect);
    let began = tokio::time::Instant::now();
    for number in 0..4 {
        drop(producer.send_batch(batch(&[&number.to_string()])).await.unwrap());
    }
    assert!(producer.flush().await.unwrap_err().is_lost_connection());
    let waited = began.elapsed().as_secs();
    assert!((60..120).contains(&waited), "{waited} seconds");
}
