//! What is done to blocks and pages: the patterns of blocks, how often these change, and hits on
//! pages that were used the other way.

use serde::{Deserialize, Serialize};

use super::observer::{
    About, Decision, Drive, Fault, Figure, Hears, Leaving, Moment, Observer, Occasion,
};
use super::{Figures, share};
use crate::buffer::{Answer, Buffer, Evicted};
use crate::pattern::{Access, Pattern};
use crate::support::bits::Bits;
use crate::support::ids::{LogicalBlock, Lpn};

/// What the file says of the metric.
pub const ABOUT: About = About {
    title: "Patterns",
    summary: "how blocks and pages are used while they are buffered",
    always: false,
    needs_time: false,
    left_out: false,
    figures: &[
        Figure {
            key: "co_hit.read",
            below: "",
            what: "of the pages of reads found in the buffer, those that had been written since \
                   they came there",
        },
        Figure {
            key: "co_hit.write",
            below: "",
            what: "of the pages of writes found in the buffer, those that had been read since they \
                   came there",
        },
        Figure {
            key: "patterns",
            below: ".{blocks,counts}",
            what: "blocks that left the buffer, or were read from flash, and how each had been used: \
                   read (R) or written (W), in sequence (S) or at random (R) (SUPA, table 1). The \
                   buffer says so (`supa`), or else more than 4 pages written in a row are \
                   sequential, and a block that is read past the buffer a second time since it was \
                   written is read-intensive. What a flush command or a forced write stores \
                   counts, too, and where pages leave one by one each of them",
        },
        Figure {
            key: "patterns",
            below: ".change_ratio.{sequential_random,read_write}",
            what: "of these, blocks written in the other way than last time, and blocks that \
                   became read- or write-intensive",
        },
    ],
};

/// Where a buffer says nothing of patterns: a write of more pages than this that follow one another
/// is sequential, and a block that has been read so many times since it was written is
/// read-intensive. Kim, Park and Youn 2017 (SUPA), section 4.2.
const THRESHOLDS: (u32, u8) = (4, 2);

/// The two things about a block that can change.
const QUESTIONS: usize = 2;

/// Counts of what is done to blocks and pages.
#[derive(Debug)]
pub struct Patterns {
    pages_per_block: u32,
    /// The buffer's hints say how blocks were used, or at least how they were written.
    reported: bool,
    classified: bool,
    /// Pages that have been read, and written, since they came into the buffer.
    read: Bits,
    written: Bits,
    /// Hits of reads and of writes, and those on pages that had been used the other way.
    hits: [u64; 2],
    co_hits: [u64; 2],
    /// By block, of each question: whether its answer is known, and what it is.
    last: Vec<[Option<bool>; QUESTIONS]>,
    /// By block, reads that bypassed the buffer since it was written.
    reads: Vec<u8>,
    counts: [u64; 8],
    changes: [u64; QUESTIONS],
    /// By block, how its last stay in the buffer was counted.
    stays: Vec<Option<Counted>>,
}

/// What has been counted of a stay in the buffer that may go on.
#[derive(Debug, Clone, Copy)]
struct Counted {
    /// Its pattern, in the order of table 1.
    number: u8,
    /// Answers that it changed, and those before it.
    changed: [bool; QUESTIONS],
    before: [Option<bool>; QUESTIONS],
}

/// How often blocks were used in each way when they came to the FTL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named as the patterns are: Random or Sequential, Write or Read")]
pub struct Counts {
    pub rw: u64,
    pub sw: u64,
    pub rr: u64,
    pub rw_rr: u64,
    pub sw_rr: u64,
    pub sr: u64,
    pub rw_sr: u64,
    pub sw_sr: u64,
}

/// Blocks that came to the FTL otherwise than before / blocks that came.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ChangeRatio {
    /// Between written in sequence and at random.
    pub sequential_random: Option<f64>,
    /// Between read-intensive and write-intensive.
    pub read_write: Option<f64>,
}

/// What the report has of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PatternReport {
    /// Blocks that left the buffer, and blocks whose reads bypassed it.
    pub blocks: u64,
    /// These by pattern.
    pub counts: Counts,
    /// How often the pattern of a block was another than before.
    pub change_ratio: ChangeRatio,
}

/// Share of the hits that fell on pages which had been used the other way since they came into the
/// buffer.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CoHit {
    /// Of read hits: on written pages.
    pub read: Option<f64>,
    /// Of write hits: on pages that were read.
    pub write: Option<f64>,
}

impl Patterns {
    /// Of a drive that no request has reached.
    pub fn new(drive: &Drive) -> Self {
        let Drive { logical_pages, pages_per_block, .. } = *drive;
        let blocks = logical_pages.div_ceil(pages_per_block);
        Self {
            pages_per_block,
            reported: drive.reports_patterns,
            classified: drive.classifies_writes,
            read: Bits::new(logical_pages as usize),
            written: Bits::new(logical_pages as usize),
            hits: [0; 2],
            co_hits: [0; 2],
            last: vec![[None; QUESTIONS]; blocks as usize],
            reads: vec![0; blocks as usize],
            counts: [0; 8],
            changes: [0; QUESTIONS],
            stays: vec![None; blocks as usize],
        }
    }

    /// What the buffer answered to a part of a request within a block. If it does not tell
    /// patterns, pages that it does not hold are a use of the block.
    fn request(&mut self, first: Lpn, write: bool, answers: &[Answer]) {
        let kind = usize::from(write);
        let (mut run, mut longest) = (0, 0);
        for (lpn, answer) in (first.index()..).zip(answers) {
            let (own, other) = if write {
                (&mut self.written, &mut self.read)
            } else {
                (&mut self.read, &mut self.written)
            };
            if *answer == Answer::Hit {
                self.hits[kind] += 1;
                self.co_hits[kind] += u64::from(other.get(lpn));
                run = 0;
            } else {
                // It was not there: what was done to it before does not count.
                other.clear(lpn);
                run += 1;
                longest = longest.max(run);
            }
            if *answer == Answer::Bypass {
                own.clear(lpn);
            } else {
                own.set(lpn);
            }
        }
        if longest > 0 && !write && !self.reported {
            let block = first.block(self.pages_per_block);
            let reads = &mut self.reads[block.index()];
            *reads = reads.saturating_add(1);
            let read = if *reads >= THRESHOLDS.1 { Access::Sequential } else { Access::Random };
            self.note(block, Pattern::new(Access::Never, read));
        }
        if longest > 0 && write && answers.contains(&Answer::Bypass) {
            self.note(
                first.block(self.pages_per_block),
                Pattern::of_runs(longest, 0, THRESHOLDS.0),
            );
        }
    }

    /// Pages leave the buffer, which does not say what was done to their blocks.
    fn leave(&mut self, pages: &[Evicted]) {
        let ppb = self.pages_per_block;
        for block in pages.chunk_by(|one, next| one.lpn.block(ppb) == next.lpn.block(ppb)) {
            // Clean pages that leave along with them were not written.
            let follows =
                |one: &Evicted, next: &Evicted| one.lpn + 1 == next.lpn && one.dirty == next.dirty;
            let written = block.chunk_by(follows).filter(|run| run[0].dirty);
            let Some(longest) = written.map(<[Evicted]>::len).max() else { continue };
            self.note(block[0].lpn.block(ppb), Pattern::of_runs(longest as u32, 0, THRESHOLDS.0));
        }
    }

    /// A block comes to the FTL from the buffer, which says that it was used so; `again` if that
    /// stands in the place of what it said of the same stay before.
    fn note_stay(&mut self, block: LogicalBlock, pattern: Pattern, again: bool) {
        let stay = self.stays[block.index()].take();
        if let Some(Counted { number, changed, before }) = stay.filter(|_| again) {
            self.counts[usize::from(number)] -= 1;
            self.last[block.index()] = before;
            for (changes, changed) in self.changes.iter_mut().zip(changed) {
                *changes -= u64::from(changed);
            }
        }
        self.stays[block.index()] = self.note(block, pattern);
    }

    /// A block comes to the FTL, used so.
    fn note(&mut self, block: LogicalBlock, pattern: Pattern) -> Option<Counted> {
        let number = Pattern::ALL.iter().position(|known| *known == pattern)?;
        self.counts[number] += 1;
        let mut counted = Counted {
            number: number as u8,
            changed: [false; QUESTIONS],
            before: self.last[block.index()],
        };
        let sequential =
            (pattern.write != Access::Never).then_some(pattern.write == Access::Sequential);
        let read = pattern.is_read_intensive();
        // A few pages that were read make it neither.
        let intensive = (read || pattern.write != Access::Never).then_some(read);
        if pattern.write != Access::Never {
            self.reads[block.index()] = 0;
        }
        let last = &mut self.last[block.index()];
        for (question, answer) in [sequential, intensive].into_iter().enumerate() {
            let Some(answer) = answer else { continue };
            let before = last[question].replace(answer);
            counted.changed[question] = before.is_some_and(|before| before != answer);
            self.changes[question] += u64::from(counted.changed[question]);
        }
        Some(counted)
    }

    /// What the report has of blocks.
    fn pattern_report(&self) -> PatternReport {
        let [rw, sw, rr, rw_rr, sw_rr, sr, rw_sr, sw_sr] = self.counts;
        let blocks = self.counts.iter().sum();
        let [sequential_random, read_write] = self.changes.map(|changes| share(changes, blocks));
        PatternReport {
            blocks,
            counts: Counts { rw, sw, rr, rw_rr, sw_rr, sr, rw_sr, sw_sr },
            change_ratio: ChangeRatio { sequential_random, read_write },
        }
    }

    /// What the report has of pages.
    fn co_hit(&self) -> CoHit {
        let [read, write] = [0, 1].map(|kind| share(self.co_hits[kind], self.hits[kind]));
        CoHit { read, write }
    }
}

impl Observer for Patterns {
    fn on_access(&mut self, decision: &Decision<'_>, _: &dyn Buffer) -> Result<Hears, Fault> {
        if let Occasion::Access { first, write, .. } = decision.occasion {
            self.request(first, write, &decision.outcome.answers);
        }
        Ok(Hears::Yes)
    }

    fn on_evict(&mut self, leaving: &Leaving<'_>) -> Hears {
        match leaving.eviction.hint.filter(|_| self.classified) {
            Some(hint) => self.note_stay(hint.block, hint.pattern, hint.again),
            None if leaving.clean => {}
            None => self.leave(leaving.pages),
        }
        Hears::Yes
    }

    fn measures_from_here(&mut self, _: &Drive) -> bool {
        (self.hits, self.co_hits) = ([0; 2], [0; 2]);
        (self.counts, self.changes) = ([0; 8], [0; QUESTIONS]);
        // What was counted of a stay that goes on counts no more.
        self.stays.fill(None);
        true
    }

    fn report(&self, _: &Moment<'_>, figures: &mut Figures) {
        let CoHit { read, write } = self.co_hit();
        figures.set("co_hit.read", read);
        figures.set("co_hit.write", write);
        figures.set("patterns", self.pattern_report());
    }
}
