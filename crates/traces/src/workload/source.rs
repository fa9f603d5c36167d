//! Where the requests of a workload come from.

use std::sync::Arc;

use eraseblock_core::host::Request;

use crate::error::TraceError;
use crate::generate::{GenerateConfig, Generator};
use crate::trace::{TraceFile, TraceReader};

use super::parts::{PartReader, Parts};

/// Where the requests come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Trace(TraceFile),
    Generated(Box<GenerateConfig>),
    Given(Arc<[Request]>),
    /// One volume of a trace whose volumes are kept apart.
    Part(Arc<Parts>, u32),
}

impl Source {
    /// Begins a pass over all requests.
    pub fn open(&self, hash: bool) -> Result<Records, TraceError> {
        Ok(match self {
            Self::Trace(file) => Records::Trace(Box::new(TraceReader::open(file, hash)?)),
            Self::Generated(config) => Records::Generated(config.generator()?),
            Self::Given(requests) => Records::Given(requests.clone(), 0),
            Self::Part(parts, volume) => Records::Part(PartReader::new(parts.clone(), *volume)),
        })
    }
}

/// One pass over all requests of a source.
pub(super) enum Records {
    Trace(Box<TraceReader>),
    Generated(Generator),
    /// Requests, and how many of them have been passed.
    Given(Arc<[Request]>, usize),
    Part(PartReader),
}

impl Records {
    /// The next few requests, in place of what is in `into`, where there are some that were read
    /// together; else [`Self::next_request`] goes on.
    #[inline]
    pub fn next_few(&mut self, into: &mut Vec<Request>) -> bool {
        match self {
            Self::Trace(reader) => reader.next_few(into),
            Self::Generated(_) | Self::Given(..) | Self::Part(_) => false,
        }
    }

    #[inline]
    pub fn next_request(&mut self) -> Result<Option<Request>, TraceError> {
        match self {
            Self::Trace(reader) => reader.next_request(),
            Self::Generated(generator) => Ok(generator.next()),
            Self::Given(requests, passed) => {
                let next = requests.get(*passed).copied();
                *passed += usize::from(next.is_some());
                Ok(next)
            }
            Self::Part(reader) => reader.next_request(),
        }
    }
}
