//! The end of a run: everything under way ends, the accounts are checked, the figures are written
//! down.

use super::{Cx, Device, DeviceError, NOBODY, Occasion, cx};
use crate::buffer::Outcome;
use crate::config::{EndOfRun, Precondition, Replay};
use crate::metrics::observer::Moment;
use crate::metrics::report::{
    ByKind, EndOfLife, EndOfRun as EndOfRunFigures, Flash, FlashWork, HostPages, Merges,
    MultiPlane, Report, Requests, Suspensions, Throughput,
};
use crate::metrics::{Counters, Latency, Wear};
use crate::nand::Shadow;
use crate::support::tournament::NEVER;

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Device {
    /// Folds all log blocks, at once.
    pub(super) fn merge_all(&mut self) {
        let advice = self.mapping.advice_mut();
        self.unmerged = !advice.is_none_or(|advice| advice.merge_all(&mut cx!(self, plan, NOBODY)));
        self.issue();
    }

    /// Lets everything under way end.
    pub(super) fn drain(&mut self) -> Result<(), DeviceError> {
        while self.worn_out && self.next_time() != NEVER {
            self.advance()?;
        }
        if self.worn_out {
            // What is not answered never will be.
            return Ok(());
        }
        loop {
            while self.requests.under_way() > 0
                || self.next_time() != NEVER
                || !self.parked.is_empty()
            {
                self.advance()?;
            }
            // Erases may wait for pages in program units that are not full.
            if self.engine.under_way() == 0 || !self.complete_units() {
                return Ok(());
            }
        }
    }

    /// Ends the run and reports.
    ///
    /// # Errors
    /// The simulation has found itself wrong.
    pub fn finish(&mut self) -> Result<Report, DeviceError> {
        let (end, paper_bytes) = self.conclude()?;
        Ok(self.report(end, paper_bytes))
    }

    /// Ends the run and checks its accounts, without the work of a report.
    ///
    /// # Errors
    /// The simulation has found itself wrong.
    pub fn end(&mut self) -> Result<(), DeviceError> {
        self.conclude().map(|_| ())
    }

    fn conclude(&mut self) -> Result<(EndOfRunFigures, Option<u64>), DeviceError> {
        if self.failed {
            return Err(DeviceError::Failed);
        }
        self.collection.bears_fruit();
        match self.drain() {
            // As in the middle of a run, that is a result.
            Err(DeviceError::EndOfLife { .. }) => self.drain()?,
            drained => drained?,
        }
        self.observers.on_end(&Moment {
            now: self.requests.last_answer(),
            counters: &self.counters,
            responses: self.requests.responses(),
        });
        let paper_bytes = self.buffer.paper_bytes();
        let end = self.end_of_run()?;
        self.check_faults()?;
        self.check_laws().map_err(|fault| {
            self.failed = true;
            DeviceError::Law(fault)
        })?;
        self.check_stored()?;
        Ok((end, paper_bytes))
    }

    /// What the configuration asks for after the last request.
    fn end_of_run(&mut self) -> Result<EndOfRunFigures, DeviceError> {
        let (before, started) = (self.counters.clone(), self.engine.now());
        if self.config.host.end_of_run == EndOfRun::Keep || self.worn_out {
            self.notify(|| Occasion::End, &Outcome::default())?;
        } else {
            (self.parked_before, self.serving) = (0, None);
            let emptied = self.empty_buffer(Occasion::End).and_then(|()| self.place_all());
            let stored = emptied.and_then(|()| self.make_durable(NOBODY));
            match stored.and_then(|()| self.place_all()) {
                Ok(()) | Err(DeviceError::EndOfLife { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if self.config.host.end_of_run == EndOfRun::Merge && !self.worn_out {
            self.merge_all();
        }
        self.drain()?;
        let erases = |c: &Counters| Counters::total(&c.erases);
        Ok(EndOfRunFigures {
            flushed_pages: self.counters.flushed_pages - before.flushed_pages,
            programs: self.counters.programmed - before.programmed,
            erases: erases(&self.counters) - erases(&before),
            seconds: self.timed.then(|| (self.engine.now() - started) as f64 / 1e9),
        })
    }

    /// What must hold at the end of every run.
    fn check_laws(&self) -> Result<(), String> {
        let c = &self.counters;
        let law = |name: &str, left: u64, right: u64| {
            if left == right {
                Ok(())
            } else {
                Err(format!("{name}: {left} on one side, {right} on the other"))
            }
        };
        if self.worn_out {
            // Without time there is never more than one under way, and none where the end came
            // after the last request.
            let given_up = if self.timed {
                u64::from(self.requests.under_way())
            } else {
                u64::from(c.completed < c.submitted)
            };
            law("requests submitted = answered + given up", c.submitted, c.completed + given_up)?;
        } else {
            law("requests submitted = requests answered", c.submitted, c.completed)?;
        }
        law(
            "requests submitted = reads + writes + trims + flushes",
            c.submitted,
            c.by_op.iter().sum(),
        )?;
        law("pages programmed = sum over causes", c.programmed, Counters::total(&c.programs))?;
        law(
            "blocks erased = sum over causes",
            self.flash.erases().iter().map(|&e| u64::from(e)).sum::<u64>() - self.erased_before,
            Counters::total(&c.erases),
        )?;
        if self.worn_out {
            // The request that found no room was left half done.
            return self.mapping.check(&self.flash);
        }
        law(
            "pages written = hits + taken in + bypassing the buffer",
            c.pages_written,
            c.write_hits + c.inserted_writes + c.bypassed_writes,
        )?;
        if self.geometry.program_pages == 1 {
            law(
                "host pages programmed = flushed + bypassing the buffer",
                c.programs[0],
                c.flushed_pages + c.bypassed_writes,
            )?;
        }
        if self.timed {
            // Little's law, exactly: requests under way summed over time = their times from
            // admission to answer.
            let (area, times) = self.requests.littles_law();
            if area != times {
                return Err(format!(
                    "requests under way over time add up to {area} ns, their times to {times} ns"
                ));
            }
            let answered: u64 = self.requests.responses().iter().map(Latency::count).sum();
            law("answers = response times", c.completed, answered)?;
            law("slots taken = slots freed", self.counters.slots_taken, self.engine.freed_slots())?;
            self.engine.check_idle(&self.flash)?;
        }
        self.buffer.check()?;
        // Redundant state is compared page by page where that costs less than the run did, or was
        // asked for.
        if self.engine.shadow().is_some() || u64::from(self.geometry.pages()) <= c.flash_ops() / 16
        {
            self.mapping.check(&self.flash)?;
        }
        Ok(())
    }

    /// Every page that the buffer does not hold lies in flash as the host wrote it last.
    fn check_stored(&mut self) -> Result<(), DeviceError> {
        let Some(stored) = self.engine.stored().filter(|_| !self.worn_out) else { return Ok(()) };
        let (media, Some(shadow)) = (&stored.media, &stored.shadow) else { return Ok(()) };
        for lpn in 0..self.logical_pages {
            if self.buffer.holds(lpn) || shadow.is_blank(lpn) {
                continue;
            }
            let found = self.mapping.lookup(lpn).filter(|&ppn| !self.in_open_unit(ppn));
            if self.mapping.lookup(lpn).is_some() && found.is_none() {
                continue;
            }
            let stored = found.and_then(|ppn| media.oob(ppn));
            if stored.is_none_or(|oob| oob.lpn != lpn || oob.version != shadow.version(lpn)) {
                return Err(DeviceError::Verify(format!(
                    "at the end of the run logical page {lpn} should be version {} in flash, at {found:?} there is {stored:?}",
                    shadow.version(lpn)
                )));
            }
        }
        Ok(())
    }

    /// Whether a page waits in a program unit that is not full.
    pub(super) fn in_open_unit(&self, ppn: u32) -> bool {
        let ppb = self.geometry.pages_per_block;
        self.geometry.program_pages > 1 && ppn % ppb >= self.flash.write_ptr(ppn / ppb)
    }

    fn report(&self, end_of_run: EndOfRunFigures, paper_bytes: Option<u64>) -> Report {
        let c = &self.counters;
        let mut all = Latency::default();
        self.requests.responses().iter().for_each(|l| all.add(l));
        let run_ns = self.requests.run_ns();
        let seconds = (self.timed && run_ns > 0).then_some(run_ns as f64 / 1e9);
        let energy = &self.config.nand.energy;
        let erases = Counters::total(&c.erases);
        let reasons = self.reasons(run_ns);
        let special = self.engine.special();
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
            trusted: reasons.is_empty(),
            reasons,
            warnings: self.warnings(),
            offline: self.offline,
            response_ns: ByKind {
                all: all.summary(),
                read: self.requests.responses()[0].summary(),
                write: self.requests.responses()[1].summary(),
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
            wear: Wear::new(self.flash.erases(), &self.geometry),
            end_of_life: self.worn_out.then(|| EndOfLife {
                host_bytes: self.taken_pages * self.geometry.page_bytes,
                unanswered: c.submitted - c.completed,
            }),
            energy_mj: c.array_reads as f64 * energy.read_mj
                + c.program_ops as f64 * energy.program_mj
                + erases as f64 * energy.erase_mj,
            buffer_metadata_bytes: self.buffer.metadata_bytes() as u64,
            buffer_paper_bytes: paper_bytes,
            map_bytes: self.mapping.bytes() as u64,
            bytes_per_page: self.state_bytes() as f64 / f64::from(self.geometry.pages()),
            precondition: self.preconditioning.clone(),
            end_of_run,
            verified_reads: self.engine.shadow().map(Shadow::checked_reads),
            flash_ops: c.flash_ops(),
            figures: self.observers.figures(&self.moment(self.engine.now())),
        }
    }

    /// Why the figures do not mean what they say.
    fn reasons(&self, run_ns: u64) -> Vec<String> {
        let mut reasons = Vec::new();
        // Only arrivals that do not wait for the drive can leave it behind: in a closed loop each
        // waits for an answer.
        let paced = self.timed && self.config.host.replay == Replay::Open;
        let behind_ns = self.requests.last_answer().saturating_sub(self.requests.last_arrival());
        if paced && let Some(mean) = self.requests.backlog().grew(run_ns) {
            reasons.push(format!(
                "the backlog kept growing: in the last quarter of the run requests took {:.3} s on average, so response times depend on \
                 its length; slow the workload down (host.speedup below 1) or replay it closed-loop (host.replay = \"closed\")",
                mean as f64 / 1e9
            ));
        } else if paced && self.requests.backlog().has_enough_samples() && behind_ns > run_ns / 16 {
            reasons.push(format!(
                "the drive did not keep up: it was {:.3} s behind when the last request arrived, in a run of {:.3} s, so response times \
                 depend on the length of the run; slow the workload down (host.speedup below 1) or replay it closed-loop \
                 (host.replay = \"closed\")",
                behind_ns as f64 / 1e9,
                run_ns as f64 / 1e9
            ));
        } else if paced
            && let Some(burst) = self.requests.backlog().burst(
                self.config.host.max_outstanding,
                self.requests.responses().iter().map(Latency::sum).sum(),
            )
        {
            reasons.push(format!(
                "the drive was behind for {:.0} % of the run: one request in ten waited {:.3} s or longer for its turn, so response \
                 times tell of the burst; slow the workload down (host.speedup below 1) or replay it closed-loop \
                 (host.replay = \"closed\")",
                burst.behind as f64 / run_ns.max(1) as f64 * 100.0,
                burst.wait as f64 / 1e9
            ));
        }
        if self.config.precondition.state == Precondition::Steady && !self.preconditioning.settled {
            reasons.push(format!(
                "the drive never reached a steady state: after {} drive writes write amplification still moved by more than {}; \
                 raise precondition.max_drive_writes",
                self.preconditioning.drive_writes, self.config.precondition.tolerance
            ));
        }
        reasons
    }

    /// What a reader should know before drawing conclusions.
    fn warnings(&self) -> Vec<String> {
        let c = &self.counters;
        let mut warnings = Vec::new();
        if c.submitted == 0 {
            warnings.push("the workload holds no requests".to_owned());
        }
        if c.pages_written > 0 && Counters::total(&c.erases) == 0 {
            warnings.push(
                "no block was erased: garbage collection and merges never ran, so the figures say nothing of their cost; \
                 use a longer workload or a fuller drive (precondition.state)"
                    .to_owned(),
            );
        }
        if self.config.precondition.state == Precondition::Empty
            && c.pages_written < u64::from(self.logical_pages)
        {
            warnings.push("the drive started empty and was never filled; a used drive is slower (precondition.state = \"full\")".to_owned());
        }
        let peak = self.peak_pages;
        // One that divides its RAM may have to make room in one part while there is some in
        // another.
        if peak > 0 && peak < self.capacity && !self.made_room {
            warnings.push(format!(
                "the buffer never filled ({peak} of {} pages at most): all schemes look alike; use a smaller buffer or a longer workload",
                self.capacity
            ));
        }
        if !self.timed {
            warnings.push(
                "untimed run: no time has an effect (nand.timing), and schemes that look at the state of the flash saw every unit idle"
                    .to_owned(),
            );
        }
        if self.worn_out {
            warnings.push(
                "the drive reached the end of its life before the workload ended: the figures are those of the part before \
                 (end_of_life)"
                    .to_owned(),
            );
        }
        if self.unmerged {
            warnings.push(
                "not all log blocks could be merged at the end of the run: too few blocks are left to merge into"
                    .to_owned(),
            );
        }
        let endurance = self.config.nand.endurance;
        let worn = self.flash.erases().iter().filter(|&&e| endurance > 0 && e > endurance).count();
        if worn > 0 {
            warnings.push(format!(
                "{worn} blocks were erased more often than the {endurance} times that they endure"
            ));
        }
        warnings
    }
}
