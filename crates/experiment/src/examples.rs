//! The examples of buffer schemes, played, as JSON: for the documentation and for `list`.

use eraseblock_core::buffer;
use eraseblock_core::example::{self, Step};
use eraseblock_core::metrics::observer::Decision;
use serde_json::{Value as Json, json};

use crate::run::push_line;

/// Each example of a buffer scheme with every step of it (the request, the lines that `--events`
/// would write, and what the buffer holds then), as JSON; null where there is no such scheme.
pub fn examples_json(name: &str) -> String {
    let entry = buffer::registry().iter().find(|entry| entry.name == name);
    let played = entry.map(|entry| {
        let examples = entry.about.examples.iter();
        examples.map(|example| {
            let steps = example::play(name, example).expect("examples are tested");
            let mut table = json!(example);
            table["steps"] = steps.iter().map(step).collect();
            table
        })
    });
    json!(played.map(Iterator::collect::<Vec<_>>)).to_string()
}

fn step(step: &Step) -> Json {
    let lines = step.decided.iter().map(|decided| {
        let mut line = Vec::new();
        let occasion = decided.occasion.clone();
        push_line(
            &mut line,
            &Decision { request: decided.request, occasion, outcome: &decided.outcome },
        );
        serde_json::from_slice::<Json>(&line).expect("a line is JSON")
    });
    json!({"asked": step.asked, "events": lines.collect::<Vec<_>>(), "state": step.state})
}
