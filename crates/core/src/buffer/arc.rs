//! ARC: two page LRU lists, for pages used once and more than once, whose shares follow what was
//! given away too early.
//!
//! **What it does.** T1 holds pages used once since they came, T2 those used again; both are LRU
//! lists. B1 and B2 remember as many pages again that left T1 and T2, without their data. A miss on
//! a page in B1 says that T1 was too small: its target grows, by |B2| / |B1| but at least 1. One on
//! a page in B2 makes it smaller in the same way. Such a page goes to T2. To make room, T1 gives up
//! its last page if it is larger than its target, else T2 does.
//!
//! **When it wins**: on mixtures of scans and re-use, as a scan only passes through T1; without
//! anything to set. **When it loses**: where all re-use is of one kind, it gains nothing over LRU,
//! and a burst of other accesses can move the target the wrong way.
//!
//! N. Megiddo and D. S. Modha, "ARC: A self-tuning, low overhead replacement cache", FAST 2003,
//! figure 4.
//!
//! **Where the paper is silent.** Whether the target is a whole number: it may be any (`target =
//! "real"`); with `"whole"` the quotient is rounded down. There the cache is always full once it
//! has been; here trims can empty places. Then nothing leaves, and the lists of remembered pages
//! are still kept within the paper's bounds: |T1| + |B1| within the buffer's size, all four within
//! twice that. A trimmed page is not remembered; one remembered before stays so. A flush command
//! writes T1 from its end, then T2. Reads allocate; `reads = "bypass"` makes it a write
//! buffer.
//!
//! Cost of a page access: O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::ReadPolicy;
use super::kit::ghosts::Ghosts;
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::{Buffer, Reason, Shape};
use crate::support::bits::Bits;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "ARC",
    summary: "Two page LRU lists, used once and used again; their shares follow what was given \
        away too early.",
    paper: "Megiddo and Modha, ARC: A self-tuning, low overhead replacement cache, FAST",
    year: Some(2003),
    described_in: "the common literature (hits equal libCacheSim's)",
    choices: &[Choice {
        option: "target",
        others: &["\"whole\""],
        open: "whether the target size of T1 is a whole number",
    }],
    examples: &[Example {
        source: "",
        shows: "Page 1 is in T2. Page 3 makes 2 leave T1, for B1; when 2 comes back, the target of \
            T1 becomes one page, so that T1 is not above it, and 1 leaves T2. When 1 comes back, \
            the target returns to zero, and 3 leaves T1.",
        capacity: 2,
        pages_per_block: 4,
        options: "",
        requests: "W 1, W 2, W 1, W 3, W 2, W 1",
    }],
    source: include_str!("arc.rs"),
    ..About::PLAIN
};

/// Kind of number that the target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Any number of pages.
    #[default]
    Real,
    /// Whole pages: steps are rounded down.
    Whole,
}

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
    /// Whether the target size of T1 moves by whole pages.
    pub target: Target,
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        let order = |slots: usize| Arc {
            capacity: slots as u32,
            rounding: self.target,
            target: 0.0,
            links: Links::new(slots),
            again: Bits::new(slots),
            lists: [List::default(); 2],
            len: [0; 2],
            ghosts: Ghosts::new(shape, slots as u32),
            incoming: ONCE,
        };
        Paged::build("arc", shape, self.reads, order)
    }
}

/// Pages used once: T1, and B1 of the remembered ones.
const ONCE: usize = 0;
/// Pages used again: T2 and B2.
const AGAIN: usize = 1;

const FROM_T1: Reason = "least recently used page of T1, which is above its target";
const FROM_T2: Reason = "least recently used page of T2";
const T1_ALONE: Reason = "least recently used page of T1, which is the whole buffer";

#[derive(Debug)]
struct Arc {
    capacity: u32,
    rounding: Target,
    /// Pages that T1 should have.
    target: f64,
    links: Links,
    /// Which slots are in T2.
    again: Bits,
    /// T1 and T2.
    lists: [List; 2],
    len: [u32; 2],
    /// B1 and B2.
    ghosts: Ghosts<2>,
    /// Where the page goes for which room was made.
    incoming: usize,
}

impl Arc {
    fn put(&mut self, slot: u32, list: usize) {
        if list == AGAIN {
            self.again.set(slot as usize);
        }
        self.lists[list].push_front(&mut self.links, slot);
        self.len[list] += 1;
    }

    fn take(&mut self, slot: u32) -> usize {
        let list = usize::from(self.again.clear(slot as usize));
        self.lists[list].remove(&mut self.links, slot);
        self.len[list] -= 1;
        list
    }

    /// Moves the target by what a miss on a page remembered in `list` says.
    fn adapt(&mut self, list: usize) {
        let [here, there] = [list, 1 - list].map(|list| f64::from(self.ghosts.len(list)));
        let step = match self.rounding {
            Target::Real => there / here,
            Target::Whole => (there / here).floor(),
        };
        let step = step.max(1.0);
        self.target = if list == ONCE {
            (self.target + step).min(f64::from(self.capacity))
        } else {
            (self.target - step).max(0.0)
        };
    }

    /// The paper's REPLACE: a page leaves T1 or T2 and is remembered.
    fn replace(&mut self, missed_in: Option<usize>, pages: &PageTable) -> Victim {
        let [once, again] = self.len;
        let size = f64::from(once);
        let above = size > self.target || missed_in == Some(AGAIN) && size >= self.target;
        let (list, reason) =
            if once > 0 && above || again == 0 { (ONCE, FROM_T1) } else { (AGAIN, FROM_T2) };
        let slot = self.lists[list].back();
        self.take(slot);
        self.ghosts.remember(pages.get(slot).lpn, list);
        (slot, reason)
    }
}

impl PageOrder for Arc {
    #[inline]
    fn hit(&mut self, slot: u32, _write: bool, _pages: &PageTable) -> Option<Victim> {
        self.take(slot);
        self.put(slot, AGAIN);
        None
    }

    fn make_room(&mut self, lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        let full = pages.is_full();
        if let Some(list) = self.ghosts.find(lpn) {
            self.adapt(list);
            self.ghosts.forget(lpn);
            self.incoming = AGAIN;
            return full.then(|| self.replace(Some(list), pages));
        }
        self.incoming = ONCE;
        let once = self.len[ONCE] + self.ghosts.len(ONCE);
        if once < self.capacity {
            if once + self.len[AGAIN] + self.ghosts.len(AGAIN) >= 2 * self.capacity {
                self.ghosts.forget_oldest(AGAIN);
            }
        } else if self.ghosts.len(ONCE) > 0 {
            self.ghosts.forget_oldest(ONCE);
        } else {
            let slot = self.lists[ONCE].back();
            self.take(slot);
            return Some((slot, T1_ALONE));
        }
        full.then(|| self.replace(None, pages))
    }

    #[inline]
    fn insert(&mut self, slot: u32, _lpn: Lpn, _write: bool) {
        self.put(slot, self.incoming);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.take(slot);
    }

    #[inline]
    fn entry(&self, slot: u32) -> u32 {
        self.links.entry(slot)
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        self.lists.iter().rev().map(|list| list.iter(&self.links))
    }

    fn check(&self, pages: &PageTable) -> Result<(), String> {
        let listed = self.lists.map(|list| list.iter(&self.links).count() as u32);
        if listed != self.len {
            return Err(format!("{listed:?} pages in T1 and T2, {:?} counted", self.len));
        }
        let remembered = [self.ghosts.len(ONCE), self.ghosts.len(AGAIN)];
        let all: u32 = self.len.iter().chain(&remembered).sum();
        if self.len[ONCE] + remembered[ONCE] > self.capacity || all > 2 * self.capacity {
            return Err(format!(
                "T1 and T2 have {:?} pages, B1 and B2 {remembered:?}, too many for {} in the buffer",
                self.len, self.capacity
            ));
        }
        self.ghosts.check(|lpn| pages.find(lpn).is_some())
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.again.bytes() + self.ghosts.bytes()
    }
}
