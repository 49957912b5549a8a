//! Questions to the state.

use kelda_format::{Offset, Timestamp};

use crate::world::{World, name};

#[test]
fn lists_are_in_byte_order_and_paged() {
    let mut world = World::new();
    for text in ["b", "a/2", "a/1", "a", "a/10", "ab", "é"] {
        world.create(text);
    }
    let names = |prefix: &str, after: Option<&str>, limit: usize| {
        let page = world.state.list(prefix, after, limit);
        (page.entries.iter().map(|row| row.name.to_string()).collect::<Vec<_>>(), page.more)
    };
    let all = ["a", "a/1", "a/10", "a/2", "ab", "b", "é"].map(str::to_owned).to_vec();
    assert_eq!(names("", None, 100), (all, false));
    assert_eq!(names("a/", None, 2), (vec!["a/1".to_owned(), "a/10".to_owned()], true));
    assert_eq!(names("a/", Some("a/10"), 2), (vec!["a/2".to_owned()], false));
    assert_eq!(names("a/", Some("0"), 1), (vec!["a/1".to_owned()], true));
    assert_eq!(names("a/", Some("b"), 9), (Vec::new(), false));
    assert_eq!(names("b", None, 0), (Vec::new(), true));
}

#[test]
fn a_time_leads_to_the_first_reference_that_reaches_it() {
    let mut world = World::new();
    let one = world.node(1);
    let stream = world.create("a");
    world.open(stream, one);
    assert_eq!(world.state.ref_for_time(stream, Timestamp(0)), None);
    let ends = [1, 2, 50, 51, 90, 100];
    let objects: Vec<_> = ends.iter().map(|end| world.append(stream, one, *end)).collect();
    // Every record's time is its offset.
    for time in 0..100 {
        let found = world.state.ref_for_time(stream, Timestamp(time)).unwrap();
        let expected = ends.iter().position(|end| *end > time).unwrap();
        assert_eq!(found.object, objects[expected], "time {time}");
        assert_eq!(world.state.object_at(stream, Offset(time)), Some(found));
    }
    assert_eq!(world.state.ref_for_time(stream, Timestamp(100)), None);
}

#[test]
fn entries_are_found_by_name_and_by_stream() {
    let mut world = World::new();
    let stream = world.create("a");
    assert_eq!(world.state.entry(&name("a")), world.state.entry_of(stream));
    assert_eq!(world.state.entry(&name("b")), None);
    assert_eq!((world.state.stream_count(), world.state.streams().count()), (1, 1));
}
