//! What this process shares between its runs.

use std::sync::LazyLock;

use eraseblock_experiment::Runner;

/// Reads each workload once for all runs of this process.
#[cfg(not(unix))]
pub(crate) static RUNNER: LazyLock<Runner> = LazyLock::new(Runner::default);

/// Reads each workload once for all runs of this process. Its drives may begin with what is in an
/// image.
#[cfg(unix)]
pub(crate) static RUNNER: LazyLock<Runner> =
    LazyLock::new(|| Runner::with_images(std::sync::Arc::new(images::Files)));

#[cfg(unix)]
mod images {
    use std::path::Path;

    use eraseblock_experiment::{DeviceConfig, Flash, Images};
    use eraseblock_serve::Drive;

    /// Images are files.
    #[derive(Debug)]
    pub struct Files;

    impl Images for Files {
        fn flash(&self, path: &Path, config: &DeviceConfig) -> Result<Flash, String> {
            let found = Drive::flash_of(path, config).map_err(|why| why.to_string());
            found.map(|(media, sha256)| Flash { media, sha256 })
        }
    }
}
