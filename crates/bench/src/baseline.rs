//! The committed figures, beside which new ones are shown. `--bless` writes them; a machine that is
//! used for other things at the same time gives none worth keeping.

use std::fmt::Write as _;
use std::path::Path;

/// Where they are kept.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/baseline.txt");

/// The figure of this name, if there is one: a name and a number in each line.
pub fn of(name: &str) -> Option<f64> {
    let known = include_str!("../baseline.txt").lines().filter_map(|line| line.split_once(' '));
    known.into_iter().find(|(other, _)| *other == name)?.1.parse().ok()
}

/// Keeps these figures, and says where.
///
/// # Errors
/// The file cannot be written.
pub fn bless(figures: impl Iterator<Item = (&'static str, f64)>) -> Result<&'static str, String> {
    let mut text = String::new();
    for (name, value) in figures {
        let _ = writeln!(text, "{name} {value:.4}");
    }
    std::fs::write(Path::new(FILE), text).map_err(|e| format!("{FILE}: {e}"))?;
    Ok(FILE)
}
