//! Verification, as far as it looks at what the buffer decides: a buffer that claims to hold a page
//! must hold it, and must not lose a dirty one.

use crate::buffer::{Action, Answer, Buffer, Evicted, Outcome};
use crate::metrics::observer::{Decision, Fault, Hears, Observer, Occasion};

/// Compares each answer with what the buffer then holds.
#[derive(Debug)]
pub(super) struct Answers {
    /// Pages that the buffer may hold.
    pub capacity: u32,
}

impl Observer for Answers {
    fn on_access(&mut self, decision: &Decision<'_>, buffer: &dyn Buffer) -> Result<Hears, Fault> {
        let Occasion::Access { first, count, write, .. } = decision.occasion else {
            return Ok(Hears::Yes);
        };
        let out = decision.outcome;
        let is_wrong = out.answers.len() != count as usize
            || (first..).zip(&out.answers).any(|(lpn, answer)| is_wrong(lpn, *answer, out, buffer))
            || dropped(out).any(|page| page.dirty)
            || buffer.len() > self.capacity;
        match buffer.check() {
            Ok(()) if !is_wrong => Ok(Hears::Yes),
            checked => {
                let fault = self.fault(first, count, out, buffer).or(checked.err());
                let (fault, kind) =
                    (fault.unwrap_or_default(), if write { "write" } else { "read" });
                Err(Fault::Wrong(format!("buffer: {fault} ({kind} of {count} from page {first})")))
            }
        }
    }
}

/// Whether an answer says something else of a page than the buffer then does.
fn is_wrong(lpn: u32, answer: Answer, out: &Outcome, buffer: &dyn Buffer) -> bool {
    let left = || out.pages.iter().any(|page| page.lpn == lpn);
    match answer {
        Answer::Bypass => buffer.holds(lpn),
        Answer::Hit | Answer::Insert | Answer::Fill => !buffer.holds(lpn) && !left(),
    }
}

/// Pages that the buffer forgets.
fn dropped(out: &Outcome) -> impl Iterator<Item = &Evicted> {
    let drops = out.evictions.iter().filter(|eviction| eviction.action == Action::Drop);
    drops.flat_map(|eviction| out.pages_of(eviction))
}

impl Answers {
    /// What is wrong with a decision.
    #[cold]
    fn fault(&self, first: u32, count: u32, out: &Outcome, buffer: &dyn Buffer) -> Option<String> {
        if out.answers.len() != count as usize {
            return Some(format!("it gives {} answers for {count} pages", out.answers.len()));
        }
        let wrong = (first..)
            .zip(&out.answers)
            .find(|&(lpn, answer)| is_wrong(lpn, *answer, out, buffer))
            .map(|(lpn, answer)| {
                let holds = if *answer == Answer::Bypass { "holds" } else { "does not hold" };
                format!("it answers {answer:?} for page {lpn}, which it {holds}")
            });
        let lost = || dropped(out).find(|page| page.dirty);
        let lost = || lost().map(|page| format!("it drops page {}, which is dirty", page.lpn));
        let (held, most) = (buffer.len(), self.capacity);
        let over = || (held > most).then(|| format!("it holds {held} pages, more than its {most}"));
        wrong.or_else(lost).or_else(over)
    }
}
