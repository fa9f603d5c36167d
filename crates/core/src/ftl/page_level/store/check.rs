//! Compares what a store knows twice.

use super::Store;
use crate::nand::Flash;
use crate::support::ahead::in_groups;
use crate::support::ids::Ppn;

impl Store {
    /// Compares redundant state. `lies` says whether an owner's page is where the store has it;
    /// returns how many pages are valid.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self, flash: &Flash, lies: impl Fn(u32, Ppn) -> bool) -> Result<u32, String> {
        let owner = |ppn: Ppn| self.reverse[ppn.index()];
        let strays = |ppn: Ppn| u32::from(!lies(owner(ppn), ppn));
        let mut stray = None;
        // They are looked up together: each lies anywhere in the owner's table.
        let valid = self.geometry.all_pages().filter(|ppn| self.valid.get(ppn.index()));
        in_groups(
            &mut stray,
            valid,
            |_, ppn| strays(ppn),
            |stray, ppn| {
                if stray.is_none() && strays(ppn) > 0 {
                    *stray = Some(ppn);
                }
            },
        );
        if let Some(ppn) = stray {
            return Err(format!(
                "page store: physical page {ppn} is valid, but its owner {} lies elsewhere",
                owner(ppn)
            ));
        }
        let mut valid_of = vec![0u16; self.valid_of.len()];
        for ppn in self.geometry.all_pages() {
            if !self.valid.get(ppn.index()) {
                continue;
            }
            let (block, page) = self.geometry.split(ppn);
            valid_of[block.index()] += 1;
            let pending = || {
                self.open.iter().any(|open| {
                    open.block == block && page + open.part.pending.len() as u32 >= open.page
                })
            };
            if !flash.is_written(block, page) && !pending() {
                return Err(format!("page store: physical page {ppn} is valid but erased"));
            }
        }
        if valid_of != self.valid_of {
            return Err("page store: the counts of valid pages do not agree with the pages".into());
        }
        let mut free = 0;
        for block in self.pool.iter() {
            free += 1;
            if flash.write_ptr(block) != 0 {
                return Err(format!("page store: block {block} is in the pool but not erased"));
            }
        }
        let per_unit: u32 = self.geometry.all_units().map(|u| self.pool.free(u)).sum();
        if free != per_unit || free != self.pool.total() {
            return Err(format!(
                "page store: the pool counts {} blocks and holds {free}",
                self.pool.total()
            ));
        }
        Ok(valid_of.iter().map(|&v| u32::from(v)).sum())
    }
}
