//! CLOCK: FIFO that gives a page another round for each time that it was used.
//!
//! **What it does.** The pages lie on a ring, a new one where the hand has just passed. Each page
//! has a counter of `bits` bits; a hit adds one to it, as long as it has room. To find a victim the
//! hand goes round: a page whose counter is not zero loses one and stays, the first at zero leaves.
//! With one bit it is second chance, close to LRU and cheaper: a hit moves nothing.
//!
//! **When it wins**: as LRU does, where pages used lately are used again; with more bits, where
//! pages used often are. **When it loses**: one large scan clears every counter.
//!
//! F. J. Corbató, "A paging experiment with the Multics system", MIT Project MAC Report MAC-M-384,
//! 1968.
//!
//! **Where the paper is silent.** It is about RAM pages, with the processor setting the bit. Here
//! the access that brings a page in does not count (`enters_used = false`), so that a page used
//! once leaves in the first round; with `true` it has a round more. Wider counters (`bits`) are
//! later work. Reads allocate; `reads = "bypass"` makes it a write buffer. A flush command
//! writes pages in the order in which the hand would choose them, one by one, and a forced write
//! its own; a write buffer lets them go.
//!
//! Cost of a page access: O(1), on average over accesses: each step of the hand that does not find
//! a victim uses up a hit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::ReadPolicy;
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::kit::written::Written;
use super::{Buffer, Reason, Shape};
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "CLOCK",
    summary: "Pages on a ring; the hand spares those used since it last came by.",
    paper: "Corbató, A paging experiment with the Multics system, MIT Project MAC M-384",
    year: Some(1968),
    also: &["second-chance"],
    described_in: "the common literature",
    choices: &[
        Choice { option: "bits", others: &["2"], open: "the width of a page's counter" },
        Choice {
            option: "enters_used",
            others: &["true"],
            open: "whether the access that brings a page in counts as use",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "Pages 1 and 3 are used again. Page 4 sends the hand past page 1, which loses its \
            bit, and 2 leaves; page 5 sends it past 3, and 1 leaves.",
        capacity: 3,
        pages_per_block: 4,
        options: "",
        requests: "W 1, W 2, W 3, W 1, W 3, W 4, W 5",
    }],
    source: include_str!("clock.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
    /// Bits of a page's counter of uses, 1 to 8.
    pub bits: u8,
    /// A page enters with its counter at one, not zero.
    pub enters_used: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { reads: ReadPolicy::default(), bits: 1, enters_used: false }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or a counter of no or too many bits.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        if !(1..=8).contains(&self.bits) {
            return Err(format!("buffer.scheme.bits: found {}, expected 1 to 8", self.bits));
        }
        let order = |slots| Clock {
            most: u8::MAX >> (8 - self.bits),
            at_first: u8::from(self.enters_used),
            links: Links::new(slots),
            ring: List::default(),
            uses: vec![0; slots],
            written: Written::new(slots),
        };
        Paged::build("clock", shape, self.reads, order)
    }
}

const NOT_USED: Reason = "first page at the hand that was not used since";

#[derive(Debug)]
struct Clock {
    /// What a counter holds at most.
    most: u8,
    /// What it begins with.
    at_first: u8,
    links: Links,
    /// The hand is at the back; what it passes goes to the front.
    ring: List,
    uses: Vec<u8>,
    written: Written,
}

impl PageOrder for Clock {
    #[inline]
    fn hit(&mut self, slot: u32, write: bool, _pages: &PageTable) -> Option<Victim> {
        self.written.used(slot, write);
        let uses = &mut self.uses[slot as usize];
        *uses = self.most.min(uses.saturating_add(1));
        None
    }

    #[inline]
    fn make_room(&mut self, _lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        if !pages.is_full() {
            return None;
        }
        loop {
            let slot = self.ring.back();
            let uses = &mut self.uses[slot as usize];
            if *uses == 0 {
                self.remove(slot, pages);
                return Some((slot, NOT_USED));
            }
            *uses -= 1;
            self.ring.touch(&mut self.links, slot);
            self.written.place(slot);
        }
    }

    #[inline]
    fn insert(&mut self, slot: u32, _lpn: Lpn, write: bool) {
        self.written.place(slot);
        self.written.used(slot, write);
        self.uses[slot as usize] = self.at_first;
        self.ring.push_front(&mut self.links, slot);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.written.cleaned(slot);
        self.ring.remove(&mut self.links, slot);
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        std::iter::once(self.ring.iter(&self.links))
    }

    fn cleaned(&mut self, slot: u32) {
        self.written.cleaned(slot);
    }

    fn leaving(&mut self, _pages: &PageTable) -> Vec<u32> {
        let mut slots = self.written.leaving(|_| false);
        // The hand comes by once more for each use.
        slots.sort_by_key(|&slot| self.uses[slot as usize]);
        slots
    }

    fn check(&self, _pages: &PageTable) -> Result<(), String> {
        match self.slots().into_iter().find(|&slot| self.uses[slot as usize] > self.most) {
            Some(slot) => Err(format!("slot {slot} counts {} uses", self.uses[slot as usize])),
            None => Ok(()),
        }
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.uses.len() + self.written.bytes()
    }
}
