//! Requests that a program holds in memory, in the place of a trace file.

use std::fmt;
use std::sync::Arc;

use eraseblock_core::host::{Op, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::TraceError;
use crate::input::hex;

/// Requests that a program holds, known by the sha256 of their content. A configuration has the
/// hash alone; whoever runs it brings the requests ([`super::WorkloadConfig::give`]).
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Given {
    sha256: String,
    #[serde(skip)]
    requests: Option<Arc<[Request]>>,
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").field("sha256", &self.sha256).finish_non_exhaustive()
    }
}

/// Those with the same content are the same, wherever they are.
impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        self.sha256 == other.sha256
    }
}

impl Given {
    /// Requests in order of time.
    ///
    /// # Errors
    /// Names the first request that comes before the one above it, that asks for no bytes, or that
    /// ends beyond what 64 bits can say.
    pub fn new(requests: impl Into<Arc<[Request]>>) -> Result<Self, TraceError> {
        let requests: Arc<[Request]> = requests.into();
        let mut hash = Sha256::new();
        let mut last = 0;
        for (number, request) in requests.iter().enumerate() {
            let wrong = |what: String| TraceError::request(number as u64, what);
            if request.arrival_ns < last {
                let at = request.arrival_ns;
                return Err(wrong(format!(
                    "comes at {at} ns, before the one above it ({last} ns)"
                )));
            }
            last = request.arrival_ns;
            if request.op != Op::Flush && request.len == 0 {
                return Err(wrong("asks for no bytes".to_owned()));
            }
            if request.offset.checked_add(request.len).is_none_or(|end| end > i64::MAX as u64) {
                let (len, offset) = (request.len, request.offset);
                return Err(wrong(format!("asks for {len} bytes at {offset}, beyond any drive")));
            }
            let mut bytes = [0; 26];
            bytes[..8].copy_from_slice(&request.arrival_ns.to_le_bytes());
            bytes[8..16].copy_from_slice(&request.offset.to_le_bytes());
            bytes[16..24].copy_from_slice(&request.len.to_le_bytes());
            bytes[24..].copy_from_slice(&[request.op as u8, u8::from(request.fua)]);
            hash.update(bytes);
        }
        // Apart from the rest, so that requests of volume 0 alone are known as they ever were.
        if requests.iter().any(|request| request.volume != 0) {
            requests.iter().for_each(|request| hash.update(request.volume.to_le_bytes()));
        }
        if i64::try_from(last).is_err() {
            let number = requests.len() as u64 - 1;
            return Err(TraceError::request(number, format!("comes at {last} ns, in 292 years")));
        }
        Ok(Self { sha256: hex(&hash.finalize()), requests: Some(requests) })
    }

    /// Of all that is in them.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The requests.
    ///
    /// # Errors
    /// Nobody has brought them.
    pub fn requests(&self) -> Result<&Arc<[Request]>, TraceError> {
        self.requests.as_ref().ok_or_else(|| {
            TraceError::key(
                "given",
                "these requests are in the memory of the program that made them, and nowhere else; \
                 name a trace file with path",
            )
        })
    }
}
