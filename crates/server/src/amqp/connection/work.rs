//! What runs beside the reading of frames.
//!
//! Owns the starts of appends and what is done with the results of everything. Guarantees that a result of what ended
//! since changes nothing.

use futures::FutureExt;

use super::operation::{Outcome, Step};
use super::publish::PUBLISH;
use super::session::{Commit, ConsumerKey, Ending, LaneKey, Session};
use crate::amqp::consumer::News;
use crate::amqp::lane::Appended;
use crate::amqp::reply;
use crate::amqp::wire::Method;

/// Something that ran is done.
pub enum Done {
    /// A batch, which has this number in its lane.
    Appended(LaneKey, u64, Appended),
    /// A read or a watch of a consumer of this turn; nothing when it was called off.
    News(ConsumerKey, u64, Option<News>),
}

impl Session {
    /// Starts what can be started and tells what can be told.
    pub fn turn(&mut self) {
        let (service, work) = (&self.amqp.service, &self.work);
        self.lanes.retain(|key, lane| {
            while let Some(append) = lane.start(service, &key.2) {
                let key = key.clone();
                work.push(
                    append.map(move |(number, appended)| Done::Appended(key, number, appended)).boxed(),
                );
            }
            !lane.is_idle()
        });
        self.confirm();
        self.serve_consumers();
        if let Some(Commit { number, turn, failed }) = self.committing
            && !self.lanes.keys().any(|(of, its, _)| (*of, *its) == (number, turn))
        {
            self.committing = None;
            let open = self.channels.get(&number).is_some_and(|it| it.turn == turn && !it.closing);
            if open && failed {
                let refusal = reply::precondition_failed("partial tx completion");
                self.refuse(number, (90, 20), &refusal);
            } else if open {
                self.say(number, &Method::TxCommitOk {});
            }
        }
        self.share.set(self.channels.len(), self.consumers.len());
        if self.ending == Ending::Asked && self.lanes.is_empty() {
            self.say(0, &Method::CloseOk {});
            self.ending = Ending::Over;
        }
    }

    fn confirm(&mut self) {
        let mut said = Vec::new();
        for (number, channel) in self.channels.iter_mut().filter(|(_, channel)| !channel.closing) {
            self.amqp.counts.confirmed.add(channel.stored_since());
            said.extend(channel.confirms().into_iter().map(|confirm| (*number, confirm)));
        }
        for (number, confirm) in said {
            let (delivery, multiple) = (confirm.tag, confirm.multiple);
            let method = if confirm.stored {
                Method::Ack { delivery, multiple }
            } else {
                Method::Nack { delivery, multiple, requeue: false }
            };
            self.say(number, &method);
        }
    }

    /// Takes what is done.
    pub fn done(&mut self, done: Done) {
        match done {
            Done::Appended(key, number, appended) => {
                let told = self.lanes.get_mut(&key).map(|lane| lane.landed(number, appended));
                for appended in told.into_iter().flatten() {
                    self.appended(&key, appended);
                }
            }
            Done::News(key, turn, Some(news)) => {
                let Some(consumer) =
                    self.consumers.get_mut(&key).filter(|consumer| consumer.origin.turn == turn)
                else {
                    return;
                };
                consumer.busy = None;
                match news {
                    News::Records(page) => {
                        consumer.page = Some(page);
                        self.wanting.insert(key);
                    }
                    // Who deletes a queue is answered before its consumers hear of it.
                    News::Gone if self.busy.is_some() => self.gone.push((key, turn)),
                    News::Gone => self.end_of(key),
                }
            }
            Done::News(_, _, None) => {}
        }
    }

    /// The stream of a consumer is gone.
    fn end_of(&mut self, key: ConsumerKey) {
        self.leave(&key);
        if self.cancel_notify {
            self.say(key.0, &Method::Cancel { tag: key.1, nowait: true });
        }
    }

    /// Takes what became of a batch, in its turn.
    fn appended(&mut self, (number, turn, _): &LaneKey, appended: Appended) {
        self.on_their_way.0 -= appended.bytes;
        self.on_their_way.1 -= appended.records;
        if let Some(commit) = &mut self.committing
            && (commit.number, commit.turn) == (*number, *turn)
        {
            commit.failed |= appended.failed;
        }
        if let Some(channel) = self.channels.get_mut(number).filter(|channel| channel.turn == *turn) {
            match appended.refusal {
                Some(refusal) if !channel.closing => {
                    // What was stored before it is confirmed first.
                    self.confirm();
                    self.refuse(*number, PUBLISH, &refusal);
                }
                _ => appended.tags.into_iter().for_each(|(tag, stored)| channel.settle(tag, stored)),
            }
        }
    }

    /// Takes what came of the method that was being carried out.
    pub fn operated(&mut self, outcome: Outcome) {
        self.busy = None;
        self.tell(outcome);
        for (key, turn) in std::mem::take(&mut self.gone) {
            if self.consumers.get(&key).is_some_and(|consumer| consumer.origin.turn == turn) {
                self.end_of(key);
            }
        }
    }

    fn tell(&mut self, outcome: Outcome) {
        let Outcome { number, turn, numbers, step } = outcome;
        let Some(channel) = self.channels.get_mut(&number) else { return };
        if channel.turn != turn || channel.closing || self.ending != Ending::Not {
            return;
        }
        match step {
            Err(refusal) => self.refuse(number, numbers, &refusal),
            Ok(Step::Say(answer)) => self.answer(number, answer),
            Ok(Step::Declared(queue, answer)) => {
                channel.last_queue = queue;
                self.answer(number, answer);
            }
            Ok(Step::Consume(begin)) => self.begin(number, begin),
        }
    }

    fn answer(&mut self, number: u16, answer: Option<Method>) {
        if let Some(answer) = answer {
            self.say(number, &answer);
        }
    }
}
