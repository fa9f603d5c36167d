//! The sha256 of what is read. Of long files a thread of its own takes it: that takes as long as
//! reading them.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use sha2::{Digest as _, Sha256};

/// Bytes from which on a thread is worth while.
const LONG: u64 = 8 << 20;
/// Pieces that may wait for the thread.
const WAITING: usize = 8;

/// Takes the sha256 of pieces, in order.
#[derive(Debug)]
pub(super) struct Digest {
    state: State,
    bytes: u64,
}

#[derive(Debug)]
enum State {
    Here(Sha256),
    There(There),
}

/// A thread that takes the pieces that it is sent, and gives their memory back.
#[derive(Debug)]
struct There {
    pieces: SyncSender<Vec<u8>>,
    taken: Receiver<Vec<u8>>,
    thread: JoinHandle<Sha256>,
}

impl Digest {
    pub fn new() -> Self {
        Self { state: State::Here(Sha256::new()), bytes: 0 }
    }

    /// The next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        match &mut self.state {
            State::Here(digest) => {
                digest.update(piece);
                if self.bytes >= LONG {
                    self.state = elsewhere(std::mem::take(digest));
                }
            }
            State::There(there) => there.update(piece),
        }
    }

    /// The sha256 of all pieces, in hexadecimal.
    pub fn finish(self) -> String {
        hex(&match self.state {
            State::Here(digest) => digest.finalize(),
            State::There(There { pieces, thread, .. }) => {
                drop(pieces);
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).finalize()
            }
        })
    }
}

/// Goes on in a thread; here, where there can be none.
fn elsewhere(mut digest: Sha256) -> State {
    let (pieces, next) = sync_channel::<Vec<u8>>(WAITING);
    let (back, taken) = channel();
    let begun = digest.clone();
    let work = move || {
        for piece in next {
            digest.update(&piece);
            // Nobody wants it back where the reading has ended.
            let _ = back.send(piece);
        }
        digest
    };
    match thread::Builder::new().name("sha256".to_owned()).spawn(work) {
        Ok(thread) => State::There(There { pieces, taken, thread }),
        Err(_) => State::Here(begun),
    }
}

impl There {
    fn update(&mut self, piece: &[u8]) {
        let mut copy = self.taken.try_recv().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(piece);
        // It takes all that it is sent.
        let sent = self.pieces.send(copy);
        assert!(sent.is_ok(), "the thread has ended");
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_takes_the_same() {
        let piece: Vec<u8> = (0..100_003).map(|i| (i % 251) as u8).collect();
        for count in [0, 1, LONG as usize / piece.len() + 1, 400] {
            let (mut digest, mut whole) = (Digest::new(), Sha256::new());
            for _ in 0..count {
                digest.update(&piece);
                whole.update(&piece);
            }
            assert_eq!(
                matches!(digest.state, State::There(_)),
                count * piece.len() >= LONG as usize
            );
            assert_eq!(digest.finish(), hex(&whole.finalize()));
        }
    }
}
