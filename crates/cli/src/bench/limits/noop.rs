//! A handler that does nothing: owns a listener served as a node serves its own, on an event loop of its own, and the load
//! generator of `append` against it. Guarantees that server and client share nothing but the machine. Never stores.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hyper::{Method, Uri};
use kelda_env::Env;
use tokio_util::sync::CancellationToken;

use super::{Limits, noop_name};
use crate::bench::connection::Target;
use crate::bench::load::{self, End, Pace, Work};
use crate::bench::payload::{self, Payload};
use crate::bench::report::Measurement;
use crate::bench::world::World;
use crate::exit::Failure;

/// Bytes of a request.
const BODY_BYTES: u64 = 1024;
/// How long is sent before counting, at most.
const WARM_UP: Duration = Duration::from_millis(500);

pub async fn measure(world: &World, limits: &Limits, in_flight: u32) -> Result<Measurement, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::local(format!("no-op server: {error}"));
    let runtime = kelda_server::runtime().map_err(|error| failed(&error))?;
    let stopping = CancellationToken::new();
    let started = {
        // Its tasks and its socket belong to its own event loop.
        let _inside = runtime.enter();
        start(limits, stopping.clone())
    };
    let measured = match started {
        Ok(address) => send(world, address, in_flight, limits.duration).await,
        Err(error) => Err(failed(&error)),
    };
    stopping.cancel();
    runtime.shutdown_background();
    measured
}

fn start(limits: &Limits, stopping: CancellationToken) -> Result<SocketAddr, Box<dyn std::error::Error>> {
    let env = Env::real(&limits.data_dir)?;
    let bound = kelda_server::net::bind("listen", SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    let serving = kelda_server::net::noop::serve(env.clone(), bound.listener, stopping);
    let _running = env.spawn("no-op", serving);
    Ok(bound.address)
}

async fn send(
    world: &World,
    address: SocketAddr,
    in_flight: u32,
    duration: Duration,
) -> Result<Measurement, Failure> {
    let target = Target::new(&format!("http://{address}"))?;
    let body = payload::record(&*world.random, BODY_BYTES as usize);
    let work = Work {
        method: Method::POST,
        paths: vec![Uri::from_static("/bench/0000000000000000/0")],
        payload: Payload::Fixed(body),
        content_type: "application/octet-stream",
    };
    let pace = Pace { in_flight, rate: None, warm_up: WARM_UP.min(duration), end: End::After(duration) };
    let tally = load::measure(world, &target, work, pace).await?;
    // Its processor time is that of both sides, so it is not told.
    Ok(Measurement::of_load(noop_name(in_flight), &tally, 1, BODY_BYTES))
}
