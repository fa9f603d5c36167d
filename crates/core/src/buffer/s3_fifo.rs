//! S3-FIFO: a small FIFO queue sifts out pages used once, before they reach the main one.
//!
//! **What it does.** A new page enters the small queue S, a tenth of the buffer; one that is
//! remembered in the ghost queue G enters the main queue M. Each page counts its hits, up to 3.
//! While S is at its size or above, the page at its end goes: to M if it counted at least
//! `move_to_main` hits, starting anew at zero; else it leaves the buffer, and G remembers it. Once
//! begun, that goes on until a page leaves, even if S falls below its size; if S has none that
//! does, M gives one up. While S is smaller, the page at the end of M goes: it gets another round
//! for each hit that it counted, else it leaves. G has as many entries as M has pages; a page that
//! comes back is taken out of it.
//!
//! **When it wins**: where most pages are used once: they leave within a tenth of the buffer's
//! time, and a hit moves nothing. **When it loses**: where a second use comes just after the small
//! queue, and again after the ghost queue.
//!
//! J. Yang, Y. Zhang, Z. Qiu, Y. Yue and R. Vinayak, "FIFO queues are all you need for cache
//! eviction", SOSP 2023, algorithm 1.
//!
//! **Where the paper is silent.** How many hits move a page to M: two (`move_to_main`; "more than
//! once" can count the access that brought it in, which makes it 1). What happens before the buffer
//! is full for the first time: new pages queue up in S (`fill = "small"`), and once it is full all
//! those beyond its size pass through at once; with `"both"` they go to M while S is full. Whether
//! G is asked before or after room is made: before, so that the page that leaves cannot push the
//! one that comes out of G. A trimmed page is not remembered; one remembered before stays so. A
//! flush command writes S from its end, then M, whatever hits they counted. Reads allocate;
//! `reads = "bypass"` makes it a write buffer.
//!
//! Cost of a page access: O(1), on average over accesses: each page that is spared uses up a hit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{ReadPolicy, require_share};
use super::kit::ghosts::Ghosts;
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::kit::written::Written;
use super::{Buffer, Reason, Shape};
use crate::support::bits::Bits;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "S3-FIFO",
    summary: "A small FIFO queue in front of a main one lets go of pages used once; a ghost queue \
        remembers them.",
    paper: "Yang et al., FIFO queues are all you need for cache eviction, SOSP",
    year: Some(2023),
    described_in: "the common literature (hits equal libCacheSim's)",
    choices: &[
        Choice {
            option: "move_to_main",
            others: &["1"],
            open: "how many hits move a page from the small queue to the main one",
        },
        Choice {
            option: "fill",
            others: &["\"both\""],
            open: "where new pages go before the buffer is full for the first time",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "The small queue has room for one page. Page 11 makes 1 leave, and the ghost queue \
            remembers it: when 1 is written again, it enters the main queue, where 12 cannot drive \
            it out.",
        capacity: 10,
        pages_per_block: 4,
        options: "",
        requests: "W 1, W 2, W 3, W 4, W 5, W 6, W 7, W 8, W 9, W 10, W 11, W 1, W 12",
    }],
    source: include_str!("s3_fifo.rs"),
    ..About::PLAIN
};

/// Where new pages go until one has to leave for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// To the small queue.
    #[default]
    Small,
    /// To the small queue, and to the main one when that has its size.
    Both,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
    /// Share of the buffer that is the small queue, rounded down, but at least a page.
    pub small: f64,
    /// Pages that the ghost queue remembers, as a share of the buffer, rounded down.
    pub ghost: f64,
    /// Hits in the small queue that move a page to the main one, 1 to 3.
    pub move_to_main: u8,
    /// Where new pages go until one has to leave for the first time.
    pub fill: Fill,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reads: ReadPolicy::default(),
            small: 0.1,
            ghost: 0.9,
            move_to_main: 2,
            fill: Fill::default(),
        }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or an option out of its range.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_share("small", self.small)?;
        require_share("ghost", self.ghost)?;
        if !(1..=MOST_HITS).contains(&self.move_to_main) {
            return Err(format!(
                "buffer.scheme.move_to_main: found {}, expected 1 to {MOST_HITS}",
                self.move_to_main
            ));
        }
        let order = |slots: usize| {
            let share = |of: f64| (of * f64::from(shape.capacity)) as u32;
            let remembered = share(self.ghost);
            S3Fifo {
                small: share(self.small).max(1),
                move_to_main: self.move_to_main,
                filling: self.fill == Fill::Both,
                links: Links::new(slots),
                hits: vec![0; slots],
                in_main: Bits::new(slots),
                written: Written::new(slots),
                queues: [List::default(); 2],
                len: [0; 2],
                remembers: remembered > 0,
                ghosts: Ghosts::new(shape, remembered),
                incoming: SMALL,
            }
        };
        Paged::build("s3-fifo", shape, self.reads, order)
    }
}

/// What two bits count.
const MOST_HITS: u8 = 3;

const SMALL: usize = 0;
const MAIN: usize = 1;

const TOO_FEW_HITS: Reason = "end of the small queue, with too few hits";
const NO_HITS: Reason = "end of the main queue, without hits";

#[derive(Debug)]
struct S3Fifo {
    /// Size of the small queue.
    small: u32,
    move_to_main: u8,
    /// No page has had to leave yet, and that matters.
    filling: bool,
    links: Links,
    hits: Vec<u8>,
    in_main: Bits,
    written: Written,
    queues: [List; 2],
    len: [u32; 2],
    remembers: bool,
    ghosts: Ghosts<1>,
    /// Queue of the page for which room was made.
    incoming: usize,
}

impl S3Fifo {
    fn put(&mut self, slot: u32, queue: usize) {
        if queue == MAIN {
            self.in_main.set(slot as usize);
        }
        self.hits[slot as usize] = 0;
        self.written.place(slot);
        self.queues[queue].push_front(&mut self.links, slot);
        self.len[queue] += 1;
    }

    fn take(&mut self, slot: u32) {
        let queue = usize::from(self.in_main.clear(slot as usize));
        self.queues[queue].remove(&mut self.links, slot);
        self.len[queue] -= 1;
    }

    fn remember(&mut self, lpn: Lpn) {
        if self.remembers {
            if self.ghosts.is_full() {
                self.ghosts.forget_oldest(0);
            }
            self.ghosts.remember(lpn, 0);
        }
    }

    /// Moves pages to the main queue up to the first that has too few hits; that one leaves. None,
    /// if all had enough.
    fn evict_small(&mut self, pages: &PageTable) -> Option<Victim> {
        while self.len[SMALL] > 0 {
            let slot = self.queues[SMALL].back();
            self.take(slot);
            if self.hits[slot as usize] < self.move_to_main {
                self.remember(pages.get(slot).lpn);
                self.written.cleaned(slot);
                return Some((slot, TOO_FEW_HITS));
            }
            self.put(slot, MAIN);
        }
        None
    }

    /// Sends pages round the main queue up to the first without hits; that one leaves.
    fn evict_main(&mut self) -> Victim {
        loop {
            let slot = self.queues[MAIN].back();
            let hits = &mut self.hits[slot as usize];
            if *hits == 0 {
                self.take(slot);
                self.written.cleaned(slot);
                return (slot, NO_HITS);
            }
            *hits -= 1;
            self.queues[MAIN].touch(&mut self.links, slot);
            self.written.place(slot);
        }
    }

    fn evict(&mut self, pages: &PageTable) -> Victim {
        let from_small = if self.len[SMALL] >= self.small { self.evict_small(pages) } else { None };
        from_small.unwrap_or_else(|| self.evict_main())
    }
}

impl PageOrder for S3Fifo {
    #[inline]
    fn hit(&mut self, slot: u32, write: bool, _pages: &PageTable) -> Option<Victim> {
        self.written.used(slot, write);
        let hits = &mut self.hits[slot as usize];
        *hits = MOST_HITS.min(*hits + 1);
        None
    }

    fn make_room(&mut self, lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        let remembered = self.ghosts.forget(lpn).is_some();
        let victim = pages.is_full().then(|| {
            self.filling = false;
            self.evict(pages)
        });
        let main = remembered || self.filling && self.len[SMALL] >= self.small;
        self.incoming = if main { MAIN } else { SMALL };
        victim
    }

    #[inline]
    fn insert(&mut self, slot: u32, _lpn: Lpn, write: bool) {
        self.put(slot, self.incoming);
        self.written.used(slot, write);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.written.cleaned(slot);
        self.take(slot);
    }

    #[inline]
    fn entry(&self, slot: u32) -> u32 {
        self.links.entry(slot)
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        self.queues.iter().rev().map(|queue| queue.iter(&self.links))
    }

    fn cleaned(&mut self, slot: u32) {
        self.written.cleaned(slot);
    }

    fn leaving(&mut self, _pages: &PageTable) -> Vec<u32> {
        self.written.leaving(|slot| self.in_main.get(slot as usize))
    }

    fn check(&self, pages: &PageTable) -> Result<(), String> {
        let listed = self.queues.map(|queue| queue.iter(&self.links).count() as u32);
        if listed != self.len {
            return Err(format!("{listed:?} pages in S and M, {:?} counted", self.len));
        }
        self.ghosts.check(|lpn| pages.find(lpn).is_some())
    }

    fn bytes(&self) -> usize {
        self.links.bytes()
            + self.hits.len()
            + self.in_main.bytes()
            + self.written.bytes()
            + self.ghosts.bytes()
    }
}
