//! Flash operations and the plan that a scheme appends them to.
//!
//! A scheme changes its state at once and writes down what the flash has to do; the engine gives
//! each operation its start and its end. Operations run in the order in which they become ready.
//! One that must wait names a *join*, and starts when all operations that signal it have ended.

use serde::{Deserialize, Serialize};

use super::media::Oob;
use crate::support::NONE;
use crate::support::ids::BlockId;

/// What a die does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Pages `page..page + count` of `block` to the controller.
    Read,
    /// Pages `page..page + count` of `block` from the controller.
    Program,
    /// `count` pages from `source` to `page..page + count` of `block`, both on one die.
    Copy,
    /// The whole `block`.
    Erase,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Read, Self::Program, Self::Copy, Self::Erase];
}

/// On whose account an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Cause {
    /// The host's own pages.
    Host,
    /// Pages read and written to complete a block that the buffer flushes.
    Padding,
    /// Garbage collection.
    Gc,
    /// Merging log blocks.
    Merge,
    /// Keeping the mapping: tombstones, translation pages.
    Mapping,
    /// Wear levelling.
    Wear,
    /// Pages that hold nothing, to complete a program unit.
    Filler,
    /// Moving pages to where they are better off.
    Placement,
}

impl Cause {
    /// All causes, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Host,
        Self::Padding,
        Self::Gc,
        Self::Merge,
        Self::Mapping,
        Self::Wear,
        Self::Filler,
        Self::Placement,
    ];

    /// Name in results.
    pub fn name(self) -> &'static str {
        ["host", "padding", "gc", "merge", "mapping", "wear", "filler", "placement"][self as usize]
    }
}

/// A count for each cause, by its number.
pub type ByCause = [u64; Cause::ALL.len()];

/// "All of these operations have ended": of a plan, which knows its joins by numbers from 0 until
/// it is issued, or of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JoinId(u32);

impl JoinId {
    /// Nothing to wait for, or nobody who waits.
    pub const NONE: Self = Self(NONE);
    const ENGINE: u32 = 1 << 31;
    /// Of a tag, which is no join.
    const TAG: u32 = 3 << 30;

    /// One of a plan.
    #[inline]
    pub const fn of_plan(number: u32) -> Self {
        Self(number)
    }

    /// One of the engine.
    #[inline]
    pub const fn of_engine(number: u32) -> Self {
        Self(number | Self::ENGINE)
    }

    /// No join, but whom the end of the one operation that this is the waiter of is told: a tag
    /// below 2^30 - 1.
    #[inline]
    pub const fn of_tag(tag: u32) -> Self {
        Self(tag | Self::TAG)
    }

    /// That tag.
    #[inline]
    pub const fn tag(self) -> Option<u32> {
        if self.0 >= Self::TAG && !self.is_none() { Some(self.0 & !Self::TAG) } else { None }
    }

    /// Whether there is anything to hold and to release.
    #[inline]
    pub const fn is_join(self) -> bool {
        self.0 < Self::TAG
    }

    /// What an edge of the engine leads to, if that is a join and not an operation.
    #[inline]
    pub(super) const fn at_edge(edge: u32) -> Option<Self> {
        if edge & Self::ENGINE == 0 { None } else { Some(Self(edge)) }
    }

    /// As an edge of the engine leads to it.
    #[inline]
    pub(super) const fn as_edge(self) -> u32 {
        self.0
    }

    /// Whether this is no join.
    #[inline]
    pub const fn is_none(self) -> bool {
        self.0 == NONE
    }

    /// Whether it is one of a plan.
    #[inline]
    pub const fn is_of_plan(self) -> bool {
        self.0 & Self::ENGINE == 0
    }

    /// Its number among those of the plan, or of the engine.
    #[inline]
    pub const fn index(self) -> usize {
        (self.0 & !Self::ENGINE) as usize
    }
}

impl std::fmt::Display for JoinId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_none() {
            return f.write_str("none");
        }
        match self.tag() {
            Some(tag) => write!(f, "tag {tag}"),
            None if self.is_of_plan() => write!(f, "{} of the plan", self.index()),
            None => write!(f, "{}", self.index()),
        }
    }
}

/// One operation of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashOp {
    /// What is done.
    pub kind: Kind,
    /// On whose account.
    pub cause: Cause,
    /// Copy only: stays inside the plane, off the bus.
    pub copy_back: bool,
    /// Takes no time, and waits only for what it depends on.
    pub instant: bool,
    /// Target erase block.
    pub block: BlockId,
    /// First page in it.
    pub page: u32,
    /// Pages.
    pub count: u32,
    /// Array reads in all (read, copy).
    pub array_reads: u32,
    /// A time of its own, in ns. Copy, where types of pages take different times: its array reads.
    /// Program of less than a page: what it saves on the bus.
    pub own_ns: u64,
    /// Copy: the block that the pages come from. Program: a block that may not be erased before
    /// this has ended, because it holds the version that this replaces. Else [`BlockId::NONE`].
    pub guard: BlockId,
    /// Program: also begins only after what is under way on `guard`.
    pub ordered: bool,
    /// Join to wait for.
    pub waits: JoinId,
    /// Join of the plan to signal.
    pub signals: JoinId,
    /// Join of the engine to signal: the request or job on whose behalf this runs. Or the tag of
    /// one who waits for nothing else of what is planned.
    pub waiter: JoinId,
    /// Buffer slots that are free again when this has ended.
    pub slots: u32,
    /// First of the operation's records in the plan's `oob`, or [`NONE`].
    pub payload: u32,
}

/// What the flash has to do, in order, for one step of a scheme.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Operations in the order of issue.
    pub ops: Vec<FlashOp>,
    /// What programs store and reads expect, kept while the medium is.
    pub oob: Vec<Oob>,
    /// Erases among the operations.
    pub erases: u32,
    /// Untimed runs: block and page after the last page read, if nothing came since.
    pub last_read: Option<(BlockId, u32)>,
    /// Joins that the operations name: `0..joins`.
    pub joins: u32,
    /// Blocks that hold the replaced versions of pages waiting in an open program unit, from before
    /// operation `.0` on: `(operation, block, token)`.
    pub pins: Vec<(u32, BlockId, u32)>,
    /// Tokens of the pins that each program of such a unit releases: `(operation, token)`, in the
    /// order of `ops`.
    pub unpins: Vec<(u32, u32)>,
    /// Joins of the engine that were held until the operations which signal them are issued.
    pub held: Vec<JoinId>,
    /// The operations belong to a group, which holds its dies until it ends.
    pub together: bool,
    /// Joins of the engine that wait for one of the plan, and are held until it is issued: `(join
    /// of the plan, join of the engine)`.
    pub links: Vec<(JoinId, JoinId)>,
}

impl Plan {
    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.erases = 0;
        self.last_read = None;
        self.joins = 0;
        self.oob.clear();
        self.pins.clear();
        self.unpins.clear();
        self.held.clear();
        self.links.clear();
        self.together = false;
    }

    /// A new join.
    pub fn join(&mut self) -> JoinId {
        self.joins += 1;
        JoinId::of_plan(self.joins - 1)
    }

    /// Whether it is a list of operations and nothing else: no joins, pins, groups.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.joins == 0 && self.has_only_joins()
    }

    /// Whether it is a list of operations and their joins, and nothing else.
    #[inline]
    pub fn has_only_joins(&self) -> bool {
        !self.together
            && self.pins.is_empty()
            && self.unpins.is_empty()
            && self.held.is_empty()
            && self.links.is_empty()
    }

    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.pins.is_empty() && self.links.is_empty()
    }
}

impl FlashOp {
    /// An operation on `count` pages from `page` of `block` that waits for nothing and signals
    /// nobody.
    #[inline]
    pub fn new(kind: Kind, cause: Cause, block: BlockId, page: u32, count: u32) -> Self {
        Self {
            kind,
            cause,
            copy_back: false,
            instant: false,
            block,
            page,
            count,
            array_reads: 0,
            own_ns: 0,
            guard: BlockId::NONE,
            ordered: false,
            waits: JoinId::NONE,
            signals: JoinId::NONE,
            waiter: JoinId::NONE,
            slots: 0,
            payload: NONE,
        }
    }
}
