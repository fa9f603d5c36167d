//! Power cuts: what came back, page by page, and what the drive did until then.

use eraseblock_core::device::{Device, DeviceError, Fate, Options};
use eraseblock_core::support::ids::Lpn;
use eraseblock_experiment::resolve;
use serde_json::{Value, json};

use super::digest::Digest;
use super::workload;

/// Completions of flash operations after which power fails.
const CUTS: [u64; 4] = [40, 300, 900, 1_500];

/// Of a drive that is cut, comes back, and is cut again as the same drive.
pub fn digest(file: &str, sets: &[String]) -> Digest {
    let file = format!("{file}\n[workload.generate]\nkind = \"uniform\"\n");
    let experiment = resolve(Some(&file), "golden.toml", sets)
        .unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    let config = experiment[0].device();
    Digest::of(
        &Value::Object(
            CUTS.iter().map(|&cut| (format!("cut-{cut}"), back_after(&config, cut))).collect(),
        ),
        b"",
    )
}

fn back_after(config: &eraseblock_core::config::DeviceConfig, completions: u64) -> Value {
    let mut drive =
        Device::new(config, Options { verify: true }).expect("a drive that can be built");
    drive.precondition().expect("a drive that can be filled");
    drive.cut_after(drive.completions() + completions);
    for request in workload::requests() {
        match drive.submit(&request) {
            Ok(()) => {}
            Err(DeviceError::PowerCut) => break,
            Err(error) => return json!(error.to_string()),
        }
    }
    let counters = drive.counters().clone();
    let mut fates = [Fate::Done, Fate::Torn, Fate::Absent].into_iter().cycle();
    let crash = drive.cut(|_| fates.next().expect("it goes round")).expect("a verified drive");
    let back =
        Device::recover(config, crash).unwrap_or_else(|error| panic!("{completions}: {error}"));
    let pages = (back.exported_bytes() / back.page_bytes()) as u32;
    let versions: Vec<u32> = (0..pages).map(|page| back.stored_version(Lpn(page))).collect();
    let places: Vec<Option<u32>> =
        (0..pages).map(|page| back.mapping().lookup(Lpn(page)).map(|ppn| ppn.0)).collect();
    json!({"versions": versions, "places": places, "before": format!("{counters:?}"), "wear": back.erases()})
}
