//! Two-plane commands: what planes of a die do at the same time.

use super::Chips;

impl Chips<'_> {
    /// Who goes together with the job that was waiting at `place`.
    pub fn with_partners(&mut self, die: usize, leader: usize) -> Vec<usize> {
        let mut jobs = vec![leader];
        let Some(t) = self.array.together else { return jobs };
        let l = self.jobs[leader];
        if !(if l.is_read { t.read } else { t.program }) {
            return jobs;
        }
        let mut planes = vec![l.plane];
        // In the order in which the die would take them.
        let mut waiting = self.dies[die].waiting.clone();
        if self.array.read_first {
            waiting.sort_by_key(|&job| !self.jobs[job].is_read);
        }
        let mut looked_at = Vec::new();
        for other in waiting {
            let o = self.jobs[other];
            // An operation counts once, and not where the leader is part of it.
            if !looked_at.contains(&o.operation) && o.operation != l.operation {
                looked_at.push(o.operation);
            }
            if looked_at.len() > t.lookahead {
                break;
            }
            // Each plane keeps its order: only what waits first for it can go along.
            if planes.contains(&o.plane) {
                continue;
            }
            planes.push(o.plane);
            let goes = o.is_read == l.is_read
                && (t.all || o.plane / 2 == l.plane / 2)
                && (!t.same_page || o.page == l.page)
                && (!t.same_block || o.block == l.block);
            if goes {
                jobs.push(other);
            }
        }
        let waiting = &mut self.dies[die].waiting;
        waiting.retain(|job| !jobs.contains(job));
        // What has begun goes on before all others.
        let begun = |job: &usize| {
            jobs.iter().position(|&b| self.jobs[b].operation == self.jobs[*job].operation)
        };
        waiting.sort_by_key(|job| begun(job).unwrap_or(usize::MAX));
        jobs
    }
}
