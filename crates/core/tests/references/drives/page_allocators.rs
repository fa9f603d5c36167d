//! Allocators of page-level mappings, from their pages. No reference of its own.

use super::page_store::{Owner, Store};

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
    /// What is left of the present stripe: its unit, and how many pages.
    pub now: Option<(usize, u32)>,
    /// Work that this request has given each unit's die.
    pub work: Vec<u64>,
}

const LETTERS: &str = "CWDP";

impl Allocator {
    pub fn new(kind: Kind, stripe: u32, shape: [u32; 4]) -> Self {
        let units = shape.iter().product::<u32>() as usize;
        Self { kind, stripe, shape, last: vec![units - 1; units], now: None, work: vec![0; units] }
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

    /// A request begins.
    pub fn begin(&mut self) {
        self.now = None;
        self.work.iter_mut().for_each(|work| *work = 0);
    }

    /// The unit for the next page of a request.
    pub fn pick(&mut self, store: &Store, page: u32) -> usize {
        let owner = Owner::Page(page);
        let pool = self.pool(page);
        let takes = |unit: &usize| store.room(*unit, owner).is_some();
        if let Some((unit, left)) = self.now
            && left > 0
            && pool.contains(&unit)
            && takes(&unit)
        {
            self.now = Some((unit, left - 1));
            return unit;
        }
        let able: Vec<usize> = pool.iter().copied().filter(takes).collect();
        let able = if able.is_empty() { pool.clone() } else { able };
        let last = &mut self.last[pool[0]];
        // How many turns until this unit's comes.
        let turns = |last: usize, unit: usize| (unit + self.work.len() - last - 1) % self.work.len();
        let unit = match &self.kind {
            Kind::Static(_) => able[0],
            Kind::RoundRobin => able.into_iter().min_by_key(|&unit| turns(*last, unit)).unwrap(),
            Kind::Dynamic(_, tie) | Kind::NonStriping(tie) => {
                let free = |unit: usize| {
                    let u = &store.units[unit];
                    let open: usize = u.open.values().map(|&b| store.rules.pages_per_block - u.blocks[b].pages.len()).sum();
                    open + u.erased.len() * store.rules.pages_per_block
                };
                let key = |unit: usize| match tie {
                    Tie::Turn => turns(*last, unit),
                    Tie::FreePages => usize::MAX - free(unit),
                    Tie::Lowest => unit,
                };
                able.into_iter().min_by_key(|&unit| (self.work[unit], key(unit), turns(*last, unit))).unwrap()
            }
        };
        *last = unit;
        let length = if matches!(self.kind, Kind::NonStriping(_)) { u32::MAX } else { self.stripe };
        self.now = Some((unit, length - 1));
        unit
    }

    /// A page was planned for this unit: all units of its die have more to do.
    pub fn planned(&mut self, unit: usize) {
        for other in self.alike(unit, "CWD") {
            self.work[other] += 1;
        }
    }
}
