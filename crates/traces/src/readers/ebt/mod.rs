//! The compact format of this program.

use eraseblock_core::host::Request;

use super::{Disorder, Family, Format, Guess, Line, Reads, RecordParser, Sample};
use crate::compact::{
    BLOCK_HEAD, CHECKSUM, Columns, CompactWriter, END_PAYLOAD, HEADER_HEAD, MAGIC,
    MAX_BLOCK_REQUESTS, MAX_PAYLOAD, MAX_PROVENANCE, VERSION, provenance, u32_at, u64_at,
};
use crate::error::{Fault, Unexpected};
use crate::input::RecordFile;

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "ebt",
        title: "Compact binary format of eraseblock",
        columns: "blocks of requests in columns, each block with a checksum",
        units: "time in ns, address and length in bytes; holds all that a request has",
        recognised_by: "its first 8 bytes",
        reference: "docs/trace-format.md",
        extensions: &["ebt"],
        disorder: Disorder::None,
        reads: Reads::Records(|| Box::new(Ebt::default())),
        sample,
    }],
    recognise,
};

/// Reads one block at a time; none of its requests is handed out before all of it has been
/// verified.
#[derive(Default)]
struct Ebt {
    block: Vec<Request>,
    next: usize,
    columns: Columns,
    requests: u64,
    blocks: u64,
    last_ns: u64,
    /// The end marker has been read, or what cannot be: damage hides where the next block begins.
    ended: bool,
}

impl RecordParser for Ebt {
    fn header(&mut self, file: &mut RecordFile) -> Result<(), Fault> {
        self.ended = true;
        let mut header = file.array::<HEADER_HEAD>("a header")?.to_vec();
        if header[..MAGIC.len()] != MAGIC {
            return Err(lost(
                "other first bytes",
                "those of an ebt file (89 45 42 54 0d 0a 1a 0a)",
            ));
        }
        let version = u32_at(&header, 8).unwrap_or_default();
        if version != VERSION {
            let expected = if version > VERSION {
                format!(
                    "at most {VERSION}; a newer eraseblock has written this file, and is needed to \
                     read it"
                )
            } else {
                format!("{VERSION}; the file is damaged")
            };
            return Err(lost(format!("version {version} of the format"), expected));
        }
        let length = u32_at(&header, 12).unwrap_or_default() as usize;
        if length > MAX_PROVENANCE {
            return Err(lost(
                format!("a header of {length} bytes"),
                "at most 1 MiB; it is damaged",
            ));
        }
        header.extend_from_slice(file.bytes_of("the rest of the header", length + CHECKSUM)?);
        verify(&[], &header)?;
        if provenance(&header).is_none() {
            return Err(lost("a header whose parts do not add up", "pairs of texts"));
        }
        self.ended = false;
        Ok(())
    }

    #[inline]
    fn record(&mut self, file: &mut RecordFile) -> Result<Option<Line>, Fault> {
        if self.next == self.block.len() {
            if self.ended {
                return Ok(None);
            }
            self.ended = true;
            self.ended = !self.read_block(file)?;
            if self.ended {
                return Ok(None);
            }
        }
        self.next += 1;
        Ok(Some(Line::Request(self.block[self.next - 1])))
    }

    fn records(&mut self, _file: &mut RecordFile, into: &mut Vec<Request>) {
        into.extend_from_slice(&self.block[self.next..]);
        self.next = self.block.len();
    }

    fn missing(&self) -> &'static str {
        "blocks of requests"
    }
}

impl Ebt {
    /// Reads the next block; false after the end marker.
    fn read_block(&mut self, file: &mut RecordFile) -> Result<bool, Fault> {
        self.block.clear();
        self.next = 0;
        if !file.begin()? {
            return Err(lost(
                "the end of the file behind it",
                "a further block or the end marker; the file is cut off",
            ));
        }
        let head = file.array::<BLOCK_HEAD>("the head of a block")?;
        let count = u32_at(&head, 0).unwrap_or_default() as usize;
        let length = u32_at(&head, 4).unwrap_or_default() as usize;
        if count > MAX_BLOCK_REQUESTS || length > MAX_PAYLOAD {
            let expected =
                format!("at most {MAX_BLOCK_REQUESTS} in {MAX_PAYLOAD}; {}", self.damaged());
            return Err(lost(format!("a block of {count} requests in {length} bytes"), expected));
        }
        let rest = file.bytes_of("the rest of a block", length + CHECKSUM)?;
        let payload = &rest[..length];
        verify(&head, rest).map_err(|Unexpected { found, expected }| {
            Fault::Lost(Unexpected::new(found, format!("{expected}; {}", self.damaged())))
        })?;
        if count == 0 {
            self.check_end(payload)?;
            if file.begin()? {
                return Err(lost("bytes behind the end marker", "the end of the file"));
            }
            return Ok(false);
        }
        let read = self.columns.decode(payload, count, &mut self.block).is_some();
        if !read || self.block.first().is_some_and(|first| first.arrival_ns < self.last_ns) {
            self.block.clear();
            return Err(lost(
                "a block that no writer makes",
                "columns that add up, and times in order",
            ));
        }
        self.last_ns = self.block.last().map_or(0, |last| last.arrival_ns);
        self.requests += count as u64;
        self.blocks += 1;
        Ok(true)
    }

    fn check_end(&self, payload: &[u8]) -> Result<(), Fault> {
        if payload.len() == END_PAYLOAD
            && (u64_at(payload, 0), u64_at(payload, 8)) == (Some(self.requests), Some(self.blocks))
        {
            return Ok(());
        }
        let found =
            format!("the end marker after {} requests in {} blocks", self.requests, self.blocks);
        Err(lost(found, "as many as it says; blocks are missing or stand twice"))
    }

    /// What the block at hand being damaged means.
    fn damaged(&self) -> String {
        format!("this block, which begins with request {}, is damaged", self.requests + 1)
    }
}

/// Compares the checksum that ends `rest` with that of everything before it, which begins with
/// `head`.
fn verify(head: &[u8], rest: &[u8]) -> Result<(), Unexpected> {
    let (content, checksum) = rest.split_at(rest.len() - CHECKSUM);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(head);
    hasher.update(content);
    let (stored, found) = (u32_at(checksum, 0).unwrap_or_default(), hasher.finalize());
    if stored == found {
        return Ok(());
    }
    Err(Unexpected::new(format!("checksum {found:08x}"), format!("{stored:08x}")))
}

fn lost(found: impl Into<String>, expected: impl Into<String>) -> Fault {
    Fault::Lost(Unexpected::new(found, expected))
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let bytes = sample.bytes();
    if !bytes.starts_with(&MAGIC) {
        return None;
    }
    let length = u32_at(bytes, 12).unwrap_or_default() as usize;
    let header = bytes.get(..HEADER_HEAD.saturating_add(length).saturating_add(CHECKSUM));
    let pairs = header.and_then(provenance).unwrap_or_default();
    let source = pairs.iter().find(|(key, _)| key == "source");
    let source =
        source.map_or_else(String::new, |(_, name)| format!("; made from {}", super::quote(name)));
    Some(Guess::Settled {
        format: "ebt",
        evidence: format!("its first bytes are those of an ebt file{source}"),
    })
}

fn sample(requests: &[Request]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = CompactWriter::new(&[]);
    let write = || {
        writer.begin(&mut bytes)?;
        requests.iter().try_for_each(|request| writer.push(request, &mut bytes))?;
        writer.finish(&mut bytes)
    };
    write().expect("requests in order, written to memory");
    bytes
}

#[cfg(test)]
mod tests;
