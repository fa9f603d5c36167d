//! When each slot was last put in its place, by a clock that ticks once each time.

/// A time for each slot, 0 at first.
#[derive(Debug)]
pub struct Stamps {
    times: Vec<u64>,
    clock: u64,
}

impl Stamps {
    /// Of `slots`.
    pub fn new(slots: usize) -> Self {
        Self { times: vec![0; slots], clock: 0 }
    }

    /// It is put in its place now.
    #[inline]
    pub fn stamp(&mut self, slot: u32) {
        self.clock += 1;
        self.times[slot as usize] = self.clock;
    }

    /// When it was; later times are larger.
    #[inline]
    pub fn get(&self, slot: u32) -> u64 {
        self.times[slot as usize]
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.times.len() * 8
    }
}
