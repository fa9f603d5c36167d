//! Counts depend on the compiler and what it compiles for: says which these were.

use std::process::Command;

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = Command::new(rustc).arg("--version").output();
    let version = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    let target = std::env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=GATE_COMPILER={} {target}", version.unwrap_or_default());
    println!("cargo::rerun-if-env-changed=RUSTC");
}
