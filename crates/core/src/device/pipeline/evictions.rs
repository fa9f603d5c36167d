//! When what leaves the buffer is stored: a join for each write of the buffer. Observers are told
//! of its end.

use crate::device::Device;
use crate::device::backend::Tag;
use crate::ftl::Waiter;
use crate::nand::JoinId;
use crate::support::NONE;

/// Writes of the buffer that are under way.
#[derive(Debug)]
pub(super) struct Evictions {
    /// When the request came for which each of them made room; the next free place, where there is
    /// none.
    arrivals: Vec<u64>,
    free: u32,
    /// Joins of writes that have been planned and not issued.
    planned: Vec<JoinId>,
}

impl Default for Evictions {
    fn default() -> Self {
        Self { arrivals: Vec::new(), free: NONE, planned: Vec::new() }
    }
}

impl Evictions {
    /// A place for a write on behalf of a request that came at `arrival`.
    fn begin(&mut self, arrival: u64) -> u32 {
        if self.free == NONE {
            self.arrivals.push(arrival);
            return self.arrivals.len() as u32 - 1;
        }
        let place = self.free;
        self.free = std::mem::replace(&mut self.arrivals[place as usize], arrival) as u32;
        place
    }

    /// Whether something waits to be issued.
    #[inline]
    pub fn has_planned(&self) -> bool {
        !self.planned.is_empty()
    }
}

impl Device {
    /// From here on pages are written for a request that came at `arrival`: their operations belong
    /// to the join that is returned, and `own` waits for them, too; one page `alone` that nobody
    /// waits for needs none. Nothing is timed without time, and what no request asked for.
    #[inline]
    pub(in crate::device) fn begin_timed_eviction(
        &mut self,
        own: Waiter,
        arrival: Option<u64>,
        alone: bool,
    ) -> (Waiter, Option<JoinId>) {
        let Some(arrival) = arrival.filter(|_| self.backend.is_timed()) else { return (own, None) };
        let place = self.pipeline.under_way.begin(arrival);
        let tag = Tag::Eviction(place);
        if alone && own == Waiter::Nobody && self.backend.takes_one_program() {
            return (Waiter::Writes(tag.waiter()), None);
        }
        let join = self.backend.join(tag);
        self.backend.hold(join);
        if let Waiter::Writes(all) = own {
            self.backend.link(join, all);
        }
        (Waiter::Writes(join), Some(join))
    }

    /// All of them are planned.
    #[inline]
    pub(in crate::device) fn end_timed_eviction(&mut self, join: Option<JoinId>) {
        self.pipeline.under_way.planned.extend(join);
    }

    /// All that was planned is issued: joins end with their operations from now on.
    #[inline]
    pub(in crate::device) fn release_timed_evictions(&mut self) {
        if self.pipeline.under_way.has_planned() {
            self.release_planned();
        }
    }

    #[inline(never)]
    fn release_planned(&mut self) {
        while let Some(join) = self.pipeline.under_way.planned.pop() {
            self.backend.release(join);
        }
    }

    /// The pages that were written from `place` are stored.
    pub(in crate::device) fn timed_eviction_ended(&mut self, place: u32) {
        let free = u64::from(std::mem::replace(&mut self.pipeline.under_way.free, place));
        let arrival =
            std::mem::replace(&mut self.pipeline.under_way.arrivals[place as usize], free);
        let measured = self.requests.is_measured_at(arrival);
        self.observers.on_store(measured, arrival, self.backend.engine().now());
    }
}
