//! What stands where a file is to be written. Regular files alone are replaced: a device, a pipe or
//! a link in its place would be lost, and with it more than a file.

use std::fmt::Display;
use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::path::Path;

/// What a file can be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nothing is there yet.
    Free,
    /// A regular file.
    File,
    /// A character device or a pipe, such as `/dev/null`, `/dev/stdout` or a FIFO: written to as it
    /// is, never replaced.
    Stream,
}

impl Place {
    /// What stands at `path`.
    ///
    /// # Errors
    /// Says what is there, and what to do, where nothing can be written.
    pub fn of(path: &Path) -> Result<Self, String> {
        if path.file_name().is_none() {
            return Err("is a folder, not a file to write".to_owned());
        }
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.file_type().is_symlink() => behind_link(path),
            Ok(meta) => of_type(meta.file_type()),
            // Whatever else is the matter, creating the file tells.
            Err(_) => Ok(Self::Free),
        }
    }

    /// As `of`, of what is to be replaced.
    ///
    /// # Errors
    /// What is there is no regular file.
    pub fn to_replace(path: &Path) -> Result<Self, String> {
        match Self::of(path)? {
            Self::Stream => Err(irregular("device or a pipe")),
            place => Ok(place),
        }
    }

    /// Opens the device or pipe at `path`.
    ///
    /// # Errors
    /// It cannot be opened, or is none (any more).
    pub fn open_stream(path: &Path) -> io::Result<File> {
        // Neither created nor cut off: what is there stays what it is.
        let file = OpenOptions::new().write(true).open(path)?;
        if of_type(file.metadata()?.file_type()) == Ok(Self::Stream) {
            Ok(file)
        } else {
            Err(io::Error::other("is no device or pipe any more"))
        }
    }
}

/// The system's own links (`/dev/stdout`) lead to what the shell has opened; all others are left
/// alone.
fn behind_link(path: &Path) -> Result<Place, String> {
    if path.starts_with("/dev")
        && let Ok(meta) = fs::metadata(path)
        && of_type(meta.file_type()) == Ok(Place::Stream)
    {
        return Ok(Place::Stream);
    }
    let target =
        fs::read_link(path).map(|target| format!(" to {}", target.display())).unwrap_or_default();
    Err(format!(
        "is a symbolic link{target}, which is neither followed nor replaced; name the file itself, \
         or remove the link"
    ))
}

fn of_type(kind: FileType) -> Result<Place, String> {
    if kind.is_file() {
        return Ok(Place::File);
    }
    if kind.is_dir() {
        return Err("is a folder, not a file to write".to_owned());
    }
    special(kind)
}

#[cfg(unix)]
fn special(kind: FileType) -> Result<Place, String> {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_char_device() || kind.is_fifo() => Ok(Place::Stream),
        _ if kind.is_block_device() => Err(irregular("block device")),
        _ if kind.is_socket() => Err(irregular("socket")),
        _ => Err(irregular("special file")),
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> Result<Place, String> {
    Err(irregular("special file"))
}

fn irregular(what: impl Display) -> String {
    format!("is a {what}, and only regular files are replaced; name another file")
}
