//! Whether written pages come in hot at once, or only those that come back soon after they left:
//! both are tried on a sample of the pages, in tables alone, and the one that hits more is right.
//! The first of them also tells whether the work just fits into the buffer.

use crate::buffer::Shape;
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};

/// Pages that a trial holds at least, where the buffer has as many.
const LEAST: u32 = 256;
/// After so many writes for each page of a trial, earlier hits count for half.
const HALVED: u32 = 64;
/// The work fits where fewer than one write of so many misses.
const FITS: u32 = 8;

/// Where a page of a trial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Hot,
    Cold,
    /// It has left, and is remembered.
    Gone,
}

/// One way to admit pages, tried. A page keeps its node when it leaves, as long as it is
/// remembered.
#[derive(Debug)]
struct Trial {
    /// Node of each logical page + 1, or 0.
    node_of: Vec<u32>,
    nodes: Vec<(Lpn, Place)>,
    free: Vec<u32>,
    links: Links,
    /// Pages that it holds, in the order of use: all hot ones, then all cold ones.
    order: List,
    held: u32,
    /// Node of the cold page nearest the front, or [`NONE`].
    first_cold: u32,
    colds: u32,
    /// Pages that have left, the one that left last first.
    gone: List,
    known: u32,
    /// Pages that it holds at most.
    size: u32,
    /// Pages that are cold at least, where it holds as many.
    cold: u32,
    /// Pages that are remembered; where there are none, all that are written are hot.
    remembered: u32,
    hits: u32,
    /// Writes while it was full, and those of them that missed.
    writes_when_full: u32,
    misses_when_full: u32,
}

impl Trial {
    fn new(shape: Shape, cold: f64, ghosts: f64) -> Self {
        let capacity = f64::from(shape.capacity);
        let size = shape.capacity.min(shape.logical_pages);
        let remembered = libm::floor(ghosts * capacity) as u32;
        let nodes = size.saturating_add(remembered).min(shape.logical_pages);
        Self {
            node_of: vec![0; shape.logical_pages as usize],
            nodes: vec![(Lpn(0), Place::Gone); nodes as usize],
            free: (0..nodes).rev().collect(),
            links: Links::new(nodes as usize),
            order: List::default(),
            held: 0,
            first_cold: NONE,
            colds: 0,
            gone: List::default(),
            known: 0,
            size,
            cold: (libm::ceil(cold * capacity) as u32).max(1),
            remembered,
            hits: 0,
            writes_when_full: 0,
            misses_when_full: 0,
        }
    }

    /// The host uses a page.
    #[inline(always)] // Twice for each page of the sample.
    fn access(&mut self, lpn: Lpn, write: bool) {
        let counts = write && self.is_full();
        self.writes_when_full += u32::from(counts);
        if let Some(node) = self.node_of[lpn.index()].checked_sub(1) {
            match self.nodes[node as usize].1 {
                Place::Hot => {
                    self.hits += u32::from(write);
                    self.order.touch(&mut self.links, node);
                    return;
                }
                Place::Cold => {
                    self.hits += u32::from(write);
                    self.take(node, Place::Cold);
                    self.put_hot(node);
                }
                Place::Gone => {
                    self.misses_when_full += u32::from(counts);
                    // It is no longer remembered before another page leaves.
                    self.take(node, Place::Gone);
                    self.make_room();
                    if write { self.put_hot(node) } else { self.put_cold(node) }
                }
            }
        } else {
            self.misses_when_full += u32::from(counts);
            self.make_room();
            let Some(node) = self.free.pop() else { unreachable!("one for each page known") };
            self.node_of[lpn.index()] = node + 1;
            self.nodes[node as usize].0 = lpn;
            if write && self.remembered == 0 { self.put_hot(node) } else { self.put_cold(node) }
        }
        self.cool();
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.held >= self.size
    }

    /// After some time what was earlier counts for half.
    fn halve(&mut self) {
        for count in [&mut self.hits, &mut self.writes_when_full, &mut self.misses_when_full] {
            *count /= 2;
        }
    }

    /// A page leaves if as many are held as there may be.
    #[inline]
    fn make_room(&mut self) {
        if !self.is_full() {
            return;
        }
        let node = self.order.back();
        self.take(node, Place::Cold);
        if self.remembered == 0 {
            self.release(node);
            return;
        }
        if self.known == self.remembered {
            let oldest = self.gone.back();
            self.take(oldest, Place::Gone);
            self.release(oldest);
        }
        self.nodes[node as usize].1 = Place::Gone;
        self.gone.push_front(&mut self.links, node);
        self.known += 1;
    }

    /// The host no longer needs a page.
    fn forget(&mut self, lpn: Lpn) {
        if let Some(node) = self.node_of[lpn.index()].checked_sub(1) {
            self.take(node, self.nodes[node as usize].1);
            self.release(node);
            self.cool();
        }
    }

    #[inline]
    fn take(&mut self, node: u32, from: Place) {
        match from {
            Place::Gone => {
                self.gone.remove(&mut self.links, node);
                self.known -= 1;
                return;
            }
            Place::Cold => {
                self.colds -= 1;
                if self.first_cold == node {
                    self.first_cold = self.order.after(&self.links, node);
                }
            }
            Place::Hot => {}
        }
        self.order.remove(&mut self.links, node);
        self.held -= 1;
    }

    #[inline]
    fn put_hot(&mut self, node: u32) {
        self.nodes[node as usize].1 = Place::Hot;
        self.order.push_front(&mut self.links, node);
        self.held += 1;
    }

    #[inline]
    fn put_cold(&mut self, node: u32) {
        self.nodes[node as usize].1 = Place::Cold;
        match self.first_cold {
            NONE => self.order.push_back(&mut self.links, node),
            first => self.order.insert_before(&mut self.links, node, first),
        }
        self.first_cold = node;
        self.colds += 1;
        self.held += 1;
    }

    /// The node of a page that is in no list is free.
    #[inline]
    fn release(&mut self, node: u32) {
        self.node_of[self.nodes[node as usize].0.index()] = 0;
        self.free.push(node);
    }

    /// The last hot pages become cold while there are too few.
    #[inline]
    fn cool(&mut self) {
        while self.colds < self.cold.min(self.held) {
            self.first_cold = match self.first_cold {
                NONE => self.order.back(),
                first => self.order.before(&self.links, first),
            };
            self.nodes[self.first_cold as usize].1 = Place::Cold;
            self.colds += 1;
        }
    }

    fn bytes(&self) -> usize {
        self.node_of.len() * 4
            + self.nodes.len() * size_of::<(Lpn, Place)>()
            + self.free.capacity() * 4
            + self.links.bytes()
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
            self.try_both(lpn, write);
        }
    }

    /// The same of a page of the sample.
    fn try_both(&mut self, lpn: Lpn, write: bool) {
        self.recent.access(lpn, write);
        self.returning.access(lpn, write);
        self.writes += u32::from(write);
        if self.writes == self.most {
            self.writes = 0;
            self.recent.halve();
            self.returning.halve();
        }
    }

    /// Whether only pages that come back had better be hot at once.
    #[inline]
    pub fn only_returning(&self) -> bool {
        self.returning.hits > self.recent.hits
    }

    /// Whether the work just fits into the buffer, so that each page less would be missed.
    #[inline]
    pub fn just_fits(&self) -> bool {
        FITS * self.recent.misses_when_full < self.recent.writes_when_full
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
