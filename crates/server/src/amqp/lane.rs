//! The way of messages into one stream.
//!
//! Owns the order: the messages of one channel for one stream are appended in the order in which they came. A few batches are on
//! their way at once, and each is handed over only when the one before has its place in the stream; what comes meanwhile is the
//! next batch. Guarantees that a batch which cannot be appended because of one message is appended message by message, and that
//! what became of the batches is told in their order. Never confirms anything itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kelda_format::StreamName;
use kelda_format::batch::Batch;
use kelda_format::record::Record;
use kelda_service::{AppendError, AppendRequest, Caller, Content, LookupError, Receipt, Service};
use tokio::sync::Notify;

use super::producer::{self, Claim};
use super::reply::Refusal;
use crate::http::budget::Hold;

/// Most records of a batch.
const BATCH_RECORDS: usize = 4_096;
/// Most bytes of a batch, beside its last record.
const BATCH_BYTES: u64 = 4 << 20;
/// Most batches on their way: one that waits for the disk, and those that wait for the next write.
const BATCHES: usize = 4;
/// Most messages with a sequence of their publisher on their way; each is an append of its own.
const CLAIMED: usize = 256;

/// A message that waits.
pub struct Waiting {
    /// Its tag, if it is to be confirmed.
    pub tag: Option<u64>,
    /// What is appended.
    pub record: Record,
    /// What its publisher says of itself.
    pub claim: Claim,
    /// The room that its body takes, which others may share.
    pub hold: Option<Arc<Hold>>,
}

/// Messages on their way into one stream.
#[derive(Default)]
pub struct Lane {
    waiting: VecDeque<Waiting>,
    started: u64,
    /// Batches of which it was told what became of them.
    landed: u64,
    /// Batches that are done before an earlier one, by number.
    early: BTreeMap<u64, Appended>,
    last: Option<Arc<Notify>>,
}

/// What became of a batch: the tags of its messages and whether each is stored, and the bytes that are free again.
pub struct Appended {
    /// Tags of the messages that have one.
    pub tags: Vec<(u64, bool)>,
    /// Messages of the batch.
    pub records: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Whether one of them is not stored.
    pub failed: bool,
    /// Why a message is not stored, when its publisher cannot go on as it does.
    pub refusal: Option<Refusal>,
}

impl Lane {
    /// Adds a message behind all others.
    pub fn push(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
    }

    /// Whether nothing waits and nothing is on its way.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.started == self.landed
    }

    /// Batches on their way.
    fn in_flight(&self) -> usize {
        (self.started - self.landed) as usize
    }

    /// The batch of this number is done; gives the batches whose turn it is to be told.
    pub fn landed(&mut self, number: u64, appended: Appended) -> Vec<Appended> {
        self.early.insert(number, appended);
        let mut told = Vec::new();
        while let Some(appended) = self.early.remove(&self.landed) {
            self.landed += 1;
            told.push(appended);
        }
        told
    }

    /// Sends the next batch off, when there is one and there may be one more on its way. Gives its number as well.
    pub fn start(
        &mut self,
        service: &Service,
        name: &StreamName,
    ) -> Option<BoxFuture<'static, (u64, Appended)>> {
        let (batch, bytes) = self.next_batch()?;
        let number = self.started;
        self.started += 1;
        let (service, name) = (service.clone(), name.clone());
        let placed = Arc::new(Notify::new());
        let before = self.last.replace(Arc::clone(&placed));
        Some(
            async move {
                if let Some(before) = before {
                    before.notified().await;
                }
                let appended = append(&service, &name, batch, bytes, &placed).await;
                // Refused or done: nothing of it will be placed any more.
                placed.notify_one();
                (number, appended)
            }
            .boxed(),
        )
    }

    fn next_batch(&mut self) -> Option<(Vec<Waiting>, u64)> {
        let first = self.waiting.front()?;
        let is_numbered = first.claim.producer.is_some();
        let most = if is_numbered { CLAIMED } else { BATCHES };
        if self.in_flight() >= most {
            return None;
        }
        let (mut bytes, mut count) = (first.record.byte_len(), 1);
        if !is_numbered {
            for next in self.waiting.iter().skip(1).take(BATCH_RECORDS - 1) {
                if next.claim != first.claim || bytes >= BATCH_BYTES {
                    break;
                }
                bytes += next.record.byte_len();
                count += 1;
            }
        }
        Some((self.waiting.drain(..count).collect(), bytes))
    }
}

async fn append(
    service: &Service,
    name: &StreamName,
    batch: Vec<Waiting>,
    bytes: u64,
    placed: &Notify,
) -> Appended {
    let mut claim = Claim::default();
    let mut holds = Vec::new();
    let (mut tags, mut records) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
    for waiting in batch {
        tags.push(waiting.tag);
        records.push(waiting.record);
        holds.extend(waiting.hold);
        claim = waiting.claim;
    }
    let (mut stored, mut refusal) = (vec![true; records.len()], None);
    match once(service, name, &records, &claim, placed).await {
        Ok(receipt) if claim.is_new && receipt.duplicate => {
            refusal = Some(producer::in_use());
            stored.fill(false);
        }
        Ok(_) => {}
        Err(AppendError::Content(_)) if records.len() > 1 => {
            // What comes behind waits for all of them.
            let aside = Notify::new();
            for (record, stored) in records.iter().zip(&mut stored) {
                let one = std::slice::from_ref(record);
                *stored = take(name, once(service, name, one, &claim, &aside).await.map(drop));
            }
        }
        Err(error) => {
            refusal = producer::refusal(&error, claim.producer.is_some());
            stored.fill(take(name, Err(error)));
        }
    }
    let (count, failed) = (records.len(), stored.contains(&false));
    let tags = tags.into_iter().zip(stored).filter_map(|(tag, stored)| Some((tag?, stored))).collect();
    Appended { tags, records: count, bytes, failed, refusal }
}

/// Whether the publisher is told that its message is where it belongs.
fn take(name: &StreamName, outcome: Result<(), AppendError>) -> bool {
    match outcome {
        Ok(()) => true,
        // The queue was deleted since the message was routed: it reached every queue that there is.
        Err(AppendError::Lookup(LookupError::NotFound { .. } | LookupError::Gone { .. })) => true,
        Err(error) => {
            tracing::debug!(stream = %name, %error, "a message was not stored");
            false
        }
    }
}

async fn once(
    service: &Service,
    name: &StreamName,
    records: &[Record],
    claim: &Claim,
    placed: &Notify,
) -> Result<Receipt, AppendError> {
    let batch = match records {
        [one] => Batch::one(one.body.clone(), &one.headers, one.producer_timestamp),
        many => Batch::from_records(many),
    };
    let content = Content::Records(batch.map_err(kelda_service::ContentError::from)?);
    let (producer, if_stream) = (claim.producer.clone(), claim.stream);
    let request = AppendRequest { content, producer, if_stream, ..AppendRequest::default() };
    service.append_in_turn(&Caller::anonymous(), name, request, placed).await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use bytes::Bytes;
    use kelda_format::StreamId;
    use kelda_format::rows::ProducerId;
    use kelda_service::ProducerClaim;

    fn waiting(tag: u64, bytes: usize, seq: Option<u64>) -> Waiting {
        let record = Record { body: Bytes::from(vec![0; bytes]), ..Record::default() };
        let producer = seq.map(|seq| ProducerClaim { id: ProducerId::new("p"), epoch: 0, seq });
        let claim = Claim { producer, ..Claim::default() };
        Waiting { tag: Some(tag), record, claim, hold: None }
    }

    fn batch(lane: &mut Lane) -> Option<Vec<u64>> {
        let (batch, _) = lane.next_batch()?;
        lane.started += 1;
        Some(batch.iter().filter_map(|waiting| waiting.tag).collect())
    }

    #[test]
    fn a_batch_is_bounded_and_holds_no_numbered_message_with_others() {
        let mut lane = Lane::default();
        assert!(lane.is_idle() && batch(&mut lane).is_none());
        let large = usize::try_from(BATCH_BYTES).unwrap();
        for (tag, bytes, seq) in
            [(1, 1, None), (2, large, None), (3, 1, None), (4, 1, Some(0)), (5, 1, Some(1)), (6, 1, None)]
        {
            lane.push(waiting(tag, bytes, seq));
        }
        assert_eq!(batch(&mut lane), Some(vec![1, 2]));
        assert_eq!(batch(&mut lane), Some(vec![3]));
        assert_eq!(batch(&mut lane), Some(vec![4]));
        assert_eq!(batch(&mut lane), Some(vec![5]));
        assert_eq!(batch(&mut lane), None, "as many as may be are on their way");
        lane.landed(0, appended(0));
        assert_eq!(batch(&mut lane), Some(vec![6]));
        (1..5).for_each(|number| drop(lane.landed(number, appended(number))));
        assert!(lane.is_idle());
    }

    #[test]
    fn a_batch_is_for_one_life_of_the_stream() {
        let mut lane = Lane::default();
        for (tag, stream) in [(1, None), (2, Some(7)), (3, Some(7)), (4, Some(8))] {
            let claim = Claim { stream: stream.map(StreamId), ..Claim::default() };
            lane.push(Waiting { claim, ..waiting(tag, 1, None) });
        }
        assert_eq!(batch(&mut lane), Some(vec![1]));
        assert_eq!(batch(&mut lane), Some(vec![2, 3]));
        assert_eq!(batch(&mut lane), Some(vec![4]));
    }

    fn appended(tag: u64) -> Appended {
        Appended { tags: vec![(tag, true)], records: 1, bytes: 1, failed: false, refusal: None }
    }

    #[test]
    fn what_is_done_early_is_told_in_its_turn() {
        let mut lane = Lane::default();
        (0..4).for_each(|tag| lane.push(waiting(tag, usize::try_from(BATCH_BYTES).unwrap(), None)));
        while batch(&mut lane).is_some() {}
        let mut told = |number| {
            let told = lane.landed(number, appended(number));
            told.into_iter().flat_map(|appended| appended.tags).map(|(tag, _)| tag).collect::<Vec<_>>()
        };
        assert!(told(2).is_empty());
        assert_eq!(told(0), [0]);
        assert!(told(3).is_empty());
        assert_eq!(told(1), [1, 2, 3]);
        assert!(lane.is_idle());
    }

    #[test]
    fn a_batch_has_at_most_so_many_records() {
        let mut lane = Lane::default();
        (0..=BATCH_RECORDS as u64).for_each(|tag| lane.push(waiting(tag, 1, None)));
        assert_eq!(batch(&mut lane).unwrap().len(), BATCH_RECORDS);
        assert_eq!(batch(&mut lane).unwrap().len(), 1);
    }
}
