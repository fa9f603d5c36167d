//! How a drive stands at a moment: what it takes to draw it, and to follow what it does.
//!
//! It is taken by the drive's own thread between two requests, and so it is cheap: O(blocks), and
//! nothing goes through pages.

use eraseblock_core::metrics::Latency;
use eraseblock_core::metrics::report::{FlashWork, Merges};
use serde::Serialize;

use super::Drive;

/// Cells of the map of blocks at most.
const MOST_CELLS: u32 = 4096;

/// How a drive stands at a moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Glance {
    /// Its own time, in ns.
    pub time_ns: u64,
    /// Why nothing can be written any more.
    pub failed: Option<String>,
    /// Requests.
    pub requests: Requests,
    /// What became of pages.
    pub pages: Pages,
    /// Flash work since the drive was opened.
    pub flash: Flash,
    /// Response times.
    pub response: Responses,
    /// The buffer.
    pub buffer: Buffer,
    /// The blocks.
    pub blocks: Blocks,
}

/// Requests since the drive was opened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Requests {
    /// Reads that have come.
    pub read: u64,
    /// Writes that have come.
    pub write: u64,
    /// Trims that have come.
    pub trim: u64,
    /// Flushes that have come.
    pub flush: u64,
    /// All that have been answered.
    pub completed: u64,
    /// Bytes that reads and writes asked for.
    pub bytes: u64,
}

/// Pages of the host's requests since the drive was opened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pages {
    /// Of reads.
    pub read: u64,
    /// Of writes.
    pub write: u64,
    /// Of trims.
    pub trim: u64,
    /// Pages of reads that were in the buffer.
    pub read_hits: u64,
    /// Pages of writes that were in the buffer.
    pub write_hits: u64,
}

/// Flash work: reads and programs in pages, erases in blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flash {
    /// Pages read.
    pub reads: FlashWork,
    /// Pages programmed.
    pub programs: FlashWork,
    /// Blocks erased.
    pub erases: FlashWork,
    /// Merges of log blocks.
    pub merges: Merges,
    /// Writes that had to wait for room.
    pub parked: u64,
}

/// Response times by kind of request; none where none was answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Responses {
    /// Of reads.
    pub read: Option<Times>,
    /// Of writes.
    pub write: Option<Times>,
    /// Of trims and flushes.
    pub other: Option<Times>,
}

/// Times that have been noted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their sum, in ns.
    pub sum_ns: u64,
    /// The largest, in ns.
    pub max_ns: u64,
    /// `(t, times)`: so many were at most t ns, and more than the t of the pair before; eight steps
    /// an octave, those without times left out.
    pub histogram: Vec<(u64, u64)>,
}

impl Times {
    /// Of all that have been noted there.
    pub fn of(latency: &Latency) -> Option<Self> {
        let summary = latency.summary()?;
        Some(Self {
            count: summary.count,
            sum_ns: u64::try_from(latency.sum()).unwrap_or(u64::MAX),
            max_ns: summary.max,
            histogram: summary.histogram,
        })
    }
}

/// The buffer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Buffer {
    /// Pages that it may hold.
    pub capacity: u32,
    /// Pages that it holds.
    pub pages: u32,
    /// Logical pages whose newest bytes are in RAM alone: in the buffer, or on their way to flash.
    pub unstored: usize,
    /// How many of these lie in each of at most 256 equal slices of the drive as clients see it.
    pub by_slice: Vec<u32>,
}

/// The blocks of the flash, some of them together in a cell of the map.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Blocks {
    /// How many.
    pub count: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Erased blocks that the FTL has at hand.
    pub free: u64,
    /// Erases that a block endures; 0 where none wears out.
    pub endurance: u32,
    /// Blocks of a cell, but for the last one.
    pub per_cell: u32,
    /// For each cell, pages that can be programmed before an erase.
    pub free_pages: Vec<u32>,
    /// For each cell, pages that hold what counts; what else has been programmed is invalid.
    pub valid_pages: Vec<u32>,
    /// For each cell, most erases of a block.
    pub most_erases: Vec<u32>,
    /// Erases of all blocks, those before the drive was opened among them.
    pub erases: u64,
}

impl Drive {
    /// How it stands.
    pub fn glance(&self) -> Glance {
        let device = &self.device;
        let c = device.counters();
        let [read, write, trim, flush] = c.by_op;
        let [reads, writes, others] = device.responses();
        let store = self.store.get();
        Glance {
            time_ns: device.now(),
            failed: self.failed.as_ref().map(ToString::to_string),
            requests: Requests { read, write, trim, flush, completed: c.completed, bytes: c.bytes },
            pages: Pages {
                read: c.pages_read,
                write: c.pages_written,
                trim: c.pages_trimmed,
                read_hits: c.read_hits,
                write_hits: c.write_hits,
            },
            flash: Flash {
                reads: FlashWork::new(c.reads),
                programs: FlashWork::new(c.programs),
                erases: FlashWork::new(c.erases),
                merges: Merges {
                    switch: c.switch_merges,
                    partial: c.partial_merges,
                    full: c.full_merges,
                },
                parked: device.parked_writes(),
            },
            response: Responses {
                read: Times::of(&reads),
                write: Times::of(&writes),
                other: Times::of(&others),
            },
            buffer: Buffer {
                capacity: device.buffer_shape().capacity,
                pages: device.buffer().len(),
                unstored: store.ram().logical_pages(),
                by_slice: store.ram().by_slice().to_vec(),
            },
            blocks: self.blocks(store.counts().of_blocks()),
        }
    }

    fn blocks(&self, valid: &[u32]) -> Blocks {
        let (device, flash) = (&self.device, self.device.flash());
        let geometry = flash.geometry();
        let (count, pages_per_block) = (geometry.blocks(), geometry.pages_per_block);
        let per_cell = count.div_ceil(MOST_CELLS).max(1);
        let cells = count.div_ceil(per_cell) as usize;
        let mut blocks = Blocks {
            count,
            pages_per_block,
            page_bytes: geometry.page_bytes,
            free: geometry.all_units().map(|u| u64::from(device.mapping().free_blocks(u))).sum(),
            endurance: device.config().nand.endurance,
            per_cell,
            free_pages: vec![0; cells],
            valid_pages: vec![0; cells],
            most_erases: vec![0; cells],
            erases: 0,
        };
        for block in geometry.all_blocks() {
            let (at, cell) = (block.index(), (block.0 / per_cell) as usize);
            // What is under way has changed the flash already, and not yet what counts.
            let used = flash.write_ptr(block);
            blocks.free_pages[cell] += pages_per_block - used;
            blocks.valid_pages[cell] += valid[at].min(used);
            let erases = flash.erases()[at];
            blocks.most_erases[cell] = blocks.most_erases[cell].max(erases);
            blocks.erases += u64::from(erases);
        }
        blocks
    }
}
