//! Limits of a connection over AMQP: channels, bytes of a frame, bytes of a body.

use kelda_env::Faults;

use crate::amqp_peer::{Arg, Args, BODY_BYTES, Peer, announce, frame, message, method};
use crate::support::{Options, TestNode};

#[tokio::test]
async fn one_channel_more_than_agreed_on_ends_the_connection() {
    let node = TestNode::start().await;
    let mut peer = Peer::tuned(&node, "/", (2, 131_072, 0)).await.unwrap();
    // The number does not matter, how many there are does.
    peer.channel(60_000).await;
    peer.say(7, (20, 10), &Args::default().short("")).await;
    let text = "NOT_ALLOWED - number of channels opened (2) has reached the negotiated channel_max (2)";
    assert_eq!(peer.next().await.closed(), (530, text.to_owned()));
    let mut peer = Peer::tuned(&node, "/", (2, 131_072, 0)).await.unwrap();
    peer.channel(2).await;
    let close = Args::default().number16(200).short("").number16(0).number16(0);
    peer.say(2, (20, 40), &close).await;
    assert_eq!(peer.next().await.numbers, (20, 41));
    peer.channel(3).await;
}

/// The bytes of a table whose one value is a table, and so on, so many levels deep.
fn nested(levels: usize) -> Vec<u8> {
    let mut table = vec![0; 4];
    for _ in 0..levels {
        let entry = [&b"\x01aF"[..], &table].concat();
        table = [&u32::try_from(entry.len()).unwrap().to_be_bytes()[..], &entry].concat();
    }
    table
}

#[tokio::test]
async fn a_table_that_nests_too_deep_ends_its_channel_and_nothing_is_kept_of_it() {
    let node = TestNode::start().await;
    let with = |args: Args, levels| Args([args.0, nested(levels)].concat());
    let queue = Args::default().number16(0).short("q").octet(2);
    let binding = Args::default().number16(0).short("q").short("amq.headers").short("").octet(0);
    let message = |levels| {
        let publish = Args::default().number16(0).short("").short("q").octet(0);
        let header = Args::default().number16(60).number16(0).number64(1).number16(1 << 13);
        [method(1, (60, 40), &publish), frame(2, 1, &with(header, levels).0), frame(3, 1, b"m")].concat()
    };
    let text = "PRECONDITION_FAILED - tables may nest 16 levels deep, and one is deeper";
    for levels in [17, 18, 1_000] {
        let mut peer = Peer::connect(&node).await;
        peer.declare_queue("q").await;
        for bytes in [
            message(levels),
            method(1, (50, 20), &with(binding.clone(), levels)),
            method(1, (50, 10), &with(queue.clone(), levels)),
        ] {
            peer.write(&bytes).await;
            let came = peer.next().await;
            assert_eq!((came.numbers, came.closed()), ((20, 40), (406, text.to_owned())));
            peer.reopen(1).await;
        }
        let bound = peer.call((50, 20), &with(binding.clone(), 16)).await;
        assert_eq!(bound.numbers, (50, 21));
    }
    let mut peer = Peer::connect(&node).await;
    peer.write(&message(16)).await;
    assert_eq!(peer.confirms(1, 1).await, [true]);
    peer.channel(2).await;
    peer.prefetch(2, 9).await;
    peer.read(2, "q", "c", &[]).await;
    assert_eq!(peer.bodies(1).await, ["m"]);
    assert_eq!(peer.settle(2).await.numbers, (60, 11), "and no other was stored");
}

#[tokio::test]
async fn frames_are_as_large_as_agreed_on_both_ways() {
    let node = TestNode::start().await;
    let mut peer = Peer::tuned(&node, "/", (10, 4_096, 0)).await.unwrap();
    peer.declare_queue("q").await;
    // What some clients send: the size without what is around it.
    peer.write(&announce("", "q", false, &[], 4_096)).await;
    peer.write(&frame(3, 1, &vec![b'x'; 4_096])).await;
    peer.prefetch(1, 1).await;
    peer.read(1, "q", "c", &[]).await;
    peer.next().await.delivery();
    let mut parts = Vec::new();
    while parts.iter().sum::<usize>() < 4_096 {
        match peer.raw().await.unwrap() {
            (3, 1, payload) => parts.push(payload.len()),
            (kind, channel, _) => assert_eq!((kind, channel), (2, 1)),
        }
    }
    assert_eq!(parts, [4_088, 8]);
    peer.write(&frame(3, 1, &vec![b'x'; 4_097])).await;
    let text = "FRAME_ERROR - type 3, all octets = <<>>: {frame_too_large,4097,4088}";
    assert_eq!(peer.next().await.closed(), (501, text.to_owned()));
}

#[tokio::test]
async fn a_body_of_one_byte_too_many_is_refused_when_it_came() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    let size = (128_usize << 20) + 1;
    peer.write(&announce("", "q", false, &[], size as u64)).await;
    let part = frame(3, 1, &vec![0; BODY_BYTES]);
    for _ in 0..size / BODY_BYTES {
        peer.write(&part).await;
    }
    peer.write(&frame(3, 1, &vec![0; size % BODY_BYTES])).await;
    let text = "PRECONDITION_FAILED - message size 134217729 is larger than configured max size 134217728";
    assert_eq!(peer.next().await.closed(), (406, text.to_owned()));
    assert_eq!(node.get("/q").await.body.len(), 0);
    // The connection stays, and what comes next is taken.
    peer.reopen(1).await;
    assert_eq!(peer.call((85, 10), &Args::default().octet(0)).await.numbers, (85, 11));
    peer.write(&message("", "q", false, &[], "m")).await;
    assert_eq!(peer.confirms(1, 1).await, [true]);
    assert_eq!(node.get("/q").await.text(), "m");
}

#[tokio::test]
async fn a_full_disk_holds_publishers_up_until_there_is_space() {
    let options = Options { segment_bytes: Some(1 << 20), ..Options::default() };
    let node = TestNode::with(options).await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    node.disk.set(Faults { capacity: Some(0), ..Faults::default() });
    let body = "x".repeat(100_000);
    let (mut stored, mut published) = (0, 0);
    let told = loop {
        peer.write(&message("", "q", false, &[], &body)).await;
        published += 1;
        assert!(published < 200, "the disk never was full");
        let came = peer.next().await;
        match came.numbers {
            (60, 80) => stored += 1,
            (60, 120) => {}
            _ => break came,
        }
    };
    assert_eq!((told.numbers, &told.args[1..]), ((10, 60), &b"low on disk"[..]));
    // Whoever numbers its messages is told, and can publish them again.
    let mut numbered = Peer::connect(&node).await;
    let mut seq = 0;
    let (code, text) = loop {
        let headers = [
            ("x-kelda-producer-id", Arg::Text("p")),
            ("x-kelda-producer-epoch", Arg::Long(0)),
            ("x-kelda-producer-seq", Arg::Long(seq)),
        ];
        numbered.write(&message("", "q", false, &headers, &body)).await;
        let came = numbered.next().await;
        if came.numbers != (60, 80) {
            break came.closed();
        }
        stored += 1;
        seq += 1;
    };
    assert_eq!(code, 506);
    assert!(text.starts_with("RESOURCE_ERROR - disk-full: "), "{text}");
    node.disk.set(Faults::default());
    assert_eq!(peer.next().await.numbers, (10, 61), "connection.unblocked");
    assert_eq!(peer.next().await.numbers, (60, 80), "and what waited is stored");
    assert_eq!(node.get("/q?bytes=60000000").await.body.len(), (stored + 1) * body.len());
}
