//! Circles among the files of a crate.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use super::source::{Source, module_path};

/// Each circle as a sentence. A `mod.rs` may use what is below it and be used by it; everything
/// else has an order.
pub fn circles(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    check(source, &(0..source.files.len()).collect::<Vec<_>>(), &mut found);
    found
}

/// Looks for circles among these files. One that goes through a `mod.rs` and files below it alone
/// may stay, if there is none without that `mod.rs`.
fn check(source: &Source, files: &[usize], found: &mut Vec<String>) {
    for circle in components(source, files) {
        let above = |&file: &usize| {
            let top = module_path(&source.files[file].name);
            circle.iter().all(|&other| module_path(&source.files[other].name).starts_with(&top))
        };
        match circle.iter().copied().find(|file| above(file)) {
            Some(top) => {
                let rest: Vec<_> = circle.iter().copied().filter(|&file| file != top).collect();
                check(source, &rest, found);
            }
            None => found.push(describe(source, &circle)),
        }
    }
}

/// The shortest way around, a line for each step.
fn describe(source: &Source, circle: &[usize]) -> String {
    let ways = circle.iter().filter_map(|&file| way_back(source, circle, file));
    let way = ways.min_by_key(Vec::len).expect("each file of a circle leads back to itself");
    let name = |file: usize| source.files[file].name.as_str();
    let mut text = format!("{} files use one another in a circle, such as", circle.len());
    for (&from, &to) in way.iter().zip(way.iter().cycle().skip(1)) {
        let said = &source.files[from].uses[&to];
        write!(text, "\n    {} uses {} ({said})", name(from), name(to))
            .expect("memory takes everything");
    }
    text
}

/// The shortest way from a file through others of the circle back to it.
fn way_back(source: &Source, circle: &[usize], start: usize) -> Option<Vec<usize>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut reached = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for &next in source.files[*way.last()?].uses.keys().filter(|next| circle.contains(next)) {
            if next == start {
                return Some(way);
            }
            if reached.insert(next) {
                ways.push_back([way.as_slice(), &[next]].concat());
            }
        }
    }
    None
}

/// Sets of more than one file each of which can be reached from each other (Tarjan's strongly
/// connected components).
fn components(source: &Source, files: &[usize]) -> Vec<Vec<usize>> {
    let mut search = Search {
        source,
        within: (0..source.files.len()).map(|file| files.contains(&file)).collect(),
        reached: vec![None; source.files.len()],
        lowest: vec![0; source.files.len()],
        open: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    for &file in files {
        if search.reached[file].is_none() {
            search.visit(file);
        }
    }
    search.found
}

struct Search<'s> {
    source: &'s Source,
    within: Vec<bool>,
    /// When a file was reached.
    reached: Vec<Option<usize>>,
    /// The earliest that can be reached from a file.
    lowest: Vec<usize>,
    open: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, file: usize) {
        let number = self.count;
        self.count += 1;
        self.reached[file] = Some(number);
        self.lowest[file] = number;
        self.open.push(file);
        let source = self.source;
        for &used in source.files[file].uses.keys() {
            if !self.within[used] {
                continue;
            }
            match self.reached[used] {
                None => {
                    self.visit(used);
                    self.lowest[file] = self.lowest[file].min(self.lowest[used]);
                }
                Some(when) if self.open.contains(&used) => {
                    self.lowest[file] = self.lowest[file].min(when);
                }
                Some(_) => {}
            }
        }
        if self.lowest[file] == number {
            let begin =
                self.open.iter().position(|&open| open == file).expect("it was opened above");
            let mut circle = self.open.split_off(begin);
            if circle.len() > 1 {
                circle.sort_unstable();
                self.found.push(circle);
            }
        }
    }
}
