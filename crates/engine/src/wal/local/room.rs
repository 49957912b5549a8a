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
    /// Takes no more, though it is not full.
    sealed: bool,
}

/// The plan.
#[derive(Debug)]
pub(crate) struct Room {
    header: u64,
    tail: u64,
    mark: u64,
    /// Has an entry at least: a segment that was begun is never passed over.
    filling: Option<Filling>,
    next: Option<Slot>,
    /// Capacity that an entry asked for in vain, when it is more than a segment usually has.
    wanted: u64,
    next_number: u64,
}

impl Room {
    /// An empty plan: `header` bytes begin each segment, `tail` bytes (footer and fixed index parts) end it, and
    /// a synced mark of `mark` bytes always finds room in it.
    pub(crate) fn new(header: u64, tail: u64, mark: u64) -> Room {
        Room { header, tail, mark, filling: None, next: None, wanted: 0, next_number: 0 }
    }

    /// Places an entry of `bytes` that adds at most `index_bytes` to the index; `None` when it has to wait for
    /// the next segment to be prepared.
    pub(crate) fn place(&mut self, bytes: u64, index_bytes: u64) -> Option<Place> {
        let behind = self.mark + self.tail;
        if let Some(place) = self.place_in_filling(bytes, index_bytes, behind) {
            return Some(place);
        }
        let need = self.header + bytes + index_bytes + behind;
        let Some(slot) = self.next.take_if(|next| next.capacity >= need) else {
            self.wanted = self.wanted.max(need);
            return None;
        };
        let position = self.header + bytes;
        self.filling = Some(Filling { slot, position, index_bytes, sealed: false });
        Some(Place { segment: slot.number, position: self.header })
    }

    /// Places a synced mark in the segment being filled, if there is one.
    pub(crate) fn place_mark(&mut self) -> Option<Place> {
        self.place_in_filling(self.mark, 0, self.tail)
    }

    fn place_in_filling(&mut self, bytes: u64, index_bytes: u64, behind: u64) -> Option<Place> {
        let filling = self.filling.as_mut().filter(|filling| !filling.sealed)?;
        let end = filling.position + bytes + filling.index_bytes + index_bytes + behind;
        if end > filling.slot.capacity {
            return None;
        }
        let place = Place { segment: filling.slot.number, position: filling.position };
        filling.position += bytes;
        filling.index_bytes += index_bytes;
        Some(place)
    }

    /// Makes later entries go to the next segment when there is one being filled.
    pub(crate) fn rotate(&mut self) -> Rotation {
        let Some(filling) = self.filling.as_mut() else {
            return Rotation { seal: None, last: None };
        };
        let number = filling.slot.number;
        let sealed = std::mem::replace(&mut filling.sealed, true);
        Rotation { seal: (!sealed).then_some(number), last: Some(number) }
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

    /// Whether an entry asked for a segment that is not there.
    pub(crate) fn is_awaited(&self) -> bool {
        self.wanted > 0
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
    }

    /// Number of the segment being filled.
    pub(crate) fn filling(&self) -> Option<u64> {
        self.filling.map(|filling| filling.slot.number)
    }

    /// Bytes placed in the segment being filled, its header included.
    pub(crate) fn filled_bytes(&self) -> u64 {
        self.filling.filter(|filling| !filling.sealed).map_or(0, |filling| filling.position)
    }
}

#[cfg(test)]
mod tests;
