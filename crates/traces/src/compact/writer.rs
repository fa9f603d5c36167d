//! Requests into a file of blocks.

use std::io::{self, Write};

use eraseblock_core::host::Request;

use super::{BLOCK_HEAD, END_PAYLOAD, MAX_END, MAX_TIME_NS, block, header};

/// Requests in a block: enough to make its fixed part small, few enough to stay in a processor's
/// cache.
const BLOCK_REQUESTS: usize = 4096;

/// Writes a file of the compact format.
pub(crate) struct CompactWriter {
    header: Vec<u8>,
    pending: Vec<Request>,
    block: Vec<u8>,
    requests: u64,
    blocks: u64,
    last_ns: u64,
}

impl CompactWriter {
    pub fn new(provenance: &[(String, String)]) -> Self {
        let header = header::encode(provenance);
        let pending = Vec::with_capacity(BLOCK_REQUESTS);
        Self { header, pending, block: Vec::new(), requests: 0, blocks: 0, last_ns: 0 }
    }

    /// Writes the header.
    pub fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.header)
    }

    /// Adds a request, which must not arrive before the one added last.
    pub fn push(&mut self, request: &Request, out: &mut dyn Write) -> io::Result<()> {
        let end = request.offset.checked_add(request.len);
        if request.arrival_ns < self.last_ns || request.arrival_ns > MAX_TIME_NS {
            return Err(io::Error::other(format!(
                "a request at {} ns comes out of order",
                request.arrival_ns
            )));
        }
        if end.is_none_or(|end| end > MAX_END) {
            return Err(io::Error::other(format!(
                "a request at byte {} ends beyond 1 EiB",
                request.offset
            )));
        }
        self.last_ns = request.arrival_ns;
        self.pending.push(*request);
        if self.pending.len() == BLOCK_REQUESTS { self.write_pending(out) } else { Ok(()) }
    }

    fn write_pending(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let count = self.pending.len();
        if count == 0 {
            return Ok(());
        }
        self.requests += count as u64;
        self.blocks += 1;
        self.begin_block(count as u32);
        block::encode(&self.pending, &mut self.block);
        self.pending.clear();
        self.end_block(out)
    }

    fn begin_block(&mut self, count: u32) {
        self.block.clear();
        self.block.extend_from_slice(&count.to_le_bytes());
        self.block.extend_from_slice(&[0; 4]);
    }

    fn end_block(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let length = (self.block.len() - BLOCK_HEAD) as u32;
        self.block[4..BLOCK_HEAD].copy_from_slice(&length.to_le_bytes());
        let checksum = crc32fast::hash(&self.block);
        self.block.extend_from_slice(&checksum.to_le_bytes());
        out.write_all(&self.block)
    }

    /// Writes what is left and the end marker.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<()> {
        self.write_pending(out)?;
        self.begin_block(0);
        self.block.extend_from_slice(&self.requests.to_le_bytes());
        self.block.extend_from_slice(&self.blocks.to_le_bytes());
        assert_eq!(self.block.len(), BLOCK_HEAD + END_PAYLOAD);
        self.end_block(out)
    }
}
