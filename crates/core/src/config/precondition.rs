//! The table `precondition`: the state of the drive before the first request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of the drive before the first request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PreconditionConfig {
    /// How the drive is filled.
    pub state: Precondition,
    /// Steady and workload: it counts as steady once write amplification over a full-drive write
    /// moved by less than this share.
    pub tolerance: f64,
    /// Steady and workload: give up after this many full-drive writes, and say so.
    pub max_drive_writes: u32,
    /// Image: the file, as `eraseblock serve` and `eraseblock image` keep one. It is read, and never
    /// changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

impl Default for PreconditionConfig {
    fn default() -> Self {
        Self { state: Precondition::Full, tolerance: 0.01, max_drive_writes: 10, image: None }
    }
}

/// How the drive is filled before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precondition {
    /// All flash erased.
    Empty,
    /// Every logical page written once, in order.
    Full,
    /// Filled, then overwritten at random until write amplification stays the same.
    Steady,
    /// Filled, then overwritten with what the workload writes and trims, in its order and past the
    /// buffer, again and again until write amplification stays the same.
    Workload,
    /// All flash erased, then all that the workload reads or writes written in one pass, in its order
    /// and past the buffer. So PSU's `FlashSim` warms its flash (`warmFlash`): what is read has been
    /// stored, and what the workload never touches has not.
    Trace,
    /// As the drive in an image is when a server opens it. `nand` and `ftl` have to be what they are
    /// there; buffer and host may be others.
    Image,
}

impl Precondition {
    /// Whether it ends when write amplification has settled.
    pub fn settles(self) -> bool {
        matches!(self, Self::Steady | Self::Workload)
    }
}
