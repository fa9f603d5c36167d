//! Whatever is written, the answer is experiments or one line; never a panic, a hang or a page of
//! text.

use eraseblock_experiment::{Experiment, resolve};
use proptest::prelude::*;

const FILE: &str = r#"name = "x"
preset = ["hbm-2010", "nvme-tlc"] # two drives
seed = 0x10
[workload]
generate = { kind = "zipf", requests = 5, footprint = "1 MiB", theta = 0.9 }
[buffer]
size = ["1 MiB", '2 MiB']
scheme = ["lru", { kind = "bplru", padding = [true, false] }]
[nand.timing]
read = "25us"
[host]
speedup = 1.5
"#;

/// Bits of TOML that make more trouble than random letters do.
const BITS: &[&str] = &[
    "[", "]", "{", "}", "=", "\"", "'''", "\n", ".", ",", "#", "kind", "scheme", "1e400", "nan",
    "é", "\0",
];

fn answer(file: &str, sets: &[String]) {
    match resolve(Some(file), "f.toml", sets) {
        Ok(experiments) => {
            for experiment in experiments.iter().take(20) {
                assert_eq!(&Experiment::from_json(&experiment.to_json()).unwrap(), experiment);
            }
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.contains(": "), "{line:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("ERASEBLOCK_SOAK").is_some() { 20_000 } else { 600 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_answered(
        cut in 0..FILE.len(),
        length in 0_usize..30,
        bits in prop::collection::vec(0..BITS.len(), 0..4),
    ) {
        let end = (cut + length).min(FILE.len());
        let middle: String = bits.iter().map(|&bit| BITS[bit]).collect();
        answer(&format!("{}{middle}{}", &FILE[..cut], &FILE[end..]), &[]);
    }

    #[test]
    fn any_text_is_answered(text in "\\PC{0,60}", set in "\\PC{0,30}") {
        answer(&text, &[]);
        answer(FILE, std::slice::from_ref(&set));
        answer(FILE, &[format!("buffer.scheme={set}")]);
        answer(FILE, &[format!("{set}=1")]);
        answer(FILE, &[format!("workload.generate.{set}=[1,a]")]);
    }
}
