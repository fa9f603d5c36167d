//! The requests of a workload in memory, so that they are read and decoded once for all passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eraseblock_core::host::Request;

/// Requests that are kept of one workload at most (64 MiB).
const MOST: usize = 1 << 21;
/// Requests that are kept of all workloads of a process at most (512 MiB).
const MOST_IN_ALL: usize = 1 << 24;
/// Room is asked for in pieces of so many.
const PIECE: usize = 1 << 14;

/// Requests of all workloads that are kept.
static IN_ALL: AtomicUsize = AtomicUsize::new(0);

/// All requests of a workload that are replayed.
#[derive(Debug, Clone)]
pub(super) struct Kept(Arc<Requests>);

#[derive(Debug, Default)]
struct Requests {
    all: Vec<Request>,
    /// Room that was asked for.
    room: usize,
}

impl Requests {
    /// Asks for room for another piece.
    fn grow(&mut self) -> bool {
        if self.room == MOST || IN_ALL.fetch_add(PIECE, Ordering::Relaxed) + PIECE > MOST_IN_ALL {
            if self.room < MOST {
                IN_ALL.fetch_sub(PIECE, Ordering::Relaxed);
            }
            return false;
        }
        self.room += PIECE;
        true
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        IN_ALL.fetch_sub(self.room, Ordering::Relaxed);
    }
}

impl Kept {
    /// The request with this number.
    #[inline]
    pub fn get(&self, number: usize) -> Option<Request> {
        self.0.all.get(number).copied()
    }
}

/// Keeps what a pass sees, as long as it is not too much.
#[derive(Debug)]
pub(super) struct Keeper(Option<Requests>);

impl Keeper {
    /// Nothing has been seen.
    pub fn new() -> Self {
        Self(Some(Requests::default()))
    }

    /// Nothing is kept.
    pub fn of_nothing() -> Self {
        Self(None)
    }

    /// Another request.
    #[inline]
    pub fn add(&mut self, request: &Request) {
        let Some(kept) = &mut self.0 else { return };
        if kept.all.len() == kept.room && !kept.grow() {
            // It is read again for each pass.
            self.0 = None;
            return;
        }
        kept.all.push(*request);
    }

    /// Other requests.
    #[inline]
    pub fn add_all(&mut self, requests: &[Request]) {
        if self.0.is_some() {
            for request in requests {
                self.add(request);
            }
        }
    }

    /// All of them, if they are few enough.
    pub fn finish(self) -> Option<Kept> {
        let mut kept = self.0?;
        kept.all.shrink_to_fit();
        Some(Kept(Arc::new(kept)))
    }
}

#[cfg(test)]
mod tests {
    use eraseblock_core::host::Op;

    use super::*;

    fn request(number: usize) -> Request {
        let offset = number as u64 * 512;
        Request { arrival_ns: 0, offset, len: 512, volume: 0, op: Op::Read, fua: false }
    }

    #[test]
    fn few_requests_are_kept_and_many_are_not() {
        let keep = |count: usize| {
            let mut keeper = Keeper::new();
            (0..count).for_each(|number| keeper.add(&request(number)));
            keeper.finish()
        };
        let kept = keep(PIECE + 1).unwrap();
        assert_eq!(kept.get(PIECE), Some(request(PIECE)));
        assert_eq!(kept.get(PIECE + 1), None);
        assert!(keep(MOST).is_some());
        assert!(keep(MOST + 1).is_none());
        drop(kept);
        assert!(IN_ALL.load(Ordering::Relaxed) < MOST_IN_ALL);
    }
}
