//! Confirms and acknowledgements.

#![allow(clippy::unwrap_used)]

use kelda_format::StreamId;

use super::*;

fn confirming() -> Channel {
    Channel { mode: Mode::Confirm, ..Channel::new(1) }
}

fn confirms(channel: &mut Channel) -> Vec<(u64, bool, bool)> {
    channel.confirms().into_iter().map(|confirm| (confirm.tag, confirm.multiple, confirm.stored)).collect()
}

#[test]
fn one_confirm_stands_for_many_only_where_nothing_before_is_open() {
    let mut channel = confirming();
    for tag in 1..=6 {
        assert_eq!(channel.published(1), Some(tag));
    }
    for tag in [2, 4, 5] {
        channel.settle(tag, true);
    }
    assert_eq!(confirms(&mut channel), [(2, false, true), (4, false, true), (5, false, true)]);
    for tag in [1, 3] {
        channel.settle(tag, true);
    }
    assert_eq!(confirms(&mut channel), [(3, true, true)]);
    assert_eq!(confirms(&mut channel), []);
    channel.settle(6, true);
    assert_eq!(confirms(&mut channel), [(6, false, true)]);
}

#[test]
fn a_message_to_several_streams_is_confirmed_after_all_and_refused_by_one() {
    let mut channel = confirming();
    channel.published(2);
    channel.published(2);
    channel.settle(1, true);
    channel.settle(2, false);
    assert_eq!(confirms(&mut channel), []);
    channel.settle(2, true);
    assert_eq!(confirms(&mut channel), [(2, false, false)]);
    channel.settle(1, true);
    assert_eq!(confirms(&mut channel), [(1, false, true)]);
}

#[test]
fn what_reaches_no_queue_is_confirmed_and_without_confirms_nothing_is_counted() {
    let mut channel = confirming();
    channel.published(1);
    channel.published(0);
    assert_eq!(confirms(&mut channel), [(2, false, true)]);
    let mut plain = Channel::new(1);
    assert_eq!(plain.published(0), None);
    assert_eq!(confirms(&mut plain), []);
}

#[test]
fn acknowledgements_take_what_they_cover_once() {
    let mut channel = Channel::new(1);
    for _ in 0..4 {
        let tag = channel.next_delivery();
        let origin = Arc::new(Origin { tag: "c".into(), turn: tag, queue: "q".into(), stream: StreamId(1) });
        let delivered = Delivered { origin, at: Duration::from_secs(tag) };
        channel.unacked.insert(tag, delivered);
    }
    let mut turns = |delivery, multiple| {
        channel
            .take(delivery, multiple)
            .map(|list| list.values().map(|one| one.origin.turn).collect::<Vec<_>>())
    };
    assert_eq!(turns(2, true).unwrap(), [1, 2]);
    assert_eq!(turns(2, false).unwrap_err().text, "PRECONDITION_FAILED - unknown delivery tag 2");
    assert_eq!(turns(4, false).unwrap(), [4]);
    assert!(turns(0, false).is_err());
    assert_eq!(turns(0, true).unwrap(), [3]);
    assert_eq!(turns(0, true).unwrap(), Vec::<u64>::new());
    assert!(turns(9, true).is_err());
}

#[test]
fn a_body_is_whole_when_all_that_was_announced_is_there() {
    let mut incoming = Incoming::new("".into(), "q".into(), false);
    assert!(incoming.wants_header());
    incoming.header(6, Properties::default());
    for part in ["", "ab", "cdef"] {
        assert!(!incoming.is_whole());
        incoming.body(Bytes::from_static(part.as_bytes()), 100);
    }
    assert!(incoming.is_whole());
    assert_eq!(&incoming.finish().message.body[..], b"abcdef");

    let mut longer = Incoming::new("".into(), "q".into(), false);
    longer.header(3, Properties::default());
    longer.body(Bytes::from_static(b"abcdef"), 100);
    assert!(!longer.is_whole() && !longer.wants_header());
}

#[test]
fn the_oldest_delivery_tells_whether_one_is_overdue() {
    let mut channel = Channel::new(1);
    let limit = Duration::from_secs(10);
    assert!(!channel.is_overdue(Duration::MAX, limit));
    for at in [5, 7] {
        let tag = channel.next_delivery();
        let origin = Arc::new(Origin { tag: "c".into(), turn: 1, queue: "q".into(), stream: StreamId(1) });
        channel.unacked.insert(tag, Delivered { origin, at: Duration::from_secs(at) });
    }
    let overdue = |channel: &Channel, seconds| channel.is_overdue(Duration::from_secs(seconds), limit);
    assert!(!overdue(&channel, 14) && overdue(&channel, 15));
    channel.take(1, false).unwrap();
    assert!(!overdue(&channel, 16) && overdue(&channel, 17));
}
