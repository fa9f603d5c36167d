//! What a client and the server say to each other, in the clear or encrypted.

use std::io::{self, Read, Write};
use std::sync::Arc;

use mio::{Registry, Token};
use rustls::ServerConfig;

use super::listen::Socket;
use super::tls::Session;

/// A client's socket, and TLS once that has begun.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    tls: Option<Box<Session>>,
}

impl Stream {
    pub fn new(socket: Socket) -> Self {
        Self { socket, tls: None }
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.socket.register(registry, token)
    }

    /// The last that is done with it.
    pub fn close(&mut self, registry: &Registry) {
        if let Some(tls) = &mut self.tls {
            tls.farewell(&mut self.socket);
        }
        self.socket.deregister(registry);
    }

    /// The client is told the server's certificate next, and whatever is said from now on is
    /// encrypted.
    pub fn begin_tls(&mut self, config: &Arc<ServerConfig>) -> io::Result<()> {
        self.tls = Some(Box::new(Session::new(config)?));
        Ok(())
    }

    /// Whether fewer bytes than there was room for may not be all that have come.
    pub fn comes_in_pieces(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether bytes that were written have not been sent.
    pub fn holds_some(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.holds_some())
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.read(bytes),
            Some(tls) => tls.read(&mut self.socket, bytes),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.socket.write(bytes),
            Some(tls) => tls.write(&mut self.socket, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.push(&mut self.socket),
        }
    }
}
