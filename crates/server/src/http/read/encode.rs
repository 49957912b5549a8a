//! Pages as bytes.
//!
//! Owns the three forms of a reply's body. Guarantees that a page gives the same bytes whether it is encoded whole or
//! piece by piece, that its length is known before where the form allows it, and that encoding holds no more than a piece
//! beside the blocks. Bodies are not copied but in JSON, where they have to be escaped.

use std::collections::VecDeque;

use bytes::Bytes;
use kelda_format::Records;
use kelda_format::block::Block;
use kelda_format::records::{self, FRAME_HEADER_BYTES};

use crate::http::form::Form;
use crate::http::json::{self, RecordText};

/// Turns the blocks of one reply into pieces, in order.
pub(super) struct Encoder {
    form: Form,
    json: bool,
    opened: bool,
    closed: bool,
    first: bool,
    blocks: VecDeque<Block>,
    /// Pieces that are ready.
    ready: VecDeque<Bytes>,
    /// The records of the block that is being encoded one by one.
    records: Option<Records>,
    /// The record that is being escaped.
    text: Option<RecordText>,
}

impl Encoder {
    pub(super) fn new(form: Form, json: bool) -> Encoder {
        Encoder {
            form,
            json,
            opened: false,
            closed: false,
            first: true,
            blocks: VecDeque::new(),
            ready: VecDeque::new(),
            records: None,
            text: None,
        }
    }

    /// Adds blocks to be encoded.
    pub(super) fn push(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.blocks.extend(blocks);
    }

    /// The next piece; nothing when all blocks so far are encoded.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        if !std::mem::replace(&mut self.opened, true) {
            let [open, _] = self.brackets();
            self.put(open);
        }
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            if let Some(piece) = self.text.as_mut().and_then(RecordText::piece) {
                return Some(piece);
            }
            self.text = None;
            match self.records.as_mut().and_then(Records::next) {
                Some(stored) => {
                    if !std::mem::replace(&mut self.first, false) {
                        self.put(b",");
                    }
                    if self.form == Form::Json {
                        self.text = Some(RecordText::new(stored));
                    } else if !stored.record.body.is_empty() {
                        self.ready.push_back(stored.record.body);
                    }
                }
                None => self.begin()?,
            }
        }
    }

    /// Ends the reply: the last piece, if it has one, comes from [`Encoder::next`].
    pub(super) fn close(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            let [_, close] = self.brackets();
            self.put(close);
        }
    }

    /// What stands before and behind all records.
    fn brackets(&self) -> [&'static [u8]; 2] {
        match (self.form, self.json) {
            (Form::Plain, true) => [b"[", b"]"],
            (Form::Json, _) => [json::OPEN, json::CLOSE],
            (Form::Plain, false) | (Form::Binary, _) => [b"", b""],
        }
    }

    fn put(&mut self, piece: &'static [u8]) {
        if !piece.is_empty() {
            self.ready.push_back(Bytes::from_static(piece));
        }
    }

    /// Takes up the next block.
    fn begin(&mut self) -> Option<()> {
        let block = self.blocks.pop_front()?;
        match (self.form, self.json) {
            (Form::Plain, false) => self.ready.push_back(block.body().clone()),
            (Form::Plain, true) | (Form::Json, _) => self.records = Some(block.records()),
            (Form::Binary, _) => self.ready.extend(records::encode_read(&block)),
        }
        Some(())
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
