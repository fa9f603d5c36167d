//! The order in which an LRU buffer of unlimited size would hold pages, and how deep in it each
//! page lies.
//!
//! An access takes the next slot of time; the slots that pages have left are counted in a Fenwick
//! tree over blocks of slots, so that a page's depth (the pages used since it was) costs O(log n).
//! When the slots are used up, those in use are closed up, which costs O(1) for each access since
//! the last time (Olken's algorithm, on arrays).
//!
//! A page that is trimmed leaves a *hole*: room in every buffer that held it. The next page that
//! comes from below the hole, or from nowhere, fills it, and leaves its own place as the hole. So
//! the depths stay those of a real buffer of any size, in which a trim makes room.

use std::collections::BinaryHeap;

/// A page that has no slot.
pub(super) const NOWHERE: u32 = u32::MAX;
/// What stands in the slot of a hole.
const HOLE: u32 = u32::MAX;
/// Slots that share one entry of the tree.
const BLOCK: usize = 256;
const WORDS: usize = BLOCK / 64;
/// Fewest slots.
const LEAST: usize = 1 << 14;
/// Slots for each page in use when the slots are laid out anew.
const ROOM: usize = 4;

/// Where the slot of each page is kept: beside what else is known of the page, so that one look
/// into memory finds both.
pub(super) trait SlotOf {
    fn slot_of(&mut self, page: u32) -> &mut u32;
}

/// Pages in the order of their last use. Their slots, `NOWHERE` at first, are kept by the caller.
#[derive(Debug)]
pub(super) struct Stack {
    /// Page in each slot, `HOLE`, or what was there before it left; slots from `slots.len()` on are
    /// still free.
    slots: Vec<u32>,
    capacity: usize,
    /// A set bit for each slot that nothing is in any more.
    left: Vec<u64>,
    /// Fenwick tree over the counts of those bits in each block.
    tree: Vec<u32>,
    left_count: u32,
    /// Slots of holes, the most recent first.
    holes: BinaryHeap<u32>,
}

impl Default for Stack {
    fn default() -> Self {
        let mut stack = Self {
            slots: Vec::new(),
            capacity: 0,
            left: Vec::new(),
            tree: Vec::new(),
            left_count: 0,
            holes: BinaryHeap::new(),
        };
        stack.lay_out(Vec::new(), &mut Nobody);
        stack
    }
}

/// The pages of an empty stack.
struct Nobody;

impl SlotOf for Nobody {
    fn slot_of(&mut self, _: u32) -> &mut u32 {
        unreachable!("an empty stack has no pages")
    }
}

impl Stack {
    /// Uses a page. Its depth before that, 0 for the one used last; `None` if it was never used, or
    /// trimmed since.
    #[inline]
    pub fn access(&mut self, page: u32, pages: &mut impl SlotOf) -> Option<u32> {
        let old = *pages.slot_of(page);
        if old != NOWHERE && old as usize + 1 == self.slots.len() {
            return Some(0);
        }
        let depth = (old != NOWHERE).then(|| self.depth(old));
        match self.holes.peek() {
            Some(&hole) if old == NOWHERE || hole > old => {
                self.holes.pop();
                self.leave(hole);
                if old != NOWHERE {
                    self.slots[old as usize] = HOLE;
                    self.holes.push(old);
                }
            }
            _ if old != NOWHERE => self.leave(old),
            _ => {}
        }
        if self.slots.len() == self.capacity {
            let slots = std::mem::take(&mut self.slots);
            self.close_up(&slots, Some, pages);
        }
        *pages.slot_of(page) = self.slots.len() as u32;
        self.slots.push(page);
        depth
    }

    /// Takes a page out; its room stays.
    pub fn trim(&mut self, page: u32, pages: &mut impl SlotOf) {
        let slot = std::mem::replace(pages.slot_of(page), NOWHERE);
        if slot != NOWHERE {
            self.slots[slot as usize] = HOLE;
            self.holes.push(slot);
        }
    }

    /// Forgets every page but those for which `number` has a new number, and every second hole:
    /// half of the pages were taken out of the sample.
    pub fn thin(&mut self, number: impl Fn(u32) -> Option<u32>, pages: &mut impl SlotOf) {
        let slots = std::mem::take(&mut self.slots);
        self.close_up(&slots, number, pages);
        let mut holes = std::mem::take(&mut self.holes).into_sorted_vec();
        for hole in holes.iter().skip(1).step_by(2) {
            self.leave(*hole);
        }
        let mut index = 0;
        holes.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        self.holes = holes.into();
    }

    /// Moves what is in use to the front, in the same order, pages under their new numbers.
    fn close_up(
        &mut self,
        slots: &[u32],
        number: impl Fn(u32) -> Option<u32>,
        pages: &mut impl SlotOf,
    ) {
        let mut kept = Vec::with_capacity(slots.len() - self.left_count as usize);
        for (word, chunk) in self.left.iter().zip(slots.chunks(64)) {
            for (bit, &page) in chunk.iter().enumerate() {
                if word >> bit & 1 == 1 {
                    continue;
                }
                if page == HOLE {
                    kept.push(HOLE);
                } else if let Some(page) = number(page) {
                    kept.push(page);
                }
            }
        }
        self.lay_out(kept, pages);
    }

    /// Begins anew with the slots of `kept`.
    fn lay_out(&mut self, kept: Vec<u32>, pages: &mut impl SlotOf) {
        self.capacity = (ROOM * kept.len()).max(LEAST).next_multiple_of(BLOCK);
        self.holes.clear();
        for (slot, &page) in kept.iter().enumerate() {
            if page == HOLE {
                self.holes.push(slot as u32);
                continue;
            }
            *pages.slot_of(page) = slot as u32;
        }
        self.slots = kept;
        self.slots.reserve_exact(self.capacity - self.slots.len());
        self.left.clear();
        self.left.resize(self.capacity / 64, 0);
        self.tree.clear();
        self.tree.resize(self.capacity / BLOCK + 1, 0);
        self.left_count = 0;
    }

    /// Slots in use after `slot`.
    #[inline]
    fn depth(&self, slot: u32) -> u32 {
        let slot = slot as usize;
        let mut before = 0;
        let mut node = slot / BLOCK;
        while node > 0 {
            before += self.tree[node];
            node &= node - 1;
        }
        let first = slot / BLOCK * WORDS;
        for word in &self.left[first..slot / 64] {
            before += word.count_ones();
        }
        before += (self.left[slot / 64] & ((1 << (slot % 64)) - 1)).count_ones();
        (self.slots.len() - 1 - slot) as u32 - (self.left_count - before)
    }

    /// Nothing is in `slot` any more.
    #[inline]
    fn leave(&mut self, slot: u32) {
        let slot = slot as usize;
        self.left[slot / 64] |= 1 << (slot % 64);
        self.left_count += 1;
        let mut node = slot / BLOCK + 1;
        while node < self.tree.len() {
            self.tree[node] += 1;
            node += node & node.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The slots of pages that nothing else is known of.
    struct Slots(Vec<u32>);

    impl SlotOf for Slots {
        fn slot_of(&mut self, page: u32) -> &mut u32 {
            &mut self.0[page as usize]
        }
    }

    /// Real LRU buffers of every size up to 12 pages, each a plain list.
    struct Buffers(Vec<Vec<u32>>);

    impl Buffers {
        /// The smallest size that holds the page, and uses it.
        fn access(&mut self, page: u32) -> Option<u32> {
            let mut smallest = None;
            for (size, list) in self.0.iter_mut().enumerate().rev() {
                match list.iter().position(|&held| held == page) {
                    Some(at) => {
                        list.remove(at);
                        smallest = Some(size as u32);
                    }
                    None => list.truncate(size),
                }
                list.insert(0, page);
            }
            smallest
        }

        fn trim(&mut self, page: u32) {
            for list in &mut self.0 {
                list.retain(|&held| held != page);
            }
        }
    }

    proptest! {
        /// The depth is the size of the smallest real buffer that holds the page, trims included.
        #[test]
        fn depths_are_those_of_real_buffers(ops in prop::collection::vec((0u8..10, 0u32..14), 1..400)) {
            let (mut stack, mut slots) = (Stack::default(), Slots(vec![NOWHERE; 14]));
            let mut buffers = Buffers(vec![Vec::new(); 12]);
            for (op, page) in ops {
                if op < 3 {
                    stack.trim(page, &mut slots);
                    buffers.trim(page);
                } else {
                    let depth = stack.access(page, &mut slots).filter(|&depth| depth < 12);
                    prop_assert_eq!(depth, buffers.access(page));
                }
            }
        }
    }

    #[test]
    fn depths_survive_many_layouts() {
        let (mut stack, mut slots) = (Stack::default(), Slots(vec![NOWHERE; 300]));
        let mut list: Vec<u32> = Vec::new();
        let mut state = 1u64;
        for step in 0..200_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let page = (state >> 33) as u32 % 300;
            let at = list.iter().position(|&held| held == page);
            assert_eq!(stack.access(page, &mut slots), at.map(|at| at as u32), "step {step}");
            if let Some(at) = at {
                list.remove(at);
            }
            list.insert(0, page);
        }
    }

    #[test]
    fn thinning_keeps_the_order_of_what_stays() {
        let (mut stack, mut slots) = (Stack::default(), Slots(vec![NOWHERE; 100]));
        for page in 0..100 {
            stack.access(page, &mut slots);
        }
        stack.trim(3, &mut slots);
        stack.trim(5, &mut slots);
        slots.0 = vec![NOWHERE; 50];
        stack.thin(|page| page.is_multiple_of(2).then_some(page / 2), &mut slots);
        assert_eq!(stack.access(49, &mut slots), Some(0));
        assert_eq!(stack.access(40, &mut slots), Some(9));
        // Above it lie 49 pages and one of the two holes.
        assert_eq!(stack.access(0, &mut slots), Some(50));
    }
}
