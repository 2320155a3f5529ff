//! Reports that implementations have published, where they are at hand.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Their folder, and every file in it in order of path. Where there are none, it says that the check is left out.
pub fn reports() -> Option<(PathBuf, Vec<PathBuf>)> {
    let data = std::env::var_os("GATEPROOF_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let folder = data.join("official-reports");
    if !folder.is_dir() {
        // Outside of the capture of tests, for CI to count.
        let told = b"skipped: reports: there are no published reports (set GATEPROOF_DATA)\n";
        std::io::stderr().write_all(told).unwrap();
        return None;
    }
    let mut files = Vec::new();
    yaml_files(&folder, &mut files);
    files.sort();
    assert!(files.len() > 100, "only {} reports found", files.len());
    Some((folder, files))
}

fn yaml_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, into);
        } else if path.extension().is_some_and(|e| e == "yaml") {
            into.push(path);
        }
    }
}
