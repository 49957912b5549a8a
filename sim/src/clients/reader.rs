//! A reader that follows one stream from its start, over crashes and lives of the name.

use std::time::Duration;

use kelda_format::{Offset, StreamId, StreamName};
use kelda_service::{Caller, Chunk, ReadError, ReadLimit, StartAt};

use super::{Client, parse};
use crate::history::Tail;

/// How long a reader waits at the tail.
const WAIT: Duration = Duration::from_millis(500);
/// Small pages, so that a reader crosses from objects to cache often.
const LIMIT: ReadLimit = ReadLimit { max_bytes: 10_000, max_records: 7, until: None };

/// Reads so many pages.
pub async fn follow(client: Client, stream: &'static str, pages: u64) {
    let name = parse(stream);
    let mut position: Option<(StreamId, Offset)> = None;
    for _ in 0..pages {
        let Some((id, from)) = position else {
            position = resolve(&client, &name).await;
            client.pause().await;
            continue;
        };
        let invoked = client.history.now();
        match page(&client, &name, id, from).await {
            Some(Ok(chunk)) => position = Some((id, took(&client, id, from, invoked, &chunk))),
            Some(Err(ReadError::Trimmed { start })) => position = Some((id, start)),
            Some(Err(ReadError::Lookup(_) | ReadError::Gone)) => position = None,
            Some(Err(ReadError::Node(_))) | None => client.retry().await,
            Some(Err(error)) => {
                let text = format!("reading stream {id} at {from}: {error}");
                client.history.note(|facts| facts.violations.push(text));
                client.retry().await;
            }
        }
    }
}

async fn resolve(client: &Client, name: &StreamName) -> Option<(StreamId, Offset)> {
    let name = name.clone();
    let call = |service: kelda_service::Service| async move {
        service.resolve(&Caller::anonymous(), &name, StartAt::First, None).await
    };
    let found = client.world.call(call).await?.ok()?;
    Some((found.stream, found.offset))
}

async fn page(
    client: &Client,
    name: &StreamName,
    id: StreamId,
    from: Offset,
) -> Option<Result<Chunk, ReadError>> {
    let name = name.clone();
    let call = |service: kelda_service::Service| async move {
        let chunk = service.read(&Caller::anonymous(), &name, id, from, LIMIT).await;
        if chunk.as_ref().is_ok_and(|chunk| chunk.next == chunk.tail && !chunk.sealed) {
            let _ = service.wait(&name, id, from, WAIT).await;
        }
        chunk
    };
    client.world.call(call).await
}

/// Writes down a page; returns where the next one begins.
fn took(client: &Client, id: StreamId, from: Offset, invoked: u64, chunk: &Chunk) -> Offset {
    let mut next = from;
    for record in chunk.blocks.iter().flat_map(|block| block.records()) {
        if record.offset != next {
            let text = format!("stream {id}: offset {} was read where {next} was due", record.offset);
            client.history.note(|facts| facts.violations.push(text));
        }
        next = record.offset.plus(1);
        let body = String::from_utf8_lossy(&record.record.body).into_owned();
        client.history.saw(id, record.offset, body);
    }
    if chunk.next != next || next > chunk.tail {
        let text = format!(
            "stream {id}: a page from {from} to {next} says next {}, tail {}",
            chunk.next, chunk.tail
        );
        client.history.note(|facts| facts.violations.push(text));
    }
    if chunk.tail_known {
        let answered = client.history.now();
        let tail = Tail { stream: id, invoked, answered, tail: chunk.tail };
        client.history.note(|facts| facts.tails.push(tail));
    }
    next
}
