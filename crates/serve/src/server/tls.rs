//! Encryption: certificates in a folder, and a client's stream once TLS has begun.
//!
//! The files are called as other NBD programs call them (`server-cert.pem`, `server-key.pem`,
//! `ca-cert.pem`), so that a folder made for one serves them all. Pre-shared keys are not offered:
//! the library has none that are agreed on outside of TLS.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::listen::Socket;
use crate::error::Error;

/// How clients are let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Holds the server's certificate, `server-cert.pem`, and its key, `server-key.pem`.
    pub folder: PathBuf,
    /// Only clients are let in whose certificate the authority in `ca-cert.pem` has signed.
    pub verify_peer: bool,
}

impl Tls {
    /// Reads certificates and key.
    ///
    /// # Errors
    /// A file is missing or holds no such thing; says which, and why.
    pub fn load(&self) -> Result<Arc<ServerConfig>, Error> {
        let certificate = self.folder.join("server-cert.pem");
        let chain = certificates(&certificate)?;
        let key = self.folder.join("server-key.pem");
        let secret = PrivateKeyDer::from_pem_file(&key).map_err(|why| wrong(&key, why))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|why| wrong(&certificate, why))?;
        let builder = if self.verify_peer {
            let path = self.folder.join("ca-cert.pem");
            let mut roots = RootCertStore::empty();
            if !path.exists() {
                return Err(wrong(
                    &path,
                    "there is none to tell clients by (--tls-any-client: all)",
                ));
            }
            for authority in certificates(&path)? {
                roots.add(authority).map_err(|why| wrong(&path, why))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|why| wrong(&path, why))?;
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let config = builder.with_single_cert(chain, secret);
        Ok(Arc::new(config.map_err(|why| wrong(&certificate, why))?))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).map_err(|why| wrong(path, why))?.collect();
    let found = found.map_err(|why| wrong(path, why))?;
    if found.is_empty() {
        return Err(wrong(path, "there is no certificate in it"));
    }
    Ok(found)
}

fn wrong(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::Certificate { path: path.to_owned(), why: why.to_string() }
}

/// Steps of the protocol without anything for the server in them that are taken at a time: others
/// want to be served, too.
const MOST_STEPS: u32 = 64;

/// One client's side of it.
#[derive(Debug)]
pub struct Session(ServerConnection);

impl Session {
    pub fn new(config: &Arc<ServerConfig>) -> io::Result<Self> {
        ServerConnection::new(Arc::clone(config)).map(Self).map_err(io::Error::other)
    }

    /// What the client has said, decrypted. 0: it has said that it says no more. Whoever cuts the
    /// connection without that is no client that has ended.
    pub fn read(&mut self, socket: &mut Socket, bytes: &mut [u8]) -> io::Result<usize> {
        for _ in 0..MOST_STEPS {
            match self.0.reader().read(bytes) {
                Err(why) if why.kind() == ErrorKind::WouldBlock => {}
                read => return read,
            }
            if let Err(why) = self.0.read_tls(socket) {
                // The other side may wait for something of this one.
                self.push_some(socket)?;
                return Err(why);
            }
            let processed = self.0.process_new_packets();
            // Also why it cannot go on.
            let pushed = self.push_some(socket);
            processed.map_err(|why| io::Error::new(ErrorKind::InvalidData, why))?;
            pushed?;
        }
        Err(ErrorKind::Interrupted.into())
    }

    /// Takes some of the answers, and sends what the socket takes of them.
    pub fn write(&mut self, socket: &mut Socket, bytes: &[u8]) -> io::Result<usize> {
        self.push(socket)?;
        let taken = self.0.writer().write(bytes)?;
        self.push_some(socket)?;
        Ok(taken)
    }

    /// Sends all that is held.
    pub fn push(&mut self, socket: &mut Socket) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Err(why) if why.kind() != ErrorKind::Interrupted => return Err(why),
                _ => {}
            }
        }
        Ok(())
    }

    fn push_some(&mut self, socket: &mut Socket) -> io::Result<()> {
        match self.push(socket) {
            Err(why) if why.kind() == ErrorKind::WouldBlock => Ok(()),
            pushed => pushed,
        }
    }

    /// Whether bytes are still to be sent.
    pub fn holds_some(&self) -> bool {
        self.0.wants_write()
    }

    /// Says that nothing more comes, so that the client can tell it from a connection that somebody
    /// has cut.
    pub fn farewell(&mut self, socket: &mut Socket) {
        self.0.send_close_notify();
        // A client that does not take it has gone.
        _ = self.push(socket);
    }
}
