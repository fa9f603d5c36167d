//! An access, and a flush command with one page to write, costs as many instructions in a buffer of
//! 16 MiB as in one of 1 MiB, whatever the scheme.

#![allow(clippy::print_stderr)] // A test that cannot run says so.

use std::process::Command;

#[test]
fn accesses_and_flush_commands_cost_the_same_in_buffers_of_all_sizes() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: instructions per access; valgrind is not installed");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_eraseblock-bench"))
        .args(["instructions", "--quick", "--json"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let costs = found["instructions"].as_array().unwrap();
    assert_eq!(costs.len(), 2 * eraseblock_core::buffer::registry().len());
    // A page access takes some work: counting nothing would show up here.
    assert!(costs.iter().all(|c| c["instructions"][0][1].as_f64().unwrap() > 20.0), "{text}");
}
