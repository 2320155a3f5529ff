//! What the harness judges by, as data: scenario manifests, features, profiles, requirements and the names of upstream
//! tests. Tables are read once and are known to be well-formed, which this package's tests prove.

mod blind;
pub mod contracts;
pub mod dialects;
mod features;
mod requirements;
mod upstream;

pub use blind::{BlindSpot, blind_spot, blind_spots};
pub use features::{
    Channel, Feature, Membership, NEWEST_MINOR, Profile, current_name, features, profiles, profiles_of,
};
pub use requirements::{Level, Requirement, TestKind, requirement, requirements};
pub use upstream::{UpstreamTest, upstream_test, upstream_tests};

use include_dir::{Dir, include_dir};
use serde::de::DeserializeOwned;

/// Every scenario manifest: one folder a suite.
pub static MANIFESTS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../manifests");

/// Every scenario manifest of Gateway API as path below `manifests` and text, in order of path.
pub fn manifests() -> Vec<(&'static str, &'static str)> {
    manifests_of("gateway-api")
}

/// The scenario manifests of a dialect, as path below `manifests` and text, in order of path; none if there is no such folder.
pub fn manifests_of(dialect: &str) -> Vec<(&'static str, &'static str)> {
    let mut all = Vec::new();
    if let Some(folder) = MANIFESTS.get_dir(dialect) {
        collect(folder, &mut all);
    }
    all.sort_unstable();
    all
}

fn collect(dir: &'static Dir<'static>, into: &mut Vec<(&'static str, &'static str)>) {
    for file in dir.files() {
        if let (Some(path), Some(text)) = (file.path().to_str(), file.contents_utf8())
            && path.ends_with(".yaml")
        {
            into.push((path, text));
        }
    }
    dir.dirs().for_each(|sub| collect(sub, into));
}

/// A table that was compiled in. Not being well-formed would be a mistake of this package, which its tests catch.
fn table<T: DeserializeOwned>(name: &str, text: &str) -> Vec<T> {
    match serde_yaml::from_str(text) {
        Ok(table) => table,
        Err(error) => unreachable!("the embedded table {name} is well-formed: {error}"),
    }
}
