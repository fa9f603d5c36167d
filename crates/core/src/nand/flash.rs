//! What the chips allow, by issue: each block's write pointer, its holes and its erases.
//!
//! The rules hold in release builds too. The first breach is kept and ends the run: a scheme that
//! breaks them is wrong, and its numbers would be.

use serde::{Deserialize, Serialize};

use thiserror::Error;

use super::config::ProgramOrder;
use super::geometry::Geometry;
use crate::support::bits::Bits;
use crate::support::ids::BlockId;

/// A flash operation that no chip would carry out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    /// A page was programmed that is not erased, or out of the chip's order.
    #[error(
        "program of page {page} of block {block}, whose next free page is {next} ({order:?} order)"
    )]
    ProgramOrder {
        /// Erase block.
        block: BlockId,
        /// Page that was to be programmed.
        page: u32,
        /// First page that may be.
        next: u32,
        /// The chip's rule.
        order: ProgramOrder,
    },
    /// A page beyond the end of the block.
    #[error("pages {page}..{end} of block {block}, which has {pages}")]
    PastEnd {
        /// Erase block.
        block: BlockId,
        /// First page.
        page: u32,
        /// Page after the last.
        end: u32,
        /// Pages of a block.
        pages: u32,
    },
    /// A page was read or copied that holds nothing.
    #[error("read of page {page} of block {block}, which is erased")]
    ReadErased {
        /// Erase block.
        block: BlockId,
        /// Page.
        page: u32,
    },
    /// A copy between dies, or copy-back between planes.
    #[error("copy from block {source_block} to block {block}: {why}")]
    Copy {
        /// Where from.
        source_block: BlockId,
        /// Where to.
        block: BlockId,
        /// The rule.
        why: &'static str,
    },
    /// A program that is not a whole program unit.
    #[error(
        "program of pages {page}..{end} of block {block}, expected whole units of {unit} pages"
    )]
    PartialProgram {
        /// Erase block.
        block: BlockId,
        /// First page.
        page: u32,
        /// Page after the last.
        end: u32,
        /// Pages of a program unit.
        unit: u32,
    },
}

/// The array's state by issue.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flash {
    /// The array's numbers.
    pub geometry: Geometry,
    order: ProgramOrder,
    /// Next page that may be programmed (sequential, ascending).
    write_ptr: Vec<u32>,
    /// Pages that hold something, where any may be programmed; that have been left out, where only
    /// those that come after; else nothing.
    marked: Option<Bits>,
    erases: Vec<u32>,
    /// Erases after which a block is worn out; 0 where none wears out.
    endurance: u32,
    #[serde(skip)]
    violation: Option<Violation>,
}

impl Flash {
    /// A fully erased array.
    pub fn new(geometry: Geometry, order: ProgramOrder) -> Self {
        let blocks = geometry.blocks() as usize;
        let marked =
            (order != ProgramOrder::Sequential).then(|| Bits::new(geometry.pages() as usize));
        Self {
            geometry,
            order,
            write_ptr: vec![0; blocks],
            marked,
            erases: vec![0; blocks],
            endurance: 0,
            violation: None,
        }
    }

    /// The array's numbers.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Next page of `block` that may be programmed.
    #[inline]
    pub fn write_ptr(&self, block: BlockId) -> u32 {
        self.write_ptr[block.index()]
    }

    /// The chip's rule.
    pub fn order(&self) -> ProgramOrder {
        self.order
    }

    /// How often each block was erased.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Starts counting erases afresh. From now on blocks are worn out after `endurance` of them;
    /// never, if that is 0.
    pub fn reset_erases(&mut self, endurance: u32) {
        self.erases.fill(0);
        self.endurance = endurance;
    }

    /// Goes on counting from the erases that blocks had before a power cut.
    pub fn restore_erases(&mut self, erases: &[u32]) {
        self.erases.copy_from_slice(erases);
    }

    /// Whether a block has been erased as often as it endures, and should not be written any more.
    #[inline]
    pub fn is_worn_out(&self, block: BlockId) -> bool {
        self.endurance > 0 && self.erases[block.index()] >= self.endurance
    }

    /// The first breach of a rule, if any.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.write_ptr.len() * 8 + self.marked.as_ref().map_or(0, Bits::bytes)
    }

    #[cold]
    fn breach(&mut self, violation: Violation) {
        self.violation.get_or_insert(violation);
    }

    /// Programs pages `page..page + count` of `block`.
    #[inline(always)]
    pub fn program(&mut self, block: BlockId, page: u32, count: u32) {
        let write_ptr = &mut self.write_ptr[block.index()];
        let (end, next, pages) = (page + count, *write_ptr, self.geometry.pages_per_block);
        if end > pages {
            return self.breach(Violation::PastEnd { block, page, end, pages });
        }
        let unit = self.geometry.program_pages;
        if unit > 1 && (!page.is_multiple_of(unit) || !count.is_multiple_of(unit)) {
            return self.breach(Violation::PartialProgram { block, page, end, unit });
        }
        let legal = match self.order {
            ProgramOrder::Sequential => page == next,
            ProgramOrder::Ascending => page >= next,
            ProgramOrder::Any => {
                let base = self.geometry.ppn(block, 0).index();
                self.marked
                    .as_ref()
                    .is_none_or(|w| w.count_range(base + page as usize, base + end as usize) == 0)
            }
        };
        if !legal {
            return self.breach(Violation::ProgramOrder { block, page, next, order: self.order });
        }
        *write_ptr = end.max(next);
        if self.order == ProgramOrder::Any {
            self.mark(block, page, end);
        } else if page > next {
            self.mark(block, next, page);
        }
    }

    /// Marks pages `from..to` of `block`.
    #[inline(never)]
    fn mark(&mut self, block: BlockId, from: u32, to: u32) {
        if let Some(marked) = &mut self.marked {
            let base = self.geometry.ppn(block, 0).index();
            marked.set_range(base + from as usize, base + to as usize);
        }
    }

    /// Reads pages `page..page + count` of `block`.
    #[inline]
    pub fn read(&mut self, block: BlockId, page: u32, count: u32) {
        let end = page + count;
        let next = self.write_ptr[block.index()];
        if end > next {
            return self.breach(Violation::ReadErased { block, page: next.max(page) });
        }
        if let Some(marked) = &self.marked {
            let base = self.geometry.ppn(block, 0).index();
            let (from, to) = (base + page as usize, base + end as usize);
            if count == 1 && marked.get(from) == (self.order == ProgramOrder::Any) {
                return;
            }
            let hole = match self.order {
                ProgramOrder::Any => marked.first_clear(from, to),
                ProgramOrder::Ascending | ProgramOrder::Sequential => marked.first_set(from, to),
            };
            if let Some(hole) = hole {
                self.breach(Violation::ReadErased { block, page: (hole - base) as u32 });
            }
        }
    }

    /// Checks that a copy from `source` to `block` is one that the chip can do.
    #[inline]
    pub fn check_copy(&mut self, source: BlockId, block: BlockId, copy_back: bool) {
        let (from, to) = (self.geometry.unit_of(source), self.geometry.unit_of(block));
        if from == to {
            return;
        }
        let why = if self.geometry.die_of(from) != self.geometry.die_of(to) {
            "the blocks lie on different dies"
        } else if copy_back {
            "copy-back stays inside a plane"
        } else {
            return;
        };
        self.breach(Violation::Copy { source_block: source, block, why });
    }

    /// Erases `block`.
    #[inline]
    pub fn erase(&mut self, block: BlockId) {
        self.write_ptr[block.index()] = 0;
        self.erases[block.index()] += 1;
        if let Some(marked) = &mut self.marked {
            let (base, pages) =
                (self.geometry.ppn(block, 0).index(), self.geometry.pages_per_block as usize);
            marked.clear_range(base, base + pages);
        }
    }

    /// Pages that can be programmed before a block has to be erased.
    pub fn free_pages(&self) -> u64 {
        let pages = u64::from(self.geometry.pages());
        let used: u64 = match (&self.marked, self.order) {
            // Holes may still be filled.
            (Some(written), ProgramOrder::Any) => {
                written.count_range(0, self.geometry.pages() as usize).into()
            }
            _ => self.write_ptr.iter().map(|&next| u64::from(next)).sum(),
        };
        pages - used
    }

    /// Whether page `page` of `block` can be programmed: it is erased, and the chip's order allows
    /// it.
    #[inline]
    pub fn accepts(&self, block: BlockId, page: u32) -> bool {
        match self.order {
            ProgramOrder::Sequential => page == self.write_ptr(block),
            ProgramOrder::Ascending => page >= self.write_ptr(block),
            ProgramOrder::Any => !self.is_written(block, page),
        }
    }

    /// Whether page `page` of `block` holds something.
    pub fn is_written(&self, block: BlockId, page: u32) -> bool {
        let is_marked = |marked: &Bits| marked.get(self.geometry.ppn(block, page).index());
        if self.order == ProgramOrder::Any {
            return self.marked.as_ref().is_some_and(is_marked);
        }
        page < self.write_ptr[block.index()] && !self.marked.as_ref().is_some_and(is_marked)
    }

    /// Takes over the state of a block from what a power cut left: pages that hold something, also
    /// torn ones.
    pub fn restore(&mut self, block: BlockId, written: impl Iterator<Item = u32>) {
        for page in written {
            let next = std::mem::replace(&mut self.write_ptr[block.index()], page + 1);
            if self.order == ProgramOrder::Any {
                self.mark(block, page, page + 1);
            } else if page > next {
                self.mark(block, next, page);
            }
        }
    }
}
