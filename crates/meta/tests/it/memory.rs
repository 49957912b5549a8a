//! An idle stream costs less than 1 KiB, in all.

use kelda_format::command::CreateStream;
use kelda_meta::{Outcome, State};

use crate::world::{CLUSTER, World, creation, name};

const STREAMS: u64 = 100_000;

/// Resident bytes of this process; `None` where the system does not say.
#[allow(clippy::disallowed_methods, reason = "a test asks the system how much memory it uses")]
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[test]
fn a_hundred_thousand_idle_streams_fit() {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("template");
    world.open(stream, one);
    world.append(stream, one, 1);
    let mut state = world.state;
    let before = resident();
    let mut held = State::new(CLUSTER);
    for index in 0..STREAMS {
        // Publishing a view now and then keeps old nodes shared, as a running node does.
        if index % 512 == 0 {
            held = state.clone();
        }
        let parent = kelda_format::rows::ForkPoint { stream, offset: kelda_format::Offset(1) };
        let command = CreateStream {
            name: name(&format!("tenants/{}/sensors/{index:06}", index % 100)),
            content_type: "application/json".to_owned(),
            parent: Some(parent),
            ..creation("x")
        };
        assert!(matches!(state.apply(&command.into()), Ok(Outcome::Created { .. })));
    }
    drop(held);
    let (Some(before), Some(after)) = (before, resident()) else { return };
    let each = after.saturating_sub(before) / STREAMS;
    assert!(each < 1024, "an idle stream with one object reference costs {each} bytes");
    assert_eq!(state.stream_count() as u64, STREAMS + 1);
}
