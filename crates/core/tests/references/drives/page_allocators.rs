//! Allocators of page-level mappings, from their pages. No reference of its own.

use super::page_store::{Store, Stream};

/// Which of the units goes that will be free first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    Turn,
    FreePages,
    Lowest,
}

#[derive(Debug, Clone)]
pub enum Kind {
    RoundRobin,
    /// The four letters, the one that varies fastest first.
    Static(String),
    /// Letters of the levels that the pool of a page keeps to: none under `ssd`.
    Dynamic(&'static str, Tie),
    NonStriping(Tie),
}

/// Units are numbered with the channel fastest, then chip, die, plane.
#[derive(Debug, Clone)]
pub struct Allocator {
    pub kind: Kind,
    /// Pages of a request that go together.
    pub stripe: u32,
    /// Channels, chips a channel, dies a chip, planes a die.
    pub shape: [u32; 4],
    /// The unit that was chosen last, for each pool.
    pub last: Vec<usize>,
    /// The present stripe of each pool: its unit, and how many pages it still takes.
    pub now: Vec<Option<(usize, u32)>>,
}

const LETTERS: &str = "CWDP";

impl Allocator {
    pub fn new(kind: Kind, stripe: u32, shape: [u32; 4]) -> Self {
        let units = shape.iter().product::<u32>() as usize;
        Self { kind, stripe, shape, last: vec![units - 1; units], now: vec![None; units] }
    }

    pub fn units(&self) -> usize {
        self.shape.iter().product::<u32>() as usize
    }

    /// The unit on which static striping puts a stripe.
    fn statically(&self, order: &str, stripe: u32) -> usize {
        let (mut left, mut digits) = (stripe, [0; 4]);
        for letter in order.chars() {
            let level = LETTERS.find(letter).expect("a level");
            digits[level] = left % self.shape[level];
            left /= self.shape[level];
        }
        self.number(digits)
    }

    fn number(&self, digits: [u32; 4]) -> usize {
        let (mut number, mut weight) = (0, 1);
        for (digit, of) in digits.into_iter().zip(self.shape) {
            number += digit * weight;
            weight *= of;
        }
        number as usize
    }

    fn digits(&self, unit: usize) -> [u32; 4] {
        let mut left = unit as u32;
        self.shape.map(|of| {
            let digit = left % of;
            left /= of;
            digit
        })
    }

    /// The units that a page may go to.
    pub fn pool(&self, page: u32) -> Vec<usize> {
        let home = |order| self.statically(order, page / self.stripe);
        match &self.kind {
            Kind::RoundRobin | Kind::NonStriping(_) => (0..self.units()).collect(),
            Kind::Static(order) => vec![home(order)],
            Kind::Dynamic(kept, _) => self.alike(home("CWDP"), kept),
        }
    }

    /// Units that lie in the same channel, chip, .. as this one.
    fn alike(&self, unit: usize, kept: &str) -> Vec<usize> {
        let key = |unit| {
            let digits = self.digits(unit);
            kept.chars().map(|letter| digits[LETTERS.find(letter).unwrap()]).collect::<Vec<_>>()
        };
        (0..self.units()).filter(|&other| key(other) == key(unit)).collect()
    }

    /// How many of the drive's pages belong to the pool of a unit.
    pub fn pages_of(&self, unit: usize, pages: usize) -> usize {
        let pool = self.pool_of_unit(unit)[0];
        (0..pages as u32).filter(|&page| self.pool(page)[0] == pool).count()
    }

    /// The units among which pages of this one may choose.
    pub fn pool_of_unit(&self, unit: usize) -> Vec<usize> {
        match self.kind {
            Kind::RoundRobin | Kind::NonStriping(_) => (0..self.units()).collect(),
            Kind::Static(_) => vec![unit],
            Kind::Dynamic(kept, _) => self.alike(unit, kept),
        }
    }

    /// A request begins: so does a stripe.
    pub fn begin(&mut self) {
        self.now.fill(None);
    }

    /// The unit of a pool for the next page of a request; `None` while none takes it. Those that
    /// are asked and have no room are put in line for collection.
    pub fn pick(&mut self, store: &mut Store, pool: usize, stream: Stream) -> Option<usize> {
        let (members, units) = (self.pool_of_unit(pool), self.units());
        if let Some((unit, _)) = self.now[pool]
            && store.takes(unit, stream)
        {
            return Some(unit);
        }
        let last = self.last[pool];
        let by_turn = |unit: usize| (unit + self.units() - last - 1) % self.units();
        let (unit, length) = match &self.kind {
            Kind::Static(_) => (Some(pool).filter(|&unit| store.takes(unit, stream)), 1),
            Kind::RoundRobin => {
                let mut order = members;
                order.sort_by_key(|&unit| by_turn(unit));
                (order.into_iter().find(|&unit| store.takes(unit, stream)), self.stripe)
            }
            // Without time no unit has anything to do: all are equals.
            Kind::Dynamic(_, tie) | Kind::NonStriping(tie) => {
                let able: Vec<usize> =
                    members.into_iter().filter(|&unit| store.takes(unit, stream)).collect();
                let key = |unit: usize| match tie {
                    Tie::Turn => by_turn(unit),
                    Tie::FreePages => usize::MAX - store.free_pages(unit, stream),
                    Tie::Lowest => unit,
                };
                let length =
                    if matches!(self.kind, Kind::NonStriping(_)) { u32::MAX } else { self.stripe };
                (able.into_iter().min_by_key(|&unit| (key(unit), unit)), length)
            }
        };
        if unit.is_some() {
            self.now[pool] = unit.map(|unit| (unit, length));
        } else if let (Kind::RoundRobin, Some((unit, left))) = (&self.kind, &mut self.now[pool]) {
            // The one whose turn it was has it still, and a stripe begins anew.
            (self.last[pool], *left) = ((*unit + units - 1) % units, length);
        }
        unit
    }

    /// A page was written to this unit.
    pub fn placed(&mut self, pool: usize, unit: usize) {
        self.last[pool] = unit;
        if let Some((_, left)) = &mut self.now[pool] {
            *left -= 1;
            if *left == 0 {
                self.now[pool] = None;
            }
        }
    }
}
