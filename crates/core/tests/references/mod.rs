//! Schemes written a second time, from their papers and pages alone: plain lists, scans, no speed.
//! README.md says how.

/// One file for each buffer scheme.
pub mod buffers {
    automod::dir!(pub "tests/references/buffers");
}

/// One file for each kind of small drive: mappings, allocators, victim policies, levellers.
pub mod drives {
    automod::dir!(pub "tests/references/drives");
}

/// What several of them need.
pub mod kit;
pub mod records;

use std::ops::Range;

use crate::support;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::pattern::Hint;
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

/// Seeds of the random sequences that are compared of each scheme.
pub fn seeds(everyday: u64, soak: u64) -> Range<u64> {
    support::seeds(support::cases(everyday, soak))
}

/// Whether a reference of this name is to run: `ERASEBLOCK_REFERENCE=fab` leaves out all others. A
/// name that none has fails.
pub fn is_chosen(name: &str) -> bool {
    let Ok(only) = std::env::var("ERASEBLOCK_REFERENCE") else { return true };
    let buffers = inventory::iter::<BufferReference>().any(|reference| reference.scheme == only);
    let drives = inventory::iter::<DriveReference>()
        .any(|reference| reference.covers.iter().any(|(_, covered)| *covered == only));
    assert!(buffers || drives || only == "chips", "ERASEBLOCK_REFERENCE: no reference of `{only}`");
    only == name
}

/// A scheme's configuration, and the reference that goes by it.
pub type BufferPair = (Value, Box<dyn Buffer>);

/// A drive's configuration, and the reference that goes by it.
pub type DrivePair = (Value, Box<dyn Drive>);

/// A buffer scheme written a second time.
pub struct BufferReference {
    /// The scheme's name in the registry.
    pub scheme: &'static str,
    /// What it was written from.
    pub from: &'static str,
    /// Fewest pages that the scheme can work with.
    pub least_capacity: u32,
    /// The scheme's configuration (`{"kind": ..}`) with options drawn at random, and the reference
    /// with the same ones.
    pub pair: fn(Shape, &mut Pcg64Mcg) -> BufferPair,
}

inventory::collect!(BufferReference);

/// Pages that leave together, in order: page, and whether it is dirty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub action: Action,
    pub pages: Vec<(u32, bool)>,
    pub hint: Option<Hint>,
}

/// What one call made a scheme do: for each page of the span whether it was a hit, and what left,
/// in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    pub hits: Vec<bool>,
    pub left: Vec<Left>,
}

impl Decisions {
    /// These pages leave together; nothing happens if there are none.
    pub fn leave(&mut self, action: Action, pages: Vec<(u32, bool)>) {
        self.leave_with(action, pages, None);
    }

    /// The same, with a hint for the FTL.
    pub fn leave_with(&mut self, action: Action, pages: Vec<(u32, bool)>, hint: Option<Hint>) {
        if !pages.is_empty() {
            self.left.push(Left { action, pages, hint });
        }
    }
}

/// A buffer scheme from its paper.
pub trait Buffer {
    /// Reads or writes consecutive pages of one block. `view` shows the drive below.
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions;
    /// The next spans are those of a request that writes so many pages in all.
    fn writes(&mut self, _request: u64, _pages: u32) {}
    /// The next write covers only these bytes of a page of `of` bytes.
    fn part(&mut self, _page: u32, _bytes: Range<u32>, _of: u32) {}
    /// The host gives a page up.
    fn trim(&mut self, page: u32);
    /// The pages given up since the last other call were those of one trim.
    fn trimmed(&mut self) {}
    /// Everything dirty is written: a flush command of the host.
    fn flush(&mut self) -> Decisions;
    /// These pages of one block are written at once, where they are held: forced unit access.
    fn force(&mut self, first: u32, count: u32) -> Decisions;
}

/// A small drive written a second time: a mapping with all that belongs to it.
pub struct DriveReference {
    /// What it covers: the name of a registry ("mapping", "allocator", "victim", "leveller") and a
    /// name in it.
    pub covers: &'static [(&'static str, &'static str)],
    /// What it was written from.
    pub from: &'static str,
    /// Sections of a drive's configuration, laid over the small default of `support::config`, with
    /// options drawn at random; and the reference for the same drive, in the state after
    /// `precondition`.
    pub pair: fn(&mut Pcg64Mcg) -> DrivePair,
}

inventory::collect!(DriveReference);

/// What a drive has done since its run began.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Pages read from flash, whatever for.
    pub reads: u64,
    /// Pages programmed, whatever for.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Log blocks that became data blocks as they were.
    pub switch_merges: u64,
    /// Log blocks that became data blocks after the rest had been copied into them.
    pub partial_merges: u64,
    /// Log and data blocks copied together into a new block.
    pub full_merges: u64,
    /// Entries of a map kept partly in RAM that were asked for, and those among them that it held.
    pub map_lookups: u64,
    pub map_hits: u64,
}

/// A drive from the rules of its parts. There is no buffer and no time: each request is done before
/// the next comes.
pub trait Drive {
    /// The host writes consecutive pages.
    fn write(&mut self, first: u32, count: u32);
    /// The host reads consecutive pages; those never written or trimmed cost nothing.
    fn read(&mut self, first: u32, count: u32);
    /// The host gives pages up.
    fn trim(&mut self, first: u32, count: u32);
    /// The host wants everything stored.
    fn flush(&mut self);
    /// What has been done so far.
    fn counts(&self) -> Counts;
    /// Erases of each block of the array, if the reference follows where each block lies; the order
    /// does not matter.
    fn erases(&self) -> Option<Vec<u32>> {
        None
    }
    /// The unit (plane, in the order of the array) of each logical page, if the reference follows
    /// that.
    fn units(&self) -> Option<Vec<Option<u32>>> {
        None
    }
}
