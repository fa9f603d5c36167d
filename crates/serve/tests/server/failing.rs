//! Drives that fail while they are served, and what is left of them.

use eraseblock_core::config::DeviceConfig;
use eraseblock_serve::{Drive, Recorder};
use eraseblock_traces::{DriveShape, WorkloadConfig};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::common::client::Client;
use super::common::{self, Model};
use super::{Server, ended, ordered};

/// An image of a drive whose blocks bear few erases.
fn short_lived(folder: &std::path::Path, buffer: serde_json::Value) -> std::path::PathBuf {
    let path = folder.join("page");
    let config = common::config(&json!("page"), buffer);
    let mut config = serde_json::to_value(config).unwrap();
    config["nand"]["endurance"] = 3.into();
    Drive::create(&path, &DeviceConfig::from_json(config).unwrap()).unwrap();
    path
}

/// Random requests until one fails; as it was before that one.
fn wear_out(model: &mut Model, client: &mut Client) -> Model {
    let mut rng = Pcg64Mcg::seed_from_u64(6);
    for _ in 0..20_000 {
        let before = model.clone();
        if model.step(client, &mut rng).is_err() {
            return before;
        }
    }
    panic!("the drive has not failed");
}

/// What was asked until the drive failed is a trace, and the report says so.
#[test]
fn a_recording_outlasts_the_drive() {
    let folder = tempfile::tempdir().unwrap();
    let path = short_lived(folder.path(), json!({"scheme": "lru", "size": "64 KiB"}));
    let mut server = Server::start_with(&path, "record control");
    let mut client = server.client();
    let mut model = Model::new(&mut client);
    wear_out(&mut model, &mut client);
    let stats = ordered(&path, r#"{"order": "stats"}"#);
    let asked = stats["done"]["recorded"].as_u64().unwrap();
    assert!(asked > 300, "{asked}");
    assert!(server.end().success());
    let ended = ended(&path);
    assert!(ended["failed"].is_string(), "{ended}");
    assert_eq!((&ended["recorded"], &ended["recording_failed"]), (&json!(asked), &json!(null)));
    let trace = path.with_extension("ebt");
    let workload = WorkloadConfig::trace(trace.to_str().unwrap()).prepare(folder.path()).unwrap();
    let shape = DriveShape { exported_bytes: 1 << 20, page_bytes: 4096, block_bytes: 8 * 4096 };
    assert_eq!(workload.fit(shape).unwrap().requests().count() as u64, asked);
    let again = Recorder::create(&trace, Vec::new()).unwrap_err();
    assert!(again.to_string().contains("exists already"), "{again}");
}

/// What a capacitor would save cannot be stored by a drive that is worn out: no order makes it go
/// through that, all that was answered can be read, and what was flushed is in the image.
#[test]
fn a_worn_out_drive_keeps_what_its_capacitor_would_save() {
    let folder = tempfile::tempdir().unwrap();
    let buffer = json!({"scheme": "lru", "size": "64 KiB", "power_loss": "capacitor"});
    let path = short_lived(folder.path(), buffer);
    let mut server = Server::start_with(&path, "control");
    let mut client = server.client();
    let mut model = Model::new(&mut client);
    let before = wear_out(&mut model, &mut client);
    model.compare_either(&before, &mut client);
    let stats = ordered(&path, r#"{"order": "stats"}"#);
    assert!(stats["done"]["buffered_pages"].as_u64().unwrap() > 0, "{stats}");
    let refused = ordered(&path, r#"{"order": "power-cut"}"#);
    assert!(refused["error"].as_str().unwrap().contains("RAM holds"), "{refused}");
    model.compare_either(&before, &mut client);
    assert!(server.end().success());
    let (mut drive, _) = Drive::open(&path, false).unwrap();
    model.or(&before).power_was_cut(&mut drive);
}
