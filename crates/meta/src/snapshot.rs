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
        writer.push(&SnapshotRow::Cluster(self.numbers));
        self.nodes.values().for_each(|row| writer.push(&SnapshotRow::Node((**row).clone())));
        self.sessions.values().for_each(|row| writer.push(&SnapshotRow::Session((**row).clone())));
        self.entries.values().for_each(|row| writer.push(&SnapshotRow::Entry((**row).clone())));
        self.streams.values().for_each(|row| writer.push(&SnapshotRow::Stream((**row).clone())));
        self.producers.values().for_each(|row| writer.push(&SnapshotRow::Producer((**row).clone())));
        self.objects.values().for_each(|row| writer.push(&SnapshotRow::Object(*row)));
        self.refs.values().for_each(|row| writer.push(&SnapshotRow::Ref(*row)));
        self.reservations.values().for_each(|row| writer.push(&SnapshotRow::Reservation(*row)));
        self.destroy.values().for_each(|row| writer.push(&SnapshotRow::Destroy(*row)));
        self.transfers.values().for_each(|row| writer.push(&SnapshotRow::Transfer(*row)));
        self.keys.values().for_each(|row| writer.push(&SnapshotRow::Key((**row).clone())));
        writer.finish()
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
