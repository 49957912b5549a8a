//! A client of AMQP that writes its frames by hand, so that it can send what no library would.

use std::collections::VecDeque;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::TestNode;

/// Most bytes of a body in one frame.
pub const BODY_BYTES: usize = 131_064;

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
}

/// A method that came: its numbers and arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Came {
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
}

/// One connection, with channel 1 open.
pub struct Peer {
    stream: TcpStream,
    input: Vec<u8>,
    came: VecDeque<Came>,
}

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

    /// Connects to a virtual host, and opens channel 1.
    pub async fn in_vhost(node: &TestNode, vhost: &str) -> Result<Peer, (u16, String)> {
        let address = node.node.as_ref().unwrap().amqp_listen().unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        let mut peer = Peer { stream, input: Vec::new(), came: VecDeque::new() };
        peer.write(b"AMQP\0\0\x09\x01").await;
        assert_eq!(peer.next().await.numbers, (10, 10));
        let capabilities = [("connection.blocked", Arg::True)];
        let start = Args::default().table(&[("capabilities", Arg::Table(&capabilities))]);
        let start = start.short("PLAIN").long(b"\0guest\0guest").short("en_US");
        peer.write(&method(0, (10, 11), &start)).await;
        assert_eq!(peer.next().await.numbers, (10, 30));
        let tune = Args::default().number16(2047).number32(131_072).number16(0);
        peer.write(&method(0, (10, 31), &tune)).await;
        peer.write(&method(0, (10, 40), &Args::default().short(vhost).short("").octet(0))).await;
        let answer = peer.next().await;
        if answer.numbers != (10, 41) {
            return Err(answer.closed());
        }
        assert_eq!(peer.call((20, 10), &Args::default().short("")).await.numbers, (20, 11));
        Ok(peer)
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The next method; contents are left out.
    pub async fn next(&mut self) -> Came {
        loop {
            if let Some(came) = self.came.pop_front() {
                return came;
            }
            let mut at = 0;
            while self.input.len() >= at + 8 {
                let head = &self.input[at..];
                let size = u32::from_be_bytes(head[3..7].try_into().unwrap()) as usize;
                if head.len() < size + 8 {
                    break;
                }
                let payload = &head[7..7 + size];
                if head[0] == 1 {
                    let number = |at: usize| u16::from_be_bytes(payload[at..at + 2].try_into().unwrap());
                    self.came
                        .push_back(Came { numbers: (number(0), number(2)), args: payload[4..].to_vec() });
                }
                at += size + 8;
            }
            self.input.drain(..at);
            if self.came.is_empty() {
                assert_ne!(self.stream.read_buf(&mut self.input).await.unwrap(), 0, "the connection ended");
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
}
