//! The load generator: owns connections that each send one request after the other, and what is counted of them. Guarantees
//! that only whole requests which were answered with success are counted. Never waits for anything but the server, the
//! rate that was asked for, and the pause that a server asks for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, StatusCode, Uri};
use kelda_env::processor_time;
use parking_lot::Mutex;

use super::connection::{Connection, Discard, Target};
use super::latency::Latencies;
use super::payload::Payload;
use super::world::World;
use crate::exit::Failure;

/// The longest pause that a server may ask for before it counts as gone.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// What every request is.
#[derive(Clone, Debug)]
pub struct Work {
    pub method: Method,
    /// Where requests go, in turn.
    pub paths: Vec<Uri>,
    pub payload: Payload,
    pub content_type: &'static str,
}

/// When it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After so many requests.
    Requests(u64),
    /// When requests were begun for so long.
    After(Duration),
}

/// How requests are sent.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Connections, and so requests, at once.
    pub in_flight: u32,
    /// Requests a second at most.
    pub rate: Option<f64>,
    /// How long to send before counting.
    pub warm_up: Duration,
    pub end: End,
}

/// What was counted.
#[derive(Clone, Debug)]
pub struct Tally {
    pub requests: u64,
    /// Requests that were answered 503 and sent again.
    pub errors: u64,
    pub latencies: Latencies,
    pub elapsed: Duration,
    /// Processor time of this process.
    pub processor: Duration,
}

/// Opens as many connections as there are to be requests in flight.
pub async fn connect(target: &Target, in_flight: u32) -> Result<Vec<Connection>, Failure> {
    let mut connections = Vec::new();
    for _ in 0..in_flight {
        connections.push(Connection::open(target).await?);
    }
    Ok(connections)
}

/// Warms up, then measures.
pub async fn measure(world: &World, target: &Target, work: Work, pace: Pace) -> Result<Tally, Failure> {
    let work = Arc::new(work);
    let mut connections = connect(target, pace.in_flight).await?;
    if !pace.warm_up.is_zero() {
        let end = End::After(pace.warm_up);
        (connections, _) = phase(world, connections, &work, pace.rate, end).await?;
    }
    phase(world, connections, &work, pace.rate, pace.end).await.map(|(_, tally)| tally)
}

/// Sends on all connections until the end, and gives them back.
pub async fn phase(
    world: &World,
    connections: Vec<Connection>,
    work: &Arc<Work>,
    rate: Option<f64>,
    end: End,
) -> Result<(Vec<Connection>, Tally), Failure> {
    let started = world.clock.monotonic();
    let counted = Counted { requests: 0, errors: 0, latencies: Latencies::new() };
    let shared = Arc::new(Shared {
        world: world.clone(),
        work: Arc::clone(work),
        content_type: HeaderValue::from_static(work.content_type),
        rate,
        end,
        started,
        tickets: AtomicU64::new(0),
        counted: Mutex::new(counted),
    });
    let processor = processor_time();
    let senders = connections.into_iter().map(|connection| send_all(Arc::clone(&shared), connection));
    let connections = world.together("sender", senders.collect()).await?;
    let elapsed = world.clock.monotonic() - started;
    let processor = processor_time() - processor;
    let Counted { requests, errors, latencies } = shared.counted.lock().clone();
    Ok((connections, Tally { requests, errors, latencies, elapsed, processor }))
}

#[derive(Clone)]
struct Counted {
    requests: u64,
    errors: u64,
    latencies: Latencies,
}

struct Shared {
    world: World,
    work: Arc<Work>,
    content_type: HeaderValue,
    rate: Option<f64>,
    end: End,
    started: Duration,
    tickets: AtomicU64,
    counted: Mutex<Counted>,
}

/// The time after the start at which a request is due.
fn due(ticket: u64, rate: f64) -> Duration {
    Duration::from_secs_f64(ticket as f64 / rate)
}

async fn send_all(shared: Arc<Shared>, mut connection: Connection) -> Result<Connection, Failure> {
    let clock = &shared.world.clock;
    loop {
        let ticket = shared.tickets.fetch_add(1, Ordering::Relaxed);
        let mut begun = clock.monotonic();
        if let Some(rate) = shared.rate {
            let due = shared.started + due(ticket, rate);
            if matches!(shared.end, End::After(limit) if due >= shared.started + limit) {
                return Ok(connection);
            }
            if due > begun {
                clock.sleep(due - begun).await;
                begun = clock.monotonic();
            } else {
                // It is late because the server is, and that counts.
                begun = due;
            }
        }
        let over = match shared.end {
            End::Requests(most) => ticket >= most,
            End::After(limit) => shared.rate.is_none() && begun >= shared.started + limit,
        };
        if over {
            return Ok(connection);
        }
        let errors = send_one(&shared, &mut connection, ticket).await?;
        let latency = clock.monotonic().saturating_sub(begun);
        let mut counted = shared.counted.lock();
        counted.requests += 1;
        counted.errors += errors;
        counted.latencies.add(latency);
    }
}

/// Sends a request until it is taken, and says how often it was not.
async fn send_one(shared: &Shared, connection: &mut Connection, ticket: u64) -> Result<u64, Failure> {
    let (work, clock) = (&shared.work, &shared.world.clock);
    let path = &work.paths[(ticket % work.paths.len() as u64) as usize];
    let mut errors = 0;
    loop {
        let body = work.payload.at(shared.world.nanos());
        let mut request = connection.request(work.method.clone(), path.clone(), body);
        request.headers_mut().insert(CONTENT_TYPE, shared.content_type.clone());
        let answer = connection.exchange(request, &mut Discard).await?;
        // Nothing to delete is as good.
        let gone = work.method == Method::DELETE && answer.status == StatusCode::NOT_FOUND;
        if answer.status.is_success() || gone {
            return Ok(errors);
        }
        let pause = answer.header(RETRY_AFTER.as_str()).and_then(|seconds| seconds.parse().ok());
        match pause.map(Duration::from_secs) {
            Some(pause) if answer.status == StatusCode::SERVICE_UNAVAILABLE && pause <= MAX_PAUSE => {
                errors += 1;
                clock.sleep(pause).await;
            }
            _ => return Err(answer.refused(&format!("{} {path}", work.method))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_evenly() {
        assert_eq!(due(0, 200.0), Duration::ZERO);
        assert_eq!(due(1, 200.0), Duration::from_millis(5));
        assert_eq!(due(1000, 200.0), Duration::from_secs(5));
    }
}
