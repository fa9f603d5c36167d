//! Where the requests of a workload come from.

use eraseblock_core::host::Request;

use crate::error::TraceError;
use crate::generate::{GenerateConfig, Generator};
use crate::trace::{TraceFile, TraceReader};

/// Where the requests come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Trace(TraceFile),
    Generated(Box<GenerateConfig>),
}

impl Source {
    /// Begins a pass over all requests.
    pub fn open(&self, hash: bool) -> Result<Records, TraceError> {
        Ok(match self {
            Self::Trace(file) => Records::Trace(Box::new(TraceReader::open(file, hash)?)),
            Self::Generated(config) => Records::Generated(config.generator()?),
        })
    }
}

/// One pass over all requests of a source.
pub(super) enum Records {
    Trace(Box<TraceReader>),
    Generated(Generator),
}

impl Records {
    #[inline]
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        match self {
            Self::Trace(reader) => reader.next_request(),
            Self::Generated(generator) => Ok(generator.next()),
        }
    }
}
