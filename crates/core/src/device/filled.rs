//! One drive is filled, and others start from it, in memory or from bytes.

use std::io::{self, Write};

use serde::Serialize;

use super::assemble::build_backend;
use super::backend::Backend;
use super::{Device, DeviceError, Options};
use crate::config::{DeviceConfig, Precondition, PreconditionConfig};
use crate::ftl::config::FtlConfig;
use crate::metrics::report::Preconditioning;
use crate::nand::config::NandConfig;
use crate::support::persist::{Persist, read_from, write_to};

/// What lies below the buffer of a drive that has been brought into the state in which its run
/// begins.
#[derive(Debug, Clone)]
pub struct Filled {
    backend: Backend,
    evictions: u64,
    preconditioning: Preconditioning,
}

/// All that decides how it is filled: the buffer and the host have no part in that.
#[derive(Serialize)]
struct Below<'a> {
    nand: &'a NandConfig,
    ftl: &'a FtlConfig,
    precondition: &'a PreconditionConfig,
    /// A drive that is filled in order draws nothing.
    seed: Option<u64>,
    verify: bool,
}

impl Filled {
    /// Drives for which this is the same start from the same state.
    pub fn key(config: &DeviceConfig, options: Options) -> String {
        let DeviceConfig { nand, ftl, precondition, seed, .. } = config;
        let draws = precondition.state == Precondition::Steady;
        let (seed, verify) = (draws.then_some(*seed), options.verify);
        let below = Below { nand, ftl, precondition, seed, verify };
        serde_json::to_string(&below).unwrap_or_else(|e| unreachable!("{e}"))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.backend.bytes_with_medium()
    }
}

impl Device {
    /// What lies below the buffer, for others that start from it. To be called when the drive has
    /// been filled, and before its first request.
    pub fn filled(&self) -> Filled {
        Filled {
            backend: self.backend.clone(),
            evictions: self.pipeline.evictions(),
            preconditioning: self.preconditioning.clone(),
        }
    }

    /// A drive that starts from what another one with the same [`Filled::key`] has been filled
    /// with, as if it had been filled itself.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn starting_from(
        config: &DeviceConfig,
        options: Options,
        filled: &Filled,
    ) -> Result<Self, DeviceError> {
        Self::start(config, options, filled.clone())
    }

    fn start(config: &DeviceConfig, options: Options, filled: Filled) -> Result<Self, DeviceError> {
        let mut device = Self::assemble(config, options, filled.backend, None)?;
        device.pipeline.start_from(filled.evictions);
        device.preconditioning = filled.preconditioning;
        device.observers.restart(&device.as_observed());
        Ok(device)
    }

    /// Writes down what lies below the buffer, as [`Self::filled`] copies it.
    ///
    /// # Errors
    /// Nothing more could be written, or the drive keeps what its flash holds (`verify`).
    pub fn save_filled(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.backend.engine().stored().is_some() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        write_to(out, |sink| {
            self.backend.save(sink)?;
            self.pipeline.evictions().save(sink)?;
            self.preconditioning.save(sink)
        })
    }

    /// A drive that starts from what [`Self::save_filled`] of this same build has written for a
    /// drive with the same [`Filled::key`]; `None` where `bytes` are something else.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_saved(
        config: &DeviceConfig,
        options: Options,
        bytes: &[u8],
    ) -> Result<Option<Self>, DeviceError> {
        let backend = build_backend(config, options, |mapping| mapping)?;
        let mut filled =
            Filled { backend, evictions: 0, preconditioning: Preconditioning::default() };
        let taken = read_from(bytes, |source| {
            filled.backend.load(source)?;
            filled.evictions.load(source)?;
            filled.preconditioning.load(source)
        });
        taken.ok().map(|()| Self::start(config, options, filled)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::device::tests::small_drive;

    /// No request goes on with the last stripe of the filling: evictions are numbered on.
    #[test]
    fn a_copy_is_numbered_on_from_the_filling() {
        let config = small_drive(json!({"scheme": "lru", "size": "64 KiB"}));
        let mut filled = Device::new(&config, Options::default()).unwrap();
        filled.precondition().unwrap();
        let copy = Device::starting_from(&config, Options::default(), &filled.filled()).unwrap();
        assert_eq!(filled.pipeline.evictions(), 4);
        assert_eq!(copy.pipeline.evictions(), 4);
        assert_eq!(copy.preconditioning, filled.preconditioning);
    }
}
