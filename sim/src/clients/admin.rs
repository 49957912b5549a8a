//! An administrator: asks for tails, deletes and creates anew, trims, seals, and creates with content.

use kelda_env::Random as _;
use kelda_format::Offset;
use kelda_service::{AppendRequest, Caller, Content, CreateRequest, ForkError, Service, StreamInfo};

use super::{Client, STREAMS, content, create, creation, parse};
use crate::history::{Append, Tail};

/// Does so many things.
pub async fn administer(client: Client, actions: u64) {
    for number in 0..actions {
        match client.world.sim.random().below(15) {
            0 => delete(&client).await,
            1 | 2 => trim(&client).await,
            3 if number > actions / 2 => seal(&client).await,
            6 | 7 => fork(&client, number).await,
            8 => delete_fork(&client, number).await,
            4 | 5 => create_with_content(&client, number).await,
            _ => drop(head(&client, client.world.sim.random().pick::<&str>(&STREAMS)).await),
        }
        client.pause().await;
    }
}

async fn head(client: &Client, stream: &str) -> Option<StreamInfo> {
    let name = parse(stream);
    let invoked = client.history.now();
    let call = |service: Service| async move { service.head(&Caller::anonymous(), &name, None).ok() };
    let info = client.world.call(call).await??;
    let answered = client.history.now();
    let tail = Tail { stream: info.stream, invoked, answered, tail: info.next };
    client.history.note(|facts| facts.tails.push(tail));
    Some(info)
}

/// Deletes the stream that may be, and creates it anew.
async fn delete(client: &Client) {
    let name = parse(STREAMS[0]);
    if let Some(info) = head(client, STREAMS[0]).await {
        let id = info.stream;
        client.history.note(|facts| facts.delete_tried.push(id));
        let name = name.clone();
        let call =
            |service: Service| async move { service.delete(&Caller::anonymous(), &name, Some(id)).await };
        if let Some(Ok(deleted)) = client.world.call(call).await {
            let now = client.history.now();
            client.history.note(|facts| {
                facts.deleted.insert(deleted, now);
            });
        }
    }
    for _ in 0..50 {
        if matches!(create(client, creation(&name)).await, Some(Ok(_))) {
            return;
        }
        client.retry().await;
    }
}

/// Forks one of the streams that may be forked, somewhere.
async fn fork(client: &Client, number: u64) {
    let random = client.world.sim.random();
    let source = *random.pick::<&str>(&[STREAMS[0], STREAMS[1], STREAMS[3]]);
    let Some(info) = head(client, source).await else { return };
    let offset = Offset(info.start.0 + random.below(info.next.since(info.start) + 1));
    let (source, name) = (parse(source), parse(&format!("sim/fork-{number}")));
    for _ in 0..20 {
        let (source, name) = (source.clone(), name.clone());
        let call = |service: Service| async move {
            service.fork(&Caller::anonymous(), &source, offset, &name).await
        };
        match client.world.call(call).await {
            Some(Ok(made)) => return client.history.note(|facts| facts.forks.push(made.info.stream)),
            Some(Err(ForkError::Node(_))) | None => client.retry().await,
            Some(Err(_)) => return,
        }
    }
}

/// Deletes a fork made before, if it is there.
async fn delete_fork(client: &Client, number: u64) {
    let name = format!("sim/fork-{}", client.world.sim.random().below(number + 1));
    let Some(info) = head(client, &name).await else { return };
    client.history.note(|facts| facts.delete_tried.push(info.stream));
    let name = parse(&name);
    let call = |service: Service| async move {
        service.delete(&Caller::anonymous(), &name, Some(info.stream)).await
    };
    if let Some(Ok(deleted)) = client.world.call(call).await {
        let now = client.history.now();
        client.history.note(|facts| {
            facts.deleted.insert(deleted, now);
        });
    }
}

async fn trim(client: &Client) {
    let Some(info) = head(client, STREAMS[1]).await else { return };
    let before = Offset(info.start.0 + client.world.sim.random().below(info.next.since(info.start) + 1));
    client.history.note(|facts| {
        let furthest = facts.trims.entry(info.stream).or_default();
        *furthest = before.max(*furthest);
    });
    let name = parse(STREAMS[1]);
    let call = |service: Service| async move {
        service.trim(&Caller::anonymous(), &name, before, Some(info.stream)).await
    };
    if let Some(Ok(after)) = client.world.call(call).await
        && after.start < before
    {
        let text = format!("trimmed to {before}, starts at {}", after.start);
        client.history.note(|facts| facts.violations.push(text));
    }
}

async fn seal(client: &Client) {
    let Some(info) = head(client, STREAMS[2]).await else { return };
    client.history.note(|facts| facts.seal_tried.push(info.stream));
    let name = parse(STREAMS[2]);
    let request = AppendRequest { seal: true, ..AppendRequest::default() };
    let call = |service: Service| async move { service.append(&Caller::anonymous(), &name, request).await };
    if let Some(Ok(receipt)) = client.world.call(call).await {
        let now = client.history.now();
        client.history.note(|facts| {
            facts.seals.insert(receipt.stream, (receipt.next, now));
        });
    }
}

/// A PUT with a body, repeated until it is answered: the content is there once.
async fn create_with_content(client: &Client, number: u64) {
    let name = parse(&format!("sim/made-{number}"));
    let bodies = client.bodies(1000 + number);
    let text: Content = content(&bodies);
    let invoked = client.history.now();
    for _ in 0..50 {
        let request = CreateRequest { content: text.clone(), ..creation(&name) };
        if let Some(Ok(created)) = create(client, request).await {
            let answered = client.history.now();
            let stream = created.info.stream;
            let append = Append { stream, invoked, answered, first: Offset::ZERO, bodies };
            client.history.note(|facts| facts.appends.push(append));
            return;
        }
        client.retry().await;
    }
}
