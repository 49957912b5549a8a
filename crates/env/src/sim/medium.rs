//! The medium of one simulated disk: owns files, their names, and which of the names are durable. Guarantees that a change of
//! names is all or nothing and that unsynced ones survive a loss of power in any combination. Never delays or fails by
//! itself.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::inode::Inode;
use super::random::SimRandom;
use crate::disk::parent;
use crate::{DiskError, DiskOp, Space};

/// The size of a disk without a limit.
const UNLIMITED: u64 = 1 << 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Directory,
    File(u64),
}

type Names = BTreeMap<String, Entry>;

/// Names that change together.
struct Change(Vec<(String, Option<Entry>)>);

pub(super) struct Medium {
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    names: Names,
    durable: Names,
    pending: Vec<Change>,
    locks: BTreeMap<String, u64>,
    next_lock: u64,
    capacity: Option<u64>,
}

impl Medium {
    pub(super) fn new() -> Medium {
        let root = BTreeMap::from([(String::new(), Entry::Directory)]);
        Medium {
            inodes: BTreeMap::new(),
            next_inode: 1,
            names: root.clone(),
            durable: root,
            pending: Vec::new(),
            locks: BTreeMap::new(),
            next_lock: 1,
            capacity: None,
        }
    }

    pub(super) fn set_capacity(&mut self, bytes: Option<u64>) {
        self.capacity = bytes;
    }

    fn apply(&mut self, changes: Vec<(String, Option<Entry>)>) {
        let change = Change(changes);
        change.apply_to(&mut self.names);
        self.pending.push(change);
    }

    fn used(&self) -> u64 {
        let named = self.names.values().filter_map(|entry| match entry {
            Entry::File(inode) => Some(*inode),
            Entry::Directory => None,
        });
        let pinned = self
            .inodes
            .iter()
            .filter(|(_, inode)| inode.pins > 0 || inode.open > 0)
            .map(|(number, _)| *number);
        let held: std::collections::BTreeSet<u64> = named.chain(pinned).collect();
        held.iter().filter_map(|number| self.inodes.get(number)).map(Inode::used).sum()
    }

    pub(super) fn space(&self) -> Space {
        let total = self.capacity.unwrap_or(UNLIMITED);
        Space { free: total.saturating_sub(self.used()), total }
    }

    fn has_room(&self, more: u64) -> bool {
        more == 0 || self.capacity.is_none_or(|capacity| self.used().saturating_add(more) <= capacity)
    }

    /// The file of this name.
    pub(super) fn find(&self, path: &str, op: DiskOp) -> Result<u64, DiskError> {
        match self.names.get(path) {
            Some(Entry::File(inode)) => Ok(*inode),
            Some(Entry::Directory) => Err(other(path, op, std::io::ErrorKind::IsADirectory)),
            None => Err(not_found(path, op)),
        }
    }

    /// Checks that a new name is free and has a directory.
    fn vacant(&self, path: &str, op: DiskOp) -> Result<(), DiskError> {
        if self.names.contains_key(path) {
            return Err(DiskError::Exists { path: path.to_owned(), op });
        }
        match self.names.get(parent(path)) {
            Some(Entry::Directory) => Ok(()),
            Some(Entry::File(_)) => Err(other(path, op, std::io::ErrorKind::NotADirectory)),
            None => Err(not_found(path, op)),
        }
    }

    pub(super) fn create(&mut self, path: &str, len: u64) -> Result<u64, DiskError> {
        self.vacant(path, DiskOp::Create)?;
        let inode = Inode::preallocated(len);
        if !self.has_room(inode.used()) {
            return Err(full(path, DiskOp::Allocate));
        }
        let number = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(number, inode);
        self.apply(vec![(path.to_owned(), Some(Entry::File(number)))]);
        Ok(number)
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<String>, DiskError> {
        match self.names.get(path) {
            Some(Entry::Directory) => {}
            Some(Entry::File(_)) => {
                return Err(other(path, DiskOp::ReadDir, std::io::ErrorKind::NotADirectory));
            }
            None => return Err(not_found(path, DiskOp::ReadDir)),
        }
        Ok(children(&self.names, path)
            .map(|name| name[name.rfind('/').map_or(0, |at| at + 1)..].to_owned())
            .collect())
    }

    pub(super) fn remove(&mut self, path: &str) -> Result<(), DiskError> {
        self.find(path, DiskOp::Remove)?;
        self.apply(vec![(path.to_owned(), None)]);
        self.forget_unused();
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, path: &str) -> Result<(), DiskError> {
        match self.names.get(path) {
            Some(Entry::Directory) if children(&self.names, path).next().is_some() => {
                Err(other(path, DiskOp::Remove, std::io::ErrorKind::DirectoryNotEmpty))
            }
            Some(Entry::Directory) => {
                self.apply(vec![(path.to_owned(), None)]);
                Ok(())
            }
            Some(Entry::File(_)) => Err(other(path, DiskOp::Remove, std::io::ErrorKind::NotADirectory)),
            None => Err(not_found(path, DiskOp::Remove)),
        }
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let inode = self.find(from, DiskOp::Rename)?;
        match self.vacant(to, DiskOp::Rename) {
            Ok(()) | Err(DiskError::Exists { .. }) => {}
            Err(error) => return Err(error),
        }
        if from != to {
            self.apply(vec![(from.to_owned(), None), (to.to_owned(), Some(Entry::File(inode)))]);
            self.forget_unused();
        }
        Ok(())
    }

    pub(super) fn link(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let inode = self.find(from, DiskOp::Link)?;
        self.vacant(to, DiskOp::Link)?;
        self.apply(vec![(to.to_owned(), Some(Entry::File(inode)))]);
        Ok(())
    }

    /// Makes the entries of a directory durable: every change that touches it, whole and in order.
    pub(super) fn sync_dir(&mut self, path: &str) -> Result<(), DiskError> {
        if self.names.get(path) != Some(&Entry::Directory) {
            return Err(not_found(path, DiskOp::SyncDir));
        }
        let pending = std::mem::take(&mut self.pending);
        for change in pending {
            if change.0.iter().any(|(name, _)| parent(name) == path) {
                change.apply_to(&mut self.durable);
            } else {
                self.pending.push(change);
            }
        }
        self.forget_unused();
        Ok(())
    }

    /// Creates directories, durably.
    pub(super) fn create_dir_all(&mut self, path: &str) -> Result<(), DiskError> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for level in ends.map(|end| &path[..end]) {
            match self.names.get(level) {
                Some(Entry::Directory) => {}
                Some(Entry::File(_)) => {
                    return Err(other(level, DiskOp::CreateDir, std::io::ErrorKind::NotADirectory));
                }
                None => self.apply(vec![(level.to_owned(), Some(Entry::Directory))]),
            }
            self.sync_dir(parent(level))?;
        }
        Ok(())
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.names.contains_key(path)
    }

    /// Takes a lock and answers its number.
    pub(super) fn lock(&mut self, path: &str) -> Result<u64, DiskError> {
        match self.find(path, DiskOp::Lock) {
            Ok(_) => {}
            Err(DiskError::NotFound { .. }) => {
                self.create(path, 0)?;
            }
            Err(error) => return Err(error),
        }
        if self.locks.contains_key(path) {
            return Err(DiskError::Locked {
                path: path.to_owned(),
                holder: "another guard of this node".to_owned(),
            });
        }
        let number = self.next_lock;
        self.next_lock += 1;
        self.locks.insert(path.to_owned(), number);
        Ok(number)
    }

    /// Gives a lock back, unless a crash took it away before.
    pub(super) fn unlock(&mut self, path: &str, number: u64) {
        if self.locks.get(path) == Some(&number) {
            self.locks.remove(path);
        }
    }

    /// The bytes of a file. They stay as long as the file is open, named or part of a store.
    pub(super) fn inode(&mut self, number: u64) -> Option<&mut Inode> {
        self.inodes.get_mut(&number)
    }

    /// Writes, when there is room.
    pub(super) fn write(
        &mut self,
        number: u64,
        path: &str,
        bytes: &[u8],
        offset: u64,
    ) -> Result<(), DiskError> {
        let missing = || not_found(path, DiskOp::Write);
        let growth = self.inodes.get(&number).ok_or_else(missing)?.growth(offset, bytes.len() as u64);
        if !self.has_room(growth) {
            return Err(full(path, DiskOp::Write));
        }
        self.inodes.get_mut(&number).ok_or_else(missing)?.write(bytes, offset);
        Ok(())
    }

    /// Drops the bytes of files that nothing can reach any more.
    pub(super) fn forget_unused(&mut self) {
        let pending =
            self.pending.iter().flat_map(|change| change.0.iter().filter_map(|(_, entry)| entry.as_ref()));
        let named = self.names.values().chain(self.durable.values()).chain(pending);
        let named: std::collections::BTreeSet<u64> = named
            .filter_map(|entry| match entry {
                Entry::File(inode) => Some(*inode),
                Entry::Directory => None,
            })
            .collect();
        self.inodes.retain(|number, inode| inode.open > 0 || inode.pins > 0 || named.contains(number));
    }

    /// Closes every file and gives back every lock, as the end of a process does.
    pub(super) fn close_all(&mut self) {
        self.locks.clear();
        for inode in self.inodes.values_mut() {
            inode.open = 0;
        }
        self.forget_unused();
    }

    /// The power fails: of what was not synced, a part that fate decides is lost. How big a part is decided anew every time,
    /// so that all, none and everything between happen.
    pub(super) fn lose_power(&mut self, fate: &SimRandom) {
        let parts = [0.0, 0.1, 0.5, 0.9, 1.0];
        let (pages, names) = (*fate.pick(&parts), *fate.pick(&parts));
        for inode in self.inodes.values_mut() {
            inode.lose_power(pages, fate);
        }
        for change in std::mem::take(&mut self.pending) {
            if fate.chance(names) {
                change.apply_to(&mut self.durable);
            }
        }
        // A name in a directory that is lost is lost with it. Parents sort before their children.
        let mut kept = Names::new();
        for (name, entry) in &self.durable {
            if name.is_empty() || kept.get(parent(name)) == Some(&Entry::Directory) {
                kept.insert(name.clone(), *entry);
            }
        }
        self.durable = kept;
        self.names = self.durable.clone();
        self.close_all();
    }

    pub(super) fn peek(&self, path: &str) -> Option<Bytes> {
        let inode = self.find(path, DiskOp::Read).ok()?;
        self.inodes.get(&inode).map(|inode| inode.read(0, usize::MAX))
    }

    pub(super) fn files(&self) -> Vec<String> {
        let files = self.names.iter().filter(|(_, entry)| matches!(entry, Entry::File(_)));
        files.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn flip_bit(&mut self, path: &str, at: u64) -> bool {
        let inode = self.find(path, DiskOp::Write).ok();
        inode.and_then(|inode| self.inodes.get_mut(&inode)).is_some_and(|inode| inode.flip_bit(at))
    }
}

impl Change {
    fn apply_to(&self, names: &mut Names) {
        for (name, entry) in &self.0 {
            match entry {
                Some(entry) => names.insert(name.clone(), *entry),
                None => names.remove(name),
            };
        }
    }
}

/// The full names of what is directly in a directory.
fn children<'a>(names: &'a Names, path: &'a str) -> impl Iterator<Item = &'a String> {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    names
        .range(prefix.clone()..)
        .map(|(name, _)| name)
        .take_while(move |name| name.starts_with(&prefix))
        .filter(move |name| !name.is_empty() && parent(name) == path)
}

fn not_found(path: &str, op: DiskOp) -> DiskError {
    DiskError::NotFound { path: path.to_owned(), op }
}

fn full(path: &str, op: DiskOp) -> DiskError {
    DiskError::Full { path: path.to_owned(), op, detail: "the simulated disk is full".to_owned() }
}

fn other(path: &str, op: DiskOp, kind: std::io::ErrorKind) -> DiskError {
    DiskError::from_io(path, op, std::io::Error::from(kind))
}
