//! Which operations requests are made of, and when they are answered.

use eraseblock_core::host::{Op, Request};

use super::{Chips, Job, Run};

impl Chips<'_> {
    /// The operation of the page before, if this one comes right behind it; else a new one.
    pub fn operation_of(&self, request: usize, unit: usize, position: u32) -> usize {
        match self.jobs.last() {
            Some(job)
                if self.array.mapped == 1
                    && job.is_read
                    && self.last == Some((request, unit, position)) =>
            {
                job.operation
            }
            last => last.map_or(0, |job| job.operation + 1),
        }
    }

    pub fn issue(&mut self, n: usize, request: &Request) {
        if request.op == Op::Flush {
            self.flushes.push((n, self.unstored.clone()));
            self.end_flushes();
            return;
        }
        let a = self.array;
        let (first, count) = ((request.offset / 4096) as u32, (request.len / 4096) as u32);
        let across = a.mapped * if a.multi_plane { a.planes } else { 1 };
        let unit_pages = a.pages_per_block * across;
        let (is_read, step) = match request.op {
            Op::Read => (true, 1),
            _ => (false, a.program_pages()),
        };
        let end = first + count;
        let mut next = first;
        while next < end {
            let lpn = next;
            // One read fetches what the request wants of a flash page.
            let step = if is_read { (a.mapped - lpn % a.mapped).min(end - lpn) } else { step };
            next += step;
            let stripe = lpn / a.program_pages();
            let [channel, chip, die, plane] = a.place(stripe % a.units());
            let unit = (stripe % a.units()) as usize;
            let position = if is_read {
                stripe / a.units() * a.program_pages() + lpn % a.program_pages()
            } else {
                self.written[unit] += step;
                self.written[unit] - step
            };
            let page = position % unit_pages / across;
            let times = if is_read { &a.read } else { &a.program };
            let die = ((channel * a.chips + chip) * a.dies + die) as usize;
            self.jobs.push(Job {
                is_read,
                plane,
                block: position / unit_pages,
                page,
                pages: step.into(),
                array: times[a.page_type(page)],
                request: n,
                operation: self.operation_of(n, unit, position),
            });
            self.last = Some((n, unit, position + step));
            self.open[n] += 1;
            if !is_read {
                self.unstored.insert(self.jobs.len() - 1);
            }
            self.dies[die].waiting.push(self.jobs.len() - 1);
            self.wake(die);
        }
    }

    pub fn end(&mut self, run: &Run) {
        run.jobs.iter().for_each(|&job| self.end_job(job));
    }

    pub fn end_job(&mut self, job: usize) {
        let request = self.jobs[job].request;
        self.open[request] -= 1;
        if self.open[request] == 0 {
            self.answers.push((request, self.now));
        }
        self.unstored.remove(&job);
        self.flushes.iter_mut().for_each(|flush| _ = flush.1.remove(&job));
        self.end_flushes();
    }

    /// A flush is answered when all is stored that was under way when it came.
    pub fn end_flushes(&mut self) {
        let ended = self.flushes.extract_if(.., |flush| flush.1.is_empty());
        self.answers.extend(ended.map(|(request, _)| (request, self.now)));
    }
}
