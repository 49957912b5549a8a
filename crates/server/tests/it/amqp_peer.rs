//! A peer that speaks AMQP byte by byte: it sends what a test says and shows what comes.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::TestNode;

/// How long anything may take to come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Fields of a method, one after the other.
#[derive(Clone, Default)]
pub struct Fields(pub Vec<u8>);

impl Fields {
    pub fn u8(mut self, value: u8) -> Fields {
        self.0.push(value);
        self
    }

    pub fn u16(mut self, value: u16) -> Fields {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Fields {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn u64(mut self, value: u64) -> Fields {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub fn short(mut self, text: &str) -> Fields {
        self.0.push(u8::try_from(text.len()).unwrap());
        self.0.extend(text.as_bytes());
        self
    }

    pub fn long(mut self, bytes: &[u8]) -> Fields {
        self = self.u32(u32::try_from(bytes.len()).unwrap());
        self.0.extend(bytes);
        self
    }

    /// A table of texts; a value `true` is a truth value.
    pub fn table(self, list: &[(&str, &str)]) -> Fields {
        let mut inner = Fields::default();
        for (name, value) in list {
            inner = inner.short(name);
            inner = match *value {
                "true" => inner.u8(b't').u8(1),
                text => inner.u8(b'S').long(text.as_bytes()),
            };
        }
        self.long(&inner.0)
    }
}

/// What came: a method, or the body of a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Came {
    pub channel: u16,
    /// Class and method.
    pub method: (u16, u16),
    pub fields: Vec<u8>,
}

impl Came {
    /// Code and text of a close.
    pub fn refusal(&self) -> (u16, String) {
        assert!(matches!(self.method, (10, 50) | (20, 40)), "{self:?}");
        let length = usize::from(self.fields[2]);
        let text = String::from_utf8_lossy(&self.fields[3..3 + length]).into_owned();
        (u16::from_be_bytes([self.fields[0], self.fields[1]]), text)
    }

    /// Tag and number of a delivery.
    pub fn delivery(&self) -> (String, u64) {
        assert_eq!(self.method, (60, 60), "{self:?}");
        let length = usize::from(self.fields[0]);
        let tag = String::from_utf8_lossy(&self.fields[1..=length]).into_owned();
        (tag, u64::from_be_bytes(self.fields[length + 1..length + 9].try_into().unwrap()))
    }
}

/// A connection.
pub struct Peer {
    stream: TcpStream,
}

impl Peer {
    /// A connection with channel 1 open.
    pub async fn open(node: &TestNode) -> Peer {
        Peer::with_heartbeat(node, 0).await
    }

    pub async fn with_heartbeat(node: &TestNode, seconds: u16) -> Peer {
        let address = node.node.as_ref().unwrap().amqp_listen().unwrap();
        let mut peer = Peer { stream: TcpStream::connect(address).await.unwrap() };
        peer.stream.write_all(b"AMQP\0\0\x09\x01").await.unwrap();
        assert_eq!(peer.next().await.method, (10, 10));
        let capabilities = Fields::default().table(&[("consumer_cancel_notify", "true")]);
        let mut properties = Fields::default().short("capabilities").u8(b'F').0;
        properties.extend(capabilities.0);
        let start = Fields::default().long(&properties).short("PLAIN").long(b"\0guest\0guest").short("en_US");
        peer.say(0, (10, 11), start).await;
        assert_eq!(peer.next().await.method, (10, 30));
        peer.say(0, (10, 31), Fields::default().u16(2047).u32(131_072).u16(seconds)).await;
        peer.say(0, (10, 40), Fields::default().short("/").short("").u8(0)).await;
        assert_eq!(peer.next().await.method, (10, 41));
        peer.channel(1).await;
        peer
    }

    pub async fn channel(&mut self, number: u16) {
        self.say(number, (20, 10), Fields::default().short("")).await;
        assert_eq!(self.next().await.method, (20, 11));
    }

    pub async fn frame(&mut self, kind: u8, channel: u16, payload: &[u8]) {
        let mut frame = Fields::default().u8(kind).u16(channel).long(payload).0;
        frame.push(0xce);
        self.stream.write_all(&frame).await.unwrap();
    }

    pub async fn say(&mut self, channel: u16, (class, method): (u16, u16), fields: Fields) {
        let mut payload = Fields::default().u16(class).u16(method).0;
        payload.extend(fields.0);
        self.frame(1, channel, &payload).await;
    }

    /// Ends what is sent, and takes what comes until the other side ends as well; false when it broke the connection.
    pub async fn part(&mut self) -> bool {
        let end = async {
            self.stream.shutdown().await.is_ok() && self.stream.read_to_end(&mut Vec::new()).await.is_ok()
        };
        tokio::time::timeout(PATIENCE, end).await.expect("it does not end")
    }

    /// The next frame: kind, channel, payload; nothing at the end.
    pub async fn raw(&mut self) -> Option<(u8, u16, Vec<u8>)> {
        let mut head = [0; 7];
        let read = async { self.stream.read_exact(&mut head).await.ok().map(drop) };
        tokio::time::timeout(PATIENCE, read).await.expect("nothing came")?;
        let size = u32::from_be_bytes(head[3..].try_into().unwrap()) as usize;
        let mut payload = vec![0; size + 1];
        self.stream.read_exact(&mut payload).await.unwrap();
        assert_eq!(payload.pop(), Some(0xce));
        Some((head[0], u16::from_be_bytes([head[1], head[2]]), payload))
    }

    /// The next method; contents are passed by.
    pub async fn next(&mut self) -> Came {
        loop {
            let (kind, channel, payload) = self.raw().await.expect("the connection ended");
            if kind == 1 {
                let number = |at: usize| u16::from_be_bytes([payload[at], payload[at + 1]]);
                return Came { channel, method: (number(0), number(2)), fields: payload[4..].to_vec() };
            }
        }
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
        let fields = Fields::default().u16(0).short(queue).u8(0b10).table(&all);
        self.say(channel, (50, 10), fields).await;
        self.next().await
    }

    pub async fn publish(&mut self, queue: &str, body: &str, headers: &[(&str, &str)]) {
        self.say(1, (60, 40), Fields::default().u16(0).short("").short(queue).u8(0)).await;
        let header = Fields::default().u16(60).u16(0).u64(body.len() as u64).u16(1 << 13).table(headers);
        self.frame(2, 1, &header.0).await;
        if !body.is_empty() {
            self.frame(3, 1, body.as_bytes()).await;
        }
    }

    /// Publishes with confirms and waits for the last one.
    pub async fn fill(&mut self, queue: &str, bodies: &[(&str, &[(&str, &str)])]) {
        self.say(1, (85, 10), Fields::default().u8(0)).await;
        assert_eq!(self.next().await.method, (85, 11));
        for (body, headers) in bodies {
            self.publish(queue, body, headers).await;
        }
        loop {
            let came = self.next().await;
            assert_eq!(came.method, (60, 80), "{came:?}");
            if came.fields[..8] == (bodies.len() as u64).to_be_bytes() {
                return;
            }
        }
    }

    pub async fn prefetch(&mut self, channel: u16, count: u16) {
        self.say(channel, (60, 10), Fields::default().u32(0).u16(count).u8(0)).await;
        assert_eq!(self.next().await.method, (60, 11));
    }

    /// Asks for deliveries; the answer is for the caller to take.
    pub async fn consume(&mut self, channel: u16, queue: &str, tag: &str, arguments: &[(&str, &str)]) {
        let fields = Fields::default().u16(0).short(queue).short(tag).u8(0).table(arguments);
        self.say(channel, (60, 20), fields).await;
    }

    /// Begins to read from the first record.
    pub async fn read(&mut self, channel: u16, queue: &str, tag: &str, arguments: &[(&str, &str)]) {
        let mut all = vec![("x-stream-offset", "first")];
        all.extend_from_slice(arguments);
        self.consume(channel, queue, tag, &all).await;
        assert_eq!(self.next().await.method, (60, 21));
    }

    pub async fn ack(&mut self, channel: u16, delivery: u64, multiple: bool) {
        self.say(channel, (60, 80), Fields::default().u64(delivery).u8(multiple.into())).await;
    }

    /// Answers a `channel.close`, and opens the channel again.
    pub async fn reopen(&mut self, channel: u16) {
        self.say(channel, (20, 41), Fields::default()).await;
        self.channel(channel).await;
    }

    /// Asks for an answer of the channel, so that what was sent before has been taken.
    pub async fn settle(&mut self, channel: u16) -> Came {
        self.say(channel, (60, 10), Fields::default().u32(0).u16(1).u8(0)).await;
        self.next().await
    }
}
