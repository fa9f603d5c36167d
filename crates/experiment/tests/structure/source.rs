//! The files of a crate, and which of them each one uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::paths::{Written, written};

/// A file of a crate, and what it uses.
#[derive(Debug, Default)]
pub struct File {
    /// Path below `src`, such as `load/mod.rs`.
    pub name: String,
    /// Files of the crate that it uses, each with the path that says so.
    pub uses: BTreeMap<usize, String>,
}

/// All files of a crate that are part of the product, tests apart.
#[derive(Debug)]
pub struct Source {
    pub files: Vec<File>,
}

/// A module while paths are followed.
struct Module {
    path: Vec<String>,
    written: Written,
}

impl Source {
    /// Reads `src` of a crate.
    pub fn read(src: &Path) -> Self {
        let mut names = Vec::new();
        collect(src, "", &mut names);
        // A library may have a program beside it, which uses it by its name as anybody else would.
        if names.iter().any(|name| name == "lib.rs") {
            names.retain(|name| name != "main.rs");
        }
        names.sort();
        let mut modules: Vec<(String, Module)> = names
            .into_iter()
            .map(|name| {
                let text =
                    fs::read_to_string(src.join(&name)).expect("a file that was just listed");
                let module = Module { path: module_path(&name), written: written(&text, &name) };
                (name, module)
            })
            .collect();
        let tests: Vec<Vec<String>> = modules
            .iter()
            .flat_map(|(_, module)| {
                module.written.tests.iter().map(|test| join(&module.path, test))
            })
            .collect();
        modules.retain(|(_, module)| !tests.iter().any(|test| module.path.starts_with(test)));
        let (names, modules): (Vec<_>, Vec<_>) = modules.into_iter().unzip();
        let tree = Tree::new(modules);
        let file = |(at, name)| File { name, uses: tree.uses(at) };
        Self { files: names.into_iter().enumerate().map(file).collect() }
    }
}

/// All `.rs` files below `folder`.
fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    for entry in
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let entry = entry.expect("an entry of a folder");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), names);
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            names.push(name);
        }
    }
}

/// `[load, tree]` for `load/tree.rs`, `[load]` for `load/mod.rs`, nothing for `lib.rs`.
pub fn module_path(name: &str) -> Vec<String> {
    let name = name.trim_end_matches(".rs");
    let mut path: Vec<String> = name.split('/').map(str::to_owned).collect();
    if matches!(path.last().map(String::as_str), Some("mod")) || matches!(name, "lib" | "main") {
        path.pop();
    }
    path
}

fn join(path: &[String], name: &str) -> Vec<String> {
    [path, &[name.to_owned()]].concat()
}

/// The modules of a crate by their paths.
struct Tree {
    modules: Vec<Module>,
    by_path: BTreeMap<Vec<String>, usize>,
}

impl Tree {
    fn new(modules: Vec<Module>) -> Self {
        let by_path =
            modules.iter().enumerate().map(|(at, module)| (module.path.clone(), at)).collect();
        Self { modules, by_path }
    }

    /// What the file `at` uses. A module declares its children; that is a use of them.
    fn uses(&self, at: usize) -> BTreeMap<usize, String> {
        let module = &self.modules[at];
        let mut uses = BTreeMap::new();
        for path in &module.written.paths {
            let found = self
                .start(at, path)
                .and_then(|(from, rest)| self.find(from, rest, &mut BTreeSet::new()));
            if let Some(found) = found.filter(|&found| found != at) {
                uses.entry(found).or_insert_with(|| path.join("::"));
            }
        }
        for child in &module.written.children {
            if let Some(&child) = self.by_path.get(&join(&module.path, child)) {
                uses.entry(child).or_insert_with(|| "mod".to_owned());
            }
        }
        uses
    }

    /// The module in which a path written in the file `at` begins, and the rest of the path.
    fn start<'p>(&self, at: usize, path: &'p [String]) -> Option<(usize, &'p [String])> {
        let here = &self.modules[at];
        let mut module = here.path.as_slice();
        match path.first()?.as_str() {
            "crate" => return Some((*self.by_path.get(&Vec::new())?, &path[1..])),
            "self" => return Some((at, &path[1..])),
            "super" => {}
            // A path that begins with a child, or with a name that a `use` of this file brings in.
            first
                if here.written.children.contains(first)
                    || here.written.names.contains_key(first) =>
            {
                return Some((at, path));
            }
            _ => return None,
        }
        let mut rest = path;
        while rest.first().is_some_and(|word| word == "super") {
            module = module.split_last()?.1;
            rest = &rest[1..];
        }
        Some((*self.by_path.get(module)?, rest))
    }

    /// The file in which the thing at `path`, seen from the module `at`, is written: names that a
    /// module brings in from elsewhere lead there.
    fn find(
        &self,
        at: usize,
        path: &[String],
        seen: &mut BTreeSet<(usize, Vec<String>)>,
    ) -> Option<usize> {
        let module = &self.modules[at];
        let Some((name, rest)) = path.split_first() else { return Some(at) };
        if !seen.insert((at, path.to_vec())) {
            return None;
        }
        if let Some(&child) = self.by_path.get(&join(&module.path, name)) {
            return self.find(child, rest, seen);
        }
        if let Some(target) = module.written.names.get(name) {
            let whole = [target.as_slice(), rest].concat();
            // A name from another crate, or of a macro of this file, is at home here.
            let Some((from, path)) = self.start(at, &whole) else { return Some(at) };
            return self.find(from, path, seen).or(Some(at));
        }
        Some(at)
    }
}
