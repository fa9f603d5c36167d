//! LIRS-WSR: LIRS in which dirty pages get a second chance, so that writes are put off.
//!
//! **What it does.** LIRS tells pages by how long ago their *last but one* use was: most of the
//! buffer is for LIR pages, which come back after few others, a small rest for HIR pages. The
//! *stack* has pages in the order of use, LIR pages, HIR pages and the numbers of HIR pages that
//! have left; it ends with a LIR page. The *queue* has the buffered HIR pages, and its last one
//! leaves. A HIR page that is used while it is on the stack becomes LIR; for that, the last LIR
//! page of the stack is demoted to the front of the queue. *Write sequence reordering*: a dirty
//! page that is to be demoted or to leave is marked cold instead, and goes back to the front of
//! stack or queue. Only if it is cold already, or clean, does it go. Any use takes the mark away.
//!
//! **When it wins**: loops and scans that page LRU fails on, where programs cost much more than
//! reads. **When it loses**: working sets that change at once, to which LIRS adapts slowly.
//!
//! H. Jung, K. Yoon, H. Shim, S. Park, S. Kang and J. Cha, "LIRS-WSR: Integration of LIRS and
//! writes sequence reordering for flash memory", LNCS 4705, 2007; LIRS: S. Jiang and X. Zhang,
//! SIGMETRICS 2002. A reconstruction: built without the former at hand.
//!
//! **Where the papers are silent**, as far as is known here. HIR pages have one hundredth of the
//! buffer (`hir_share`), rounded to the nearest page, but at least one. As many numbers of pages
//! that left are remembered as the buffer has pages (`ghosts`, rounded in the same way); then the
//! one that left first is forgotten. Room for a page that becomes LIR is made before it does, so
//! that it is not demoted at once. A page that was demoted cold leaves without another chance.
//! While LIR pages have room, a new page becomes LIR. `base = "lru"` is LRU-WSR, the same idea on
//! one list in the order of use. A trimmed page is not remembered; one remembered before stays so.
//! A flush command writes the queue from its end, then LIR pages from the end of the stack; nothing
//! has a second chance there.
//!
//! Cost of a page access: O(1), as a page is marked cold once between two uses and leaves the stack
//! once for each time it came there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{ReadPolicy, require_share};
use super::kit::ghosts::Ghosts;
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::{Buffer, Reason, Shape};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example, Needs};

/// What `list` says.
pub const ABOUT: About = About {
    title: "LIRS-WSR",
    summary: "LIRS over pages; a dirty page that is to leave gets a second chance.",
    paper: "Jung et al., LIRS-WSR: Integration of LIRS and writes sequence reordering for flash \
        memory, LNCS 4705",
    year: Some(2007),
    reconstruction: true,
    choices: &[
        Choice {
            option: "hir_share",
            others: &["0.1"],
            open: "how much of the buffer HIR pages have",
        },
        Choice {
            option: "ghosts",
            others: &["0.5", "2.0"],
            open: "how many pages that have left are remembered",
        },
        Choice {
            option: "base",
            others: &[r#""lru""#],
            open: "the policy that dirty pages are held back in",
        },
    ],
    examples: &[
        Example {
            source: "",
            shows: "Two LIR pages, 1 and 2, and one HIR page. Page 4 makes 3 leave, which is \
                clean. Page 3 comes back soon: it becomes LIR. Page 1, the last one of the stack, \
                is dirty and gets a second chance; 2 is demoted, and leaves for page 5.",
            capacity: 3,
            pages_per_block: 4,
            options: "",
            requests: "W 1, R 2, R 3, R 4, R 3, R 5",
        },
        Example {
            source: "",
            shows: "On one list: page 1 is last and dirty, gets a second chance, and page 2 \
                leaves, which is clean.",
            capacity: 2,
            pages_per_block: 4,
            options: r#"{"base": "lru"}"#,
            requests: "W 1, R 2, R 3",
        },
    ],
    needs: &[
        Needs { option: "hir_share", beside: "base", values: &[r#""lirs""#] },
        Needs { option: "ghosts", beside: "base", values: &[r#""lirs""#] },
    ],
    source: include_str!("lirs_wsr.rs"),
    ..About::PLAIN
};

/// The policy that dirty pages are held back in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// LIRS.
    #[default]
    Lirs,
    /// Page LRU: this is LRU-WSR.
    Lru,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The policy that dirty pages are held back in.
    pub base: Base,
    /// Share of the buffer for HIR pages, 0 to 1; at least one page.
    pub hir_share: f64,
    /// Numbers of pages that left which are remembered, for each page of the buffer, 0 to 16.
    pub ghosts: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { base: Base::Lirs, hir_share: 0.01, ghosts: 1.0 }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or an option out of its range.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_share("hir_share", self.hir_share)?;
        if !(0.0..=16.0).contains(&self.ghosts) {
            return Err(format!("buffer.scheme.ghosts: found {}, expected 0 to 16", self.ghosts));
        }
        let lirs = |slots: usize| {
            let hirs = (libm::round(self.hir_share * f64::from(shape.capacity)) as u32).max(1);
            let ghosts = libm::round(self.ghosts * f64::from(shape.capacity)) as u32;
            let ghosts = Ghosts::new(shape, ghosts);
            LirsOrder {
                slots: slots as u32,
                stack: List::default(),
                stack_links: Links::new(slots + ghosts.capacity()),
                on_stack: Bits::new(slots),
                ghosts,
                queue: List::default(),
                queue_links: Links::new(slots),
                lir: Bits::new(slots),
                lirs: 0,
                most_lirs: shape.capacity.saturating_sub(hirs),
                cold: Bits::new(slots),
                enters_as_lir: false,
            }
        };
        let lru = |slots| LruOrder {
            order: List::default(),
            links: Links::new(slots),
            cold: Bits::new(slots),
        };
        match self.base {
            Base::Lirs => Paged::build("lirs-wsr", shape, ReadPolicy::Allocate, lirs),
            Base::Lru => Paged::build("lirs-wsr", shape, ReadPolicy::Allocate, lru),
        }
    }
}

const CLEAN: Reason = "last HIR page of the queue that is clean or had its chance";
const LAST: Reason = "last page that is clean or had its chance";

#[derive(Debug)]
struct LirsOrder {
    slots: u32,
    /// Slots, and ghosts numbered after them.
    stack: List,
    stack_links: Links,
    on_stack: Bits,
    /// HIR pages that have left and are on the stack.
    ghosts: Ghosts<1>,
    /// Buffered HIR pages.
    queue: List,
    queue_links: Links,
    lir: Bits,
    lirs: u32,
    most_lirs: u32,
    /// Dirty pages that had their second chance.
    cold: Bits,
    /// The page about to come is LIR.
    enters_as_lir: bool,
}

impl LirsOrder {
    /// The stack ends with a LIR page.
    fn prune(&mut self) {
        loop {
            let last = self.stack.back();
            if last == NONE || (last < self.slots && self.lir.get(last as usize)) {
                return;
            }
            self.leave_stack(last);
        }
    }

    /// Takes a slot or a ghost off the stack.
    fn leave_stack(&mut self, node: u32) {
        self.stack.remove(&mut self.stack_links, node);
        if node < self.slots {
            self.on_stack.clear(node as usize);
        } else {
            self.ghosts.forget(self.ghosts.page(node - self.slots));
        }
    }

    fn enter_stack(&mut self, slot: u32) {
        self.stack.push_front(&mut self.stack_links, slot);
        self.on_stack.set(slot as usize);
    }

    /// A page of the stack becomes, or comes as, a LIR page or a HIR page.
    fn enter(&mut self, slot: u32, as_lir: bool) {
        self.enter_stack(slot);
        if as_lir {
            self.lir.set(slot as usize);
            self.lirs += 1;
        } else {
            self.queue.push_front(&mut self.queue_links, slot);
        }
        self.prune();
    }

    /// Makes room among LIR pages if there is none.
    fn demote(&mut self, pages: &PageTable) {
        while self.lirs >= self.most_lirs {
            let last = self.stack.back();
            if pages.get(last).dirty && self.cold.set(last as usize) {
                self.stack.touch(&mut self.stack_links, last);
            } else {
                self.lir.clear(last as usize);
                self.lirs -= 1;
                self.queue.push_front(&mut self.queue_links, last);
            }
            self.prune();
        }
    }

    /// Takes the page that leaves out of the queue; its number stays on the stack.
    fn pop(&mut self, pages: &PageTable) -> u32 {
        loop {
            let last = self.queue.back();
            if pages.get(last).dirty && self.cold.set(last as usize) {
                self.queue.touch(&mut self.queue_links, last);
                continue;
            }
            self.queue.remove(&mut self.queue_links, last);
            if self.on_stack.get(last as usize) {
                self.become_ghost(last, pages.get(last).lpn);
            }
            return last;
        }
    }

    fn become_ghost(&mut self, slot: u32, lpn: Lpn) {
        if self.ghosts.is_full()
            && let Some(first) = self.ghosts.oldest(0)
        {
            self.leave_stack(self.slots + first);
        }
        if !self.ghosts.is_full() {
            let ghost = self.slots + self.ghosts.remember(lpn, 0);
            self.stack.insert_before(&mut self.stack_links, ghost, slot);
        }
        self.leave_stack(slot);
    }
}

impl PageOrder for LirsOrder {
    fn hit(&mut self, slot: u32, _write: bool, pages: &PageTable) -> Option<Victim> {
        self.cold.clear(slot as usize);
        if self.lir.get(slot as usize) {
            self.stack.touch(&mut self.stack_links, slot);
            self.prune();
            return None;
        }
        let promoted = self.on_stack.get(slot as usize) && self.most_lirs > 0;
        self.queue.remove(&mut self.queue_links, slot);
        if self.on_stack.get(slot as usize) {
            self.leave_stack(slot);
        }
        if promoted {
            self.demote(pages);
        }
        self.enter(slot, promoted);
        None
    }

    fn make_room(&mut self, lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        let ghost = self.ghosts.entry(lpn);
        if let Some(ghost) = ghost {
            self.leave_stack(self.slots + ghost);
        }
        let victim = pages.is_full().then(|| (self.pop(pages), CLEAN));
        self.enters_as_lir = self.lirs < self.most_lirs || (ghost.is_some() && self.most_lirs > 0);
        if self.enters_as_lir {
            self.demote(pages);
        }
        victim
    }

    fn insert(&mut self, slot: u32, _lpn: Lpn, _write: bool) {
        self.cold.clear(slot as usize);
        self.enter(slot, self.enters_as_lir);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        if self.lir.clear(slot as usize) {
            self.lirs -= 1;
        } else {
            self.queue.remove(&mut self.queue_links, slot);
        }
        if self.on_stack.get(slot as usize) {
            self.leave_stack(slot);
        }
        self.prune();
    }

    /// LIR pages from the top of the stack, then HIR pages from the front of the queue.
    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        let lists =
            [(&self.stack, &self.stack_links, true), (&self.queue, &self.queue_links, false)];
        lists.into_iter().map(move |(list, links, lir)| {
            let belongs = move |node| node < self.slots && self.lir.get(node as usize) == lir;
            list.iter(links).map(move |node| if belongs(node) { node } else { NONE })
        })
    }

    fn check(&self, pages: &PageTable) -> Result<(), String> {
        let (mut lirs, mut ghosts) = (0, 0);
        for node in self.stack.iter(&self.stack_links) {
            if node >= self.slots {
                ghosts += 1;
            } else if !self.on_stack.get(node as usize) {
                return Err(format!("slot {node} is on the stack and not marked so"));
            } else {
                lirs += u32::from(self.lir.get(node as usize));
            }
        }
        let hirs = self.queue.iter(&self.queue_links).count() as u32;
        if (lirs, ghosts, lirs + hirs) != (self.lirs, self.ghosts.len(0), pages.len())
            || lirs > self.most_lirs
        {
            return Err(format!(
                "{lirs} LIR pages, {hirs} HIR pages, {ghosts} ghosts; counted {} LIR of {} pages, \
                 {} ghosts",
                self.lirs,
                pages.len(),
                self.ghosts.len(0)
            ));
        }
        let last = self.stack.back();
        if last != NONE && !(last < self.slots && self.lir.get(last as usize)) {
            return Err("the stack does not end with a LIR page".into());
        }
        self.ghosts.check(|lpn| pages.find(lpn).is_some())
    }

    fn bytes(&self) -> usize {
        self.stack_links.bytes()
            + self.queue_links.bytes()
            + self.ghosts.bytes()
            + self.on_stack.bytes()
            + self.lir.bytes()
            + self.cold.bytes()
    }
}

/// LRU-WSR.
#[derive(Debug)]
struct LruOrder {
    order: List,
    links: Links,
    cold: Bits,
}

impl PageOrder for LruOrder {
    fn hit(&mut self, slot: u32, _write: bool, _pages: &PageTable) -> Option<Victim> {
        self.cold.clear(slot as usize);
        self.order.touch(&mut self.links, slot);
        None
    }

    fn make_room(&mut self, _lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        if !pages.is_full() {
            return None;
        }
        while pages.get(self.order.back()).dirty && self.cold.set(self.order.back() as usize) {
            let chanced = self.order.back();
            self.order.touch(&mut self.links, chanced);
        }
        self.order.pop_back(&mut self.links).map(|slot| (slot, LAST))
    }

    fn insert(&mut self, slot: u32, _lpn: Lpn, _write: bool) {
        self.cold.clear(slot as usize);
        self.order.push_front(&mut self.links, slot);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.order.remove(&mut self.links, slot);
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        std::iter::once(self.order.iter(&self.links))
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.cold.bytes()
    }
}
