//! HBM: Algorithms 3.1 to 3.4 of the thesis, with a list of blocks that is scanned for each victim.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let fixed = random.random::<bool>().then(|| random.random_range(1..=shape.pages_per_block + 1));
    let (fewest_pages, compensation, read_hits_count) = (random.random(), random.random(), random.random());
    let (lfu, page_region_counts) = (random.random(), random.random());
    let page_room: bool = random.random();
    let (alpha, beta, settle) =
        (random.random_range(0.0..0.5), random.random_range(0.5..1.0), random.random_range(1..6u64));
    let slow = Hbm {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        fixed,
        threshold: fixed.unwrap_or(1),
        fewest_pages,
        compensation,
        read_hits_count,
        lfu,
        page_region_counts,
        uses: BTreeMap::new(),
        page_room,
        alpha,
        beta,
        settle,
        changed_at: 0,
        watched: 0,
        nodes: Vec::new(),
        pages: Vec::new(),
    };
    let fast = json!({
        "kind": "hbm", "threshold": fixed.map_or(json!("dynamic"), |pages| json!(pages)),
        "size_tie": if fewest_pages { "fewest-pages" } else { "most-pages" }, "tie": "lowest-block",
        "compensation": compensation, "read_hits_count": read_hits_count, "alpha": alpha, "beta": beta,
        "page_order": if lfu { "lfu" } else { "lru" }, "page_region_counts": page_region_counts,
        "settle": settle, "room": if page_room { "page" } else { "request" },
    });
    (fast, Box::new(slow))
}

pub struct Node {
    pub block: Block,
    pub popularity: u32,
    pub migrated: bool,
}

#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Hbm {
    pub capacity: usize,
    pub pages_per_block: u32,
    /// None: dynamic.
    pub fixed: Option<u32>,
    pub threshold: u32,
    pub fewest_pages: bool,
    pub compensation: bool,
    pub read_hits_count: bool,
    /// The page region gives up the page used least often, least recently among equals.
    pub lfu: bool,
    /// Popularity is collected in the page region, too.
    pub page_region_counts: bool,
    /// How often each page of the page region was used since it came.
    pub uses: BTreeMap<u32, u32>,
    /// Room for each page when it comes.
    pub page_room: bool,
    pub alpha: f64,
    pub beta: f64,
    pub settle: u64,
    pub changed_at: u64,
    /// The block region's size after the request before.
    pub watched: usize,
    pub nodes: Vec<Node>,
    /// The page region, the most recently used page first.
    pub pages: Vec<u32>,
}

impl Hbm {
    fn held(&self) -> usize {
        self.nodes.iter().map(|node| node.block.pages.len()).sum()
    }

    pub fn region(&self) -> usize {
        self.nodes.iter().filter(|node| node.migrated).map(|node| node.block.pages.len()).sum()
    }

    fn node(&mut self, number: u32) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.block.number == number)
    }

    /// The block region's victim, ties by the lowest number.
    fn victim(&self) -> Option<u32> {
        let region = || self.nodes.iter().filter(|node| node.migrated);
        let least = region().map(|node| node.popularity).min()?;
        let popular = || region().filter(|node| node.popularity == least);
        let sizes = popular().map(|node| node.block.pages.len());
        let size = if self.fewest_pages { sizes.min()? } else { sizes.max()? };
        popular().filter(|node| node.block.pages.len() == size).map(|node| node.block.number).min()
    }

    /// The page region, the page that leaves last first.
    fn page_order(&mut self) -> Vec<u32> {
        let mut order = self.pages.clone();
        if self.lfu {
            self.uses.retain(|page, _| order.contains(page));
            order.sort_by_key(|page| std::cmp::Reverse(self.uses[page]));
        }
        order
    }

    fn discharge(&mut self, number: u32, done: &mut Decisions) {
        let at = self.nodes.iter().position(|node| node.block.number == number).unwrap();
        let node = self.nodes.remove(at);
        self.pages.retain(|page| page / self.pages_per_block != number);
        let dirty = node.block.pages.iter().any(|page| page.1);
        done.leave(if dirty { Action::Flush } else { Action::Drop }, node.block.pages);
    }

    fn replace(&mut self, done: &mut Decisions) {
        if let Some(number) = self.victim() {
            return self.discharge(number, done);
        }
        let page = *self.page_order().last().unwrap();
        let number = page / self.pages_per_block;
        if self.compensation {
            return self.discharge(number, done);
        }
        self.pages.retain(|&held| held != page);
        let node = self.node(number).unwrap();
        let left = node.block.pages.iter().copied().find(|held| held.0 == page).unwrap();
        node.block.pages.retain(|held| held.0 != page);
        self.nodes.retain(|node| !node.block.pages.is_empty());
        done.leave(if left.1 { Action::Flush } else { Action::Drop }, vec![left]);
    }

    fn migrate(&mut self, number: u32) {
        let threshold = self.threshold as usize;
        let (ppb, starts_anew) = (self.pages_per_block, !self.page_region_counts);
        let node = self.node(number).unwrap();
        if !node.migrated && node.block.pages.len() >= threshold {
            node.migrated = true;
            if starts_anew {
                node.popularity = 1;
            }
            self.pages.retain(|page| page / ppb != number);
        }
    }

    fn adjust(&mut self, request: u64) {
        if self.fixed.is_some() || request - self.changed_at < self.settle {
            return;
        }
        let gamma = self.region() as f64 / self.capacity as f64;
        let before = self.threshold;
        if gamma > self.beta && self.threshold <= self.pages_per_block {
            self.threshold += 1;
        }
        if gamma < self.alpha && self.threshold >= 2 {
            self.threshold -= 1;
        }
        if self.threshold != before {
            self.changed_at = request;
        }
    }

    pub fn has(&self, page: u32) -> bool {
        self.nodes.iter().any(|node| node.block.has(page))
    }

    /// Room for all pages of a request that are not held.
    pub fn make_room(&mut self, span: &Span, done: &mut Decisions) {
        while !self.page_room && !self.nodes.is_empty() {
            let missing = (span.first..span.first + span.count).filter(|&page| !self.has(page)).count();
            if self.held() + missing <= self.capacity {
                break;
            }
            self.replace(done);
        }
    }

    /// Serves a page of a request, which may have `counted` for its block's popularity.
    pub fn access_page(&mut self, page: u32, write: bool, counted: &mut bool, done: &mut Decisions) {
        let number = page / self.pages_per_block;
        let hit = self.has(page);
        done.hits.push(hit);
        if !hit && self.held() == self.capacity {
            self.replace(done);
        }
        let counts = !hit || write || self.read_hits_count;
        let everywhere = self.page_region_counts;
        if let Some(node) = self.node(number) {
            if counts && !*counted {
                node.popularity += u32::from(everywhere || node.migrated);
                *counted = true;
            }
        } else {
            let block = Block { number, pages: Vec::new() };
            self.nodes.push(Node { block, popularity: 1, migrated: false });
            *counted = true;
        }
        let node = self.node(number).unwrap();
        node.block.serve(page, write);
        if !node.migrated {
            self.pages.retain(|&held| held != page);
            self.pages.insert(0, page);
            let before = if hit { self.uses[&page] } else { 0 };
            self.uses.insert(page, before + 1);
        }
        self.migrate(number);
    }

    /// After the part of a request that touches one block.
    pub fn end(&mut self, request: u64) {
        let region = self.region();
        if region != self.watched {
            self.adjust(request);
        }
        self.watched = region;
    }
}

impl Reference for Hbm {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        if span.count > 1 {
            self.make_room(span, &mut done);
        }
        let mut counted = false;
        for page in span.first..span.first + span.count {
            self.access_page(page, span.write, &mut counted, &mut done);
        }
        self.end(span.request);
        done
    }

    fn trim(&mut self, page: u32) {
        self.pages.retain(|&held| held != page);
        for node in &mut self.nodes {
            node.block.pages.retain(|held| held.0 != page);
        }
        self.nodes.retain(|node| !node.block.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        // In the order in which they would have to make room: the block region empties first.
        let mut order = Vec::new();
        let mut waiting: Vec<u32> =
            self.nodes.iter().filter(|node| node.migrated).map(|node| node.block.number).collect();
        while let Some(number) = self.victim() {
            order.push(number);
            self.node(number).unwrap().migrated = false;
        }
        for number in waiting.drain(..) {
            self.node(number).unwrap().migrated = true;
        }
        for page in self.page_order().iter().rev() {
            let number = page / self.pages_per_block;
            if !order.contains(&number) {
                order.push(number);
            }
        }
        for number in order {
            done.left.extend(self.node(number).unwrap().block.write_back());
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        if let Some(node) = self.node(first / self.pages_per_block) {
            done.left.extend(node.block.write_back_some(first, count));
        }
        done
    }
}
