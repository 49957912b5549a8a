//! Where a reader begins.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kelda_client::{Error, Message, ReaderBuilder, ReaderEnd, Text};
use tokio::sync::Semaphore;

use super::{Over, Seen, World, limits, texts, until};

type Stream = ReaderBuilder<String, Text>;

/// The records from there up to `last`.
async fn read(world: &World, from: impl FnOnce(Stream) -> Stream, last: &str) -> Vec<String> {
    let stream = from(world.kelda.stream::<String>(&world.stream).codec(Text));
    let mut messages = stream.messages().await.unwrap();
    let mut read: Vec<String> = Vec::new();
    while read.last().map(String::as_str) != Some(last) {
        let message = messages.next().await.unwrap().unwrap();
        read.push(message.payload().clone());
        message.done().await;
    }
    read
}

pub async fn each_start_is_where_it_says(world: World) {
    world.filled(10).await;
    assert_eq!(read(&world, Stream::from_first, "9").await, texts(0..10));
    // Written one at a time, the last chunk is the last record.
    assert_eq!(read(&world, Stream::from_last, "9").await, ["9"]);
    assert_eq!(read(&world, |stream| stream.from_offset(7), "9").await, texts(7..10));
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    assert_eq!(read(&world, |stream| stream.from_time(long_ago), "9").await, texts(0..10));
    assert_eq!(
        read(&world, |stream| stream.from_last_for(Duration::from_secs(3_600)), "9").await,
        texts(0..10)
    );
}

pub async fn a_stream_that_is_not_there_is_an_error_at_the_start(world: World) {
    let opened = world.kelda.stream::<String>("there-is-none").codec(Text).messages().await;
    let Err(error) = opened else { panic!("it began") };
    assert_eq!(error.code(), Some("not-found"), "{error}");
    let opened = world.kelda.producer::<str>("there-is-none").codec(Text).open().await;
    let Err(error) = opened else { panic!("it began") };
    assert_eq!(error.code(), Some("not-found"), "{error}");
    let refused = world.kelda.stream::<String>("there-is-none").codec(Text).prefetch(0).messages().await;
    assert!(matches!(refused, Err(Error::Invalid { what: "prefetch", .. })));
}

/// A reader of a stream that is deleted ends.
pub async fn a_deleted_stream_ends_its_readers(world: World) {
    world.filled(3).await;
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first();
    let reader = stream.consume(|_| async {}).await.unwrap();
    until("all", || reader.handled() == 3).await;
    world.direct.delete(&world.stream).await.unwrap();
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::Error(error) if error.code() == Some("not-found")), "{end}");
}

/// A stream that was deleted and made again is another one: its records are not given to readers of its predecessor.
pub async fn a_replaced_stream_ends_its_readers(world: World) {
    if world.over == Over::RabbitMq {
        // Nothing tells one stream from the other.
        return;
    }
    world.filled(3).await;
    let (seen, gate) = (Seen::default(), Arc::new(Semaphore::new(0)));
    let (handler, wait) = (seen.clone(), Arc::clone(&gate));
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first().prefetch(1);
    let reader = stream.consume(move |message: Message<String>| {
        let (handler, wait) = (handler.clone(), Arc::clone(&wait));
        async move {
            handler.add(message.payload());
            wait.acquire().await.unwrap().forget();
        }
    });
    let reader = reader.await.unwrap();
    until("the first is at work", || seen.count() == 1).await;
    world.direct.delete(&world.stream).await.unwrap();
    world.direct.declare_stream(&world.stream, limits()).await.unwrap();
    world.fill(0..5).await;
    gate.add_permits(100);
    let end = reader.join().await;
    assert!(matches!(&end, ReaderEnd::Error(Error::StreamChanged { .. })), "{end}");
    assert_eq!(seen.list(), ["0"]);
}
