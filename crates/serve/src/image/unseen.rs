//! Files that nobody else sees until they are whole.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, flock, linkat};
use tempfile::TempPath;

/// A file that is being made: it is gone without [`Self::publish`].
#[derive(Debug)]
pub struct New {
    file: Unseen,
    path: PathBuf,
}

#[derive(Debug)]
enum Unseen {
    /// It has no name at all: whatever ends the process leaves nothing of it.
    Nameless(File),
    /// Where the host has no such files.
    Hidden(TempPath),
}

impl New {
    /// The file, which is on the host's disk, gets its name.
    ///
    /// # Errors
    /// There is such a file by now, or the folder cannot be written.
    pub fn publish(self) -> io::Result<()> {
        let Self { file, path } = self;
        match file {
            Unseen::Nameless(file) => {
                // Whoever made it may hold a lock by another handle of the same file.
                flock(&file, FlockOperation::Unlock)?;
                name(&file, &path)?;
                // Some file systems keep what has no name out of their journals: what was stored
                // until now may not be there after a power cut.
                file.sync_all()?;
            }
            Unseen::Hidden(file) => file.persist_noclobber(&path).map_err(|why| why.error)?,
        }
        File::open(folder_of(&path))?.sync_all()
    }
}

/// A new file. There must be none at `path`.
///
/// # Errors
/// There is one, or the folder cannot be written.
pub fn new_file(path: &Path) -> io::Result<(File, New)> {
    if path.symlink_metadata().is_ok() {
        return Err(rustix::io::Errno::EXIST.into());
    }
    let Some(file) = nameless_file(path) else { return hidden_file(path) };
    let held = file.try_clone()?;
    Ok((file, New { file: Unseen::Nameless(held), path: path.to_owned() }))
}

/// The same with a hidden name of its own until then.
///
/// # Errors
/// The folder cannot be written.
pub fn hidden_file(path: &Path) -> io::Result<(File, New)> {
    let file = tempfile::Builder::new()
        .prefix(&prefix_of(path))
        .tempfile_in(folder_of(path))
        // Its error names the file for the time being.
        .map_err(|why| why.raw_os_error().map_or(why, io::Error::from_raw_os_error))?;
    let (file, name) = file.into_parts();
    Ok((file, New { file: Unseen::Hidden(name), path: path.to_owned() }))
}

/// A file without a name, where the folder's file system has such and lets them be named: one is
/// tried first, as this would be late to find out when all of it has been written.
#[cfg(target_os = "linux")]
fn nameless_file(path: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let new = || open(folder_of(path), flags, Mode::RUSR | Mode::WUSR).ok().map(File::from);
    let tried = new()?;
    let trial = |at: &Path| name(&tried, at);
    tempfile::Builder::new().prefix(&prefix_of(path)).make_in(folder_of(path), trial).ok()?;
    new()
}

#[cfg(not(target_os = "linux"))]
fn nameless_file(_: &Path) -> Option<File> {
    None
}

/// Gives a file without a name this one.
fn name(file: &File, path: &Path) -> io::Result<()> {
    let handle = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, handle, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

fn prefix_of(path: &Path) -> String {
    format!(".{}.new-", path.file_name().unwrap_or_default().to_string_lossy())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
