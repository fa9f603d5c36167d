//! A file of blocks into requests, each checksum verified before a request is believed.

use eraseblock_core::host::Request;

use super::block::Columns;
use super::{BLOCK_HEAD, CHECKSUM, END_PAYLOAD, MAGIC, MAX_BLOCK_REQUESTS, VERSION, header, u32_at, u64_at};

/// Where the bytes of a file come from.
pub(crate) trait Source {
    /// Why bytes cannot be had.
    type Error;

    /// Fills `into` with the next bytes; fewer only where the file ends.
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, Self::Error>;
}

/// Why a file cannot be read on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem<E> {
    /// Its bytes cannot be had.
    Source(E),
    /// They are not what a file of this format holds.
    Damage {
        /// What is there.
        found: String,
        /// What should be there.
        expected: String,
    },
}

/// Longest payload of a block: the fixed part, and of each request two and a half bytes of nibbles and four numbers.
const MAX_PAYLOAD: usize = 32 + MAX_BLOCK_REQUESTS * 36;

/// Reads a file of the compact format, one block at a time.
#[derive(Debug, Default)]
pub(crate) struct CompactReader {
    /// Bytes of the header or block at hand, and where it begins in the file.
    bytes: Vec<u8>,
    offset: u64,
    columns: Columns,
    requests: u64,
    blocks: u64,
    last_ns: u64,
}

impl CompactReader {
    /// Reads the header; the pairs that say where the requests come from.
    pub fn header<S: Source>(&mut self, source: &mut S) -> Result<Vec<(String, String)>, Problem<S::Error>> {
        let what = "a header";
        self.bytes.clear();
        self.more(source, header::FIXED, what)?;
        if self.bytes[..8] != MAGIC {
            return Err(damage("other first bytes", "those of an ebt file (89 45 42 54 0d 0a 1a 0a)"));
        }
        let version = u32_at(&self.bytes, 8).unwrap_or_default();
        if version != VERSION {
            let expected = if version > VERSION {
                format!(
                    "at most {VERSION}; a newer eraseblock has written this file, and is needed to read it"
                )
            } else {
                format!("{VERSION}; the file is damaged")
            };
            return Err(damage(format!("version {version} of the format"), expected));
        }
        let length = u32_at(&self.bytes, 12).unwrap_or_default() as usize;
        if length > header::MAX_PROVENANCE {
            return Err(damage(format!("a header of {length} bytes"), "at most 1 MiB; the file is damaged"));
        }
        self.more(source, length + CHECKSUM, what)?;
        self.verify(what)?;
        let pairs = header::decode(&self.bytes);
        self.offset = self.bytes.len() as u64;
        pairs.ok_or_else(|| damage("a header whose parts do not add up", "pairs of texts"))
    }

    /// Reads the next block into `out`, which it empties first; false at the end of the file, which has been checked.
    pub fn next_block<S: Source>(
        &mut self,
        source: &mut S,
        out: &mut Vec<Request>,
    ) -> Result<bool, Problem<S::Error>> {
        out.clear();
        let what = self.place();
        self.bytes.clear();
        self.more(source, BLOCK_HEAD, &what)?;
        let count = u32_at(&self.bytes, 0).unwrap_or_default() as usize;
        let length = u32_at(&self.bytes, 4).unwrap_or_default() as usize;
        if count > MAX_BLOCK_REQUESTS || length > MAX_PAYLOAD {
            return Err(damage(
                format!("{what} of {count} requests in {length} bytes"),
                format!(
                    "at most {MAX_BLOCK_REQUESTS} requests in {MAX_PAYLOAD} bytes; the file is damaged here"
                ),
            ));
        }
        self.more(source, length + CHECKSUM, &what)?;
        self.verify(&what)?;
        let payload = &self.bytes[BLOCK_HEAD..BLOCK_HEAD + length];
        if count == 0 {
            return self.end(source);
        }
        let read = self.columns.decode(payload, count, out).is_some();
        if !read || out.first().is_some_and(|first| first.arrival_ns < self.last_ns) {
            return Err(damage(
                format!("{what} that no writer makes"),
                "columns that add up, times in order",
            ));
        }
        self.last_ns = out.last().map_or(0, |last| last.arrival_ns);
        self.requests += count as u64;
        self.blocks += 1;
        self.offset += self.bytes.len() as u64;
        Ok(true)
    }

    /// The end marker is at hand; nothing may follow it.
    fn end<S: Source>(&mut self, source: &mut S) -> Result<bool, Problem<S::Error>> {
        let payload = &self.bytes[BLOCK_HEAD..self.bytes.len() - CHECKSUM];
        let counts = (u64_at(payload, 0), u64_at(payload, 8));
        let (requests, blocks) = (self.requests, self.blocks);
        if payload.len() != END_PAYLOAD || counts != (Some(requests), Some(blocks)) {
            return Err(damage(
                format!("an end marker after {requests} requests in {blocks} blocks"),
                "as many as it says; blocks are missing or stand twice",
            ));
        }
        if source.fill(&mut [0]).map_err(Problem::Source)? > 0 {
            return Err(damage("bytes after the end marker", "the end of the file"));
        }
        Ok(false)
    }

    fn more<S: Source>(&mut self, source: &mut S, count: usize, what: &str) -> Result<(), Problem<S::Error>> {
        let held = self.bytes.len();
        self.bytes.resize(held + count, 0);
        let found = source.fill(&mut self.bytes[held..]).map_err(Problem::Source)?;
        if found < count {
            return Err(damage(
                format!("the end of the file after {} bytes of {what}", held + found),
                "blocks up to the end marker; the file is cut off, or damaged here",
            ));
        }
        Ok(())
    }

    fn verify<E>(&self, what: &str) -> Result<(), Problem<E>> {
        let (content, checksum) = self.bytes.split_at(self.bytes.len() - CHECKSUM);
        let (stored, found) = (u32_at(checksum, 0).unwrap_or_default(), crc32fast::hash(content));
        if stored == found {
            return Ok(());
        }
        Err(damage(format!("{what} with checksum {found:08x}"), format!("{stored:08x}; it is damaged")))
    }

    /// The block that is read next, for a message.
    fn place(&self) -> String {
        format!("block {} (from request {}, at byte {})", self.blocks + 1, self.requests + 1, self.offset)
    }
}

fn damage<E>(found: impl Into<String>, expected: impl Into<String>) -> Problem<E> {
    Problem::Damage { found: found.into(), expected: expected.into() }
}
