//! HBM: Gong, "Hybrid buffer management for solid state drives", thesis, 2010, chapter 3.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "hbm",
        from: "Gong's thesis (2010), chapter 3 with Algorithms 3.1 to 3.4, and its page",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let mut fast = json!({"kind": "hbm"});
    let mut rules = Rules::draw(shape.capacity, shape.pages_per_block, random, &mut fast);
    rules.lfu = random.random();
    rules.fewest_pages = random.random();
    rules.compensation = random.random();
    rules.read_hits_count = random.random();
    rules.page_region_counts = random.random();
    fast["page_order"] = json!(if rules.lfu { "lfu" } else { "lru" });
    fast["size_tie"] = json!(if rules.fewest_pages { "fewest-pages" } else { "most-pages" });
    fast["compensation"] = json!(rules.compensation);
    fast["read_hits_count"] = json!(rules.read_hits_count);
    fast["page_region_counts"] = json!(rules.page_region_counts);
    (fast, Box::new(Hbm(Regions::new(rules))))
}

/// What the thesis leaves to be set, or leaves open.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the scheme's own yes-or-no options")]
pub struct Rules {
    /// `N_total`, in pages.
    total: usize,
    pages_per_block: u32,
    /// None: Algorithm 3.4.
    threshold: Option<u32>,
    alpha: f64,
    beta: f64,
    settle: u64,
    /// Any page that comes to the block region or leaves it changes its size.
    exchange_counts: bool,
    /// Room is made for each page when it comes.
    page_by_page: bool,
    lfu: bool,
    fewest_pages: bool,
    compensation: bool,
    read_hits_count: bool,
    page_region_counts: bool,
}

impl Rules {
    /// Draws what HBM and CBM have in common, for a buffer (or write buffer) of so many pages.
    pub fn draw(
        capacity: u32,
        pages_per_block: u32,
        random: &mut Pcg64Mcg,
        fast: &mut Value,
    ) -> Self {
        let threshold = random.random_range(0..3) == 0;
        let threshold = threshold.then(|| random.random_range(1..=pages_per_block + 1));
        let page_by_page: bool = random.random();
        let settle = [0, 1, 2, 5, 10, 100][random.random_range(0..6)];
        let exchange_counts: bool = random.random();
        // Table 3.1, with 128 and 256 pages read as two and four blocks.
        let blocks = |count: u32| f64::from(count * pages_per_block) / f64::from(capacity);
        let (mut alpha, mut beta) = (None, None);
        match random.random_range(0..4) {
            0 => {}
            1 => alpha = Some(f64::from(random.random_range(0..=6)) / 8.0),
            _ => {
                let low = random.random_range(0..=6);
                alpha = Some(f64::from(low) / 8.0);
                beta = Some(f64::from(random.random_range(low..=8)) / 8.0);
            }
        }
        fast["threshold"] = threshold.map_or(json!("dynamic"), |pages| json!(pages));
        fast["room"] = json!(if page_by_page { "page" } else { "request" });
        fast["settle"] = json!(settle);
        fast["exchange_counts"] = json!(exchange_counts);
        fast["tie"] = json!("lowest-block");
        fast["alpha"] = json!(alpha);
        fast["beta"] = json!(beta);
        let alpha = alpha.unwrap_or(blocks(2));
        let general = if capacity >= 8192 { 0.2 } else { 0.1 };
        let beta = beta.unwrap_or(if alpha > general { 2.0 * alpha } else { general });
        Self {
            total: capacity as usize,
            pages_per_block,
            threshold,
            alpha,
            beta,
            settle,
            exchange_counts,
            page_by_page,
            lfu: false,
            fewest_pages: false,
            compensation: true,
            read_hits_count: true,
            page_region_counts: true,
        }
    }
}

/// Section 3.5.1: a page node.
#[derive(Debug, Clone)]
struct PageNode {
    dirty: bool,
    /// When it was used last: the links of the LRU list.
    used: u64,
    /// How often it was used, for LFU in the page region (section 3.1).
    uses: u64,
}

/// Section 3.5.1: a block node, which covers pages of either region.
#[derive(Debug, Clone)]
struct BlockNode {
    popularity: u64,
    /// In the block region; else all of its pages are in the page region.
    migrated: bool,
    pages: BTreeMap<u32, PageNode>,
}

/// Page region and block region.
#[derive(Debug)]
pub struct Regions {
    rules: Rules,
    /// The B+ tree.
    nodes: BTreeMap<u32, BlockNode>,
    /// `THR_migrate`.
    threshold: u32,
    /// The request in which it was changed last, or the first.
    changed_at: u64,
    /// `N_block` after the last part of a request.
    was: usize,
    /// A page has come to the block region or left it since then.
    exchanged: bool,
    now: u64,
}

impl Regions {
    pub fn new(rules: Rules) -> Self {
        let threshold = rules.threshold.unwrap_or(1);
        Self {
            rules,
            nodes: BTreeMap::new(),
            threshold,
            changed_at: 0,
            was: 0,
            exchanged: false,
            now: 0,
        }
    }

    fn block(&self, page: u32) -> u32 {
        page / self.rules.pages_per_block
    }

    pub fn holds(&self, page: u32) -> bool {
        self.nodes.get(&self.block(page)).is_some_and(|node| node.pages.contains_key(&page))
    }

    pub fn held(&self) -> usize {
        self.nodes.values().map(|node| node.pages.len()).sum()
    }

    /// Pages that make room next, upwards: Algorithm 3.3, or selection compensation.
    fn victim(&self, nodes: &BTreeMap<u32, BlockNode>) -> Vec<u32> {
        let rank = |&(block, node): &(&u32, &BlockNode)| {
            let pages = node.pages.len() as i64;
            // Algorithm 3.3: most pages; section 3.5.2: fewest.
            (node.popularity, if self.rules.fewest_pages { pages } else { -pages }, *block)
        };
        if let Some((_, node)) = nodes.iter().filter(|(_, node)| node.migrated).min_by_key(rank) {
            return node.pages.keys().copied().collect();
        }
        let pages = nodes
            .iter()
            .flat_map(|(&block, node)| node.pages.iter().map(move |page| (block, page)));
        let order = |(_, (_, page)): &(u32, (&u32, &PageNode))| {
            (if self.rules.lfu { page.uses } else { 0 }, page.used)
        };
        let (block, (&last, _)) = pages.min_by_key(order).expect("something to evict");
        if self.rules.compensation {
            nodes[&block].pages.keys().copied().collect()
        } else {
            vec![last]
        }
    }

    fn remove(&mut self, page: u32) -> bool {
        let block = self.block(page);
        let node = self.nodes.get_mut(&block).unwrap();
        let dirty = node.pages.remove(&page).unwrap().dirty;
        self.exchanged |= node.migrated;
        if node.pages.is_empty() {
            self.nodes.remove(&block);
        }
        dirty
    }

    /// `Replace()`: what leaves, upwards.
    pub fn evict(&mut self) -> Vec<(u32, bool)> {
        let victim = self.victim(&self.nodes);
        victim.into_iter().map(|page| (page, self.remove(page))).collect()
    }

    /// Makes room for those pages of a part that are not here, before the first is taken in. Where
    /// there is not so much room at all, everything leaves, and the part is taken in page by page.
    /// Says what left, victim by victim.
    pub fn begin(&mut self, first: u32, count: u32) -> Vec<Vec<(u32, bool)>> {
        let mut left = Vec::new();
        loop {
            let missing = (first..first + count).filter(|&page| !self.holds(page)).count();
            if self.rules.page_by_page
                || self.held() == 0
                || self.held() + missing <= self.rules.total
            {
                return left;
            }
            left.push(self.evict());
        }
    }

    /// Whether a page has to make room for itself.
    pub fn needs_room(&self, page: u32) -> bool {
        !self.holds(page) && self.held() == self.rules.total
    }

    /// Algorithms 3.1 and 3.2 for one page, after room is made. `counted`: this part has made its
    /// block more popular.
    pub fn serve(&mut self, page: u32, write: bool, counted: &mut bool) {
        self.now += 1;
        let (now, hit, block) = (self.now, self.holds(page), self.block(page));
        let counts = write || !hit || self.rules.read_hits_count;
        let node = self.nodes.entry(block).or_insert_with(|| {
            // A new block: its popularity is one, even if this part has had to let go of it.
            *counted = false;
            BlockNode { popularity: 0, migrated: false, pages: BTreeMap::new() }
        });
        if counts && !*counted && (node.migrated || self.rules.page_region_counts) {
            node.popularity += 1;
            *counted = true;
        }
        let entry = node.pages.entry(page).or_insert(PageNode { dirty: false, used: 0, uses: 0 });
        entry.dirty |= write;
        entry.used = now;
        entry.uses += 1;
        self.exchanged |= node.migrated && !hit;
        if !node.migrated && node.pages.len() >= self.threshold as usize {
            // Section 3.4: threshold-based migration.
            node.migrated = true;
            self.exchanged = true;
            if !self.rules.page_region_counts {
                node.popularity = 1;
                *counted |= counts;
            }
        }
    }

    /// Algorithm 3.4, after each part of a request; `N_block` is changed if it is another than
    /// after the part before, or if any page has come to it or left it.
    pub fn adjust(&mut self, request: u64) {
        let in_block_region =
            self.nodes.values().filter(|node| node.migrated).map(|node| node.pages.len()).sum();
        let changed = std::mem::replace(&mut self.was, in_block_region) != in_block_region;
        let changed = std::mem::take(&mut self.exchanged) && self.rules.exchange_counts || changed;
        if self.rules.threshold.is_some()
            || !changed
            || request - self.changed_at < self.rules.settle
        {
            return;
        }
        let gamma = in_block_region as f64 / self.rules.total as f64;
        let before = self.threshold;
        if gamma > self.rules.beta && self.threshold <= self.rules.pages_per_block {
            self.threshold += 1;
        }
        if gamma < self.rules.alpha && self.threshold >= 2 {
            self.threshold -= 1;
        }
        if self.threshold != before {
            self.changed_at = request;
        }
    }

    pub fn trim(&mut self, page: u32) {
        if self.holds(page) {
            self.remove(page);
        }
    }

    /// Writes dirty pages in the order in which they would have to make room, and keeps them.
    pub fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        let mut nodes = self.nodes.clone();
        while !nodes.is_empty() {
            let victim = self.victim(&nodes);
            let block = self.block(victim[0]);
            let mut dirty = Vec::new();
            for page in victim {
                if nodes.get_mut(&block).unwrap().pages.remove(&page).unwrap().dirty {
                    dirty.push((page, true));
                }
            }
            nodes.retain(|_, node| !node.pages.is_empty());
            out.leave(Action::WriteBack, dirty);
        }
        let pages = self.nodes.values_mut().flat_map(|node| node.pages.values_mut());
        pages.for_each(|page| page.dirty = false);
        out
    }

    pub fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let block = self.block(first);
        let mut forced = Vec::new();
        if let Some(node) = self.nodes.get_mut(&block) {
            for (&page, node) in node.pages.range_mut(first..first + count) {
                if std::mem::replace(&mut node.dirty, false) {
                    forced.push((page, true));
                }
            }
        }
        out.leave(Action::WriteBack, forced);
        out
    }
}

struct Hbm(Regions);

/// Algorithm 3.3, lines 8 to 13: all pages are flushed if any is dirty, else all are discarded.
fn leave(out: &mut Decisions, pages: Vec<(u32, bool)>) {
    let action = if pages.iter().any(|&(_, dirty)| dirty) { Action::Evict } else { Action::Drop };
    out.leave(action, pages);
}

impl Buffer for Hbm {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for left in self.0.begin(span.first.0, span.count) {
            leave(&mut out, left);
        }
        let mut counted = false;
        for Lpn(page) in span.pages() {
            if self.0.needs_room(page) {
                leave(&mut out, self.0.evict());
            }
            out.hits.push(self.0.holds(page));
            self.0.serve(page, span.write, &mut counted);
        }
        self.0.adjust(span.request);
        out
    }

    fn trim(&mut self, page: u32) {
        self.0.trim(page);
    }

    fn flush(&mut self) -> Decisions {
        self.0.flush()
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        self.0.force(first, count)
    }
}
