//! When the pages that are on their way out of a buffer are stored.

/// Times at which pages are stored, in order, and how many were before.
#[derive(Debug, Default)]
pub struct Stored {
    /// Those that count are behind `gone`.
    times: Vec<u64>,
    gone: usize,
    /// Pages that have been stored, whose times are forgotten.
    count: u64,
}

/// So many forgotten times are kept before what follows moves up.
const SLACK: usize = 256;

impl Stored {
    /// So many pages more are stored, evenly from `first` to `last`; a single one at `last`.
    #[inline]
    pub fn add(&mut self, first: u64, last: u64, pages: u32) {
        self.tidy();
        if pages > 1 {
            return self.add_several(first, last, pages);
        }
        // The last one mostly stays the last.
        let mut at = self.times.len();
        self.times.push(last);
        while at > self.gone && self.times[at - 1] > last {
            self.times[at] = self.times[at - 1];
            at -= 1;
        }
        self.times[at] = last;
    }

    fn add_several(&mut self, first: u64, last: u64, pages: u32) {
        // Merged from behind with what is there, into the places that are new.
        let (mut there, count) = (self.times.len(), u64::from(pages));
        self.times.resize(there + pages as usize, 0);
        let mut at = self.times.len();
        for page in (0..count).rev() {
            let time = first + (last - first) * page / (count - 1);
            while there > self.gone && self.times[there - 1] > time {
                (there, at) = (there - 1, at - 1);
                self.times[at] = self.times[there];
            }
            at -= 1;
            self.times[at] = time;
        }
    }

    #[inline]
    fn tidy(&mut self) {
        if self.gone == self.times.len() {
            self.times.clear();
            self.gone = 0;
        } else if self.gone >= SLACK.max(self.times.len() / 2) {
            self.times.drain(..self.gone);
            self.gone = 0;
        }
    }

    /// When so many pages have been stored in all, if it is known: 0 where they were before what is
    /// still remembered.
    #[inline]
    pub fn when(&self, pages: u64) -> Option<u64> {
        match pages.checked_sub(self.count + 1) {
            None => Some(0),
            Some(more) => self.times.get(self.gone + more as usize).copied(),
        }
    }

    /// It is `now`: earlier times are forgotten.
    #[inline]
    pub fn forget(&mut self, now: u64) {
        while self.gone < self.times.len() && self.times[self.gone] < now {
            self.gone += 1;
            self.count += 1;
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.times.capacity() * 8
    }
}
