//! What the host wrote, block by block, in windows of time.
//!
//! A window is a stretch of the workload; the buffer's limit is looked at where windows end, and
//! nowhere else. Of a page that is written twice in a window the first time is forgotten. Both
//! only leave something out, so that a bound for what is left holds for all.

/// One step of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It writes pages of one logical block; `forced`: they are stored at once.
    Write {
        /// First logical page.
        first: u32,
        /// Pages.
        count: u32,
        /// They are stored at once.
        forced: bool,
    },
    /// It no longer needs pages.
    Trim {
        /// First logical page.
        first: u32,
        /// Pages.
        count: u32,
    },
    /// It wants everything stored.
    Flush,
}

/// A window in which a block was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub window: u32,
    /// Its pages end here in [`Block::pages`].
    pub end: u32,
    /// All that was written up to here has to be stored before the next entry.
    pub stored: bool,
    /// Something that is written here has to be stored at once.
    pub forced: bool,
}

/// A block that was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub number: u32,
    /// Windows, upwards.
    pub entries: Vec<Entry>,
    /// Offsets of the pages of each entry, each once.
    pub pages: Vec<u16>,
    /// Pages of it were trimmed after the last entry; what happened then is left out.
    pub trimmed: bool,
}

impl Entry {
    /// Pages of the block have to be stored here.
    pub fn must(&self) -> bool {
        self.stored || self.forced
    }
}

impl Block {
    /// Pages of an entry.
    pub fn pages_of(&self, entry: usize) -> &[u16] {
        let begin = if entry == 0 { 0 } else { self.entries[entry - 1].end };
        &self.pages[begin as usize..self.entries[entry].end as usize]
    }
}

/// All blocks that were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// Windows.
    pub windows: u32,
    /// Blocks, in the order of their numbers.
    pub blocks: Vec<Block>,
}

impl History {
    /// Of `steps`; a window ends after `pages` written pages, and where everything is stored.
    /// O(n log n).
    pub fn new(steps: &[Step], pages_per_block: u32, pages: u32, flushed_at_end: bool) -> Self {
        let mut writes: Vec<(u32, u32, u16)> = Vec::new();
        let (mut trims, mut forced, mut flushes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut window, mut filled) = (0, 0);
        for &step in steps {
            match step {
                Step::Write { first, count, forced: at_once } => {
                    let (block, offset) = (first / pages_per_block, first % pages_per_block);
                    writes.extend((offset..offset + count).map(|at| (block, window, at as u16)));
                    if at_once {
                        forced.push((block, window));
                    }
                    filled += count;
                }
                Step::Trim { first, count } if count > 0 => {
                    let blocks = first / pages_per_block..=(first + count - 1) / pages_per_block;
                    trims.extend(blocks.map(|block| (block, window)));
                }
                Step::Flush if filled > 0 => flushes.push(window),
                Step::Flush if window > 0 => flushes.push(window - 1),
                Step::Trim { .. } | Step::Flush => {}
            }
            if filled >= pages || (step == Step::Flush && filled > 0) {
                (window, filled) = (window + 1, 0);
            }
        }
        if flushed_at_end {
            flushes.push(window);
        }
        writes.sort_unstable();
        writes.dedup();
        trims.sort_unstable();
        forced.sort_unstable();
        let blocks = writes
            .chunk_by(|a, b| a.0 == b.0)
            .map(|of_block| block_of(of_block, &trims, &forced, &flushes))
            .filter(|block| !block.entries.is_empty())
            .collect();
        Self { windows: window + 1, blocks }
    }
}

/// A block from its writes; `flushes` are windows, upwards.
fn block_of(
    writes: &[(u32, u32, u16)],
    trims: &[(u32, u32)],
    forced: &[(u32, u32)],
    flushes: &[u32],
) -> Block {
    let number = writes[0].0;
    let trim = trims.get(trims.partition_point(|trim| trim.0 < number));
    let trim = trim.filter(|trim| trim.0 == number).map(|trim| trim.1);
    let mut block = Block { number, trimmed: trim.is_some(), ..Block::default() };
    let mut windows = writes.chunk_by(|a, b| a.1 == b.1).peekable();
    while let Some(pages) = windows.next() {
        let window = pages[0].1;
        if trim.is_some_and(|trim| trim <= window) {
            break;
        }
        block.pages.extend(pages.iter().map(|page| page.2));
        let next = windows.peek().map_or(u32::MAX, |next| next[0].1).min(trim.unwrap_or(u32::MAX));
        // A flush command ends its window.
        let flush = flushes.get(flushes.partition_point(|&flush| flush < window));
        let stored = flush.is_some_and(|&flush| flush < next);
        let forced = forced.binary_search(&(number, window)).is_ok();
        block.entries.push(Entry { window, end: block.pages.len() as u32, stored, forced });
    }
    block
}
