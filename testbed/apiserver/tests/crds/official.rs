//! The official bundles, where they are at hand.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use gateproof_apiserver::crds::{BUNDLE_VERSION, Channel, parse_bundle};
use serde_json::Value;

/// The releases whose official bundles are known: the last one of every minor release, and one that was so for long.
pub const RELEASES: [&str; 9] =
    ["v1.0.0", "v1.1.1", "v1.2.1", "v1.3.0", "v1.4.1", "v1.5.1", "v1.6.1", "v1.6.3", BUNDLE_VERSION];

/// The official bundle of a release and channel, byte for byte.
pub fn bundle(release: &str, channel: Channel) -> Option<String> {
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let root = workspace.join(std::env::var_os("GATEPROOF_DATA").unwrap_or_else(|| "../shared".into()));
    let file = root.join(format!("crds/gateway-api/{release}/{channel}.yaml"));
    if !file.exists() {
        // Outside of the capture of tests, for CI to count.
        let skipped = format!("skipped: bundles: there is no official bundle at {}\n", file.display());
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    }
    Some(fs::read_to_string(file).unwrap())
}

/// The text of the official bundle of a channel, of the release that the embedded definitions equal.
pub fn text(channel: Channel) -> Option<String> {
    // One rule of v1.7.0 names a field by a word that CEL reserves, without the escape that it needs: kube-apiserver knows no such
    // field, and here it would never be there. Its message says what is meant.
    Some(bundle(BUNDLE_VERSION, channel)?.replace("has(r.namespace)", "has(r.__namespace__)"))
}

/// The official definitions of a channel, ordered by name.
pub fn definitions(channel: Channel) -> Option<Vec<Value>> {
    let mut definitions = parse_bundle(&text(channel)?).unwrap().definitions;
    definitions.sort_by(|a, b| name(a).cmp(name(b)));
    Some(definitions)
}

/// `metadata.name`.
pub fn name(definition: &Value) -> &str {
    definition["metadata"]["name"].as_str().unwrap()
}
