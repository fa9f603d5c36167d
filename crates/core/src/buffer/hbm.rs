//! HBM: single pages and whole blocks in one buffer, divided by how many pages of a block have come together.
//!
//! **What it does.** New pages enter the *page region*, in the order of use. When a block has as many pages there as the
//! *threshold* says, all of them move to the *block region*, for good; later pages of that block join them. Room is made
//! from the block region (LAR): the block of the smallest popularity, among equals the one with most pages. If any of its pages
//! is dirty, all are written in order, the clean ones too; else all are dropped. Only an empty block region makes the
//! page region give: its last page leaves with all other pages of its block (*selection compensation*). The threshold follows
//! the share of the block region: above beta it rises by one, below alpha it falls by one, at most once in 100 requests.
//!
//! **When it wins**: mixes of small random and large sequential requests on log-block FTLs. **When it loses**:
//! FTLs that map pages, which gain nothing from whole blocks.
//!
//! G. Gong, "Hybrid buffer management for solid state drives" (thesis, 2010), chapter 3; Wei et al. as HBM.
//!
//! **Where the thesis is silent or contradicts itself.** Ties in popularity: Algorithm 3.3 and figure 3.4(b) take most pages,
//! section 3.5.2 says fewest (`size_tie`). What then is equal is picked at random: the smallest of numbers drawn whenever a
//! block's rank changes (`tie`). Popularity: section 3.3 counts reads and writes, Algorithm 3.1 leaves read hits out
//! (`read_hits_count`); it is counted for blocks in both regions, as the block nodes cover both (`page_region_counts`; without it a block
//! enters the block region with popularity 1), once for each request and block, before the pages that this request
//! still brings make others leave but after the room for its first page is made (Algorithms 3.1 and 3.2). The threshold is adjusted after each part of a
//! request that changed the block region's size. alpha and beta follow Table 3.1, with 128 and 256 pages read as two and four
//! blocks, and a buffer of 8192 pages (16 MiB of the thesis's 2 KiB pages) or more as large. A block that enters the block region during a request may leave
//! in favour of the rest of that request. Flush commands write dirty pages and keep them.
//!
//! **Against the thesis's structures**: a B+ tree over blocks and a scan of all of them for each new victim there; here
//! a table over logical blocks, two bits a page, and a heap over the blocks of the block region: O(1) for a page, O(log n) where a block's rank
//! changes. `buffer_paper_bytes` counts as section 3.5.3 does: 16 bytes a page, and for a block 8 and 4 for each of its pages,
//! with 16 in leaves and 8 in inner nodes of the tree; 52 bytes where each page is a block of its own.
//!
//! Cost of a page access: O(1), O(log n) in the blocks of the block region where a block's rank changes.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg32;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{Directory, require_room};
use super::pages::PageTable;
use super::{Action, Answer, Buffer, Evicted, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::support::frequency::Frequency;
use crate::support::heap::Heap;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Cost, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "HBM",
    summary: "Single pages in LRU order until enough of a block came together; then the least popular, fullest block leaves.",
    paper: "Gong, Hybrid buffer management for solid state drives, thesis",
    year: Some(2010),
    cost: Cost::Logarithmic,
    choices: &[
        Choice {
            option: "size_tie",
            others: &[r#""fewest-pages""#],
            open: "Algorithm 3.3 takes the block with most pages, section 3.5.2 the one with fewest",
        },
        Choice {
            option: "tie",
            others: &[r#""lowest-block""#],
            open: "which block leaves where popularity and pages are equal",
        },
        Choice {
            option: "read_hits_count",
            others: &["false"],
            open: "the definition of popularity counts reads, Algorithm 3.1 leaves read hits out",
        },
        Choice {
            option: "page_region_counts",
            others: &["false"],
            open: "whether a block has popularity before it enters the block region",
        },
        Choice {
            option: "page_order",
            others: &[r#""lfu""#],
            open: "section 3.1 allows LFU in the page region",
        },
        Choice {
            option: "beta",
            others: &["0.1", "0.2"],
            open: "Table 3.1 goes by the buffer's size and excepts small ones, section 4.3.4 knows no exception",
        },
    ],
    examples: &[
        Example {
            source: "the thesis's table 1.1, hybrid",
            shows: "Only full blocks are in the block region. Block 0 leaves first, whole. Then the block region is empty: page 5 is the last page of the page region, and page 7 leaves with it. (The table counts three hits, which takes `compensation = false`.)",
            capacity: 8,
            pages_per_block: 4,
            options: r#"{"threshold": 4}"#,
            requests: "W 0-3, W 5, W 9, W 11, W 14, W 7, W 3, W 11, W 2, W 14, W 1, W 10, W 7",
        },
        Example {
            source: "the thesis's figure 3.4(a)",
            shows: "Blocks 0 and 2 are touched by three requests each, block 4 by two: it leaves, with page 19, which is clean, to be written in one piece.",
            capacity: 12,
            pages_per_block: 4,
            options: r#"{"threshold": 1}"#,
            requests: "W 0-2, R 3, W 8-9, W 10, R 19, W 11, W 1-2, W 16-18, W 24",
        },
        Example {
            source: "the thesis's figure 3.4(b)",
            shows: "Blocks 2 and 4 are equally popular, and block 4 has more pages. All of them are clean: it is dropped, and nothing is written.",
            capacity: 11,
            pages_per_block: 4,
            options: r#"{"threshold": 1}"#,
            requests: "W 0-2, R 3, W 8-9, R 19, W 11, W 1-2, R 16-18, W 24",
        },
        Example {
            source: "the thesis's figure 3.5",
            shows: "The third page of block 0 makes all three move to the block region; page 3 joins them there.",
            capacity: 8,
            pages_per_block: 4,
            options: r#"{"threshold": 3}"#,
            requests: "W 0, W 5, W 1, W 2, W 3",
        },
    ],
    source: include_str!("hbm.rs"),
    ..About::PLAIN
};

/// How many pages of a block make it move to the block region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// It starts at 1 and follows the share of the block region (Algorithm 3.4).
    Dynamic,
    /// This many, 1 to one more than a block has; 1 keeps everything in the block region, the largest in the page region.
    #[serde(untagged)]
    Static(u32),
}

/// The order of the page region (section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// The least recently used page leaves.
    #[default]
    Lru,
    /// The least often used one, least recently among equals.
    Lfu,
}

/// Which of equally popular blocks leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeTie {
    /// That with most pages (Algorithm 3.3).
    #[default]
    MostPages,
    /// That with fewest (section 3.5.2).
    FewestPages,
}

/// Which of blocks that are equal in popularity and pages leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// Any.
    #[default]
    Random,
    /// That with the lowest number.
    LowestBlock,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Pages of a block in the page region that make it move: `"dynamic"` or a number.
    pub threshold: Threshold,
    /// Order of the page region.
    pub page_order: PageOrder,
    /// Which of equally popular blocks leaves.
    pub size_tie: SizeTie,
    /// Which of blocks that are equal in that, too.
    pub tie: Tie,
    /// A victim from the page region takes the other pages of its block along.
    pub compensation: bool,
    /// Read hits make a block more popular.
    pub read_hits_count: bool,
    /// A block collects popularity while its pages are in the page region.
    pub page_region_counts: bool,
    /// Smallest share of the block region; null: two blocks (Table 3.1).
    pub alpha: Option<f64>,
    /// Largest share of the block region; null: 0.1, or 0.2 from 8192 pages on, or four blocks where alpha would be above it (Table 3.1).
    pub beta: Option<f64>,
    /// Requests between two changes of the threshold.
    pub settle: u64,
    /// Seed of the random choice.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threshold: Threshold::Dynamic,
            page_order: PageOrder::Lru,
            size_tie: SizeTie::MostPages,
            tie: Tie::Random,
            compensation: true,
            read_hits_count: true,
            page_region_counts: true,
            alpha: None,
            beta: None,
            settle: 100,
            seed: 1,
        }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or a threshold or share that cannot be.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        let most = shape.pages_per_block + 1;
        let threshold = match self.threshold {
            Threshold::Dynamic => 1,
            Threshold::Static(pages) if (1..=most).contains(&pages) => pages,
            Threshold::Static(pages) => {
                return Err(format!(
                    "buffer.scheme.threshold: found {pages}, expected 1 to {most} (one more than a block has pages)"
                ));
            }
        };
        let (alpha, beta) = self.shares(shape)?;
        let blocks = Directory::new(shape);
        let pages = PageTable::new(shape);
        let nodes = blocks.nodes();
        Ok(Box::new(Hbm {
            config: self.clone(),
            order: Order::new(self.page_order, pages.slots()),
            pages,
            lar: Heap::new(nodes),
            popularity: vec![0; nodes],
            blocks,
            threshold,
            alpha,
            beta,
            in_blocks: 0,
            settled_at: 0,
            random: Pcg32::seed_from_u64(self.seed),
        }))
    }

    /// Bounds of the block region's share (Table 3.1).
    fn shares(&self, shape: Shape) -> Result<(f64, f64), String> {
        let total = f64::from(shape.capacity);
        let block = f64::from(shape.pages_per_block);
        let alpha = self.alpha.unwrap_or(2.0 * block / total);
        let general = if shape.capacity >= LARGE { 0.2 } else { 0.1 };
        let beta = self.beta.unwrap_or(if alpha > general { 2.0 * alpha } else { general });
        for (key, share) in [("alpha", self.alpha), ("beta", self.beta)] {
            if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
                return Err(format!("buffer.scheme.{key}: expected a share from 0 to 1"));
            }
        }
        if alpha > beta {
            return Err(format!("buffer.scheme.alpha: {alpha} is above beta, {beta}"));
        }
        Ok((alpha, beta))
    }
}

/// Pages from which on a buffer counts as large: 16 MiB of 2 KiB pages.
const LARGE: u32 = 8192;

const LEAST_POPULAR: Reason = "least popular block, the fullest among equals";
const COMPENSATION: Reason = "block region empty: last page of the page region and its block";
const LAST_PAGE: Reason = "block region empty: last page of the page region";

/// Rank of a block in the block region: popularity, pages, tie.
type Rank = (u32, u32, u32);

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

#[derive(Debug)]
struct Hbm {
    config: Config,
    /// All pages of both regions, by block.
    blocks: Directory,
    /// Pages of the page region; whether they are dirty is the blocks' knowledge.
    pages: PageTable,
    order: Order,
    /// Blocks of the block region.
    lar: Heap<Rank>,
    popularity: Vec<u32>,
    threshold: u32,
    alpha: f64,
    beta: f64,
    /// Pages in the block region.
    in_blocks: u32,
    /// Request at which the threshold changed last.
    settled_at: u64,
    random: Pcg32,
}

impl Hbm {
    fn is_migrated(&self, node: u32) -> bool {
        self.lar.key(node).is_some()
    }

    /// Gives a block of the block region its present rank.
    fn rank(&mut self, node: u32) {
        let pages = self.blocks.pages(node);
        let size = match self.config.size_tie {
            SizeTie::MostPages => self.blocks.pages_per_block() - pages,
            SizeTie::FewestPages => pages,
        };
        let tie = match self.config.tie {
            Tie::Random => self.random.random(),
            Tie::LowestBlock => self.blocks.lbn(node),
        };
        self.lar.set(node, (self.popularity[node as usize], size, tie));
    }

    /// Makes room (Algorithm 3.3, selection compensation).
    fn replace(&mut self, out: &mut Outcome) {
        if let Some((_, victim)) = self.lar.first() {
            self.leave(victim, LEAST_POPULAR, out);
            return;
        }
        let slot = self.order.last();
        let lpn = self.pages.get(slot).lpn;
        if self.config.compensation {
            self.leave(self.blocks.node(lpn / self.blocks.pages_per_block()), COMPENSATION, out);
        } else {
            self.order.remove(slot);
            self.pages.remove(slot);
            let (dirty, _) = self.blocks.remove(lpn);
            out.evict_page(Evicted { lpn, dirty }, LAST_PAGE);
        }
    }

    /// All pages of a block leave: written in order if any is dirty, else dropped.
    fn leave(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        if self.is_migrated(node) {
            self.lar.remove(node);
            self.in_blocks -= self.blocks.pages(node);
        } else {
            self.forget_pages(node);
        }
        let action = if self.blocks.dirty(node) > 0 { Action::Flush } else { Action::Drop };
        self.blocks.evict_whole(node, action, reason, out);
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
        self.in_blocks += self.blocks.pages(node);
        self.rank(node);
        out.note(
            "moved to the block region",
            Some(i64::from(self.threshold)),
            self.blocks.iter(node).map(|page| page.lpn),
        );
    }

    /// Algorithm 3.4, after a part of a request that changed the block region's size.
    fn adjust(&mut self, request: u64, out: &mut Outcome) {
        if self.config.threshold != Threshold::Dynamic || request < self.settled_at + self.config.settle {
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
    fn count(&mut self, node: u32, counted: &mut bool) {
        if !std::mem::replace(counted, true) && (self.config.page_region_counts || self.is_migrated(node)) {
            self.popularity[node as usize] += 1;
        }
    }

    fn serve(&mut self, lpn: u32, write: bool, counted: &mut bool, out: &mut Outcome) -> Answer {
        let lbn = lpn / self.blocks.pages_per_block();
        if self.blocks.holds(lpn) {
            let node = self.blocks.node(lbn);
            self.hit(lpn, node, write, counted, out);
            return Answer::Hit;
        }
        if self.blocks.is_full() {
            self.replace(out);
        }
        let (node, fresh) = self.blocks.insert(lpn, write);
        if fresh {
            self.popularity[node as usize] = 1;
            *counted = true;
        } else {
            self.count(node, counted);
        }
        if self.is_migrated(node) {
            self.in_blocks += 1;
            self.rank(node);
        } else {
            let slot = self.pages.insert(lpn, false);
            self.order.insert(slot);
            self.migrate(node, out);
        }
        if write { Answer::Insert } else { Answer::Fill }
    }

    fn hit(&mut self, lpn: u32, node: u32, write: bool, counted: &mut bool, out: &mut Outcome) {
        if write {
            self.blocks.mark_dirty(lpn);
        }
        let before = self.popularity[node as usize];
        if write || self.config.read_hits_count {
            self.count(node, counted);
        }
        if let Some(slot) = self.pages.find(lpn) {
            self.order.touch(slot);
            // The threshold may have fallen since the last page came.
            self.migrate(node, out);
        } else if self.popularity[node as usize] != before {
            self.rank(node);
        }
    }

    /// Blocks in the order in which they would have to make room.
    fn by_rank(&self) -> Vec<u32> {
        let mut all = self.lar.sorted();
        let ppb = self.blocks.pages_per_block();
        let pages = self.order.to_vec().into_iter().rev();
        let mut seen = vec![false; self.blocks.nodes()];
        all.extend(pages.filter_map(|slot| {
            let node = self.blocks.node(self.pages.get(slot).lpn / ppb);
            (!std::mem::replace(&mut seen[node as usize], true)).then_some(node)
        }));
        all
    }
}

impl Buffer for Hbm {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        let (before, mut counted) = (self.in_blocks, false);
        for lpn in span.first..span.first + span.count {
            let answer = self.serve(lpn, span.write, &mut counted, out);
            out.answers.push(answer);
        }
        if self.in_blocks != before {
            self.adjust(span.request, out);
        }
    }

    fn trim(&mut self, first: u32, count: u32) {
        for lpn in first..first + count {
            if !self.blocks.holds(lpn) {
                continue;
            }
            let node = self.blocks.node(lpn / self.blocks.pages_per_block());
            let gone = self.blocks.remove(lpn).1;
            if let Some(slot) = self.pages.find(lpn) {
                self.order.remove(slot);
                self.pages.remove(slot);
            } else {
                self.in_blocks -= 1;
                if gone {
                    self.lar.remove(node);
                } else {
                    self.rank(node);
                }
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        for node in self.by_rank() {
            self.blocks.write_back(node, FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: u32, count: u32, out: &mut Outcome) {
        self.blocks.write_back_pages(first, count, FORCED, out);
    }

    fn len(&self) -> u32 {
        self.blocks.len()
    }

    fn holds(&self, lpn: u32) -> bool {
        self.blocks.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        self.pages.check(self.order.to_vec().into_iter()).map_err(|problem| format!("hbm: {problem}"))?;
        let by_rank = self.by_rank();
        for &node in &by_rank {
            let paged =
                self.blocks.iter(node).filter(|page| self.pages.find(page.lpn).is_some()).count() as u32;
            let expected = if self.is_migrated(node) { 0 } else { self.blocks.pages(node) };
            if paged != expected {
                return Err(format!(
                    "hbm: {paged} pages of block node {node} are in the page region, not {expected}"
                ));
            }
        }
        if self.in_blocks + self.pages.len() != self.blocks.len() {
            return Err(format!(
                "hbm: {} pages in blocks and {} single ones are not {}",
                self.in_blocks,
                self.pages.len(),
                self.blocks.len()
            ));
        }
        self.blocks.check(by_rank.into_iter())
    }

    fn metadata_bytes(&self) -> usize {
        self.blocks.bytes()
            + self.pages.bytes()
            + self.order.bytes()
            + self.lar.bytes()
            + self.popularity.len() * 4
    }

    fn paper_bytes(&self) -> Option<u64> {
        Some(32 * self.blocks.blocks() as u64 + 20 * u64::from(self.blocks.len()))
    }

    fn dump(&self) -> Vec<Vec<u32>> {
        let pages = self.order.to_vec().into_iter().map(|slot| vec![self.pages.get(slot).lpn]);
        let blocks = self.lar.sorted().into_iter().rev();
        pages.chain(blocks.map(|node| self.blocks.iter(node).map(|page| page.lpn).collect())).collect()
    }
}
