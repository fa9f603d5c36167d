//! A copy of an image while it is open.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::Image;
use super::unseen::new_file;
use crate::error::Error;

/// Bytes that are copied at once where the file system shares none.
const AT_ONCE: u64 = 1 << 20;

impl Image {
    /// Copies the file to `path`, where nothing may be yet; holes stay holes. Where the file system
    /// can, the two share what neither changes, which takes no time. Says whether it could. A copy
    /// has its name when it is whole.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn copy_to(&self, path: &Path) -> Result<bool, Error> {
        let failed = |source| Error::file(path, source);
        let (copy, new) = new_file(path).map_err(failed)?;
        let shared = self.fill_copy(&copy).map_err(failed)?;
        new.publish().map_err(failed)?;
        Ok(shared)
    }

    fn fill_copy(&self, copy: &File) -> io::Result<bool> {
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
