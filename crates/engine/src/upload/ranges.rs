//! The uploader of ranges: owns the ranges of slots on their way to the store. Guarantees that several are on their way at
//! once, bounded, and that they are committed one after the other in the order of slots, so that the committed end advances
//! without a gap. Never touches a slot that is not acknowledged.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::commit::{Committer, Slots, Unpublished};
use super::packs::{Packer, Uploaded};
use super::settle::CachedTail;
use crate::session::Session;
use crate::stream::registry::Registry;
use crate::wal::store::range::SlotRange;

/// Ranges whose objects may be on their way at once: each has its records in memory a second time.
const RANGES_ON_THE_WAY: usize = 2;

type Upload = oneshot::Receiver<Result<Uploaded, Unpublished>>;

/// Uploads until the channel is closed and all is committed, or the session ends.
pub(crate) async fn run(
    session: Arc<Session>,
    streams: Arc<Registry>,
    mut ranges: mpsc::UnboundedReceiver<SlotRange>,
) {
    let packer = Arc::new(Packer::new(Committer::of(&session)));
    let mut tail = CachedTail::default();
    let mut on_the_way: VecDeque<(SlotRange, Upload)> = VecDeque::new();
    let mut open = true;
    loop {
        let more = open && on_the_way.len() < RANGES_ON_THE_WAY;
        let next = async {
            match on_the_way.front_mut() {
                Some((_, upload)) => upload.await.unwrap_or(Err(Unpublished::Stopped)),
                None => std::future::pending().await,
            }
        };
        let uploaded = tokio::select! {
            biased;
            () = session.until_ended() => return,
            uploaded = next => uploaded,
            range = ranges.recv(), if more => {
                match range {
                    Some(range) => {
                        let upload = start(&session, &packer, &range);
                        on_the_way.push_back((range, upload));
                    }
                    None => open = false,
                }
                if !open && on_the_way.is_empty() {
                    return;
                }
                continue;
            }
        };
        let Some((range, _)) = on_the_way.pop_front() else { return };
        let slots = Slots { first: range.first, next: range.next };
        let committed = match uploaded {
            Ok(uploaded) => packer.commit(slots, &range.contents, uploaded).await,
            Err(unpublished) => Err(unpublished),
        };
        if let Err(unpublished) = committed {
            unpublished.end(&session);
            return;
        }
        tail.committed(&session, &streams, &range.contents.summary, range.contents.bytes);
        session.set_wal_start(range.next);
        session.set_committed(range.through);
        // Dropping the range gives back the bytes that counted as uncommitted.
        drop(range);
        if !open && on_the_way.is_empty() {
            return;
        }
    }
}

/// Starts the upload of a range, which makes progress whatever the uploader waits for.
fn start(session: &Arc<Session>, packer: &Arc<Packer>, range: &SlotRange) -> Upload {
    let (answer, upload) = oneshot::channel();
    let (packer, contents, session) = (Arc::clone(packer), Arc::clone(&range.contents), Arc::clone(session));
    let env = session.shared.env.clone();
    env.spawn("kelda-range", async move {
        let uploaded = tokio::select! {
            biased;
            () = session.until_ended() => Err(Unpublished::Stopped),
            uploaded = packer.upload(&contents) => uploaded,
        };
        // The uploader goes away when the session ends.
        let _ = answer.send(uploaded);
    });
    upload
}
