//! When what leaves the buffer is stored: a join for each write of the buffer. Observers are told
//! of its end.

use crate::device::Device;
use crate::device::backend::Tag;
use crate::ftl::Waiter;
use crate::nand::JoinId;
use crate::support::NONE;
use crate::support::ids::RequestId;

/// The request that a write of the buffer makes room for.
#[derive(Debug, Clone, Copy)]
struct Cause {
    arrival: u64,
    /// In the workload.
    number: u64,
}

/// Writes of the buffer that are under way.
#[derive(Debug)]
pub(super) struct Evictions {
    /// The request for which each of them made room; the next free place, where there is none.
    causes: Vec<Cause>,
    free: u32,
    /// Joins of writes that have been planned and not issued.
    planned: Vec<JoinId>,
}

impl Default for Evictions {
    fn default() -> Self {
        Self { causes: Vec::new(), free: NONE, planned: Vec::new() }
    }
}

impl Evictions {
    /// A place for a write.
    fn begin(&mut self, cause: Cause) -> u32 {
        if self.free == NONE {
            self.causes.push(cause);
            return self.causes.len() as u32 - 1;
        }
        let place = self.free;
        self.free = std::mem::replace(&mut self.causes[place as usize], cause).arrival as u32;
        place
    }

    /// The write of a place is over.
    fn end(&mut self, place: u32) -> Cause {
        let next = std::mem::replace(&mut self.free, place);
        let free = Cause { arrival: next.into(), number: 0 };
        std::mem::replace(&mut self.causes[place as usize], free)
    }

    /// Whether something waits to be issued.
    #[inline]
    pub fn has_planned(&self) -> bool {
        !self.planned.is_empty()
    }
}

impl Device {
    /// From here on pages are written to make room for a request: their operations belong to the
    /// join that is returned, and `own` waits for them, too; one page `alone` that nobody waits for
    /// needs none. Nothing is timed without time, and what no request asked for.
    #[inline]
    pub(in crate::device) fn begin_timed_eviction(
        &mut self,
        own: Waiter,
        id: Option<RequestId>,
        alone: bool,
    ) -> (Waiter, Option<JoinId>) {
        let Some(id) = id.filter(|_| self.backend.is_timed()) else { return (own, None) };
        let (arrival, number) = (self.requests.arrival(id), self.requests.number(id));
        let cause = Cause { arrival, number };
        let place = self.pipeline.under_way.begin(cause);
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
        let Cause { arrival, number } = self.pipeline.under_way.end(place);
        // The warm-up may have ended meanwhile.
        let measured = self.requests.is_measured(number);
        self.observers.on_store(measured, arrival, self.backend.engine().now());
    }
}
