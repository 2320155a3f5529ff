//! Editions of a dialect, where its document and what is shipped differ: what is meant by default, what another one has otherwise, and
//! that a target of one is not taken for one of the other.
#![allow(clippy::unwrap_used)]

mod process;

use std::collections::BTreeSet;

use process::{Ended, run};
use rstest::rstest;
use serde_json::Value;

fn names(words: &[&str]) -> BTreeSet<String> {
    let dir = tempfile::tempdir().unwrap();
    let listed =
        run(dir.path(), &[&["list", "scenarios", "--dialect", "kuadrant", "--format", "json"], words].concat());
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_edition_has_scenarios_of_its_own_and_most_in_common() {
    let (first, current, design) = (names(&[]), names(&["--edition", "current"]), names(&["--edition", "design"]));
    assert_eq!(first, current);
    let own = |name: &str| (current.contains(name), design.contains(name));
    assert_eq!(own("kuadrant-auth-ancestors"), (false, true));
    assert_eq!(own("kuadrant-auth-two-on-a-route"), (true, false));
    assert_eq!(own("kuadrant-auth-accepted"), (true, true));
    assert!(current.intersection(&design).count() > 60);
}

/// RFC 0004 lets its stages be built one after the other: who is in the first says that, and is asked for nothing of the second.
#[test]
fn the_first_stage_is_asked_for_nothing_of_the_second() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["run", "--dialect", "kuadrant", "--edition", "design", "--report-dir", "of", "--target"];
    let target = ["embedded:is-blind-to-stopped-services+has-no-enforced-condition"];
    let staged = run(dir.path(), &[&words[..], &target, &["--features", "FirstStage"]].concat());
    assert_eq!(staged.code, Some(0), "{}", staged.said());
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("of/record.json")).unwrap()).unwrap();
    let passed = record["scenarios"].as_array().unwrap().iter().filter(|one| one["outcome"] == "passed").count();
    assert!(passed > 20, "{passed}");
    let one = run(dir.path(), &[&words[..], &target, &["kuadrant-auth-accepted"]].concat());
    assert_eq!(one.code, Some(1), "{}", one.said());
    // Who is held to all is not held to less.
    let all = run(dir.path(), &[&words[..], &["embedded", "kuadrant-auth-accepted", "--all-features"]].concat());
    assert!(all.said().contains("1 passed"), "{}", all.said());
}

/// A log says which edition its run was of, and is not judged by another.
#[test]
fn a_run_is_of_one_edition() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = "kuadrant-auth-ancestors";
    let ran = run(dir.path(), &["run", scenario, "--dialect", "kuadrant", "--edition", "design", "--report-dir", "of"]);
    assert_eq!(ran.code, Some(0), "{}", ran.said());
    assert!(ran.said().contains("Kuadrant policies, edition design"), "{}", ran.said());
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("of/record.json")).unwrap()).unwrap();
    assert_eq!(record["target"]["edition"], "design");
    let replay =
        |words: &[&str]| run(dir.path(), &[&["replay", "of/events.jsonl", "--dialect", "kuadrant"], words].concat());
    let again = replay(&["--edition", "design"]);
    assert_eq!(again.code, Some(0), "{}", again.said());
    let other = replay(&[]);
    assert_eq!(other.code, Some(2), "{}", other.said());
    assert!(other.said().contains("the log is of the edition design, not of current"), "{}", other.said());
}

/// The shipped references do not do what the designs ask, and are told so: the two are not the same words for one thing.
#[rstest]
#[case::kuadrant(
    "kuadrant",
    "design/ancestors.yaml",
    "KUADRANT-13",
    "KUADRANT-01",
    "/status/ancestors/0/ancestorRef/name"
)]
#[case::aso("aso", "design/owner.yaml", "ASO-13", "ASO-13", "aso-owner-is-there")]
fn a_target_of_another_edition_fails(
    #[case] dialect: &str,
    #[case] file: &str,
    #[case] clause: &str,
    #[case] of_both: &str,
    #[case] told: &str,
) {
    let dir = tempfile::tempdir().unwrap();
    let manifest = dir.path().join("a.yaml");
    let texts = gateproof_suites::manifests_of(dialect);
    let text = texts.into_iter().find(|(name, _)| name.ends_with(file)).unwrap().1;
    // As if it held in every edition.
    let text = text.replace("  editions: [design]\n", "").replace(clause, of_both);
    std::fs::write(&manifest, text).unwrap();
    let ran = run(dir.path(), &["run", "--dialect", dialect, "-f", manifest.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{}", ran.said());
    assert!(ran.said().contains(told), "{}", ran.said());
}

#[rstest]
#[case::misspelt(&["run", "--dialect", "kuadrant", "--edition", "desing"], &["the dialect `kuadrant` has no edition `desing`", "did you mean `design`?", "current and design"])]
#[case::none(&["run", "--edition", "design"], &["the dialect `gateway-api` has no edition `design`", "leave out --edition"])]
#[case::scenario_of_another(&["run", "kuadrant-auth-ancestors", "--dialect", "kuadrant"], &["`kuadrant-auth-ancestors` is no scenario", "it is there with --edition design"])]
#[case::list(&["list", "requirements", "--dialect", "aso", "--edition", "old"], &["the dialect `aso` has no edition `old`"])]
#[case::testbed(&["testbed", "--dialect", "aso", "--edition", "old"], &["the dialect `aso` has no edition `old`"])]
#[case::several(&["run", "--dialect", "kuadrant,gateway-api", "--edition", "old"], &["the dialect `kuadrant` has no edition `old`"])]
fn an_unknown_edition_is_told(#[case] words: &[&str], #[case] told: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let ended: Ended = run(dir.path(), words);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    for part in told {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
    assert!(!dir.path().join("gateproof-report").exists());
}
