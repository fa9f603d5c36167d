//! Verification, as far as it looks at what the buffer decides: a buffer that claims to hold a page
//! must hold it, and must not lose a dirty one.

use crate::buffer::{Action, Answer, Buffer, Outcome};
use crate::metrics::observer::{Decision, Fault, Hears, Observer, Occasion};

/// Compares each answer with what the buffer then holds.
#[derive(Debug)]
pub(super) struct Answers {
    /// Pages that the buffer may hold.
    pub capacity: u32,
}

impl Observer for Answers {
    fn on_access(&mut self, decision: &Decision<'_>, buffer: &dyn Buffer) -> Result<Hears, Fault> {
        if let Occasion::Access { first, count, write, .. } = decision.occasion
            && let Some(fault) = self.fault(first, count, decision.outcome, buffer)
        {
            let what = if write { "write" } else { "read" };
            return Err(Fault::Wrong(format!("buffer: {fault} ({what} of {count} from {first})")));
        }
        Ok(Hears::Yes)
    }
}

impl Answers {
    fn fault(&self, first: u32, count: u32, out: &Outcome, buffer: &dyn Buffer) -> Option<String> {
        let wrong = if out.answers.len() == count as usize {
            let held = |lpn| buffer.holds(lpn);
            let left = |lpn| out.pages.iter().any(|page| page.lpn == lpn);
            (first..).zip(&out.answers).find_map(|(lpn, answer)| match answer {
                Answer::Bypass if held(lpn) => {
                    Some(format!("it answers Bypass for page {lpn}, which it holds"))
                }
                Answer::Hit | Answer::Insert | Answer::Fill if !held(lpn) && !left(lpn) => {
                    Some(format!("it answers {answer:?} for page {lpn}, which it does not hold"))
                }
                _ => None,
            })
        } else {
            Some(format!("it gives {} answers for {count} pages", out.answers.len()))
        };
        let dropped = || {
            let drops = out.evictions.iter().filter(|e| e.action == Action::Drop);
            let lost = drops.flat_map(|e| out.pages_of(e)).find(|page| page.dirty);
            lost.map(|page| format!("it drops page {}, which is dirty", page.lpn))
        };
        let over = || {
            (buffer.len() > self.capacity).then(|| {
                format!("it holds {} pages, more than its {}", buffer.len(), self.capacity)
            })
        };
        wrong.or_else(dropped).or_else(over).or_else(|| buffer.check().err())
    }
}
