//! Where clients come: a socket in the file system, or a port.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Registry, Token};
use rustix::fs::{FlockOperation, Mode, flock};
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::process::umask;

use crate::error::Error;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system, which its owner alone can use.
    Unix(PathBuf),
    /// A port, where 0 is any that is free, at an address or name of this machine.
    Tcp(String, u16),
}

impl Address {
    /// A port that nobody beyond this machine can reach.
    pub fn loopback(port: u16) -> Self {
        Self::Tcp("127.0.0.1".to_owned(), port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(to, "{}", path.display()),
            Self::Tcp(host, port) if host.contains(':') => write!(to, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(to, "{host}:{port}"),
        }
    }
}

/// A server that takes a socket over is done with it long before.
const LOCKED: Duration = Duration::from_secs(5);

/// What listens there.
#[derive(Debug)]
pub enum Listener {
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

/// Where a client is at the other end.
#[derive(Debug)]
pub enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    /// Listens. Where more than this machine can reach it, in the clear only if that is allowed.
    pub fn bind(address: &Address, exposed: bool) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address: address.to_string(), source };
        match address {
            Address::Unix(path) => private_socket(path, |path| UnixListener::bind(path))
                .map(|listener| Self::Unix(listener, path.clone()))
                .map_err(failed),
            Address::Tcp(host, port) => {
                let found: Vec<SocketAddr> =
                    (host.as_str(), *port).to_socket_addrs().map_err(failed)?.collect();
                if !exposed && found.iter().any(|at| !at.ip().is_loopback()) {
                    return Err(Error::Exposed(host.clone()));
                }
                let mut why = io::ErrorKind::NotFound.into();
                for at in found {
                    match TcpListener::bind(at) {
                        Ok(listener) => return Ok(Self::Tcp(listener)),
                        Err(error) => why = error,
                    }
                }
                Err(failed(why))
            }
        }
    }

    /// As clients name it.
    pub fn uri(&self, encrypted: bool) -> String {
        let scheme = if encrypted { "nbds" } else { "nbd" };
        match self {
            Self::Unix(_, path) => format!("{scheme}+unix:///?socket={}", escaped(path)),
            Self::Tcp(listener) => listener
                .local_addr()
                .map_or_else(|_| String::new(), |at| format!("{scheme}://{at}")),
        }
    }

    /// The next client that waits.
    pub fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Unix(listener, _) => listener.accept().map(|(stream, _)| Socket::Unix(stream)),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                // It may have gone already.
                _ = tune(&stream);
                Ok(Socket::Tcp(stream))
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

/// Answers are small, and somebody waits for each. A client whose machine or network has gone is
/// given up after a minute or two, whether it is owed something or not.
fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(60))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(15))?;
    sockopt::set_tcp_keepcnt(stream, 4)?;
    sockopt::set_socket_keepalive(stream, true)?;
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(stream, 120_000)?;
    Ok(())
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            _ = std::fs::remove_file(path);
        }
    }
}

/// A path as it stands in a URI.
fn escaped(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    bytes
        .map(
            |&byte| {
                if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// A socket for its owner alone. One that a server left which was killed is taken over; one that
/// somebody listens on is not. Of several servers that begin at once one gets it.
pub fn private_socket<T>(path: &Path, bind: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    // Else two could find the same one left: the second would remove the first one's new socket.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")))?;
    let start = Instant::now();
    while let Err(why) = flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        if why != Errno::WOULDBLOCK && why != Errno::INTR {
            return Err(why.into());
        }
        if start.elapsed() > LOCKED {
            let why = "another program has locked the folder of the socket";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
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

impl Socket {
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

impl Read for Socket {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(bytes),
            Self::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for Socket {
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
