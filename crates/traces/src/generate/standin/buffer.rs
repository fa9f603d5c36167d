//! A read-write buffer of whole blocks in LRU order, to count hits that cross from reads to writes
//! and back.

use std::collections::BTreeMap;

use eraseblock_core::host::{Op, Request};

/// Size of the buffer in pages of 4 KiB, and of a block in pages: those of SUPA's Figure 3.
const BUFFER_PAGES: u32 = (64 << 20) / PAGE as u32;
const BLOCK_PAGES: u64 = 64;
const PAGE: u64 = 4096;

/// A unified buffer for reads and writes: every request brings its pages in, the block used least
/// recently leaves.
#[derive(Default)]
pub(super) struct Buffer {
    blocks: BTreeMap<(u32, u64), Block>,
    /// Blocks by the time of their last use.
    order: BTreeMap<u64, (u32, u64)>,
    pages: u32,
    now: u64,
    /// Pages that were found, by reads and by writes.
    hits: [u64; 2],
    /// Of those, the ones that the other kind of request had used while they were in the buffer.
    crossing: [u64; 2],
}

#[derive(Default)]
struct Block {
    used: u64,
    /// Pages that were read, and that were written, a bit each.
    by: [u64; 2],
}

impl Buffer {
    /// Serves a read or a write.
    pub fn serve(&mut self, request: &Request) {
        let kind = usize::from(request.op == Op::Write);
        let mut page = request.offset / PAGE;
        let end = (request.offset + request.len).div_ceil(PAGE);
        while page < end {
            let key = (request.volume, page / BLOCK_PAGES);
            let last = end.min((page / BLOCK_PAGES + 1) * BLOCK_PAGES);
            let count = last - page;
            let mask = (u64::MAX >> (BLOCK_PAGES - count)) << (page % BLOCK_PAGES);
            self.touch(key, mask, kind);
            page = last;
        }
        while self.pages > BUFFER_PAGES {
            let Some((_, key)) = self.order.pop_first() else { break };
            let block = self.blocks.remove(&key).unwrap_or_default();
            self.pages -= (block.by[0] | block.by[1]).count_ones();
        }
    }

    fn touch(&mut self, key: (u32, u64), mask: u64, kind: usize) {
        self.now += 1;
        let block = self.blocks.entry(key).or_default();
        self.order.remove(&block.used);
        self.order.insert(self.now, key);
        block.used = self.now;
        let held = block.by[0] | block.by[1];
        self.hits[kind] += u64::from((held & mask).count_ones());
        self.crossing[kind] += u64::from((block.by[1 - kind] & mask).count_ones());
        self.pages += (mask & !held).count_ones();
        block.by[kind] |= mask;
    }

    /// Of the pages that reads (or writes) found, the share that had been written (or read).
    pub fn crossing_share(&self, writes: bool) -> f64 {
        let kind = usize::from(writes);
        self.crossing[kind] as f64 / self.hits[kind] as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_are_told_apart_by_what_used_the_page_before() {
        let mut buffer = Buffer::default();
        let mut serve = |op, page: u64, pages: u64| {
            let request = Request {
                arrival_ns: 0,
                offset: page * PAGE,
                len: pages * PAGE,
                volume: 0,
                op,
                fua: false,
            };
            buffer.serve(&request);
        };
        serve(Op::Write, 0, 4);
        serve(Op::Read, 2, 4); // finds 2 and 3, written
        serve(Op::Read, 4, 2); // finds both, read only
        serve(Op::Write, 5, 1); // finds it, read
        serve(Op::Write, 0, 1); // finds it, written only
        assert_eq!((buffer.hits, buffer.crossing), ([4, 2], [2, 1]));
        assert!((buffer.crossing_share(false) - 0.5).abs() < 1e-9);
        // 64 MiB of other pages push the block out.
        buffer.serve(&Request {
            arrival_ns: 0,
            offset: 1 << 30,
            len: 64 << 20,
            volume: 0,
            op: Op::Write,
            fua: false,
        });
        assert_eq!(
            (buffer.pages, buffer.blocks.len(), buffer.order.len()),
            (BUFFER_PAGES, 256, 256)
        );
    }
}
