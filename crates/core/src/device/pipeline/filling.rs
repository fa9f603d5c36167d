//! Pages that are being filled, and by which group of reads. Those of a group lie side by side, and
//! share an entry.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::support::ids::Lpn;

/// Pages of an entry.
const RUN: u32 = u64::BITS;

/// Some of the pages of a run, and the group that fills them.
#[derive(Debug, Clone, Copy)]
struct Filler {
    group: u32,
    pages: u64,
}

/// Pages that are being filled.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// By the number of the run.
    runs: HashMap<u32, Filler>,
    /// Pages of a run that another group fills than the one that is named there.
    others: HashMap<Lpn, u32>,
}

impl Filling {
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.others.is_empty()
    }

    /// The group that fills a page.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> Option<u32> {
        match self.runs.get(&(lpn.0 / RUN)) {
            Some(filler) if filler.pages & bit(lpn) != 0 => Some(filler.group),
            _ if self.others.is_empty() => None,
            _ => self.others.get(&lpn).copied(),
        }
    }

    /// A page is filled by this group from now on.
    #[inline]
    pub fn fill(&mut self, lpn: Lpn, group: u32) {
        match self.runs.entry(lpn.0 / RUN) {
            Entry::Occupied(entry) => {
                let filler = entry.into_mut();
                if filler.group == group {
                    filler.pages |= bit(lpn);
                } else {
                    filler.pages &= !bit(lpn);
                    self.others.insert(lpn, group);
                    return;
                }
            }
            Entry::Vacant(entry) => {
                entry.insert(Filler { group, pages: bit(lpn) });
            }
        }
        if !self.others.is_empty() {
            self.others.remove(&lpn);
        }
    }

    /// A group has filled those of these pages that it fills; it fills no others.
    #[inline]
    pub fn end(&mut self, group: u32, first: Lpn, count: u32) {
        if self.is_empty() {
            return;
        }
        for run in first.0 / RUN..=(first.0 + count - 1) / RUN {
            if self.runs.get(&run).is_some_and(|filler| filler.group == group) {
                self.runs.remove(&run);
            }
        }
        if !self.others.is_empty() {
            for lpn in first.run(count) {
                if self.others.get(&lpn) == Some(&group) {
                    self.others.remove(&lpn);
                }
            }
        }
    }
}

/// A page among those of its run.
#[inline]
fn bit(lpn: Lpn) -> u64 {
    1 << (lpn.0 % RUN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// As a map that has an entry for each page.
        #[test]
        fn each_page_has_the_group_that_came_last(
            spans in prop::collection::vec((40u32..160, 1u32..40, any::<u64>(), 0usize..6), 1..60)
        ) {
            let (mut filling, mut model) = (Filling::default(), HashMap::<Lpn, u32>::new());
            let mut under_way: Vec<(u32, Lpn, u32)> = Vec::new();
            for (group, (first, count, which, ends)) in (0..).zip(spans) {
                let first = Lpn(first);
                for lpn in first.run(count).filter(|&lpn| which & bit(lpn) != 0) {
                    filling.fill(lpn, group);
                    model.insert(lpn, group);
                }
                under_way.push((group, first, count));
                if ends < under_way.len() {
                    let (group, first, count) = under_way.remove(ends);
                    filling.end(group, first, count);
                    model.retain(|_, of| *of != group);
                }
                for lpn in Lpn(0).run(220) {
                    prop_assert_eq!(filling.of(lpn), model.get(&lpn).copied());
                }
            }
            for (group, first, count) in under_way {
                filling.end(group, first, count);
            }
            prop_assert!(filling.is_empty());
        }
    }
}
