//! Connections that are cut, that stall or that are late at every step of the protocol, for each start position, with one
//! handler and with several; and for producers.

use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use kelda_client::{Kelda, ReaderEnd, RetryPolicy, StartAt, Text};

use super::gate::{Gate, Harm, How, Step, Which};
use super::{Seen, noting, text, until};
use crate::node::Node;

/// The node's limit of a wait at the tail.
const WAIT: &str = "300ms";
/// Records that are there when a reader starts, and those that come later.
const HELD: u64 = 20;
const ALL: u64 = 40;
/// Records before the moment that a reader may start at.
const EARLIER: u64 = 10;
/// Cases that run side by side.
const AT_ONCE: usize = 24;

const STEPS: [Step; 12] = [
    Step::Connected,
    Step::RequestHead,
    Step::Asked,
    Step::Answered,
    Step::AnswerHead,
    Step::Body(0),
    Step::Body(1),
    Step::Body(3),
    Step::Body(5),
    Step::Body(6),
    Step::Body(7),
    Step::Done,
];

/// A client that notices a silent server soon.
fn hasty(endpoint: &str) -> Kelda {
    let pauses = RetryPolicy::forever().pauses(Duration::from_millis(1), Duration::from_millis(20));
    let builder = Kelda::builder(endpoint).reconnect(pauses);
    let builder = builder.retry(
        RetryPolicy::within(Duration::from_secs(60))
            .pauses(Duration::from_millis(1), Duration::from_millis(20)),
    );
    let limit = Duration::from_millis(600);
    builder.answer_timeout(limit).idle_timeout(limit).live_timeout(Duration::from_secs(1)).build().unwrap()
}

fn node(directory: &tempfile::TempDir) -> (Node, Kelda) {
    let node = Node::with(directory.path(), &["--long-poll-timeout", WAIT]);
    let kelda = Kelda::builder(&node.endpoint()).build().unwrap();
    (node, kelda)
}

async fn fill(kelda: &Kelda, name: &str, numbers: std::ops::Range<u64>) {
    let producer = kelda.producer::<str>(name).codec(Text).open().await.unwrap();
    for number in numbers {
        drop(producer.send(&number.to_string()).await.unwrap());
    }
    producer.close().await.unwrap();
}

/// One reader that meets the same harm when it subscribes, later, and at the tail.
async fn read(
    node: &Node,
    kelda: &Kelda,
    name: &str,
    start: (StartAt, u64),
    concurrency: usize,
    at: (Step, How),
) {
    let gate = Gate::start(&node.endpoint()).await;
    let through = hasty(&gate.endpoint());
    let (step, how) = at;
    // Harm behind the whole answer is none to the reader, so what it asks next is a wait or, after a loss, a page.
    gate.plan([Which::Page, Which::Wait, Which::Read].map(|which| (which, step, how)));
    let seen = Seen::default();
    let stream = through.stream::<String>(name).codec(Text).from(start.0);
    let reader = stream.prefetch(8).concurrency(concurrency).consume(noting(&seen)).await.unwrap();
    let what = format!("{:?}, {concurrency} at once, {step:?}, {how:?}", start.0);
    // What is held is handled, and the harm done, before more comes: `last` is told anew until then.
    until(&what, || gate.is_done()).await;
    fill(kelda, name, HELD..ALL).await;
    kelda.seal(name).await.unwrap();
    let mut state = reader.watch();
    let limit = Duration::from_secs(60);
    let over = tokio::time::timeout(
        limit,
        state.wait_for(|state| matches!(state, kelda_client::ReaderState::Ended(_))),
    );
    assert!(over.await.is_ok(), "never sealed: {what}");
    drop(state);
    let (handled, failed, last) = (reader.handled(), reader.failed(), reader.last_handled_offset());
    let end = reader.join().await;
    assert!(matches!(end, ReaderEnd::Sealed), "{what}: {end}");
    assert_eq!((handled, failed, last), (ALL - start.1, 0, Some(ALL - 1)), "{what}");
    let mut seen = seen.lock().unwrap().clone();
    if concurrency > 1 {
        seen.sort_unstable();
    }
    // A handler that was at work when a connection was lost has its entry again.
    seen.dedup();
    assert_eq!(seen, (start.1..ALL).collect::<Vec<_>>(), "{what}");
}

async fn readers(steps: &[Step], hows: &[How]) {
    let directory = tempfile::tempdir().unwrap();
    let (node, kelda) = &node(&directory);
    let mut cases = Vec::new();
    for at in 0..7 {
        for concurrency in [1, 4] {
            for step in steps {
                cases.extend(hows.iter().map(|how| (at, concurrency, (*step, *how))));
            }
        }
    }
    let cases = cases.into_iter().enumerate().map(|(number, (at, concurrency, harm))| async move {
        let name = format!("events/{number}");
        kelda.declare_stream(&name, text()).await.unwrap();
        fill(kelda, &name, 0..EARLIER).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        let moment = SystemTime::now();
        tokio::time::sleep(Duration::from_millis(10)).await;
        fill(kelda, &name, EARLIER..HELD).await;
        let start = [
            (StartAt::First, 0),
            (StartAt::Last, HELD - 1),
            (StartAt::Next, HELD),
            (StartAt::Offset(7), 7),
            (StartAt::Offset(HELD), HELD),
            (StartAt::time(moment), EARLIER),
            (StartAt::Back(Duration::from_secs(3_600)), 0),
        ][at];
        read(node, kelda, &name, start, concurrency, harm).await;
    });
    futures::stream::iter(cases).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_live_through_a_cut_at_each_step() {
    readers(&STEPS, &[How::Cut]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_live_through_a_stall_at_each_step() {
    readers(&STEPS, &[How::Stall]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_live_through_answers_that_come_after_those_of_later_requests() {
    readers(&[Step::Connected, Step::Answered, Step::Body(3)], &[How::Late]).await;
}

/// A producer whose appends meet this harm, several times over.
async fn write(node: &Node, kelda: &Kelda, name: &str, harm: Harm) {
    let gate = Gate::start(&node.endpoint()).await;
    let through = hasty(&gate.endpoint());
    kelda.declare_stream(name, text()).await.unwrap();
    let builder = through.producer::<str>(name).codec(Text).batch_records(5).window(4);
    let producer = builder.open().await.unwrap();
    let mut sent = Vec::new();
    for number in 0..100_u64 {
        if number % 25 == 0 {
            // Two of the four that are under way: the others overtake them.
            gate.plan([harm, harm]);
        }
        sent.push(producer.send(&number.to_string()).await.unwrap());
        if number % 25 == 24 {
            producer.flush().await.unwrap();
        }
    }
    for (number, sent) in sent.into_iter().enumerate() {
        assert_eq!(sent.await.unwrap().offset, Some(number as u64), "{harm:?}");
    }
    producer.close().await.unwrap();
    let late = if harm.2 == How::Late { 8 } else { 0 };
    until("the late ones have arrived", || gate.late() == late).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(gate.is_done(), "{harm:?} was met");
    assert_eq!(kelda.head(name).await.unwrap().next_offset, 100, "{harm:?}: nothing is there twice");
    let mut stored = kelda.stream::<String>(name).codec(Text).from_first().messages().await.unwrap();
    for number in 0..100 {
        let message = stored.next().await.unwrap().unwrap();
        assert_eq!(*message.payload(), number.to_string(), "{harm:?}");
        message.done().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn producers_neither_lose_nor_repeat_nor_reorder_whatever_happens_at_each_step() {
    let directory = tempfile::tempdir().unwrap();
    let (node, kelda) = &node(&directory);
    let hows = [How::Cut, How::Stall, How::Late];
    let harms = STEPS.iter().flat_map(|step| hows.map(|how| (Which::Append, *step, how)));
    let cases = harms.enumerate().map(|(number, harm)| async move {
        write(node, kelda, &format!("events/{number}"), harm).await;
    });
    futures::stream::iter(cases).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}
