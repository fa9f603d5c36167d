//! `make gate`: instructions of the engine's paths, each beside a committed baseline. A change that
//! makes a path dearer by more than [`LIMIT`] has to say so: `make gate BLESS=1`, and CHANGELOG.md.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A command line prints.

mod baseline;
mod paths;
mod valgrind;

use std::path::Path;
use std::process::ExitCode;

use baseline::{Baseline, LIMIT};

const HELP: &str = "\
Instructions of the engine's paths, counted by valgrind, beside the baseline.

Usage:
  eraseblock-gate BASELINE            compare with it; exit code 1 where a path has become dearer
  eraseblock-gate BASELINE --bless    write it
  eraseblock-gate --run PART          run the paths of a part: what valgrind counts
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["--run", part] => part.parse().map_err(|_| format!("{part}: no part")).and_then(run),
        [file] if !file.starts_with('-') => compare(Path::new(file)),
        [file, "--bless"] => bless(Path::new(file)),
        _ => {
            print!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(part: usize) -> Result<bool, String> {
    for path in paths::part(part) {
        path.run(valgrind::border_of_count)?;
    }
    Ok(true)
}

/// What has been counted now, or nothing without valgrind.
fn count() -> Result<Option<Baseline>, String> {
    let Some(counts) = valgrind::count_all()? else {
        println!("skipped: valgrind is not installed (Debian: apt install valgrind)");
        return Ok(None);
    };
    Ok(Some(Baseline::new(counts)))
}

fn compare(file: &Path) -> Result<bool, String> {
    let Some(now) = count()? else { return Ok(true) };
    let before = Baseline::read(file)?;
    let changes = before.compare(&now);
    for change in &changes {
        println!("{change}");
    }
    let dearer = changes.iter().filter(|change| change.is_worse()).count();
    println!(
        "{} paths counted, {dearer} dearer by more than {} %, or not in the baseline",
        now.len(),
        LIMIT * 100.0
    );
    if before.compiler != now.compiler {
        println!("the baseline is of {}, this is {}: nothing fails", before.compiler, now.compiler);
        return Ok(true);
    }
    if changes.len() > dearer {
        println!("what is cheaper now may become as dear again unnoticed: make gate BLESS=1");
    }
    if dearer > 0 {
        println!("if that is meant: make gate BLESS=1, and say why in CHANGELOG.md");
    }
    Ok(dearer == 0)
}

fn bless(file: &Path) -> Result<bool, String> {
    let Some(now) = count()? else { return Ok(false) };
    now.write(file)?;
    println!("{}: {} paths", file.display(), now.len());
    Ok(true)
}
