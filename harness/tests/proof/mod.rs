//! What proofs about references have in common.

#![allow(dead_code, reason = "no test uses all of it")]

use gateproof::dialects::Reference;
use gateproof::kill::{Plan, Proof, Watcher};
use gateproof::scenario::load;
use gateproof::suite::Suite;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// What samples are drawn by: `GATEPROOF_SEED`, or one that is always the same. It is printed, so that a sample can be drawn again.
///
/// # Panics
/// The variable is no number.
pub fn seed() -> u64 {
    let named = std::env::var("GATEPROOF_SEED").ok();
    let seed = named.map_or(1, |text| text.parse().expect("GATEPROOF_SEED is a number"));
    println!("drawn by GATEPROOF_SEED={seed}");
    seed
}

/// Hears nothing.
pub struct Quiet;

impl Watcher for Quiet {
    fn planned(&self, _: usize) {}

    fn ran(&self, _: &str, _: usize) {}
}

/// Of every scenario of a dialect, without a fault yet.
pub fn plan(reference: Reference, targets: usize) -> Plan {
    plan_in(reference, None, targets)
}

/// The same in an edition of the dialect.
pub fn plan_in(reference: Reference, edition: Option<&str>, targets: usize) -> Plan {
    // Scripted services are spoken to over TLS, whichever test is the first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let suite = Suite::named_in(reference.dialect(), edition).expect("it is built in").expect("it is well-formed");
    let texts = suite.manifests().expect("the manifests are there");
    let scenarios = load::parsed(&texts, &suite.vocabulary).expect("the manifests are well-formed");
    Plan { targets, ..Plan::new(suite, scenarios).expect("there is a reference") }
}

/// Whether everything is to be tried, rather than a sample.
pub fn is_full() -> bool {
    std::env::var_os("GATEPROOF_FULL").is_some()
}

/// Some of `all`, by the seed, or everything if that is asked for.
pub fn sample<T: Clone>(all: Vec<T>, size: usize) -> Vec<T> {
    if is_full() {
        return all;
    }
    all.choose_multiple(&mut ChaCha8Rng::seed_from_u64(seed()), size).cloned().collect()
}

/// What did not fail alone as it should, a line each.
pub fn survivors(proof: &Proof) -> Vec<String> {
    let line = |s: &gateproof::kill::Survivor| format!("{}: {} ({}) {}", s.scenario, s.expectation, s.outcome, s.why);
    proof.survivors.iter().map(line).collect()
}
