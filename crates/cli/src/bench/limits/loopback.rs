//! Loopback TCP: owns one connection with a sender and a receiver, each a thread that blocks. Guarantees that only bytes
//! which arrived are counted. Never uses an event loop, since that is what others are compared with.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use super::LOOPBACK;
use crate::bench::report::{Counts, Measurement};
use crate::bench::world::World;
use crate::exit::Failure;

/// Bytes of one send and of one receive.
const BUFFER_BYTES: usize = 1 << 20;

pub async fn measure(world: &World, duration: Duration) -> Result<Measurement, Failure> {
    let failed = |error: io::Error| Failure::local(format!("loopback: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let clock = Arc::clone(&world.clock);
    let sending = world.aside("loopback-send", async move {
        let mut stream = TcpStream::connect(address)?;
        let buffer = vec![1; BUFFER_BYTES];
        let until = clock.monotonic() + duration;
        while clock.monotonic() < until {
            stream.write_all(&buffer)?;
        }
        Ok::<_, io::Error>(())
    });
    let clock = Arc::clone(&world.clock);
    let receiving = world.aside("loopback-receive", async move {
        let (mut stream, _) = listener.accept()?;
        let mut buffer = vec![0; BUFFER_BYTES];
        let (began, mut bytes) = (clock.monotonic(), 0);
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok::<_, io::Error>((clock.monotonic() - began, bytes)),
                read => bytes += read as u64,
            }
        }
    });
    let (sent, received) = tokio::try_join!(sending, receiving)?;
    sent.map_err(failed)?;
    let (elapsed, bytes) = received.map_err(failed)?;
    Ok(Measurement::new(LOOPBACK, elapsed, Counts { bytes, ..Counts::default() }))
}
