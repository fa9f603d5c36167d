//! Counting what a part of a process executes.
//!
//! Callgrind writes what it has counted whenever [`border_of_count`] is entered, so that building
//! and filling a drive does not count.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::paths::{self, PARTS};

/// Callgrind looks for this name.
#[inline(never)]
pub fn border_of_count() {
    black_box(0);
}

/// Instructions of every path, for each of its steps; `None` without valgrind.
///
/// # Errors
/// A child fails, or says something unexpected.
pub fn count_all() -> Result<Option<BTreeMap<String, f64>>, String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(None);
    }
    // Always so many processes, whatever the machine: a path follows the same ones everywhere.
    let parts: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..PARTS).map(|part| scope.spawn(move || count(part))).collect();
        all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a panic".into()))).collect()
    });
    let mut all = BTreeMap::new();
    for counts in parts {
        all.extend(counts?);
    }
    Ok(Some(all))
}

fn count(part: usize) -> Result<Vec<(String, f64)>, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what} part {part}: {error}");
    let program = std::env::current_exe().map_err(|e| failed("finding the program of", &e))?;
    // Beside the program, where each run writes them anew: for a folder of their own a library
    // would have to be compiled.
    let file = program.with_file_name(format!("counts-{part}"));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-before=*border_of_count*"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(["--run", &part.to_string()])
        .output()
        .map_err(|e| failed("starting valgrind for", &e))?;
    if !output.status.success() {
        return Err(failed("counting", &String::from_utf8_lossy(&output.stderr)));
    }
    let total = |number: usize, path: &paths::Path| {
        // One is written when a path begins, of what was before it, and one when it ends.
        let file = file.with_extension((2 * (number + 1)).to_string());
        let total = read_total(&file).map_err(|e| failed("reading the counts of", &e))?;
        Ok((path.name.clone(), total as f64 / path.steps() as f64))
    };
    paths::part(part).iter().enumerate().map(|(number, path)| total(number, path)).collect()
}

fn read_total(file: &Path) -> Result<u64, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
    total.ok_or_else(|| format!("{}: no total", file.display()))
}
