//! Whether a file of the user may be replaced, for what Python writes.

use std::path::Path;

use eraseblock_traces::Place;

use crate::run::RunError;

/// Checks that there is nothing at `path`, or a regular file.
///
/// # Errors
/// Says what else is there.
pub fn check_replaceable(path: &Path) -> Result<(), RunError> {
    let named = |problem| RunError::Option(format!("{}: {problem}", path.display()));
    Place::to_replace(path).map(drop).map_err(named)
}
