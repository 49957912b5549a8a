//! The index of an object, built anew from its data: pure. Owns when that may be done: every entry or block verifies, they
//! hold all that the metadata reads from the object, and index and footer take exactly the place that the damaged ones had, so
//! that the metadata need not change. Never changes a byte of the data.

use bytes::Bytes;
use kelda_format::ClusterId;
use kelda_format::block::Block;
use kelda_format::object::{
    FOOTER_BYTES, Footer, IndexBuilder, OBJECT_HEADER_BYTES, ObjectIndex, ObjectSource, decode_object_header,
};
use kelda_format::rows::{ObjectKind, ObjectRow};
use kelda_format::wal::{EntryContext, SEGMENT_HEADER_BYTES, SegmentHeader, decode_entry};

use super::uses::{Uses, lacking};

/// The whole object with index and footer anew, or why there is none.
pub(super) fn rebuilt(
    bytes: &Bytes,
    cluster: ClusterId,
    row: &ObjectRow,
    uses: &Uses<'_>,
) -> Result<Bytes, String> {
    let (builder, source, end) = match row.kind {
        ObjectKind::Segment => segment(bytes, cluster, row)?,
        ObjectKind::Packed => packed(bytes, cluster)?,
    };
    let mut index = builder.finish(source);
    for reference in uses.refs(row.id) {
        if let Some(offset) = lacking(&index, reference) {
            return Err(format!(
                "the intact data end at byte {end} and have no offset {offset} of stream {}",
                reference.source
            ));
        }
    }
    let mut trailer = index.encode_trailer(end as u64);
    if (end + trailer.len()) as u64 != row.bytes {
        // Objects had no summaries once.
        index = index.without_summaries();
        trailer = index.encode_trailer(end as u64);
    }
    let found = (end + trailer.len()) as u64;
    if found != row.bytes {
        return Err(format!("with a new index it would have {found} bytes, the metadata says {}", row.bytes));
    }
    let mut whole = bytes[..end].to_vec();
    whole.extend_from_slice(&trailer);
    let whole = Bytes::from(whole);
    // What is written is what a reader takes.
    let footer =
        Footer::decode(&whole[whole.len() - FOOTER_BYTES..], row.bytes).map_err(|error| error.to_string())?;
    let again = ObjectIndex::decode(&whole[end..whole.len() - FOOTER_BYTES], &footer);
    match again {
        Ok(again) if again == index => Ok(whole),
        Ok(_) => Err("the new index does not read as it was made".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

type Found = (IndexBuilder, ObjectSource, usize);

fn segment(bytes: &Bytes, cluster: ClusterId, row: &ObjectRow) -> Result<Found, String> {
    let context = context(bytes, cluster, row)?;
    let mut builder = IndexBuilder::new();
    let mut at = SEGMENT_HEADER_BYTES;
    // The first byte that is no entry is the first of the index, or a damaged one: then something is lacking.
    while let Ok((entry, next)) = decode_entry(bytes, at, &context) {
        builder.add_entry(&entry.sections, at as u64, (next - at) as u64);
        at = next;
    }
    Ok((builder, ObjectSource::Segment(context), at))
}

/// Whose entries these are: the header says it, or the footer.
fn context(bytes: &Bytes, cluster: ClusterId, row: &ObjectRow) -> Result<EntryContext, String> {
    let header =
        SegmentHeader::decode(&bytes[..bytes.len().min(SEGMENT_HEADER_BYTES)]).map(|header| header.context);
    let footer =
        usize::try_from(row.bytes).ok().and_then(|end| bytes.get(end.checked_sub(FOOTER_BYTES)?..end));
    let of_footer = footer.and_then(|footer| match Footer::decode(footer, row.bytes).ok()?.source {
        ObjectSource::Segment(context) => Some(context),
        ObjectSource::Packed(_) => None,
    });
    let found = header.ok().or(of_footer).filter(|context| context.cluster == cluster);
    found.ok_or_else(|| "neither its header nor its footer says whose entries it holds".to_owned())
}

fn packed(bytes: &Bytes, cluster: ClusterId) -> Result<Found, String> {
    match decode_object_header(bytes) {
        Ok(found) if found == cluster => {}
        Ok(found) => return Err(format!("its header is of cluster {found}")),
        Err(error) => return Err(error.to_string()),
    }
    let mut builder = IndexBuilder::new();
    let mut at = OBJECT_HEADER_BYTES;
    let mut last = None;
    while let Ok((block, next)) = Block::decode(bytes, at, cluster) {
        let place = (block.stream(), block.base());
        if last.is_some_and(|last| last >= place) {
            return Err(format!("the block at byte {at} is out of order"));
        }
        last = Some(place);
        builder.add(&block, at as u64, (next - at) as u64);
        at = next;
    }
    Ok((builder, ObjectSource::Packed(cluster), at))
}
