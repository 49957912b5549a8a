//! The suite over AMQP against a RabbitMQ whose URL comes in a variable, so that whoever runs the tests chooses it; and what is
//! RabbitMQ's own.

use std::process::Command;
use std::sync::Arc;

use kelda_client::{Error, Kelda, Message, OnGap, StreamLimits, Text};

use super::suite::{Cut, Over, Seen, World, client, resuming, texts, until};

/// The URL, as `amqp://USER:PASSWORD@HOST:PORT/VHOST`.
const URL: &str = "KELDA_TEST_RABBITMQ";
/// The command that is `rabbitmqctl` for it.
const CTL: &str = "KELDA_TEST_RABBITMQ_CTL";
/// A virtual host of its own, so that nothing but the test's own connections is closed.
const CLOSING: &str = "closing";

fn url() -> Option<String> {
    let url = std::env::var(URL).ok();
    if url.is_none() {
        assert!(std::env::var("KELDA_CHECK").is_err(), "{URL} is not set");
        eprintln!("skipped: {URL} is not set");
    }
    url
}

async fn world() -> Option<World> {
    Some(World::behind_a_proxy(&url()?, Over::RabbitMq).await)
}

/// Runs `rabbitmqctl`, if there is one.
fn ctl(arguments: &str) -> Option<()> {
    let Ok(command) = std::env::var(CTL) else {
        eprintln!("skipped: {CTL} is not set");
        return None;
    };
    let status = Command::new("sh").arg("-c").arg(format!("{command} {arguments}")).status().unwrap();
    assert!(status.success(), "{command} {arguments}");
    Some(())
}

/// A world whose connections are closed by the server.
fn closing() -> Option<World> {
    let url = url()?;
    ctl(&format!("add_vhost {CLOSING}"))?;
    ctl(&format!("set_permissions -p {CLOSING} guest '.*' '.*' '.*'"))?;
    let (server, _) = url.rsplit_once('/').unwrap();
    let url = format!("{server}/{CLOSING}");
    let cut: Cut = Arc::new(move || {
        ctl(&format!("close_all_connections --vhost {CLOSING} test")).unwrap();
    });
    Some(World::new(client(&url), client(&url), Over::RabbitMq, cut))
}

scenarios!(world);

/// One after the other, since closing meets all of them.
#[tokio::test]
async fn connections_that_the_server_closes() {
    let Some(world) = closing() else { return };
    resuming::after_the_newest_finished(world).await;
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
