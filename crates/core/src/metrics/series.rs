//! How a run went: the same counts for each of at most 128 steps of equally many requests.

use serde::{Deserialize, Serialize};

use super::observer::{About, Admission, Drive, Figure, Hears, Moment, Observer};
use super::{Counters, Figures, Latency};

/// What the file says of the metric.
pub const ABOUT: About = About {
    title: "Series",
    summary: "how the run went, in steps",
    always: true,
    needs_time: false,
    left_out: false,
    figures: &[Figure {
        key: "series",
        below: "",
        what: "the run in at most 128 steps of equally many requests: what each step asked for, \
               hit, programmed, erased; most requests under way and longest wait for admission. \
               The end of the run is not in it",
    }],
};

/// Running totals at one moment of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    /// Time, in ns.
    pub now_ns: u64,
    /// Requests submitted.
    pub requests: u64,
    /// Requests answered.
    pub answers: u64,
    /// Pages of read and write requests.
    pub host_pages: u64,
    /// Pages among them that were found in the buffer.
    pub hit_pages: u64,
    /// Pages of write requests.
    pub host_pages_written: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Pages programmed by garbage collection, merges and wear levelling.
    pub gc_programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Response times of the requests answered, in ns.
    pub response_ns: u128,
}

impl Totals {
    fn at(moment: &Moment<'_>) -> Self {
        let moves = |c: &Counters| {
            let [_, _, gc, merge, _, wear, _, placement] = c.programs;
            gc + merge + wear + placement
        };
        Self {
            now_ns: moment.now,
            requests: moment.count(|c| c.submitted),
            answers: moment.count(|c| c.completed),
            host_pages: moment.count(|c| c.pages_read + c.pages_written),
            hit_pages: moment.count(|c| c.read_hits + c.write_hits),
            host_pages_written: moment.count(|c| c.pages_written),
            programs: moment.count(|c| c.programmed),
            gc_programs: moment.count(moves),
            erases: moment.count(|c| Counters::total(&c.erases)),
            response_ns: moment.responses.iter().map(Latency::sum).sum(),
        }
    }
}

/// The largest values within a step.
#[derive(Debug, Clone, Copy, Default)]
struct Peaks {
    under_way: u32,
    admission_wait_ns: u64,
}

/// Notes totals at the end of each step; where the steps become too many, two neighbours become
/// one.
#[derive(Debug, Clone, Default)]
pub struct Series {
    timed: bool,
    /// Requests of a step.
    per_step: u64,
    /// Requests submitted at which the present step ends.
    next: u64,
    ends: Vec<(Totals, Peaks)>,
    /// When the first request came.
    start_ns: Option<u64>,
    peaks: Peaks,
    /// Where the run stood after the last answer.
    end: Totals,
}

impl Series {
    const STEPS: usize = 128;

    /// Of a run that begins.
    pub fn new(drive: &Drive) -> Self {
        Self { timed: drive.timed, per_step: 1, next: 1, ..Self::default() }
    }

    /// Ends a step.
    fn note(&mut self, totals: Totals) {
        self.ends.push((totals, std::mem::take(&mut self.peaks)));
        if self.ends.len() == Self::STEPS {
            self.ends = self
                .ends
                .chunks_exact(2)
                .map(|pair| {
                    let peaks = Peaks {
                        under_way: pair[0].1.under_way.max(pair[1].1.under_way),
                        admission_wait_ns: pair[0]
                            .1
                            .admission_wait_ns
                            .max(pair[1].1.admission_wait_ns),
                    };
                    (pair[1].0, peaks)
                })
                .collect();
            self.per_step *= 2;
        }
        self.next = totals.requests + self.per_step;
    }

    /// The steps, the last one ending with the run.
    fn steps(&self) -> SeriesReport {
        let (timed, totals) = (self.timed, self.end);
        let start_ns = self.start_ns.unwrap_or(0);
        let mut ends = self.ends.clone();
        match ends.last_mut() {
            // All requests are in; the last ones have been answered since.
            Some(last) if last.0.requests == totals.requests => last.0 = totals,
            _ if totals.requests > 0 => ends.push((totals, self.peaks)),
            _ => {}
        }
        let column = |of: fn(&Totals) -> u64| {
            let mut before = 0;
            let differences = ends.iter().map(|(totals, _)| {
                let now = of(totals);
                now - std::mem::replace(&mut before, now)
            });
            differences.collect()
        };
        let mut responses = Vec::new();
        let mut before = 0;
        for (totals, _) in &ends {
            let step = totals.response_ns - std::mem::replace(&mut before, totals.response_ns);
            responses.push(u64::try_from(step).unwrap_or(u64::MAX));
        }
        SeriesReport {
            requests_per_step: self.per_step,
            end_ns: timed
                .then(|| ends.iter().map(|(t, _)| t.now_ns.saturating_sub(start_ns)).collect()),
            requests: column(|t| t.requests),
            answers: column(|t| t.answers),
            host_pages: column(|t| t.host_pages),
            hit_pages: column(|t| t.hit_pages),
            host_pages_written: column(|t| t.host_pages_written),
            programs: column(|t| t.programs),
            gc_programs: column(|t| t.gc_programs),
            erases: column(|t| t.erases),
            backlog_max: timed.then(|| ends.iter().map(|(_, p)| p.under_way).collect()),
            admission_wait_max_ns: timed
                .then(|| ends.iter().map(|(_, p)| p.admission_wait_ns).collect()),
            response_sum_ns: timed.then_some(responses),
        }
    }
}

/// A run in steps, one value a step in each list; null where the run was not timed. What comes
/// after the last request ([`super::report::EndOfRun`]) is not in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesReport {
    /// Requests of a step; the last one may have fewer.
    pub requests_per_step: u64,
    /// When the step ended, in ns since the first arrival; the last one with the last answer.
    pub end_ns: Option<Vec<u64>>,
    /// Requests submitted.
    pub requests: Vec<u64>,
    /// Requests answered.
    pub answers: Vec<u64>,
    /// Pages of read and write requests.
    pub host_pages: Vec<u64>,
    /// Pages among them that were found in the buffer.
    pub hit_pages: Vec<u64>,
    /// Pages of write requests.
    pub host_pages_written: Vec<u64>,
    /// Pages programmed.
    pub programs: Vec<u64>,
    /// Pages programmed by garbage collection, merges and wear levelling.
    pub gc_programs: Vec<u64>,
    /// Blocks erased.
    pub erases: Vec<u64>,
    /// Most requests under way at once.
    pub backlog_max: Option<Vec<u32>>,
    /// The longest that a request waited to be admitted, in ns.
    pub admission_wait_max_ns: Option<Vec<u64>>,
    /// Sum of the response times of the requests answered, in ns.
    pub response_sum_ns: Option<Vec<u64>>,
}

impl Observer for Series {
    fn on_admit(&mut self, admission: &Admission) -> Hears {
        self.start_ns.get_or_insert(admission.arrival);
        let Peaks { under_way, admission_wait_ns } = &mut self.peaks;
        *under_way = (*under_way).max(admission.under_way);
        *admission_wait_ns = (*admission_wait_ns).max(admission.now - admission.arrival);
        Hears::Yes
    }

    fn sums_up(&self) -> bool {
        true
    }

    #[inline]
    fn on_serve(&mut self, moment: &Moment<'_>) -> Hears {
        if moment.count(|c| c.submitted) >= self.next {
            self.note(Totals::at(moment));
        }
        Hears::From(moment.before.submitted + self.next)
    }

    fn on_end(&mut self, moment: &Moment<'_>) -> Hears {
        // A worn drive gives no answer to its last requests, and time has gone on since the last.
        let gone = self.ends.last().map_or(0, |(totals, _)| totals.now_ns);
        self.end = Totals { now_ns: moment.now.max(gone), ..Totals::at(moment) };
        Hears::Yes
    }

    fn report(&self, _: &Moment<'_>, figures: &mut Figures) {
        figures.set("series", self.steps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty(timed: bool) -> Series {
        Series { timed, per_step: 1, next: 1, ..Series::default() }
    }

    fn run(requests: u64) -> SeriesReport {
        let mut series = empty(true);
        let totals = |n: u64| Totals {
            now_ns: 7 + 10 * n,
            requests: n,
            answers: n,
            host_pages: 3 * n,
            response_ns: u128::from(n) * 5,
            ..Totals::default()
        };
        for n in 1..=requests {
            let _ = series.on_admit(&Admission { arrival: 7, now: 7 + n, under_way: n as u32 });
            if n >= series.next {
                series.note(totals(n));
            }
        }
        series.end = totals(requests);
        series.steps()
    }

    #[test]
    fn steps_double_as_the_run_grows_and_lose_nothing() {
        for requests in [1, 2, 127, 128, 129, 1000, 4097] {
            let report = run(requests);
            assert_eq!(report.requests.iter().sum::<u64>(), requests);
            assert_eq!(report.host_pages.iter().sum::<u64>(), 3 * requests);
            assert_eq!(report.response_sum_ns.as_ref().unwrap().iter().sum::<u64>(), 5 * requests);
            assert!(report.requests.len() <= Series::STEPS, "{}", report.requests.len());
            let (last, whole) = report.requests.split_last().unwrap();
            assert!(whole.iter().all(|&n| n == report.requests_per_step), "{report:?}");
            assert!(*last <= report.requests_per_step);
            assert_eq!(report.end_ns.unwrap().last(), Some(&(10 * requests)));
            let peaks = report.backlog_max.unwrap();
            assert_eq!(peaks.last(), Some(&(requests as u32)));
            assert!(peaks.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    /// A worn drive leaves its last requests unanswered.
    #[test]
    fn time_goes_on_though_the_last_answer_was_long_ago() {
        let (counters, responses) = (super::super::Counters::default(), []);
        let bypassed = Latency::default();
        let moment = |now| Moment {
            now,
            counters: &counters,
            before: &counters,
            responses: &responses,
            bypassed: &bypassed,
            worn_out: true,
        };
        let mut series = empty(true);
        series.note(Totals { now_ns: 900, requests: 1, ..Totals::default() });
        for (answered, end) in [(500, 900), (1200, 1200)] {
            let _ = series.on_end(&moment(answered));
            assert_eq!(series.end.now_ns, end);
        }
    }

    #[test]
    fn a_run_of_nothing_has_no_steps() {
        let report = empty(false).steps();
        assert!(report.requests.is_empty() && report.end_ns.is_none());
    }
}
