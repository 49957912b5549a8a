//! The suite against a Kelda, over each of its protocols: owns a node for each test, whose program comes in a variable.
//! Guarantees that a node is ended with its test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use parking_lot::Mutex;
use tempfile::TempDir;

use super::suite::{Cut, Over, World, client, producing, resuming};

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
        let (child, listen, amqp) = serve(&binary, &directory, free, free);
        Some(Node { binary, directory, child, listen, amqp })
    }

    /// Ends it with this signal, and starts it again on its ports.
    fn restart(&mut self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        self.child.wait().unwrap();
        (self.child, ..) = serve(&self.binary, &self.directory, &self.listen, &self.amqp);
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

/// Starts the program and waits until it is ready; gives where it serves HTTP and AMQP.
fn serve(binary: &str, directory: &TempDir, listen: &str, amqp: &str) -> (Child, String, String) {
    let mut command = Command::new(binary);
    command.args([
        "serve",
        "--ready-json",
        "--admin-listen",
        "off",
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
    (child, address("listen"), address("amqp_listen"))
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
}

#[cfg(feature = "amqp")]
mod amqp {
    use super::{Over, World};

    async fn world() -> Option<World> {
        super::behind_a_proxy(Over::Kelda).await
    }

    scenarios!(world);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn connections_that_the_node_ends() {
        super::endings(Over::Kelda).await;
    }
}
