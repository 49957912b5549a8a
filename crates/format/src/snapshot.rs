//! A snapshot of the metadata state: owns its layout, one typed row after another. Guarantees that what is read
//! was written whole and by a known version. Never knows which rows make a state; that is `kelda_meta`.

use bytes::Bytes;

use crate::rows::{
    ClusterRow, DestroyRow, EntryRow, KeyRow, NodeRow, ObjectRefRow, ObjectRow, ProducerRow, ReservationRow,
    SessionRow, StreamRow, TransferRow,
};
use crate::wire::{Reader, Wire, crc, last_four, put_u16, put_u32, put_u64, wire_enum};
use crate::{ClusterId, DecodeError};

/// The first bytes of every snapshot.
pub const SNAPSHOT_MAGIC: [u8; 8] = *b"KELDASNP";

/// The version that is written, and the only one that is known.
pub const SNAPSHOT_VERSION: u16 = 1;

/// Bytes of the header, which ends with its own checksum.
pub const SNAPSHOT_HEADER_BYTES: usize = 64;

const WHAT: &str = "snapshot";

wire_enum! {
    /// A row of a snapshot.
    pub enum SnapshotRow {
        /// The numbers of the cluster; the first row, and the only one of its kind.
        1 => Cluster(row: ClusterRow),
        /// A node.
        2 => Node(row: NodeRow),
        /// A session.
        3 => Session(row: SessionRow),
        /// A registry entry.
        4 => Entry(row: EntryRow),
        /// A stream.
        5 => Stream(row: StreamRow),
        /// A producer.
        6 => Producer(row: ProducerRow),
        /// An object.
        7 => Object(row: ObjectRow),
        /// A reference to an object.
        8 => Ref(row: ObjectRefRow),
        /// A reservation.
        9 => Reservation(row: ReservationRow),
        /// An object to destroy.
        10 => Destroy(row: DestroyRow),
        /// A pending transfer.
        11 => Transfer(row: TransferRow),
        /// A key.
        12 => Key(row: KeyRow),
    }
}

/// Writes a snapshot.
#[derive(Debug)]
pub struct SnapshotWriter {
    cluster: ClusterId,
    index: u64,
    rows: u64,
    out: Vec<u8>,
}

impl SnapshotWriter {
    /// Begins the snapshot of a state in which the log entry at `index` is the last one applied.
    #[must_use]
    pub fn new(cluster: ClusterId, index: u64) -> SnapshotWriter {
        SnapshotWriter { cluster, index, rows: 0, out: vec![0; SNAPSHOT_HEADER_BYTES] }
    }

    /// Adds a row.
    pub fn push(&mut self, row: &SnapshotRow) {
        self.rows += 1;
        row.put(&mut self.out);
    }

    /// The bytes.
    #[must_use]
    pub fn finish(self) -> Bytes {
        let mut out = self.out;
        let mut header = Vec::with_capacity(SNAPSHOT_HEADER_BYTES);
        header.extend_from_slice(&SNAPSHOT_MAGIC);
        put_u16(&mut header, SNAPSHOT_VERSION);
        header.extend_from_slice(&[0; 6]);
        header.extend_from_slice(&self.cluster.0);
        put_u64(&mut header, self.index);
        put_u64(&mut header, self.rows);
        put_u64(&mut header, (out.len() - SNAPSHOT_HEADER_BYTES) as u64);
        put_u32(&mut header, crc(&out[SNAPSHOT_HEADER_BYTES..]));
        let header_crc = crc(&header);
        put_u32(&mut header, header_crc);
        out[..SNAPSHOT_HEADER_BYTES].copy_from_slice(&header);
        Bytes::from(out)
    }
}

/// Reads a snapshot: checks header and checksums at once, and then hands out row after row. What a row holds is
/// copied, so that the state does not keep the whole snapshot in memory.
#[derive(Debug)]
pub struct SnapshotReader<'a> {
    cluster: ClusterId,
    index: u64,
    left: u64,
    reader: Reader<'a>,
    failed: bool,
}

impl<'a> SnapshotReader<'a> {
    /// A reader of `bytes`.
    ///
    /// # Errors
    /// When the bytes are not a whole snapshot of a known version with the right checksums.
    pub fn new(bytes: &'a [u8]) -> Result<SnapshotReader<'a>, DecodeError> {
        let mut reader = Reader::new(bytes, WHAT);
        let mut header = Reader::new(reader.take(SNAPSHOT_HEADER_BYTES)?, WHAT);
        if header.array()? != SNAPSHOT_MAGIC {
            return Err(header.error("it does not begin with KELDASNP"));
        }
        header.version_u16(SNAPSHOT_VERSION)?;
        let stored = u32::from_le_bytes(last_four(&bytes[..SNAPSHOT_HEADER_BYTES]));
        let found = crc(&bytes[..SNAPSHOT_HEADER_BYTES - 4]);
        if stored != found {
            return Err(header.error(format!("header checksum {stored:08x} stored, {found:08x} computed")));
        }
        header.zeros(6)?;
        let cluster = ClusterId(header.array()?);
        let index = header.u64()?;
        let rows = header.u64()?;
        let body_bytes = header.u64()?;
        let body_crc = header.u32()?;
        if body_bytes != reader.remaining() as u64 {
            let detail = format!("{body_bytes} bytes of rows announced, {} follow", reader.remaining());
            return Err(header.error(detail));
        }
        let found = crc(&bytes[SNAPSHOT_HEADER_BYTES..]);
        if body_crc != found {
            return Err(reader.error(format!("checksum of rows {body_crc:08x} stored, {found:08x} computed")));
        }
        Ok(SnapshotReader { cluster, index, left: rows, reader, failed: false })
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// The index of the last log entry that the state contains.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }
}

impl Iterator for SnapshotReader<'_> {
    type Item = Result<SnapshotRow, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let row = if self.left > 0 {
            self.left -= 1;
            SnapshotRow::get(&mut self.reader)
        } else {
            match self.reader.finish() {
                Ok(()) => return None,
                Err(error) => Err(error),
            }
        };
        self.failed = row.is_err();
        Some(row)
    }
}
