//! One logical block of many, and the drive as it looks from there.
//!
//! Of each `every` adjacent logical blocks one is in the sample, drawn by a hash of their number.
//! The sample is a drive of its own: its block `n` is the one that was drawn of the `n`th such
//! group. Whole blocks are drawn, as schemes of blocks would make nothing of single pages.

use crate::buffer::{Shape, Span, View};
use crate::pattern::{Pattern, Route};
use crate::support::ids::{LogicalBlock, Lpn, PlaneId};
use crate::upkeep::{Times, Upkeep};

/// Which blocks are in the sample.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    every: u32,
    shape: Shape,
}

impl Sample {
    /// One block of `every` of a drive.
    pub fn new(every: u32, shape: Shape) -> Self {
        Self { every, shape }
    }

    /// What a buffer of the sample is built for.
    pub fn shape(&self) -> Shape {
        let Shape { capacity, pages_per_block, logical_pages } = self.shape;
        let blocks = logical_pages.div_ceil(pages_per_block).div_ceil(self.every);
        let pages = if self.every == 1 { logical_pages } else { blocks * pages_per_block };
        Shape { capacity: capacity / self.every, pages_per_block, logical_pages: pages }
    }

    /// Which of its group is drawn.
    fn drawn(&self, group: u32) -> u32 {
        (group.wrapping_add(1).wrapping_mul(0x9e37_79b1) >> 7) % self.every
    }

    /// A span as the sample has it, if it does.
    pub fn span(&self, span: &Span) -> Option<Span> {
        let first = self.page(span.first)?;
        Some(Span { first, ..*span })
    }

    /// A page as the sample has it, if it does.
    pub fn page(&self, lpn: Lpn) -> Option<Lpn> {
        if self.every == 1 {
            return Some(lpn);
        }
        let block = lpn.block(self.shape.pages_per_block).0;
        let group = block / self.every;
        (block % self.every == self.drawn(group)).then(|| {
            LogicalBlock(group).first(self.shape.pages_per_block)
                + lpn.offset(self.shape.pages_per_block)
        })
    }

    /// The drive's page that a page of the sample stands for.
    fn real(&self, lpn: Lpn) -> Lpn {
        if self.every == 1 {
            return lpn;
        }
        let ppb = self.shape.pages_per_block;
        let page = self.real_block(lpn.block(ppb)).first(ppb) + lpn.offset(ppb);
        page.min(Lpn(self.shape.logical_pages - 1))
    }

    fn real_block(&self, block: LogicalBlock) -> LogicalBlock {
        let last = (self.shape.logical_pages - 1) / self.shape.pages_per_block;
        LogicalBlock((block.0 * self.every + self.drawn(block.0)).min(last))
    }
}

/// The drive, seen from the sample.
pub struct Seen<'a> {
    /// The drive.
    pub view: &'a dyn View,
    /// The sample.
    pub sample: Sample,
}

impl View for Seen<'_> {
    fn units(&self) -> u32 {
        self.view.units()
    }
    fn unit_of(&self, lpn: Lpn) -> Option<PlaneId> {
        self.view.unit_of(self.sample.real(lpn))
    }
    fn home(&self, lpn: Lpn) -> Option<PlaneId> {
        self.view.home(self.sample.real(lpn))
    }
    fn chips(&self) -> u32 {
        self.view.chips()
    }
    fn home_chip(&self, lpn: Lpn) -> Option<u32> {
        self.view.home_chip(self.sample.real(lpn))
    }
    fn queued(&self, unit: PlaneId) -> u32 {
        self.view.queued(unit)
    }
    fn maps_pages(&self) -> bool {
        self.view.maps_pages()
    }
    fn padding_pays(&self, pages: u32) -> bool {
        self.view.padding_pays(pages)
    }
    fn upkeep(&self) -> Upkeep {
        let share = |logs: u32| if logs == 0 { 0 } else { (logs / self.sample.every).max(1) };
        match self.view.upkeep() {
            Upkeep::OwnLogs { logs, each, width, whole } => {
                Upkeep::OwnLogs { logs: share(logs), each, width, whole }
            }
            Upkeep::SharedLogs { logs } => Upkeep::SharedLogs { logs: share(logs) },
            other => other,
        }
    }
    fn erase_blocks(&self) -> u32 {
        self.view.erase_blocks() / self.sample.every
    }
    fn times(&self) -> Times {
        self.view.times()
    }
    fn free_blocks(&self, unit: PlaneId) -> u32 {
        self.view.free_blocks(unit)
    }
    fn channels(&self) -> u32 {
        self.view.channels()
    }
    fn channel_ready(&self, channel: u32) -> bool {
        self.view.channel_ready(channel)
    }
    fn route(&self, block: LogicalBlock, pattern: Pattern) -> Route {
        self.view.route(self.sample.real_block(block), pattern)
    }
    fn unit_of_block(&self, block: LogicalBlock) -> Option<PlaneId> {
        self.view.unit_of_block(self.sample.real_block(block))
    }
}
