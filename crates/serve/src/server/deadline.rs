//! A stream of which all that is read or written has to be done by a deadline: whoever sends a byte
//! now and then would hold a mere time limit of each call up for ever.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A stream whose calls can be given a time limit.
pub trait Limited {
    fn limit(&self, time: Duration) -> io::Result<()>;
}

impl Limited for UnixStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

impl Limited for TcpStream {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))?;
        self.set_write_timeout(Some(time))
    }
}

/// A stream until its deadline.
pub struct Timed<'a, S> {
    stream: &'a S,
    deadline: Instant,
}

impl<'a, S: Limited> Timed<'a, S> {
    /// From now on for so long.
    pub fn new(stream: &'a S, time: Duration) -> Self {
        Self { stream, deadline: Instant::now() + time }
    }

    fn limit(&self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.limit(left)
    }
}

impl<'a, S: Limited> Read for Timed<'a, S>
where
    &'a S: Read,
{
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.limit()?;
        self.stream.read(bytes)
    }
}

impl<'a, S: Limited> Write for Timed<'a, S>
where
    &'a S: Write,
{
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.limit()?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
