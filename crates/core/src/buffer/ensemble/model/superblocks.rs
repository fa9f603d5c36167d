//! Superblocks: pages anywhere among the flash blocks of a few adjacent logical blocks.

use super::Units;
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};

/// A superblock.
#[derive(Debug)]
struct Group {
    /// Its flash blocks, the open one last.
    blocks: Vec<u32>,
    /// Next page of the open one.
    next: u32,
}

/// The superblocks, and where pages lie.
#[derive(Debug)]
pub struct Superblocks {
    pages_per_block: u32,
    width: u32,
    each: u32,
    groups: Vec<Group>,
    erased: Vec<u32>,
    /// Flash block of each page, or [`NONE`].
    block_of: Vec<u32>,
    /// Pages that count, of each flash block.
    counts: Vec<u16>,
    /// Superblocks with blocks of the spare ones, the one written longest ago last.
    order: List,
    links: Links,
}

impl Superblocks {
    /// A full drive.
    pub fn new(pages: u32, pages_per_block: u32, width: u32, each: u32, spare: u32) -> Self {
        let blocks = pages.div_ceil(pages_per_block);
        let groups = blocks.div_ceil(width);
        let spare = spare.max(3);
        let mut counts = vec![0; (blocks + spare) as usize];
        let block_of: Vec<u32> = (0..pages).map(|page| page / pages_per_block).collect();
        for &block in &block_of {
            counts[block as usize] += 1;
        }
        let group = |n: u32| Group {
            blocks: (n * width..((n + 1) * width).min(blocks)).collect(),
            next: pages_per_block,
        };
        Self {
            pages_per_block,
            width,
            each,
            groups: (0..groups).map(group).collect(),
            erased: (blocks..blocks + spare).rev().collect(),
            block_of,
            counts,
            order: List::default(),
            links: Links::new(groups as usize),
        }
    }

    /// Writes a page; when it is stored.
    pub fn write(&mut self, units: &mut Units, lpn: Lpn) -> u64 {
        let group = lpn.block(self.pages_per_block).0 / self.width;
        let unit = group % units.count();
        if self.groups[group as usize].next == self.pages_per_block {
            self.open(units, group);
        }
        self.put(group, lpn.0);
        if self.extra(group) > 0 {
            self.order.touch(&mut self.links, group);
        }
        units.program(unit, 1)
    }

    fn own(&self, group: u32) -> u32 {
        let blocks = (self.block_of.len() as u32).div_ceil(self.pages_per_block);
        self.width.min(blocks - group * self.width)
    }

    fn extra(&self, group: u32) -> u32 {
        (self.groups[group as usize].blocks.len() as u32).saturating_sub(self.own(group))
    }

    fn put(&mut self, group: u32, page: u32) {
        let of = &mut self.groups[group as usize];
        let Some(&open) = of.blocks.last() else { unreachable!("it has blocks") };
        of.next += 1;
        let old = std::mem::replace(&mut self.block_of[page as usize], open);
        self.counts[old as usize] -= 1;
        self.counts[open as usize] += 1;
    }

    /// Gives a superblock a block to write.
    fn open(&mut self, units: &mut Units, group: u32) {
        if self.extra(group) >= self.each {
            self.collect(units, group);
        } else if self.erased.len() <= 2 {
            let oldest = self.order.back();
            self.collect(units, if oldest == NONE { group } else { oldest });
        }
        while self.groups[group as usize].next == self.pages_per_block {
            if self.erased.len() <= 1 && self.collect(units, group) {
                continue;
            }
            self.take(group);
        }
    }

    fn take(&mut self, group: u32) {
        let Some(block) = self.erased.pop() else {
            // A real one would have to wait here; the model makes do.
            self.groups[group as usize].next = 0;
            return;
        };
        let had = self.extra(group);
        let of = &mut self.groups[group as usize];
        of.blocks.push(block);
        of.next = 0;
        if had == 0 && self.extra(group) > 0 {
            self.order.push_front(&mut self.links, group);
        }
    }

    /// Empties blocks of a superblock until it has one less; whether it has.
    fn collect(&mut self, units: &mut Units, group: u32) -> bool {
        let unit = group % units.count();
        let target = self.groups[group as usize].blocks.len() - 1;
        loop {
            let full = self.groups[group as usize].next == self.pages_per_block;
            let blocks = &self.groups[group as usize].blocks;
            let some = &blocks[..blocks.len() - usize::from(!full)];
            let Some(at) =
                (0..some.len()).min_by_key(|&at| (self.counts[some[at] as usize], some[at]))
            else {
                return false;
            };
            let victim = some[at];
            if u32::from(self.counts[victim as usize]) >= self.pages_per_block {
                // Nothing can be won.
                return false;
            }
            let (from, to) = (
                group * self.width * self.pages_per_block,
                ((group + 1) * self.width * self.pages_per_block).min(self.block_of.len() as u32),
            );
            for page in from..to {
                if self.block_of[page as usize] == victim {
                    if self.groups[group as usize].next == self.pages_per_block {
                        self.take(group);
                    }
                    self.put(group, page);
                    units.copy(unit, 1);
                }
            }
            units.erase(unit, 1);
            self.groups[group as usize].blocks.retain(|&block| block != victim);
            self.erased.push(victim);
            if self.extra(group) == 0 && self.order_has(group) {
                self.order.remove(&mut self.links, group);
            }
            if self.groups[group as usize].blocks.len() <= target {
                return true;
            }
        }
    }

    fn order_has(&self, group: u32) -> bool {
        self.order.front() == group || self.order.before(&self.links, group) != NONE
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.block_of.len() * 4 + self.counts.len() * 2 + self.links.bytes()
    }
}
