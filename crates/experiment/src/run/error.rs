//! Why a run may end without a record.

use std::sync::Arc;

use eraseblock_core::device::DeviceError;
use eraseblock_traces::TraceError;

/// Why a run has no record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The workload cannot be read or does not fit the drive.
    #[error(transparent)]
    Trace(#[from] Arc<TraceError>),
    /// The trace file is not the one that was read at first.
    #[error("{0}: changed while it was being read; leave a trace alone until its runs have ended")]
    Changed(String),
    /// The drive cannot be built, or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The log of the buffer's decisions cannot be begun.
    #[error("{0}")]
    Events(String),
    /// A name that is not known.
    #[error("{0}")]
    Option(String),
    /// The numbers of the run contradict each other: a fault of the simulator.
    #[error("the run's own figures contradict each other, which is a fault of eraseblock: {0}")]
    Law(String),
    /// The caller ended it.
    #[error("cancelled")]
    Cancelled,
}

impl RunError {
    /// True where the configuration or the workload is at fault, false where the run failed.
    pub fn is_input(&self) -> bool {
        match self {
            Self::Trace(error) => error.is_input(),
            Self::Device(error) => error.is_input(),
            Self::Option(_) | Self::Events(_) | Self::Changed(_) => true,
            Self::Law(_) | Self::Cancelled => false,
        }
    }
}

impl From<TraceError> for RunError {
    fn from(error: TraceError) -> Self {
        if error.is_cancelled() { Self::Cancelled } else { Self::Trace(Arc::new(error)) }
    }
}
