//! The bytes of one simulated file: owns what a reader sees, what is durable, and what lies between. Guarantees that a loss
//! of power keeps every synced byte and treats each page that was not synced on its own. Never knows the file's name.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::random::SimRandom;

/// The unit in which a medium takes or loses writes.
pub(super) const PAGE: u64 = 4096;
const PAGE_BYTES: usize = 4096;

/// The unit in which a page may be torn.
const SECTOR_BYTES: usize = 512;

/// A page that is not synced may come to the medium as any of its last versions; so many are remembered.
const MAX_VERSIONS: usize = 4;

static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// A page, or nothing where it holds zeros only.
type Pages = BTreeMap<u64, Bytes>;

#[derive(Default)]
pub(super) struct Inode {
    pub(super) len: u64,
    pages: Pages,
    durable_len: u64,
    durable: Pages,
    /// The versions of each page since it was last synced, the oldest first, with the number of the write.
    dirty: BTreeMap<u64, Vec<(u64, Bytes)>>,
    dirty_lens: Vec<(u64, u64)>,
    writes: u64,
    /// Bytes from the start whose space is taken even where nothing was written.
    allocated: u64,
    /// Open files.
    pub(super) open: u32,
    /// Objects of a store that are this file.
    pub(super) pins: u32,
}

impl Inode {
    /// A file of zeros whose length and space are durable.
    pub(super) fn preallocated(len: u64) -> Inode {
        Inode { len, durable_len: len, allocated: len.next_multiple_of(PAGE), ..Inode::default() }
    }

    /// Bytes of the medium that the file takes.
    pub(super) fn used(&self) -> u64 {
        let beyond = self.pages.range(self.allocated / PAGE..).count() as u64;
        self.allocated + beyond * PAGE
    }

    /// Bytes more that a write of `len` bytes at `offset` takes.
    pub(super) fn growth(&self, offset: u64, len: u64) -> u64 {
        let first = (offset / PAGE).max(self.allocated / PAGE);
        let end = (offset + len).div_ceil(PAGE);
        (first..end).filter(|number| !self.pages.contains_key(number)).count() as u64 * PAGE
    }

    fn page(pages: &Pages, number: u64) -> &[u8] {
        pages.get(&number).map_or(&ZEROS[..], |page| &page[..])
    }

    fn set_page(&mut self, number: u64, page: Bytes) {
        let versions = self.dirty.entry(number).or_default();
        if versions.len() == MAX_VERSIONS {
            versions.remove(0);
        }
        versions.push((self.writes, page.clone()));
        self.pages.insert(number, page);
    }

    fn change_len(&mut self, len: u64) {
        self.len = len;
        self.dirty_lens.push((self.writes, len));
    }

    /// Writes, and lengthens the file when needed; nothing is no write.
    pub(super) fn write(&mut self, bytes: &[u8], offset: u64) {
        if bytes.is_empty() {
            return;
        }
        self.writes += 1;
        let end = offset + bytes.len() as u64;
        let mut at = offset;
        while at < end {
            let (number, within) = (at / PAGE, index(at % PAGE));
            let step = (PAGE_BYTES - within).min(index(end - at));
            let mut page = Inode::page(&self.pages, number).to_vec();
            let from = index(at - offset);
            page[within..within + step].copy_from_slice(&bytes[from..from + step]);
            self.set_page(number, page.into());
            at += step as u64;
        }
        if end > self.len {
            self.change_len(end);
        }
    }

    pub(super) fn set_len(&mut self, len: u64) {
        self.writes += 1;
        if len < self.len {
            let cut = self.pages.range(len / PAGE..).map(|(number, _)| *number).collect::<Vec<_>>();
            for number in cut {
                let kept = index(len.saturating_sub(number * PAGE).min(PAGE));
                let mut page = Inode::page(&self.pages, number).to_vec();
                page[kept..].fill(0);
                self.set_page(number, page.into());
            }
            self.allocated = self.allocated.min(len.next_multiple_of(PAGE));
            self.pages.split_off(&len.div_ceil(PAGE));
        }
        self.change_len(len);
    }

    pub(super) fn read(&self, offset: u64, len: usize) -> Bytes {
        let end = self.len.min(offset.saturating_add(len as u64));
        let mut bytes = Vec::with_capacity(index(end.saturating_sub(offset)));
        let mut at = offset;
        while at < end {
            let within = index(at % PAGE);
            let step = (PAGE_BYTES - within).min(index(end - at));
            bytes.extend_from_slice(&Inode::page(&self.pages, at / PAGE)[within..within + step]);
            at += step as u64;
        }
        bytes.into()
    }

    /// The number of the last write; a sync that begins now makes it and those before durable.
    pub(super) fn begin_sync(&self) -> u64 {
        self.writes
    }

    /// Everything up to write number `upto` is durable.
    pub(super) fn finish_sync(&mut self, upto: u64) {
        self.settle(upto, |_| true);
    }

    /// A sync failed: any part is durable, and the rest is not tried again although readers still see it.
    pub(super) fn fail_sync(&mut self, upto: u64, fate: &SimRandom) {
        self.settle(upto, |_| fate.chance(0.5));
    }

    fn settle(&mut self, upto: u64, durable: impl Fn(u64) -> bool) {
        for (number, versions) in &mut self.dirty {
            let done = versions.partition_point(|(write, _)| *write <= upto);
            if let Some((_, page)) = versions.drain(..done).next_back()
                && durable(*number)
            {
                self.durable.insert(*number, page);
            }
        }
        self.dirty.retain(|_, versions| !versions.is_empty());
        let done = self.dirty_lens.partition_point(|(write, _)| *write <= upto);
        if let Some((_, len)) = self.dirty_lens.drain(..done).next_back()
            && durable(u64::MAX)
        {
            self.durable_len = len;
        }
    }

    /// The power fails. Each page that was not synced survives with probability `survival`, in any of its versions, whole or
    /// torn between sectors.
    pub(super) fn lose_power(&mut self, survival: f64, fate: &SimRandom) {
        for (number, versions) in std::mem::take(&mut self.dirty) {
            if fate.chance(survival) {
                let (_, new) = fate.pick(&versions);
                let mut page = new.to_vec();
                if fate.chance(0.25) {
                    let old = Inode::page(&self.durable, number);
                    for start in (0..PAGE_BYTES).step_by(SECTOR_BYTES).filter(|_| fate.chance(0.5)) {
                        page[start..start + SECTOR_BYTES].copy_from_slice(&old[start..start + SECTOR_BYTES]);
                    }
                }
                self.durable.insert(number, page.into());
            }
        }
        let lens = std::mem::take(&mut self.dirty_lens);
        if !lens.is_empty() && fate.chance(survival) {
            self.durable_len = fate.pick(&lens).1;
        }
        self.cut_durable();
        self.len = self.durable_len;
        self.pages = self.durable.clone();
        self.open = 0;
    }

    /// Nothing is behind the end of the file.
    fn cut_durable(&mut self) {
        self.durable.split_off(&self.durable_len.div_ceil(PAGE));
        let (number, within) = (self.durable_len / PAGE, index(self.durable_len % PAGE));
        if let Some(page) = self.durable.get_mut(&number) {
            let mut cut = page.to_vec();
            cut[within..].fill(0);
            *page = cut.into();
        }
    }

    /// Flips the lowest bit of a byte everywhere. False when it is behind the end.
    pub(super) fn flip_bit(&mut self, at: u64) -> bool {
        let (number, within) = (at / PAGE, index(at % PAGE));
        for pages in [&mut self.pages, &mut self.durable] {
            let mut page = Inode::page(pages, number).to_vec();
            page[within] ^= 1;
            pages.insert(number, page.into());
        }
        at < self.len
    }
}

/// A length or position within a simulated file, which fits memory.
fn index(value: u64) -> usize {
    usize::try_from(value).expect("simulated files fit memory")
}
