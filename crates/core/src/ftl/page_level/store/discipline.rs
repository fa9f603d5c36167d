//! What a mapping whose blocks keep rules of their own decides in place of the store.

use super::Store;
use crate::ftl::context::{Cx, Place};
use crate::nand::{Flash, Media};
use crate::support::ids::{BlockId, PlaneId};
use crate::support::persist::Persist;
use dyn_clone::DynClone;

/// The rules by which blocks are opened, ended and collected, where they are not the store's own.
/// While it is asked with the store to itself, it is out of the store.
pub trait Discipline: DynClone + Persist + std::fmt::Debug + Send + Sync {
    /// Takes the erased block that `unit` opens next.
    fn opens(&mut self, store: &mut Store, unit: PlaneId) -> Option<BlockId>;

    /// The data pages of a block are full: plans what ends it, from page `end` on.
    fn ends_block(&self, cx: &mut Cx<'_>, end: Place);

    /// A fresh page has been written to `unit`, or found no room there: puts in line for collection
    /// what is short of room.
    fn asks_for_room(&mut self, store: &mut Store, unit: PlaneId);

    /// Where units are collected as one, the block that is collected next on account of `unit`; its
    /// collection `begins` with it.
    fn picks_victim(
        &mut self,
        store: &Store,
        cx: &Cx<'_>,
        unit: PlaneId,
        begins: bool,
    ) -> Option<BlockId>;

    /// Whether the collection of `unit` goes on after it has erased a block.
    fn goes_on(&self, store: &Store, unit: PlaneId) -> bool;

    /// The collection of `unit` has ended.
    fn ended(&mut self, unit: PlaneId);

    /// The unit to whose open block a victim's pages go from `unit`.
    fn moves_to(&self, store: &Store, unit: PlaneId) -> PlaneId;

    /// The unit of the open block that `unit` shares with others, or of the one that is opened
    /// next.
    fn active(&self, store: &Store, unit: PlaneId) -> PlaneId;

    /// Before a mapping is rebuilt from the medium: forgets there what need not be kept.
    fn before_recovery(&self, store: &Store, flash: &Flash, found: &mut Media);
}

dyn_clone::clone_trait_object!(Discipline);
crate::persist_objects!(Discipline);

impl Store {
    /// Asks the discipline, if there is one.
    #[inline]
    pub(super) fn ask_discipline<T>(
        &mut self,
        ask: impl FnOnce(&mut dyn Discipline, &mut Self) -> T,
    ) -> Option<T> {
        // Most stores have none: nothing is written for them.
        self.discipline.as_ref()?;
        let mut discipline = self.discipline.take()?;
        let answer = ask(&mut *discipline, self);
        self.discipline = Some(discipline);
        Some(answer)
    }

    /// The unit whose open block takes the next pages of the units that are written as one with
    /// `unit`.
    pub(super) fn active(&self, unit: PlaneId) -> PlaneId {
        self.discipline.as_ref().map_or(unit, |discipline| discipline.active(self, unit))
    }

    /// Where a victim's pages go from `unit`.
    #[inline]
    pub(super) fn moves_to(&self, unit: PlaneId) -> PlaneId {
        self.discipline.as_ref().map_or(unit, |discipline| discipline.moves_to(self, unit))
    }

    /// Before a mapping is rebuilt from the medium: forgets there what need not be kept.
    pub fn before_recovery(&self, flash: &Flash, found: &mut Media) {
        if let Some(discipline) = &self.discipline {
            discipline.before_recovery(self, flash, found);
        }
    }
}
