//! `kelda bench tail`: owns the measurement of one waiting reader. Guarantees what `live` does. Never acts otherwise.

use super::args::TailArgs;
use super::live::Live;
use super::report::Report;
use super::world::World;
use crate::exit::Failure;

pub async fn run(world: &World, endpoint: &str, args: &TailArgs) -> Result<Report, Failure> {
    let live = Live::new(&args.live, 1);
    let measured = live.measure(world, endpoint, "tail").await?;
    Ok(Report::new(world, "tail", Some(endpoint), live.parameters()).with(measured))
}
