//! Which blocks leave together.

use super::Supa;
use crate::buffer::{Reason, View};
use crate::pattern::{Hint, Route};
use crate::support::NONE;

const CLEAN: Reason = "clean block";
const FITS: Reason = "dirty block whose pages fit best";
const PARALLEL: Reason = "written in parallel";
const OLDEST: Reason = "least recently used block";
const EXTRA: Reason = "more to write in parallel";
pub(super) const OWN: Reason = "no other block is left";

/// A block that is going to leave.
#[derive(Debug, Clone, Copy)]
pub(super) struct Victim {
    pub(super) node: u32,
    pub(super) hint: Hint,
    pub(super) reason: Reason,
}

/// Where a victim is written together with the others: one channel, or none of its own.
struct Way {
    channel: Option<u32>,
}

/// What can still be written in parallel with the victims found so far.
struct Channels {
    /// Ready, and no victim goes there. Striped blocks do not ask: figure 9 writes one with a
    /// channel that is not ready.
    free: Vec<bool>,
    striped: u32,
}

impl Channels {
    fn any(&self) -> bool {
        self.striped > 0 || self.free.iter().any(|free| *free)
    }

    fn take(&mut self, channel: u32) -> Option<Way> {
        std::mem::take(&mut self.free[channel as usize]).then_some(Way { channel: Some(channel) })
    }
}

/// The blocks found so far.
struct Round {
    own: u32,
    victims: Vec<Victim>,
    freed: u32,
}

impl Supa {
    pub(super) fn hint(&self, node: u32, channel: Option<u32>) -> Hint {
        let pattern = self.flags.pattern(&self.blocks, node, self.config.threshold);
        Hint { block: self.blocks.lbn(node), pattern, channel, again: self.told.get(node as usize) }
    }

    fn choose(&mut self, round: &mut Round, node: u32, channel: Option<u32>, reason: Reason) {
        self.chosen.set(node as usize);
        round.freed += self.blocks.pages(node);
        round.victims.push(Victim { node, hint: self.hint(node, channel), reason });
    }

    fn may_leave(&self, round: &Round, node: u32) -> bool {
        node != round.own && !self.chosen.get(node as usize)
    }

    fn end(&mut self, round: Round) -> Vec<Victim> {
        for victim in &round.victims {
            self.chosen.clear(victim.node as usize);
        }
        round.victims
    }

    /// To read `need` pages: clean blocks, the least recently used first; then, of the oldest dirty
    /// ones, those whose pages fit best.
    pub(super) fn select_for_read(&mut self, need: u32, own: u32) -> Vec<Victim> {
        let mut round = Round { own, victims: Vec::new(), freed: 0 };
        let mut node = self.clean.back();
        while node != NONE && round.freed < need {
            let before = self.clean.before(&self.clean_links, node);
            if self.may_leave(&round, node) {
                self.choose(&mut round, node, None, CLEAN);
            }
            node = before;
        }
        while round.freed < need {
            let Some(node) = self.best_fit(&round, need - round.freed) else { break };
            self.choose(&mut round, node, None, FITS);
        }
        self.end(round)
    }

    /// Of the oldest blocks the one with fewest pages that are enough, or else with most; the older
    /// one of equals.
    fn best_fit(&self, round: &Round, need: u32) -> Option<u32> {
        let mut best = None;
        let (mut node, mut looked) = (self.order.back(), 0);
        while node != NONE && looked < self.config.fit_blocks {
            if self.may_leave(round, node) {
                looked += 1;
                let pages = self.blocks.pages(node);
                let worth = if pages >= need { (1, u32::MAX - pages) } else { (0, pages) };
                if best.is_none_or(|(most, _)| worth > most) {
                    best = Some((worth, node));
                }
            }
            node = self.order.before(&self.links, node);
        }
        best.map(|(_, node)| node)
    }

    /// To write `need` pages: the oldest blocks, but for dirty ones that would wait for others;
    /// then more dirty ones from the search window, as long as they can be written at the same
    /// time.
    pub(super) fn select_for_write(&mut self, need: u32, own: u32, view: &dyn View) -> Vec<Victim> {
        let mut round = Round { own, victims: Vec::new(), freed: 0 };
        let free = (0..view.channels()).map(|channel| view.channel_ready(channel)).collect();
        let mut channels = Channels { free, striped: self.config.striped_victims };
        let (mut node, mut looked) = (self.order.back(), 0);
        while node != NONE && round.freed < need && looked < self.config.reach {
            if self.may_leave(&round, node) {
                if self.blocks.dirty(node) == 0 {
                    self.choose(&mut round, node, None, CLEAN);
                } else if let Some(place) = self.place(&mut channels, node, view) {
                    self.choose(&mut round, node, place.channel, PARALLEL);
                }
            }
            looked += 1;
            node = self.order.before(&self.links, node);
        }
        let mut node = self.order.back();
        while node != NONE && round.freed < need {
            if self.may_leave(&round, node) {
                self.choose(&mut round, node, None, OLDEST);
            }
            node = self.order.before(&self.links, node);
        }
        let window = self.window().min(self.config.reach);
        let (mut node, mut looked) = (self.order.back(), 0);
        while node != NONE && looked < window && channels.any() {
            if self.may_leave(&round, node)
                && self.blocks.dirty(node) > 0
                && let Some(place) = self.place(&mut channels, node, view)
            {
                self.choose(&mut round, node, place.channel, EXTRA);
            }
            looked += 1;
            node = self.order.before(&self.links, node);
        }
        self.end(round)
    }

    /// The place of a dirty block, if it can be written together with the victims so far.
    fn place(&mut self, channels: &mut Channels, node: u32, view: &dyn View) -> Option<Way> {
        let Hint { block, pattern, .. } = self.hint(node, None);
        let whole = self.blocks.dirty(node) == self.blocks.pages_per_block();
        match view.route(block, pattern) {
            Route::Striped => {
                channels.striped = channels.striped.checked_sub(1)?;
                Some(Way { channel: None })
            }
            Route::Channel(channel) => channels.take(channel),
            Route::Home(channel) if !whole => channels.take(channel),
            Route::Home(_) | Route::Anywhere => {
                let all = channels.free.len() as u32;
                let channel = (self.turn..self.turn + all)
                    .map(|c| c % all)
                    .find(|&c| channels.free[c as usize])?;
                self.turn = (channel + 1) % all;
                channels.take(channel)
            }
        }
    }
}
