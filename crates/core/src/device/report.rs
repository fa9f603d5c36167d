//! What a run is found to have done, and whether its figures mean what they say.

use super::Device;
use crate::config::{Precondition, Replay};
use crate::metrics::report::{
    ByKind, EndOfLife, EndOfRun as EndOfRunFigures, Flash, FlashWork, HostPages, Merges,
    MultiPlane, Report, Requests, Suspensions, Throughput, WarmUp,
};
use crate::metrics::{Counters, Latency};
use crate::nand::Shadow;

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Device {
    pub(super) fn report(&self, end_of_run: EndOfRunFigures, paper_bytes: Option<u64>) -> Report {
        let c = self.measured();
        let mut all = Latency::default();
        let [reads_took, writes_took, others_took] = self.requests.responses_by_kind();
        for took in [&reads_took, &writes_took, &others_took] {
            all.add(took);
        }
        let run_ns = self.requests.run_ns();
        let seconds = (self.backend.is_timed() && run_ns > 0).then_some(run_ns as f64 / 1e9);
        let energy = &self.config.nand.energy;
        let erases = Counters::total(&c.erases);
        let spent = c.array_reads as f64 * energy.read_mj
            + c.program_ops as f64 * energy.program_mj
            + erases as f64 * energy.erase_mj;
        let reasons = self.reasons(run_ns);
        let special = self.measured_special();
        let [reads, programs, multi_plane_erases] = special.multi_plane;
        Report {
            requests: Requests {
                submitted: c.submitted,
                completed: c.completed,
                reads: c.by_op[0],
                writes: c.by_op[1],
                trims: c.by_op[2],
                flushes: c.by_op[3],
            },
            warm_up: self.requests_warmed_up().map(|requests| WarmUp { requests }),
            trusted: reasons.is_empty(),
            reasons,
            warnings: self.warnings(),
            offline: self.offline,
            response_ns: ByKind {
                all: all.summary(),
                read: reads_took.summary(),
                write: writes_took.summary(),
            },
            throughput: seconds.map(|s| Throughput {
                iops: c.completed as f64 / s,
                bytes_per_s: c.bytes as f64 / s,
            }),
            simulated_s: seconds,
            hit_ratio: ByKind {
                all: ratio(c.read_hits + c.write_hits, c.pages_read + c.pages_written),
                read: ratio(c.read_hits, c.pages_read),
                write: ratio(c.write_hits, c.pages_written),
            },
            inflight_hits: c.inflight_hits,
            unmapped_reads: c.unmapped_reads,
            host_pages: HostPages {
                read: c.pages_read,
                write: c.pages_written,
                trim: c.pages_trimmed,
            },
            map_hit_ratio: ratio(c.map_hits, c.map_lookups),
            padded_pages: c.padded_pages,
            flash: Flash {
                reads: FlashWork::new(c.reads),
                programs: FlashWork::new(c.programs),
                erases: FlashWork::new(c.erases),
                multi_plane: MultiPlane { reads, programs, erases: multi_plane_erases },
                cache_programs: special.cache_programs,
                suspensions: Suspensions {
                    programs: special.suspensions[0],
                    erases: special.suspensions[1],
                },
            },
            merges: Merges {
                switch: c.switch_merges,
                partial: c.partial_merges,
                full: c.full_merges,
            },
            policy_switches: c.policy_switches,
            waf: ratio(c.programmed, c.pages_written),
            wear: self.measured_wear(),
            end_of_life: self.worn_out.then(|| EndOfLife {
                host_bytes: self.taken_pages * self.geometry.page_bytes,
                unanswered: c.submitted - c.completed,
            }),
            energy_mj: energy.is_known().then_some(spent),
            buffer_metadata_bytes: self.pipeline.buffer().metadata_bytes() as u64,
            buffer_paper_bytes: paper_bytes,
            map_bytes: self.backend.mapping().bytes() as u64,
            bytes_per_page: self.state_bytes() as f64 / f64::from(self.geometry.pages()),
            precondition: self.preconditioning.clone(),
            end_of_run,
            verified_reads: self.backend.engine().shadow().map(Shadow::checked_reads),
            flash_ops: c.flash_ops(),
            figures: self.observers.figures(&self.moment(self.backend.engine().now())),
        }
    }

    /// Why the figures do not mean what they say.
    fn reasons(&self, run_ns: u64) -> Vec<String> {
        let mut reasons = Vec::new();
        // Only arrivals that do not wait for the drive can leave it behind: in a closed loop each
        // waits for an answer.
        let paced = self.backend.is_timed() && self.config.host.replay == Replay::Open;
        let behind_ns = self.requests.last_answer().saturating_sub(self.requests.last_arrival());
        if paced && let Some(mean) = self.requests.backlog().grew(run_ns) {
            reasons.push(format!(
                "the backlog kept growing: in the last quarter of the run requests took {:.3} s on \
                 average, so response times depend on its length; {}",
                mean as f64 / 1e9,
                self.how_to_keep_up()
            ));
        } else if paced && self.requests.backlog().has_enough_samples() && behind_ns > run_ns / 16 {
            reasons.push(format!(
                "the drive did not keep up: it was {:.3} s behind when the last request arrived, \
                 in a run of {:.3} s, so response times depend on the length of the run; {}",
                behind_ns as f64 / 1e9,
                run_ns as f64 / 1e9,
                self.how_to_keep_up()
            ));
        } else if paced
            && let Some(burst) = self.requests.backlog().burst(
                self.config.host.max_outstanding,
                self.requests.responses().iter().map(Latency::sum).sum(),
            )
        {
            reasons.push(format!(
                "the drive was behind for {:.0} % of the run: one request in ten waited {:.3} s or \
                 longer for its turn, so response times tell of the burst; {}",
                burst.behind as f64 / run_ns.max(1) as f64 * 100.0,
                burst.wait as f64 / 1e9,
                self.how_to_keep_up()
            ));
        }
        if self.config.precondition.state.settles() && !self.preconditioning.settled {
            reasons.push(format!(
                "the drive never reached a steady state: after {} drive writes write amplification \
                 still moved by more than {}; raise precondition.max_drive_writes",
                self.preconditioning.drive_writes, self.config.precondition.tolerance
            ));
        }
        reasons
    }

    /// What to do where requests come faster than the drive answers.
    fn how_to_keep_up(&self) -> &'static str {
        if self.requests.all_at_once() {
            // No speed divides a time of zero.
            "all requests come at the same time: give them times, or replay them closed-loop \
             (host.replay = \"closed\")"
        } else {
            "slow the workload down (host.speedup below 1) or replay it closed-loop (host.replay = \
             \"closed\")"
        }
    }

    /// What a reader should know before drawing conclusions.
    fn warnings(&self) -> Vec<String> {
        let c = self.measured();
        let mut warnings = Vec::new();
        if c.submitted == 0 {
            warnings.push("the workload holds no requests".to_owned());
        }
        if c.pages_written > 0 && Counters::total(&c.erases) == 0 {
            let or_steady = if self.config.precondition.state.settles() {
                ""
            } else {
                ", or a drive in steady state (--set precondition.state=steady)"
            };
            warnings.push(format!(
                "no block was erased: garbage collection and merges never ran, so the figures say \
                 nothing of their cost; use a longer workload{or_steady}"
            ));
        }
        if self.config.precondition.state == Precondition::Empty
            && c.pages_written < u64::from(self.logical_pages)
        {
            warnings.push(
                "the drive started empty and was never filled; a used drive is slower \
                (--set precondition.state=full)"
                    .to_owned(),
            );
        }
        if let Some(peak) = self.pipeline.never_filled() {
            warnings.push(format!(
                "the buffer never filled ({peak} of {} pages at most): all schemes look alike; use \
                 a smaller buffer or a longer workload",
                self.pipeline.capacity()
            ));
        }
        if !self.backend.is_timed() {
            let scheme = &self.config.buffer.scheme;
            let times = if scheme.weighs_times() {
                format!("times (nand.timing) have an effect on `{}` alone", scheme.name())
            } else {
                "no time has an effect (nand.timing)".to_owned()
            };
            warnings.push(format!(
                "untimed run: {times}, and schemes that look at the state of the flash saw every \
                 unit idle"
            ));
        }
        if self.worn_out {
            warnings.push(
                "the drive reached the end of its life before the workload ended: the figures are \
                 those of the part before (end_of_life)"
                    .to_owned(),
            );
        }
        if self.unmerged {
            warnings.push(
                "not all log blocks could be merged at the end of the run: too few blocks are left \
                 to merge into"
                    .to_owned(),
            );
        }
        let endurance = self.config.nand.endurance;
        let worn = self
            .backend
            .flash()
            .erases()
            .iter()
            .filter(|&&e| endurance > 0 && e > endurance)
            .count();
        if worn > 0 {
            warnings.push(format!(
                "{worn} blocks were erased more often than the {endurance} times that they endure"
            ));
        }
        warnings
    }
}
