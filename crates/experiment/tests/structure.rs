//! The source of each crate has one direction: no files use one another in a circle, and folders
//! keep the order that ARCHITECTURE.md lists.

mod circles;
mod order;
mod paths;
mod source;

use std::fs;
use std::path::Path;

use source::Source;

/// The crates that are held to it.
const CRATES: &[&str] = &["core", "traces", "experiment", "nbd", "serve", "py", "bench"];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// What is wrong in each crate.
fn problems(check: impl Fn(&str, &Source) -> Vec<String>) -> Vec<String> {
    let of_crate = |name: &&str| {
        let source = Source::read(&root().join("crates").join(name).join("src"));
        let found = check(name, &source);
        found.into_iter().map(|problem| format!("crates/{name}/src: {problem}")).collect::<Vec<_>>()
    };
    CRATES.iter().flat_map(of_crate).collect()
}

#[test]
fn no_files_use_one_another_in_a_circle() {
    let found = problems(|_, source| circles::circles(source));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn folders_use_only_those_listed_before_them() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let found = problems(|name, source| {
        order::violations(source, &order::listed(&page, &format!("crates/{name}")))
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// `debug_assert!` says nothing in a crate whose tests are compiled without.
#[test]
fn crates_tested_without_debug_assertions_have_none() {
    let cargo = fs::read_to_string(root().join("Cargo.toml")).expect("the workspace");
    let cargo: toml::Table = cargo.parse().expect("a table");
    let packages = cargo["profile"]["dev"]["package"].as_table().expect("packages");
    let mut held = 0;
    for (package, profile) in packages {
        let Some(name) = package.strip_prefix("eraseblock-") else { continue };
        if profile.get("debug-assertions").and_then(toml::Value::as_bool) != Some(false) {
            continue;
        }
        held += 1;
        assert_eq!(profile["overflow-checks"].as_bool(), Some(true), "{package}");
        check_no_debug_assertions(&root().join("crates").join(name));
    }
    assert!(held > 0, "no crate is tested without; this test can go");
}

fn check_no_debug_assertions(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            check_no_debug_assertions(&path);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let found = text.contains("debug_assert") && !path.ends_with("tests/structure.rs");
            assert!(!found, "{}: use assert!", path.display());
        }
    }
}

/// A made-up crate.
fn made_up(files: &[(&str, &str)]) -> Source {
    let folder = tempfile::tempdir().expect("a folder for files that pass");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("files lie in folders")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    Source::read(folder.path())
}

/// Who uses whom, as `a -> b`.
fn uses(source: &Source) -> Vec<String> {
    let name = |at: usize| source.files[at].name.trim_end_matches(".rs");
    let of_file = |(at, file): (usize, &source::File)| {
        file.uses
            .keys()
            .map(move |&used| format!("{} -> {}", name(at), name(used)))
            .collect::<Vec<_>>()
    };
    source.files.iter().enumerate().flat_map(of_file).collect()
}

#[test]
fn paths_are_followed_to_the_file_where_the_thing_is() {
    let source = made_up(&[
        ("lib.rs", "mod a;\nmod b;\npub use a::One;"),
        ("a/mod.rs", "mod deep;\npub use deep::{One, Two as Three};\nuse std::fmt;"),
        ("a/deep.rs", "pub struct One;\npub struct Two;\npub fn two() {}"),
        (
            "b.rs",
            "use crate::One;\n#[cfg(test)]\nmod tests { use crate::c::X; }\nfn f() { json!({\"x\": \
             [crate::a::deep::two()]}) }",
        ),
    ]);
    assert_eq!(
        uses(&source),
        ["a/mod -> a/deep", "b -> a/deep", "lib -> a/deep", "lib -> a/mod", "lib -> b"]
    );
}

#[test]
fn circles_are_found_and_a_folder_may_use_its_own_files() {
    let plain = [
        ("lib.rs", "mod a;\nmod b;"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "fn f(x: super::a::A) {}"),
    ];
    let found = circles::circles(&made_up(&plain));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("a.rs uses b.rs (crate::b::B)"), "{found:?}");

    let folder = [
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod one;\nmod two;\npub struct A;"),
        ("a/one.rs", "use super::A;"),
        ("a/two.rs", "use super::one::x;\nuse super::A;"),
    ];
    assert_eq!(circles::circles(&made_up(&folder)), [""; 0]);
    let mut with_circle = folder;
    with_circle[2].1 = "use super::A;\nuse super::two::y;";
    assert_eq!(circles::circles(&made_up(&with_circle)).len(), 1);

    // Through a folder's own file, and back from outside.
    let through = [
        ("lib.rs", "mod a;\nmod b;"),
        ("a/mod.rs", "mod one;\npub struct A;"),
        ("a/one.rs", "use crate::b::B;"),
        ("b.rs", "use crate::a::A;"),
    ];
    assert_eq!(circles::circles(&made_up(&through)).len(), 1);
}

#[test]
fn uses_against_the_order_are_found() {
    let source = made_up(&[
        ("lib.rs", "mod a;\nmod b;\npub const X: u8 = 1;"),
        ("a/mod.rs", "use crate::b::B;"),
        ("b.rs", "const Y: u8 = crate::X;"),
    ]);
    let order = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        order::violations(&source, &order(&["b", "a"])),
        ["b.rs uses lib.rs (crate::X), which comes after it"]
    );
    let found = order::violations(&source, &order(&["a", "b"]));
    assert_eq!(found[0], "a/mod.rs uses b.rs (crate::b::B), which comes after it");
    let found = order::violations(&source, &order(&["b", "c"]));
    assert!(
        found[0].starts_with("`a` is not listed") && found[1].starts_with("`c` is listed"),
        "{found:?}"
    );

    let page = "## Who may use whom\n\n| crate | order |\n| --- | --- |\n| `crates/x` | `b`, `a` \
        |\n\n## Else\n";
    assert_eq!(order::listed(page, "crates/x"), ["b", "a"]);
}
