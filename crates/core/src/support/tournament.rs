//! The earliest of a fixed set of clocks: a tournament tree over dense keys.

/// A clock that is not set.
pub const NEVER: u64 = u64::MAX;

/// Clocks `0..len`, none set at first. Among equal times the lowest index wins.
#[derive(Debug, Clone)]
pub struct Tournament {
    /// Time of each clock, padded to a power of two.
    keys: Vec<u64>,
    /// Winner of each inner node; 1 is the root.
    winners: Vec<u32>,
}

impl Tournament {
    /// `len` clocks.
    pub fn new(len: usize) -> Self {
        let leaves = len.next_power_of_two().max(2);
        let mut winners = vec![0; leaves];
        for node in (1..leaves).rev() {
            winners[node] = if node * 2 < leaves { winners[node * 2] } else { (node * 2 - leaves) as u32 };
        }
        Self { keys: vec![NEVER; leaves], winners }
    }

    /// Sets clock `i`. O(log n), less where it does not become or cease to be the winner of its part.
    #[inline]
    pub fn set(&mut self, i: u32, time: u64) {
        let leaves = self.keys.len();
        self.keys[i as usize] = time;
        let mut node = usize::midpoint(i as usize, leaves);
        while node > 0 {
            let (left, right) = if node * 2 >= leaves {
                ((node * 2 - leaves) as u32, (node * 2 + 1 - leaves) as u32)
            } else {
                (self.winners[node * 2], self.winners[node * 2 + 1])
            };
            let winner = if self.keys[right as usize] < self.keys[left as usize] { right } else { left };
            if self.winners[node] == winner && winner != i {
                return;
            }
            self.winners[node] = winner;
            node /= 2;
        }
    }

    /// The clock that goes off first and its time; [`NEVER`] where none is set.
    #[inline]
    pub fn first(&self) -> (u32, u64) {
        let winner = self.winners[1];
        (winner, self.keys[winner as usize])
    }

    /// The time of clock `i`.
    #[inline]
    pub fn get(&self, i: u32) -> u64 {
        self.keys[i as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a scan.
        #[test]
        fn finds_what_a_scan_finds(
            len in 1usize..80,
            ops in prop::collection::vec((0usize..80, prop_oneof![0u64..20, Just(NEVER)]), 0..300),
        ) {
            let (mut tree, mut model) = (Tournament::new(len), vec![NEVER; len]);
            for (i, time) in ops {
                tree.set((i % len) as u32, time);
                model[i % len] = time;
                let (at, time) = model.iter().copied().enumerate().min_by_key(|&(i, t)| (t, i)).unwrap();
                prop_assert_eq!(tree.first().1, time);
                if time != NEVER {
                    prop_assert_eq!(tree.first().0 as usize, at);
                }
            }
        }
    }
}
