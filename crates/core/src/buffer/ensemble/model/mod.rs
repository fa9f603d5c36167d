//! A drive in miniature: how long the host would wait if these pages left the buffer.
//!
//! Each unit of the array has a time at which it is free again; what an FTL would do is added to
//! it. A few requests are always under way, so that the time at which the last one begins is what
//! all of them have cost. Nothing of it is data: a model has tables of numbers alone.

mod logs;
mod page_map;
mod shared;
mod stored;
mod superblocks;

use crate::buffer::{Evicted, View};
use crate::support::ids::{LogicalBlock, Lpn};
use crate::upkeep::{Times, Upkeep};
use logs::OwnLogs;
use page_map::PageMap;
use shared::SharedLogs;
use stored::Stored;
use superblocks::Superblocks;

/// Logical pages of a drive up to which each page's place is modelled.
const MOST_PAGES: u32 = 1 << 18;
/// Requests that are under way at the same time.
const UNDER_WAY: usize = 4;

/// The units of an array, and what they have done.
#[derive(Debug)]
pub struct Units {
    times: Times,
    /// When each is free.
    free: Vec<u64>,
    /// Nothing begins before this.
    now: u64,
    erases: u64,
}

impl Units {
    fn run(&mut self, unit: u32, ns: u64) -> u64 {
        let free = &mut self.free[unit as usize];
        *free = (*free).max(self.now) + ns;
        *free
    }

    fn count(&self) -> u32 {
        self.free.len() as u32
    }

    fn read(&mut self, unit: u32) -> u64 {
        self.run(unit, self.times.read)
    }

    fn program(&mut self, unit: u32, pages: u32) -> u64 {
        self.run(unit, self.times.program * u64::from(pages))
    }

    fn copy(&mut self, unit: u32, pages: u32) -> u64 {
        self.run(unit, self.times.copy() * u64::from(pages))
    }

    fn erase(&mut self, unit: u32, blocks: u32) -> u64 {
        self.erases += u64::from(blocks);
        self.run(unit, self.times.erase * u64::from(blocks))
    }
}

/// A request under way.
#[derive(Debug, Clone, Copy, Default)]
struct Waiting {
    /// It has what it reads.
    end: u64,
    /// So many pages have to be stored in all before there is room for what it writes.
    stored: u64,
}

#[derive(Debug)]
enum Ftl {
    /// Pages are programmed where their block lies, and that is all.
    Plain,
    /// Pages are programmed on the units in turn, and that is all: the last one that was.
    Turns(u32),
    Pages(PageMap),
    OwnLogs(OwnLogs),
    SharedLogs(SharedLogs),
    Superblocks(Superblocks),
}

/// A drive in miniature.
#[derive(Debug)]
pub struct Model {
    pages: u32,
    pages_per_block: u32,
    units: Units,
    ftl: Ftl,
    /// Requests under way, the oldest first: one less than there may be, and the next one.
    under_way: [Waiting; UNDER_WAY],
    waiting: usize,
    /// When the present one has what it reads.
    end: u64,
    /// Something was done for it.
    touched: bool,
    /// Pages that have left, and when they are stored.
    left: u64,
    stored: Stored,
}

impl Model {
    /// Of an FTL of a kind, over so many logical pages.
    pub fn new(view: &dyn View, pages: u32, pages_per_block: u32) -> Self {
        let (upkeep, times, units) = (view.upkeep(), view.times(), view.units());
        let blocks = pages.div_ceil(pages_per_block);
        let spare = view.erase_blocks().saturating_sub(blocks);
        let ftl = match upkeep {
            Upkeep::Unknown => Ftl::Plain,
            // What is kept for each page of the drive would be more than all else.
            Upkeep::Pages { .. } if pages > MOST_PAGES => Ftl::Turns(0),
            Upkeep::Superblocks { .. } if pages > MOST_PAGES => Ftl::Plain,
            Upkeep::Pages { by_block } => {
                Ftl::Pages(PageMap::new(pages, pages_per_block, spare, units, by_block))
            }
            Upkeep::OwnLogs { logs, each, width, whole } => {
                Ftl::OwnLogs(OwnLogs::new(blocks, pages_per_block, logs, each, width, whole))
            }
            Upkeep::SharedLogs { logs } => {
                Ftl::SharedLogs(SharedLogs::new(pages, pages_per_block, logs))
            }
            Upkeep::Superblocks { width, each } => {
                Ftl::Superblocks(Superblocks::new(pages, pages_per_block, width, each, spare))
            }
        };
        Self {
            pages,
            pages_per_block,
            units: Units { times, free: vec![0; units as usize], now: 0, erases: 0 },
            ftl,
            under_way: [Waiting::default(); UNDER_WAY],
            waiting: 0,
            end: 0,
            touched: false,
            left: 0,
            stored: Stored::default(),
        }
    }

    /// Whether the present request has done anything.
    #[inline]
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// The request, which has done something, has been told of, and so many pages are held. When as
    /// many are under way as there may be, time goes on to when the next one can begin.
    pub fn next(&mut self, held: u32, capacity: u32) {
        self.touched = false;
        let stored = (self.left + u64::from(held)).saturating_sub(u64::from(capacity));
        self.under_way[self.waiting] = Waiting { end: self.end, stored };
        self.waiting += 1;
        if self.waiting == UNDER_WAY {
            let answered = self.answer();
            self.units.now = self.units.now.max(answered);
        }
        self.end = self.units.now;
    }

    /// When the first of the requests under way is answered, which is none of them from then on.
    fn answer(&mut self) -> u64 {
        // Where nothing is on its way, nobody is ever answered, as far as is known.
        let done =
            |one: &Waiting| self.stored.when(one.stored).map_or(u64::MAX, |at| at.max(one.end));
        let (mut first, mut time) = (0, done(&self.under_way[0]));
        for (at, one) in self.under_way.iter().enumerate().skip(1) {
            let end = done(one);
            if end < time {
                (first, time) = (at, end);
            }
        }
        self.stored.forget(time);
        let gone = self.under_way[first];
        self.under_way.copy_within(first + 1.., first);
        self.waiting -= 1;
        // Nobody waits for what is not on its way.
        if time == u64::MAX { gone.end } else { time }
    }

    /// The host waits for a page that is read from flash.
    pub fn read(&mut self, view: &dyn View, lpn: Lpn) {
        self.touched = true;
        let unit = self.unit_of(view, lpn);
        self.end = self.end.max(self.units.read(unit));
    }

    /// These pages of one logical block leave together, of which the others are read and written
    /// along if it is `padded`.
    pub fn write(&mut self, view: &dyn View, pages: &[Evicted], padded: bool) {
        let block = pages[0].lpn.block(self.pages_per_block);
        let unit = if self.ftl.asks_for_blocks() {
            self.unit_of(view, block.first(self.pages_per_block))
        } else {
            0
        };
        self.write_to((block, unit), pages, padded, |lpn| view.home(lpn).map(|unit| unit.0));
    }

    /// The same where nothing is shown of the drive: each block lies where its number says.
    pub fn write_blind(&mut self, pages: &[Evicted], padded: bool) {
        let block = pages[0].lpn.block(self.pages_per_block);
        self.write_to((block, block.0 % self.units.count()), pages, padded, |_| None);
    }

    fn write_to(
        &mut self,
        (block, unit): (LogicalBlock, u32),
        pages: &[Evicted],
        padded: bool,
        home: impl Fn(Lpn) -> Option<u32>,
    ) {
        self.touched = true;
        let (mut first, mut last) = (u64::MAX, 0);
        let one = |end: u64| {
            first = first.min(end);
            last = last.max(end);
        };
        if padded {
            let mut all = block.range(self.pages_per_block);
            all.end = all.end.min(Lpn(self.pages));
            for _ in pages.len() as u32..all.end - all.start {
                self.units.read(unit);
            }
            self.ftl.write(&mut self.units, unit, block, Lpn::each(all), home, one);
        } else {
            let pages = pages.iter().map(|page| page.lpn);
            self.ftl.write(&mut self.units, unit, block, pages, home, one);
        }
        self.stored.add(first, last, pages.len() as u32);
        self.left += pages.len() as u64;
    }

    /// What all requests have cost so far: the time that they took, in ns.
    #[inline]
    pub fn cost(&self) -> u64 {
        self.units.now
    }

    /// Blocks erased for it.
    pub fn erases(&self) -> u64 {
        self.units.erases
    }

    fn unit_of(&self, view: &dyn View, lpn: Lpn) -> u32 {
        let units = self.units.count();
        view.unit_of(lpn).map_or(lpn.block(self.pages_per_block).0, |unit| unit.0) % units
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let ftl = match &self.ftl {
            Ftl::Plain | Ftl::Turns(_) => 0,
            Ftl::Pages(map) => map.bytes(),
            Ftl::OwnLogs(logs) => logs.bytes(),
            Ftl::SharedLogs(logs) => logs.bytes(),
            Ftl::Superblocks(map) => map.bytes(),
        };
        ftl + self.units.free.len() * 8 + self.stored.bytes()
    }
}

impl Ftl {
    /// Whether it matters where a block lies.
    fn asks_for_blocks(&self) -> bool {
        match self {
            Self::Turns(_) | Self::Superblocks(_) => false,
            Self::Pages(map) => map.by_block(),
            Self::Plain | Self::OwnLogs(_) | Self::SharedLogs(_) => true,
        }
    }

    /// Writes pages of a block, upwards; says when each is stored.
    fn write(
        &mut self,
        units: &mut Units,
        unit: u32,
        block: LogicalBlock,
        pages: impl ExactSizeIterator<Item = Lpn> + Clone,
        home: impl Fn(Lpn) -> Option<u32>,
        mut stored: impl FnMut(u64),
    ) {
        match self {
            Self::Plain => pages.for_each(|_| stored(units.program(unit, 1))),
            Self::Turns(turn) => pages.for_each(|_| {
                *turn = (*turn + 1) % units.count();
                stored(units.program(*turn, 1));
            }),
            Self::Pages(map) => {
                let near = map.by_block().then_some(unit);
                pages.for_each(|lpn| stored(map.write(units, lpn, home(lpn).or(near))));
            }
            Self::OwnLogs(logs) => logs.write(units, unit, block, pages, stored),
            Self::SharedLogs(logs) => logs.write(units, unit, pages, stored),
            Self::Superblocks(map) => pages.for_each(|lpn| stored(map.write(units, lpn))),
        }
    }
}
