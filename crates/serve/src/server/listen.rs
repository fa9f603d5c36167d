//! Where clients come: a socket in the file system, or a port of this machine.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry, Token};
use rustix::fs::{FlockOperation, Mode, flock};
use rustix::process::umask;

use crate::error::Error;

/// Where to listen. Other addresses than this machine's own are for a server that encrypts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system, which its owner alone can use.
    Unix(PathBuf),
    /// A port of the loopback interface; 0 is any that is free.
    Loopback(u16),
}

/// What listens there.
#[derive(Debug)]
pub enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

/// A client.
#[derive(Debug)]
pub enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    /// Listens.
    pub fn bind(address: &Address) -> Result<Self, Error> {
        let bound = match address {
            Address::Unix(path) => private_socket(path, |path| UnixListener::bind(path))
                .map(|listener| Self::Unix(listener, path.clone())),
            Address::Loopback(port) => {
                TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, *port))).map(Self::Tcp)
            }
        };
        bound.map_err(|source| {
            let address = match address {
                Address::Unix(path) => path.display().to_string(),
                Address::Loopback(port) => format!("port {port}"),
            };
            Error::Listen { address, source }
        })
    }

    /// As clients name it.
    pub fn uri(&self) -> String {
        match self {
            Self::Unix(_, path) => format!("nbd+unix:///?socket={}", path.display()),
            Self::Tcp(listener) => {
                listener.local_addr().map_or_else(|_| String::new(), |at| format!("nbd://{at}"))
            }
        }
    }

    /// The next client that waits.
    pub fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener, _) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                // Answers are small, and somebody waits for each. It may have gone already.
                _ = stream.set_nodelay(true);
                Ok(Stream::Tcp(stream))
            }
        }
    }

    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        match self {
            Self::Unix(listener, _) => listener.register(registry, token, Interest::READABLE),
            Self::Tcp(listener) => listener.register(registry, token, Interest::READABLE),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            _ = std::fs::remove_file(path);
        }
    }
}

/// A socket for its owner alone. One that a server left which was killed is taken over; one that
/// somebody listens on is not. Of several servers that begin at once one gets it.
pub fn private_socket<T>(path: &Path, bind: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    // Else two could find the same one left: the second would remove the first one's new socket.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")))?;
    flock(&folder, FlockOperation::LockExclusive)?;
    if path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_socket())
        && std::os::unix::net::UnixStream::connect(path)
            .is_err_and(|why| why.kind() == io::ErrorKind::ConnectionRefused)
    {
        std::fs::remove_file(path)?;
    }
    // There is no moment at which others could connect, as there would be before a change of its
    // permissions.
    let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = bind(path);
    umask(before);
    listener
}

impl Stream {
    pub fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let wanted = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Unix(stream) => stream.register(registry, token, wanted),
            Self::Tcp(stream) => stream.register(registry, token, wanted),
        }
    }

    pub fn deregister(&mut self, registry: &Registry) {
        _ = match self {
            Self::Unix(stream) => stream.deregister(registry),
            Self::Tcp(stream) => stream.deregister(registry),
        };
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(bytes),
            Self::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
