//! Object indexes: owns their loading (once, however many readers ask) from the end of the object. Guarantees that
//! an index belongs to the cluster and passed its checksum; never keeps a failure.

use std::sync::Arc;

use kelda_format::ClusterId;
use kelda_format::object::{Extent, FOOTER_BYTES, Footer, ObjectIndex, StreamIndex};

use super::load_cache::Begin;
use super::{ObjectError, ObjectReader, Source};

/// Bytes read from the end of an object at once: footer and, mostly, the whole index.
const TAIL_BYTES: u64 = 64 << 10;

impl ObjectReader {
    /// The index of an object.
    pub(crate) async fn index(
        &self,
        cluster: ClusterId,
        source: &Source,
    ) -> Result<Arc<ObjectIndex>, ObjectError> {
        loop {
            match self.indexes.begin(source.object, std::iter::empty()) {
                Begin::Ready(index) => return Ok(index),
                Begin::Wait(pending) => pending.ended().await,
                Begin::Load(claim) => {
                    let index = Arc::new(self.load_index(cluster, source).await?);
                    claim.fulfil([(Arc::clone(&index), weight(&index))]);
                    return Ok(index);
                }
            }
        }
    }

    async fn load_index(&self, cluster: ClusterId, source: &Source) -> Result<ObjectIndex, ObjectError> {
        let tail_at = source.len.saturating_sub(TAIL_BYTES);
        let tail = self.get(source, tail_at..source.len).await?;
        let footer_at = source.len.saturating_sub(FOOTER_BYTES as u64);
        let footer = Footer::decode(&tail, source.len).map_err(|error| source.damaged(footer_at, error))?;
        if footer.source.cluster() != cluster {
            let found = footer.source.cluster();
            return Err(source.damaged(footer_at, format!("it is of cluster {found}, not of {cluster}")));
        }
        let position = footer.index_position;
        let index_len = u64::from(footer.index_len);
        let bytes = match position.checked_sub(tail_at) {
            // Inside the tail: the footer's position was checked against the object's length.
            Some(at) => tail.slice(at as usize..(at + index_len) as usize),
            None => self.get(source, position..position + index_len).await?,
        };
        ObjectIndex::decode(&bytes, &footer).map_err(|error| source.damaged(position + error.at, error))
    }
}

/// Bytes of memory an index takes.
fn weight(index: &ObjectIndex) -> usize {
    let extents: usize = index.streams.iter().map(|stream| stream.extents.len()).sum();
    size_of::<ObjectIndex>() + index.streams.len() * size_of::<StreamIndex>() + extents * size_of::<Extent>()
}
