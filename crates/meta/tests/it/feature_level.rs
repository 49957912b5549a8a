//! The feature level: what a cluster may be asked for, and when it rises.

use kelda_format::NodeId;
use kelda_format::command::{CloseSession, RaiseFeatureLevel, ReserveObjects, UpdateNode};
use kelda_format::rows::FeatureRange;
use kelda_meta::{Outcome, Rejection, State};

use crate::world::{CLUSTER, NOW, World, registration, session};

fn raise(expected: u16, level: u16) -> RaiseFeatureLevel {
    RaiseFeatureLevel { expected, level }
}

#[test]
fn commands_above_the_level_are_rejected() {
    let mut world = World { state: State::at_feature_level(CLUSTER, 0) };
    let reserve = ReserveObjects { session: session(1, 1), count: 1, at: NOW };
    assert_eq!(world.rejected(reserve), Rejection::FeatureLevel { needed: 1, level: 0 });
}

#[test]
fn it_rises_once_every_node_knows_it() {
    let mut world = World::new();
    assert_eq!(world.rejected(raise(1, 2)), Rejection::NoNodes);
    let one = world.node(1);
    let mut newer = registration(2, 2);
    newer.features = FeatureRange { min: 1, max: 2 };
    world.apply(newer);
    let unknown = Rejection::FeatureUnknown { node: NodeId(1), max: 1, asked: 2 };
    assert_eq!(world.rejected(raise(1, 2)), unknown);
    world.apply(CloseSession { session: one, wal_start: 0 });
    assert_eq!(world.rejected(raise(1, 2)), unknown, "it may come back as it was");
    world.apply(UpdateNode {
        node: NodeId(1),
        expected_version: 1,
        address: None,
        slots: None,
        draining: None,
        retire: true,
    });
    assert_eq!(world.apply(raise(1, 2)), Outcome::Applied);
    assert_eq!(world.apply(raise(1, 2)), Outcome::AlreadyApplied);
    assert_eq!(
        world.rejected(registration(1, 9)),
        Rejection::FeatureRange { range: FeatureRange { min: 1, max: 1 }, level: 2 }
    );
    assert_eq!(world.rejected(raise(2, 1)), Rejection::FeatureExpected { expected: 2, asked: 1, level: 2 });
    assert_eq!(world.rejected(raise(1, 3)), Rejection::FeatureExpected { expected: 1, asked: 3, level: 2 });
}
