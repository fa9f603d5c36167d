//! The table `host`: how requests reach the drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How requests reach the drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// Arrival times of the workload, or a constant number of requests under way, or no time at
    /// all.
    pub replay: Replay,
    /// Requests admitted at once (open), or always under way (closed).
    pub max_outstanding: u32,
    /// Open loop: arrival times are divided by this.
    pub speedup: f64,
    /// What a request does that covers part of a page.
    pub partial_page: PartialPage,
    /// The first so many requests are served as all others and not measured: all figures are those
    /// of the requests after them.
    pub warm_up: u64,
    /// What happens to the buffer's dirty pages after the last request.
    pub end_of_run: EndOfRun,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            replay: Replay::Open,
            max_outstanding: 32,
            speedup: 1.0,
            partial_page: PartialPage::ReadModifyWrite,
            warm_up: 0,
            end_of_run: EndOfRun::Keep,
        }
    }
}

/// Where arrival times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replay {
    /// The workload's own arrival times.
    Open,
    /// The next request arrives when one of `max_outstanding` completes.
    Closed,
    /// No time: counts only, latencies are null.
    Untimed,
}

/// What a request does that covers part of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialPage {
    /// A write reads the rest of the page first, if it is not in the buffer.
    ReadModifyWrite,
    /// It stands for the whole page, as in the papers.
    Round,
}

/// What happens to the buffer's dirty pages after the last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndOfRun {
    /// They stay in the buffer and are not counted.
    Keep,
    /// They are flushed and counted; log blocks that are open stay open.
    Flush,
    /// They are flushed and counted, and all log blocks are merged and counted.
    Merge,
}
