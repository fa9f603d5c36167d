//! CLC: cold and largest cluster, a write buffer in which the fullest block leaves that was not
//! written lately.
//!
//! **What it does.** A cluster is what is buffered of a logical block. The clusters written most
//! recently, a share `hot` of all, are in one list in the order of their last write, whatever their
//! size. A cluster that falls out of that list goes to a list of clusters of its size; a write to
//! it brings it back to the front of the first. The largest cluster of the size lists leaves, the
//! one that came there first among equals; where these are empty, the last one of the first list.
//! All its pages are written upwards. Reads are served from the buffer where it has the page,
//! move nothing and allocate nothing.
//!
//! **When it wins**: FTLs with log blocks, where full blocks are cheap to write but the popular
//! ones should stay. **When it loses**: working sets larger than the hot share, in which large
//! blocks leave early, as with FAB.
//!
//! S. Kang, S. Park, H. Jung, H. Shim and J. Cha, "Performance trade-offs in using NVRAM write
//! buffer for flash memory-based storage devices", IEEE Transactions on Computers 58(6), 2009. A
//! reconstruction: built without that paper at hand.
//!
//! **Where the paper is silent**, as far as is known here. The share of the first list is a tenth
//! of the buffered clusters, rounded up (`hot`); it is kept to after each page written. Room is
//! made before the written cluster moves to the front (`evict_order`), as for BPLRU. A cluster that
//! a trim makes smaller is the latest of its size.
//!
//! A flush command empties the buffer, as BPLRU's paper has it for write buffers (section 4.2.4):
//! what is clean need not be kept where reads allocate nothing. A battery (`buffer.battery`) spares
//! it that.
//!
//! Cost of a page access: O(1), beside a scan of one bit a page of a block where a cluster leaves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocked::{BlockOrder, Blocked, EVICT_ORDER, EvictOrder};
use super::kit::blocks::{Directory, ReadPolicy, require_share};
use super::kit::by_size::BySize;
use super::{Buffer, Outcome, Reason, Shape};
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "CLC",
    summary: "Write buffer of blocks; of those not written lately the fullest leaves.",
    paper: "Kang et al., Performance trade-offs in using NVRAM write buffer for flash memory-based \
        storage devices, IEEE TC 58(6)",
    year: Some(2009),
    reconstruction: true,
    choices: &[
        Choice {
            option: "hot",
            others: &["0.3", "0.5"],
            open: "which share of the clusters is kept in the order of use alone",
        },
        EVICT_ORDER,
    ],
    examples: &[Example {
        source: "",
        shows: "One cluster of three is hot, block 2. Of the others block 0 is larger: it leaves \
            when page 12 comes.",
        capacity: 4,
        pages_per_block: 4,
        options: "",
        requests: "W 0, W 1, W 4, W 8, W 12",
    }],
    source: include_str!("clc.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of the buffered blocks that is kept in the order of use, whatever their size; at least
    /// one block.
    pub hot: f64,
    /// When room is made for a page whose block is already buffered.
    pub evict_order: EvictOrder,
}

impl Default for Config {
    fn default() -> Self {
        Self { hot: 0.1, evict_order: EvictOrder::EvictFirst }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or a share that is none.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_share("hot", self.hot)?;
        let order = |nodes| Clc {
            share: self.hot,
            hot: List::default(),
            hot_len: 0,
            cold: BySize::new(nodes, shape.pages_per_block),
            links: Links::new(nodes),
        };
        Ok(Box::new(Blocked::new("clc", shape, ReadPolicy::Bypass, self.evict_order, order)?))
    }
}

const LARGEST: Reason = "largest cold cluster";
const LEAST_RECENT: Reason = "no cold cluster: the one written longest ago";

#[derive(Debug)]
struct Clc {
    share: f64,
    hot: List,
    hot_len: u32,
    cold: BySize,
    links: Links,
}

impl Clc {
    /// A cluster is the most recent one; those that no longer have a place in the hot list go to
    /// the others.
    fn heat(&mut self, node: u32, blocks: &Directory, out: &mut Outcome) {
        self.raise(node, blocks);
        let most = (libm::ceil(self.share * blocks.blocks() as f64) as u32).max(1);
        while self.hot_len > most {
            let cooled = self.hot.back();
            self.remove(cooled, blocks);
            self.cold.put(&mut self.links, cooled, blocks.pages(cooled));
            out.note("cluster is cold", None, blocks.iter(cooled).map(|page| page.lpn));
        }
    }
}

impl BlockOrder for Clc {
    fn raise(&mut self, node: u32, blocks: &Directory) {
        self.remove(node, blocks);
        self.hot.push_front(&mut self.links, node);
        self.hot_len += 1;
    }

    fn touch(&mut self, node: u32, _lpn: Lpn, blocks: &Directory, out: &mut Outcome) {
        self.heat(node, blocks, out);
    }

    fn insert(&mut self, node: u32, _lpn: Lpn, fresh: bool, blocks: &Directory, out: &mut Outcome) {
        if fresh {
            self.hot.push_front(&mut self.links, node);
            self.hot_len += 1;
        }
        self.heat(node, blocks, out);
    }

    fn victim(&self, _blocks: &Directory) -> Option<(u32, Reason)> {
        let largest = self.cold.fullest();
        if largest != NONE {
            return Some((largest, LARGEST));
        }
        (!self.hot.is_empty()).then(|| (self.hot.back(), LEAST_RECENT))
    }

    fn remove(&mut self, node: u32, _blocks: &Directory) {
        if self.cold.contains(node) {
            self.cold.remove(&mut self.links, node);
        } else {
            self.hot.remove(&mut self.links, node);
            self.hot_len -= 1;
        }
    }

    fn shrink(&mut self, node: u32, blocks: &Directory) {
        if self.cold.contains(node) {
            self.cold.put(&mut self.links, node, blocks.pages(node));
        }
    }

    fn nodes(&self) -> impl Iterator<Item = u32> {
        self.hot.iter(&self.links).chain(self.cold.fullest_last(&self.links))
    }

    fn check(&self, blocks: &Directory) -> Result<(), String> {
        let listed = self.hot.iter(&self.links).count();
        if listed != self.hot_len as usize {
            return Err(format!("{listed} hot clusters, {} counted", self.hot_len));
        }
        self.cold.check(&self.links, |node| blocks.pages(node))
    }

    fn bytes(&self) -> usize {
        self.cold.bytes() + self.links.bytes()
    }
}
