//! Pages as bytes.
//!
//! Owns the three forms of a reply's body. Guarantees that a page gives the same bytes whether it is encoded whole or
//! piece by piece, and that its length is known before where the form allows it. Copies nothing: pieces share the memory
//! of the blocks.

use std::collections::VecDeque;

use bytes::Bytes;
use kelda_format::block::Block;
use kelda_format::records::{self, FRAME_HEADER_BYTES};

use crate::http::form::Form;
use crate::http::json;

/// Turns the blocks of one reply into pieces, in order.
pub(super) struct Encoder {
    form: Form,
    json: bool,
    opened: bool,
    closed: bool,
    first: bool,
    pieces: VecDeque<Bytes>,
    blocks: VecDeque<Block>,
}

impl Encoder {
    pub(super) fn new(form: Form, json: bool) -> Encoder {
        let (pieces, blocks) = (VecDeque::new(), VecDeque::new());
        Encoder { form, json, opened: false, closed: false, first: true, pieces, blocks }
    }

    /// Adds blocks to be encoded.
    pub(super) fn push(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.blocks.extend(blocks);
    }

    /// The next piece; nothing when all blocks so far are encoded.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.opened, true) {
            self.put(self.open());
        }
        loop {
            if let Some(piece) = self.pieces.pop_front() {
                return Some(piece);
            }
            let block = self.blocks.pop_front()?;
            self.encode(&block);
        }
    }

    /// Ends the reply: the last piece, if it has one, comes from [`Encoder::next`].
    pub(super) fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.put(match (self.form, self.json) {
                (Form::Plain, true) => b"]",
                (Form::Json, _) => json::CLOSE,
                (Form::Plain, false) | (Form::Binary, _) => b"",
            });
        }
    }

    fn open(&self) -> &'static [u8] {
        match (self.form, self.json) {
            (Form::Plain, true) => b"[",
            (Form::Json, _) => json::OPEN,
            (Form::Plain, false) | (Form::Binary, _) => b"",
        }
    }

    fn put(&mut self, piece: &'static [u8]) {
        if !piece.is_empty() {
            self.pieces.push_back(Bytes::from_static(piece));
        }
    }

    fn encode(&mut self, block: &Block) {
        match (self.form, self.json) {
            (Form::Plain, false) => self.pieces.push_back(block.body().clone()),
            (Form::Plain, true) => {
                for stored in block.records() {
                    if !std::mem::replace(&mut self.first, false) {
                        self.pieces.push_back(Bytes::from_static(b","));
                    }
                    self.pieces.push_back(stored.record.body);
                }
            }
            (Form::Json, _) => {
                let mut text = Vec::with_capacity(block.body().len() + 128);
                for stored in block.records() {
                    json::put_record(&mut text, &stored, std::mem::replace(&mut self.first, false));
                }
                self.pieces.push_back(text.into());
            }
            (Form::Binary, _) => self.pieces.extend(records::encode_read(block)),
        }
    }
}

/// The length of a reply with these blocks, in the forms where it follows from the blocks.
pub(super) fn length(form: Form, json: bool, blocks: &[Block]) -> Option<u64> {
    let bodies = || blocks.iter().map(|block| block.body().len() as u64).sum::<u64>();
    let records = || blocks.iter().map(|block| u64::from(block.count())).sum::<u64>();
    match (form, json) {
        (Form::Plain, false) => Some(bodies()),
        (Form::Plain, true) => Some(bodies() + records().saturating_sub(1) + 2),
        (Form::Binary, _) => {
            let metas: u64 = blocks.iter().map(|block| block.meta().len() as u64).sum();
            Some(bodies() + metas + (blocks.len() * FRAME_HEADER_BYTES) as u64)
        }
        (Form::Json, _) => None,
    }
}
