//! Where the next WAL entries go: owns the plan of the segment being filled and of the prepared one after it,
//! guarantees that what it places fits with the index behind it, so an accepted entry always has its disk space
//! (P15: what is refused was never accepted), never touches a file.

/// A segment file that was preallocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Number of the segment.
    pub(crate) number: u64,
    /// Bytes that are preallocated.
    pub(crate) capacity: u64,
}

/// Where an entry was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the segment.
    pub(crate) segment: u64,
    /// Byte position of the entry in it.
    pub(crate) position: u64,
}

/// What a rotation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// The segment that the writer must seal though it is not full.
    pub(crate) seal: Option<u64>,
    /// The last segment that has entries; once it is committed, all that was placed is.
    pub(crate) last: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Filling {
    slot: Slot,
    position: u64,
    index_bytes: u64,
    entries: u64,
}

/// The plan.
#[derive(Debug)]
pub(crate) struct Room {
    header: u64,
    tail: u64,
    filling: Option<Filling>,
    next: Option<Slot>,
    /// Capacity that an entry asked for in vain, when it is more than a segment usually has.
    wanted: u64,
    rotate: bool,
    next_number: u64,
}

impl Room {
    /// An empty plan: `header` bytes begin each segment, `tail` bytes (footer and fixed index parts) end it.
    pub(crate) fn new(header: u64, tail: u64, first_number: u64) -> Room {
        Room { header, tail, filling: None, next: None, wanted: 0, rotate: false, next_number: first_number }
    }

    /// Places an entry of `bytes` that adds at most `index_bytes` to the index; `None` when it has to wait for
    /// the next segment to be prepared.
    pub(crate) fn place(&mut self, bytes: u64, index_bytes: u64) -> Option<Place> {
        if let Some(place) = self.place_in_filling(bytes, index_bytes) {
            return Some(place);
        }
        let need = self.header + bytes + index_bytes + self.tail;
        match self.next {
            Some(next) if next.capacity >= need => {
                self.advance();
                self.place_in_filling(bytes, index_bytes)
            }
            _ => {
                self.wanted = self.wanted.max(need);
                None
            }
        }
    }

    /// Places an entry only if the segment being filled has room for it, as the synced mark does.
    pub(crate) fn place_in_filling(&mut self, bytes: u64, index_bytes: u64) -> Option<Place> {
        let filling = self.filling.as_mut()?;
        let end = filling.position + bytes + filling.index_bytes + index_bytes + self.tail;
        if end > filling.slot.capacity {
            return None;
        }
        let place = Place { segment: filling.slot.number, position: filling.position };
        filling.position += bytes;
        filling.index_bytes += index_bytes;
        filling.entries += 1;
        Some(place)
    }

    /// Makes later entries go to the next segment when the one being filled has any.
    pub(crate) fn rotate(&mut self) -> Rotation {
        let Some(filling) = self.filling.as_mut() else {
            return Rotation { seal: None, last: None };
        };
        let number = filling.slot.number;
        if filling.entries == 0 {
            return Rotation { seal: None, last: number.checked_sub(1) };
        }
        if self.rotate {
            return Rotation { seal: None, last: Some(number) };
        }
        // Nothing more fits, also when the next segment is not there yet.
        filling.slot.capacity = 0;
        self.rotate = true;
        if self.next.is_some() {
            self.advance();
        }
        Rotation { seal: Some(number), last: Some(number) }
    }

    /// What the preparer should make next: number and the least capacity; `None` when the prepared segment is
    /// enough.
    pub(crate) fn wants(&self) -> Option<Slot> {
        match self.next {
            Some(next) if next.capacity >= self.wanted => None,
            Some(next) => Some(Slot { number: next.number, capacity: self.wanted }),
            None => Some(Slot { number: self.next_number, capacity: self.wanted }),
        }
    }

    /// Forgets that an entry asked for more than a usual segment has.
    pub(crate) fn unwant(&mut self) {
        self.wanted = 0;
    }

    /// Takes the prepared segment back, to replace it with a larger one under the same number.
    pub(crate) fn withdraw(&mut self) -> Option<Slot> {
        let next = self.next.take()?;
        self.next_number = next.number;
        Some(next)
    }

    /// Adds a segment that was prepared as `wants` said.
    ///
    /// # Panics
    /// When the number is not the next one.
    pub(crate) fn offer(&mut self, slot: Slot) {
        assert_eq!(slot.number, self.next_number, "segments are prepared in order");
        assert!(self.next.is_none(), "one segment is prepared at a time");
        self.next_number += 1;
        self.next = Some(slot);
        if slot.capacity >= self.wanted {
            self.wanted = 0;
        }
        if self.filling.is_none() || self.rotate {
            self.advance();
        }
    }

    /// Number of the segment being filled.
    pub(crate) fn filling(&self) -> Option<u64> {
        self.filling.map(|filling| filling.slot.number)
    }

    fn advance(&mut self) {
        if let Some(slot) = self.next.take() {
            self.rotate = false;
            self.filling = Some(Filling { slot, position: self.header, index_bytes: 0, entries: 0 });
        }
    }
}

#[cfg(test)]
mod tests;
