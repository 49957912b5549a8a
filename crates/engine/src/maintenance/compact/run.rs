//! Rounds of compaction: owns which streams are looked at, the jobs and their commits. Guarantees that a job either replaces
//! its inputs in one command or leaves no trace but an id that expires, and that rounds end when nothing is left to do. Never
//! works while the clock is not right or space is short.

use std::collections::BTreeMap;

use kelda_env::StoreError;
use kelda_format::command::{
    CompactInput, CompactObjects, CompactPart, NewObject, ObjectRef, ReserveObjects,
};
use kelda_format::keys::data_key;
use kelda_format::rows::ObjectKind;
use kelda_format::{ObjectId, StreamId};
use kelda_meta::Outcome;

use super::Walk;
use super::copy::{Abandoned, Copied};
use super::plan::{self, Merge};
use crate::engine::Inner;
use crate::propose::{Failure, propose};

/// Streams looked at before others may run.
const STREAMS_AT_A_TIME: usize = 512;

/// Merges that are gathered before they are carried out, and the segments that their bytes may fill.
const MERGES_AT_A_TIME: usize = 8192;
const SEGMENTS_AT_A_TIME: u64 = 8;

/// Where files are written that become objects. Emptied at the start.
const DIR: &str = "tmp";

/// Rounds that one call does at most, each of which did something.
const ROUNDS: usize = 1000;

impl Inner {
    /// Compacts now and then, for ever.
    pub(crate) async fn keep_compact(&self) {
        self.empty_dir().await;
        loop {
            self.shared.env.clock.sleep(self.shared.config.maintenance.compact_interval).await;
            self.compact_all().await;
        }
    }

    /// Compacts until nothing is left to do, or what is left failed.
    pub(crate) async fn compact_all(&self) {
        let upkeep = &self.shared.upkeep;
        let _turn = upkeep.compact_turn.acquire().await;
        for _ in 0..ROUNDS {
            let held_up = upkeep.clock.fault().is_some() || upkeep.space.is_low();
            if held_up || upkeep.compaction.damaged.is_full() || !self.compact_round().await {
                break;
            }
        }
        let later = std::mem::take(&mut upkeep.compaction.progress.lock().later);
        upkeep.compaction.changed.add(later);
    }

    /// Looks at the streams that changed and the objects of which little is left; whether anything was done.
    async fn compact_round(&self) -> bool {
        let mut done = false;
        let most = SEGMENTS_AT_A_TIME * self.shared.config.segment_bytes;
        let mut merges: BTreeMap<StreamId, Vec<Merge>> = BTreeMap::new();
        let (mut count, mut bytes) = (0, 0);
        while let Some(streams) = self.next_streams() {
            let view = self.shared.meta.view();
            for stream in streams {
                // One that was looked at before is planned anew.
                let found = self.merges_of(&view, stream);
                count += found.len();
                bytes += found.iter().map(|merge| merge.bytes).sum::<u64>();
                merges.insert(stream, found);
            }
            if bytes >= most || count >= MERGES_AT_A_TIME {
                done |= self.carry_out(flat(std::mem::take(&mut merges))).await;
                (count, bytes) = (0, 0);
            }
            tokio::task::yield_now().await;
        }
        done |= self.carry_out(flat(merges)).await;
        let sparse = self.merges_of_sparse(&self.shared.meta.view()).await;
        done | self.carry_out(sparse).await
    }

    /// The next streams to look at: those that changed, then those that were there at the start.
    fn next_streams(&self) -> Option<Vec<StreamId>> {
        let compaction = &self.shared.upkeep.compaction;
        let changed = compaction.changed.take(STREAMS_AT_A_TIME);
        if !changed.is_empty() {
            return Some(changed);
        }
        let mut progress = compaction.progress.lock();
        let Walk::From(from) = progress.walk else { return None };
        let view = self.shared.meta.view();
        let ids: Vec<StreamId> = view.streams_from(from).take(STREAMS_AT_A_TIME).map(|row| row.id).collect();
        progress.walk = ids.last().map_or(Walk::Ended, |last| Walk::From(StreamId(last.0 + 1)));
        (!ids.is_empty()).then_some(ids)
    }

    /// Carries merges out, an object at a time; whether one was.
    async fn carry_out(&self, merges: Vec<(StreamId, Merge)>) -> bool {
        let mut done = false;
        for job in plan::jobs(merges, self.shared.config.segment_bytes) {
            let streams = job.iter().map(|(stream, _)| *stream);
            let compaction = &self.shared.upkeep.compaction;
            match self.compact_job(&job).await {
                Ok(()) => {
                    done = true;
                    // There may be more to do with what they came to.
                    compaction.changed.add(streams);
                }
                Err(Abandoned::Damaged(object, range)) => {
                    done = true;
                    compaction.damaged.add(object, *range);
                    // The others of this job, and the rest of this stream, go on without it.
                    compaction.changed.add(streams);
                }
                Err(Abandoned::Changed) => compaction.progress.lock().later.extend(streams),
                Err(Abandoned::Failed(why)) => {
                    tracing::warn!(why, "a compaction was given up, later again");
                    compaction.progress.lock().later.extend(streams);
                }
            }
        }
        done
    }

    /// One object: written to a file, adopted by the store, committed.
    async fn compact_job(&self, job: &[(StreamId, Merge)]) -> Result<(), Abandoned> {
        let number = {
            let mut progress = self.shared.upkeep.compaction.progress.lock();
            progress.files += 1;
            progress.files
        };
        let path = format!("{DIR}/compact-{number}");
        let result = self.compact_into(job, &path).await;
        match self.shared.env.disk.remove(&path).await {
            Err(error) if !error.is_not_found() => tracing::warn!(%error, "a file of a compaction stays"),
            _ => {}
        }
        result
    }

    async fn compact_into(&self, job: &[(StreamId, Merge)], path: &str) -> Result<(), Abandoned> {
        let view = self.shared.meta.view();
        let (bytes, copied) = self.copy(&view, job, path).await?;
        let session = self.current.load().session.id;
        let reserve = ReserveObjects { session, count: 1, at: self.shared.now() };
        let object = match propose(&self.shared, reserve).await {
            Ok(Outcome::Reserved { first, .. }) => first,
            Ok(outcome) => return Err(Abandoned::Failed(format!("a reservation came to {outcome:?}"))),
            Err(failure) => return Err(Abandoned::Failed(format!("no object id: {failure:?}"))),
        };
        self.adopt(object, bytes, path, &data_key(view.cluster(), object)).await?;
        let command = CompactObjects {
            session,
            objects: vec![NewObject { id: object, kind: ObjectKind::Packed, bytes }],
            parts: job
                .iter()
                .zip(&copied)
                .map(|((stream, merge), it)| part(*stream, merge, it, object))
                .collect(),
            at: self.shared.now(),
        };
        match propose(&self.shared, command).await {
            Ok(_) => Ok(()),
            // P13: the inputs are not what they were. The object goes by its reservation.
            Err(Failure::Rejected(rejection)) => {
                tracing::debug!(%rejection, "a compaction came too late");
                Err(Abandoned::Changed)
            }
            Err(Failure::Unavailable(why) | Failure::Unknown(why)) => Err(Abandoned::Failed(why)),
        }
    }

    /// Makes the file an object. An id is adopted once, so that one which "exists" is ours if it has our length (P8).
    async fn adopt(&self, object: ObjectId, bytes: u64, path: &str, key: &str) -> Result<(), Abandoned> {
        let (store, disk) = (&self.shared.store, &self.shared.env.disk);
        match store.adopt(&**disk, path, key).await {
            Ok(_) => Ok(()),
            Err(StoreError::AlreadyExists { .. }) => {
                let found = store.head(key).await.map_err(|error| Abandoned::Failed(error.to_string()))?;
                match found {
                    Some(info) if info.len == bytes => Ok(()),
                    _ => Err(Abandoned::Failed(format!("object {object} is there and is another one"))),
                }
            }
            Err(error) => Err(Abandoned::Failed(error.to_string())),
        }
    }

    /// Removes what a process that ended left.
    async fn empty_dir(&self) {
        let disk = &self.shared.env.disk;
        let emptied = async {
            disk.create_dir_all(DIR).await?;
            for name in disk.read_dir(DIR).await? {
                disk.remove(&format!("{DIR}/{name}")).await?;
            }
            Ok::<(), kelda_env::DiskError>(())
        };
        if let Err(error) = emptied.await {
            tracing::warn!(%error, "the directory of temporary files could not be emptied");
        }
    }
}

/// By stream and offset.
fn flat(merges: BTreeMap<StreamId, Vec<Merge>>) -> Vec<(StreamId, Merge)> {
    let of = |(stream, merges): (StreamId, Vec<Merge>)| merges.into_iter().map(move |merge| (stream, merge));
    merges.into_iter().flat_map(of).collect()
}

fn part(stream: StreamId, merge: &Merge, copied: &Copied, object: ObjectId) -> CompactPart {
    CompactPart {
        stream,
        source: stream,
        inputs: merge.inputs.iter().map(|row| CompactInput { base: row.base, object: row.object }).collect(),
        refs: vec![ObjectRef {
            base: copied.base,
            end: copied.end,
            object,
            first_timestamp: copied.first_timestamp,
            last_timestamp: copied.last_timestamp,
            bytes: copied.bytes,
        }],
    }
}
