//! The check of SQLite's own write-ahead log beside the database: pure. Owns the judgement whether its end is torn or
//! damaged. SQLite takes the first frame with a wrong checksum for the end, and so loses every commit behind a damaged one
//! in silence; but each commit is synced before the next begins (`synchronous=FULL`), so one that follows proves damage.
//! Never knows a table. The layout is that of <https://sqlite.org/fileformat2.html#walformat>.

/// Bytes of the file's header.
pub const WAL_HEADER_BYTES: usize = 32;

const FRAME_HEADER_BYTES: usize = 24;
/// The lowest bit says whether checksums take words in big-endian order.
const MAGIC: u32 = 0x377f_0682;

/// A walk over the frames of the file, one at a time.
#[derive(Clone, Debug)]
pub struct WalFile {
    big_endian: bool,
    salts: [u8; 8],
    page_bytes: usize,
    sum: (u32, u32),
    /// Where the next frame lies.
    at: u64,
    /// The first frame that is not valid.
    bad: Option<u64>,
    /// Whether a commit ended in the bad frame or behind it.
    commit_ended: bool,
    damaged: bool,
}

impl WalFile {
    /// Begins with the header; none when SQLite would not read the file either, since nothing valid was written to it.
    #[must_use]
    pub fn begin(header: &[u8]) -> Option<WalFile> {
        let header = header.get(..WAL_HEADER_BYTES)?;
        let magic = word(header, 0, true);
        let page_bytes = word(header, 8, true) as usize;
        if magic | 1 != MAGIC | 1 || !(512..=65536).contains(&page_bytes) {
            return None;
        }
        let big_endian = magic & 1 == 1;
        let sum = add((0, 0), &header[..24], big_endian);
        if sum != (word(header, 24, true), word(header, 28, true)) {
            return None;
        }
        let mut salts = [0; 8];
        salts.copy_from_slice(&header[16..24]);
        let at = WAL_HEADER_BYTES as u64;
        Some(WalFile {
            big_endian,
            salts,
            page_bytes,
            sum,
            at,
            bad: None,
            commit_ended: false,
            damaged: false,
        })
    }

    /// Bytes of a frame.
    #[must_use]
    pub fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.page_bytes
    }

    /// Takes in the next frame, which is whole.
    pub fn frame(&mut self, frame: &[u8]) {
        let own = frame[8..16] == self.salts;
        if self.bad.is_none() {
            let sum = add(self.sum, &frame[..8], self.big_endian);
            let sum = add(sum, &frame[FRAME_HEADER_BYTES..], self.big_endian);
            if own && sum == (word(frame, 16, true), word(frame, 20, true)) {
                self.sum = sum;
            } else {
                self.bad = Some(self.at);
            }
        }
        if self.bad.is_some() && own {
            self.damaged |= self.commit_ended;
            self.commit_ended |= word(frame, 4, true) != 0;
        }
        self.at += frame.len() as u64;
    }

    /// The byte of the damaged frame; none when the file is whole up to an end that a crash may have left.
    #[must_use]
    pub fn damaged_at(&self) -> Option<u64> {
        self.bad.filter(|_| self.damaged)
    }
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

/// The checksum of `sum`'s bytes and these, whose number is a multiple of 8.
fn add((mut first, mut second): (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(word(pair, 0, big_endian)).wrapping_add(second);
        second = second.wrapping_add(word(pair, 4, big_endian)).wrapping_add(first);
    }
    (first, second)
}
