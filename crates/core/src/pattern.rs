//! What the host did to a block while it was buffered: the word that goes with it from the buffer
//! to the FTL.
//!
//! A buffer that knows it attaches a [`Pattern`] to an eviction (`Outcome::with_hint`), and may
//! name the channel that the block should go to. The device hands both to the mapping as a [`Hint`]
//! just before the pages of that eviction, and for clean blocks, of which no page is written, too.
//! Mappings take no notice of hints unless they want to; a mapping that wants them and gets none
//! decides from the pages alone. The other way round, a buffer asks through `View` where a block
//! would be written (`route`) and which channels can take one (`channel_ready`). So any buffer
//! works on any mapping.
//!
//! Kim, Park and Youn, "SUPA: a single unified read-write buffer and pattern-change-aware FTL for
//! the high performance of multi-channel SSD", ACM Trans. Storage 13(4), 2017, tables 1 and 2.

use crate::support::ids::LogicalBlock;
use serde::{Deserialize, Serialize};

/// How pages of a block were read, or written.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Not at all.
    #[default]
    Never,
    /// A few here and there.
    Random,
    /// Many that follow one another.
    Sequential,
}

/// What was done to a block: table 1 of the paper. At least one of the two is not
/// [`Access::Never`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Pattern {
    /// How it was written.
    pub write: Access,
    /// How it was read.
    pub read: Access,
}

/// Where the FTL keeps a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Page by page over all channels.
    Multi,
    /// In one channel.
    Single,
    /// Its pattern changes: partly here, partly there.
    Hybrid,
}

/// What goes with the pages of a block that leave the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// The logical block.
    pub block: LogicalBlock,
    /// What was done to it.
    pub pattern: Pattern,
    /// The channel that the buffer wants it to go to, if it goes to one.
    pub channel: Option<u32>,
    /// The block has been told of before and has been in the buffer ever since: a flush command
    /// wrote its pages. What is told now stands in the place of what was told then.
    pub again: bool,
}

/// Where a block would be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Page by page over all channels.
    Striped,
    /// To this channel.
    Channel(u32),
    /// To this channel, where it lies, or to any one if all of it is written.
    Home(u32),
    /// To any one channel.
    Anywhere,
}

impl Pattern {
    /// The eight patterns of table 1.
    pub const ALL: [Self; 8] = {
        use Access::{Never, Random, Sequential};
        [
            Self::new(Random, Never),
            Self::new(Sequential, Never),
            Self::new(Never, Random),
            Self::new(Random, Random),
            Self::new(Sequential, Random),
            Self::new(Never, Sequential),
            Self::new(Random, Sequential),
            Self::new(Sequential, Sequential),
        ]
    };

    /// Written so, and read so.
    pub const fn new(write: Access, read: Access) -> Self {
        Self { write, read }
    }

    /// From the longest run of pages that were written, and of pages that were read: more than
    /// `threshold` are sequential.
    pub fn of_runs(written: u32, read: u32, threshold: u32) -> Self {
        let access = |run: u32| match run {
            0 => Access::Never,
            run if run > threshold => Access::Sequential,
            _ => Access::Random,
        };
        Self { write: access(written), read: access(read) }
    }

    /// Its name in table 1.
    pub fn name(self) -> &'static str {
        use Access::{Never, Random, Sequential};
        match (self.write, self.read) {
            (Never, Never) => "none",
            (Random, Never) => "RW",
            (Sequential, Never) => "SW",
            (Never, Random) => "RR",
            (Random, Random) => "RW-RR",
            (Sequential, Random) => "SW-RR",
            (Never, Sequential) => "SR",
            (Random, Sequential) => "RW-SR",
            (Sequential, Sequential) => "SW-SR",
        }
    }

    /// Whether it gains from being read on many channels at once.
    pub fn is_read_intensive(self) -> bool {
        self.read == Access::Sequential
    }

    /// The one policy that suits it: none for RR, which is neither read- nor write-intensive, nor
    /// for RW-SR, whose reads want many channels and whose writes want one.
    pub fn suits(self) -> Option<Policy> {
        match (self.write, self.read) {
            (Access::Sequential, _) | (Access::Never, Access::Sequential) => Some(Policy::Multi),
            (Access::Random, Access::Never | Access::Random) => Some(Policy::Single),
            (Access::Random, Access::Sequential) | (Access::Never, _) => None,
        }
    }

    /// Table 2: the policy of a block that was kept under `current` (none: never written), and
    /// whether its pattern has changed. A block that was never written and has only been read stays
    /// so.
    pub fn decide(self, current: Option<Policy>) -> (Option<Policy>, bool) {
        use Policy::{Hybrid, Multi, Single};
        let writes = self.write != Access::Never;
        let policy = match (current, self.suits()) {
            (None, _) if !writes => return (None, false),
            (None, suits) => suits.unwrap_or(Hybrid),
            (Some(Multi), Some(Multi)) => Multi,
            (Some(Single), Some(Single)) => Single,
            // RR changes nothing; RW-SR collides with either.
            (Some(settled @ (Multi | Single)), None) if !writes => settled,
            (Some(_), _) => Hybrid,
        };
        (Some(policy), policy == Hybrid)
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Pattern, Policy};

    #[test]
    fn table_1_names_each_pair_of_runs() {
        let names = |written| [0, 4, 5].map(|read| Pattern::of_runs(written, read, 4).name());
        assert_eq!(names(0), ["none", "RR", "SR"]);
        assert_eq!(names(4), ["RW", "RW-RR", "RW-SR"]);
        assert_eq!(names(5), ["SW", "SW-RR", "SW-SR"]);
        let intensive = Pattern::ALL.iter().filter(|p| p.is_read_intensive()).map(|p| p.name());
        assert_eq!(intensive.collect::<Vec<_>>(), ["SR", "RW-SR", "SW-SR"]);
        assert_eq!(Pattern::new(Access::Never, Access::Random).suits(), None);
    }

    #[test]
    fn table_2_decides_each_pair_of_policy_and_pattern() {
        use Policy::{Hybrid, Multi, Single};
        let rows: [(Option<Policy>, &str, Option<Policy>); 13] = [
            (None, "SW SW-SR SW-RR", Some(Multi)),
            (None, "RW RW-RR", Some(Single)),
            (None, "RW-SR", Some(Hybrid)),
            // Not in the table.
            (None, "SR RR", None),
            (Some(Multi), "SW SR RR SW-SR SW-RR", Some(Multi)),
            (Some(Multi), "RW RW-SR RW-RR", Some(Hybrid)),
            (Some(Single), "RW RR RW-RR", Some(Single)),
            (Some(Single), "SW SR SW-SR SW-RR RW-SR", Some(Hybrid)),
            (Some(Hybrid), "SW SR RR", Some(Hybrid)),
            (Some(Hybrid), "RW", Some(Hybrid)),
            (Some(Hybrid), "RW-RR RW-SR", Some(Hybrid)),
            (Some(Hybrid), "SW-SR", Some(Hybrid)),
            (Some(Hybrid), "SW-RR", Some(Hybrid)),
        ];
        let mut seen = 0;
        for (current, names, expected) in rows {
            for name in names.split(' ') {
                let pattern = Pattern::ALL.into_iter().find(|p| p.name() == name).unwrap();
                let changed = expected == Some(Hybrid);
                assert_eq!(pattern.decide(current), (expected, changed), "{current:?} {name}");
                seen += 1;
            }
        }
        assert_eq!(seen, 4 * 8);
    }
}
