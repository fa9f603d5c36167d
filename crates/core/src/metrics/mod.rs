//! What a run reports: counts by cause, latencies, and the laws that they must obey.

pub mod bounds;
pub mod counters;
pub mod latency;
pub mod patterns;
pub mod report;
pub mod series;
pub mod wear;

pub use counters::Counters;
pub use latency::Latency;
pub use patterns::Patterns;
pub use report::Report;
pub use series::Series;
pub use wear::Wear;
