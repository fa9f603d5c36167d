//! How long a request of a trace may be before it is taken for damage.
//!
//! Where two lines have run together, digits of both make one number: a request of petabytes, over
//! whose pages whoever counts or replays it would go for days. The limits are those of the
//! interfaces that traces are recorded at, far above what programs ask for, and options of the
//! workload. Addresses have their own (`readers/fields.rs`).

use eraseblock_core::config::Bytes;
use eraseblock_core::host::{Op, Request};

use crate::error::{Unexpected, size};

/// The longest requests that are believed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Of reads and writes.
    pub request: Bytes,
    /// Of trims.
    pub trim: Bytes,
}

impl Limits {
    pub const DEFAULT: Self = Self { request: Bytes(4 << 30), trim: Bytes(16 << 40) };

    /// Refuses a request that is too long.
    #[inline]
    pub fn check(&self, request: &Request) -> Result<(), Unexpected> {
        let most = if request.op == Op::Trim { self.trim } else { self.request };
        if request.len <= most.0 { Ok(()) } else { Err(too_long(request, most)) }
    }
}

#[cold]
fn too_long(request: &Request, most: Bytes) -> Unexpected {
    let (what, key) = match request.op {
        Op::Trim => ("trim", "max_trim"),
        Op::Read => ("read", "max_request"),
        Op::Write | Op::Flush => ("write", "max_request"),
    };
    Unexpected::new(
        format!("a {what} of {}", size(request.len)),
        format!("at most {most}, or more if workload.{key} says so (--set workload.{key}=...)"),
    )
}
