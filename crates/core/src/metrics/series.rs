//! How a run went: the same counts for each of at most 128 steps of equally many requests.

use serde::Serialize;

/// Running totals at one moment of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
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

/// The largest values within a step.
#[derive(Debug, Clone, Copy, Default)]
struct Peaks {
    under_way: u32,
    admission_wait_ns: u64,
}

/// Notes totals at the end of each step; where the steps become too many, two neighbours become
/// one.
#[derive(Debug, Clone)]
pub struct Series {
    per_step: u64,
    /// Requests submitted at which the present step ends.
    next: u64,
    ends: Vec<(Totals, Peaks)>,
    start_ns: u64,
    peaks: Peaks,
}

impl Default for Series {
    fn default() -> Self {
        Self { per_step: 1, next: 1, ends: Vec::new(), start_ns: 0, peaks: Peaks::default() }
    }
}

impl Series {
    const STEPS: usize = 128;

    /// Times are reported from here on.
    pub fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns;
    }

    /// A request has been admitted; `under_way` now are, and it waited for that.
    #[inline]
    pub fn admitted(&mut self, under_way: u32, waited_ns: u64) {
        self.peaks.under_way = self.peaks.under_way.max(under_way);
        self.peaks.admission_wait_ns = self.peaks.admission_wait_ns.max(waited_ns);
    }

    /// Whether a step ends with this request.
    #[inline]
    pub fn is_due(&self, submitted: u64) -> bool {
        submitted >= self.next
    }

    /// Ends a step.
    pub fn note(&mut self, totals: Totals) {
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

    /// The steps, the last one ending with `totals`.
    pub fn report(&self, timed: bool, totals: Totals) -> SeriesReport {
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
            end_ns: timed.then(|| {
                ends.iter().map(|(t, _)| t.now_ns.saturating_sub(self.start_ns)).collect()
            }),
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(requests: u64) -> SeriesReport {
        let mut series = Series::default();
        series.start(7);
        let totals = |n: u64| Totals {
            now_ns: 7 + 10 * n,
            requests: n,
            answers: n,
            host_pages: 3 * n,
            response_ns: u128::from(n) * 5,
            ..Totals::default()
        };
        for n in 1..=requests {
            series.admitted(n as u32, n);
            if series.is_due(n) {
                series.note(totals(n));
            }
        }
        series.report(true, totals(requests))
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

    #[test]
    fn a_run_of_nothing_has_no_steps() {
        let report = Series::default().report(false, Totals::default());
        assert!(report.requests.is_empty() && report.end_ns.is_none());
    }
}
