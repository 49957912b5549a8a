//! Publishing over AMQP, as a client on the socket meets it.

use crate::amqp_peer::{Arg, Args, BODY_BYTES, Peer, announce, frame, message};

use crate::support::TestNode;

const RETURN: (u16, u16) = (60, 50);
const ACK: (u16, u16) = (60, 80);

fn numbered(seq: i64) -> [(&'static str, Arg<'static>); 3] {
    [
        ("x-kelda-producer-id", Arg::Text("shop")),
        ("x-kelda-producer-epoch", Arg::Long(4)),
        ("x-kelda-producer-seq", Arg::Long(seq)),
    ]
}

#[tokio::test]
async fn a_message_that_is_published_again_over_a_new_connection_is_stored_once() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    for (seq, body) in (0..).zip(["a", "b", "c"]) {
        peer.write(&message("", "q", false, &numbered(seq), body)).await;
    }
    assert_eq!(peer.confirms(1, 3).await, [true; 3]);
    drop(peer);
    let mut again = Peer::connect(&node).await;
    for (seq, body) in (1..).zip(["b", "c", "d"]) {
        again.write(&message("", "q", false, &numbered(seq), body)).await;
    }
    assert_eq!(again.confirms(1, 3).await, [true; 3]);
    assert_eq!(node.get("/q").await.text(), "abcd");
    // A repeat of what is long ago counts as stored, and other publishers have numbers of their own.
    again.write(&message("", "q", false, &numbered(0), "a")).await;
    again.write(&message("", "q", false, &[], "e")).await;
    assert_eq!(again.confirms(4, 2).await, [true; 2]);
    assert_eq!(node.get("/q").await.text(), "abcde");
    let records = node.send("GET", "/q", &[("accept", "application/vnd.kelda.records+json")], "").await;
    assert!(!records.text().contains("x-kelda-producer"), "{}", records.text());
    again.write(&message("", "q", false, &numbered(4)[..2], "f")).await;
    let (code, text) = again.next().await.closed();
    assert_eq!(code, 406);
    assert!(text.contains("x-kelda-producer-seq"), "{text}");
}

#[tokio::test]
async fn a_numbered_message_that_cannot_be_stored_says_why_and_what_was_stored_before_it_is_confirmed() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    let some: Vec<u8> =
        [0, 1, 7, 2].iter().flat_map(|seq| message("", "q", false, &numbered(*seq), ".")).collect();
    peer.write(&some).await;
    assert_eq!(peer.confirms(1, 2).await, [true; 2]);
    let text = "PRECONDITION_FAILED - sequence-gap: expected_seq 2, the message has 7";
    assert_eq!(peer.next().await.closed(), (406, text.to_owned()));
    // What is refused is not stored, whatever came behind it in the meantime.
    let mut next = Peer::connect(&node).await;
    let [id, _, _] = numbered(0);
    let of_epoch = |epoch, seq| {
        let headers =
            [id, ("x-kelda-producer-epoch", Arg::Long(epoch)), ("x-kelda-producer-seq", Arg::Long(seq))];
        message("", "q", false, &headers, "x")
    };
    next.write(&of_epoch(5, 0)).await;
    assert_eq!(next.confirms(1, 1).await, [true]);
    next.write(&of_epoch(4, 3)).await;
    let text = "PRECONDITION_FAILED - stale-epoch: producer_epoch 5 is in force, the message has 4";
    assert_eq!(next.next().await.closed(), (406, text.to_owned()));
    let mut last = Peer::connect(&node).await;
    last.write(&of_epoch(6, 1)).await;
    let text = "PRECONDITION_FAILED - producer-start: an epoch begins with sequence 0, the message has 1";
    assert_eq!(last.next().await.closed(), (406, text.to_owned()));
    assert!(["..x", "...x"].contains(&node.get("/q").await.text()));
}

#[tokio::test]
async fn a_number_that_is_said_to_be_new_was_used_by_nobody() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    let [id, epoch, seq] = numbered(0);
    let new = [id, epoch, seq, ("x-kelda-producer-new", Arg::True)];
    peer.write(&message("", "q", false, &new, "a")).await;
    assert_eq!(peer.confirms(1, 1).await, [true]);
    // Sent again it is confirmed; said to be new, it is another's.
    peer.write(&message("", "q", false, &numbered(0), "a")).await;
    assert_eq!(peer.confirms(2, 1).await, [true]);
    peer.write(&message("", "q", false, &new, "b")).await;
    let (code, text) = peer.next().await.closed();
    assert!(code == 406 && text.starts_with("PRECONDITION_FAILED - epoch-in-use: "), "{code} {text}");
    assert_eq!(node.get("/q").await.text(), "a");
}

#[tokio::test]
async fn a_message_for_a_stream_that_was_replaced_is_not_stored() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    let id = async || node.head("/q").await.header("kelda-stream-id").unwrap().to_owned();
    let first = id().await;
    let of_first = [("x-kelda-stream-id", Arg::Text(&first))];
    peer.write(&message("", "q", false, &of_first, "a")).await;
    assert_eq!(peer.confirms(1, 1).await, [true]);
    peer.delete_queue("q").await;
    peer.declare_queue("q").await;
    let second = id().await;
    assert_ne!(first, second);
    let frames = [message("", "q", false, &[], "b"), message("", "q", false, &of_first, "c")].concat();
    peer.write(&frames).await;
    assert_eq!(peer.confirms(2, 1).await, [true]);
    let text = format!(
        "PRECONDITION_FAILED - stream-id-mismatch: stream_id {second} has the name now, the message is for {first}"
    );
    assert_eq!(peer.next().await.closed(), (406, text));
    assert_eq!(node.get("/q").await.text(), "b");
    let records = node.send("GET", "/q", &[("accept", "application/vnd.kelda.records+json")], "").await;
    assert!(!records.text().contains("x-kelda-"), "{}", records.text());
}

#[tokio::test]
async fn messages_of_a_channel_are_stored_in_their_order() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    // A large one takes longer before it has its place than a small one behind it.
    let more = |number: u32| if number % 1_000 == 7 { 260 << 10 } else { 0 };
    let bodies: Vec<String> =
        (0..3_000).map(|number| format!("{number};{}", "x".repeat(more(number)))).collect();
    // Many writes, so that many batches are on their way at once.
    for some in bodies.chunks(50) {
        let frames: Vec<u8> = some.iter().flat_map(|body| message("", "q", false, &[], body)).collect();
        peer.write(&frames).await;
    }
    assert!(peer.confirms(1, 3_000).await.iter().all(|stored| *stored));
    let stored = node.get("/q").await;
    assert_eq!(stored.body.len(), bodies.concat().len());
    assert!(stored.text() == bodies.concat(), "stored in another order");
}

#[tokio::test]
async fn a_json_stream_refuses_what_is_not_one_json_value_and_nothing_else() {
    let node = TestNode::start().await;
    node.create("/j", "application/json").await;
    let mut peer = Peer::connect(&node).await;
    let frames: Vec<u8> = ["{\"a\":1}", "nope", "", "1 2", "2"]
        .iter()
        .flat_map(|body| message("", "j", false, &[], body))
        .collect();
    peer.write(&frames).await;
    assert_eq!(peer.confirms(1, 5).await, [true, false, false, false, true]);
    assert_eq!(node.get("/j").await.text(), "[{\"a\":1},2]");
}

#[tokio::test]
async fn a_message_is_in_all_its_queues_when_it_is_confirmed() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.exchange("all", "fanout", 2, &[]).await;
    for queue in ["a", "b", "c"] {
        peer.declare_queue(queue).await;
        peer.bind(queue, "all", "", &[]).await;
    }
    for number in 1..=20_u64 {
        peer.write(&message("all", "", true, &[], ".")).await;
        assert_eq!(peer.confirms(number, 1).await, [true]);
        for queue in ["/a", "/b", "/c"] {
            assert_eq!(node.get(queue).await.body.len() as u64, number);
        }
    }
}

#[tokio::test]
async fn what_reaches_no_queue_comes_back_before_its_confirm_or_takes_the_alternate_exchange() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("rest").await;
    peer.exchange("others", "fanout", 2, &[]).await;
    peer.bind("rest", "others", "", &[]).await;
    peer.exchange("plain", "direct", 2, &[]).await;
    peer.exchange("x", "direct", 2, &[("alternate-exchange", Arg::Text("others"))]).await;
    peer.write(&message("plain", "k", true, &[], "back")).await;
    assert_eq!(peer.next().await.numbers, RETURN);
    assert_eq!(peer.next().await.numbers, ACK);
    peer.write(&message("x", "k", true, &[], "kept")).await;
    assert_eq!(peer.confirms(2, 1).await, [true]);
    assert_eq!(node.get("/rest").await.text(), "kept");
}

#[tokio::test]
async fn a_route_lasts_as_long_as_its_binding_and_its_queue() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    peer.exchange("x", "direct", 2, &[]).await;
    let mut tag = 0;
    for ending in 0..2 {
        peer.bind("q", "x", "k", &[]).await;
        for _ in 0..2 {
            tag += 1;
            peer.write(&message("x", "k", true, &[], "m")).await;
            assert_eq!(peer.confirms(tag, 1).await, [true]);
        }
        match ending {
            0 => peer.unbind("q", "x", "k").await,
            _ => peer.delete_queue("q").await,
        }
        tag += 1;
        peer.write(&message("x", "k", true, &[], "m")).await;
        assert_eq!((peer.next().await.numbers, peer.next().await.numbers), (RETURN, ACK));
    }
    // A queue that is made anew has none of the bindings of the one before.
    peer.declare_queue("q").await;
    peer.write(&message("x", "k", true, &[], "m")).await;
    assert_eq!(peer.next().await.numbers, RETURN);
}

#[tokio::test]
async fn an_exchange_of_headers_looks_at_those_of_each_message() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    peer.exchange("x", "headers", 2, &[]).await;
    peer.bind("q", "x", "", &[("n", Arg::Long(1))]).await;
    for (tag, number) in (1..).zip([1, 2, 1]) {
        peer.write(&message("x", "", true, &[("n", Arg::Long(number))], "m")).await;
        if number == 2 {
            assert_eq!(peer.next().await.numbers, RETURN);
        }
        assert_eq!(peer.confirms(tag, 1).await, [true]);
    }
    assert_eq!(node.get("/q").await.text(), "mm");
}

#[tokio::test]
async fn an_exchange_declared_so_goes_with_its_last_binding() {
    let node = TestNode::start().await;
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("a").await;
    peer.declare_queue("b").await;
    assert_eq!(peer.exchange("x", "topic", 2 | 4, &[]).await.numbers, (40, 11));
    assert_eq!(peer.exchange("x", "topic", 1, &[]).await.numbers, (40, 11), "it waits for its first binding");
    peer.bind("a", "x", "#", &[]).await;
    peer.bind("b", "x", "#", &[]).await;
    peer.unbind("a", "x", "#").await;
    assert_eq!(peer.exchange("x", "topic", 1, &[]).await.numbers, (40, 11), "one is left");
    peer.delete_queue("b").await;
    assert_eq!(peer.exchange("x", "topic", 1, &[]).await.closed().0, 404);
}

#[tokio::test]
async fn a_transaction_that_could_not_be_stored_whole_is_not_committed() {
    let node = TestNode::start().await;
    node.create("/j", "application/json").await;
    let mut peer = Peer::in_vhost(&node, "/").await.unwrap();
    assert_eq!(peer.call((90, 10), &Args::default()).await.numbers, (90, 11));
    peer.write(&message("", "j", false, &[], "1")).await;
    assert_eq!(node.get("/j").await.text(), "[]", "nothing is stored before the commit");
    assert_eq!(peer.call((90, 20), &Args::default()).await.numbers, (90, 21));
    assert_eq!(node.get("/j").await.text(), "[1]");
    for body in ["2", "no"] {
        peer.write(&message("", "j", false, &[], body)).await;
    }
    let (code, text) = peer.call((90, 20), &Args::default()).await.closed();
    assert_eq!((code, text.as_str()), (406, "PRECONDITION_FAILED - partial tx completion"));
    assert_eq!(node.get("/j").await.text(), "[1,2]");
}

#[tokio::test]
async fn a_virtual_host_is_there_when_it_was_declared() {
    let mut node = TestNode::start().await;
    let (code, text) = Peer::in_vhost(&node, "team").await.err().unwrap();
    assert_eq!((code, text.as_str()), (530, "NOT_ALLOWED - vhost team not found"));
    assert_eq!(node.admin("/vhosts").await.json()["vhosts"], serde_json::json!(["/"]));
    for (target, status) in
        [("/vhosts/team", 201), ("/vhosts/team", 200), ("/vhosts/%2F", 200), ("/vhosts/a%2Fb", 201)]
    {
        let reply = node.admin_put(target).await;
        assert_eq!(reply.status, status, "{target}: {}", reply.text());
    }
    assert_eq!(node.admin_put(&format!("/vhosts/{}", "x".repeat(256))).await.status, 400);
    node.restart().await;
    assert_eq!(node.admin("/vhosts").await.json()["vhosts"], serde_json::json!(["/", "a/b", "team"]));
    let mut peer = Peer::in_vhost(&node, "team").await.unwrap();
    peer.declare_queue("q").await;
    assert_eq!(node.head("/__vhost/team/q").await.status, 200);
    assert_eq!(node.head("/q").await.status, 404);
    let mut root = Peer::connect(&node).await;
    let passive = Args::default().number16(0).short("q").octet(1).table(&[]);
    assert_eq!(root.call((50, 10), &passive).await.closed().0, 404);
}

#[tokio::test]
async fn a_publisher_hears_that_it_has_to_wait_for_room() {
    // The least that a node may be given is one body of the largest size and half of another.
    let node = TestNode::with(crate::support::Options::flags(&["--request-memory=192MiB"])).await;
    let (mut first, mut second) = (Peer::connect(&node).await, Peer::connect(&node).await);
    first.declare_queue("q").await;
    let part = frame(3, 1, &vec![0; BODY_BYTES]);
    first.write(&announce("", "q", false, &[], 128 << 20)).await;
    for _ in 0..1_023 {
        first.write(&part).await;
    }
    second.write(&announce("", "q", false, &[], 128 << 20)).await;
    assert_eq!(second.flood(&part).await.numbers, (10, 60), "connection.blocked");
    // The room of what will not come any more is free again.
    drop(first);
    assert_eq!(second.next().await.numbers, (10, 61), "connection.unblocked");
}
