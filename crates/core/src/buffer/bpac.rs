//! BPAC: block-page adaptive cache, a write buffer with a list of single pages and a list of blocks
//! between which pages move.
//!
//! **What it does.** A new page goes to the front of the *page list*, which is in the order of use;
//! if the *block list* has pages of its block, it joins them there. The page list has a share of
//! the buffer: above it, its last page moves to the block list. A page of the block list that is
//! written again moves back to the front of the page list. When a block has enough pages in the
//! page list, they all move to the block list. Room is made by the block of the block list with
//! most pages, among equals the one that changed longest ago: what the block list has of it is
//! written upwards. Where the block list is empty, the last page of the page list leaves, with the
//! others of its block. The share adapts: a new write to a page that fell out of the page list and
//! then left makes it larger by a page, a write of another page of a block that left lately makes
//! it smaller. Reads are served from the buffer where it has the page; they move nothing and
//! allocate nothing.
//!
//! **When it wins**: writes of which some return page by page and some fill blocks, on log-block
//! FTLs. **When it loses**: buffers that are small for either kind; workloads that change faster
//! than the share, which moves by a page at a time.
//!
//! G. Wu, B. Eckart and X. He, "BPAC: An adaptive write buffer management scheme for flash-based
//! solid state drives", MSST 2010. A reconstruction: of that paper the abstract was at hand, and
//! what Gong's thesis (2010), section 2.4.4, says of it.
//!
//! **Where these are silent.** All numbers and the way in which the share adapts. The page list
//! begins with half of the buffer (`page_share`, rounded to the nearest page), and has at least a
//! page and at most all but one; `adapt = false` leaves the share as it is. Half a block's pages
//! make a block move (`threshold`; one more than a block has: none ever does). The last pages that
//! fell out of the page list are remembered, as many as the buffer holds, and as many blocks that
//! left as it takes to fill it, rounded up; each counts once, and a page that returns to the page
//! list is not remembered any more. A smallest size of victims would change nothing, as the largest
//! one leaves. Pages that a flush command or forced unit access writes are not remembered. Forced
//! unit access sends all of its block: what the block list has of it, then what the page list has.
//!
//! A flush command empties the buffer, as BPLRU's paper has it for write buffers (section 4.2.4):
//! what is clean need not be kept where reads allocate nothing. A battery (`buffer.battery`) spares
//! it that.
//!
//! Cost of a page access: O(1), beside a scan of one bit a page of a block where one leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{Directory, require_room, require_share};
use super::kit::by_size::BySize;
use super::kit::ghosts::Ghosts;
use super::kit::pages::PageTable;
use super::{Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::support::NONE;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "BPAC",
    summary: "Write buffer with a page LRU list and a list of blocks, the fullest of which leaves; \
        pages move both ways.",
    paper: "Wu, Eckart and He, BPAC: An adaptive write buffer management scheme for flash-based \
        solid state drives, MSST",
    year: Some(2010),
    reconstruction: true,
    choices: &[
        Choice {
            option: "page_share",
            others: &["0.25", "0.75"],
            open: "the page list's share of the buffer, or where it begins",
        },
        Choice {
            option: "threshold",
            others: &["2", "16"],
            open: "how many pages of a block in the page list make them move",
        },
        Choice { option: "adapt", others: &["false"], open: "how the share follows the workload" },
    ],
    examples: &[Example {
        source: "",
        shows: "Half of eight pages are the page list's. Page 16 makes page 0 fall out of it, into \
            the block list; when 0 is written again it returns, and 4 falls out. Pages 8 and 9 are \
            half a block: they move together. So do 20 and 21; page 22 makes room by 8 and 9, \
            which changed longer ago, and joins its block.",
        capacity: 8,
        pages_per_block: 4,
        options: "",
        requests: "W 0, W 4, W 8, W 12, W 16, W 0, W 9, W 20-22",
    }],
    source: include_str!("bpac.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of the buffer that the page list has at first, 0 to 1.
    pub page_share: f64,
    /// Pages of a block in the page list that make them move to the block list, at least 1; null:
    /// half a block, rounded down.
    pub threshold: Option<u32>,
    /// The page list's share follows the workload.
    pub adapt: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { page_share: 0.5, threshold: None, adapt: true }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, a share that is none, or a threshold of 0.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        require_share("page_share", self.page_share)?;
        if self.threshold == Some(0) {
            return Err("buffer.scheme.threshold: found 0, expected at least 1".into());
        }
        let most = (shape.capacity - 1).max(1);
        let pages = PageTable::new(shape);
        let clusters = Directory::new(shape);
        let blocks = shape.logical_pages.div_ceil(shape.pages_per_block);
        Ok(Box::new(Bpac {
            capacity: shape.capacity,
            threshold: self.threshold.unwrap_or((shape.pages_per_block / 2).max(1)),
            adapts: self.adapt,
            share: (libm::round(self.page_share * f64::from(shape.capacity)) as u32).clamp(1, most),
            most,
            order: List::default(),
            links: Links::new(pages.slots()),
            pages,
            singles: Directory::new(shape),
            by_size: BySize::new(clusters.nodes(), shape.pages_per_block),
            cluster_links: Links::new(clusters.nodes()),
            clusters,
            demoted: Ghosts::new(shape, shape.capacity),
            flushed: Ghosts::new(
                Shape { logical_pages: blocks, ..shape },
                shape.capacity.div_ceil(shape.pages_per_block),
            ),
        }))
    }
}

const LARGEST: Reason = "block with most pages in the block list";
const LAST_PAGE: Reason = "block list empty: last page of the page list and its block";

#[derive(Debug)]
struct Bpac {
    capacity: u32,
    threshold: u32,
    adapts: bool,
    /// Pages that the page list may have now, and ever.
    share: u32,
    most: u32,
    /// The page list: by page, in order, and by block.
    pages: PageTable,
    order: List,
    links: Links,
    singles: Directory,
    /// The block list.
    clusters: Directory,
    by_size: BySize,
    cluster_links: Links,
    /// Pages that fell out of the page list.
    demoted: Ghosts<1>,
    /// Blocks that left ([`as_page`]).
    flushed: Ghosts<1>,
}

/// Remembers a page as the latest one, or what stands for a block ([`as_page`]).
fn remember(ghosts: &mut Ghosts<1>, lpn: Lpn) {
    ghosts.forget(lpn);
    if ghosts.is_full() {
        ghosts.forget_oldest(0);
    }
    ghosts.remember(lpn, 0);
}

/// A block's number where pages are remembered.
fn as_page(lbn: LogicalBlock) -> Lpn {
    Lpn(lbn.0)
}

impl Bpac {
    fn lbn(&self, lpn: Lpn) -> LogicalBlock {
        self.clusters.block_of(lpn)
    }

    fn write(&mut self, lpn: Lpn, out: &mut Outcome) -> Answer {
        if let Some(slot) = self.pages.find(lpn) {
            self.order.touch(&mut self.links, slot);
            return Answer::Hit;
        }
        if self.clusters.holds(lpn) {
            self.take_from_cluster(lpn);
            out.note("back to the page list", None, [lpn]);
            self.put_single(lpn, out);
            self.keep_share(out);
            return Answer::Hit;
        }
        self.adapt(lpn, out);
        if self.len() == self.capacity {
            self.replace(out);
        }
        if self.clusters.node_of(lpn) == NONE {
            self.put_single(lpn, out);
        } else {
            self.put_in_cluster(lpn);
        }
        self.keep_share(out);
        Answer::Insert
    }

    /// What a miss says about the page list's share.
    fn adapt(&mut self, lpn: Lpn, out: &mut Outcome) {
        if !self.adapts {
            return;
        }
        let share = if self.demoted.forget(lpn).is_some() {
            (self.share + 1).min(self.most)
        } else if self.flushed.forget(as_page(self.lbn(lpn))).is_some() {
            (self.share - 1).max(1)
        } else {
            return;
        };
        if share != self.share {
            self.share = share;
            out.note("pages for the page list", Some(i64::from(share)), []);
        }
    }

    fn replace(&mut self, out: &mut Outcome) {
        let fullest = self.by_size.fullest();
        let (lbn, reason) = if fullest == NONE {
            (self.lbn(self.pages.get(self.order.back()).lpn), LAST_PAGE)
        } else {
            (self.clusters.lbn(fullest), LARGEST)
        };
        if self.adapts {
            remember(&mut self.flushed, as_page(lbn));
        }
        if fullest == NONE {
            self.evict_singles(lbn, reason, out);
        } else {
            self.evict_cluster(lbn, reason, out);
        }
    }

    /// What the block list has of a block leaves.
    fn evict_cluster(&mut self, lbn: LogicalBlock, reason: Reason, out: &mut Outcome) {
        let node = self.clusters.node(lbn);
        if node != NONE {
            self.by_size.remove(&mut self.cluster_links, node);
            self.clusters.evict_whole(node, Action::Evict, reason, out);
        }
    }

    /// What the page list has of a block leaves.
    fn evict_singles(&mut self, lbn: LogicalBlock, reason: Reason, out: &mut Outcome) {
        let node = self.singles.node(lbn);
        if node != NONE {
            for page in self.singles.iter(node) {
                if let Some(slot) = self.pages.find(page.lpn) {
                    self.order.remove(&mut self.links, slot);
                    self.pages.remove(slot);
                }
            }
            self.singles.evict_whole(node, Action::Evict, reason, out);
        }
    }

    fn put_in_cluster(&mut self, lpn: Lpn) {
        let (node, _) = self.clusters.insert(lpn, true);
        self.by_size.put(&mut self.cluster_links, node, self.clusters.pages(node));
    }

    fn take_from_cluster(&mut self, lpn: Lpn) {
        let node = self.clusters.node_of(lpn);
        if self.clusters.remove(lpn).1 {
            self.by_size.remove(&mut self.cluster_links, node);
        } else {
            self.by_size.put(&mut self.cluster_links, node, self.clusters.pages(node));
        }
    }

    /// A page comes to the front of the page list; its block may have to move.
    fn put_single(&mut self, lpn: Lpn, out: &mut Outcome) {
        self.demoted.forget(lpn);
        let slot = self.pages.insert(lpn, true);
        self.order.push_front(&mut self.links, slot);
        let (node, _) = self.singles.insert(lpn, true);
        if self.singles.pages(node) >= self.threshold {
            out.note(
                "block moves to the block list",
                None,
                self.singles.iter(node).map(|page| page.lpn),
            );
            while let Some(page) = self.first_single(self.lbn(lpn)) {
                self.take_single(page);
                self.put_in_cluster(page);
            }
        }
    }

    /// The page list keeps to its share; the last pages of a longer one fall out.
    fn keep_share(&mut self, out: &mut Outcome) {
        while self.pages.len() > self.share {
            let last = self.pages.get(self.order.back()).lpn;
            self.take_single(last);
            self.put_in_cluster(last);
            if self.adapts {
                remember(&mut self.demoted, last);
            }
            out.note("page falls out of the page list", None, [last]);
        }
    }

    /// The first page of a block in the page list.
    fn first_single(&self, lbn: LogicalBlock) -> Option<Lpn> {
        let node = self.singles.node(lbn);
        (node != NONE).then(|| self.singles.iter(node).next().map(|page| page.lpn)).flatten()
    }

    fn take_single(&mut self, lpn: Lpn) {
        if let Some(slot) = self.pages.find(lpn) {
            self.order.remove(&mut self.links, slot);
            self.pages.remove(slot);
            self.singles.remove(lpn);
        }
    }
}

impl Buffer for Bpac {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        for lpn in span.pages() {
            let answer = if span.write {
                self.write(lpn, out)
            } else if self.holds(lpn) {
                Answer::Hit
            } else {
                Answer::Bypass
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            if self.clusters.holds(lpn) {
                self.take_from_cluster(lpn);
            } else {
                self.take_single(lpn);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        while !self.by_size.is_empty() {
            self.evict_cluster(self.clusters.lbn(self.by_size.fullest()), FLUSH_COMMAND, out);
        }
        while !self.order.is_empty() {
            self.evict_singles(self.lbn(self.pages.get(self.order.back()).lpn), FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        if first.run(count).any(|lpn| self.holds(lpn)) {
            self.evict_cluster(self.lbn(first), FORCED, out);
            self.evict_singles(self.lbn(first), FORCED, out);
        }
    }

    fn len(&self) -> u32 {
        self.pages.len() + self.clusters.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.pages.find(lpn).is_some() || self.clusters.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        let singles = || self.order.iter(&self.links).map(|slot| self.pages.get(slot).lpn);
        let both = || singles().find(|&lpn| self.clusters.holds(lpn) || !self.singles.holds(lpn));
        if self.singles.len() != self.pages.len() || self.pages.len() > self.share {
            return Err(format!(
                "bpac: {} pages in the page list, {} by block, for a share of {}",
                self.pages.len(),
                self.singles.len(),
                self.share
            ));
        }
        if let Some(lpn) = both() {
            return Err(format!("bpac: page {lpn} is not in the page list alone"));
        }
        self.pages
            .check(self.order.iter(&self.links))
            .and_then(|()| {
                self.by_size.check(&self.cluster_links, |node| self.clusters.pages(node))
            })
            .and_then(|()| self.clusters.check(self.by_size.iter(&self.cluster_links)))
            .and_then(|()| self.demoted.check(|lpn| self.pages.find(lpn).is_some()))
            .map_err(|problem| format!("bpac: {problem}"))
    }

    fn metadata_bytes(&self) -> usize {
        self.pages.bytes()
            + self.links.bytes()
            + self.singles.bytes()
            + self.clusters.bytes()
            + self.by_size.bytes()
            + self.cluster_links.bytes()
            + self.demoted.bytes()
            + self.flushed.bytes()
    }

    /// The page list, then the block list from the smallest block on.
    fn dump(&self) -> Vec<Vec<Lpn>> {
        let pages = self.order.iter(&self.links).map(|slot| vec![self.pages.get(slot).lpn]);
        let blocks = self.by_size.fullest_last(&self.cluster_links);
        pages
            .chain(blocks.map(|node| self.clusters.iter(node).map(|page| page.lpn).collect()))
            .collect()
    }
}
