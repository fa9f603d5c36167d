//! What can go wrong with a drive.

use thiserror::Error;

use crate::nand::Violation;

/// What ended a run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The configuration is impossible.
    #[error("{0}")]
    Config(String),
    /// A request that the drive cannot take.
    #[error("request {number} ({what}): {why}")]
    Request {
        /// Its number in the workload, from 0.
        number: u64,
        /// What it asks for.
        what: String,
        /// Why that is impossible.
        why: String,
    },
    /// There is no room for a write, and none can be made.
    #[error(
        "the drive has no room for a write and can make none: {0}; export less (ftl.exported) or \
         add blocks (nand.blocks_per_plane)"
    )]
    NoSpace(String),
    /// The flash is worn out: the run ends here, and can be reported.
    #[error(
        "the drive is at the end of its life: after {host_bytes} bytes of host writes too few \
         blocks are left for another one"
    )]
    EndOfLife {
        /// Bytes of the write requests that were taken whole by then, in whole pages.
        host_bytes: u64,
    },
    /// Requests wait and nothing is under way.
    #[error("the simulation cannot go on: {0}. This is a fault of the simulator")]
    Stuck(String),
    /// A scheme asked for what no chip does.
    #[error("a scheme broke the rules of the flash: {0}. This is a fault of the scheme")]
    Physics(Violation),
    /// The flash does not hold what the host wrote.
    #[error("verification failed: {0}. This is a fault of the scheme")]
    Verify(String),
    /// The accounts do not balance.
    #[error("the accounts of the run do not balance: {0}. This is a fault of the simulator")]
    Law(String),
    /// An observer of the run cannot go on.
    #[error("{0}")]
    Observer(String),
    /// Power has failed, as was asked for.
    #[error("power failed")]
    PowerCut,
    /// The run has already ended with an error.
    #[error("the drive has failed before")]
    Failed,
}

impl DeviceError {
    /// Whether the configuration or the workload is at fault, not the simulator.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Config(_) | Self::Request { .. } | Self::NoSpace(_))
    }
}
