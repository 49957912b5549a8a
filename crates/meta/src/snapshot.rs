//! Between a state and the bytes of a snapshot. Guarantees that a state comes back equal, and that equal states
//! give equal bytes. Never checks invariants.

use bytes::Bytes;
use kelda_format::DecodeError;
use kelda_format::rows::StreamRow;
use kelda_format::snapshot::{SnapshotReader, SnapshotRow, SnapshotWriter};

use crate::State;

impl State {
    /// The bytes of a snapshot of this state, which carry the cluster and the applied index.
    #[must_use]
    pub fn to_snapshot(&self) -> Bytes {
        let mut writer = SnapshotWriter::new(self.cluster, self.applied);
        self.snapshot_rows().for_each(|row| writer.push(&row));
        writer.finish()
    }

    /// Whether these are the bytes of a snapshot of this state. Compares row by row, and so takes no memory for another
    /// state.
    ///
    /// # Errors
    /// As [`State::from_snapshot`].
    pub fn is_snapshot(&self, bytes: &[u8]) -> Result<bool, DecodeError> {
        let mut reader = SnapshotReader::new(bytes)?;
        if (reader.cluster(), reader.index()) != (self.cluster, self.applied) {
            return Ok(false);
        }
        for row in self.snapshot_rows() {
            if reader.next().transpose()? != Some(row) {
                return Ok(false);
            }
        }
        Ok(reader.next().transpose()?.is_none())
    }

    /// All rows in the order in which a snapshot has them.
    fn snapshot_rows(&self) -> impl Iterator<Item = SnapshotRow> {
        std::iter::once(SnapshotRow::Cluster(self.numbers))
            .chain(self.nodes.values().map(|row| SnapshotRow::Node((**row).clone())))
            .chain(self.sessions.values().map(|row| SnapshotRow::Session((**row).clone())))
            .chain(self.entries.values().map(|row| SnapshotRow::Entry((**row).clone())))
            .chain(self.streams.values().map(|row| SnapshotRow::Stream((**row).clone())))
            .chain(self.producers.values().map(|row| SnapshotRow::Producer((**row).clone())))
            .chain(self.objects.values().map(|row| SnapshotRow::Object(*row)))
            .chain(self.refs.values().map(|row| SnapshotRow::Ref(*row)))
            .chain(self.reservations.values().map(|row| SnapshotRow::Reservation(*row)))
            .chain(self.destroy.values().map(|row| SnapshotRow::Destroy(*row)))
            .chain(self.transfers.values().map(|row| SnapshotRow::Transfer(*row)))
            .chain(self.keys.values().map(|row| SnapshotRow::Key((**row).clone())))
    }

    /// The state of a snapshot.
    ///
    /// # Errors
    /// When the bytes are not a snapshot of a known version with the right checksums.
    pub fn from_snapshot(bytes: &[u8]) -> Result<State, DecodeError> {
        let mut reader = SnapshotReader::new(bytes)?;
        let misplaced =
            || DecodeError::new("snapshot", 0, "its numbers are not in the first row and only there");
        let Some(SnapshotRow::Cluster(numbers)) = reader.next().transpose()? else { return Err(misplaced()) };
        let mut state = State::empty(reader.cluster(), reader.index(), numbers);
        for row in reader {
            match row? {
                SnapshotRow::Cluster(_) => return Err(misplaced()),
                other => state.put_row(other),
            }
        }
        Ok(state)
    }

    fn put_row(&mut self, row: SnapshotRow) {
        match row {
            SnapshotRow::Cluster(row) => self.numbers = row,
            SnapshotRow::Node(row) => self.put_node(row),
            SnapshotRow::Session(row) => self.put_session(row),
            SnapshotRow::Entry(row) => self.put_entry(row),
            SnapshotRow::Stream(row) => {
                // Entries come first; sharing the text of the name halves what it takes.
                let name = self.entry(&row.name).map_or_else(|| row.name.clone(), |entry| entry.name.clone());
                self.put_stream(StreamRow { name, ..row });
            }
            SnapshotRow::Producer(row) => self.put_producer(row),
            SnapshotRow::Object(row) => self.put_object(row),
            SnapshotRow::Ref(row) => self.put_ref(row),
            SnapshotRow::Reservation(row) => self.put_reservation(row),
            SnapshotRow::Destroy(row) => {
                self.destroy.insert(row.object, row);
            }
            SnapshotRow::Transfer(row) => self.put_transfer(row),
            SnapshotRow::Key(row) => self.put_key_row(row),
        }
    }
}
