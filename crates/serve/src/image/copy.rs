//! A copy of an image while it is open.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::Image;

/// Bytes that are copied at once where the file system shares none.
const AT_ONCE: u64 = 1 << 20;

impl Image {
    /// Copies the file to `path`, where nothing may be yet; holes stay holes. Where the file system
    /// can, the two share what neither changes, which takes no time. Says whether it could.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn copy_to(&self, path: &Path) -> io::Result<bool> {
        let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        let filled = self.fill_copy(&copy);
        if filled.is_err() {
            // It is ours, and no image.
            _ = std::fs::remove_file(path);
        }
        filled
    }

    fn fill_copy(&self, copy: &std::fs::File) -> io::Result<bool> {
        #[cfg(target_os = "linux")]
        if rustix::fs::ioctl_ficlone(copy, self.disk.file()).is_ok() {
            copy.sync_all()?;
            return Ok(true);
        }
        let size = self.disk.size()?.0;
        copy.set_len(size)?;
        let (mut at, mut bytes) = (0, vec![0; AT_ONCE as usize]);
        while let Some((from, to)) = self.disk.next_written(at, size)? {
            for first in (from..to).step_by(AT_ONCE as usize) {
                let bytes = &mut bytes[..(to - first).min(AT_ONCE) as usize];
                self.disk.get(bytes, first)?;
                copy.write_all_at(bytes, first)?;
            }
            at = to;
        }
        copy.sync_all()?;
        Ok(false)
    }
}
