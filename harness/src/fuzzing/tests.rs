#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case("conformance_report", conformance_report, 1000)]
#[case("dial_rule", dial_rule, 5000)]
#[case("event_log", event_log, 2000)]
#[case("manifest", manifest, 500)]
#[case("probe_answer", probe_answer, 500)]
#[case("readme", readme, 2000)]
fn holds_for_seeds_and_random_input(#[case] name: &str, #[case] body: fn(&[u8]), #[case] cases: u32) {
    let seeds = seeds(name);
    assert!(!seeds.is_empty(), "no seeds of {name}");
    seeds.iter().for_each(|seed| body(seed));
    let random = prop::collection::vec(any::<u8>(), 0..400);
    let damaged = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>());
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    proptest!(config, |(bytes in random, (seed, at, byte) in damaged)| {
        body(&bytes);
        let mut seed = seed.get(&seeds).clone();
        if !seed.is_empty() {
            let at = at.index(seed.len());
            seed[at] = byte;
        }
        body(&seed);
    });
}

/// The committed seeds of a target. Of manifests, the embedded ones are seeds too.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(name);
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

#[test]
fn every_embedded_manifest_holds() {
    gateproof_suites::manifests().into_iter().for_each(|(_, text)| manifest(text.as_bytes()));
}
