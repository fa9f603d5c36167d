//! The host's requests that are under way, and how long they take.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

mod backlog;

pub(super) use backlog::Backlog;

use crate::metrics::Latency;
use crate::metrics::observer::Answered;
use crate::nand::JoinId;
use crate::support::NONE;
use crate::support::clocks::NEVER;
use crate::support::ids::RequestId;

/// A request that has been admitted and not answered. It is small: with thousands of them under way
/// each is found in memory again, not in a cache.
#[derive(Debug, Clone, Copy)]
struct Pending {
    arrival: u64,
    admitted: u64,
    /// Its number in the workload.
    number: u64,
    /// Time in RAM.
    ram_ns: u64,
    /// What the answer waits for; nothing in a free place.
    conditions: u32,
    /// Flash reads that more may be added to, or none; in a free place, the next free one.
    reads: u32,
    /// Join of its flash writes, while it has any.
    writes: JoinId,
    /// Index of its latency histogram: read, write, other.
    kind: u8,
    /// Pages of it bypassed the buffer.
    bypassed: bool,
}

/// The part of the response times that holds those of writes of which pages bypassed the buffer.
const PAST: usize = 3;

/// All requests under way. It alone knows what each answer waits for.
#[derive(Debug)]
pub(super) struct Requests {
    timed: bool,
    pending: Vec<Pending>,
    free: u32,
    under_way: u32,
    /// Writes that wait for slots: `(request, freed slots that let it go on)`.
    tickets: VecDeque<(RequestId, u64)>,
    /// Requests that only wait for their copies in RAM: `(end, request)`.
    timers: BinaryHeap<Reverse<(u64, RequestId)>>,
    /// Numbers of the requests answered, in order, where somebody asked for them.
    answers: Option<Vec<u64>>,
    /// Response times: reads, writes through the buffer, others, writes of which pages bypassed it.
    responses: [Latency; 4],
    first_arrival: Option<u64>,
    last_arrival: u64,
    last_answer: u64,
    /// Sum over time of requests under way, and when it was last brought up to date: Little's law.
    area: u128,
    area_at: u64,
    sum_admitted: u128,
    backlog: Backlog,
    /// Number of the first request that is measured: those before it are the warm-up.
    measured: u64,
}

impl Requests {
    /// None under way.
    pub fn new(timed: bool) -> Self {
        Self {
            timed,
            pending: Vec::new(),
            free: NONE,
            under_way: 0,
            tickets: VecDeque::new(),
            timers: BinaryHeap::new(),
            answers: None,
            responses: Default::default(),
            first_arrival: None,
            last_arrival: 0,
            last_answer: 0,
            area: 0,
            area_at: 0,
            sum_admitted: 0,
            backlog: Backlog::default(),
            measured: 0,
        }
    }

    /// The warm-up is over: requests count from this number on, which comes at `now`.
    pub fn measure_from(&mut self, number: u64, now: u64) {
        self.measured = number;
        self.responses = Default::default();
        self.first_arrival = None;
        self.last_answer = now;
        self.backlog.restart(now);
    }

    /// Whether a request does not belong to the warm-up.
    #[inline]
    pub fn is_measured(&self, number: u64) -> bool {
        number >= self.measured
    }

    /// Admitted and not answered.
    #[inline]
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// When the last one came.
    pub fn last_arrival(&self) -> u64 {
        self.last_arrival
    }

    /// Whether all have come at one moment.
    pub fn all_at_once(&self) -> bool {
        self.first_arrival == Some(self.last_arrival)
    }

    /// When the last answer was given that is measured.
    pub fn last_answer(&self) -> u64 {
        self.last_answer
    }

    /// From the first arrival to the last answer.
    pub fn run_ns(&self) -> u64 {
        self.last_answer.saturating_sub(self.first_arrival.unwrap_or(0))
    }

    /// Response times: reads, writes through the buffer, others, writes of which pages bypassed it.
    pub fn responses(&self) -> &[Latency] {
        &self.responses
    }

    /// Those of reads, writes, others.
    pub fn responses_by_kind(&self) -> [Latency; 3] {
        let [reads, through, others, past] = &self.responses;
        let mut writes = through.clone();
        writes.add(past);
        [reads.clone(), writes, others.clone()]
    }

    /// Those of writes of which pages bypassed the buffer.
    pub fn bypassed(&self) -> &Latency {
        &self.responses[PAST]
    }

    /// How long requests took in the course of the run.
    pub fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    /// Requests under way summed over time, and their times from admission to answer.
    pub fn littles_law(&self) -> (u128, u128) {
        (self.area, self.sum_admitted)
    }

    /// A request comes.
    pub fn arrives(&mut self, arrival: u64) {
        self.last_arrival = arrival;
        self.first_arrival.get_or_insert(arrival);
    }

    /// Request `number` of a kind (read, write, other) is under way from now on. Its answer waits
    /// until [`Self::condition_met`] is said of it for its having been issued.
    #[inline(always)]
    pub fn admit(&mut self, number: u64, kind: u8, arrival: u64, now: u64) -> RequestId {
        self.count_area(now);
        self.under_way += 1;
        if self.timed {
            self.backlog.admitted(arrival, now, self.under_way);
        }
        let pending = Pending {
            arrival,
            admitted: now,
            number,
            kind,
            conditions: 1,
            reads: NONE,
            writes: JoinId::NONE,
            bypassed: false,
            ram_ns: 0,
        };
        if self.free == NONE {
            self.pending.push(pending);
            return RequestId(self.pending.len() as u32 - 1);
        }
        let id = RequestId(self.free);
        let place = &mut self.pending[id.index()];
        self.free = place.reads;
        *place = pending;
        id
    }

    /// Request `number` of a kind is answered as soon as it is admitted.
    #[inline(always)]
    pub fn pass(&mut self, number: u64, kind: u8, arrival: u64, now: u64) {
        // How many are under way is the same before and after: their sum over time goes on.
        self.backlog.admitted(arrival, now, self.under_way + 1);
        self.note_answer(number);
        self.backlog.moves_up(now);
        if self.is_measured(number) {
            self.responses[kind as usize].record(now - arrival);
            self.backlog.answered(now - arrival);
            self.last_answer = self.last_answer.max(now);
        }
    }

    /// A run without time has one request at a time, which is answered at once: the place of all.
    #[inline]
    pub fn untimed(&mut self) -> RequestId {
        if let Some(pending) = self.pending.first_mut() {
            pending.bypassed = false;
        } else {
            self.admit(0, 0, 0, 0);
            self.under_way -= 1;
        }
        RequestId(0)
    }

    /// Its number in the workload.
    pub fn number(&self, id: RequestId) -> u64 {
        self.pending[id.index()].number
    }

    /// When a request came.
    pub fn arrival(&self, id: RequestId) -> u64 {
        self.pending[id.index()].arrival
    }

    /// Pages of it bypass the buffer.
    pub fn bypass(&mut self, id: RequestId) {
        self.pending[id.index()].bypassed = true;
    }

    /// Whether pages of it have.
    pub fn has_bypassed(&self, id: RequestId) -> bool {
        self.pending[id.index()].bypassed
    }

    /// The group of its flash reads that more may be added to, or [`NONE`].
    #[inline]
    pub fn reads(&self, id: RequestId) -> u32 {
        self.pending[id.index()].reads
    }

    /// Its answer waits for a group of flash reads, which more may be added to.
    pub fn wait_for_reads(&mut self, id: RequestId, reads: u32) {
        self.pending[id.index()].reads = reads;
        self.add_condition(id);
    }

    /// No more is added to the group of reads that is returned, or [`NONE`].
    #[inline]
    pub fn close_reads(&mut self, id: RequestId) -> u32 {
        std::mem::replace(&mut self.pending[id.index()].reads, NONE)
    }

    /// The join of its flash writes, or [`NONE`].
    #[inline]
    pub fn writes(&self, id: RequestId) -> JoinId {
        self.pending[id.index()].writes
    }

    /// Its answer waits for this join of flash writes.
    pub fn wait_for_writes(&mut self, id: RequestId, join: JoinId) {
        self.pending[id.index()].writes = join;
        self.add_condition(id);
    }

    /// Its answer waits for one thing more.
    #[inline]
    pub fn add_condition(&mut self, id: RequestId) {
        self.pending[id.index()].conditions += 1;
    }

    /// Its copies in RAM take so much longer.
    #[inline]
    pub fn add_ram(&mut self, id: RequestId, ns: u64) {
        self.pending[id.index()].ram_ns += ns;
    }

    /// Its answer waits until so many slots have been freed in all.
    pub fn wait_for_slots(&mut self, id: RequestId, freed: u64) {
        self.add_condition(id);
        self.tickets.push_back((id, freed));
    }

    /// How many slots have to be freed in all for the first of those that wait for some; none waits
    /// for so many as [`u64::MAX`].
    #[inline]
    pub fn next_ticket(&self) -> u64 {
        self.tickets.front().map_or(u64::MAX, |&(_, freed)| freed)
    }

    /// The first of those that wait for slots, if so many freed ones are enough: it waits no more.
    #[inline]
    pub fn take_ticket(&mut self, freed: u64) -> Option<RequestId> {
        let &(id, wanted) = self.tickets.front()?;
        if freed < wanted {
            return None;
        }
        self.tickets.pop_front();
        Some(id)
    }

    /// When the next copy in RAM ends, or [`NEVER`].
    #[inline]
    pub fn next_timer(&self) -> u64 {
        self.timers.peek().map_or(NEVER, |Reverse((time, _))| *time)
    }

    /// The request whose copy in RAM ends next.
    pub fn take_timer(&mut self) -> Option<(u64, RequestId)> {
        self.timers.pop().map(|Reverse(timer)| timer)
    }

    /// One of the things that a request waits for has come; says whether that was the last one.
    #[inline]
    pub fn condition_met(&mut self, id: RequestId) -> bool {
        let pending = &mut self.pending[id.index()];
        pending.conditions -= 1;
        pending.conditions == 0
    }

    /// All that a request waits for has come: it is answered, if its copies in RAM take no time.
    /// Where there is no time, its figures mean nothing.
    #[inline(always)]
    pub fn answer(&mut self, id: RequestId, now: u64) -> Option<Answered> {
        let pending = &mut self.pending[id.index()];
        if pending.ram_ns > 0 {
            // Everything else is done; the copies in RAM take their time.
            let end = now + std::mem::take(&mut pending.ram_ns);
            pending.conditions = 1;
            self.timers.push(Reverse((end, id)));
            return None;
        }
        let Pending { arrival, admitted, number, kind, bypassed, .. } = *pending;
        pending.reads = self.free;
        self.free = id.0;
        self.note_answer(number);
        if self.timed {
            self.count_area(now);
            self.sum_admitted += u128::from(now - admitted);
            self.backlog.moves_up(now);
            if self.is_measured(number) {
                let part = if bypassed { PAST } else { kind.into() };
                self.responses[part].record(now - arrival);
                self.backlog.answered(now - arrival);
                self.last_answer = self.last_answer.max(now);
            }
        }
        self.under_way -= 1;
        Some(Answered { number, kind, arrival, admitted, now, bypassed })
    }

    /// Notes which requests are answered, from now on.
    pub fn keep_answers(&mut self) {
        self.answers = Some(Vec::new());
    }

    /// Whether somebody asked for that.
    #[inline]
    pub fn keeps_answers(&self) -> bool {
        self.answers.is_some()
    }

    /// Numbers of the requests answered since then, in order.
    pub fn answers(&self) -> &[u64] {
        self.answers.as_deref().unwrap_or(&[])
    }

    /// Moves those numbers to `into`.
    pub fn take_answers(&mut self, into: &mut Vec<u64>) {
        if let Some(answers) = &mut self.answers {
            into.append(answers);
        }
    }

    /// A request is answered.
    #[inline]
    pub fn note_answer(&mut self, number: u64) {
        if let Some(answers) = &mut self.answers {
            answers.push(number);
        }
    }

    /// Whether a request is under way.
    pub fn is_pending(&self, number: u64) -> bool {
        self.pending.iter().any(|p| p.conditions > 0 && p.number == number)
    }

    /// Brings the sum of requests under way up to the present.
    #[inline]
    fn count_area(&mut self, now: u64) {
        debug_assert!(now >= self.area_at, "time goes on");
        if now > self.area_at {
            self.area += u128::from(now - self.area_at) * u128::from(self.under_way);
            self.area_at = now;
        }
    }
}
