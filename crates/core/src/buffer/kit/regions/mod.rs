//! HBM's two regions: single pages in the order of use, and blocks by popularity; with the rules by
//! which pages move, blocks leave and the threshold follows the block region. For HBM itself, and
//! for buffers whose part for writes works like it.

pub mod rules;

use std::collections::BTreeSet;

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg32;

use self::rules::{PageOrder, Room, Rules, SizeTie, Threshold, Tie};
use super::blocks::{Directory, require_room, require_share};
use super::pages::PageTable;
use crate::buffer::{Evicted, Outcome, Reason, Shape, Span};
use crate::support::bits::Bits;
use crate::support::classes::Classes;
use crate::support::frequency::Frequency;
use crate::support::heap::Heap;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::list::{Links, List};

/// Pages from which on a buffer counts as large: 16 MiB of 2 KiB pages.
const LARGE: u32 = 8192;

const LEAST_POPULAR_FULLEST: Reason = "least popular block, the fullest among equals";
const LEAST_POPULAR_EMPTIEST: Reason =
    "least popular block, the one with fewest pages among equals";
const COMPENSATION: Reason = "block region empty: last page of the page region and its block";
const LAST_PAGE: Reason = "block region empty: last page of the page region";

/// Rank of a block in the block region: its popularity above what its pages say, in one number.
type Rank = u64;

/// The block region: blocks by rank, and which of equal ones leaves.
#[derive(Debug)]
enum Lar {
    /// Any of them, drawn when room has to be made.
    Random(Classes<Rank>, Pcg32),
    /// The one with the lowest number.
    LowestBlock(Heap<(Rank, LogicalBlock)>),
}

impl Lar {
    fn new(config: &Rules, nodes: usize) -> Self {
        match config.tie {
            Tie::Random => Self::Random(Classes::new(nodes), Pcg32::seed_from_u64(config.seed)),
            Tie::LowestBlock => Self::LowestBlock(Heap::new(nodes)),
        }
    }

    fn set(&mut self, node: u32, rank: Rank, lbn: LogicalBlock) {
        match self {
            Self::Random(classes, _) => classes.set(node, rank),
            Self::LowestBlock(heap) => heap.set(node, (rank, lbn)),
        }
    }

    /// The rank that a block was given last.
    fn rank(&self, node: u32) -> Option<Rank> {
        match self {
            Self::Random(classes, _) => classes.rank(node),
            Self::LowestBlock(heap) => heap.key(node).map(|(rank, _)| rank),
        }
    }

    fn remove(&mut self, node: u32) {
        match self {
            Self::Random(classes, _) => classes.remove(node),
            Self::LowestBlock(heap) => heap.remove(node),
        }
    }

    /// The block that leaves now, if there is one.
    fn draw(&mut self) -> Option<u32> {
        match self {
            Self::Random(classes, random) => match classes.least() {
                [] => None,
                [only] => Some(*only),
                several => Some(several[random.random_range(0..several.len())]),
            },
            Self::LowestBlock(heap) => heap.first().map(|(_, node)| node),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Random(classes, _) => classes.bytes(),
            Self::LowestBlock(heap) => heap.bytes(),
        }
    }
}

/// The page region's order.
#[derive(Debug)]
enum Order {
    Lru(List, Links),
    Lfu(Frequency),
}

impl Order {
    fn new(order: PageOrder, slots: usize) -> Self {
        match order {
            PageOrder::Lru => Self::Lru(List::default(), Links::new(slots)),
            PageOrder::Lfu => Self::Lfu(Frequency::new(slots)),
        }
    }

    fn insert(&mut self, slot: u32) {
        match self {
            Self::Lru(list, links) => list.push_front(links, slot),
            Self::Lfu(frequency) => frequency.insert(slot),
        }
    }

    fn touch(&mut self, slot: u32) {
        match self {
            Self::Lru(list, links) => list.touch(links, slot),
            Self::Lfu(frequency) => frequency.touch(slot),
        }
    }

    fn remove(&mut self, slot: u32) {
        match self {
            Self::Lru(list, links) => list.remove(links, slot),
            Self::Lfu(frequency) => frequency.remove(slot),
        }
    }

    /// How often a slot was used, where that counts.
    fn uses(&self, slot: u32) -> u32 {
        match self {
            Self::Lru(..) => 0,
            Self::Lfu(frequency) => frequency.uses(slot),
        }
    }

    /// The slot that leaves first, or `NONE`.
    fn last(&self) -> u32 {
        match self {
            Self::Lru(list, _) => list.back(),
            Self::Lfu(frequency) => frequency.least(),
        }
    }

    fn to_vec(&self) -> Vec<u32> {
        match self {
            Self::Lru(list, links) => list.iter(links).collect(),
            Self::Lfu(frequency) => frequency.iter().collect(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Lru(_, links) => links.bytes(),
            Self::Lfu(frequency) => frequency.bytes(),
        }
    }
}

/// What the part of a request that touches one block has done so far: [`Regions::hit`] or
/// [`Regions::insert`] for each of its pages, then [`Regions::end`].
#[derive(Debug, Default)]
pub struct Visit {
    /// It has counted for the block's popularity.
    counted: bool,
}

/// Both regions.
#[derive(Debug)]
pub struct Regions {
    config: Rules,
    /// All pages of both regions, by block.
    blocks: Directory,
    /// Pages of the page region; whether they are dirty is the blocks' knowledge.
    pages: PageTable,
    order: Order,
    /// When each slot of the page region was used.
    used: Vec<u64>,
    clock: u64,
    /// Blocks of the block region.
    lar: Lar,
    /// Blocks that are in the block region.
    migrated: Bits,
    popularity: Vec<u32>,
    threshold: u32,
    alpha: f64,
    beta: f64,
    /// Pages in the block region.
    in_blocks: u32,
    /// Pages in the block region when the last part of a request had been served.
    were_in_blocks: u32,
    /// Pages have come to the block region or left it since then.
    exchanged: bool,
    /// Request at which the threshold changed last.
    settled_at: u64,
}

/// Bounds of the block region's share (Table 3.1).
fn shares(config: &Rules, shape: Shape) -> Result<(f64, f64), String> {
    let total = f64::from(shape.capacity);
    let block = f64::from(shape.pages_per_block);
    let alpha = config.alpha.unwrap_or(2.0 * block / total);
    let general = if shape.capacity >= LARGE { 0.2 } else { 0.1 };
    let beta = config.beta.unwrap_or(if alpha > general { 2.0 * alpha } else { general });
    for (key, share) in [("alpha", config.alpha), ("beta", config.beta)] {
        share.map_or(Ok(()), |share| require_share(key, share))?;
    }
    if alpha > beta {
        return Err(format!("buffer.scheme.alpha: {alpha} is above beta, {beta}"));
    }
    Ok((alpha, beta))
}

impl Regions {
    /// Empty regions with HBM's rules.
    ///
    /// # Errors
    /// No room for a page, or a threshold or share that cannot be.
    pub fn new(config: &Rules, shape: Shape) -> Result<Self, String> {
        require_room(shape, 1)?;
        let most = shape.pages_per_block + 1;
        let threshold = match config.threshold {
            Threshold::Dynamic => 1,
            Threshold::Static(pages) if (1..=most).contains(&pages) => pages,
            Threshold::Static(pages) => {
                return Err(format!(
                    "buffer.scheme.threshold: found {pages}, expected 1 to {most} (one more than a \
                     block has pages)"
                ));
            }
        };
        let (alpha, beta) = shares(config, shape)?;
        let blocks = Directory::new(shape);
        let pages = PageTable::new(shape);
        let nodes = blocks.nodes();
        Ok(Self {
            config: config.clone(),
            order: Order::new(config.page_order, pages.slots()),
            used: vec![0; pages.slots()],
            clock: 0,
            pages,
            lar: Lar::new(config, nodes),
            migrated: Bits::new(nodes),
            popularity: vec![0; nodes],
            blocks,
            threshold,
            alpha,
            beta,
            in_blocks: 0,
            were_in_blocks: 0,
            exchanged: false,
            settled_at: 0,
        })
    }

    fn is_migrated(&self, node: u32) -> bool {
        self.migrated.get(node as usize)
    }

    /// What decides when a block leaves the block region.
    fn rank_of(&self, node: u32) -> Rank {
        let pages = self.blocks.pages(node);
        let size = match self.config.size_tie {
            SizeTie::MostPages => self.blocks.pages_per_block() - pages,
            SizeTie::FewestPages => pages,
        };
        u64::from(self.popularity[node as usize]) << 32 | u64::from(size)
    }

    /// The rank of a block of the block region has changed. Where it has risen, as it does at
    /// nearly every use, that matters only once the block is about to leave: [`Self::draw`] looks
    /// then.
    fn rank(&mut self, node: u32) {
        let rank = self.rank_of(node);
        if self.lar.rank(node).is_none_or(|last| rank < last) {
            self.lar.set(node, rank, self.blocks.lbn(node));
        }
    }

    /// The block of the block region that leaves now. One that has risen since it was ranked does
    /// not: it is ranked anew.
    fn draw(&mut self) -> Option<u32> {
        loop {
            let node = self.lar.draw()?;
            let rank = self.rank_of(node);
            if self.lar.rank(node) == Some(rank) {
                return Some(node);
            }
            self.lar.set(node, rank, self.blocks.lbn(node));
        }
    }

    /// Blocks of the block region, those that would leave first in front; equal ones by number.
    fn ranked(&self) -> Vec<u32> {
        let mut all: Vec<u32> =
            (0..self.blocks.nodes() as u32).filter(|&node| self.is_migrated(node)).collect();
        all.sort_unstable_by_key(|&node| (self.rank_of(node), self.blocks.lbn(node)));
        all
    }

    /// A block leaves the block region.
    fn unrank(&mut self, node: u32) {
        self.migrated.clear(node as usize);
        self.lar.remove(node);
    }

    /// Pages come to the block region.
    fn grow(&mut self, pages: u32) {
        self.in_blocks += pages;
        self.exchanged = true;
    }

    /// Pages leave the block region.
    fn shrink(&mut self, pages: u32) {
        self.in_blocks -= pages;
        self.exchanged = true;
    }

    /// Makes room (Algorithm 3.3, selection compensation). `leave` makes a whole block leave the
    /// directory.
    pub fn replace(
        &mut self,
        out: &mut Outcome,
        leave: impl FnOnce(&mut Directory, u32, Reason, &mut Outcome),
    ) {
        let (node, reason) = if let Some(victim) = self.draw() {
            let reason = match self.config.size_tie {
                SizeTie::MostPages => LEAST_POPULAR_FULLEST,
                SizeTie::FewestPages => LEAST_POPULAR_EMPTIEST,
            };
            (victim, reason)
        } else {
            let slot = self.order.last();
            let lpn = self.pages.get(slot).lpn;
            if !self.config.compensation {
                self.order.remove(slot);
                self.pages.remove(slot);
                let (dirty, _) = self.blocks.remove(lpn);
                out.evict_page(Evicted { lpn, dirty }, LAST_PAGE);
                return;
            }
            (self.blocks.node_of(lpn), COMPENSATION)
        };
        if self.is_migrated(node) {
            self.unrank(node);
            self.shrink(self.blocks.pages(node));
        } else {
            self.forget_pages(node);
        }
        leave(&mut self.blocks, node, reason, out);
    }

    /// Room for all that a request brings to a block, where the rules want it at once. `leave`
    /// makes a whole block leave the directory.
    pub fn make_room(
        &mut self,
        span: &Span,
        out: &mut Outcome,
        mut leave: impl FnMut(&mut Directory, u32, Reason, &mut Outcome),
    ) {
        if self.config.room == Room::Page || span.count == 1 {
            return;
        }
        let lbn = self.blocks.block_of(span.first);
        let (mut own, mut missing) = (self.blocks.node(lbn), self.missing(span));
        while missing > self.blocks.capacity() - self.blocks.len() && !self.blocks.is_empty() {
            self.replace(out, &mut leave);
            let now = self.blocks.node(lbn);
            if now != own || !self.config.compensation {
                // The block itself has left.
                (own, missing) = (now, self.missing(span));
            }
        }
    }

    /// Pages of a span that are not held.
    fn missing(&self, span: &Span) -> u32 {
        span.pages().filter(|&lpn| !self.blocks.holds(lpn)).count() as u32
    }

    /// Takes a block's pages out of the page region.
    fn forget_pages(&mut self, node: u32) {
        for page in self.blocks.iter(node) {
            if let Some(slot) = self.pages.find(page.lpn) {
                self.order.remove(slot);
                self.pages.remove(slot);
            }
        }
    }

    /// A block that has enough pages in the page region moves to the block region (section 3.4).
    fn migrate(&mut self, node: u32, out: &mut Outcome) {
        if self.is_migrated(node) || self.blocks.pages(node) < self.threshold {
            return;
        }
        self.forget_pages(node);
        if !self.config.page_region_counts {
            self.popularity[node as usize] = 1;
        }
        self.grow(self.blocks.pages(node));
        self.migrated.set(node as usize);
        self.rank(node);
        out.note(
            "moved to the block region",
            Some(i64::from(self.threshold)),
            self.blocks.iter(node).map(|page| page.lpn),
        );
    }

    /// Algorithm 3.4, after a part of a request that changed the block region's size.
    fn adjust(&mut self, request: u64, out: &mut Outcome) {
        if self.config.threshold != Threshold::Dynamic
            || request < self.settled_at + self.config.settle
        {
            return;
        }
        let share = f64::from(self.in_blocks) / f64::from(self.blocks.capacity());
        let before = self.threshold;
        if share > self.beta && self.threshold <= self.blocks.pages_per_block() {
            self.threshold += 1;
        }
        if share < self.alpha && self.threshold >= 2 {
            self.threshold -= 1;
        }
        if self.threshold != before {
            self.settled_at = request;
            out.note("threshold", Some(i64::from(self.threshold)), []);
        }
    }

    /// A request touches a block: it counts once, however many pages it has there.
    fn count(&mut self, node: u32, visit: &mut Visit) {
        let counts = self.config.page_region_counts || self.is_migrated(node);
        if !std::mem::replace(&mut visit.counted, true) && counts {
            self.popularity[node as usize] += 1;
        }
    }

    /// The host uses a page that is held.
    pub fn hit(&mut self, lpn: Lpn, write: bool, visit: &mut Visit, out: &mut Outcome) {
        let node = self.blocks.node_of(lpn);
        if write {
            self.blocks.mark_dirty(lpn);
        }
        let before = self.popularity[node as usize];
        if write || self.config.read_hits_count {
            self.count(node, visit);
        }
        if let Some(slot) = self.pages.find(lpn) {
            self.order.touch(slot);
            self.stamp(slot);
            // The threshold may have fallen since the last page came.
            self.migrate(node, out);
        } else if self.popularity[node as usize] != before {
            self.rank(node);
        }
    }

    /// Takes in a page that is not held; there must be room.
    pub fn insert(&mut self, lpn: Lpn, dirty: bool, visit: &mut Visit, out: &mut Outcome) {
        let (node, fresh) = self.blocks.insert(lpn, dirty);
        if fresh {
            self.popularity[node as usize] = 1;
            visit.counted = true;
        } else {
            self.count(node, visit);
        }
        if self.is_migrated(node) {
            self.grow(1);
            self.rank(node);
        } else if self.blocks.pages(node) >= self.threshold {
            // The page is only on its way through the page region.
            self.migrate(node, out);
        } else {
            let slot = self.pages.insert(lpn, false);
            self.order.insert(slot);
            self.stamp(slot);
        }
    }

    fn stamp(&mut self, slot: u32) {
        self.clock += 1;
        self.used[slot as usize] = self.clock;
    }

    /// The part of a request that touches one block has been served. What made room for it, and
    /// trims before it, have changed the block region's size as well as what it brought.
    pub fn end(&mut self, request: u64, out: &mut Outcome) {
        let is_another =
            std::mem::replace(&mut self.were_in_blocks, self.in_blocks) != self.in_blocks;
        let exchanged = std::mem::take(&mut self.exchanged) && self.config.exchange_counts;
        if is_another || exchanged {
            self.adjust(request, out);
        }
    }

    /// A held page is no longer needed.
    pub fn remove(&mut self, lpn: Lpn) {
        let node = self.blocks.node_of(lpn);
        let gone = self.blocks.remove(lpn).1;
        if let Some(slot) = self.pages.find(lpn) {
            self.order.remove(slot);
            self.pages.remove(slot);
        } else {
            self.shrink(1);
            if gone {
                self.unrank(node);
            } else {
                self.rank(node);
            }
        }
    }

    /// The dirty pages of all blocks are written, and stay.
    pub fn write_back(&mut self, reason: Reason, out: &mut Outcome) {
        for node in self.leaving() {
            if self.config.compensation || self.is_migrated(node) {
                self.blocks.write_back(node, reason, out);
            }
        }
        if !self.config.compensation {
            for lpn in self.leaving_pages() {
                self.blocks.write_back_pages(lpn, 1, reason, out);
            }
        }
    }

    /// The dirty ones of these pages of one block are written, and stay.
    pub fn write_back_pages(&mut self, first: Lpn, count: u32, reason: Reason, out: &mut Outcome) {
        self.blocks.write_back_pages(first, count, reason, out);
    }

    /// All pages of both regions, by block.
    pub fn blocks(&self) -> &Directory {
        &self.blocks
    }

    /// Blocks with dirty pages in the order in which they would have to make room: those of the
    /// block region by rank, then those of the page region by the page that leaves first.
    fn leaving(&self) -> Vec<u32> {
        let dirty = self.blocks.dirty_nodes().iter();
        let (mut all, mut paged): (Vec<u32>, Vec<u32>) =
            dirty.partition(|&node| self.is_migrated(node));
        // Equal ones by number, as none of them is drawn here.
        all.sort_unstable_by_key(|&node| (self.rank_of(node), self.blocks.lbn(node)));
        let slots = |node| self.blocks.iter(node).filter_map(|page| self.pages.find(page.lpn));
        paged.sort_by_cached_key(|&node| slots(node).map(|slot| self.place(slot)).min());
        all.extend(paged);
        all
    }

    /// Dirty pages of the page region in the order in which they would have to make room one by
    /// one.
    fn leaving_pages(&self) -> Vec<Lpn> {
        let paged = self.blocks.dirty_nodes().iter().filter(|&node| !self.is_migrated(node));
        let dirty = paged.flat_map(|node| self.blocks.iter(node)).filter(|page| page.dirty);
        let mut lpns: Vec<Lpn> = dirty.map(|page| page.lpn).collect();
        lpns.sort_by_cached_key(|&lpn| self.pages.find(lpn).map(|slot| self.place(slot)));
        lpns
    }

    /// The page region's slots in the order in which they would have to make room.
    fn place(&self, slot: u32) -> (u32, u64) {
        (self.order.uses(slot), self.used[slot as usize])
    }

    /// Compares redundant state.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self) -> Result<(), String> {
        let slots = self.order.to_vec();
        self.pages.check(slots.iter().copied())?;
        let paged = slots.iter().map(|&slot| self.blocks.node_of(self.pages.get(slot).lpn));
        let nodes: BTreeSet<u32> = self.ranked().into_iter().chain(paged).collect();
        for &node in &nodes {
            let paged =
                self.blocks.iter(node).filter(|page| self.pages.find(page.lpn).is_some()).count()
                    as u32;
            let expected = if self.is_migrated(node) { 0 } else { self.blocks.pages(node) };
            if paged != expected {
                return Err(format!(
                    "{paged} pages of block node {node} are in the page region, not {expected}"
                ));
            }
        }
        if self.in_blocks + self.pages.len() != self.blocks.len() {
            return Err(format!(
                "{} pages in blocks and {} single ones are not {}",
                self.in_blocks,
                self.pages.len(),
                self.blocks.len()
            ));
        }
        self.blocks.check(nodes.into_iter())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.blocks.bytes()
            + self.pages.bytes()
            + self.order.bytes()
            + self.used.len() * 8
            + self.lar.bytes()
            + self.migrated.bytes()
            + self.popularity.len() * 4
    }

    /// The page region, then the block region from the block on that leaves last.
    pub fn dump(&self) -> Vec<Vec<Lpn>> {
        let pages = self.order.to_vec().into_iter().map(|slot| vec![self.pages.get(slot).lpn]);
        let blocks = self.ranked().into_iter().rev();
        pages
            .chain(blocks.map(|node| self.blocks.iter(node).map(|page| page.lpn).collect()))
            .collect()
    }
}
