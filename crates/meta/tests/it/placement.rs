//! Placement: the live node with the lowest streams per slot.

use std::collections::BTreeMap;

use kelda_format::command::{PlaceStream, UpdateNode};
use kelda_format::{Epoch, NodeId};
use kelda_meta::{Outcome, Rejection};

use crate::world::{World, registration};

fn place(world: &mut World, text: &str) -> Outcome {
    let stream = world.create(text);
    world.apply(PlaceStream { stream, expected_epoch: None })
}

#[test]
fn load_follows_slots() {
    let mut world = World::new();
    for (node, slots) in [(1, 1), (2, 3)] {
        let mut command = registration(node, u8::try_from(node).unwrap());
        command.slots = slots;
        world.apply(command);
    }
    let mut streams: BTreeMap<NodeId, u32> = BTreeMap::new();
    for index in 0..40 {
        let Outcome::Opened { session, epoch } = place(&mut world, &format!("s{index}")) else { panic!() };
        assert_eq!(epoch, Epoch(0));
        *streams.entry(session.node).or_default() += 1;
    }
    assert_eq!(streams, BTreeMap::from([(NodeId(1), 10), (NodeId(2), 30)]));
}

#[test]
fn draining_and_dead_nodes_take_nothing() {
    let mut world = World::new();
    let stream = world.create("a");
    let command = PlaceStream { stream, expected_epoch: None };
    assert_eq!(world.rejected(command.clone()), Rejection::NoPlacement);
    let (one, two) = (world.node(1), world.node(2));
    world.apply(UpdateNode {
        node: NodeId(1),
        expected_version: 1,
        address: None,
        slots: None,
        draining: Some(true),
        retire: false,
    });
    world.fence(two, one);
    assert_eq!(world.rejected(command.clone()), Rejection::NoPlacement);
    let three = world.node(3);
    assert_eq!(world.apply(command.clone()), Outcome::Opened { session: three, epoch: Epoch(0) });
    assert_eq!(world.apply(command), Outcome::AlreadyApplied);
    let again = PlaceStream { stream, expected_epoch: Some(Epoch(0)) };
    assert_eq!(world.rejected(again), Rejection::Held { stream, by: three });
}
