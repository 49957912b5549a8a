//! The suite against a Kelda, over each of its protocols: owns a node for each test, whose program comes in a variable.
//! Guarantees that a node is ended with its test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use kelda_client::{Message, OnGap, ReaderEnd, Text};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::suite::{Cut, Over, Seen, World, client, limits, producing, resuming, until};

/// The path of the program `kelda`.
const BINARY: &str = "KELDA_TEST_BINARY";

/// A node with a directory and ports of its own.
struct Node {
    binary: String,
    directory: TempDir,
    child: Child,
    /// Where it serves HTTP and AMQP, also after it was started again.
    listen: String,
    amqp: String,
    /// Where it tells its metrics; not the same after it was started again.
    admin: String,
}

impl Node {
    /// A fresh one, if there is a program.
    fn start() -> Option<Node> {
        let Ok(binary) = std::env::var(BINARY) else {
            assert!(std::env::var("KELDA_CHECK").is_err(), "{BINARY} is not set");
            eprintln!("skipped: {BINARY} is not set");
            return None;
        };
        let directory = TempDir::new().unwrap();
        let free = "127.0.0.1:0";
        let (child, listen, amqp, admin) = serve(&binary, &directory, free, free);
        Some(Node { binary, directory, child, listen, amqp, admin })
    }

    /// Ends it with this signal, and starts it again on its ports.
    fn restart(&mut self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap();
        (self.child, .., self.admin) = serve(&self.binary, &self.directory, &self.listen, &self.amqp);
    }

    /// What a counter of its metrics stands at.
    #[cfg(feature = "amqp")]
    async fn counter(&self, name: &str) -> u64 {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut admin = tokio::net::TcpStream::connect(&self.admin).await.unwrap();
        admin.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await.unwrap();
        let mut text = String::new();
        admin.read_to_string(&mut text).await.unwrap();
        let line = text.lines().find(|line| line.split(' ').next() == Some(name));
        line.and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or_else(|| panic!("{name}: {text}"))
    }

    fn url(&self, over: Over) -> String {
        match over {
            Over::Http => format!("http://{}", self.listen),
            _ => format!("amqp://guest:guest@{}/%2f", self.amqp),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Starts the program and waits until it is ready; gives where it serves HTTP, AMQP and metrics.
fn serve(binary: &str, directory: &TempDir, listen: &str, amqp: &str) -> (Child, String, String, String) {
    let mut command = Command::new(binary);
    command.args([
        "serve",
        "--ready-json",
        "--admin-listen",
        "127.0.0.1:0",
        "--listen",
        listen,
        "--amqp-listen",
        amqp,
    ]);
    command.arg("--data-dir").arg(directory.path().join("data")).env("KELDA_LOG", "warn");
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: serde_json::Value =
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("ready line: {line:?}"));
    let address = |name: &str| ready[name].as_str().unwrap().to_owned();
    (child, address("listen"), address("amqp_listen"), address("admin_listen"))
}

/// A node whose connections are cut on the way.
async fn behind_a_proxy(over: Over) -> Option<World> {
    let node = Node::start()?;
    let mut world = World::behind_a_proxy(&node.url(over), over).await;
    let cut = Arc::clone(&world.cut);
    // The node lives as long as its world.
    world.cut = Arc::new(move || {
        let _ = &node;
        cut();
    });
    Some(world)
}

/// A node that is ended by this signal and started again.
fn ending(over: Over, signal: &'static str) -> Option<World> {
    let node = Node::start()?;
    let url = node.url(over);
    let node = Mutex::new(node);
    let cut: Cut = Arc::new(move || node.lock().restart(signal));
    Some(World::new(client(&url), client(&url), over, cut))
}

/// What is said of lost connections, when it is the node that ends them, in order or not.
async fn endings(over: Over) {
    for signal in ["-TERM", "-KILL"] {
        let Some(world) = ending(over, signal) else { return };
        resuming::after_the_newest_finished(world).await;
        resuming::at_the_oldest_unfinished(ending(over, signal).unwrap()).await;
        resuming::with_several_handlers(ending(over, signal).unwrap()).await;
        producing::a_lost_connection_repeats_nothing(ending(over, signal).unwrap()).await;
    }
}

/// A slow reader is told of records that were trimmed before it was given them, be it a single one.
async fn trimmed_under_a_reader(over: Over) {
    let Some(node) = Node::start() else { return };
    let world = World::behind_a_proxy(&node.url(over), over).await;
    let http = client(&node.url(Over::Http));
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    let producer = world.direct.producer::<str>(&world.stream).codec(Text).open().await.unwrap();
    for number in 0..8 {
        // Larger than what is read at once, so that none is in memory before it is wanted.
        let body = format!("{number}{}", " ".repeat(600 << 10));
        producer.send(&body).await.unwrap().await.unwrap();
    }
    for (on_gap, trim, given) in
        [(OnGap::Fail, 2, vec!["0"]), (OnGap::Continue, 4, vec!["2", "4", "5", "6", "7"])]
    {
        let (seen, gate) = (Seen::default(), Arc::new(Semaphore::new(0)));
        let (handler, wait) = (seen.clone(), Arc::clone(&gate));
        let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first();
        let reader = stream.prefetch(1).on_gap(on_gap).consume(move |message: Message<String>| {
            let (handler, wait) = (handler.clone(), Arc::clone(&wait));
            async move {
                handler.add(message.payload().trim_end());
                wait.acquire().await.unwrap().forget();
            }
        });
        let reader = reader.await.unwrap();
        until("the first is at work", || seen.count() == 1).await;
        http.trim(&world.stream, trim, None).await.unwrap();
        gate.add_permits(1_000);
        if on_gap == OnGap::Fail {
            let end = reader.join().await;
            assert!(matches!(end, ReaderEnd::Gap { from, to } if (from, to) == (trim - 1, trim)), "{end}");
        } else {
            until("all", || reader.handled() == given.len() as u64).await;
            assert!(reader.is_active());
        }
        assert_eq!(seen.list(), given);
    }
}

mod http {
    use super::{Over, World};

    async fn world() -> Option<World> {
        super::behind_a_proxy(Over::Http).await
    }

    scenarios!(world);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn connections_that_the_node_ends() {
        super::endings(Over::Http).await;
    }

    #[tokio::test]
    async fn records_that_are_trimmed_under_a_reader_are_a_gap() {
        super::trimmed_under_a_reader(Over::Http).await;
    }
}

#[cfg(feature = "amqp")]
mod amqp {
    use std::sync::Arc;
    use std::time::Duration;

    use futures::future::join_all;
    use kelda_client::{Message, Text};
    use tokio::sync::Semaphore;

    use super::super::suite::{client, limits, until};
    use super::{Node, Over, World};

    async fn world() -> Option<World> {
        super::behind_a_proxy(Over::Kelda).await
    }

    scenarios!(world);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn connections_that_the_node_ends() {
        super::endings(Over::Kelda).await;
    }

    #[tokio::test]
    async fn records_that_are_trimmed_under_a_reader_are_a_gap() {
        super::trimmed_under_a_reader(Over::Kelda).await;
    }

    #[tokio::test]
    async fn no_more_is_out_than_the_prefetch() {
        let Some(node) = Node::start() else { return };
        let world = World::behind_a_proxy(&node.url(Over::Kelda), Over::Kelda).await;
        world.filled(30).await;
        let gate = Arc::new(Semaphore::new(0));
        let wait = Arc::clone(&gate);
        let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first().prefetch(4);
        let reader = stream.consume(move |_: Message<String>| {
            let wait = Arc::clone(&wait);
            async move { wait.acquire().await.unwrap().forget() }
        });
        let reader = reader.await.unwrap();
        for handled in 1..=30 {
            gate.add_permits(1);
            until("the next", || reader.handled() == handled).await;
            let delivered = node.counter("kelda_amqp_delivered_total").await;
            assert!(delivered <= handled + 4, "{delivered} delivered, {handled} of them handled");
        }
    }

    #[tokio::test]
    async fn what_is_stored_of_a_batch_is_told() {
        let Some(node) = Node::start() else { return };
        let (http, amqp) = (client(&node.url(Over::Http)), client(&node.url(Over::Kelda)));
        for idempotent in [true, false] {
            let stream = format!("json-{idempotent}");
            http.declare_stream(&stream, limits().content_type("application/json")).await.unwrap();
            let producer = amqp.producer::<str>(&stream).codec(Text).idempotent(idempotent);
            let producer = producer.linger(Duration::from_secs(1)).batch_records(3).open().await.unwrap();
            let mut sent = Vec::new();
            for body in ["1", "{", "2"] {
                sent.push(producer.send(body).await.unwrap());
            }
            let told = join_all(sent).await;
            assert!(told[0].is_ok(), "it is stored: {told:?}");
            assert!(told[1].is_err() && told[2].is_err(), "{told:?}");
        }
    }
}
