//! What a client is told over AMQP, in RabbitMQ's words, and when.

use crate::amqp_peer::{Arg, Args, Came, Peer, announce, frame, message, method};
use crate::support::TestNode;

/// A method to call: its numbers and arguments.
type Call = ((u16, u16), Args);
/// Methods of which the last is refused, with the code and the text.
type Refused<'a> = (&'a [Call], u16, &'a str);
/// A close: its code and text, and the method that it is about.
type Close = (u16, String, (u16, u16));

fn told(came: &Came) -> Close {
    let (code, text) = came.closed();
    let at = came.args.len() - 4;
    let number = |at: usize| u16::from_be_bytes(came.args[at..at + 2].try_into().unwrap());
    (code, text, (number(at), number(at + 2)))
}

fn queue(name: &str, bits: u8, list: &[(&str, Arg<'_>)]) -> Call {
    let args = Args::default().number16(0).short(name).octet(bits);
    let all = [&[("x-queue-type", Arg::Text("stream"))], list].concat();
    ((50, 10), args.table(&all))
}

fn exchange(name: &str, kind: &str, bits: u8, list: &[(&str, Arg<'_>)]) -> Call {
    ((40, 10), Args::default().number16(0).short(name).short(kind).octet(bits).table(list))
}

fn binding(numbers: (u16, u16), to: &str, from: &str, list: &[(&str, Arg<'_>)]) -> Call {
    (numbers, Args::default().number16(0).short(to).short(from).short("k").octet(0).table(list))
}

fn qos(count: u16, global: u8) -> Call {
    ((60, 10), Args::default().number32(0).number16(count).octet(global))
}

/// Bits: 2 without acknowledgements.
fn consume(name: &str, bits: u8, list: &[(&str, Arg<'_>)]) -> Call {
    ((60, 20), Args::default().number16(0).short(name).short("c").octet(bits).table(list))
}

/// Calls methods on a connection of its own; what the last one is told.
async fn refused(node: &TestNode, calls: &[Call]) -> Close {
    let mut peer = Peer::open(node).await;
    let (last, before) = calls.split_last().unwrap();
    for (numbers, args) in before {
        let came = peer.call(*numbers, args).await;
        assert!(!matches!(came.numbers, (10, 50) | (20, 40)), "{:?}", came.closed());
    }
    told(&peer.call(last.0, &last.1).await)
}

/// Calls methods, each time on a connection of its own, of which the last is refused so.
async fn all_refused(node: &TestNode, cases: &[Refused<'_>]) {
    for (calls, code, text) in cases {
        let told = refused(node, calls).await;
        assert_eq!(told, (*code, (*text).to_owned(), calls.last().unwrap().0));
    }
}

#[tokio::test]
async fn a_queue_that_is_not_named_is_the_last_one_declared_or_an_error() {
    let node = TestNode::start().await;
    let named = Args::default().number16(0).short("");
    for (numbers, args) in [
        ((50, 20), named.clone().short("amq.topic").short("").octet(0).table(&[])),
        ((50, 20), named.clone().short("").short("").octet(0).table(&[])),
        ((50, 30), named.clone().octet(0)),
        ((50, 40), named.clone().octet(0)),
        ((50, 50), named.clone().short("amq.topic").short("").table(&[])),
        ((60, 20), named.clone().short("").octet(0).table(&[])),
        ((60, 70), named.clone().octet(0)),
    ] {
        let told = refused(&node, &[(numbers, args)]).await;
        assert_eq!(told, (404, "NOT_FOUND - no previously declared queue".to_owned(), numbers));
    }
    // Bound without a name and a key, the queue's name is the key.
    let mut peer = Peer::connect(&node).await;
    peer.declare_queue("q").await;
    peer.bind("", "amq.direct", "", &[]).await;
    peer.write(&message("amq.direct", "q", true, &[], "m")).await;
    assert_eq!(peer.confirms(1, 1).await, [true]);
    assert_eq!(node.get("/q").await.text(), "m");
}

#[tokio::test]
async fn a_declaration_is_told_what_is_wrong_with_it() {
    let node = TestNode::start().await;
    let (age, long) = (("x-max-age", Arg::Text("1x")), |name, value| (name, Arg::Long(value)));
    let of_q = "for queue 'q' in vhost '/'";
    let foreign = |name: &str| {
        format!("PRECONDITION_FAILED - invalid arg '{name}' {of_q} of queue type rabbit_stream_queue")
    };
    let invalid = |name: &str, why: &str| format!("PRECONDITION_FAILED - invalid arg '{name}' {of_q}: {why}");
    let differs = |name: &str, how: &str| {
        format!("PRECONDITION_FAILED - inequivalent arg '{name}' {of_q}: received {how}")
    };
    let too_large = long("x-stream-max-segment-size-bytes", 5_000_000_000);
    let plain = queue("q", 2, &[]);
    for (calls, text) in [
        // Values first, in an order of their own; then what has no place, in the order given.
        (vec![queue("q", 2, &[age, long("x-max-length-bytes", -1)])], invalid("x-max-length-bytes", "{value_negative,-1}")),
        (vec![queue("q", 2, &[long("x-expires", 1), age])], invalid("x-max-age", "invalid_max_age")),
        (vec![queue("q", 2, &[long("x-max-priority", 1), long("x-expires", 1)])], foreign("x-max-priority")),
        (vec![queue("q", 2, &[long("x-max-in-memory-bytes", 1)])], foreign("x-max-in-memory-bytes")),
        (
            vec![queue("q", 2, &[long("x-dead-letter-exchange", 1)])],
            "PRECONDITION_FAILED - invalid type 'long' for arg 'x-dead-letter-exchange' in queue 'q' in vhost '/'".to_owned(),
        ),
        (vec![queue("q", 0, &[too_large])], format!("PRECONDITION_FAILED - invalid property 'non-durable' {of_q}")),
        (
            vec![queue("q", 2, &[too_large])],
            "PRECONDITION_FAILED - Exceeded max value for x-stream-max-segment-size-bytes".to_owned(),
        ),
        (
            vec![queue("", 2, &[age])],
            "PRECONDITION_FAILED - Cannot declare a server-named queue for type rabbit_stream_queue".to_owned(),
        ),
        (
            vec![plain.clone(), queue("q", 2, &[("x-max-age", Arg::True)])],
            differs("x-max-age", "the value 'true' of type 'bool' but current is none"),
        ),
        (
            vec![plain, queue("q", 2, &[("x-initial-cluster-size", Arg::Text("1"))])],
            differs("x-initial-cluster-size", "the value '1' of type 'longstr' but current is none"),
        ),
    ] {
        all_refused(&node, &[(&calls, 406, &text)]).await;
    }
    let long_name = "n".repeat(255);
    let (code, text, _) = refused(&node, &[queue(&long_name, 1, &[])]).await;
    assert_eq!((code, text.len()), (404, 255));
    assert!(text.ends_with("nnn..."), "{text}");
}

#[tokio::test]
async fn an_exchange_and_its_bindings_are_told_what_is_wrong_with_them() {
    let node = TestNode::start().await;
    let delete = |name: &str| ((40, 20), Args::default().number16(0).short(name).octet(0));
    let other = |value| [("alternate-exchange", value)];
    let default = "ACCESS_REFUSED - operation not permitted on the default exchange";
    let trace = "amq.rabbitmq.trace";
    let cases: &[Refused<'_>] = &[
        (
            &[delete("amq.direct")],
            403,
            "ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not allowed",
        ),
        (
            &[delete("amq.none")],
            403,
            "ACCESS_REFUSED - deletion of system exchange 'amq.none' in vhost '/' not allowed",
        ),
        (&[exchange("", "direct", 1, &[])], 403, default),
        (&[binding((50, 20), "none", "no", &[])], 404, "NOT_FOUND - no exchange 'no' in vhost '/'"),
        (&[binding((40, 30), "none", "no", &[])], 404, "NOT_FOUND - no exchange 'no' in vhost '/'"),
        (&[binding((40, 40), "", "amq.direct", &[])], 403, default),
        (
            &[exchange(trace, "direct", 2, &[])],
            406,
            "PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'amq.rabbitmq.trace' in vhost '/': received 'direct' but current is 'topic'",
        ),
        (
            &[exchange("x", "direct", 2, &other(Arg::Long(5)))],
            406,
            "PRECONDITION_FAILED - invalid type 'long' for arg 'alternate-exchange' in exchange 'x' in vhost '/'",
        ),
        (
            &[exchange("y", "direct", 2, &[]), exchange("y", "direct", 2, &other(Arg::Long(5)))],
            406,
            "PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange 'y' in vhost '/': received the value '5' of type 'long' but current is none",
        ),
        (
            &[
                exchange("z", "direct", 2, &other(Arg::Text("y"))),
                exchange("z", "direct", 2, &other(Arg::True)),
            ],
            406,
            "PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange 'z' in vhost '/': received 'true' but current is 'y'",
        ),
        (
            &[queue("q", 2, &[]), binding((50, 20), "q", "amq.headers", &[("x-match", Arg::Long(5))])],
            406,
            "PRECONDITION_FAILED - Invalid x-match field type long (value 5); expected longstr",
        ),
        (
            &[queue("q", 2, &[]), binding((50, 20), "q", "amq.headers", &[("x-match", Arg::Text(""))])],
            406,
            "PRECONDITION_FAILED - Invalid x-match field value <<>>; expected all, any, all-with-x, or any-with-x",
        ),
    ];
    all_refused(&node, cases).await;
    let mut peer = Peer::open(&node).await;
    peer.write(&message(trace, "k", false, &[], "m")).await;
    let text = "ACCESS_REFUSED - cannot publish to internal exchange 'amq.rabbitmq.trace' in vhost '/'";
    assert_eq!(peer.next().await.closed(), (403, text.to_owned()));
}

#[tokio::test]
async fn a_consumer_is_told_what_is_wrong_with_it_in_the_order_in_which_it_is_looked_at() {
    let node = TestNode::start().await;
    let offset = ("x-stream-offset", Arg::Text("1x"));
    let ha = ("x-cancel-on-ha-failover", Arg::True);
    let wrong = "PRECONDITION_FAILED - invalid arg 'x-stream-offset' for queue 'q' in vhost '/': {invalid_stream_offset_arg,{longstr,<<\"1x\">>}}";
    let foreign = "PRECONDITION_FAILED - invalid arg 'x-cancel-on-ha-failover' for queue 'q' in vhost '/' of queue type rabbit_stream_queue";
    let no_prefetch = "PRECONDITION_FAILED - consumer prefetch count is not set for 'queue 'q' in vhost '/''";
    let no_ack =
        "NOT_IMPLEMENTED - automatic acknowledgement not supported by stream queues queue 'q' in vhost '/'";
    let global = "NOT_IMPLEMENTED - queue 'q' in vhost '/' does not support global qos";
    let q = queue("q", 2, &[]);
    let cases: &[Refused<'_>] = &[
        (&[q.clone(), consume("q", 2, &[ha, offset])], 406, wrong),
        (&[q.clone(), consume("q", 2, &[ha])], 406, foreign),
        (&[q.clone(), qos(5, 1), consume("q", 2, &[])], 406, no_prefetch),
        (&[q.clone(), qos(5, 0), qos(5, 1), consume("q", 2, &[])], 540, no_ack),
        (&[q.clone(), qos(5, 0), qos(5, 1), consume("q", 0, &[])], 540, global),
    ];
    all_refused(&node, cases).await;
    // The last word on the prefetch counts.
    for last in [qos(0, 1), qos(5, 0)] {
        let mut peer = Peer::open(&node).await;
        for (numbers, args) in [qos(5, 0), qos(5, 1), last] {
            assert_eq!(peer.call(numbers, &args).await.numbers, (60, 11));
        }
        let (numbers, args) = consume("q", 0, &[]);
        assert_eq!(peer.call(numbers, &args).await.numbers, (60, 21));
    }
}

#[tokio::test]
async fn a_message_is_told_what_is_wrong_with_it() {
    let node = TestNode::start().await;
    let with = |flags: u16, value: &str| {
        let publish = Args::default().number16(0).short("").short("q").octet(0);
        let header = Args::default().number16(60).number16(0).number64(1).number16(flags).short(value);
        [method(1, (60, 40), &publish), frame(2, 1, &header.0), frame(3, 1, b"m")].concat()
    };
    let life = |text: &str| with(1 << 8, text);
    for (bytes, text) in [
        (life("-1"), "invalid expiration '-1': {value_negative,-1}"),
        (life("1.5"), "invalid expiration '1.5': {leftover_string,\".5\"}"),
        (life(""), "invalid expiration '': no_integer"),
        (life("315360000001"), "invalid expiration '315360000001': {value_too_large,315360000001}"),
        (with(1 << 9, "amq.rabbitmq.reply-to"), "fast reply consumer does not exist"),
        (
            message("", "q", false, &[("CC", Arg::Text("x"))], "m"),
            "invalid message: {unacceptable_type_in_header,\"CC\",longstr}",
        ),
    ] {
        for in_transaction in [false, true] {
            let mut peer = Peer::open(&node).await;
            if in_transaction {
                assert_eq!(peer.call((90, 10), &Args::default()).await.numbers, (90, 11));
            }
            peer.write(&bytes).await;
            let told = told(&peer.next().await);
            assert_eq!(told, (406, format!("PRECONDITION_FAILED - {text}"), (60, 40)));
        }
    }
    let mut peer = Peer::connect(&node).await;
    for fine in ["+5", "-0", "315360000000"] {
        peer.write(&life(fine)).await;
    }
    assert_eq!(peer.confirms(1, 3).await, [true; 3]);
}

#[tokio::test]
async fn acknowledgements_in_a_transaction_wait_for_its_end() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    peer.declare(1, "s", &[]).await;
    peer.fill("s", &["0", "1", "2", "3"].map(|body| (body, &[][..]))).await;
    peer.channel(2).await;
    peer.prefetch(2, 2).await;
    peer.read(2, "s", "c", &[]).await;
    assert_eq!(peer.bodies(2).await, ["0", "1"]);
    let (none, two) = (Args::default(), |peer: &Came| peer.numbers);
    peer.say(2, (90, 10), &none).await;
    assert_eq!(two(&peer.next().await), (90, 11));
    peer.ack(2, 2, true).await;
    assert_eq!(peer.settle(2).await.numbers, (60, 11), "no credit before the commit");
    peer.say(2, (90, 30), &none).await;
    assert_eq!(two(&peer.next().await), (90, 31), "and none after a rollback");
    peer.ack(2, 1, false).await;
    peer.say(2, (90, 20), &none).await;
    // The answer and the delivery come in either order.
    let mut came = [two(&peer.next().await), two(&peer.next().await)];
    came.sort_unstable();
    assert_eq!(came, [(60, 60), (90, 21)]);
    peer.ack(2, 1, false).await;
    assert_eq!(peer.next().await.closed(), (406, "PRECONDITION_FAILED - unknown delivery tag 1".to_owned()));
    peer.reopen(2).await;
    peer.prefetch(2, 2).await;
    peer.read(2, "s", "c", &[]).await;
    peer.bodies(2).await;
    peer.say(2, (90, 10), &none).await;
    assert_eq!(two(&peer.next().await), (90, 11));
    peer.say(2, (60, 120), &Args::default().number64(1).octet(0)).await;
    assert_eq!(peer.settle(2).await.numbers, (60, 11), "it is refused by the commit only");
    peer.say(2, (90, 20), &none).await;
    let text =
        "NOT_IMPLEMENTED - basic.nack and basic.reject not supported by stream queues queue 's' in vhost '/'";
    assert_eq!(told(&peer.next().await), (540, text.to_owned(), (90, 20)));
}

#[tokio::test]
async fn what_came_of_a_queue_that_is_gone_may_be_refused() {
    let node = TestNode::start().await;
    let nack = |delivery, bits| (Args::default().number64(delivery).octet(bits), (60, 120));
    let reject = |delivery| (Args::default().number64(delivery).octet(1), (60, 90));
    for (made_again, in_transaction) in [(false, false), (true, false), (false, true)] {
        let mut peer = Peer::open(&node).await;
        peer.declare(1, "q", &[]).await;
        peer.fill("q", &["0", "1", "2", "3"].map(|body| (body, &[][..]))).await;
        peer.channel(2).await;
        if in_transaction {
            peer.say(2, (90, 10), &Args::default()).await;
            assert_eq!(peer.next().await.numbers, (90, 11));
        }
        peer.prefetch(2, 4).await;
        peer.read(2, "q", "c", &[]).await;
        assert_eq!(peer.bodies(4).await.len(), 4);
        peer.delete_queue("q").await;
        assert_eq!(peer.next().await.numbers, (60, 30), "the consumer is cancelled");
        if made_again {
            peer.declare(1, "q", &[]).await;
        }
        for (args, numbers) in [reject(1), nack(2, 0), nack(4, 1)] {
            peer.say(2, numbers, &args).await;
        }
        if in_transaction {
            peer.say(2, (90, 20), &Args::default()).await;
            assert_eq!(peer.next().await.numbers, (90, 21));
        }
        assert_eq!(peer.settle(2).await.numbers, (60, 11), "nothing was closed");
        if made_again {
            peer.delete_queue("q").await;
        }
    }
}

#[tokio::test]
async fn who_deletes_a_queue_is_answered_before_its_consumer_hears_of_it() {
    let node = TestNode::start().await;
    let mut peer = Peer::open(&node).await;
    for _ in 0..20 {
        peer.declare_queue("q").await;
        peer.prefetch(1, 1).await;
        peer.consume(1, "q", "c", &[]).await;
        assert_eq!(peer.next().await.numbers, (60, 21));
        peer.delete_queue("q").await;
        assert_eq!(peer.next().await.numbers, (60, 30));
    }
}

#[tokio::test]
async fn frames_out_of_place_end_the_connection_with_words() {
    let node = TestNode::start().await;
    let header =
        |class: u16| frame(2, 1, &Args::default().number16(class).number16(0).number64(1).number16(0).0);
    let start = announce("", "q", false, &[], 1);
    // What comes before the header of the message.
    let publish = start[..start.len() - 22].to_vec();
    let weighty = frame(2, 1, &Args::default().number16(60).number16(7).number64(1).number16(0).0);
    let bad_name = |numbers| {
        let mut args = Args::default().number16(0).octet(1).octet(0xFF);
        args.0.extend([0; 5]);
        method(1, numbers, &args)
    };
    let nothing = (0, 0);
    for (bytes, code, text, about) in [
        (frame(8, 1, &[]), 505, "UNEXPECTED_FRAME - type 8, all octets = <<>>", nothing),
        (frame(8, 0, b"abc"), 501, "FRAME_ERROR - type 8, all octets = <<\"abc\">>: unknown_frame", nothing),
        (
            frame(9, 1, &[b'x'; 40]),
            501,
            "FRAME_ERROR - type 9, first 16 octets = <<\"xxxxxxxxxxxxxxxx\">>: unknown_frame",
            nothing,
        ),
        (frame(1, 1, &[0, 10]), 501, "FRAME_ERROR - type 1, all octets = <<0,10>>: unknown_frame", nothing),
        (frame(3, 0, b"x"), 505, "UNEXPECTED_FRAME - type 3, all octets = <<\"x\">>", nothing),
        (
            frame(3, 7, b"x"),
            505,
            "UNEXPECTED_FRAME - expected method frame, got non method frame instead",
            nothing,
        ),
        (
            [publish.clone(), header(50)].concat(),
            505,
            "UNEXPECTED_FRAME - expected content header for class 60, got one for class 50 instead",
            (60, 40),
        ),
        (
            [publish.clone(), weighty].concat(),
            505,
            "UNEXPECTED_FRAME - expected content header for class 60, got non content header frame instead",
            (60, 40),
        ),
        (bad_name((50, 10)), 501, "FRAME_ERROR - Malformed UTF-8 in shortstr", nothing),
        (
            method(0, (10, 50), &Args::default().number16(200).octet(1).octet(0xFF).number32(0)),
            501,
            "FRAME_ERROR - Malformed UTF-8 in shortstr",
            (10, 50),
        ),
    ] {
        let mut peer = Peer::open(&node).await;
        peer.write(&bytes).await;
        let came = peer.next().await;
        assert_eq!(came.numbers, (10, 50));
        assert_eq!(told(&came), (code, text.to_owned(), about));
    }
    // A method of older versions, which some clients still begin with.
    let mut peer = Peer::open(&node).await;
    let came = peer.call((30, 10), &Args::default().short("/data").octet(0x1F)).await;
    assert_eq!((came.numbers, came.args), ((30, 11), vec![0, 1]));
}
