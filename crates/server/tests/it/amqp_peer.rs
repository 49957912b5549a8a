//! A client of AMQP that writes its frames by hand, so that it can send what no library would.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::TestNode;

/// Most bytes of a body in one frame.
pub const BODY_BYTES: usize = 131_064;

/// How long anything may take to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// A value of a table.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    Text(&'a str),
    Long(i64),
    True,
    Table(&'a [(&'a str, Arg<'a>)]),
}

/// Arguments of a method, one after the other.
#[derive(Clone, Default)]
pub struct Args(pub Vec<u8>);

impl Args {
    pub fn octet(mut self, value: u8) -> Args {
        self.0.push(value);
        self
    }

    pub fn number16(mut self, value: u16) -> Args {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn number32(mut self, value: u32) -> Args {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn number64(mut self, value: u64) -> Args {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn short(mut self, text: &str) -> Args {
        self.0.push(u8::try_from(text.len()).unwrap());
        self.0.extend(text.as_bytes());
        self
    }

    pub fn long(mut self, bytes: &[u8]) -> Args {
        self.0.extend(u32::try_from(bytes.len()).unwrap().to_be_bytes());
        self.0.extend(bytes);
        self
    }

    pub fn table(self, list: &[(&str, Arg<'_>)]) -> Args {
        let mut inner = Args::default();
        for (name, value) in list {
            inner = inner.short(name);
            inner = match value {
                Arg::Text(text) => inner.octet(b'S').long(text.as_bytes()),
                Arg::Long(number) => {
                    inner.0.push(b'l');
                    inner.0.extend(number.to_be_bytes());
                    inner
                }
                Arg::True => inner.octet(b't').octet(1),
                Arg::Table(list) => inner.octet(b'F').table(list),
            };
        }
        self.long(&inner.0)
    }

    /// A table of texts; a value `true` is a truth value.
    pub fn texts(self, list: &[(&str, &str)]) -> Args {
        let value = |text| if text == "true" { Arg::True } else { Arg::Text(text) };
        self.table(&list.iter().map(|(name, text)| (*name, value(*text))).collect::<Vec<_>>())
    }
}

/// A method that came: its channel, numbers and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Came {
    pub channel: u16,
    pub numbers: (u16, u16),
    pub args: Vec<u8>,
}

impl Came {
    /// The reply code and text of a close.
    pub fn closed(&self) -> (u16, String) {
        assert!(matches!(self.numbers, (10, 50) | (20, 40)), "{self:?}");
        let end = 3 + usize::from(self.args[2]);
        let code = u16::from_be_bytes(self.args[..2].try_into().unwrap());
        (code, String::from_utf8_lossy(&self.args[3..end]).into_owned())
    }

    /// Tag and number of a delivery.
    pub fn delivery(&self) -> (String, u64) {
        assert_eq!(self.numbers, (60, 60), "{self:?}");
        let length = usize::from(self.args[0]);
        let tag = String::from_utf8_lossy(&self.args[1..=length]).into_owned();
        (tag, u64::from_be_bytes(self.args[length + 1..length + 9].try_into().unwrap()))
    }
}

/// One connection, with channel 1 open.
pub struct Peer {
    stream: TcpStream,
    input: Vec<u8>,
    came: VecDeque<Frame>,
}

/// A frame that came: kind, channel and payload.
pub type Frame = (u8, u16, Vec<u8>);

pub fn frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend(channel.to_be_bytes());
    out.extend(u32::try_from(payload.len()).unwrap().to_be_bytes());
    out.extend(payload);
    out.push(0xCE);
    out
}

pub fn method(channel: u16, (class, id): (u16, u16), args: &Args) -> Vec<u8> {
    let payload = Args::default().number16(class).number16(id).0;
    frame(1, channel, &[payload, args.0.clone()].concat())
}

/// Method and header of a message whose body is to come.
pub fn announce(
    exchange: &str,
    key: &str,
    mandatory: bool,
    headers: &[(&str, Arg<'_>)],
    size: u64,
) -> Vec<u8> {
    let publish = Args::default().number16(0).short(exchange).short(key).octet(u8::from(mandatory));
    let mut out = method(1, (60, 40), &publish);
    let mut header = Args::default().number16(60).number16(0);
    header.0.extend(size.to_be_bytes());
    let header = match headers {
        [] => header.number16(0),
        list => header.number16(1 << 13).table(list),
    };
    out.extend(frame(2, 1, &header.0));
    out
}

/// The frames of a message.
pub fn message(
    exchange: &str,
    key: &str,
    mandatory: bool,
    headers: &[(&str, Arg<'_>)],
    body: &str,
) -> Vec<u8> {
    let mut out = announce(exchange, key, mandatory, headers, body.len() as u64);
    for part in body.as_bytes().chunks(BODY_BYTES) {
        out.extend(frame(3, 1, part));
    }
    out
}

impl Peer {
    /// Connects, and opens channel 1 with confirms.
    pub async fn connect(node: &TestNode) -> Peer {
        let mut peer = Peer::in_vhost(node, "/").await.unwrap();
        assert_eq!(peer.call((85, 10), &Args::default().octet(0)).await.numbers, (85, 11));
        peer
    }

    /// Connects, and opens channel 1.
    pub async fn open(node: &TestNode) -> Peer {
        Peer::in_vhost(node, "/").await.unwrap()
    }

    /// Connects to a virtual host, and opens channel 1.
    pub async fn in_vhost(node: &TestNode, vhost: &str) -> Result<Peer, (u16, String)> {
        Peer::tuned(node, vhost, (2047, 131_072, 0)).await
    }

    /// Connects with a heartbeat of so many seconds, and opens channel 1.
    pub async fn with_heartbeat(node: &TestNode, seconds: u16) -> Peer {
        Peer::tuned(node, "/", (2047, 131_072, seconds)).await.unwrap()
    }

    /// Connects, agrees on channels, bytes of a frame and a heartbeat, and opens channel 1.
    pub async fn tuned(
        node: &TestNode,
        vhost: &str,
        (channels, bytes, heartbeat): (u16, u32, u16),
    ) -> Result<Peer, (u16, String)> {
        let address = node.node.as_ref().unwrap().amqp_listen().unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        let mut peer = Peer { stream, input: Vec::new(), came: VecDeque::new() };
        peer.write(b"AMQP\0\0\x09\x01").await;
        assert_eq!(peer.next().await.numbers, (10, 10));
        let capabilities = [("connection.blocked", Arg::True), ("consumer_cancel_notify", Arg::True)];
        let start = Args::default().table(&[("capabilities", Arg::Table(&capabilities))]);
        let start = start.short("PLAIN").long(b"\0guest\0guest").short("en_US");
        peer.say(0, (10, 11), &start).await;
        assert_eq!(peer.next().await.numbers, (10, 30));
        let tune = Args::default().number16(channels).number32(bytes).number16(heartbeat);
        peer.say(0, (10, 31), &tune).await;
        peer.say(0, (10, 40), &Args::default().short(vhost).short("").octet(0)).await;
        let answer = peer.next().await;
        if answer.numbers != (10, 41) {
            return Err(answer.closed());
        }
        peer.channel(1).await;
        Ok(peer)
    }

    /// Opens a channel.
    pub async fn channel(&mut self, number: u16) {
        self.say(number, (20, 10), &Args::default().short("")).await;
        assert_eq!(self.next().await.numbers, (20, 11));
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends a method.
    pub async fn say(&mut self, channel: u16, numbers: (u16, u16), args: &Args) {
        self.write(&method(channel, numbers, args)).await;
    }

    /// Ends what is sent, and takes what comes until the other side ends as well; false when it broke the connection.
    pub async fn part(&mut self) -> bool {
        let end = async {
            self.stream.shutdown().await.is_ok() && self.stream.read_to_end(&mut Vec::new()).await.is_ok()
        };
        tokio::time::timeout(PATIENCE, end).await.expect("it does not end")
    }

    /// The next frame; nothing at the end.
    pub async fn raw(&mut self) -> Option<Frame> {
        loop {
            self.split();
            if let Some(frame) = self.came.pop_front() {
                return Some(frame);
            }
            let read = self.stream.read_buf(&mut self.input);
            if !matches!(tokio::time::timeout(PATIENCE, read).await.expect("nothing came"), Ok(1..)) {
                return None;
            }
        }
    }

    /// Takes the frames off that are there whole.
    fn split(&mut self) {
        let mut at = 0;
        while self.input.len() >= at + 8 {
            let head = &self.input[at..];
            let size = u32::from_be_bytes(head[3..7].try_into().unwrap()) as usize;
            if head.len() < size + 8 {
                break;
            }
            assert_eq!(head[7 + size], 0xCE);
            let channel = u16::from_be_bytes(head[1..3].try_into().unwrap());
            self.came.push_back((head[0], channel, head[7..7 + size].to_vec()));
            at += size + 8;
        }
        self.input.drain(..at);
    }

    /// The next method; contents are left out.
    pub async fn next(&mut self) -> Came {
        loop {
            let (kind, channel, payload) = self.raw().await.expect("the connection ended");
            if kind == 1 {
                let number = |at: usize| u16::from_be_bytes(payload[at..at + 2].try_into().unwrap());
                return Came { channel, numbers: (number(0), number(2)), args: payload[4..].to_vec() };
            }
        }
    }

    /// Writes the same again and again until a method comes.
    pub async fn flood(&mut self, part: &[u8]) -> Came {
        loop {
            let (mut from, mut to) = self.stream.split();
            tokio::select! {
                biased;
                read = from.read_buf(&mut self.input) => assert_ne!(read.unwrap(), 0, "the connection ended"),
                written = to.write_all(part) => {
                    written.unwrap();
                    continue;
                }
            }
            return self.next().await;
        }
    }

    /// Sends a method on channel 1; what answers it.
    pub async fn call(&mut self, numbers: (u16, u16), args: &Args) -> Came {
        self.write(&method(1, numbers, args)).await;
        self.next().await
    }

    pub async fn declare_queue(&mut self, name: &str) {
        let args = Args::default().number16(0).short(name).octet(2);
        let answer = self.call((50, 10), &args.table(&[("x-queue-type", Arg::Text("stream"))])).await;
        assert_eq!(answer.numbers, (50, 11), "{answer:?}");
    }

    pub async fn delete_queue(&mut self, name: &str) {
        let answer = self.call((50, 40), &Args::default().number16(0).short(name).octet(0)).await;
        assert_eq!(answer.numbers, (50, 41), "{answer:?}");
    }

    /// Declares an exchange with these bits: 1 passive, 2 durable, 4 auto-delete, 8 internal.
    pub async fn exchange(&mut self, name: &str, kind: &str, bits: u8, list: &[(&str, Arg<'_>)]) -> Came {
        let args = Args::default().number16(0).short(name).short(kind).octet(bits);
        self.call((40, 10), &args.table(list)).await
    }

    pub async fn bind(&mut self, queue: &str, exchange: &str, key: &str, list: &[(&str, Arg<'_>)]) {
        let args = Args::default().number16(0).short(queue).short(exchange).short(key).octet(0);
        assert_eq!(self.call((50, 20), &args.table(list)).await.numbers, (50, 21));
    }

    pub async fn unbind(&mut self, queue: &str, exchange: &str, key: &str) {
        let args = Args::default().number16(0).short(queue).short(exchange).short(key);
        assert_eq!(self.call((50, 50), &args.table(&[])).await.numbers, (50, 51));
    }

    /// The confirms of so many messages, by their tags from `first` on: whether each is stored.
    pub async fn confirms(&mut self, first: u64, count: u64) -> Vec<bool> {
        let mut known = vec![None; usize::try_from(count).unwrap()];
        while known.contains(&None) {
            let came = self.next().await;
            let stored = match came.numbers {
                (60, 80) => true,
                (60, 120) => false,
                _ => panic!("{came:?}"),
            };
            let tag = u64::from_be_bytes(came.args[..8].try_into().unwrap());
            let from = if came.args[8] & 1 == 1 { first } else { tag };
            for tag in from..=tag {
                let place = &mut known[usize::try_from(tag - first).unwrap()];
                assert!(place.is_none() || came.args[8] & 1 == 1, "{tag} is confirmed twice");
                place.get_or_insert(stored);
            }
        }
        known.into_iter().flatten().collect()
    }

    /// The next delivery with its body.
    pub async fn delivery(&mut self) -> (String, u64, Vec<u8>) {
        let (tag, number) = self.next().await.delivery();
        let (kind, _, header) = self.raw().await.unwrap();
        assert_eq!(kind, 2);
        let size = u64::from_be_bytes(header[4..12].try_into().unwrap());
        let mut body = Vec::new();
        while (body.len() as u64) < size {
            body.extend(self.raw().await.unwrap().2);
        }
        (tag, number, body)
    }

    /// The bodies of the next deliveries.
    pub async fn bodies(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(String::from_utf8(self.delivery().await.2).unwrap());
        }
        all
    }

    pub async fn declare(&mut self, channel: u16, queue: &str, arguments: &[(&str, &str)]) -> Came {
        let mut all = vec![("x-queue-type", "stream")];
        all.extend_from_slice(arguments);
        let args = Args::default().number16(0).short(queue).octet(0b10).texts(&all);
        self.say(channel, (50, 10), &args).await;
        self.next().await
    }

    pub async fn publish(&mut self, queue: &str, body: &str, headers: &[(&str, &str)]) {
        self.say(1, (60, 40), &Args::default().number16(0).short("").short(queue).octet(0)).await;
        let header = Args::default()
            .number16(60)
            .number16(0)
            .number64(body.len() as u64)
            .number16(1 << 13)
            .texts(headers);
        self.write(&frame(2, 1, &header.0)).await;
        if !body.is_empty() {
            self.write(&frame(3, 1, body.as_bytes())).await;
        }
    }

    /// Publishes with confirms and waits for the last one.
    pub async fn fill(&mut self, queue: &str, bodies: &[(&str, &[(&str, &str)])]) {
        self.say(1, (85, 10), &Args::default().octet(0)).await;
        assert_eq!(self.next().await.numbers, (85, 11));
        for (body, headers) in bodies {
            self.publish(queue, body, headers).await;
        }
        loop {
            let came = self.next().await;
            assert_eq!(came.numbers, (60, 80), "{came:?}");
            if came.args[..8] == (bodies.len() as u64).to_be_bytes() {
                return;
            }
        }
    }

    pub async fn prefetch(&mut self, channel: u16, count: u16) {
        self.say(channel, (60, 10), &Args::default().number32(0).number16(count).octet(0)).await;
        assert_eq!(self.next().await.numbers, (60, 11));
    }

    /// Asks for deliveries; the answer is for the caller to take.
    pub async fn consume(&mut self, channel: u16, queue: &str, tag: &str, arguments: &[(&str, &str)]) {
        let args = Args::default().number16(0).short(queue).short(tag).octet(0).texts(arguments);
        self.say(channel, (60, 20), &args).await;
    }

    /// Begins to read from the first record.
    pub async fn read(&mut self, channel: u16, queue: &str, tag: &str, arguments: &[(&str, &str)]) {
        let mut all = vec![("x-stream-offset", "first")];
        all.extend_from_slice(arguments);
        self.consume(channel, queue, tag, &all).await;
        assert_eq!(self.next().await.numbers, (60, 21));
    }

    pub async fn ack(&mut self, channel: u16, delivery: u64, multiple: bool) {
        self.say(channel, (60, 80), &Args::default().number64(delivery).octet(multiple.into())).await;
    }

    /// Answers a `channel.close`, and opens the channel again.
    pub async fn reopen(&mut self, channel: u16) {
        self.say(channel, (20, 41), &Args::default()).await;
        self.channel(channel).await;
    }

    /// Asks for an answer of the channel, so that what was sent before has been taken.
    pub async fn settle(&mut self, channel: u16) -> Came {
        self.say(channel, (60, 10), &Args::default().number32(0).number16(1).octet(0)).await;
        self.next().await
    }
}
