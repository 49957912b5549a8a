//! Where a reader goes on after a lost connection.

use std::sync::Arc;

use kelda_client::{Message, Text};
use tokio::sync::Semaphore;

use super::{Over, Seen, World, texts, until};

/// Waits until the reader noticed that its connection is gone and came back.
async fn back_again(state: &mut tokio::sync::watch::Receiver<kelda_client::ReaderState>) {
    use kelda_client::ReaderState;
    state.wait_for(|state| matches!(state, ReaderState::Reconnecting)).await.unwrap();
    state.wait_for(|state| matches!(state, ReaderState::Running)).await.unwrap();
}

/// All were finished: it goes on just behind the newest, not where it began.
pub async fn after_the_newest_finished(world: World) {
    world.filled(20).await;
    let (seen, given) = (Seen::default(), Seen::default());
    let handler = given.clone();
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first();
    let reader = stream.consume(move |message: Message<String>| {
        handler.add(message.payload());
        async {}
    });
    let reader = reader.await.unwrap();
    assert_eq!(seen.count(), 0);
    until("all", || reader.handled() == 20).await;
    for round in 0..3 {
        let mut state = reader.watch();
        (world.cut)();
        back_again(&mut state).await;
        world.fill(20 + round..21 + round).await;
        until("one more", || reader.handled() == 21 + round).await;
    }
    assert_eq!(given.list(), texts(0..23));
    assert_eq!(reader.failed(), 0);
}

/// What was given and not finished is given again, after its handler returned; nothing else is.
pub async fn at_the_oldest_unfinished(world: World) {
    world.filled(20).await;
    let (seen, gate) = (Seen::default(), Arc::new(Semaphore::new(5)));
    let (handler, wait) = (seen.clone(), Arc::clone(&gate));
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first();
    let reader = stream.consume(move |message: Message<String>| {
        let (handler, wait) = (handler.clone(), Arc::clone(&wait));
        async move {
            handler.add(message.payload());
            wait.acquire().await.unwrap().forget();
        }
    });
    let reader = reader.await.unwrap();
    until("the sixth is at work", || seen.count() == 6).await;
    let position = reader.last_handled_offset();
    let mut state = reader.watch();
    (world.cut)();
    back_again(&mut state).await;
    assert_eq!(reader.last_handled_offset(), position);
    gate.add_permits(1_000);
    until("all", || reader.handled() == 20).await;
    let mut expected = texts(0..6);
    expected.extend(texts(5..20));
    assert_eq!(seen.list(), expected);
}

/// With several handlers at once each entry is finished once, and only those at work are given again.
pub async fn with_several_handlers(world: World) {
    world.filled(40).await;
    let (seen, gate) = (Seen::default(), Arc::new(Semaphore::new(0)));
    let (handler, wait) = (seen.clone(), Arc::clone(&gate));
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_first();
    let reader = stream.concurrency(4).consume(move |message: Message<String>| {
        let (handler, wait) = (handler.clone(), Arc::clone(&wait));
        async move {
            handler.add(message.payload());
            // The third never waits, so that something above the oldest is finished.
            if !matches!(message.payload().as_str(), "2") {
                wait.acquire().await.unwrap().forget();
            }
        }
    });
    let reader = reader.await.unwrap();
    until("four at work, one done", || seen.count() == 5 && reader.handled() == 1).await;
    let mut state = reader.watch();
    (world.cut)();
    back_again(&mut state).await;
    gate.add_permits(1_000);
    until("all", || reader.handled() == 40).await;
    let repeated: Vec<String> = seen.repeated().into_keys().collect();
    assert_eq!(repeated, ["0", "1", "3", "4"], "those at work, and none that was finished");
    assert_eq!(seen.count(), 44);
}

/// One that began at the end misses nothing of what was written while it was away, once it was given something.
pub async fn next_does_not_skip_what_came_meanwhile(world: World) {
    world.filled(5).await;
    let seen = Seen::default();
    let handler = seen.clone();
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text);
    let reader = stream.consume(move |message: Message<String>| {
        handler.add(message.payload());
        async {}
    });
    let reader = reader.await.unwrap();
    world.fill(5..6).await;
    until("the first", || reader.handled() == 1).await;
    (world.cut)();
    world.fill(6..9).await;
    until("all", || reader.handled() == 4).await;
    assert_eq!(seen.list(), texts(5..9));
}

/// One that was given nothing still begins where it was told: on Kelda at the end as it was at first, on RabbitMQ, which does
/// not tell where that is, at the end as it is.
pub async fn next_that_was_given_nothing(world: World) {
    world.filled(5).await;
    let seen = Seen::default();
    let handler = seen.clone();
    let stream = world.kelda.stream::<String>(&world.stream).codec(Text).from_next();
    let reader = stream.consume(move |message: Message<String>| {
        handler.add(message.payload());
        async {}
    });
    let reader = reader.await.unwrap();
    let mut state = reader.watch();
    (world.cut)();
    if world.over == Over::RabbitMq {
        back_again(&mut state).await;
    } else {
        world.fill(5..6).await;
    }
    world.fill(6..8).await;
    let expected = if world.over == Over::RabbitMq { texts(6..8) } else { texts(5..8) };
    until("all", || reader.handled() == expected.len() as u64).await;
    assert_eq!(seen.list(), expected);
}
