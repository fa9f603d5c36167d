//! How fast each registered buffer takes page accesses, without time.

use eraseblock_core::buffer;
use serde::Serialize;

use crate::drive::Scale;
use crate::goals::buffered_run;
use crate::measure::best;

/// Rate of one scheme.
#[derive(Debug, Clone, Serialize)]
pub struct Rate {
    /// The scheme.
    pub name: &'static str,
    /// Page accesses a second, in millions.
    pub rate: f64,
    /// Pages found / pages asked for.
    pub hit_ratio: f64,
    /// Flash operations that the accesses led to, each.
    pub flash_ops_per_access: f64,
    /// Hash of what was simulated.
    pub hash: String,
}

/// All registered buffers.
///
/// # Errors
/// A scheme fails.
pub fn rates(scale: Scale) -> Result<Vec<Rate>, String> {
    let scale = Scale { accesses: scale.accesses / 5, ..scale };
    buffer::registry()
        .iter()
        .map(|entry| {
            let run = best(scale.runs, || buffered_run(entry.name, scale), |run| run.serve_s)
                .map_err(|e| format!("{}: {e}", entry.name))?;
            Ok(Rate {
                name: entry.name,
                rate: scale.accesses as f64 / run.serve_s / 1e6,
                hit_ratio: run.report.hit_ratio.all.unwrap_or(0.0),
                flash_ops_per_access: run.report.flash_ops as f64 / scale.accesses as f64,
                hash: run.hash(),
            })
        })
        .collect()
}
