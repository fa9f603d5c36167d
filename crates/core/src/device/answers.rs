//! Verification, as far as it looks at what the buffer decides: a buffer that claims to hold a page
//! must hold it, and must not lose a dirty one.

use crate::buffer::{Action, Answer, Buffer, Evicted, Eviction, Outcome};
use crate::metrics::observer::{Decision, Fault, Hears, Observer, Occasion};
use crate::support::ids::Lpn;

/// Compares each answer with what the buffer then holds.
#[derive(Debug)]
pub(super) struct Answers {
    /// Pages that the buffer may hold.
    pub capacity: u32,
}

impl Observer for Answers {
    fn on_access(&mut self, decision: &Decision<'_>, buffer: &dyn Buffer) -> Result<Hears, Fault> {
        let Occasion::Access { first, count, .. } = decision.occasion else {
            return Ok(Hears::Yes);
        };
        let out = decision.outcome;
        let right = out.answers.len() == count as usize
            && first
                .onwards()
                .zip(&out.answers)
                .all(|(lpn, answer)| is_right(lpn, *answer, out, buffer))
            && !out.evictions.iter().any(|eviction| lost(eviction, out).is_some())
            && buffer.len() <= self.capacity
            && buffer.check().is_ok();
        if right { Ok(Hears::Yes) } else { Err(self.fault(first, count, out, buffer)) }
    }
}

/// Asks a buffer that is in no registry after each decision whether it can go on.
#[derive(Debug)]
pub(super) struct Brought;

impl Observer for Brought {
    fn on_access(&mut self, _: &Decision<'_>, buffer: &dyn Buffer) -> Result<Hears, Fault> {
        buffer.check().map(|()| Hears::Yes).map_err(Fault::Observer)
    }
}

/// Whether an answer says of a page what the buffer then does.
#[inline]
fn is_right(lpn: Lpn, answer: Answer, out: &Outcome, buffer: &dyn Buffer) -> bool {
    match answer {
        Answer::Bypass => !buffer.holds(lpn),
        Answer::Hit | Answer::Insert | Answer::Fill => {
            buffer.holds(lpn) || out.pages.iter().any(|page| page.lpn == lpn)
        }
    }
}

/// A page that the buffer forgets, though flash has an older one.
#[inline]
fn lost<'o>(eviction: &Eviction, out: &'o Outcome) -> Option<&'o Evicted> {
    let drops = eviction.action == Action::Drop;
    if drops { out.pages_of(eviction).iter().find(|page| page.dirty) } else { None }
}

impl Answers {
    /// What is wrong with a decision.
    #[cold]
    fn fault(&self, first: Lpn, count: u32, out: &Outcome, buffer: &dyn Buffer) -> Fault {
        let (held, most) = (buffer.len(), self.capacity);
        let mut answers = first.onwards().zip(&out.answers);
        let wrong = answers.find(|&(lpn, answer)| !is_right(lpn, *answer, out, buffer));
        let dirty = out.evictions.iter().find_map(|eviction| lost(eviction, out));
        let why = if out.answers.len() != count as usize {
            format!("it gives {} answers for {count} pages", out.answers.len())
        } else if let Some((lpn, answer)) = wrong {
            let holds = if *answer == Answer::Bypass { "holds" } else { "does not hold" };
            format!("it answers {answer:?} for page {lpn}, which it {holds}")
        } else if let Some(page) = dirty {
            format!("it drops page {}, which is dirty", page.lpn)
        } else if held > most {
            format!("it holds {held} pages, more than its {most}")
        } else {
            buffer.check().err().unwrap_or_default()
        };
        Fault::Wrong(format!("buffer: {why} ({count} pages from {first})"))
    }
}
