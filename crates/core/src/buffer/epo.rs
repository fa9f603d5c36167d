//! EPO: element-level parallel optimization, a write buffer that sends one page to every element of
//! the drive at once.
//!
//! **What it does.** One list of pages for each element (chip), the most recently written first. A
//! request of several pages is divided into its pages. A page that is held moves to the front of
//! its list. One that is not held takes a free slot; where there is none, the last page of *every*
//! list leaves first, all in one batch, so that all elements work at the same time. The slots that
//! the new page does not need stay free, and the next writes find room. Reads are served from
//! the buffer where it has the page; they move nothing and take nothing in.
//!
//! **When it wins**: random writes in bursts on drives with many elements, where page LRU keeps one
//! element busy while the others are idle. **When it loses**: a batch takes pages that were used
//! lately from elements with short lists; hits are fewer than LRU's, the more so the smaller the
//! buffer is beside the number of elements. Without bursts nothing has to be parallel.
//!
//! T. Xie and J. Koshia, "Boosting random write performance for enterprise flash storage systems",
//! MSST 2011, figure 3.
//!
//! **Where the paper is silent.** Its buffer lies below the FTL and searches by physical address.
//! Then a rewritten page could only be found where the FTL puts it back to the same place; what
//! stays the same with the SSD model that it uses is the element. So pages are found by logical
//! number, in the list of the chip that the FTL binds them to. FTLs that bind no page to a chip
//! (dynamic striping over the whole drive, mappings of whole blocks) tell nothing; there a page
//! belongs to chip *page modulo chips*, and the pages of a batch need not meet different chips.
//! `elements` sets the number of lists and deals the pages out so on any FTL.
//!
//! When room is made and some lists are empty, the algorithm's step 19 finds nothing in them and
//! step 24 still counts e - 1 free slots. Either they are passed over, so that fewer pages leave
//! (`empty = "pass"`), or the lists are gone through again until one page for each element has left
//! (`empty = "again"`). What is held at the end, or when a flush command comes, leaves in batches,
//! too; what is forced leaves together. The paper's buffer is kept up by a battery: that is the
//! drive's (`buffer.battery`), as for every other scheme.
//!
//! Cost of a page access: O(1); of a batch O(elements).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::batched::{BatchOrder, Batched};
use super::kit::pages::PageTable;
use super::{Buffer, Reason, Shape, View};
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "EPO",
    summary: "Write buffer with a page LRU list for each chip; the last page of every list leaves, \
        all in one batch.",
    paper: "Xie and Koshia, Boosting random write performance for enterprise flash storage \
        systems, MSST",
    year: Some(2011),
    also: &["element-level-parallel-optimization"],
    choices: &[Choice {
        option: "empty",
        others: &[r#""again""#],
        open: "what a batch does about elements without pages",
    }],
    examples: &[
        Example {
            source: "the paper's figure 2(c)",
            shows: "One list. Pages 1, 2 and 3 come; 2 is written again and goes to the front, 4 \
                comes, 3 goes to the front. Page 1 is at the tail, and is the victim when page 5 \
                needs room.",
            capacity: 4,
            pages_per_block: 8,
            options: "",
            requests: "W 1, W 2, W 3, W 2, W 4, W 3, W 5",
        },
        Example {
            source: "",
            shows: "Two elements, even and odd pages. Page 4 needs one slot, and two pages leave \
                together; page 6 finds room.",
            capacity: 4,
            pages_per_block: 8,
            options: r#"{"elements": 2}"#,
            requests: "W 0-3, W 4, W 6, W 8",
        },
        Example {
            source: "",
            shows: "No odd page is held, and one page leaves instead of two.",
            capacity: 3,
            pages_per_block: 8,
            options: r#"{"elements": 2}"#,
            requests: "W 0, W 2, W 4, W 6",
        },
        Example {
            source: "",
            shows: "The same where the lists are gone through again.",
            capacity: 3,
            pages_per_block: 8,
            options: r#"{"elements": 2, "empty": "again"}"#,
            requests: "W 0, W 2, W 4, W 6",
        },
    ],
    source: include_str!("epo.rs"),
    ..About::PLAIN
};

/// What a batch does about elements without pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Empty {
    /// It passes them over, and is smaller.
    #[default]
    Pass,
    /// It goes through the lists again until it has a page for each element.
    Again,
}

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Lists, dealt out by page number modulo their number. Default: one for each chip, with the
    /// pages that the FTL binds to it.
    pub elements: Option<u32>,
    /// What a batch does about elements without pages.
    pub empty: Empty,
}

/// More elements than any array has dies.
const MOST_ELEMENTS: u32 = 65_535;

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or an impossible number of elements.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        if let Some(elements) =
            self.elements.filter(|elements| !(1..=MOST_ELEMENTS).contains(elements))
        {
            return Err(format!(
                "buffer.scheme.elements: found {elements}, expected 1 to {MOST_ELEMENTS}; leave it \
                 out for one for each chip"
            ));
        }
        let order = |slots| Epo {
            dealt: self.elements.is_some(),
            empty: self.empty,
            links: Links::new(slots),
            queues: vec![List::default(); self.elements.unwrap_or(0) as usize],
            queue_of: vec![0; slots],
        };
        Batched::build("epo", shape, order)
    }
}

#[derive(Debug)]
struct Epo {
    /// Pages are dealt out by their numbers, whatever the FTL does.
    dealt: bool,
    empty: Empty,
    links: Links,
    /// Slots of each element, the most recently written first.
    queues: Vec<List>,
    /// The element of each slot.
    queue_of: Vec<u16>,
}

impl BatchOrder for Epo {
    const REASON: Reason = "tail of each element's queue";
    const SPLITS: bool = true;

    fn look(&mut self, view: &dyn View) {
        if self.queues.is_empty() {
            self.queues.resize(view.chips() as usize, List::default());
        }
    }

    fn hit(&mut self, slot: u32, _request: u64) {
        self.queues[usize::from(self.queue_of[slot as usize])].touch(&mut self.links, slot);
    }

    fn insert(&mut self, slot: u32, lpn: Lpn, _request: u64, view: &dyn View) {
        let chip = if self.dealt { None } else { view.home_chip(lpn) };
        let queue = chip.unwrap_or_else(|| lpn.0 % self.queues.len() as u32);
        self.queue_of[slot as usize] = queue as u16;
        self.queues[queue as usize].push_front(&mut self.links, slot);
    }

    fn batch(&mut self, into: &mut Vec<u32>) {
        let mut before = usize::MAX;
        // Each round takes the tails that there are; a round that finds none is the last.
        while before != into.len() && into.len() < self.queues.len() {
            before = into.len();
            let left = self.queues.len() - into.len();
            let tails = self.queues.iter_mut().filter_map(|queue| queue.pop_back(&mut self.links));
            into.extend(tails.take(left));
            if self.empty == Empty::Pass {
                break;
            }
        }
    }

    fn remove(&mut self, slot: u32) {
        self.queues[usize::from(self.queue_of[slot as usize])].remove(&mut self.links, slot);
    }

    fn groups(&self) -> Vec<Vec<u32>> {
        self.queues.iter().map(|queue| queue.iter(&self.links).collect()).collect()
    }

    fn check(&self, _pages: &PageTable) -> Result<(), String> {
        let astray = |queue: usize, slot: u32| usize::from(self.queue_of[slot as usize]) != queue;
        for (number, queue) in self.queues.iter().enumerate() {
            if let Some(slot) = queue.iter(&self.links).find(|&slot| astray(number, slot)) {
                return Err(format!("slot {slot} is in queue {number} and belongs to another"));
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.queues.capacity() * size_of::<List>() + self.queue_of.len() * 2
    }
}
