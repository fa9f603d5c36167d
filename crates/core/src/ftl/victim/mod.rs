//! Which block is collected next: the victim policies of page-level mappings, by name.
//!
//! A policy chooses among the closed blocks of one unit from which collection gains room: those
//! with at least as many invalid pages as one program writes. Whatever it chooses, collection can
//! go on, so that a policy decides how much is copied and how wear spreads, and nothing else. A
//! block that is being written is never chosen.
//!
//! *Age* is counted in pages that the host has written to the drive (tombstones of a flush among
//! them), not in time: the state of the drive does not depend on time, and ages are the same in an
//! untimed run.

mod candidates;
pub mod cat;
pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod leveling_degree;
pub mod locality_gathering;
pub mod random;
pub mod rga;
pub mod windowed_greedy;

use dyn_clone::DynClone;
use serde::{Deserialize, Serialize};

use crate::support::persist::Persist;

pub use candidates::{Candidates, HistoryView};

/// Chooses victims.
pub trait VictimPolicy: DynClone + Persist + std::fmt::Debug + Send + Sync {
    /// The block to collect, by its number inside the unit; `None` where no block gains anything.
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32>;

    /// A block whose valid pages are to move into the one that it has just chosen, once that is
    /// empty; it is erased instead.
    fn cold(&mut self) -> Option<u32> {
        None
    }

    /// What it asks about blocks, beside their valid pages.
    fn looks_at(&self) -> Looks {
        Looks::default()
    }
}

dyn_clone::clone_trait_object!(VictimPolicy);
crate::persist_objects!(VictimPolicy);

/// What is kept of each block for a policy that asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Looks {
    /// The order in which blocks were closed.
    pub order: bool,
    /// When a page of the block was last written or became invalid.
    pub age: bool,
    /// The order in which blocks were erased.
    pub erased: bool,
}

/// The candidate with the least key, the lowest number among equals. O(blocks of the unit).
pub(crate) fn least<K: PartialOrd>(blocks: &Candidates<'_>, key: impl Fn(u32) -> K) -> Option<u32> {
    let mut best: Option<(K, u32)> = None;
    for block in blocks.iter() {
        let key = key(block);
        if best.as_ref().is_none_or(|(least, _)| key < *least) {
            best = Some((key, block));
        }
    }
    best.map(|(_, block)| block)
}

crate::registry! {
    /// Which block is collected next: a name, or a table with `kind` and the policy's options.
    "victim policy" VictimConfig builds Box<dyn VictimPolicy>, from ();
    "greedy" => Greedy in greedy,
    "fifo" => Fifo in fifo,
    "cost-benefit" => CostBenefit in cost_benefit,
    "cat" => Cat in cat,
    "leveling-degree" => LevelingDegree in leveling_degree,
    "locality-gathering" => LocalityGathering in locality_gathering,
    "d-choices" => DChoices in d_choices,
    "rga" => Rga in rga,
    "windowed-greedy" => WindowedGreedy in windowed_greedy,
    "random" => Random in random,
}

impl Default for VictimConfig {
    fn default() -> Self {
        Self::Greedy(greedy::Config::default())
    }
}
