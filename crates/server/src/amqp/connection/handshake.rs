//! Opening a connection.
//!
//! Owns everything up to `connection.open-ok`: the protocol header, login, what is agreed on, the virtual host. Guarantees
//! that a peer that does not get through it is cut within a limit.

use std::net::IpAddr;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kelda_format::{Header, Value};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::amqp::listener::Amqp;
use crate::amqp::login::{self, Login, MECHANISMS};
use crate::amqp::reply;
use crate::amqp::vhost;
use crate::amqp::wire::{FrameKind, Method, Short, Table, put_frame, take_frame};

/// How long a peer may take for the whole of it.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a peer that is not let in waits for the end, so that it does not try again at once.
const PAUSE: Duration = Duration::from_secs(3);
/// The header of this protocol, and those of older versions that say the same.
const HEADER: &[u8; 8] = b"AMQP\0\0\x09\x01";
const OLD_HEADERS: [&[u8; 8]; 3] = [b"AMQP\x01\x01\0\x09", b"AMQP\x01\x01\x08\0", b"AMQP\x01\x01\x09\x01"];
/// Channels of one connection.
const CHANNEL_MAX: u16 = 2047;
/// Bytes of a frame.
pub const FRAME_MAX: u32 = 131_072;
/// The smallest size of frames that may be agreed on.
const LEAST_FRAME: u32 = 4_096;
/// Seconds between heartbeats that are proposed.
const HEARTBEAT: u16 = 60;
/// What is announced beside the name.
const CAPABILITIES: [&str; 8] = [
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "authentication_failure_close",
    "per_consumer_qos",
    "consumer_priorities",
];

/// What was agreed on.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The virtual host.
    pub vhost: Short,
    /// Who it is.
    pub user: String,
    /// Channels at once.
    pub channel_max: u16,
    /// Bytes of a frame.
    pub frame_max: u32,
    /// Seconds between heartbeats; 0 for none.
    pub heartbeat: u16,
    /// Whether the peer wants to hear of consumers that end without its doing.
    pub cancel_notify: bool,
    /// Whether the peer wants to hear that it has to wait.
    pub tells_blocked: bool,
}

struct Line<'a, S> {
    stream: &'a mut S,
    input: &'a mut BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Line<'_, S> {
    async fn more(&mut self) -> Option<()> {
        match self.stream.read_buf(self.input).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(()),
        }
    }

    async fn next(&mut self) -> Option<Method> {
        loop {
            match take_frame(self.input, FRAME_MAX as usize) {
                Ok(Some(frame)) if frame.kind == FrameKind::Heartbeat => {}
                Ok(Some(frame)) if frame.kind == FrameKind::Method && frame.channel == 0 => {
                    return Method::get(frame.payload).ok()?;
                }
                Ok(None) => self.more().await?,
                _ => return None,
            }
        }
    }

    async fn say(&mut self, method: &Method) -> Option<()> {
        let mut out = BytesMut::new();
        put_frame(&mut out, FrameKind::Method, 0, |out| method.put(out));
        self.stream.write_all(&out).await.ok()
    }
}

/// Opens the connection; nothing when that failed, which the peer was told as far as the protocol can tell it.
pub async fn run<S: AsyncRead + AsyncWrite + Unpin>(
    amqp: &Amqp,
    stream: &mut S,
    input: &mut BytesMut,
    peer: IpAddr,
) -> Option<Opened> {
    let mut line = Line { stream, input };
    match amqp.env.timeout(LIMIT, open(amqp, &mut line, peer)).await {
        Ok(Ok(opened)) => return Some(opened),
        Ok(Err(End::Now)) | Err(_) => {}
        Ok(Err(End::Late)) => amqp.env.clock.sleep(PAUSE).await,
    }
    // The end comes in order, behind what was written.
    let _ = line.stream.shutdown().await;
    None
}

/// How a connection that is not opened ends.
enum End {
    Now,
    Late,
}

async fn open<S: AsyncRead + AsyncWrite + Unpin>(
    amqp: &Amqp,
    line: &mut Line<'_, S>,
    peer: IpAddr,
) -> Result<Opened, End> {
    while line.input.len() < HEADER.len() {
        line.more().await.ok_or(End::Now)?;
    }
    let header = line.input.split_to(HEADER.len());
    if header[..] != HEADER[..] && !OLD_HEADERS.iter().any(|old| header[..] == old[..]) {
        let _ = line.stream.write_all(HEADER).await;
        return Err(End::Now);
    }
    let start = Method::Start {
        major: 0,
        minor: 9,
        properties: properties(),
        mechanisms: Bytes::from_static(MECHANISMS.as_bytes()),
        locales: Bytes::from_static(b"en_US"),
    };
    line.say(&start).await.ok_or(End::Now)?;
    let Some(Method::StartOk { properties, mechanism, response, .. }) = line.next().await else {
        return Err(End::Late);
    };
    let capabilities = match properties.value("capabilities") {
        Some(Value::Table(list)) => Table(list.clone()),
        _ => Table::default(),
    };
    let user = match login::judge(&mechanism, &response, peer) {
        Login::In(user) => user,
        Login::Refused => {
            tracing::info!(%peer, "an AMQP login was refused: until access tokens exist, guest/guest from this machine may");
            if !capabilities.is_true("authentication_failure_close") {
                return Err(End::Late);
            }
            let text = format!(
                "Login was refused using authentication mechanism {}. For details see the broker logfile.",
                mechanism.text()
            );
            let refusal = reply::access_refused(text);
            let _ = line
                .say(&Method::Close { code: refusal.code, text: refusal.told(), class: 0, method: 0 })
                .await;
            return Err(End::Now);
        }
        Login::Malformed => return Err(End::Late),
    };
    let tune = Method::Tune { channel_max: CHANNEL_MAX, frame_max: FRAME_MAX, heartbeat: HEARTBEAT };
    line.say(&tune).await.ok_or(End::Now)?;
    let Some(Method::TuneOk { channel_max, frame_max, heartbeat }) = line.next().await else {
        return Err(End::Late);
    };
    if !(1..=CHANNEL_MAX).contains(&channel_max) || !(LEAST_FRAME..=FRAME_MAX).contains(&frame_max) {
        return Err(End::Late);
    }
    let Some(Method::Open { vhost, .. }) = line.next().await else { return Err(End::Late) };
    let refusal = if std::str::from_utf8(vhost.bytes()).is_err() {
        Some(reply::frame_error("Malformed UTF-8 in shortstr"))
    } else if !vhost::exists(&amqp.meta.view(), vhost.bytes()) {
        Some(reply::not_allowed(format!("vhost {} not found", vhost.text())))
    } else {
        None
    };
    if let Some(refusal) = refusal {
        let _ = line
            .say(&Method::Close { code: refusal.code, text: refusal.told(), class: 10, method: 40 })
            .await;
        let _ = line.next().await;
        return Err(End::Now);
    }
    line.say(&Method::OpenOk { known_hosts: Short::default() }).await.ok_or(End::Now)?;
    let cancel_notify = capabilities.is_true("consumer_cancel_notify");
    let tells_blocked = capabilities.is_true("connection.blocked");
    Ok(Opened { vhost, user, channel_max, frame_max, heartbeat, cancel_notify, tells_blocked })
}

fn properties() -> Table {
    let text = |name: &str, value: &str| Header::new(name, Value::Text(value.to_owned()));
    let capabilities = CAPABILITIES.iter().map(|name| Header::new(*name, Value::Bool(true))).collect();
    Table(vec![
        Header::new("capabilities", Value::Table(capabilities)),
        text("cluster_name", "kelda"),
        text("copyright", "Licensed under the Apache License 2.0"),
        text("information", "https://kelda.dev"),
        text("platform", "Rust"),
        text("product", "Kelda"),
        text("version", env!("CARGO_PKG_VERSION")),
    ])
}
