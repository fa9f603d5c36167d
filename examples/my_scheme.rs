//! `MyClock`: a hand goes round the pages; one that was used since it last passed gets a second
//! chance.
//!
//! **What it does.** Pages stand on a ring, in the order in which they came. A hit marks a page as
//! used. To make room the hand goes round: a page that was used is marked as not used and passed, the
//! first one that was not leaves.
//!
//! Cost of a page access: O(1), on average over the turns of the hand.

use eraseblock_core::buffer::kit::blocks::ReadPolicy;
use eraseblock_core::buffer::kit::paged::{PageOrder, Paged, Victim};
use eraseblock_core::buffer::kit::pages::PageTable;
use eraseblock_core::buffer::{Buffer, Reason, Shape};
use eraseblock_core::support::ids::Lpn;
use eraseblock_core::support::list::{Links, List};
use eraseblock_core::support::registry::{About, Example};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `list` says.
pub const ABOUT: About = About {
    title: "MyClock",
    summary: "The first page at the hand that was not used since it last passed leaves alone.",
    examples: &[Example {
        source: "",
        shows: "Pages 1 and 3 are used again; the hand passes page 1, and page 2 leaves.",
        capacity: 3,
        pages_per_block: 4,
        options: "",
        requests: "W 1, W 2, W 3, W 1, W 3, W 4",
    }],
    source: include_str!("my_scheme.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        Paged::build("my-clock", shape, self.reads, MyClock::new)
    }
}

const NOT_USED: Reason = "first page at the hand that was not used since";

#[derive(Debug)]
struct MyClock {
    links: Links,
    /// The hand is at the back; what it passes goes to the front.
    ring: List,
    /// By slot.
    used: Vec<bool>,
}

impl MyClock {
    fn new(slots: usize) -> Self {
        Self { links: Links::new(slots), ring: List::default(), used: vec![false; slots] }
    }
}

impl PageOrder for MyClock {
    fn hit(&mut self, slot: u32, _write: bool, _pages: &PageTable) -> Option<Victim> {
        self.used[slot as usize] = true;
        None
    }

    fn make_room(&mut self, _lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        if !pages.is_full() {
            return None;
        }
        loop {
            let met = self.ring.back();
            if !std::mem::take(&mut self.used[met as usize]) {
                self.ring.remove(&mut self.links, met);
                return Some((met, NOT_USED));
            }
            self.ring.touch(&mut self.links, met);
        }
    }

    fn insert(&mut self, slot: u32, _lpn: Lpn, _write: bool) {
        self.used[slot as usize] = false;
        self.ring.push_front(&mut self.links, slot);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.ring.remove(&mut self.links, slot);
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        std::iter::once(self.ring.iter(&self.links))
    }

    fn leaving(&mut self, pages: &PageTable) -> Vec<u32> {
        let mut slots = self.slots();
        slots.retain(|&slot| pages.get(slot).dirty);
        slots.reverse();
        // The hand comes by once more for one that was used.
        slots.sort_by_key(|&slot| self.used[slot as usize]);
        slots
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.used.len()
    }
}
