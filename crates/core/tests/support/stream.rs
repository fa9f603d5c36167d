//! Random calls of a buffer, and a model of what is in RAM that carries out its decisions and
//! objects to impossible ones.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Answer, Buffer, Foreseen, Idle, Outcome, Shape, Span};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

/// A call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Access(Span),
    Trim(Lpn, u32),
    Flush,
    /// Forced unit access of pages that have just been written.
    Force(Lpn, u32),
}

/// Random steps over a drive, half of them on its first quarter.
pub fn random(random: &mut Pcg64Mcg, shape: Shape, steps: usize) -> Vec<Step> {
    let mut all = Vec::new();
    for request in 0..steps as u64 {
        let hot = random.random::<bool>();
        let pages = if hot { shape.logical_pages.div_ceil(4) } else { shape.logical_pages };
        let first = Lpn(random.random_range(0..pages));
        let room = shape.pages_per_block - first.offset(shape.pages_per_block);
        let count = if random.random() { 1 } else { random.random_range(1..=room) };
        match random.random_range(0..40) {
            0 => all.push(Step::Flush),
            1 => all.push(Step::Trim(
                first,
                random.random_range(1..=shape.logical_pages - first.0).min(9),
            )),
            kind => {
                let write = kind % 3 > 0;
                all.push(Step::Access(Span { first, count, write, request }));
                if kind == 2 {
                    all.push(Step::Force(first, count));
                }
            }
        }
    }
    all
}

/// Tells a buffer that needs the future the steps that it will see.
pub fn tell(buffer: &mut dyn Buffer, steps: &[Step]) {
    if buffer.needs_future() {
        for step in steps {
            let foreseen = match *step {
                Step::Access(span) => Foreseen::Access(span),
                Step::Trim(first, count) => Foreseen::Trim(first, count),
                Step::Flush => Foreseen::Flush,
                Step::Force(..) => continue,
            };
            buffer.foresee(foreseen).unwrap();
        }
        buffer.foresee(Foreseen::End).unwrap();
    }
}

/// Makes a call.
pub fn call(buffer: &mut dyn Buffer, step: Step, out: &mut Outcome) {
    out.clear();
    match step {
        Step::Access(span) => buffer.access(&span, &Idle, out),
        Step::Trim(first, count) => buffer.trim(first, count),
        Step::Flush => buffer.flush(out),
        Step::Force(first, count) => buffer.flush_pages(first, count, out),
    }
}

/// Pages in RAM, and whether each is dirty, as the answers and evictions say.
#[derive(Debug, Default)]
pub struct Ram {
    pages: BTreeMap<Lpn, bool>,
    /// Page accesses that were hits.
    pub hits: u64,
    /// Pages written to flash, without padding.
    pub written: u64,
}

impl Ram {
    /// Carries out what a buffer decided on a step. The pages that were written, in order.
    pub fn follow(&mut self, shape: Shape, step: Step, out: &Outcome) -> Result<Vec<Lpn>, String> {
        let mut written = Vec::new();
        let mut left = 0;
        if let Step::Access(span) = step {
            if out.answers.len() != span.count as usize {
                return Err(format!("{} answers for {span:?}", out.answers.len()));
            }
            for (i, answer) in out.answers.iter().enumerate() {
                left = self.leave_before(shape, i as u32, left, out, &mut written)?;
                self.answer(span.first + i as u32, span.write, *answer, &mut written)?;
                if self.pages.len() > shape.capacity as usize {
                    return Err(format!(
                        "{} pages are held after page {i} of {span:?}",
                        self.pages.len()
                    ));
                }
            }
        }
        self.leave_before(shape, u32::MAX, left, out, &mut written)?;
        if let Step::Trim(first, count) = step {
            self.pages.retain(|page, _| !(first..first + count).contains(page));
        }
        self.written += written.len() as u64;
        Ok(written)
    }

    fn answer(
        &mut self,
        lpn: Lpn,
        write: bool,
        answer: Answer,
        written: &mut Vec<Lpn>,
    ) -> Result<(), String> {
        let held = self.pages.get(&lpn).copied();
        let fits = match answer {
            Answer::Hit => held.is_some(),
            Answer::Insert => held.is_none() && write,
            Answer::Fill => held.is_none() && !write,
            Answer::Bypass => held.is_none(),
        };
        if !fits {
            return Err(format!(
                "{answer:?} for page {lpn} (write: {write}), held before: {held:?}"
            ));
        }
        self.hits += u64::from(answer == Answer::Hit);
        if answer != Answer::Bypass {
            self.pages.insert(lpn, write || held == Some(true));
        } else if write {
            written.push(lpn);
        }
        Ok(())
    }

    /// Carries out the evictions from number `from` on that come before page `before` of the span.
    fn leave_before(
        &mut self,
        shape: Shape,
        before: u32,
        from: usize,
        out: &Outcome,
        written: &mut Vec<Lpn>,
    ) -> Result<usize, String> {
        let due = out.evictions[from..].iter().take_while(|e| e.before <= before);
        let mut count = from;
        for eviction in due {
            count += 1;
            let pages = out.pages_of(eviction);
            let block = pages[0].lpn.block(shape.pages_per_block);
            if eviction.action.pads()
                && !(pages.is_sorted_by_key(|page| page.lpn)
                    && pages.iter().all(|page| page.lpn.block(shape.pages_per_block) == block))
            {
                return Err(format!("padded pages are not those of one block in order: {pages:?}"));
            }
            for page in pages {
                let held = self.pages.remove(&page.lpn);
                let legal = held == Some(page.dirty)
                    && match eviction.action {
                        Action::Drop => !page.dirty,
                        Action::WriteBack => page.dirty,
                        Action::Evict | Action::EvictPadded | Action::EvictCompleted => true,
                    };
                if !legal {
                    return Err(format!("{eviction:?} of {page:?}, which was held: {held:?}"));
                }
                if eviction.action == Action::WriteBack {
                    self.pages.insert(page.lpn, false);
                }
                if eviction.action != Action::Drop {
                    written.push(page.lpn);
                }
            }
        }
        Ok(count)
    }

    /// Dirty pages among `first..first + count`.
    pub fn dirty(&self, first: Lpn, count: u32) -> Vec<Lpn> {
        self.pages
            .range(first..first + count)
            .filter(|(_, dirty)| **dirty)
            .map(|(page, _)| *page)
            .collect()
    }

    /// How many pages are dirty.
    pub fn dirty_count(&self) -> usize {
        self.pages.values().filter(|dirty| **dirty).count()
    }

    /// Compares the model with what the buffer says of itself.
    pub fn compare(&self, shape: Shape, buffer: &dyn Buffer) -> Result<(), String> {
        buffer.check()?;
        let mut held = self.pages.keys().copied().peekable();
        let wrong = Lpn(0)
            .run(shape.logical_pages)
            .find(|page| buffer.holds(*page) != held.next_if_eq(page).is_some());
        if let Some(page) = wrong {
            return Err(format!("page {page}: it says that it holds it: {}", buffer.holds(page)));
        }
        if buffer.len() as usize != self.pages.len() || buffer.is_empty() != self.pages.is_empty() {
            return Err(format!(
                "it says that it holds {} pages, not {}",
                buffer.len(),
                self.pages.len()
            ));
        }
        Ok(())
    }
}
