//! The examples in the documentation are right.

use eraseblock_experiment::resolve;

#[test]
fn every_example_resolves() {
    let page = include_str!("../../../docs/experiments.md");
    let examples: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("an example ends"))
        .collect();
    let counts: Vec<usize> = examples
        .iter()
        .map(|text| {
            resolve(Some(text), "example.toml", &[])
                .unwrap_or_else(|error| panic!("{text}\n{error}"))
                .len()
        })
        .collect();
    assert_eq!(counts, [1, 1, 1, 18, 6, 1, 1, 1], "the runs of each example");
}

#[test]
fn the_error_that_is_shown_is_the_one_that_comes() {
    let file = "preset = \"nvme-tlc\"\n[workload]\npath = \"w\"\n\n[buffer]\nsiz = \"8 MiB\"\n";
    let line = resolve(Some(file), "mail.toml", &[]).unwrap_err().to_string();
    let page = include_str!("../../../docs/experiments.md");
    assert!(page.contains(&format!("\n    {line}\n")), "{line}");
}
