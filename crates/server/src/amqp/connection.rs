//! One connection.
//!
//! Owns the socket: one task reads frames, writes what the session has to say, keeps the heart beating and ends. Guarantees that
//! it never reads on while what was read before cannot be taken, and that messages which came whole are appended before the
//! end, whichever way it ends. Never knows what a method means.

mod deliver;
mod handshake;
mod methods;
mod operation;
mod publish;
mod room;
mod session;
mod work;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures::StreamExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::listener::Amqp;
use super::reply;
use super::wire::take_frame;
use session::{OUT_BYTES, Session};

/// Bytes that are read at once from a peer that sends much.
const READ_BYTES: usize = 64 << 10;
/// Bytes that are read at once from one that sends little: what an idle connection holds.
const LEAST_READ_BYTES: usize = 2 << 10;
/// How often at least it is looked at what waits for too long.
const TICK: Duration = Duration::from_secs(30);
/// How long what was received is given to be stored when the peer is gone.
const DRAIN: Duration = Duration::from_secs(10);
/// How long a peer is given to agree to the end.
const FAREWELL: Duration = Duration::from_secs(3);

/// Serves a connection to its end.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(amqp: Arc<Amqp>, mut stream: S, peer: IpAddr) {
    let mut input = BytesMut::with_capacity(LEAST_READ_BYTES);
    let opened = tokio::select! {
        biased;
        () = amqp.stopping.cancelled() => None,
        opened = handshake::run(&amqp, &mut stream, &mut input, peer) => opened,
    };
    let Some(opened) = opened else { return };
    let heartbeat = Duration::from_secs(opened.heartbeat.into());
    let mut session = Session::new(Arc::clone(&amqp), opened);
    let killing = amqp.killing.clone();
    tokio::select! {
        biased;
        () = killing.cancelled() => return,
        () = run(&mut session, stream, &mut input, heartbeat) => {}
    }
    // The peer is gone; what it sent is not.
    let drained = async {
        while session.has_messages() {
            session.turn();
            let Some(done) = session.work.next().await else { break };
            session.done(done);
        }
    };
    if amqp.env.timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("messages of a connection that ended could not be stored in time");
    }
}

async fn run<S: AsyncRead + AsyncWrite + Unpin + Send>(
    session: &mut Session,
    stream: S,
    input: &mut BytesMut,
    heartbeat: Duration,
) {
    let amqp = Arc::clone(&session.amqp);
    let clock = &amqp.env.clock;
    let (mut from, mut to) = tokio::io::split(stream);
    let beat = if heartbeat.is_zero() { TICK } else { heartbeat / 2 };
    let tick = beat.min(TICK).min(amqp.consumer_timeout / 4);
    let mut appetite = LEAST_READ_BYTES;
    let (mut heard, mut spoke) = (clock.monotonic(), clock.monotonic());
    let mut timer = clock.sleep(tick);
    let mut farewell = clock.sleep(Duration::from_secs(u64::from(u32::MAX)));
    let mut bidding = false;
    let (mut stopping, mut asked) = (false, false);
    loop {
        while session.takes_input() {
            match take_frame(input, session.frame_max) {
                Ok(Some(frame)) => session.frame(frame),
                Ok(None) => break,
                Err(fault) => session.bad_frame(&fault),
            }
        }
        asked |= session.is_asked();
        session.turn();
        if session.is_over() && session.out.is_empty() {
            break;
        }
        if session.is_closing() && !bidding {
            bidding = true;
            farewell = clock.sleep(FAREWELL);
        }
        let roomy = session.out.len() < OUT_BYTES;
        let (reads, works) = (session.takes_input() && roomy, !session.work.is_empty() && roomy);
        tokio::select! {
            biased;
            written = to.write_buf(&mut session.out), if !session.out.is_empty() => match written {
                Ok(0) | Err(_) => break,
                Ok(_) => spoke = clock.monotonic(),
            },
            Some(done) = session.work.next(), if works => session.done(done),
            outcome = session::busy(&mut session.busy), if session.busy.is_some() => session.operated(outcome),
            hold = session::busy(&mut session.room), if session.room.is_some() => session.roomed(hold),
            read = { input.reserve(appetite); from.read_buf(input) }, if reads => match read {
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    heard = clock.monotonic();
                    appetite = if count < appetite { LEAST_READ_BYTES } else { READ_BYTES };
                }
            },
            () = &mut timer => {
                timer = clock.sleep(tick);
                let now = clock.monotonic();
                if session.takes_input() {
                    session.tick();
                    if input.is_empty() {
                        *input = BytesMut::new();
                    }
                }
                if !heartbeat.is_zero() {
                    if now.saturating_sub(spoke) >= beat && session.out.is_empty() {
                        session.beat();
                    }
                    if reads && now.saturating_sub(heard) > heartbeat * 5 / 2 {
                        tracing::debug!("an AMQP peer is silent");
                        break;
                    }
                }
            }
            () = &mut farewell => break,
            () = amqp.stopping.cancelled(), if !stopping => {
                stopping = true;
                let text = "broker forced connection closure with reason 'shutdown'";
                session.refuse(0, (0, 0), &reply::connection_forced(text).of_nothing());
            }
        }
    }
    if asked {
        // Some clients send what waited in their queues behind their own farewell; a socket that is closed under them
        // would be an error there. The peer closes, unless it takes too long.
        let mut rest = [0; 1 << 10];
        let part = async { while matches!(from.read(&mut rest).await, Ok(1..)) {} };
        let _ = amqp.env.timeout(FAREWELL, part).await;
    }
    // Closes the direction to the peer in order, so that it reads what was written last.
    let _ = amqp.env.timeout(FAREWELL, to.shutdown()).await;
}
