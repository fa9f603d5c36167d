//! One client: its connection, and what can be read from it and sent to it now.

use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::time::Instant;

use eraseblock_nbd::Connection;
use rustls::ServerConfig;

use super::stream::Stream;

/// Bytes of answers, and of reads under way, that a client may have before no more of its requests
/// are taken.
const MOST_HELD: usize = 8 << 20;
/// Memory for answers that is kept.
const KEPT_OUTPUT: usize = 1 << 20;
/// Requests of one client that may be under way.
const MOST_UNDER_WAY: u32 = 256;

/// A client.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with one another")]
pub struct Client {
    pub stream: Stream,
    pub connection: Connection,
    /// What TLS begins with, where the client has to begin it.
    tls: Option<Arc<ServerConfig>>,
    /// Tells it from others that had its place before.
    pub birth: u64,
    /// When it was let in.
    pub came: Instant,
    /// Requests that have not been answered.
    pub under_way: u32,
    /// Answers since it was last tried to send some.
    pub unsent: u32,
    /// Bytes that the reads among them will bring.
    pub reading: usize,
    /// Bytes may be there to read.
    pub readable: bool,
    /// It says no more: what it has said is read up to its end.
    pub closing: bool,
    /// Bytes may be sent.
    pub writable: bool,
    /// No more comes from it.
    pub ended: bool,
    /// Nothing more can be sent to it.
    pub gone: bool,
    /// Requests that have come may be there to be taken.
    pub has_input: bool,
    /// Bytes of the output that have been sent.
    sent: usize,
}

impl Client {
    pub fn new(
        stream: Stream,
        connection: Connection,
        tls: Option<Arc<ServerConfig>>,
        birth: u64,
    ) -> Self {
        Self {
            stream,
            connection,
            tls,
            birth,
            came: Instant::now(),
            under_way: 0,
            unsent: 0,
            reading: 0,
            readable: true,
            closing: false,
            writable: true,
            ended: false,
            gone: false,
            has_input: false,
            sent: 0,
        }
    }

    /// Bytes that are held for it: answers that it has not taken, and reads under way.
    #[inline]
    pub fn held(&mut self) -> usize {
        self.connection.output().len() + self.reading
    }

    /// Whether it may ask for more before it has taken its answers. Where all clients together hold
    /// too much, one that holds nothing still gets one request at a time: it need not wait for
    /// others that take nothing.
    #[inline]
    pub fn may_ask(&mut self, crowded: bool) -> bool {
        let held = self.held();
        self.under_way < MOST_UNDER_WAY
            && held < MOST_HELD
            && !self.connection.is_held_up()
            && !self.connection.waits_for_tls()
            && (!crowded || (held == 0 && self.under_way == 0))
    }

    /// Whether something can be done with it without waiting for the system.
    pub fn has_work(&mut self, crowded: bool) -> bool {
        ((self.readable && !self.ended) || self.has_input) && !self.gone && self.may_ask(crowded)
    }

    /// Takes in what has come.
    pub fn read(&mut self) {
        if !self.readable || self.ended || self.gone {
            return;
        }
        let space = self.connection.space();
        let room = space.len();
        match self.stream.read(space) {
            Ok(0) => (self.ended, self.readable) = (true, false),
            Ok(count) => {
                self.connection.received(count);
                self.has_input = true;
                // Less than there was room for is all that there was, but for the end.
                self.readable = count == room || self.closing || self.stream.comes_in_pieces();
            }
            Err(why) if why.kind() == ErrorKind::WouldBlock => self.readable = false,
            Err(why) if why.kind() == ErrorKind::Interrupted => {}
            Err(_) => (self.gone, self.ended) = (true, true),
        }
    }

    /// Sends what can be sent.
    pub fn write(&mut self) {
        self.unsent = 0;
        let output = self.connection.output();
        while self.writable && !self.gone && self.sent < output.len() {
            match self.stream.write(&output[self.sent..]) {
                Ok(0) => self.gone = true,
                Ok(count) => self.sent += count,
                Err(why) if why.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.gone = true,
            }
        }
        if self.writable && !self.gone {
            match self.stream.flush() {
                Ok(()) => {}
                Err(why) if why.kind() == ErrorKind::WouldBlock => self.writable = false,
                Err(_) => self.gone = true,
            }
        }
        if self.sent == output.len() {
            let had_some = !output.is_empty();
            output.clear();
            self.sent = 0;
            if output.capacity() > KEPT_OUTPUT {
                *output = Vec::new();
            }
            // Options may have been held up by the answers of those before them.
            self.has_input |= had_some && !self.connection.is_in_transmission();
            if self.connection.waits_for_tls() {
                self.begin_tls();
            }
        }
    }

    /// The client has been told that it may begin TLS.
    fn begin_tls(&mut self) {
        let begun = self.tls.take().is_some_and(|tls| self.stream.begin_tls(&tls).is_ok());
        if begun {
            self.connection.has_begun_tls();
            self.readable = true;
        } else {
            self.gone = true;
        }
    }

    /// Whether something that was said to it has not been sent.
    pub fn has_unsent(&mut self) -> bool {
        !self.connection.output().is_empty() || self.stream.holds_some()
    }

    /// Whether everything has been said.
    pub fn is_done(&mut self) -> bool {
        self.gone
            || (self.ended || self.connection.has_ended())
                && !self.has_input
                && self.under_way == 0
                && !self.has_unsent()
    }
}
