//! Consumers over AMQP: credit, filters, limits, and what outlives them.

use std::time::Duration;

use crate::amqp_peer::{Args, Peer, frame};
use crate::support::{Options, TestNode};

#[tokio::test]
async fn a_prefetch_is_never_overrun_and_acknowledgements_are_credit() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    peer.declare(1, "s", &[]).await;
    let bodies = ["0", "1", "2", "3", "4", "5"];
    peer.fill("s", &bodies.map(|body| (body, &[][..]))).await;
    peer.prefetch(1, 2).await;
    peer.read(1, "s", "a", &[]).await;
    assert_eq!(peer.bodies(2).await, ["0", "1"]);
    assert_eq!(peer.settle(1).await.numbers, (60, 11), "nothing but the answer");
    peer.ack(1, 1, false).await;
    assert_eq!(peer.bodies(1).await, ["2"]);
    peer.ack(1, 3, true).await;
    assert_eq!(peer.bodies(2).await, ["3", "4"]);
    assert_eq!(peer.settle(1).await.numbers, (60, 11));
    peer.ack(1, 9, false).await;
    let (code, text) = peer.next().await.closed();
    assert_eq!((code, text.as_str()), (406, "PRECONDITION_FAILED - unknown delivery tag 9"));
    // The channel is gone; what was stored is not, and a new consumer begins where it says.
    peer.reopen(1).await;
    peer.prefetch(1, 10).await;
    peer.read(1, "s", "a", &[]).await;
    assert_eq!(peer.bodies(6).await, bodies);
}

#[tokio::test]
async fn a_consumer_that_asks_is_told_its_place_in_its_tag() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    peer.declare(1, "s", &[]).await;
    peer.fill("s", &["0", "1", "2"].map(|body| (body, &[][..]))).await;
    peer.prefetch(1, 5).await;
    let mut tags = Vec::new();
    for (from, asks) in [("first", "true"), ("last", "true"), ("next", "true"), ("next", "no")] {
        peer.consume(1, "s", "", &[("x-stream-offset", from), ("x-kelda-position", asks)]).await;
        loop {
            let came = peer.next().await;
            if came.numbers == (60, 21) {
                tags.push(String::from_utf8(came.args[1..].to_vec()).unwrap());
                break;
            }
        }
    }
    let stream = node.head("/s").await.header("kelda-stream-id").unwrap().to_owned();
    for (tag, first) in tags.iter().zip(["0", "2", "3"]) {
        let parts: Vec<&str> = tag.split('.').collect();
        assert_eq!(parts[..3], ["kelda", &stream, first], "{tag}");
    }
    assert!(tags[3].starts_with("amq.ctag-"), "{}", tags[3]);
}

#[tokio::test]
async fn consumers_of_a_channel_have_their_own_credit() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    peer.declare(1, "s", &[]).await;
    peer.fill("s", &["0", "1", "2"].map(|body| (body, &[][..]))).await;
    peer.prefetch(1, 1).await;
    peer.read(1, "s", "a", &[]).await;
    let first = peer.delivery().await;
    peer.read(1, "s", "b", &[]).await;
    let second = peer.delivery().await;
    assert_eq!((first.0.as_str(), first.1, second.0.as_str(), second.1), ("a", 1, "b", 2));
    peer.ack(1, 2, false).await;
    let third = peer.delivery().await;
    assert_eq!((third.0.as_str(), third.1, third.2.as_slice()), ("b", 3, &b"1"[..]));
    peer.consume(1, "s", "a", &[]).await;
    let (code, text) = peer.next().await.closed();
    assert_eq!((code, text.as_str()), (530, "NOT_ALLOWED - attempt to reuse consumer tag 'a'"));
}

#[tokio::test]
async fn a_filter_chooses_exactly() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    peer.declare(1, "s", &[]).await;
    let value = |value: &'static str| [("x-stream-filter-value", value)];
    let (eu, us) = (value("eu"), value("us"));
    let none: [(&str, &str); 0] = [];
    peer.fill("s", &[("0", &us[..]), ("1", &eu), ("2", &none), ("3", &us), ("4", &eu)]).await;
    peer.prefetch(1, 1).await;
    peer.read(1, "s", "a", &[("x-stream-filter", "eu")]).await;
    assert_eq!(peer.bodies(1).await, ["1"], "what is left out takes no credit");
    peer.ack(1, 1, false).await;
    assert_eq!(peer.bodies(1).await, ["4"]);
    peer.ack(1, 2, false).await;
    assert_eq!(peer.settle(1).await.numbers, (60, 11));
    peer.prefetch(1, 10).await;
    peer.read(1, "s", "b", &[("x-stream-filter", "eu"), ("x-stream-match-unfiltered", "true")]).await;
    assert_eq!(peer.bodies(3).await, ["1", "2", "4"]);
    peer.publish("s", "5", &us).await;
    peer.publish("s", "6", &none).await;
    peer.publish("s", "7", &eu).await;
    let mut later = Vec::new();
    for _ in 0..3 {
        let came = peer.next().await;
        if came.numbers == (60, 60) {
            later.push(came.delivery().0);
        } else {
            assert_eq!(came.numbers, (60, 80), "a confirm");
        }
    }
    while later.len() < 3 {
        let came = peer.next().await;
        if came.numbers == (60, 60) {
            later.push(came.delivery().0);
        }
    }
    later.sort();
    assert_eq!(later, ["a", "b", "b"], "new ones are chosen as well");
    peer.consume(1, "s", "c", &[("x-stream-filter", "eu"), ("x-stream-match-unfiltered", "yes")]).await;
    assert_eq!(peer.next().await.closed().0, 406);
}

/// Long behind the log cache, where the indexes of objects tell what is passed.
#[tokio::test]
async fn a_filter_chooses_exactly_of_what_lies_in_objects() {
    let mut node = TestNode::with(Options::flags(&["--wal=store"])).await;
    let mut peer = Peer::open(&node).await;
    peer.declare(1, "s", &[]).await;
    let confirms = peer.call((85, 10), &Args::default().octet(0)).await;
    assert_eq!(confirms.numbers, (85, 11), "confirms are on");
    let value = |value: &'static str| [("x-stream-filter-value", value)];
    let (eu, us, asia, none) = (value("eu"), value("us"), value("asia"), []);
    let bodies: Vec<String> = (0..100).map(|number| format!("{number};{}", "x".repeat(70_000))).collect();
    for (number, body) in bodies.iter().enumerate() {
        let headers = match number {
            20 | 60 | 61 => &eu[..],
            40 => &none[..],
            80 => &asia[..],
            _ => &us[..],
        };
        // Each in a block of its own, longer than an extent.
        peer.publish("s", body, headers).await;
        assert_eq!(peer.next().await.numbers, (60, 80));
    }
    drop(peer);
    // What was written last is in an object then, and nothing in the cache.
    node.restart().await;
    let mut peer = Peer::open(&node).await;
    peer.prefetch(1, 10).await;
    let chosen = |bodies: Vec<String>| -> Vec<usize> {
        bodies.iter().map(|body| body.split(';').next().unwrap().parse().unwrap()).collect()
    };
    peer.read(1, "s", "a", &[("x-stream-filter", "eu")]).await;
    assert_eq!(chosen(peer.bodies(3).await), [20, 60, 61]);
    peer.read(1, "s", "b", &[("x-stream-filter", "asia"), ("x-stream-match-unfiltered", "true")]).await;
    assert_eq!(chosen(peer.bodies(2).await), [40, 80]);
    peer.publish("s", "100;", &eu).await;
    assert_eq!(chosen(peer.bodies(1).await), [100], "and of what comes after them");
}

#[tokio::test]
async fn a_delivery_that_nobody_acknowledges_closes_its_channel() {
    let mut options = Options::flags(&["--amqp-consumer-timeout=5s"]);
    options.speed = Some(20);
    let node = TestNode::with(options).await;
    let mut peer = Peer::open(&node).await;
    peer.channel(2).await;
    peer.declare(1, "s", &[]).await;
    peer.fill("s", &[("0", &[])]).await;
    peer.prefetch(1, 1).await;
    peer.read(1, "s", "a", &[]).await;
    assert_eq!(peer.bodies(1).await, ["0"]);
    let closed = peer.next().await;
    assert_eq!((closed.channel, closed.numbers), (1, (20, 40)));
    let text = "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 5000 ms. This \
                timeout value can be configured, see consumers doc guide to learn more";
    assert_eq!(closed.closed(), (406, text.to_owned()));
    assert_eq!(peer.settle(2).await.channel, 2, "the others go on");
}

#[tokio::test]
async fn there_is_a_most_of_consumers() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    peer.declare(1, "s", &[]).await;
    peer.prefetch(1, 1).await;
    for number in 0..1_000 {
        peer.consume(1, "s", &number.to_string(), &[]).await;
        assert_eq!(peer.next().await.numbers, (60, 21));
    }
    assert!(node.admin("/metrics").await.text().contains("\nkelda_amqp_consumers 1000\n"));
    peer.consume(1, "s", "more", &[]).await;
    let (code, text) = peer.next().await.closed();
    assert_eq!((code, text.as_str()), (530, "NOT_ALLOWED - reached maximum (1000) of consumers per channel"));
}

#[tokio::test]
async fn a_stream_that_is_deleted_cancels_its_consumers() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    peer.declare(1, "s", &[]).await;
    peer.fill("s", &[("0", &[]), ("1", &[])]).await;
    peer.prefetch(1, 1).await;
    peer.read(1, "s", "without credit", &[]).await;
    assert_eq!(peer.bodies(1).await, ["0"]);
    peer.consume(1, "s", "at the tail", &[]).await;
    assert_eq!(peer.next().await.numbers, (60, 21));
    assert_eq!(node.send("DELETE", "/s", &[], "").await.status, 204);
    let mut cancelled = Vec::new();
    for _ in 0..2 {
        let came = peer.next().await;
        assert_eq!(came.numbers, (60, 30));
        cancelled.push(String::from_utf8(came.args[1..came.args.len() - 1].to_vec()).unwrap());
    }
    cancelled.sort();
    assert_eq!(cancelled, ["at the tail", "without credit"]);
    peer.ack(1, 1, false).await;
    assert_eq!(peer.settle(1).await.numbers, (60, 11), "the channel stays");
}

#[tokio::test]
async fn what_streams_cannot_do_ends_the_connection() {
    for (method, fields, text) in [
        (
            (60, 120),
            Args::default().number64(1).octet(0b10),
            "basic.nack and basic.reject not supported by stream queues",
        ),
        (
            (60, 90),
            Args::default().number64(1).octet(1),
            "basic.nack and basic.reject not supported by stream queues",
        ),
        ((60, 110), Args::default().octet(0), "requeue=false"),
        (
            (60, 70),
            Args::default().number16(0).short("s").octet(0),
            "basic.get not supported by stream queues",
        ),
    ] {
        let node = TestNode::start().await;
        let mut peer = Peer::open(&node).await;
        peer.declare(1, "s", &[]).await;
        peer.fill("s", &[("0", &[])]).await;
        peer.prefetch(1, 1).await;
        peer.read(1, "s", "a", &[]).await;
        assert_eq!(peer.bodies(1).await, ["0"]);
        peer.say(1, method, &fields).await;
        let (code, said) = peer.next().await.closed();
        assert_eq!(code, 540);
        assert!(said.starts_with(&format!("NOT_IMPLEMENTED - {text}")), "{said}");
    }
}

#[tokio::test]
async fn a_node_that_stops_says_so() {
    let mut node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    let stopping = tokio::spawn(node.node.take().unwrap().stop());
    let (code, text) = peer.next().await.closed();
    let shutdown = "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'";
    assert_eq!((code, text.as_str()), (320, shutdown));
    peer.say(0, (10, 51), &Args::default()).await;
    assert_eq!(peer.raw().await, None);
    assert!(stopping.await.unwrap(), "a clean stop");
}

#[tokio::test]
async fn what_comes_behind_a_farewell_breaks_nothing() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    peer.say(0, (10, 50), &Args::default().number16(200).short("bye").number16(0).number16(0)).await;
    assert_eq!(peer.next().await.numbers, (10, 51));
    for number in 1..=10 {
        peer.ack(1, number, false).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(peer.part().await);
}

#[tokio::test]
async fn hearts_beat_both_ways() {
    let node = TestNode::with(Options { speed: Some(10), ..Options::default() }).await;
    let mut peer = Peer::with_heartbeat(&node, 2).await;
    assert_eq!(peer.raw().await, Some((8, 0, Vec::new())));
    for _ in 0..8 {
        peer.write(&frame(8, 0, &[])).await;
        assert_eq!(peer.raw().await, Some((8, 0, Vec::new())));
    }
    // A peer that is silent is cut.
    while peer.raw().await.is_some() {}
}

#[tokio::test]
async fn what_happens_is_counted() {
    let node = TestNode::start().await;
    let count = |name: &'static str| {
        let node = &node;
        async move {
            let text = node.admin("/metrics").await.text().to_owned();
            let line = text.lines().find(|line| line.split(' ').next() == Some(name));
            line.and_then(|line| line.split(' ').nth(1)?.parse::<u64>().ok())
                .unwrap_or_else(|| panic!("{name}"))
        }
    };
    let mut peer = Peer::open(&node).await;
    peer.channel(2).await;
    peer.declare(1, "s", &[]).await;
    peer.fill("s", &["0", "1", "2"].map(|body| (body, &[][..]))).await;
    peer.prefetch(1, 2).await;
    peer.read(1, "s", "a", &[]).await;
    peer.bodies(2).await;
    peer.ack(1, 1, false).await;
    peer.bodies(1).await;
    for (name, expected) in [
        ("kelda_amqp_connections", 1),
        ("kelda_amqp_channels", 2),
        ("kelda_amqp_consumers", 1),
        ("kelda_amqp_published_total", 3),
        ("kelda_amqp_confirmed_total", 3),
        ("kelda_amqp_delivered_total", 3),
        ("kelda_amqp_acknowledged_total", 1),
    ] {
        assert_eq!(count(name).await, expected, "{name}");
    }
    drop(peer);
    while count("kelda_amqp_connections").await > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!((count("kelda_amqp_channels").await, count("kelda_amqp_consumers").await), (0, 0));
}

#[tokio::test]
async fn a_change_of_retention_breaks_no_declaration() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    // Over HTTP first: the first declaration has to mean the same, and holds from then on.
    let headers = [("content-type", "text/plain"), ("kelda-max-age", "24h")];
    assert_eq!(node.send("PUT", "/h", &headers, "").await.status, 201);
    let wrong = peer.declare(1, "h", &[("x-max-age", "24h")]).await.closed();
    assert_eq!(wrong.0, 406);
    assert!(wrong.1.ends_with("received '24h' but current is '1D'"), "{}", wrong.1);
    peer.reopen(1).await;
    assert_eq!(peer.declare(1, "h", &[("x-max-age", "1D")]).await.numbers, (50, 11));
    assert_eq!(node.send("PATCH", "/h", &[("kelda-max-age", "2h")], "").await.status, 204);
    assert_eq!(peer.declare(1, "h", &[("x-max-age", "1D")]).await.numbers, (50, 11));
    assert_eq!(node.head("/h").await.header("kelda-max-age"), Some("2h"));
    // Over AMQP first: its retention is there over HTTP, and is changed without a word about arguments.
    assert_eq!(peer.declare(1, "a", &[("x-max-age", "60m")]).await.numbers, (50, 11));
    assert_eq!(node.head("/a").await.header("kelda-max-age"), Some("1h"));
    assert_eq!(node.send("PATCH", "/a", &[("kelda-max-age", "none")], "").await.status, 204);
    assert_eq!(peer.declare(1, "a", &[("x-max-age", "60m")]).await.numbers, (50, 11));
    assert_eq!(peer.declare(1, "a", &[("x-max-age", "1h")]).await.closed().0, 406, "as it was given");
}
