//! Whether written pages come in hot at once, or only those that come back soon after they left:
//! both are tried on a sample of the pages, in tables alone, and the one that hits more is right.

use super::ghosts::Ghosts;
use super::pages::PageTable;
use super::window::Window;
use crate::buffer::Shape;
use crate::support::ids::Lpn;

/// Pages that a trial holds at least, where the buffer has as many.
const LEAST: u32 = 256;
/// After so many writes for each page of a trial, earlier hits count for half.
const HALVED: u32 = 64;

/// One way to admit pages, tried.
#[derive(Debug)]
struct Trial {
    pages: PageTable,
    window: Window,
    /// Pages that have left, where only those are hot that come back.
    ghosts: Option<Ghosts<1>>,
    hits: u32,
}

impl Trial {
    fn new(shape: Shape, cold: f64, ghosts: f64) -> Self {
        let capacity = f64::from(shape.capacity);
        let remembered = libm::floor(ghosts * capacity) as u32;
        let pages = PageTable::new(shape);
        let cold = (libm::ceil(cold * capacity) as u32).max(1);
        Self {
            window: Window::new(pages.slots(), cold),
            pages,
            ghosts: (remembered > 0).then(|| Ghosts::new(shape, remembered)),
            hits: 0,
        }
    }

    fn access(&mut self, lpn: Lpn, write: bool) {
        if let Some(slot) = self.pages.find(lpn) {
            self.hits += u32::from(write);
            self.window.remove(slot);
            self.window.push(slot);
            self.cool();
            return;
        }
        let returns = self.ghosts.as_mut().is_none_or(|ghosts| ghosts.forget(lpn).is_some());
        let hot = write && returns;
        if self.pages.is_full() {
            let last = self.window.back();
            self.window.remove(last);
            let left = self.pages.remove(last).lpn;
            if let Some(ghosts) = &mut self.ghosts {
                ghosts.remember_newest(left);
            }
        }
        let slot = self.pages.insert(lpn, write);
        if hot {
            self.window.push(slot);
        } else {
            self.window.push_inside(slot);
        }
        self.cool();
    }

    fn forget(&mut self, lpn: Lpn) {
        if let Some(slot) = self.pages.find(lpn) {
            self.window.remove(slot);
            self.pages.remove(slot);
            self.cool();
        } else if let Some(ghosts) = &mut self.ghosts {
            ghosts.forget(lpn);
        }
    }

    fn cool(&mut self) {
        while self.window.widen().is_some() {}
    }

    fn bytes(&self) -> usize {
        self.pages.bytes() + self.window.bytes() + self.ghosts.as_ref().map_or(0, Ghosts::bytes)
    }
}

/// Both ways, tried.
#[derive(Debug)]
pub struct Admission {
    /// One of so many pages is in the sample.
    every: u32,
    recent: Trial,
    returning: Trial,
    /// Writes of the sample until hits are halved.
    writes: u32,
    most: u32,
}

impl Admission {
    /// For a buffer of which the share `cold` is cold, and `ghosts` times as many pages as it holds
    /// are remembered.
    pub fn new(shape: Shape, cold: f64, ghosts: f64) -> Self {
        let every = 1 << (shape.capacity / LEAST).max(1).ilog2();
        let sample = Shape {
            capacity: shape.capacity / every,
            logical_pages: shape.logical_pages.div_ceil(every),
            ..shape
        };
        Self {
            every,
            recent: Trial::new(sample, cold, 0.0),
            returning: Trial::new(sample, cold, ghosts),
            writes: 0,
            most: HALVED * sample.capacity,
        }
    }

    /// The page as the sample has it, if it does: one of `every` adjacent pages, drawn by a hash.
    #[inline]
    fn sampled(&self, lpn: Lpn) -> Option<Lpn> {
        let group = lpn.0 / self.every;
        let drawn = (group.wrapping_add(1).wrapping_mul(0x9e37_79b1) >> 7) & (self.every - 1);
        (lpn.0 & (self.every - 1) == drawn).then_some(Lpn(group))
    }

    /// The host uses a page.
    #[inline]
    pub fn access(&mut self, lpn: Lpn, write: bool) {
        if let Some(lpn) = self.sampled(lpn) {
            self.recent.access(lpn, write);
            self.returning.access(lpn, write);
            self.writes += u32::from(write);
            if self.writes == self.most {
                self.writes = 0;
                self.recent.hits /= 2;
                self.returning.hits /= 2;
            }
        }
    }

    /// Whether only pages that come back had better be hot at once.
    #[inline]
    pub fn only_returning(&self) -> bool {
        self.returning.hits > self.recent.hits
    }

    /// The host no longer needs a page.
    pub fn forget(&mut self, lpn: Lpn) {
        if let Some(lpn) = self.sampled(lpn) {
            self.recent.forget(lpn);
            self.returning.forget(lpn);
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.recent.bytes() + self.returning.bytes()
    }
}
