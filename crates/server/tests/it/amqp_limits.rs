//! Limits of a connection over AMQP: channels, bytes of a frame, bytes of a body.

use crate::amqp_peer::{Args, BODY_BYTES, Peer, announce, frame, message};
use crate::support::TestNode;

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
