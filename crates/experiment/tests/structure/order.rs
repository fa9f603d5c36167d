//! The order of a crate's folders, as ARCHITECTURE.md lists it.

use std::collections::BTreeSet;

use super::source::Source;

/// The heading above the table.
const HEADING: &str = "## Who may use whom";

/// The folders and files of `krate`, such as `crates/traces`, each of which may use those before
/// it.
///
/// # Panics
/// The page has no such row.
pub fn listed(page: &str, krate: &str) -> Vec<String> {
    let (_, section) =
        page.split_once(HEADING).unwrap_or_else(|| panic!("ARCHITECTURE.md has no `{HEADING}`"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let begin = format!("| `{krate}` | ");
    let row = section.lines().find_map(|line| line.strip_prefix(&begin));
    let row =
        row.unwrap_or_else(|| panic!("`{HEADING}` in ARCHITECTURE.md has no row for `{krate}`"));
    row.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Each use against the order, each folder that is not listed, and each that is listed and not
/// there, as a sentence.
pub fn violations(source: &Source, order: &[String]) -> Vec<String> {
    let tops: BTreeSet<&str> = source.files.iter().filter_map(|file| top(&file.name)).collect();
    let mut found = Vec::new();
    for top in &tops {
        if !order.iter().any(|listed| listed == top) {
            found.push(format!("`{top}` is not listed in ARCHITECTURE.md, `{}`", &HEADING[3..]));
        }
    }
    for listed in order {
        if !tops.contains(listed.as_str()) {
            found.push(format!(
                "`{listed}` is listed in ARCHITECTURE.md, and there is no such folder or file"
            ));
        }
    }
    let place = |name: &str| top(name).map(|top| order.iter().position(|listed| listed == top));
    for file in &source.files {
        // What puts the crate together uses all of it.
        let Some(here) = place(&file.name) else { continue };
        for (&used, path) in &file.uses {
            let used = &source.files[used].name;
            let upward = match place(used) {
                Some(there) => here < there,
                None => true,
            };
            if upward {
                found.push(format!("{} uses {used} ({path}), which comes after it", file.name));
            }
        }
    }
    found
}

/// The folder directly below `src` that a file lies in, or the file itself; none for the root of
/// the crate.
fn top(name: &str) -> Option<&str> {
    let top = name.split('/').next().unwrap_or(name).trim_end_matches(".rs");
    (!matches!(name, "lib.rs" | "main.rs")).then_some(top)
}
