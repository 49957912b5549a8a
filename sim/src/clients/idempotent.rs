//! An idempotent producer: it repeats a batch until it is acknowledged, over crashes, and sometimes once more to see
//! that the repeat is told apart.

use kelda_env::Random as _;
use kelda_format::StreamName;
use kelda_service::{AppendError, AppendRequest, Caller, LookupError, ProducerClaim, ProducerId, Receipt};

use super::{Client, STREAMS, content, parse};
use crate::history::Append;

/// Sends so many batches to the stream that nothing happens to, each until it is acknowledged.
pub async fn produce_once(client: Client, batches: u64) {
    let name = parse(STREAMS[3]);
    for seq in 0..batches {
        let bodies = client.bodies(seq);
        let invoked = client.history.now();
        let receipt = until_acknowledged(&client, &name, &bodies, seq).await;
        let answered = client.history.now();
        let Some(first) = receipt.first else {
            client.history.note(|facts| facts.violations.push(format!("no offset for {bodies:?}")));
            continue;
        };
        let append = Append { stream: receipt.stream, invoked, answered, first, bodies: bodies.clone() };
        client.history.note(|facts| facts.appends.push(append));
        if client.world.sim.random().below(5) == 0 {
            again(&client, &name, &bodies, seq, receipt).await;
        }
        client.pause().await;
    }
}

async fn until_acknowledged(client: &Client, name: &StreamName, bodies: &[String], seq: u64) -> Receipt {
    loop {
        match attempt(client, name, bodies, seq).await {
            Some(Ok(receipt)) => return receipt,
            Some(Err(AppendError::Node(_))) | None => client.retry().await,
            // A restart forgets nothing: any other refusal of a batch that was never refused before is a fault.
            Some(Err(error)) => {
                let text = format!("{} {seq}: {error}", client.name);
                client.history.note(|facts| facts.violations.push(text));
                client.retry().await;
            }
        }
    }
}

/// A repeat of what was acknowledged is a duplicate with the same answer.
async fn again(client: &Client, name: &StreamName, bodies: &[String], seq: u64, receipt: Receipt) {
    match attempt(client, name, bodies, seq).await {
        Some(Ok(repeat))
            if repeat.duplicate && (repeat.first, repeat.next) == (receipt.first, receipt.next) => {}
        Some(Err(AppendError::Node(_) | AppendError::Lookup(LookupError::NotFound { .. }))) | None => {}
        other => {
            let text = format!("the repeat of {receipt:?} was answered {other:?}");
            client.history.note(|facts| facts.violations.push(text));
        }
    }
}

async fn attempt(
    client: &Client,
    name: &StreamName,
    bodies: &[String],
    seq: u64,
) -> Option<Result<Receipt, AppendError>> {
    let producer = Some(ProducerClaim { id: ProducerId::new(&client.name), epoch: 0, seq });
    let request = AppendRequest { content: content(bodies), producer, ..AppendRequest::default() };
    let name = name.clone();
    let call = |service: kelda_service::Service| async move {
        service.append(&Caller::anonymous(), &name, request).await
    };
    client.world.call(call).await
}
