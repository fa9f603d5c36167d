//! What an FTL says of the work that writing causes, so that a buffer can reckon what it would cost
//! to write other pages than it does.

/// How an FTL keeps up with what is written, in as few words as a model of it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Upkeep {
    /// It does not say.
    #[default]
    Unknown,
    /// Pages lie anywhere; blocks with few pages that count are emptied.
    Pages {
        /// The pages of a logical block all go to one channel.
        by_block: bool,
    },
    /// Log blocks that belong to one cluster of logical blocks each.
    OwnLogs {
        /// Log blocks in all.
        logs: u32,
        /// Log blocks that a cluster has at most, for each of its logical blocks.
        each: u32,
        /// Logical blocks of a cluster, page by page on as many flash blocks.
        width: u32,
        /// From so many pages in order on, what leaves together replaces the block at once: with
        /// the rest of it, which is copied. At 1 there are no logs.
        whole: u32,
    },
    /// Log blocks in which pages of all logical blocks lie.
    SharedLogs {
        /// How many.
        logs: u32,
    },
    /// Adjacent logical blocks share flash blocks, in which their pages lie anywhere.
    Superblocks {
        /// Logical blocks of a superblock.
        width: u32,
        /// Flash blocks that it has at most beside as many.
        each: u32,
    },
}

/// How long the work takes, in ns, the bus included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// A page is read.
    pub read: u64,
    /// A page is programmed.
    pub program: u64,
    /// A block is erased.
    pub erase: u64,
}

impl Times {
    /// A page is copied.
    pub fn copy(&self) -> u64 {
        self.read + self.program
    }
}

impl Default for Times {
    /// Those of a chip with single-level cells.
    fn default() -> Self {
        Self { read: 125_000, program: 300_000, erase: 1_500_000 }
    }
}
