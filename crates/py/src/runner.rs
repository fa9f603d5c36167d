//! What this process shares between its runs.

use std::sync::LazyLock;

use eraseblock_experiment::Runner;

/// Reads each workload once for all runs of this process.
pub(crate) static RUNNER: LazyLock<Runner> = LazyLock::new(Runner::default);
