//! HBM: single pages and whole blocks in one buffer, divided by how many pages of a block have come
//! together.
//!
//! **What it does.** New pages enter the *page region*, in the order of use. When a block has as
//! many pages there as the *threshold* says, all of them move to the *block region*, for good;
//! later pages of that block join them. Room is made from the block region (LAR): the block of the
//! smallest popularity, among equals the one with most pages. If any of its pages is dirty, all are
//! written in order, the clean ones too; else all are dropped. Only an empty block region makes the
//! page region give: its last page leaves with all other pages of its block (*selection
//! compensation*). The threshold follows the share of the block region: above beta it rises by one,
//! below alpha it falls by one, at most once in 100 requests.
//!
//! **When it wins**: mixes of small random and large sequential requests on log-block FTLs. **When
//! it loses**: FTLs that map pages, which gain nothing from whole blocks.
//!
//! G. Gong, "Hybrid buffer management for solid state drives" (thesis, 2010), chapter 3; Wei et al.
//! as HBM.
//!
//! **Where the thesis is silent or contradicts itself.** Ties in popularity: Algorithm 3.3 and
//! figure 3.4(b) take most pages, section 3.5.2 says fewest (`size_tie`). What then is equal is
//! picked at random when room has to be made (`tie`). Algorithms 3.1 and 3.2 speak of requests of
//! one page; a request of several is cut into parts of one block each. Room is made for all pages
//! that a part brings before the first is taken in, so that a block being written does not make
//! itself leave in pieces (`room = "page"`: for each page when it comes); where the buffer is
//! smaller than that, all else leaves, and then room is made page by page. Popularity: section 3.3
//! counts reads and writes, Algorithm 3.1 leaves read hits out (`read_hits_count`); it is counted
//! for blocks in both regions, as the block nodes cover both (`page_region_counts`; without it a
//! block enters the block region with popularity 1), once for each request and block, after room is
//! made (Algorithms 3.1 and 3.2). Algorithm 3.4 looks at the threshold where the block region's
//! size is changed: here after each part of a request, if the size is another than after the part
//! before. So what leaves to make room counts as much as what comes, an exchange for as many pages
//! does not (`exchange_counts`: it does, as the size was another in between), and what a trim takes
//! away counts with the part that follows; flush commands change no size. An empty region changes
//! no more until a block enters it: the threshold stays, as the algorithm has it. It moves at the
//! earliest in the hundredth request after the one that moved it last (`settle`), or after the
//! first one. alpha and beta follow Table 3.1, with 128 and 256 pages read as two and four blocks
//! (beta is twice alpha where alpha would be above it), and a buffer of 8192 pages (16 MiB of the
//! thesis's 2 KiB pages) or more as large. Flush commands write dirty pages, by blocks or, as room
//! would be made without `compensation`, pages of the page region by themselves; and keep them.
//!
//! **Against the thesis's structures**: a B+ tree over blocks and a scan of all of them for each
//! new victim there; here a table over logical blocks, two bits a page, and a heap over the blocks
//! of the block region: O(1) for a page, O(log n) where a block's rank changes.
//! `buffer_paper_bytes` counts as section 3.5.3 does: 16 bytes a page, and for a block 8 and 4 for
//! each of its pages, with 16 in leaves and 8 in inner nodes of the tree; 52 bytes where each page
//! is a block of its own.
//!
//! Cost of a page access: O(1), O(log n) in the blocks of the block region where a block's rank
//! changes.

use super::kit::blocks::Directory;
/// Options.
pub use super::kit::regions::rules::{PageOrder, Room, Rules as Config, SizeTie, Threshold, Tie};
use super::kit::regions::{Regions, Visit};
use super::{Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::support::ids::Lpn;
use crate::support::registry::{About, Choice, Cost, Example, Needs};

/// What `list` says.
pub const ABOUT: About = About {
    title: "HBM",
    summary: "Single pages in LRU order until enough of a block came together; then the least \
        popular, fullest block leaves.",
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
            option: "room",
            others: &[r#""page""#],
            open: "whether room is made for a request's part in a block at once or for each of its \
                pages",
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
            option: "exchange_counts",
            others: &["true"],
            open: "whether the block region's size is changed where as many pages come as leave \
                for them",
        },
        Choice {
            option: "beta",
            others: &["0.1", "0.2"],
            open: "Table 3.1 goes by the buffer's size and excepts small ones, section 4.3.4 knows \
                no exception",
        },
    ],
    examples: &[
        Example {
            source: "the thesis's table 1.1, hybrid",
            shows: "Only full blocks are in the block region. Block 0 leaves first, whole. Then \
                the block region is empty: page 5 is the last page of the page region, and page 7 \
                leaves with it. (The table counts three hits, which takes `compensation = false`.)",
            capacity: 8,
            pages_per_block: 4,
            options: r#"{"threshold": 4}"#,
            requests: "W 0-3, W 5, W 9, W 11, W 14, W 7, W 3, W 11, W 2, W 14, W 1, W 10, W 7",
        },
        Example {
            source: "the thesis's figure 3.4(a)",
            shows: "Blocks 0 and 2 are touched by three requests each, block 4 by two: it leaves, \
                with page 19, which is clean, to be written in one piece.",
            capacity: 12,
            pages_per_block: 4,
            options: r#"{"threshold": 1}"#,
            requests: "W 0-2, R 3, W 8-9, W 10, R 19, W 11, W 1-2, W 16-18, W 24",
        },
        Example {
            source: "the thesis's figure 3.4(b)",
            shows: "Blocks 2 and 4 are equally popular, and block 4 has more pages. All of them \
                are clean: it is dropped, and nothing is written.",
            capacity: 11,
            pages_per_block: 4,
            options: r#"{"threshold": 1}"#,
            requests: "W 0-2, R 3, W 8-9, R 19, W 11, W 1-2, R 16-18, W 24",
        },
        Example {
            source: "the thesis's figure 3.5",
            shows: "The third page of block 0 makes all three move to the block region; page 3 \
                joins them there.",
            capacity: 8,
            pages_per_block: 4,
            options: r#"{"threshold": 3}"#,
            requests: "W 0, W 5, W 1, W 2, W 3",
        },
    ],
    needs: &[
        Needs { option: "alpha", beside: "threshold", values: &[r#""dynamic""#] },
        Needs { option: "beta", beside: "threshold", values: &[r#""dynamic""#] },
        Needs { option: "settle", beside: "threshold", values: &[r#""dynamic""#] },
        Needs { option: "exchange_counts", beside: "threshold", values: &[r#""dynamic""#] },
        Needs { option: "seed", beside: "tie", values: &[r#""random""#] },
    ],
    source: include_str!("hbm.rs"),
    ..About::PLAIN
};

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or a threshold or share that cannot be.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        Ok(Box::new(Hbm { regions: Regions::new(self, shape)? }))
    }
}

#[derive(Debug)]
struct Hbm {
    regions: Regions,
}

/// Written in order if any of its pages is dirty, else dropped.
fn evict(blocks: &mut Directory, node: u32, reason: Reason, out: &mut Outcome) {
    let action = if blocks.dirty(node) > 0 { Action::Evict } else { Action::Drop };
    blocks.evict_whole(node, action, reason, out);
}

impl Buffer for Hbm {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        let regions = &mut self.regions;
        regions.make_room(span, out, evict);
        let mut visit = Visit::default();
        for lpn in span.pages() {
            let answer = if regions.blocks().holds(lpn) {
                regions.hit(lpn, span.write, &mut visit, out);
                Answer::Hit
            } else {
                if regions.blocks().is_full() {
                    regions.replace(out, evict);
                }
                regions.insert(lpn, span.write, &mut visit, out);
                if span.write { Answer::Insert } else { Answer::Fill }
            };
            out.answers.push(answer);
        }
        regions.end(span.request, out);
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            if self.holds(lpn) {
                self.regions.remove(lpn);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        self.regions.write_back(FLUSH_COMMAND, out);
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        self.regions.write_back_pages(first, count, FORCED, out);
    }

    fn len(&self) -> u32 {
        self.regions.blocks().len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.regions.blocks().holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        self.regions.check().map_err(|problem| format!("hbm: {problem}"))
    }

    fn metadata_bytes(&self) -> usize {
        self.regions.bytes()
    }

    fn paper_bytes(&self) -> Option<u64> {
        Some(
            32 * self.regions.blocks().blocks() as u64
                + 20 * u64::from(self.regions.blocks().len()),
        )
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        self.regions.dump()
    }
}
