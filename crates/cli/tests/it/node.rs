//! A node as a process: owns the child and its data directory's path, guarantees that it is killed when the
//! test ends, never outlives it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

pub const KELDA: &str = env!("CARGO_BIN_EXE_kelda");

pub struct Node {
    child: Option<Child>,
    data: PathBuf,
    port: u16,
    /// Further flags of `kelda serve`.
    flags: Vec<String>,
    admin: String,
    amqp: String,
}

impl Node {
    /// Starts a node on a free port and waits for its ready line.
    pub fn start(data: &Path) -> Node {
        Node::with(data, &[])
    }

    /// The same with further flags.
    pub fn with(data: &Path, flags: &[&str]) -> Node {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let mut node = Node {
            child: None,
            data: data.to_owned(),
            port: 0,
            flags,
            admin: String::new(),
            amqp: String::new(),
        };
        node.restart();
        node
    }

    /// Starts the node again, on the port it had.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "still running");
        let mut command = Command::new(KELDA);
        command.args(["serve", "--ready-json"]).args(&self.flags);
        if !self.flags.iter().any(|flag| flag.starts_with("--amqp-listen")) {
            command.args(["--amqp-listen", "off"]);
        }
        if !self.flags.iter().any(|flag| flag.starts_with("--admin-listen")) {
            command.args(["--admin-listen", "off"]);
        }
        command.arg("--data-dir").arg(&self.data).arg("--listen").arg(format!("127.0.0.1:{}", self.port));
        let mut child =
            command.env("KELDA_LOG", "warn").stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("ready line: {line:?}"));
        let address: std::net::SocketAddr = ready["listen"].as_str().unwrap().parse().unwrap();
        self.port = address.port();
        self.admin = format!("http://{}", ready["admin_listen"].as_str().unwrap());
        self.amqp = format!("amqp://{}", ready["amqp_listen"].as_str().unwrap());
        self.child = Some(child);
    }

    /// kill -9, and waits until the process is gone.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// SIGTERM, and waits for the exit.
    pub fn stop(&mut self) -> std::process::ExitStatus {
        let mut child = self.child.take().unwrap();
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        child.wait().unwrap()
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The AMQP listener, if the flags ask for one.
    pub fn amqp(&self) -> &str {
        &self.amqp
    }

    /// The admin listener, if the flags ask for one.
    pub fn admin(&self) -> &str {
        &self.admin
    }

    /// A `kelda` command against this node.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = kelda(args);
        command.env("KELDA_ENDPOINT", self.endpoint());
        command
    }

    /// Runs a `kelda` command to its end with this on its standard input.
    pub fn feed(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that ends early leaves nobody to read the rest.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    /// What a command that is to succeed prints on standard output.
    pub fn stdout(&self, args: &[&str]) -> String {
        String::from_utf8(self.run(args).stdout).unwrap()
    }

    /// The same, as one JSON value.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let text = self.stdout(args);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("kelda {args:?}: {error}: {text:?}"))
    }

    /// Runs a `kelda` command to its end, which has to be a success.
    pub fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().unwrap();
        assert!(output.status.success(), "kelda {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }
}

/// A `kelda` command that knows nothing of the machine's settings.
pub fn kelda(args: &[&str]) -> Command {
    let mut command = Command::new(KELDA);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("KELDA_")) {
            command.env_remove(&name);
        }
    }
    command.env("XDG_CONFIG_HOME", "/nonexistent").args(args).stdin(Stdio::null());
    command
}

/// A client of the library that makes one try.
pub fn client(endpoint: &str) -> kelda_client::Kelda {
    kelda_client::Kelda::builder(endpoint).retry(kelda_client::RetryPolicy::never()).build().unwrap()
}

/// What a command said on standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
    }
}
