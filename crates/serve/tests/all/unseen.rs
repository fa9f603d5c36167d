//! Files that get their names when they are whole. Nothing outside can tell which kind a host has:
//! so both are made here.

#[path = "../../src/image/unseen.rs"]
mod file;

use std::fs;
use std::io::Write as _;

use file::{hidden_file, new_file};

#[test]
fn a_new_file_is_seen_when_it_is_whole_and_replaces_nothing() {
    for make in [new_file, hidden_file] {
        let folder = tempfile::tempdir().unwrap();
        let [whole, taken, dropped] =
            ["whole", "taken", "dropped"].map(|name| folder.path().join(name));
        let (mut file, new) = make(&whole).unwrap();
        file.write_all(b"all of it").unwrap();
        assert!(!whole.exists());
        new.publish().unwrap();
        assert_eq!(fs::read(&whole).unwrap(), b"all of it");

        let (_, new) = make(&taken).unwrap();
        fs::write(&taken, "another's").unwrap();
        assert!(new.publish().is_err());
        assert_eq!(fs::read(&taken).unwrap(), b"another's");

        drop(make(&dropped).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(make(&folder.path().join("none/image")).is_err());
    }
}
