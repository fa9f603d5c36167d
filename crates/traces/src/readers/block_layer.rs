//! What blkparse and blktrace, text and binary records of the Linux block layer, have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which event of a request's life in the Linux block layer is taken as the request; its time is
/// the arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    /// Q, as the file system asked: before requests are merged and sorted.
    Queue,
    /// D, as the drive was asked; a device made of others (LVM, RAID) has no such events.
    #[default]
    Issue,
    /// C, as the drive answered: the arrival is then the time of the answer.
    Complete,
}
