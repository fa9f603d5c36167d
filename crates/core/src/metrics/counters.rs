//! Counts, by cause, never sampled.

use serde::{Deserialize, Serialize};

use crate::nand::op::ByCause;

/// Everything that is counted during a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Mapped pages read from flash, by [`crate::nand::Cause`].
    pub reads: ByCause,
    /// Mapped pages programmed, by cause.
    pub programs: ByCause,
    /// Blocks erased, by cause.
    pub erases: ByCause,
    /// Mapped pages programmed, counted apart from the causes: the two must agree.
    pub programmed: u64,
    /// Array reads: flash pages fetched.
    pub array_reads: u64,
    /// Program operations of the array.
    pub program_ops: u64,
    /// Log blocks that became data blocks as they were.
    pub switch_merges: u64,
    /// Log blocks that became data blocks after the rest had been copied into them.
    pub partial_merges: u64,
    /// Log and data blocks copied together into a new block.
    pub full_merges: u64,
    /// Blocks that the FTL came to keep in another way than before.
    pub policy_switches: u64,

    /// Buffer slots that pages on their way to flash have taken; those in an open program unit lie
    /// in the FTL's own RAM.
    pub slots_taken: u64,

    /// Requests taken from the workload.
    pub submitted: u64,
    /// Requests answered.
    pub completed: u64,
    /// Reads, writes, trims and flushes among them.
    pub by_op: [u64; 4],
    /// Bytes that reads and writes asked for.
    pub bytes: u64,
    /// Pages of read requests.
    pub pages_read: u64,
    /// Pages of write requests.
    pub pages_written: u64,
    /// Pages of trim requests.
    pub pages_trimmed: u64,
    /// Read pages found in the buffer.
    pub read_hits: u64,
    /// Written pages found in the buffer.
    pub write_hits: u64,
    /// Read pages served from RAM on their way to flash.
    pub inflight_hits: u64,
    /// Read pages that were never written, and cost no flash operation.
    pub unmapped_reads: u64,
    /// Pages that flushes added to complete their blocks.
    pub padded_pages: u64,
    /// Written pages that bypassed the buffer.
    pub bypassed_writes: u64,
    /// Written pages that the buffer took in.
    pub inserted_writes: u64,
    /// Host pages that the buffer handed to the FTL.
    pub flushed_pages: u64,

    /// Entries that a mapping which keeps a part of its map in RAM was asked for.
    pub map_lookups: u64,
    /// Those among them that it held.
    pub map_hits: u64,
}

impl Counters {
    /// Sum over the causes.
    pub fn total(by_cause: &ByCause) -> u64 {
        by_cause.iter().sum()
    }

    /// Flash operations in mapped pages and blocks: reads, programs and erases.
    pub fn flash_ops(&self) -> u64 {
        Self::total(&self.reads) + Self::total(&self.programs) + Self::total(&self.erases)
    }

    /// What has been counted since it stood at `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            reads: each(self.reads, before.reads),
            programs: each(self.programs, before.programs),
            erases: each(self.erases, before.erases),
            programmed: self.programmed - before.programmed,
            array_reads: self.array_reads - before.array_reads,
            program_ops: self.program_ops - before.program_ops,
            switch_merges: self.switch_merges - before.switch_merges,
            partial_merges: self.partial_merges - before.partial_merges,
            full_merges: self.full_merges - before.full_merges,
            policy_switches: self.policy_switches - before.policy_switches,
            slots_taken: self.slots_taken - before.slots_taken,
            submitted: self.submitted - before.submitted,
            completed: self.completed - before.completed,
            by_op: each(self.by_op, before.by_op),
            bytes: self.bytes - before.bytes,
            pages_read: self.pages_read - before.pages_read,
            pages_written: self.pages_written - before.pages_written,
            pages_trimmed: self.pages_trimmed - before.pages_trimmed,
            read_hits: self.read_hits - before.read_hits,
            write_hits: self.write_hits - before.write_hits,
            inflight_hits: self.inflight_hits - before.inflight_hits,
            unmapped_reads: self.unmapped_reads - before.unmapped_reads,
            padded_pages: self.padded_pages - before.padded_pages,
            bypassed_writes: self.bypassed_writes - before.bypassed_writes,
            inserted_writes: self.inserted_writes - before.inserted_writes,
            flushed_pages: self.flushed_pages - before.flushed_pages,
            map_lookups: self.map_lookups - before.map_lookups,
            map_hits: self.map_hits - before.map_hits,
        }
    }
}

fn each<const N: usize>(now: [u64; N], before: [u64; N]) -> [u64; N] {
    std::array::from_fn(|at| now[at] - before[at])
}
