//! A producer without a producer id: it never repeats a batch, so an unknown outcome stays unknown.

use kelda_env::Random as _;
use kelda_format::{Offset, StreamId};
use kelda_service::{AppendError, AppendRequest, Caller, NodeFault, Receipt};

use super::{Client, content};
use crate::history::Append;

/// Sends so many batches, some on condition that the tail is where the last answer left it.
pub async fn produce(client: Client, batches: u64) {
    let mut last: Option<(StreamId, Offset)> = None;
    for number in 0..batches {
        let name = client.stream();
        let bodies = client.bodies(number);
        let conditional = client.world.sim.random().below(4) == 0;
        let condition = last.filter(|_| conditional);
        let request = AppendRequest {
            content: content(&bodies),
            match_offset: condition.map(|(_, offset)| offset),
            if_stream: condition.map(|(stream, _)| stream),
            ..AppendRequest::default()
        };
        let invoked = client.history.now();
        let call = |service: kelda_service::Service| async move {
            service.append(&Caller::anonymous(), &name, request).await
        };
        match client.world.call(call).await {
            Some(Ok(receipt)) => {
                last = Some((receipt.stream, receipt.next));
                accepted(&client, &bodies, invoked, receipt, condition);
            }
            Some(Err(AppendError::Node(NodeFault::OutcomeUnknown))) | None => {}
            Some(Err(_)) => client.history.note(|facts| facts.refused.extend(bodies)),
        }
        client.pause().await;
    }
}

fn accepted(
    client: &Client,
    bodies: &[String],
    invoked: u64,
    receipt: Receipt,
    condition: Option<(StreamId, Offset)>,
) {
    let answered = client.history.now();
    client.history.note(|facts| {
        let Some(first) = receipt.first else {
            facts.violations.push(format!("no offset for {bodies:?}"));
            return;
        };
        if receipt.duplicate || condition.is_some_and(|wanted| wanted != (receipt.stream, first)) {
            facts.violations.push(format!("{condition:?} was asked for, {receipt:?} given"));
        }
        let (stream, bodies) = (receipt.stream, bodies.to_vec());
        facts.appends.push(Append { stream, invoked, answered, first, bodies });
    });
}
