//! Where in the order of use hits fall: which blocks could leave and take few hits with them.

use crate::support::NONE;

/// Hits by how many blocks were used more recently, and the places of blocks in the order of use.
/// O(log n).
#[derive(Debug)]
pub(super) struct Hits {
    /// When each node was used last, as a place in `used`; or [`NONE`].
    place_of: Vec<u32>,
    /// The node at each place, or [`NONE`].
    used: Vec<u32>,
    /// Nodes at places, as sums over ranges: a Fenwick tree.
    sums: Vec<u32>,
    next: u32,
    live: u32,
    /// Pages hit at each distance from the most recent block.
    found: Vec<u64>,
}

impl Hits {
    pub(super) fn new(nodes: usize) -> Self {
        let places = 2 * nodes + 1;
        Self {
            place_of: vec![NONE; nodes],
            used: vec![NONE; places],
            sums: vec![0; places + 1],
            next: 0,
            live: 0,
            found: vec![0; nodes],
        }
    }

    fn add(&mut self, place: u32, by: i32) {
        let mut at = place as usize + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
    }

    /// A block is the most recent one.
    pub(super) fn touch(&mut self, node: u32) {
        self.remove(node);
        if self.next as usize == self.used.len() {
            self.close_up();
        }
        self.place_of[node as usize] = self.next;
        self.used[self.next as usize] = node;
        self.add(self.next, 1);
        self.next += 1;
        self.live += 1;
    }

    /// A block is gone.
    pub(super) fn remove(&mut self, node: u32) {
        let place = std::mem::replace(&mut self.place_of[node as usize], NONE);
        if place != NONE {
            self.used[place as usize] = NONE;
            self.add(place, -1);
            self.live -= 1;
        }
    }

    /// Gives the blocks the first places again, in the same order. Less than once for as many uses
    /// as there can be blocks.
    fn close_up(&mut self) {
        let used: Vec<u32> = self.used.iter().copied().filter(|&node| node != NONE).collect();
        self.used.fill(NONE);
        self.sums.fill(0);
        self.next = used.len() as u32;
        for (place, node) in (0..).zip(used) {
            self.used[place as usize] = node;
            self.place_of[node as usize] = place;
            self.add(place, 1);
        }
    }

    /// Blocks that were used more recently than this one.
    pub(super) fn distance(&self, node: u32) -> u32 {
        let mut at = self.place_of[node as usize] as usize + 1;
        let mut upto = 0;
        while at > 0 {
            upto += self.sums[at];
            at &= at - 1;
        }
        self.live - upto
    }

    /// Pages of a block were found that lies so far from the most recent one.
    pub(super) fn hit(&mut self, distance: u32, pages: u32) {
        self.found[distance as usize] += u64::from(pages);
    }

    /// How many of the most recent blocks take this share of the hits since the last call.
    pub(super) fn take_share(&mut self, share: f64) -> u32 {
        let wanted = share * self.found.iter().sum::<u64>() as f64;
        let mut sum = 0;
        let mut blocks = 0;
        for &hits in &self.found {
            if sum as f64 >= wanted {
                break;
            }
            sum += hits;
            blocks += 1;
        }
        self.found.fill(0);
        blocks
    }

    pub(super) fn bytes(&self) -> usize {
        (self.place_of.len() + self.used.len() + self.sums.len()) * 4 + self.found.len() * 8
    }
}
