//! What of a segment no extent of its index covers: entries without records (seals, producers), and those of streams that
//! were gone when it was committed. Guarantees that their checksums are verified too, never finds records that are read.

use kelda_env::StoreError;
use kelda_format::wal::{Bad, EntryContext, decode_entry};

use super::window::Window;

/// Bytes read for an entry before its length is known.
const PROBE_BYTES: u64 = 64 << 10;

/// Verifies the entries in `from..to`, and gives what is wrong with each that is, by its place in the object. Goes on
/// behind a damaged entry only where its own header still says where it ends.
pub(super) async fn verify(
    window: &mut Window<'_>,
    context: &EntryContext,
    from: u64,
    to: u64,
) -> Result<Vec<Bad>, StoreError> {
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        let mut result = decode_entry(&window.get(at, (to - at).min(PROBE_BYTES)).await?, 0, context);
        if let Err(Bad { header: Some(header), .. }) = &result
            && header.entry_len() > PROBE_BYTES
            && header.entry_len() <= to - at
        {
            result = decode_entry(&window.get(at, header.entry_len()).await?, 0, context);
        }
        let len = match result {
            Ok((_, next)) => next as u64,
            Err(bad) => {
                let len = bad.header.map(|header| header.entry_len());
                found.push(Bad { at, ..bad });
                match len {
                    Some(len) => len,
                    None => break,
                }
            }
        };
        at = at.saturating_add(len);
    }
    Ok(found)
}
