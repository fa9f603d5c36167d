//! Fresh pages of the host where little is to be asked: units take turns, or a page's number says
//! which one it goes to, and each has one open block for them, a page of which is a program. So it
//! is on most drives, and mostly.

use super::{DATA, Limits, Store};
use crate::ftl::context::{After, Cx, PageOut, Place};
use crate::nand::{Geometry, JoinId};
use crate::support::ids::{BlockId, Ppn};

/// Whether fresh pages are of one class, are programmed one by one, and lie where the store's own
/// rules have them.
pub(super) fn is_simple(limits: &Limits, geometry: &Geometry, ruled: bool) -> bool {
    limits.regions == 1
        && limits.classes == 1
        && geometry.program_pages == 1
        && !limits.one_open
        && !limits.pools_as_one
        && !ruled
}

impl Store {
    /// Writes a logical page whose present version lies at `old`, or nowhere. `None` where something
    /// has to be asked: nothing has happened then.
    #[inline(always)]
    pub fn write_simply(&mut self, cx: &mut Cx<'_>, out: PageOut, old: Ppn) -> Option<Ppn> {
        if !self.simple {
            return None;
        }
        let unit = match &self.alloc {
            Some(alloc) => alloc.first_choice(|| self.pools.of_page(out.lpn))?,
            None => return None,
        };
        let write_point = self.write_point(unit, DATA, false);
        if self.open[write_point].block.is_none() || !self.has_share(unit) {
            return None;
        }
        let guard = if old.is_none() { BlockId::NONE } else { self.invalidate_page(old) };
        let open = &mut self.open[write_point];
        debug_assert!(open.part.pinned.is_empty(), "a tombstone comes at once");
        let at = Place { block: open.block, page: open.page, label: open.label };
        open.page += 1;
        let is_full = open.page == self.limits.data_pages;
        self.units[unit.index()].valid += 1;
        self.belongs_to(at.block, at.page, out.lpn.0);
        cx.program_one(at, out, After { guard, ..After::join(JoinId::NONE) });
        if is_full {
            self.close_point(cx, (unit, DATA), false, write_point);
        }
        self.history.now += 1;
        if let Some(alloc) = &mut self.alloc {
            let has_placed = alloc.has_placed(unit);
            debug_assert!(has_placed, "who has a first choice need not be told");
        }
        Some(self.geometry.ppn(at.block, at.page))
    }
}
