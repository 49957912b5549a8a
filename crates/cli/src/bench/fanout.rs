//! `kelda bench fanout`: owns the measurement of many waiting readers of one stream. Guarantees what `live` does. Never
//! acts otherwise.

use super::args::FanoutArgs;
use super::live::Live;
use super::report::Report;
use super::world::World;
use crate::exit::Failure;

pub async fn run(world: &World, endpoint: &str, args: &FanoutArgs) -> Result<Report, Failure> {
    let live = Live::new(&args.live, args.readers);
    let measured = live.measure(world, endpoint, "fanout").await?;
    Ok(Report::new(world, "fanout", Some(endpoint), live.parameters()).with(measured))
}
