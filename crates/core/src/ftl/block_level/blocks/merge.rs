//! Merges: a logical block folded into one of its blocks or into an erased one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Blocks;
use crate::ftl::context::{Cx, PageOut};
use crate::nand::{Cause, Flash, JoinId};
use crate::support::ids::{BlockId, LogicalBlock};
use crate::support::registry::Choice;

/// When a full log block is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeTiming {
    /// When the next write needs room.
    #[default]
    Lazy,
    /// As soon as it is full, or before the next write where no erased block is there.
    Eager,
}

/// When the erases of a merge, or of any other work that a write causes, come, as far as its
/// request can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeErase {
    /// After the host's write: the request does not wait for them.
    #[default]
    After,
    /// Before it, and where they cannot, since the page is folded in by the merge itself, before
    /// the answer: the request waits for them.
    Before,
}

/// What every scheme of whole blocks says of it: no paper tells whether the answer comes first.
pub const MERGE_ERASE: Choice = Choice {
    option: "merge_erase",
    others: &[r#""before""#],
    open: "whether a request waits for the erases of the merges that it causes",
};

/// How the blocks of a logical block become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The last one becomes the data block as it is.
    Switch,
    /// The last one becomes the data block when the rest has been copied into it.
    Partial,
    /// All is copied to an erased block.
    Full,
}

impl Blocks {
    /// The cheapest way to make one block of `lbn`, the last of whose blocks is `last`; `partial`
    /// says whether that may be completed.
    pub fn way(&self, flash: &Flash, lbn: LogicalBlock, last: BlockId, partial: bool) -> Way {
        if last.is_none() {
            return Way::Full;
        }
        // Mostly something lies elsewhere, and that is found out soonest.
        let has_more = self.has_more(lbn, last);
        if (has_more && !partial) || !self.can_complete(flash, lbn, last) {
            Way::Full
        } else if has_more {
            Way::Partial
        } else {
            Way::Switch
        }
    }

    /// Makes one block of `lbn`, with `fresh` pages of the host in it. `own` are the blocks that
    /// only it has pages in, the last one last; [`BlockId::NONE`] among them stands for none.
    /// Erases come after all copies.
    pub fn merge(
        &mut self,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        own: &[BlockId],
        way: Way,
        fresh: (&[PageOut], JoinId),
    ) {
        match way {
            Way::Switch => cx.counters.switch_merges += 1,
            Way::Partial => cx.counters.partial_merges += 1,
            Way::Full => cx.counters.full_merges += 1,
        }
        let join = cx.join();
        let target = match own {
            [.., last] if way != Way::Full => *last,
            _ => {
                let first = own.iter().find(|&&block| block != BlockId::NONE);
                let unit = first.map_or_else(
                    || self.home(lbn),
                    |&block| self.new_home(lbn, self.geometry.unit_of(block)),
                );
                self.take(unit)
            }
        };
        self.fold(cx, lbn, target, fresh, join);
        for &block in own.iter().filter(|&&block| block != target && block != BlockId::NONE) {
            self.erase(cx, block, Cause::Merge, join);
        }
    }
}
