//! The suite over AMQP against a RabbitMQ whose URL comes in a variable, so that whoever runs the tests chooses it; and what is
//! RabbitMQ's own.

use std::process::Command;
use std::sync::Arc;

use kelda_client::{Error, Kelda, Message, OnGap, StreamLimits, Text};

use super::suite::proxy::Proxy;
use super::suite::{Cut, Over, Seen, World, client, resuming, texts, until};

/// The URL, as `amqp://USER:PASSWORD@HOST:PORT/VHOST`.
const URL: &str = "KELDA_TEST_RABBITMQ";
/// A command that ends all its connections from its side.
const CLOSE: &str = "KELDA_TEST_RABBITMQ_CLOSE";

fn url() -> Option<String> {
    let url = std::env::var(URL).ok();
    if url.is_none() {
        eprintln!("skipped: {URL} is not set");
    }
    url
}

async fn world() -> Option<World> {
    Some(World::behind_a_proxy(&url()?, Over::RabbitMq).await)
}

/// A world whose connections are closed by the server.
fn closing() -> Option<World> {
    let url = url()?;
    let Ok(command) = std::env::var(CLOSE) else {
        eprintln!("skipped: {CLOSE} is not set");
        return None;
    };
    let cut: Cut = Arc::new(move || {
        let status = Command::new("sh").arg("-c").arg(&command).status().unwrap();
        assert!(status.success(), "{command}");
    });
    Some(World::new(client(&url), client(&url), Over::RabbitMq, cut))
}

scenarios!(world);

/// In one test: a server that closes connections closes those of all tests.
#[tokio::test]
async fn connections_that_the_server_closes() {
    if closing().is_none() {
        return;
    }
    resuming::after_the_newest_finished(closing().unwrap()).await;
    resuming::at_the_oldest_unfinished(closing().unwrap()).await;
    resuming::with_several_handlers(closing().unwrap()).await;
}

/// Each segment may begin with an offset that RabbitMQ takes for itself.
#[tokio::test]
async fn offsets_that_are_no_entries_are_passed_over() {
    let Some(world) = world().await else { return };
    let small = StreamLimits::new().max_bytes(1 << 30).segment_bytes(1_000);
    world.direct.declare_stream(&world.stream, small).await.unwrap();
    world.fill(0..40).await;
    let seen = Seen::default();
    let handler = seen.clone();
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first().prefetch(4);
    let reader = stream.consume(move |message: Message<String>| {
        handler.add(message.payload());
        async {}
    });
    let reader = reader.await.unwrap();
    until("all", || reader.handled() == 40).await;
    let last = reader.last_handled_offset().unwrap();
    assert!(last > 39, "there are gaps: the last record is at {last}");
    (world.cut)();
    world.fill(40..60).await;
    until("all", || reader.handled() == 60).await;
    assert_eq!(seen.list(), texts(0..60));
}

/// Records that retention gave up are a gap, unlike those offsets.
#[tokio::test]
async fn records_that_are_gone_are_a_gap() {
    let Some(world) = world().await else { return };
    let small = StreamLimits::new().max_bytes(5_000).segment_bytes(1_000);
    world.direct.declare_stream(&world.stream, small).await.unwrap();
    world.fill(0..300).await;
    let stream = || world.kelda.stream::<String>(&world.stream).codec(Text).from_offset(3);
    let reader = stream().consume(|_| async {}).await;
    let end = match reader {
        Ok(reader) => match reader.join().await {
            kelda_client::ReaderEnd::Gap { from, to } => (from, to),
            other => panic!("{other}"),
        },
        Err(Error::Gap { from, to, .. }) => (from, to),
        Err(error) => panic!("{error}"),
    };
    assert!(end.0 == 3 && end.1 > 3, "{end:?}");
    let seen = Seen::default();
    let handler = seen.clone();
    let reader = stream().on_gap(OnGap::Continue).consume(move |message: Message<String>| {
        handler.add(message.payload());
        async {}
    });
    let reader = reader.await.unwrap();
    until("the last", || seen.list().last().is_some_and(|text| text == "299")).await;
    assert!(reader.is_active() && reader.handled() < 297);
}

/// What cannot be an AMQP connection is an error at once.
#[tokio::test]
async fn a_wrong_password_is_an_error_at_once() {
    let Some(url) = url() else { return };
    let (_, address) = url.split_once('@').unwrap();
    let error = Kelda::connect(&format!("amqp://guest:wrong@{address}")).await.unwrap_err();
    assert_eq!(error.code(), Some("forbidden"), "{error}");
    let (host, _) = address.split_once('/').unwrap();
    let error = Kelda::connect(&format!("amqp://guest:guest@{host}/nowhere")).await.unwrap_err();
    assert!(error.to_string().contains("vhost nowhere not found"), "{error}");
}
