//! What can go wrong with an image or a server.

use std::io;
use std::path::{Path, PathBuf};

use eraseblock_core::device::DeviceError;
use thiserror::Error;

/// Why an image cannot be used, or a drive not be served.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("{path}: {}", advised(source))]
    File {
        /// Its name.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is no image, or a damaged one.
    #[error("{path}: {why}")]
    Image {
        /// Its name.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The image is in use.
    #[error("{0}: another process has this image open")]
    Locked(PathBuf),
    /// What was asked for is not the drive in the image.
    #[error(
        "{path}: the image holds another drive than the one asked for: {difference}; ask for that one, \
         or name none and take what is there"
    )]
    OtherDrive {
        /// The image.
        path: PathBuf,
        /// The first key that differs.
        difference: String,
    },
    /// The drive is impossible, or failed.
    #[error("{0}")]
    Device(#[from] DeviceError),
    /// The drive has failed; what was answered before is in the image.
    #[error("the drive has failed, and can only be read: {0}")]
    Failed(String),
    /// What is put to the drive cannot be written down.
    #[error("{0}")]
    Record(String),
    /// A certificate or key cannot be used.
    #[error("{path}: {why}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Others than this machine could come, in the clear.
    #[error(
        "{0} can be reached from other machines: encrypt with --tls FOLDER, or let everybody who can \
         reach it read and write the drive with --insecure"
    )]
    Exposed(String),
    /// Where clients should come, nobody can listen.
    #[error("{address}: {}", advised_socket(source))]
    Listen {
        /// Socket or port.
        address: String,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// Something about a file.
    pub fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }

    /// Something about an image.
    pub fn image(path: &Path, why: impl Into<String>) -> Self {
        Self::Image { path: path.to_owned(), why: why.into() }
    }

    /// Whether what was asked for is at fault, not what happened.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Device(error) => error.is_input(),
            Self::Failed(_) => false,
            _ => true,
        }
    }
}

/// What the system says of a file, and what to do about it.
fn advised(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AlreadyExists => "exists already; choose another name, or remove it".into(),
        _ => source.to_string(),
    }
}

/// The same of a socket or port.
fn advised_socket(source: &io::Error) -> String {
    let advice = match source.kind() {
        io::ErrorKind::AddrInUse => {
            "another server is there, or a file: end it, or name another --socket, --control or --port"
        }
        io::ErrorKind::NotFound => "there is no such folder or host",
        // The system's limit is in its structure for addresses.
        io::ErrorKind::InvalidInput => {
            "the system takes some 107 bytes: name a shorter --socket or --control"
        }
        _ => return source.to_string(),
    };
    format!("{source}; {advice}")
}
