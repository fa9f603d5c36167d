//! The signals that ask the process to end.

use std::io;
use std::os::fd::OwnedFd;

use mio::net::UnixStream;
use signal_hook::SigId;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Becomes readable when the process is asked to end.
pub struct Signals {
    pub stream: UnixStream,
    told_of: Vec<SigId>,
}

impl Signals {
    pub fn new() -> io::Result<Self> {
        let (stream, told) = UnixStream::pair()?;
        let told = OwnedFd::from(told);
        let mut signals = Self { stream, told_of: Vec::new() };
        for signal in [SIGTERM, SIGINT] {
            signals
                .told_of
                .push(signal_hook::low_level::pipe::register(signal, told.try_clone()?)?);
        }
        Ok(signals)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for signal in self.told_of.drain(..) {
            signal_hook::low_level::unregister(signal);
        }
    }
}
