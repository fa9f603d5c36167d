//! All observers of a run, and who of them hears of what.

use super::observer::{
    Admission, Answered, Decision, Drive, Fault, Hears, Leaving, Moment, Observer, Occasion,
    Progress, Written,
};
use super::{Figures, Metric};
use crate::buffer::{Buffer, Outcome};
use crate::host::Op;
use crate::nand::{Engine, Plan};

/// What observers are told of.
#[derive(Debug, Clone, Copy)]
enum Event {
    Begin,
    Admit,
    Access,
    Evict,
    Write,
    Issue,
    Store,
    Progress,
    Answer,
    Serve,
    End,
}

const EVENTS: usize = Event::End as usize + 1;

/// An observer; a metric, or somebody who is not in the registry.
#[derive(Debug)]
struct Seat {
    metric: Option<Metric>,
    observer: Box<dyn Observer>,
}

/// The observers of a run. An event that nobody hears of costs a look at an empty list.
#[derive(Debug, Default)]
pub struct Observers {
    all: Vec<Seat>,
    /// By event, the places of those who hear of it.
    listeners: [Vec<u32>; EVENTS],
    details: bool,
    /// Nobody hears of a request that was served before so many have been submitted.
    serve_from: u64,
    sums: Sums,
}

/// What has not been told yet to those who [sum up](Observer::sums_up).
#[derive(Debug, Default)]
struct Sums {
    /// All who hear of requests admitted do, and all who hear of writes.
    of_admissions: bool,
    of_writes: bool,
    /// Requests admitted: when the first one came, the most under way, the longest wait.
    first: Option<u64>,
    under_way: u32,
    wait: u64,
    /// Single pages that went past the buffer.
    singles: u64,
    /// Single pages that left it.
    evicted: u64,
}

impl Observers {
    /// With the metrics that every run has.
    pub fn new(drive: &Drive) -> Self {
        let mut observers = Self::default();
        for metric in Metric::all().filter(|metric| metric.about().always) {
            observers.keep(metric, drive);
        }
        observers
    }

    /// Keeps a metric from now on, if it is not there already.
    pub fn keep(&mut self, metric: Metric, drive: &Drive) {
        if metric.about().needs_time && !drive.timed {
            return;
        }
        self.keep_as(metric, || metric.begin(drive));
    }

    /// Keeps a metric by this observer, if it is not there already.
    pub fn keep_as(&mut self, metric: Metric, observer: impl FnOnce() -> Box<dyn Observer>) {
        if self.all.iter().all(|seat| seat.metric != Some(metric)) {
            self.all.push(Seat { metric: Some(metric), observer: observer() });
            self.listen();
        }
    }

    /// Adds an observer that is no metric. It hears of each event before all others.
    pub fn add(&mut self, observer: Box<dyn Observer>) {
        self.all.insert(0, Seat { metric: None, observer });
        self.listen();
    }

    /// Metrics begin anew: what they have seen does not count.
    pub fn restart(&mut self, drive: &Drive) {
        for Seat { metric, observer } in &mut self.all {
            if let Some(metric) = metric {
                *observer = metric.begin(drive);
            }
        }
        self.listen();
    }

    /// The warm-up is over: what metrics have seen does not count, what they remember may.
    pub fn measure(&mut self, drive: &Drive) {
        for Seat { metric, observer } in &mut self.all {
            if let Some(metric) = metric
                && !observer.measures_from_here(drive)
            {
                *observer = metric.begin(drive);
            }
        }
        self.listen();
    }

    /// Everybody hears of everything until he says that he need not.
    fn listen(&mut self) {
        let everybody: Vec<u32> = (0..self.all.len() as u32).collect();
        self.listeners.fill(everybody);
        self.serve_from = 0;
        // Who hears of what has to be asked again before anything is summed up.
        (self.sums.of_admissions, self.sums.of_writes) = (false, false);
        self.details = self.all.iter().any(|seat| seat.observer.reads_details());
    }

    #[inline]
    fn is_heard(&self, event: Event) -> bool {
        !self.listeners[event as usize].is_empty()
    }

    #[inline]
    fn tell(&mut self, event: Event, of: impl FnMut(&mut dyn Observer) -> Hears) {
        self.tell_all(event, true, of);
    }

    /// Metrics are told only of what is measured.
    #[inline]
    fn tell_all(
        &mut self,
        event: Event,
        measured: bool,
        mut of: impl FnMut(&mut dyn Observer) -> Hears,
    ) {
        let mut at = 0;
        while let Some(&place) = self.listeners[event as usize].get(at) {
            let Seat { metric, observer } = &mut self.all[place as usize];
            if !measured && metric.is_some() {
                at += 1;
                continue;
            }
            match of(&mut **observer) {
                Hears::Yes | Hears::From(_) => at += 1,
                Hears::No => self.dismiss(event, at),
            }
        }
    }

    /// The one at this place of the list need not hear of the event again.
    #[cold]
    fn dismiss(&mut self, event: Event, at: usize) {
        self.listeners[event as usize].remove(at);
    }

    /// The laws of all observers.
    ///
    /// # Errors
    /// The first that does not hold.
    pub fn check(&self, moment: &Moment<'_>) -> Result<(), String> {
        self.all.iter().try_for_each(|seat| seat.observer.check(moment))
    }

    /// Whether somebody reads how things came about in the flash.
    pub fn read_paths(&self) -> bool {
        self.all.iter().any(|seat| seat.observer.reads_paths())
    }

    /// Whether somebody reads the buffer's notes.
    #[inline]
    pub fn read_details(&self) -> bool {
        self.details
    }

    /// [`Observer::on_begin`].
    #[inline]
    pub fn on_begin(&mut self, request: Option<Op>) {
        self.tell(Event::Begin, |one| one.on_begin(request));
    }

    /// [`Observer::on_admit`].
    #[inline]
    pub fn on_admit(&mut self, admission: &Admission) {
        self.tell(Event::Admit, |one| one.on_admit(admission));
    }

    /// Some requests come of which those who [sum up](Observer::sums_up) are told in one word, up to
    /// [`Self::end_sums`].
    pub fn begin_sums(&mut self) {
        let sum_up = |event| {
            let mut places = self.listeners[event as usize].iter();
            places.all(|&place| self.all[place as usize].observer.sums_up())
        };
        (self.sums.of_admissions, self.sums.of_writes) =
            (sum_up(Event::Admit), sum_up(Event::Write));
    }

    /// [`Self::on_admit`], now or with others.
    #[inline(always)]
    pub fn note_admission(&mut self, admission: &Admission) {
        if !self.sums.of_admissions {
            return self.on_admit(admission);
        }
        let sums = &mut self.sums;
        sums.first.get_or_insert(admission.arrival);
        sums.under_way = sums.under_way.max(admission.under_way);
        sums.wait = sums.wait.max(admission.now - admission.arrival);
    }

    /// [`Self::on_write`] of a single page past the buffer, now or with others.
    #[inline(always)]
    pub fn note_single(&mut self) {
        if self.sums.of_writes {
            self.sums.singles += 1;
        } else {
            self.on_write(&Self::SINGLE);
        }
    }

    /// The same of a single page that leaves it.
    #[inline(always)]
    pub fn note_evicted(&mut self) {
        if self.sums.of_writes {
            self.sums.evicted += 1;
        } else {
            self.on_write(&Self::EVICTED);
        }
    }

    const SINGLE: Written = Written { pages: 1, with_padding: 1, bypassed: true };
    const EVICTED: Written = Written { bypassed: false, ..Self::SINGLE };

    /// Tells what has been put off.
    #[inline]
    pub fn tell_sums(&mut self) {
        let sums = &self.sums;
        if sums.first.is_some() || sums.singles > 0 || sums.evicted > 0 {
            self.tell_in_one_word();
        }
    }

    /// Tells what has been put off; whatever comes next is told of at once.
    #[inline]
    pub fn end_sums(&mut self) {
        self.tell_sums();
        (self.sums.of_admissions, self.sums.of_writes) = (false, false);
    }

    #[inline(never)]
    fn tell_in_one_word(&mut self) {
        let sums = &mut self.sums;
        let (under_way, wait) = (sums.under_way, sums.wait);
        let (first, singles) = (sums.first.take(), std::mem::take(&mut sums.singles));
        let evicted = std::mem::take(&mut sums.evicted);
        (sums.under_way, sums.wait) = (0, 0);
        if let Some(arrival) = first {
            self.on_admit(&Admission { arrival, now: arrival + wait, under_way });
        }
        if singles > 0 {
            self.tell(Event::Write, |one| one.on_writes(&Self::SINGLE, singles));
        }
        if evicted > 0 {
            self.tell(Event::Write, |one| one.on_writes(&Self::EVICTED, evicted));
        }
    }

    /// [`Observer::on_access`]; the request is the one of that number, but for the end.
    ///
    /// # Errors
    /// The first fault that somebody finds.
    #[inline]
    pub fn on_access(
        &mut self,
        number: u64,
        occasion: impl FnOnce() -> Occasion,
        outcome: &Outcome,
        buffer: &dyn Buffer,
    ) -> Result<(), Fault> {
        if !self.is_heard(Event::Access) {
            return Ok(());
        }
        let occasion = occasion();
        let request = (occasion != Occasion::End).then_some(number);
        let decision = Decision { request, occasion, outcome };
        let mut at = 0;
        while let Some(&place) = self.listeners[Event::Access as usize].get(at) {
            match self.all[place as usize].observer.on_access(&decision, buffer)? {
                Hears::Yes | Hears::From(_) => at += 1,
                Hears::No => self.dismiss(Event::Access, at),
            }
        }
        Ok(())
    }

    /// [`Observer::on_evict`].
    #[inline]
    pub fn on_evict(&mut self, leaving: &Leaving<'_>) {
        self.tell(Event::Evict, |one| one.on_evict(leaving));
    }

    /// [`Observer::on_write`].
    #[inline]
    pub fn on_write(&mut self, written: &Written) {
        self.tell(Event::Write, |one| one.on_write(written));
    }

    /// [`Observer::on_issue`].
    #[inline]
    pub fn on_issue(&mut self, plan: &Plan, engine: &Engine) {
        self.tell(Event::Issue, |one| one.on_issue(plan, engine));
    }

    /// [`Observer::on_store`]; `measured`: for no request of the warm-up.
    #[inline]
    pub fn on_store(&mut self, measured: bool, arrival: u64, now: u64) {
        self.tell_all(Event::Store, measured, |one| one.on_store(arrival, now));
    }

    /// Whether somebody follows what requests wait for.
    #[inline]
    pub fn follow_progress(&self) -> bool {
        self.is_heard(Event::Progress)
    }

    /// [`Observer::on_progress`]; `measured`: of no request of the warm-up.
    pub fn on_progress(&mut self, measured: bool, progress: &Progress<'_>) {
        self.tell_all(Event::Progress, measured, |one| one.on_progress(progress));
    }

    /// [`Observer::on_answer`]; `measured`: to no request of the warm-up.
    #[inline]
    pub fn on_answer(&mut self, measured: bool, answered: impl FnOnce() -> Answered) {
        if self.is_heard(Event::Answer) {
            let answered = answered();
            self.tell_all(Event::Answer, measured, |one| one.on_answer(&answered));
        }
    }

    /// [`Observer::on_serve`], where somebody hears of that ([`Self::hear_of_serving`]).
    pub fn on_serve(&mut self, moment: &Moment<'_>) {
        self.tell_sums();
        let mut from = u64::MAX;
        self.tell(Event::Serve, |one| {
            let hears = one.on_serve(moment);
            from = match hears {
                Hears::Yes => 0,
                Hears::From(submitted) => from.min(submitted),
                Hears::No => from,
            };
            hears
        });
        self.serve_from = from;
    }

    /// Whether somebody hears of a request that has been served, the last of so many.
    #[inline]
    pub fn hear_of_serving(&self, submitted: u64) -> bool {
        submitted >= self.serve_from
    }

    /// Of how many requests after so many nobody hears that they have been served.
    #[inline]
    pub fn unheard(&self, submitted: u64) -> u64 {
        self.serve_from.saturating_sub(submitted + 1)
    }

    /// Whether somebody hears that a request begins, or what the buffer says of its pages.
    #[inline]
    pub fn hear_of_serving_pages(&self) -> bool {
        self.details || self.is_heard(Event::Begin) || self.is_heard(Event::Access)
    }

    /// Whether somebody hears of plans.
    #[inline]
    pub fn hear_of_plans(&self) -> bool {
        self.is_heard(Event::Issue)
    }

    /// Whether somebody hears of answers.
    #[inline]
    pub fn hear_of_answers(&self) -> bool {
        self.is_heard(Event::Answer)
    }

    /// Whether somebody hears of pages that leave the buffer.
    #[inline]
    pub fn hear_of_evictions(&self) -> bool {
        self.is_heard(Event::Evict)
    }

    /// [`Observer::on_end`].
    pub fn on_end(&mut self, moment: &Moment<'_>) {
        self.tell(Event::End, |one| one.on_end(moment));
    }

    /// The figures of all registered metrics, null where one is not kept.
    pub fn figures(&self, moment: &Moment<'_>) -> Figures {
        let mut figures = Figures::default();
        for metric in Metric::all() {
            match self.all.iter().find(|seat| seat.metric == Some(metric)) {
                Some(seat) => seat.observer.report(moment, &mut figures),
                None if metric.about().left_out => {}
                None => metric.about().figures.iter().for_each(|one| figures.set(one.key, ())),
            }
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const DRIVE: Drive = Drive { timed: false, ..Drive::EXAMPLE };
    const STORE: Written = Written { pages: 1, with_padding: 4, bypassed: false };

    /// Counts writes, and refuses to hear of anything but the first request's begin.
    #[derive(Debug, Default)]
    struct Probe(Arc<[AtomicU32; 2]>);

    impl Observer for Probe {
        fn on_begin(&mut self, _: Option<Op>) -> Hears {
            self.0[0].fetch_add(1, Ordering::Relaxed);
            Hears::No
        }

        fn on_write(&mut self, _: &Written) -> Hears {
            self.0[1].fetch_add(1, Ordering::Relaxed);
            Hears::Yes
        }
    }

    #[test]
    fn nobody_is_told_twice_of_what_he_does_not_hear() {
        let probe = Probe::default();
        let counts = Arc::clone(&probe.0);
        let mut observers = Observers::default();
        observers.add(Box::new(probe));
        for _ in 0..3 {
            observers.on_begin(Some(Op::Read));
            observers.on_write(&STORE);
            observers.on_store(true, 1, 2);
        }
        let counts = [0, 1].map(|at| counts[at].load(Ordering::Relaxed));
        assert_eq!(counts, [1, 3]);
        assert!(!observers.is_heard(Event::Begin) && !observers.is_heard(Event::Store));
    }

    #[test]
    fn only_what_is_asked_for_or_always_kept_is_there() {
        let mut observers = Observers::new(&DRIVE);
        let kept = |observers: &Observers| {
            observers.all.iter().filter_map(|seat| seat.metric).collect::<Vec<_>>()
        };
        let always = |metric: &Metric| metric.about().always && !metric.about().needs_time;
        assert_eq!(kept(&observers), Metric::all().filter(always).collect::<Vec<_>>());
        for metric in Metric::all().chain(Metric::all()) {
            observers.keep(metric, &DRIVE);
        }
        let mut all = kept(&observers);
        all.sort_unstable_by_key(|metric| metric.name());
        let mut expected: Vec<_> =
            Metric::all().filter(|metric| !metric.about().needs_time).collect();
        expected.sort_unstable_by_key(|metric| metric.name());
        assert_eq!(all, expected, "each once, and none that needs time in a run without");
    }

    #[test]
    fn what_was_seen_before_a_restart_does_not_count() {
        let mut observers = Observers::new(&DRIVE);
        let (counters, responses) = (super::super::Counters::default(), []);
        let moment = Moment {
            now: 0,
            counters: &counters,
            before: &counters,
            responses: &responses,
            bypassed: &crate::metrics::Latency::default(),
            worn_out: false,
        };
        let sizes = |observers: &Observers| {
            let found = observers.figures(&moment);
            found.at("flush_pages.after_padding").is_some_and(|sizes| !sizes.is_null())
        };
        observers.on_write(&STORE);
        assert!(sizes(&observers));
        observers.restart(&DRIVE);
        assert!(!sizes(&observers));
        observers.on_write(&STORE);
        assert!(sizes(&observers));
    }
}
