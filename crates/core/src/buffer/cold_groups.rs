//! COLD GROUPS: the cold pages of one logical block leave together, a block for each channel at the
//! same time, by what the FTL says that writing them costs.
//!
//! **What it does.** Pages in the order of use, the most recent first; the last ones, a share
//! `cold` of the buffer, are *cold*. A page that is read from flash comes in as the warmest of the
//! cold ones. Where there is no room, a cold page that is clean leaves: it costs nothing. Where
//! there is none, the block leaves that has most cold dirty pages (its *group*), and with it, at
//! the same moment, the next largest group for each other channel. What a group is depends on the
//! FTL, which the buffer asks:
//!
//! - An FTL that maps *pages* writes each for the same price. Few pages are cold (a tenth), and no
//!   others leave. A sixteenth of the buffer stays free: what has left keeps its slot until it is
//!   stored, and what comes meanwhile does not wait for it. Whether a written page comes in hot, or
//!   only if it left lately, as in 2Q and S3-FIFO, is tried all the time: on a sample of the pages,
//!   in tables alone (`hot`). That also tells whether the work just fits; nothing stays free then.
//! - An FTL that maps *blocks* pays for a block more than for a page. Most pages are cold (four
//!   fifths), and all dirty pages of the block go along. Where the FTL says that writing the whole
//!   block is cheaper than writing a part and merging later, it is padded.
//!
//! **When it wins**: wherever the best scheme is not known beforehand. **When it loses**: a buffer of
//! a few blocks with hot pages in all of them, under an FTL that maps blocks: the round takes them.
//!
//! A scheme of eraseblock's own; [how it came about](../own.md). Of what it is made: the largest
//! block leaves as in FAB and CLC, but of cold pages alone, as in REF; clean ones first as in
//! CFLRU; one block for each channel as in CAVE; padding as in BPLRU.
//!
//! **The rules in full**: [own.md](../own.md#rules).
//!
//! Cost of a page access: O(1); of a round O(channels), and for each block that leaves O(pages of a
//! block), and O(units of the drive) where it was never written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::admission::Admission;
use super::kit::blocks::{ReadPolicy, require_room, require_share};
use super::kit::by_size::BySize;
use super::kit::ghosts::Ghosts;
use super::kit::modules::{Modules, Per};
use super::kit::pages::PageTable;
use super::kit::parallel::RANDOM;
use super::kit::window::Window;
use super::{Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::pattern::Hint;
use crate::support::bits::Bits;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::list::{Links, List};
use crate::support::registry::{About, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "cold groups",
    summary: "Blocks with most cold pages leave, one for each channel; how much is cold, and what \
        goes along, follows from what the FTL says.",
    examples: &[
        Example {
            source: "",
            shows: "Seven of eight pages are cold, all but page 16. When page 20 needs room, blocks 0 \
                and 1 are the largest groups of their channels and leave together; block 2 stays.",
            capacity: 8,
            pages_per_block: 4,
            options: r#"{"modules": 2, "padding": false}"#,
            requests: "W 0-2, W 4-5, W 8, W 12, W 16, W 20",
        },
        Example {
            source: "",
            shows: "The FTL is taken for one that maps pages. Page 9 was read: it is clean and cold, \
                and leaves first. Then only the cold page 0 leaves, and not the hot ones of its \
                block.",
            capacity: 4,
            pages_per_block: 4,
            options: r#"{"modules": 1, "below": "pages", "hot": "all"}"#,
            requests: "W 0, R 9, W 1-2, W 4, W 5",
        },
    ],
    source: include_str!("cold_groups.rs"),
    ..About::PLAIN
};

/// What the FTL maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Below {
    /// What it says of itself.
    #[default]
    Asked,
    /// Single pages.
    Pages,
    /// Whole logical blocks.
    Blocks,
}

/// Which written pages are hot at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hot {
    /// All.
    All,
    /// Those that are remembered.
    Returning,
    /// All or those, whichever is hit more often on a sample.
    Tried,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
    /// Share of the buffer that is cold, 0 to 1; at least one page. Default: 0.8 where the FTL maps
    /// blocks, else 0.1.
    pub cold: Option<f64>,
    /// Share of the buffer that is left free for pages that have left and are not stored yet, 0 to
    /// 1; one page is held at least. Under `hot = "tried"` all is used while the work just fits.
    /// Default: 0 where the FTL maps blocks, else 0.0625.
    pub reserve: Option<f64>,
    /// Which written pages come in hot; the others come in cold. Default: `tried` where the FTL maps
    /// pages, else `all`.
    pub hot: Option<Hot>,
    /// Pages that are remembered when they have left, in buffers, 0 to 64.
    pub ghosts: f64,
    /// What the FTL is taken to map.
    pub below: Below,
    /// Pad a block where the FTL says that it pays.
    pub padding: bool,
    /// Channels, to which blocks are dealt out by number modulo theirs. Default: those of the
    /// drive, as the FTL places blocks.
    pub modules: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reads: ReadPolicy::Allocate,
            cold: None,
            reserve: None,
            hot: None,
            ghosts: 1.0,
            below: Below::Asked,
            padding: true,
            modules: None,
        }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, a share that is none, or an impossible number of modules.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        if let Some(cold) = self.cold {
            require_share("cold", cold)?;
        }
        if let Some(reserve) = self.reserve {
            require_share("reserve", reserve)?;
        }
        if !(0.0..=64.0).contains(&self.ghosts) {
            return Err(format!(
                "buffer.scheme.ghosts: found {}, expected a share from 0 to 64",
                self.ghosts
            ));
        }
        let blocks = shape.logical_pages.div_ceil(shape.pages_per_block) as usize;
        let pages = PageTable::new(shape);
        let slots = pages.slots();
        let modules =
            Modules::new(Per::Channels, shape.pages_per_block, false, self.modules, None)?;
        Ok(Box::new(ColdGroups {
            config: self.clone(),
            shape,
            pages,
            window: Window::new(slots, 1),
            maps_pages: None,
            limit: shape.capacity,
            groups: BySize::new(blocks, shape.pages_per_block),
            grouped: Bits::new(shape.logical_pages as usize),
            links: Links::new(blocks),
            clean: List::default(),
            clean_links: Links::new(slots),
            modules,
            round: Vec::new(),
            ghosts: None,
            admission: None,
        }))
    }
}

const CLEAN: Reason = "clean and cold";
const LARGEST: Reason = "most cold pages of those for its channel";

#[derive(Debug)]
struct ColdGroups {
    config: Config,
    shape: Shape,
    pages: PageTable,
    /// The order of use, of which the window is cold.
    window: Window,
    /// Whether the FTL maps pages; not known before the first access.
    maps_pages: Option<bool>,
    /// Pages that are held at most unless the work just fits: the capacity without the reserve.
    limit: u32,
    /// Blocks by their cold dirty pages.
    groups: BySize,
    links: Links,
    /// The pages that the groups are made of, those that are cold and dirty.
    grouped: Bits,
    /// Cold clean pages, the one that became so first at the end.
    clean: List,
    clean_links: Links,
    modules: Modules,
    /// The blocks that leave, with their channels; its memory is used again.
    round: Vec<(LogicalBlock, Option<u32>)>,
    /// Pages that have left, where it matters.
    ghosts: Option<Ghosts<1>>,
    admission: Option<Admission>,
}

impl ColdGroups {
    /// Finds out what is below.
    #[cold]
    fn ask(&mut self, view: &dyn View) {
        let maps_pages = match self.config.below {
            Below::Asked => view.maps_pages(),
            Below::Pages => true,
            Below::Blocks => false,
        };
        let capacity = f64::from(self.shape.capacity);
        let cold = self.config.cold.unwrap_or(if maps_pages { 0.1 } else { 0.8 });
        self.window.resize((libm::ceil(cold * capacity) as u32).max(1));
        let reserve = self.config.reserve.unwrap_or(if maps_pages { 0.0625 } else { 0.0 });
        self.limit = (self.shape.capacity - libm::floor(reserve * capacity) as u32).max(1);
        self.maps_pages = Some(maps_pages);
        let hot = self.config.hot.unwrap_or(if maps_pages { Hot::Tried } else { Hot::All });
        let remembered = libm::floor(self.config.ghosts * capacity) as u32;
        if hot != Hot::All && remembered > 0 {
            self.ghosts = Some(Ghosts::new(self.shape, remembered));
            if hot == Hot::Tried {
                self.admission = Some(Admission::new(self.shape, cold, self.config.ghosts));
            }
        }
    }

    fn block(&self, slot: u32) -> LogicalBlock {
        self.pages.get(slot).lpn.block(self.shape.pages_per_block)
    }

    /// The pages of a block that the drive has.
    fn range(&self, block: LogicalBlock) -> impl Iterator<Item = Lpn> + use<> {
        let pages = block.range(self.shape.pages_per_block);
        Lpn::each(pages.start..pages.end.min(Lpn(self.shape.logical_pages)))
    }

    /// A slot has come into the window, or is clean now.
    #[inline]
    fn enter(&mut self, slot: u32) {
        let page = self.pages.get(slot);
        if page.dirty {
            let block = page.lpn.block(self.shape.pages_per_block).0;
            self.groups.put(&mut self.links, block, self.groups.size(block) + 1);
            self.grouped.set(page.lpn.index());
        } else {
            self.clean.push_front(&mut self.clean_links, slot);
        }
    }

    /// A slot goes out of the window, or is about to be clean.
    #[inline]
    fn leave(&mut self, slot: u32) {
        let page = self.pages.get(slot);
        if page.dirty {
            self.grouped.clear(page.lpn.index());
            let block = page.lpn.block(self.shape.pages_per_block).0;
            match self.groups.size(block) - 1 {
                0 => self.groups.remove(&mut self.links, block),
                left => self.groups.put(&mut self.links, block, left),
            }
        } else {
            self.clean.remove(&mut self.clean_links, slot);
        }
    }

    /// Pages become cold until there are as many as there should be.
    fn widen(&mut self) {
        while let Some(slot) = self.window.widen() {
            self.enter(slot);
        }
    }

    #[inline(never)]
    fn access_pages(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        for lpn in span.pages() {
            self.access_page(lpn, span.write, view, out);
        }
    }

    #[inline]
    fn access_page(&mut self, lpn: Lpn, write: bool, view: &dyn View, out: &mut Outcome) {
        let bypass = !write && self.config.reads == ReadPolicy::Bypass;
        if let Some(admission) = &mut self.admission
            && !bypass
        {
            admission.access(lpn, write);
        }
        match self.pages.find(lpn) {
            Some(slot) => {
                if !bypass {
                    self.use_again(slot, write);
                }
                out.answer(Answer::Hit);
            }
            None if bypass => out.answer(Answer::Bypass),
            None => self.take_in(lpn, write, view, out),
        }
    }

    // Not inlined: a hit need not prepare for a miss.
    #[inline(never)]
    fn take_in(&mut self, lpn: Lpn, write: bool, view: &dyn View, out: &mut Outcome) {
        if self.is_full() {
            self.make_room(view, out);
        }
        let hot = self.admit(lpn, write);
        let slot = self.pages.insert(lpn, write);
        if hot {
            self.window.push(slot);
            self.widen();
        } else {
            self.window.push_inside(slot);
            self.enter(slot);
        }
        out.answer(if write { Answer::Insert } else { Answer::Fill });
    }

    /// The host uses a page that is held.
    #[inline]
    fn use_again(&mut self, slot: u32, write: bool) {
        let cold = self.window.contains(slot);
        if cold {
            self.leave(slot);
            self.window.remove(slot);
        }
        if write {
            self.pages.set_dirty(slot, true);
        }
        if cold {
            self.window.push(slot);
            self.widen();
        } else {
            self.window.touch(slot);
        }
    }

    fn unlink(&mut self, slot: u32) {
        if self.window.remove(slot) {
            self.leave(slot);
        }
    }

    /// A page has left.
    fn remember(&mut self, lpn: Lpn) {
        if let Some(ghosts) = &mut self.ghosts {
            ghosts.remember_newest(lpn);
        }
    }

    /// A page that is not held comes in, and is no longer remembered; whether it is hot at once.
    fn admit(&mut self, lpn: Lpn, write: bool) -> bool {
        let returns = self.ghosts.as_mut().is_none_or(|ghosts| ghosts.forget(lpn).is_some());
        write && (returns || self.admission.as_ref().is_some_and(|one| !one.only_returning()))
    }

    /// Whether there is no room: in what is to stay free there is, while the work just fits.
    #[inline]
    fn is_full(&self) -> bool {
        self.pages.len() >= self.limit
            && (self.pages.is_full() || !self.admission.as_ref().is_some_and(Admission::just_fits))
    }

    fn make_room(&mut self, view: &dyn View, out: &mut Outcome) {
        if self.clean.is_empty() {
            self.choose(view);
            for at in 0..self.round.len() {
                let (block, channel) = self.round[at];
                self.evict(block, channel, view, out);
            }
        } else {
            let slot = self.clean.back();
            self.unlink(slot);
            let page = self.pages.remove(slot);
            self.remember(page.lpn);
            out.evict_page(page, CLEAN);
        }
        self.widen();
    }

    /// The largest group for each channel, looked for among the largest of all.
    fn choose(&mut self, view: &dyn View) {
        self.modules.open_all(view);
        self.round.clear();
        for block in self.groups.from_fullest(&self.links).take(self.modules.window(view)) {
            let block = LogicalBlock(block);
            let place = self.modules.place(block, RANDOM, view);
            if let Some(channel) = self.modules.take(place, view) {
                self.round.push((block, channel));
                if self.modules.are_closed() {
                    break;
                }
            }
        }
    }

    fn evict(
        &mut self,
        block: LogicalBlock,
        channel: Option<u32>,
        view: &dyn View,
        out: &mut Outcome,
    ) {
        let whole = self.maps_pages == Some(false);
        let start = out.pages.len();
        let pages = block.range(self.shape.pages_per_block);
        let end = pages.end.min(Lpn(self.shape.logical_pages));
        self.groups.remove(&mut self.links, block.0);
        if whole {
            self.grouped.clear_range(pages.start.index(), end.index());
            for lpn in Lpn::each(pages.start..end) {
                if let Some(slot) = self.pages.find(lpn)
                    && self.pages.get(slot).dirty
                {
                    self.take(slot, out);
                }
            }
        } else {
            let mut from = pages.start.index();
            while let Some(page) = self.grouped.first_set(from, end.index()) {
                self.grouped.clear(page);
                let slot = self.pages.find(Lpn(page as u32));
                self.take(slot.unwrap_or_else(|| unreachable!("it is held")), out);
                from = page + 1;
            }
        }
        let pages = (out.pages.len() - start) as u32;
        let pads = self.config.padding && whole && view.padding_pays(pages);
        out.evict(start, if pads { Action::EvictCompleted } else { Action::Evict }, LARGEST);
        out.with_hint(Hint { block, pattern: RANDOM, channel, again: false });
    }

    /// The page of a slot, which is in no group any longer, leaves.
    fn take(&mut self, slot: u32, out: &mut Outcome) {
        self.window.remove(slot);
        let page = self.pages.remove(slot);
        out.pages.push(page);
        self.remember(page.lpn);
    }

    /// The dirty ones of these pages of one block are written, upwards, and stay.
    fn write_back(&mut self, pages: impl Iterator<Item = Lpn>, reason: Reason, out: &mut Outcome) {
        let start = out.pages.len();
        for lpn in pages {
            if let Some(slot) = self.pages.find(lpn)
                && self.pages.get(slot).dirty
            {
                out.pages.push(self.pages.get(slot));
                let cold = self.window.contains(slot);
                if cold {
                    self.leave(slot);
                }
                self.pages.set_dirty(slot, false);
                if cold {
                    self.enter(slot);
                }
            }
        }
        out.evict(start, Action::WriteBack, reason);
    }
}

impl Buffer for ColdGroups {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        if self.maps_pages.is_none() {
            self.ask(view);
        }
        // Apart from the loop: a span of one page need not prepare for others.
        if span.count == 1 {
            self.access_page(span.first, span.write, view, out);
        } else {
            self.access_pages(span, view, out);
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            if let Some(slot) = self.pages.find(lpn) {
                self.unlink(slot);
                self.pages.remove(slot);
            } else if let Some(ghosts) = &mut self.ghosts {
                ghosts.forget(lpn);
            }
            if let Some(admission) = &mut self.admission {
                admission.forget(lpn);
            }
        }
        self.widen();
    }

    fn flush(&mut self, out: &mut Outcome) {
        let dirty = self.window.iter().filter(|&slot| self.pages.get(slot).dirty);
        // Those written since the last flush are behind no others than those used since.
        let slots: Vec<u32> = dirty.take(self.pages.dirty() as usize).collect();
        for &slot in slots.iter().rev() {
            if self.pages.get(slot).dirty {
                self.write_back(self.range(self.block(slot)), FLUSH_COMMAND, out);
            }
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        self.write_back(first.run(count), FORCED, out);
    }

    fn len(&self) -> u32 {
        self.pages.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.pages.find(lpn).is_some()
    }

    fn check(&self) -> Result<(), String> {
        let mut cold = vec![0; self.links.bytes() / size_of::<[u32; 2]>()];
        let mut clean = 0;
        for slot in self.window.iter() {
            let page = self.pages.get(slot);
            let is_cold = self.window.contains(slot);
            if is_cold && page.dirty {
                cold[self.block(slot).index()] += 1;
            } else if is_cold {
                clean += 1;
            }
            if self.grouped.get(page.lpn.index()) != (is_cold && page.dirty) {
                return Err(format!("cold-groups: page {} is in a group, or is not", page.lpn.0));
            }
        }
        let grouped = self.grouped.count_range(0, self.shape.logical_pages as usize);
        if grouped != cold.iter().sum::<u32>() {
            return Err(format!("cold-groups: {grouped} pages are in groups, some not held"));
        }
        let listed = self.clean.iter(&self.clean_links);
        if listed.filter(|&slot| self.window.contains(slot)).count() != clean {
            return Err(format!(
                "cold-groups: {clean} pages are clean and cold, others are listed"
            ));
        }
        for (block, &count) in cold.iter().enumerate() {
            if self.groups.size(block as u32) != count {
                return Err(format!("cold-groups: block {block} has {count} cold pages"));
            }
        }
        self.groups.check(&self.links, |block| cold[block as usize])?;
        self.window.check()?;
        if let Some(ghosts) = &self.ghosts {
            ghosts.check(|lpn| self.pages.find(lpn).is_some())?;
        }
        self.pages.check(self.window.iter())
    }

    fn metadata_bytes(&self) -> usize {
        self.pages.bytes()
            + self.window.bytes()
            + self.groups.bytes()
            + self.links.bytes()
            + self.grouped.bytes()
            + self.clean_links.bytes()
            + self.modules.bytes()
            + self.round.capacity() * size_of::<(LogicalBlock, Option<u32>)>()
            + self.ghosts.as_ref().map_or(0, Ghosts::bytes)
            + self.admission.as_ref().map_or(0, Admission::bytes)
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        self.window.iter().map(|slot| vec![self.pages.get(slot).lpn]).collect()
    }
}
