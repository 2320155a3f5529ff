//! What a reader of conditions has to know: the specification asks it of the judge, not of the target.

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::contract::{Did, breaches, condition, gateway, listener, placeholder, with};
use super::driver::{GOOD, route_version};
use super::settle::routed;

/// How it ends if these conditions are seen, one version after the other, and others are asked for.
fn read(seen: &[&[&str]], asked: &[&str]) -> (Outcome, Vec<String>) {
    let versions =
        seen.iter().zip(1..).map(|(conditions, at)| (10 * at, route_version(1, &["http"], &[("http", *conditions)])));
    let verdict = routed(versions.collect(), asked).run();
    (verdict.outcome, verdict.findings.into_iter().map(|finding| finding.expectation).collect())
}

/// Holds GEP1364-05.
#[rstest]
#[case("Accepted=Unknown", Outcome::Passed)]
#[case("Accepted=True", Outcome::Failed)]
#[case("Accepted=False", Outcome::Failed)]
fn an_empty_status_is_unknown(#[case] asked: &str, #[case] outcome: Outcome) {
    assert_eq!(read(&[&["Accepted=/Pending"]], &[asked]).0, outcome);
}

/// A Gateway that says this of its listener, and why.
fn listening(said: &[Value]) -> Value {
    let mut entry = listener("http");
    if let Some(conditions) = entry["conditions"].as_array_mut() {
        conditions.retain(|one| said.iter().all(|own| own["type"] != one["type"]));
        conditions.extend_from_slice(said);
    }
    gateway(vec![condition("Accepted=True:Accepted"), condition("Programmed=True:Programmed")], json!([entry]))
}

/// Trouble needs a message, and which status tells of trouble is a matter of the type.
///
/// Holds GEP1364-12.
#[rstest]
#[case("Accepted=False:PortUnavailable", true)]
#[case("Accepted=True:Accepted", false)]
#[case("ResolvedRefs=False:InvalidRouteKinds", true)]
#[case("ResolvedRefs=True:ResolvedRefs", false)]
#[case("Conflicted=True:HostnameConflict", true)]
#[case("Conflicted=False:NoConflicts", false)]
fn the_type_says_which_status_is_trouble(#[case] said: &str, #[case] is_trouble: bool) {
    let seen = breaches(&[Did::See(0, listening(&[with(said, "message", json!(""))]))]);
    assert_eq!(seen.iter().any(|rule| rule == "message-explains"), is_trouble, "{seen:?}");
}

/// Holds GEP1364-23, GEP1364-24 and K8S-12.
#[rstest]
#[case("Accepted", true)]
#[case("Programmed", true)]
#[case("ResolvedRefs", true)]
#[case("Conflicted", false)]
#[case("OverlappingTLSConfig", false)]
fn what_is_missing_is_trouble_if_it_is_positive(#[case] r#type: &str, #[case] is_trouble: bool) {
    let mut seen = listening(&[]);
    if let Some(conditions) = seen["status"]["listeners"][0]["conditions"].as_array_mut() {
        conditions.retain(|one| one["type"] != r#type);
    }
    let told = breaches(&[Did::See(0, seen), Did::Settle]);
    assert_eq!(told.iter().any(|rule| rule == "always-present"), is_trouble, "{told:?}");
}

/// Holds GEP1364-30.
#[rstest]
#[case(&["Accepted=True/Accepted", "ResolvedRefs=False/BackendNotFound"], "ResolvedRefs")]
#[case(&["Accepted=False/NoMatchingParent", "ResolvedRefs=True/ResolvedRefs"], "Accepted")]
fn no_condition_speaks_for_another(#[case] seen: &[&str], #[case] wrong: &str) {
    let (outcome, findings) = read(&[seen], &["Accepted=True", "ResolvedRefs=True"]);
    assert_eq!((outcome, findings), (Outcome::Failed, vec![format!("steps[1].settle.HTTPRoute/route.{wrong}.status")]));
}

/// What the schema's defaults say is held to nothing; what is no more than like them was written by somebody.
///
/// Holds K8S-10.
#[rstest]
#[case("status", json!("True"))]
#[case("reason", json!("Programmed"))]
#[case("lastTransitionTime", json!("2026-01-01T00:00:00Z"))]
fn what_the_api_server_puts_there_is_nobodys_word(#[case] field: &str, #[case] value: Value) {
    let told = |condition: Value| breaches(&[Did::See(0, gateway(vec![condition], json!([]))), Did::Settle]);
    assert_eq!(told(placeholder("Programmed")), Vec::<String>::new());
    let mut like = placeholder("Programmed");
    like[field] = value;
    let seen = told(like);
    assert!(seen.iter().any(|rule| rule == "observed-generation-present"), "{seen:?}");
}

/// What counts is the state that is reached, however it came about, and nothing that was not asked for.
///
/// Holds K8S-14.
#[rstest]
#[case::at_once(&[])]
#[case::by_steps(&[&["Accepted=False/Pending"][..], &["Accepted=True/Accepted", "ResolvedRefs=False/BackendNotFound"]])]
#[case::and_back(&[GOOD, &["Accepted=False/Pending", "ResolvedRefs=True/ResolvedRefs"]])]
fn levels_count_and_types_are_open(#[case] before: &[&[&str]]) {
    let last = [GOOD, &["example.test/Own=False/Odd", "Unheard=Unknown/Odd"]].concat();
    let seen = [before, &[&last]].concat();
    assert_eq!(read(&seen, &["Accepted=True/Accepted", "ResolvedRefs=True"]), (Outcome::Passed, Vec::new()));
}
