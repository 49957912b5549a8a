//! One AMQP connection with one channel: owns the socket, what is to be written and what came. Guarantees that a refusal of the
//! broker and its silence are failures that say so. Never connects again.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use kelda_env::{Clock, timeout};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::frames::{self, Frame, Id};
use crate::exit::Failure;

/// A broker that sends nothing for so long, while something is waited for, is given up.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// Bytes that one read takes at most.
const READ_BYTES: usize = 256 << 10;
/// Heads and ends of frames do not fit into what a frame may hold.
const FRAME_OVERHEAD: u32 = 8;

/// Where a broker is and who asks, as in `amqp://guest:guest@127.0.0.1:5672/%2F`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// As it was typed, without user and password.
    pub shown: String,
    address: String,
    user: String,
    password: String,
    vhost: String,
}

impl Broker {
    /// Reads a URL; user and password are `guest`, the port 5672 and the virtual host `/` when they are left out.
    pub fn parse(text: &str) -> Result<Broker, String> {
        let wrong = || format!("`{text}` is no broker: write amqp://USER:PASSWORD@HOST:PORT/VHOST");
        let rest = text.strip_prefix("amqp://").ok_or_else(wrong)?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, host) = authority.rsplit_once('@').unwrap_or(("guest:guest", authority));
        let (user, password) = login.split_once(':').ok_or_else(wrong)?;
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if host.is_empty() || host.contains(['?', '#']) || path.contains(['?', '/']) {
            return Err(wrong());
        }
        let decoded = |part: &str| unescape(part).ok_or_else(wrong);
        Ok(Broker {
            shown: format!("amqp://{host}/{path}"),
            address: if has_port { host.to_owned() } else { format!("{host}:5672") },
            user: decoded(user)?,
            password: decoded(password)?,
            vhost: if path.is_empty() { "/".to_owned() } else { decoded(path)? },
        })
    }
}

/// Text with `%XX` for bytes.
fn unescape(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(others.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &others[2..];
    }
    String::from_utf8(bytes).ok()
}

/// An open connection whose channel 1 is open.
pub(super) struct Link {
    clock: Arc<dyn Clock>,
    shown: String,
    stream: TcpStream,
    input: BytesMut,
    /// What is to be written.
    pub(super) out: BytesMut,
    /// Most bytes of a body in one frame.
    pub(super) body_bytes: usize,
}

impl Link {
    /// Connects; `beats` takes the heartbeat that the broker proposes, else there is none.
    pub(super) async fn open(broker: &Broker, clock: &Arc<dyn Clock>, beats: bool) -> Result<Link, Failure> {
        let lost = |cause: &dyn std::fmt::Display| Failure::local(format!("{}: {cause}", broker.shown));
        let stream = timeout(&**clock, IDLE_LIMIT, TcpStream::connect(&broker.address)).await;
        let stream = stream.map_err(|error| lost(&error))?.map_err(|error| lost(&error))?;
        stream.set_nodelay(true).map_err(|error| lost(&error))?;
        let (clock, shown) = (Arc::clone(clock), broker.shown.clone());
        let (input, out) = (BytesMut::new(), BytesMut::new());
        let mut link = Link { clock, shown, stream, input, out, body_bytes: 0 };
        link.handshake(broker, beats).await?;
        link.call(frames::CHANNEL_OPEN, frames::CHANNEL_OPEN_OK, |out| frames::put_short(out, "")).await?;
        Ok(link)
    }

    async fn handshake(&mut self, broker: &Broker, beats: bool) -> Result<(), Failure> {
        self.out.put_slice(frames::PROTOCOL);
        self.answer(frames::START).await?;
        frames::put_method(&mut self.out, 0, frames::START_OK, |out| {
            frames::put_table(out, None);
            frames::put_short(out, "PLAIN");
            frames::put_long(out, &format!("\0{}\0{}", broker.user, broker.password));
            frames::put_short(out, "en_US");
        });
        let mut tune = self.answer(frames::TUNE).await?;
        if tune.len() < 8 {
            return Err(self.lost("its tune is too short"));
        }
        let (channels, frame, heartbeat) = (tune.get_u16(), tune.get_u32(), tune.get_u16());
        self.body_bytes = frame.saturating_sub(FRAME_OVERHEAD).max(1) as usize;
        frames::put_method(&mut self.out, 0, frames::TUNE_OK, |out| {
            out.put_u16(channels);
            out.put_u32(frame);
            out.put_u16(if beats { heartbeat } else { 0 });
        });
        frames::put_method(&mut self.out, 0, frames::OPEN, |out| {
            frames::put_short(out, &broker.vhost);
            frames::put_short(out, "");
            out.put_u8(0);
        });
        self.answer(frames::OPEN_OK).await.map(drop)
    }

    /// Asks and waits for the answer; its arguments.
    pub(super) async fn call(
        &mut self,
        method: Id,
        answer: Id,
        arguments: impl FnOnce(&mut BytesMut),
    ) -> Result<BytesMut, Failure> {
        frames::put_method(&mut self.out, 1, method, arguments);
        self.answer(answer).await
    }

    /// Declares a durable stream queue.
    pub(super) async fn declare(&mut self, queue: &str) -> Result<(), Failure> {
        let arguments = |out: &mut BytesMut| {
            out.put_u16(0);
            frames::put_short(out, queue);
            out.put_u8(2);
            frames::put_table(out, Some(("x-queue-type", "stream")));
        };
        self.call(frames::DECLARE, frames::DECLARE_OK, arguments).await.map(drop)
    }

    /// Deletes it.
    pub(super) async fn delete(&mut self, queue: &str) -> Result<(), Failure> {
        let arguments = |out: &mut BytesMut| {
            out.put_u16(0);
            frames::put_short(out, queue);
            out.put_u8(0);
        };
        self.call(frames::DELETE, frames::DELETE_OK, arguments).await.map(drop)
    }

    /// Asks for confirms.
    pub(super) async fn confirms(&mut self) -> Result<(), Failure> {
        self.call(frames::CONFIRM, frames::CONFIRM_OK, |out| out.put_u8(0)).await.map(drop)
    }

    /// Consumes from there.
    pub(super) async fn consume(&mut self, queue: &str, offset: &str, prefetch: u16) -> Result<(), Failure> {
        let limit = |out: &mut BytesMut| {
            out.put_u32(0);
            out.put_u16(prefetch);
            out.put_u8(0);
        };
        self.call(frames::QOS, frames::QOS_OK, limit).await?;
        let arguments = |out: &mut BytesMut| {
            out.put_u16(0);
            frames::put_short(out, queue);
            frames::put_short(out, "bench");
            out.put_u8(0);
            frames::put_table(out, Some(("x-stream-offset", offset)));
        };
        self.call(frames::CONSUME, frames::CONSUME_OK, arguments).await.map(drop)
    }

    /// Acknowledges everything up to a delivery.
    pub(super) fn acknowledge(&mut self, tag: u64) {
        frames::put_method(&mut self.out, 1, frames::ACK, |out| {
            out.put_u64(tag);
            out.put_u8(1);
        });
    }

    /// Closes in order.
    pub(super) async fn close(mut self) -> Result<(), Failure> {
        frames::put_method(&mut self.out, 0, frames::CLOSE, |out| {
            out.put_u16(200);
            frames::put_short(out, "");
            out.put_u32(0);
        });
        loop {
            // Deliveries that were on their way come first.
            if let Frame::Method(frames::CLOSE_OK, _) = self.frame().await? {
                return Ok(());
            }
        }
    }

    /// Writes what there is to write and waits for a method.
    async fn answer(&mut self, wanted: Id) -> Result<BytesMut, Failure> {
        loop {
            match self.frame().await? {
                Frame::Method(id, arguments) if id == wanted => return Ok(arguments),
                Frame::Method(id, _) => {
                    return Err(self.lost(&format!("method {id:?} came instead of {wanted:?}")));
                }
                _ => {}
            }
        }
    }

    /// The next frame; writes and reads until it is there.
    async fn frame(&mut self) -> Result<Frame, Failure> {
        loop {
            if let Some(frame) = self.next_frame()? {
                return Ok(frame);
            }
            self.pump().await?;
        }
    }

    /// A frame that came already.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame>, Failure> {
        match frames::take(&mut self.input).map_err(|error| self.lost(&error))? {
            Some(Frame::Method(frames::CLOSE | frames::CHANNEL_CLOSE, arguments)) => {
                Err(self.lost(&format!("closed by the broker: {}", frames::reason(arguments))))
            }
            frame => Ok(frame),
        }
    }

    /// Writes some of what there is to write, or takes what came, whichever can be done first.
    pub(super) async fn pump(&mut self) -> Result<(), Failure> {
        let Link { clock, stream, input, out, shown, .. } = self;
        let (mut from, mut to) = stream.split();
        input.reserve(READ_BYTES);
        let step = async {
            tokio::select! {
                biased;
                written = to.write_buf(out), if !out.is_empty() => written,
                read = from.read_buf(input) => read,
            }
        };
        match timeout(&**clock, IDLE_LIMIT, step).await {
            Ok(Ok(1..)) => Ok(()),
            Ok(Ok(0)) => Err(Failure::local(format!("{shown}: the broker closed the connection"))),
            Ok(Err(error)) => Err(Failure::local(format!("{shown}: {error}"))),
            Err(_) => Err(Failure::local(format!("{shown}: nothing came for {IDLE_LIMIT:?}"))),
        }
    }

    fn lost(&self, cause: &str) -> Failure {
        Failure::local(format!("{}: {cause}", self.shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_read_from_its_url() {
        let broker = Broker::parse("amqp://u:p%40@h:1/%2F").unwrap();
        let parts = [&broker.address, &broker.user, &broker.password, &broker.vhost, &broker.shown];
        assert_eq!(parts, ["h:1", "u", "p@", "/", "amqp://h:1/%2F"]);
        let broker = Broker::parse("amqp://localhost").unwrap();
        assert_eq!([&broker.address, &broker.user, &broker.vhost], ["localhost:5672", "guest", "/"]);
        for wrong in ["", "http://h", "amqp://", "amqp://u@h", "amqp://h/%2", "amqp://h/a/b", "amqp://h?x=1"]
        {
            assert!(
                Broker::parse(wrong).is_err_and(|error| error.contains(&format!("`{wrong}`"))),
                "{wrong}"
            );
        }
    }
}
