//! Compaction replaces references without changing what they hold (P13).

use kelda_format::command::{CompactInput, CompactObjects, CompactPart, TrimStream};
use kelda_format::{ObjectId, Offset, SessionId, StreamId};
use kelda_meta::{Outcome, PartFault, Rejection};

use crate::world::{NOW, World, new_object, reference};

struct Three {
    world: World,
    one: SessionId,
    stream: StreamId,
    inputs: Vec<CompactInput>,
    output: ObjectId,
}

/// A stream of three objects with ten records each, and a reserved output.
fn three() -> Three {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("a");
    world.open(stream, one);
    let inputs = [10, 20, 30]
        .map(|end| CompactInput { base: Offset(end - 10), object: world.append(stream, one, end) })
        .to_vec();
    let output = world.reserve(one, 1);
    Three { world, one, stream, inputs, output }
}

impl Three {
    fn compaction(&self, refs: &[(u64, u64)]) -> CompactObjects {
        CompactObjects {
            session: self.one,
            objects: vec![new_object(self.output)],
            parts: vec![CompactPart {
                stream: self.stream,
                source: self.stream,
                inputs: self.inputs.clone(),
                refs: refs.iter().map(|(base, end)| reference(*base, *end, self.output)).collect(),
            }],
            at: NOW,
        }
    }

    fn trim(&mut self, before: u64) {
        let stream = self.stream;
        self.world.apply(TrimStream { stream, session: None, epoch: None, before: Offset(before), at: NOW });
    }
}

#[test]
fn the_inputs_go_and_the_output_takes_their_place() {
    let mut at = three();
    let command = at.compaction(&[(0, 30)]);
    assert_eq!(at.world.apply(command.clone()), Outcome::Applied);
    let inputs: Vec<ObjectId> = at.inputs.iter().map(|input| input.object).collect();
    assert_eq!(at.world.to_destroy(), inputs);
    assert_eq!(at.world.state.refs(at.stream).count(), 1);
    assert_eq!(at.world.state.stream(at.stream).unwrap().bytes, 30);
    assert_eq!(at.world.apply(command), Outcome::AlreadyApplied);
}

#[test]
fn all_inputs_have_to_be_referenced_still() {
    let mut at = three();
    at.trim(10);
    let fault = PartFault::InputGone { base: Offset(0), object: at.inputs[0].object };
    let command = at.compaction(&[(0, 30)]);
    assert_eq!(at.world.rejected(command), Rejection::BadPart { stream: at.stream, fault });
}

#[test]
fn an_input_replaced_by_another_compaction_is_gone_although_its_base_is_there() {
    let mut at = three();
    let command = at.compaction(&[(0, 30)]);
    at.world.apply(command);
    at.output = at.world.reserve(at.one, 1);
    at.inputs.truncate(1);
    let fault = PartFault::InputGone { base: Offset(0), object: at.inputs[0].object };
    let command = at.compaction(&[(0, 30)]);
    assert_eq!(at.world.rejected(command), Rejection::BadPart { stream: at.stream, fault });
}

#[test]
fn every_offset_stays_held() {
    let mut at = three();
    let stream = at.stream;
    let fault = PartFault::NotReplaced { start: Offset(0), end: Offset(30) };
    for refs in [&[(0, 29)][..], &[(1, 30)]] {
        let command = at.compaction(refs);
        assert_eq!(at.world.rejected(command), Rejection::BadPart { stream, fault });
    }
    let command = at.compaction(&[(0, 10), (11, 30)]);
    assert!(matches!(
        at.world.rejected(command),
        Rejection::BadPart { fault: PartFault::NotContiguous { .. }, .. }
    ));
    let command = at.compaction(&[]);
    assert_eq!(at.world.rejected(command), Rejection::BadPart { stream, fault: PartFault::NoRefs });
    let mut command = at.compaction(&[(0, 30)]);
    command.parts[0].inputs.remove(1);
    assert!(matches!(
        at.world.rejected(command),
        Rejection::BadPart { fault: PartFault::NotContiguous { .. }, .. }
    ));
}

#[test]
fn what_was_trimmed_may_be_left_out() {
    let mut at = three();
    at.trim(4);
    let command = at.compaction(&[(4, 30)]);
    at.world.apply(command);
    assert_eq!(at.world.state.stream(at.stream).unwrap().bytes, 26);
}

#[test]
fn what_was_trimmed_meanwhile_is_not_brought_back() {
    let mut at = three();
    at.trim(7);
    let command = at.compaction(&[(0, 5), (5, 30)]);
    at.world.apply(command);
    let bases: Vec<Offset> = at.world.state.refs(at.stream).map(|row| row.base).collect();
    assert_eq!(bases, [Offset(5)]);
}

#[test]
fn the_output_is_known_under_the_stream_or_a_source_of_the_inputs() {
    let mut at = three();
    let mut command = at.compaction(&[(0, 30)]);
    command.parts[0].source = StreamId(77);
    let fault = PartFault::ForeignSource { found: StreamId(77) };
    assert_eq!(at.world.rejected(command), Rejection::BadPart { stream: at.stream, fault });
}
