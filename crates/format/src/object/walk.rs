//! Walking a byte range of an object: owns telling the two kinds apart, guarantees that every block it yields
//! was verified and is of the stream asked for, never reads data of another stream's entries.

use std::collections::VecDeque;

use bytes::Bytes;

use super::ObjectSource;
use crate::block::{BLOCK_HEADER_BYTES, Block, BlockHeader};
use crate::ids::StreamId;
use crate::wal::EntryHead;
use crate::wire::DecodeError;

/// The blocks of `stream` in `bytes`, which are a range of an object that begins and ends where an entry or a
/// block does (an extent, or several in a row).
#[must_use]
pub fn walk_blocks(bytes: &Bytes, source: &ObjectSource, stream: StreamId) -> Walk {
    Walk { bytes: bytes.clone(), source: *source, stream, at: 0, ready: VecDeque::new() }
}

/// Yields blocks until the range ends, or one error and then nothing.
#[derive(Debug)]
pub struct Walk {
    bytes: Bytes,
    source: ObjectSource,
    stream: StreamId,
    at: usize,
    /// Blocks of an entry that holds more than one of the stream; bounded by the sections of an entry.
    ready: VecDeque<Block>,
}

impl Walk {
    /// Reads on until a block is ready or the range ends.
    fn step(&mut self) -> Result<(), DecodeError> {
        while self.ready.is_empty() && self.at < self.bytes.len() {
            match &self.source {
                ObjectSource::Segment(context) => {
                    let head = EntryHead::decode(&self.bytes, self.at, context)
                        .map_err(|bad| DecodeError::new("WAL entry in an object", bad.at, bad.detail))?;
                    for block in head.blocks(self.stream) {
                        self.ready.push_back(block?);
                    }
                    self.at = head.next;
                }
                ObjectSource::Packed(cluster) => {
                    let rest = &self.bytes[self.at..];
                    let header = BlockHeader::decode(rest, *cluster)?;
                    let length = BLOCK_HEADER_BYTES as u64 + header.padded_data_len();
                    if header.stream == self.stream {
                        let (block, next) = Block::decode(&self.bytes, self.at, *cluster)?;
                        self.ready.push_back(block);
                        self.at = next;
                    } else if length <= rest.len() as u64 {
                        self.at += length as usize;
                    } else {
                        return Err(DecodeError::new("block", self.at as u64, "block cut short"));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Result<Block, DecodeError>;

    fn next(&mut self) -> Option<Result<Block, DecodeError>> {
        if let Err(error) = self.step() {
            self.at = self.bytes.len();
            self.ready.clear();
            return Some(Err(error));
        }
        self.ready.pop_front().map(Ok)
    }
}
