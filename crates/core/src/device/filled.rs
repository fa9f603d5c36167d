//! One drive is filled, and others start from it, in memory or from bytes.

use std::io::{self, Write};

use serde::Serialize;

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
        let mut device = Self::assemble(config, options, filled.backend.clone(), None)?;
        device.start_from(filled.evictions, filled.preconditioning.clone());
        Ok(device)
    }

    /// What lies below the buffer has been filled: the rest goes on from there.
    fn start_from(&mut self, evictions: u64, preconditioning: Preconditioning) {
        self.pipeline.start_from(evictions);
        self.preconditioning = preconditioning;
        self.observers.restart(&self.as_observed());
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

    /// Brings an empty drive into the state that [`Self::save_filled`] of this same build has
    /// written for one with the same [`Filled::key`]. Says whether `bytes` were that; if not, the
    /// drive is of no use any more.
    pub fn load_filled(&mut self, bytes: &[u8]) -> bool {
        let timed = self.backend.is_timed();
        let (mut evictions, mut preconditioning) = (0, Preconditioning::default());
        let taken = read_from(bytes, |source| {
            self.backend.load(source)?;
            evictions.load(source)?;
            preconditioning.load(source)
        });
        self.backend.set_timed(timed);
        if taken.is_ok() {
            self.start_from(evictions, preconditioning);
        }
        taken.is_ok()
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
