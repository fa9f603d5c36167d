//! The pattern handler: under which policy a block is kept, and where its pages go.

use serde::{Deserialize, Serialize};

use super::{Mixed, PatternFtl, Policies, Switches};
use crate::ftl::block_level::blocks::Blocks;
use crate::ftl::context::{Cx, PageOut};
use crate::metrics::Counters;
use crate::pattern::{Access, Hint, Pattern, Policy};
use crate::support::ids::LogicalBlock;

/// What the pattern handler knows of a logical block.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) policy: Option<Policy>,
    /// What its last two patterns want, the newer one last.
    pub(super) recent: [Option<Policy>; 2],
    /// It turned read-intensive under SINGLE and has not been written since.
    pub(super) awaited: bool,
}

/// Pages that are being written: of which logical block, what they belong to together, and where
/// they go.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Now {
    pub(super) lbn: LogicalBlock,
    pub(super) group: u64,
    pub(super) striped: bool,
    pub(super) channel: Option<u32>,
    /// All pages of the block are written.
    pub(super) whole: bool,
    /// The block is to be rewritten under its policy first.
    pub(super) rewrite: bool,
}

impl PatternFtl {
    /// The pattern handler: a block was used so, and pages of it are `written` now or not. Returns
    /// whether they go to MULTI, and whether the block has to be rewritten there or in SINGLE
    /// first.
    pub(super) fn note(
        &mut self,
        counters: &mut Counters,
        hint: Hint,
        written: bool,
    ) -> (bool, bool) {
        let pattern = hint.pattern;
        let turn = &mut self.turns[hint.block.index()];
        let forced = match self.config.policy {
            Policies::ByPattern => None,
            Policies::Multi => Some(Policy::Multi),
            Policies::Single => Some(Policy::Single),
        };
        if let Some(policy) = forced {
            if written {
                turn.policy = forced;
            }
            return (policy == Policy::Multi, false);
        }
        let mixed = match self.config.mixed_writes {
            Mixed::Multi => Policy::Multi,
            Mixed::Single => Policy::Single,
        };
        let wanted = pattern.suits().unwrap_or(mixed);
        if !self.config.handler {
            let wanted = if pattern.suits().is_none() { Policy::Single } else { wanted };
            let rewrite = written && turn.policy.is_some_and(|policy| policy != wanted);
            counters.policy_switches += u64::from(rewrite);
            if written {
                turn.policy = Some(wanted);
            }
            return (wanted == Policy::Multi, rewrite);
        }
        let known = &mut self.before[hint.block.index()];
        let counts = self.config.switches;
        let switched = |turn: &Turn, known: &Turn| match counts {
            Switches::Moves => known.policy.is_some() && turn.policy != known.policy,
            Switches::Changes => turn.policy == Some(Policy::Hybrid),
        };
        if hint.again {
            // One stay in the buffer is one pattern: what the first part of it seemed to be is
            // taken back.
            let taken_back = u64::from(switched(turn, known));
            counters.policy_switches -= taken_back;
            *turn = *known;
        } else {
            *known = *turn;
        }
        // What is told again has been written by the flush command.
        let written = written || hint.again;
        if turn.policy.is_none() && !written {
            return (wanted == Policy::Multi, false);
        }
        turn.policy = pattern.decide(known.policy).0;
        counters.policy_switches += u64::from(switched(turn, known));
        // RR is neither read- nor write-intensive and says nothing of where the block should be.
        if pattern != Pattern::new(Access::Never, Access::Random) {
            turn.recent = [turn.recent[1], pattern.suits()];
        }
        let awaited = written && std::mem::take(&mut turn.awaited);
        turn.awaited |=
            known.policy == Some(Policy::Single) && pattern.is_read_intensive() && !written;
        let striped = match turn.policy {
            Some(Policy::Multi) => true,
            Some(Policy::Single) => false,
            // It turned read-intensive under SINGLE, and is read again: its pages go where it is
            // read in parallel.
            Some(Policy::Hybrid) if awaited && pattern.read != Access::Never => true,
            Some(Policy::Hybrid) | None => wanted == Policy::Multi,
        };
        (striped, false)
    }

    /// The pattern of pages that nobody has said anything about.
    fn classify(&self, pages: &[PageOut]) -> Pattern {
        let (mut run, mut longest) = (1, 1);
        for pair in pages.windows(2) {
            run = if pair[0].lpn + 1 == pair[1].lpn { run + 1 } else { 1 };
            longest = longest.max(run);
        }
        Pattern::of_runs(longest, 0, self.config.threshold)
    }

    /// Where these pages of `lbn` go.
    pub(super) fn now(
        &mut self,
        blocks: &Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        pages: &[PageOut],
    ) -> Now {
        let heard = self.heard.take().filter(|hint| hint.block == lbn);
        if heard.is_none()
            && let Some(now) = self.now.filter(|now| (now.lbn, now.group) == (lbn, cx.group))
        {
            return now;
        }
        let pattern = heard.map_or_else(|| self.classify(pages), |hint| hint.pattern);
        // Pages that are written were written, whatever has become of their flags.
        let pattern = if pattern.write == Access::Never { self.classify(pages) } else { pattern };
        let channel = heard.and_then(|hint| hint.channel);
        let again = heard.is_some_and(|hint| hint.again);
        let (striped, rewrite) =
            self.note(cx.counters, Hint { block: lbn, pattern, channel, again }, true);
        let whole = pages.len() as u32 == blocks.ppb();
        Now { lbn, group: cx.group, striped, channel, whole, rewrite }
    }

    /// Whether tombstones of `lbn` go to MULTI: what its policy said when there was first no room
    /// for them, though merges may have settled the block meanwhile.
    pub(super) fn tombstones_are_striped(&mut self, lbn: LogicalBlock) -> bool {
        if let Some(waiting) = self.waiting_tombstones.take().filter(|waiting| waiting.0 == lbn) {
            return waiting.1;
        }
        match self.turns[lbn.index()].policy {
            Some(Policy::Multi) => true,
            Some(_) => false,
            None => self.config.policy == Policies::Multi,
        }
    }
}
