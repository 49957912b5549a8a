//! An entry of the metadata log: owns its layout. Guarantees that an entry which decodes is whole, of a known
//! version and encoded in the only way; the caller checks that it is of its own cluster. Never skips what it
//! does not know.

use bytes::Bytes;

use crate::command::Command;
use crate::limits::{MAX_COMMANDS_PER_ENTRY, MAX_LOG_ENTRY_BYTES};
use crate::rows::Nonce;
use crate::wire::{Reader, Wire, crc, last_four, put_u16, put_u32, put_u64};
use crate::{ClusterId, DecodeError, NodeId, SessionEpoch, SessionId};

/// The first bytes of every log entry.
pub const LOG_ENTRY_MAGIC: [u8; 8] = *b"KELDALOG";

/// The version that is written, and the only one that is known.
pub const LOG_ENTRY_VERSION: u16 = 1;

/// Bytes of the header, which ends with its own checksum.
pub const LOG_ENTRY_HEADER_BYTES: usize = 88;

const WHAT: &str = "log entry";

/// One flush of proposals, as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The cluster.
    pub cluster: ClusterId,
    /// Whose flush; absent before the proposer has a session.
    pub session: Option<SessionId>,
    /// The number of the flush in its session; they grow. Zero without a session.
    pub flush: u64,
    /// Random, of this entry, by which a writer knows its own write again (P8).
    pub nonce: Nonce,
    /// The commands, applied in this order.
    pub commands: Vec<Command>,
}

impl LogEntry {
    /// The bytes for the log. The caller keeps to [`MAX_COMMANDS_PER_ENTRY`] and [`MAX_LOG_ENTRY_BYTES`].
    ///
    /// # Panics
    /// When the commands take 4 GiB or more.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut body = Vec::new();
        self.commands.iter().for_each(|command| command.put(&mut body));
        let mut out = Vec::with_capacity(LOG_ENTRY_HEADER_BYTES + body.len());
        out.extend_from_slice(&LOG_ENTRY_MAGIC);
        put_u16(&mut out, LOG_ENTRY_VERSION);
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&self.cluster.0);
        // Session epochs begin at 1, so zero says that there is none.
        let (node, epoch) = self.session.map_or((0, 0), |session| (session.node.0, session.epoch.0));
        put_u64(&mut out, node);
        put_u64(&mut out, epoch);
        put_u64(&mut out, self.flush);
        out.extend_from_slice(&self.nonce.0);
        put_u32(&mut out, u32::try_from(self.commands.len()).expect("a log entry has few commands"));
        put_u32(&mut out, u32::try_from(body.len()).expect("a log entry is below 4 GiB"));
        put_u32(&mut out, crc(&body));
        let header_crc = crc(&out);
        put_u32(&mut out, header_crc);
        out.extend_from_slice(&body);
        Bytes::from(out)
    }

    /// Reads an entry. What it holds is copied, so that the state does not keep whole entries in memory.
    ///
    /// # Errors
    /// When the bytes are not exactly one entry of a known version with the right checksums.
    pub fn decode(bytes: &[u8]) -> Result<LogEntry, DecodeError> {
        let mut reader = Reader::new(bytes, WHAT);
        if bytes.len() > MAX_LOG_ENTRY_BYTES {
            return Err(reader.error(format!("{} bytes, at most {MAX_LOG_ENTRY_BYTES} allowed", bytes.len())));
        }
        let mut header = Reader::new(reader.take(LOG_ENTRY_HEADER_BYTES)?, WHAT);
        if header.array()? != LOG_ENTRY_MAGIC {
            return Err(header.error("it does not begin with KELDALOG"));
        }
        header.version_u16(LOG_ENTRY_VERSION)?;
        let stored = u32::from_le_bytes(last_four(&bytes[..LOG_ENTRY_HEADER_BYTES]));
        let found = crc(&bytes[..LOG_ENTRY_HEADER_BYTES - 4]);
        if stored != found {
            return Err(header.error(format!("header checksum {stored:08x} stored, {found:08x} computed")));
        }
        let mut entry = LogEntry::read_head(&mut header)?;
        let count = header.u32()? as usize;
        let body_bytes = header.u32()? as usize;
        let body_crc = header.u32()?;
        if count > MAX_COMMANDS_PER_ENTRY || body_bytes != reader.remaining() {
            let detail = format!(
                "{count} commands in {body_bytes} bytes announced, {} bytes follow",
                reader.remaining()
            );
            return Err(header.error(detail));
        }
        let found = crc(&bytes[LOG_ENTRY_HEADER_BYTES..]);
        if body_crc != found {
            return Err(reader.error(format!("body checksum {body_crc:08x} stored, {found:08x} computed")));
        }
        for _ in 0..count {
            entry.commands.push(Command::get(&mut reader)?);
        }
        reader.finish()?;
        Ok(entry)
    }

    fn read_head(header: &mut Reader<'_>) -> Result<LogEntry, DecodeError> {
        header.zeros(6)?;
        let cluster = ClusterId(header.array()?);
        let (node, epoch) = (header.u64()?, header.u64()?);
        if epoch == 0 && node != 0 {
            return Err(header.error(format!("session epoch 0 of node {node}, they begin at 1")));
        }
        let session = (epoch > 0).then_some(SessionId { node: NodeId(node), epoch: SessionEpoch(epoch) });
        let flush = header.u64()?;
        let nonce = Nonce(header.array()?);
        Ok(LogEntry { cluster, session, flush, nonce, commands: Vec::new() })
    }
}
