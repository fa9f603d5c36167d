//! W-TinyLFU: a page enters the main part only if it was used more often, of late, than the page
//! that it drives out.
//!
//! **What it does.** A new page enters a small LRU window, a hundredth of the buffer. The page that
//! drops out of it is the candidate for the main part, a segmented LRU: probation, and a protected
//! segment of four fifths that a hit leads into and that overflows back into probation. While the
//! main part is full, the candidate is compared with its victim, the last page of probation. The
//! one used more often stays; the victim does if they are equal. How often pages were used, held or
//! not, is estimated by a count-min sketch with four counters of four bits for each page. After
//! `sample` accesses for each page of the buffer all counts are halved, so that old use fades; that
//! of accesses is one of them, so that later samples are half as long.
//!
//! **When it wins**: where popularity is lasting and many pages are used once. **When it loses**:
//! where what is popular changes faster than counts fade, or pages are used again soon after they
//! came, beyond the window.
//!
//! G. Einziger, R. Friedman and B. Manes, "`TinyLFU`: A highly efficient cache admission policy",
//! ACM Transactions on Storage 13(4), 2017.
//!
//! **Where the paper is silent.** The sample is a multiple of the buffer that it varies: ten, as in
//! the third author's implementation (`sample`). Which counters an access adds to: all four, as in
//! a count-min sketch; `update = "smallest"` is the minimal increment that it describes too. Its
//! doorkeeper, a Bloom filter that takes a page's first access so that pages used once need no
//! counter, saves memory: off, as in that implementation (`doorkeeper`). The window is rounded
//! down, but has at least a page. An access counts before candidate and victim are compared. Where
//! all of the main part is protected, the last page there is the victim. A trimmed page keeps its
//! counts. A flush command writes the window from its end, then probation, then the protected
//! segment. Reads allocate; with `reads = "bypass"`, which makes it a write buffer, they are
//! not counted either.
//!
//! **The sketch.** It has blocks of four rows of 32 counters, one block for each eight pages of the
//! buffer, rounded up to a power of two. A page's number is spread by the finaliser of
//! `SplitMix64`: the upper 32 bits, modulo the blocks, choose the block, and byte `n`, modulo 32,
//! the counter in row `n`. Counters end at 15. The doorkeeper has 64 bits for each 16 accesses of a
//! full sample, rounded up to a power of two, three of them for a page: the page's number plus
//! 2^32, spread in the same way, gives `a` in its lower 32 bits and `b` in the upper ones, whose
//! last bit is set; the bits are `a`, `a + b` and `a + 2 b`, modulo their number. It is emptied
//! when counts are halved, and its bit counts as one more use.
//!
//! Cost of a page access: O(1), on average over accesses: halving all counts takes a step for each
//! page of the buffer, `sample / 2` accesses for each page apart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{ReadPolicy, require_share};
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::{Buffer, Reason, Shape};
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};
use crate::support::sketch::{self, Bloom, Sketch};

/// What `list` says.
pub const ABOUT: About = About {
    title: "W-TinyLFU",
    summary: "An LRU window, then a segmented LRU that admits only pages used more often than \
        those that they drive out.",
    paper: "Einziger, Friedman and Manes, TinyLFU: A highly efficient cache admission policy, ACM \
        TOS 13(4)",
    year: Some(2017),
    also: &["tinylfu", "caffeine"],
    described_in: "the common literature, and the third author's implementation",
    choices: &[
        Choice {
            option: "sample",
            others: &["8", "16"],
            open: "after how many accesses for each page of the buffer counts are halved",
        },
        Choice {
            option: "update",
            others: &["\"smallest\""],
            open: "which counters of a page an access adds to",
        },
        Choice {
            option: "doorkeeper",
            others: &["true"],
            open: "whether a filter takes the first access to a page",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "The window has room for one page; 1 and 2 are in the main part. Page 3 is not \
            admitted, as it was used no more often than 1, the victim. When it comes back it has \
            been used twice, and drives 1 out.",
        capacity: 3,
        pages_per_block: 4,
        options: "",
        requests: "W 1, W 2, W 3, W 4, W 3, W 5",
    }],
    source: include_str!("w_tinylfu.rs"),
    ..About::PLAIN
};

/// Which counters of a page an access adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// All of them: a count-min sketch.
    #[default]
    All,
    /// The smallest ones: minimal increment.
    Smallest,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
    /// Share of the buffer that is the window, rounded down, but at least a page.
    pub window: f64,
    /// Share of the main part that is protected, rounded down.
    pub protected: f64,
    /// Accesses for each page of the buffer after which counts are halved, 1 to 1000.
    pub sample: u32,
    /// Which counters of a page an access adds to.
    pub update: Update,
    /// A filter takes the first access to a page.
    pub doorkeeper: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reads: ReadPolicy::default(),
            window: 0.01,
            protected: 0.8,
            sample: 10,
            update: Update::default(),
            doorkeeper: false,
        }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or an option out of its range.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_share("window", self.window)?;
        require_share("protected", self.protected)?;
        if !(1..=1000).contains(&self.sample) {
            return Err(format!("buffer.scheme.sample: found {}, expected 1 to 1000", self.sample));
        }
        let order = |slots: usize| {
            let window = ((self.window * f64::from(shape.capacity)) as u32).max(1);
            let main = shape.capacity - window;
            WTinyLfu {
                window,
                main,
                protected: (self.protected * f64::from(main)) as u32,
                links: Links::new(slots),
                part_of: vec![0; slots],
                parts: [List::default(); 3],
                len: [0; 3],
                uses: Uses::new(self, slots),
            }
        };
        Paged::build("w-tinylfu", shape, self.reads, order)
    }
}

/// How often pages were used of late.
#[derive(Debug)]
struct Uses {
    sketch: Sketch,
    doorkeeper: Option<Bloom>,
    sample: u64,
    /// Accesses since counts were halved, and half of those before.
    seen: u64,
}

impl Uses {
    fn new(config: &Config, slots: usize) -> Self {
        let update = match config.update {
            Update::All => sketch::Update::All,
            Update::Smallest => sketch::Update::Smallest,
        };
        let sample = u64::from(config.sample) * slots as u64;
        Self {
            sketch: Sketch::new(slots, update),
            doorkeeper: config.doorkeeper.then(|| Bloom::new(sample as usize)),
            sample,
            seen: 0,
        }
    }

    #[inline]
    fn add(&mut self, lpn: Lpn) {
        if !self.doorkeeper.as_mut().is_some_and(|doorkeeper| doorkeeper.insert(lpn.0)) {
            self.sketch.add(lpn.0);
        }
        self.seen += 1;
        if self.seen >= self.sample {
            self.seen /= 2;
            self.sketch.halve();
            if let Some(doorkeeper) = &mut self.doorkeeper {
                doorkeeper.clear();
            }
        }
    }

    fn estimate(&self, lpn: Lpn) -> u32 {
        let at_the_door = self.doorkeeper.as_ref().is_some_and(|doorkeeper| doorkeeper.has(lpn.0));
        self.sketch.estimate(lpn.0) + u32::from(at_the_door)
    }

    fn bytes(&self) -> usize {
        self.sketch.bytes() + self.doorkeeper.as_ref().map_or(0, Bloom::bytes)
    }
}

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

const NOT_ADMITTED: Reason =
    "end of the window, used no more often than the victim of the main part";
const DRIVEN_OUT: Reason =
    "victim of the main part, used less often than the page at the end of the window";

#[derive(Debug)]
struct WTinyLfu {
    /// Pages that window, main part and its protected segment may hold.
    window: u32,
    main: u32,
    protected: u32,
    links: Links,
    part_of: Vec<u8>,
    parts: [List; 3],
    len: [u32; 3],
    uses: Uses,
}

impl WTinyLfu {
    fn put(&mut self, slot: u32, part: usize) {
        self.part_of[slot as usize] = part as u8;
        self.parts[part].push_front(&mut self.links, slot);
        self.len[part] += 1;
    }

    fn take(&mut self, slot: u32) {
        let part = usize::from(self.part_of[slot as usize]);
        self.parts[part].remove(&mut self.links, slot);
        self.len[part] -= 1;
    }

    fn last(&self, part: usize) -> u32 {
        self.parts[part].back()
    }

    /// Brings the window's last page before the main part, if the window is full. Returns which of
    /// two pages lost.
    fn advance(&mut self, pages: &PageTable) -> Option<Victim> {
        if self.len[WINDOW] < self.window {
            return None;
        }
        let candidate = self.last(WINDOW);
        self.take(candidate);
        if self.len[PROBATION] + self.len[PROTECTED] < self.main {
            self.put(candidate, PROBATION);
            return None;
        }
        let part = if self.len[PROBATION] > 0 { PROBATION } else { PROTECTED };
        if self.len[part] == 0 {
            return Some((candidate, NOT_ADMITTED));
        }
        let victim = self.last(part);
        let [asks, stays] = [candidate, victim].map(|slot| self.uses.estimate(pages.get(slot).lpn));
        if asks <= stays {
            return Some((candidate, NOT_ADMITTED));
        }
        self.take(victim);
        self.put(candidate, PROBATION);
        Some((victim, DRIVEN_OUT))
    }
}

impl PageOrder for WTinyLfu {
    fn hit(&mut self, slot: u32, _write: bool, pages: &PageTable) -> Option<Victim> {
        self.uses.add(pages.get(slot).lpn);
        let part = usize::from(self.part_of[slot as usize]);
        self.take(slot);
        self.put(slot, if part == WINDOW { WINDOW } else { PROTECTED });
        if self.len[PROTECTED] > self.protected {
            let last = self.last(PROTECTED);
            self.take(last);
            self.put(last, PROBATION);
        }
        None
    }

    fn make_room(&mut self, lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        self.uses.add(lpn);
        self.advance(pages)
    }

    #[inline]
    fn insert(&mut self, slot: u32, _lpn: Lpn, _write: bool) {
        self.put(slot, WINDOW);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.take(slot);
    }

    #[inline]
    fn entry(&self, slot: u32) -> u32 {
        self.links.entry(slot)
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        self.parts.iter().rev().map(|part| part.iter(&self.links))
    }

    fn check(&self, _pages: &PageTable) -> Result<(), String> {
        let listed = self.parts.map(|part| part.iter(&self.links).count() as u32);
        let [window, probation, protected] = self.len;
        if listed != self.len
            || window > self.window
            || probation + protected > self.main
            || protected > self.protected
        {
            return Err(format!(
                "{listed:?} pages in window, probation and protected, {:?} counted, with room for \
                 {}, and {} with {} protected",
                self.len, self.window, self.main, self.protected
            ));
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.part_of.len() + self.uses.bytes()
    }
}
