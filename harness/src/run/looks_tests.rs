#![allow(clippy::unwrap_used)]
use std::sync::Arc;
use std::time::Duration;

use gateproof_report::record::{Breach, RunRecord, Severity};
use rstest::rstest;

use super::*;
use crate::judge::CameOut;
use crate::judge::contract::GATEWAY_API;
use crate::scenario::{Channel, Refusal, Settle, Vocabulary, parse};

const MANIFEST: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: case}
spec:
  summary: A route is accepted, and serves.
  features: [Gateway, HTTPRoute]
  gateways: {gw: http}
  backends: [echo]
  steps:
    - apply:
        - apiVersion: gateway.networking.k8s.io/v1
          kind: HTTPRoute
          metadata: {name: route}
          spec:
            parentRefs: [\"${gw}\"]
            hostnames: [\"${host}\"]
            rules: [{backendRefs: [{name: echo, port: 8080}]}]
      proves: [IMPL-01]
    - settle:
        HTTPRoute/route: {Accepted: True/Accepted}
      proves: [GEP1364-47]
    - settle:
        HTTPRoute/route: {ResolvedRefs: True/ResolvedRefs}
      since: \"1.7\"
      proves: [IMPL-03]
    - probe: {get: \"http://${host}/\", expect: {status: 200, backend: echo}}
      proves: [IMPL-02]
";

fn scenario() -> Scenario {
    parse("case.yaml", MANIFEST, &Vocabulary::builtin()).unwrap().remove(0)
}

fn verdict(outcome: Outcome, came_out: &[usize], findings: Vec<Finding>) -> Verdict {
    Verdict {
        outcome,
        reason: (outcome == Outcome::Inconclusive).then(|| "because".to_owned()),
        findings,
        stages: Vec::new(),
        shares: Vec::new(),
        probes: Vec::new(),
        came_out: came_out.iter().map(|step| CameOut { step: *step, ending: None }).collect(),
        checked: 1,
        contract: Vec::new(),
        contract_watched: Default::default(),
        slowest_settle: Duration::ZERO,
    }
}

fn finding(expectation: &str, clauses: &[&str], severity: Severity, late: bool) -> Finding {
    Finding {
        expectation: expectation.to_owned(),
        severity,
        clauses: clauses.iter().map(|clause| (*clause).to_owned()).collect(),
        line: 1,
        stage: String::new(),
        expected: "one thing".to_owned(),
        seen: "another".to_owned(),
        late,
        consequence: false,
        at_ms: 0,
    }
}

/// What is said of each expectation of the manifest, at v1.6.1.
fn said(verdict: Verdict) -> Vec<String> {
    let (outcome, reason) = (verdict.outcome, verdict.reason.clone());
    let judged = Judged { name: Arc::from("case"), scenario: Arc::new(scenario()), verdict };
    let record = ScenarioRecord {
        name: "case".to_owned(),
        suite: "".into(),
        file: "".into(),
        summary: "".into(),
        features: [].into(),
        proves: [].into(),
        outcome,
        reason,
        findings: Vec::new(),
        stages: Vec::new(),
        probes: Vec::new(),
        duration_ms: 0,
        alike: 0,
    };
    let basis = Basis::release("1.6.1".parse().unwrap(), Channel::Standard);
    let execution = Execution { judged: &judged, record: &record, basis };
    let word = |look: &Look| {
        let came = match &look.came {
            Came::Held => "held".to_owned(),
            Came::Missed(miss) => format!("missed{}", if miss.late { " late" } else { "" }),
            Came::NotApplicable(why) => format!("- {why}"),
            Came::NotSeen(why) => format!("? {why}"),
        };
        format!("{} {}: {came}", look.expectation, look.clauses.join(","))
    };
    execution.looks(&target()).iter().map(word).collect()
}

fn target() -> Target {
    Target {
        name: String::new(),
        embedded: true,
        dialect: "gateway-api".to_owned(),
        edition: None,
        gateway_class: None,
        controller_name: None,
        gateway_api_version: Some("v1.6.1".to_owned()),
        gateway_api_channel: None,
        definitions: None,
        features: Vec::new(),
    }
}

const PARENTS: &str = "steps[1].settle.HTTPRoute/route.parents";
const STATUS: &str = "steps[1].settle.HTTPRoute/route.Accepted.status";

#[test]
fn what_came_out_without_a_miss_is_held() {
    let found = said(verdict(Outcome::Passed, &[0, 1, 3], Vec::new()));
    let asked = |id: &str, rest: &str| format!("{id}{rest}");
    let later = "steps[2].settle.HTTPRoute/route";
    assert_eq!(
        found,
        [
            asked(PARENTS, " GEP1364-47: held"),
            asked(STATUS, " GEP1364-47: held"),
            asked("steps[1].settle.HTTPRoute/route.Accepted.reason", " GEP1364-47: held"),
            asked(later, ".parents IMPL-03: - it is not asked at v1.6.1"),
            asked(later, ".ResolvedRefs.status IMPL-03: - it is not asked at v1.6.1"),
            asked(later, ".ResolvedRefs.reason IMPL-03: - it is not asked at v1.6.1"),
            asked("steps[3].probe.status", " IMPL-02: held"),
            asked("steps[3].probe.backend", " IMPL-02: held"),
            asked("steps[0]", " IMPL-01: held"),
        ]
    );
}

#[test]
fn where_it_stopped_the_rest_is_not_seen() {
    let missed = finding(STATUS, &["GEP1364-47"], Severity::Failure, false);
    let found = said(verdict(Outcome::Failed, &[0], vec![missed]));
    assert_eq!(found[0], format!("{STATUS} GEP1364-47: missed"));
    assert_eq!(found[1], format!("{PARENTS} GEP1364-47: ? it stopped at {STATUS}"));
    assert!(found.contains(&format!("steps[3].probe.status IMPL-02: ? it stopped at {STATUS}")), "{found:?}");
    assert_eq!(found.iter().filter(|line| line.contains("held")).count(), 1, "{found:?}");
}

#[test]
fn what_came_late_is_missed_in_all_of_its_parts() {
    let late = finding("steps[1].settle.HTTPRoute/route", &["GEP1364-47"], Severity::Failure, true);
    let found = said(verdict(Outcome::Late, &[0, 1, 3], vec![late]));
    let is_late = |line: &&String| line.starts_with("steps[1]") && line.ends_with("missed late");
    assert_eq!(found.iter().filter(is_late).count(), 4, "{found:?}");
    assert!(found.contains(&"steps[3].probe.status IMPL-02: held".to_owned()), "{found:?}");
}

#[test]
fn what_no_manifest_says_hides_what_stands_beside_it() {
    let outdated = "steps[1].settle.HTTPRoute/route.Accepted.observedGeneration";
    let found = said(verdict(Outcome::Passed, &[0, 1, 3], vec![finding(outdated, &["X-1"], Severity::Warning, false)]));
    assert_eq!(found[0], format!("{outdated} X-1: missed"));
    assert_eq!(found[1], format!("{PARENTS} GEP1364-47: held"));
    assert_eq!(found[2], format!("{STATUS} GEP1364-47: ? {outdated} was missed before it"));
}

#[test]
fn what_is_inconclusive_holds_nothing() {
    let found = said(verdict(Outcome::Inconclusive, &[0, 1], Vec::new()));
    let open = found.iter().filter(|line| line.ends_with("? it is inconclusive: because")).count();
    let unasked = found.iter().filter(|line| line.ends_with("- it is not asked at v1.6.1")).count();
    assert_eq!((open, unasked, found.len()), (6, 3, 9), "{found:?}");
}

#[rstest]
#[case::could_have_run("Gateway HTTPRoute", Some("case"), Came::NotSeen("it was not selected".to_owned()))]
#[case::nobody_says("Gateway HTTPRoute", None, Came::NotSeen("it was not selected".to_owned()))]
#[case::could_not("Gateway HTTPRoute", Some(""), Came::NotSeen("it was not selected, and could not have run on the target".to_owned()))]
#[case::one_feature("Gateway", Some(""), Came::NotApplicable("feature HTTPRoute not claimed".to_owned()))]
#[case::several("", None, Came::NotApplicable("features Gateway, HTTPRoute not claimed".to_owned()))]
fn what_was_not_selected_says_why(#[case] features: &str, #[case] left_out: Option<&str>, #[case] expected: Came) {
    let words = |words: &str| words.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let record = RunRecord {
        format: 1,
        producer: String::new(),
        date: String::new(),
        target: Target { features: words(features), ..target() },
        arguments: Vec::new(),
        options_file: None,
        interrupted: false,
        impatient: false,
        scenarios: Vec::new(),
        outside_profiles: Vec::new(),
        contract: Vec::new(),
        known_failures: Vec::new(),
        leftovers: Vec::new(),
        digests: None,
        shard: None,
        duration_ms: 0,
    };
    let basis = Basis::release("1.6.1".parse().unwrap(), Channel::Standard);
    let run = Rederived { record, judged: Vec::new(), basis, left_out: left_out.map(words) };
    assert_eq!(not_selected(&scenario(), &run), expected);
}

#[rstest]
#[case::same("steps[1].settle.A/a.X.status", "steps[1].settle.A/a.X.status", true)]
#[case::whole("steps[1].settle.A/a", "steps[1].settle.A/a.X.status", true)]
#[case::listener("steps[1].settle.A/a", "steps[1].settle.A/a[b]", true)]
#[case::another("steps[1].settle.A/a", "steps[1].settle.A/ab.X.status", false)]
#[case::part("steps[1].settle.A/a.X.status", "steps[1].settle.A/a", false)]
fn a_finding_is_about_all_that_it_is_the_whole_of(#[case] finding: &str, #[case] asked: &str, #[case] about: bool) {
    assert_eq!(covers(finding, asked), about);
}

#[test]
fn expectations_belong_to_the_end_that_a_write_came_to() {
    let mut scenario = scenario();
    let refusal = Refusal { code: 422, reason: "Invalid".to_owned(), field: None };
    scenario.steps[0].either =
        vec![Ending::Refused(refusal, Bounds::default()), Ending::Settle(Settle::default(), Bounds::default())];
    let step = &scenario.steps[0];
    assert_eq!(ending_of("steps[0].refused", step), Some(vec![0]));
    assert_eq!(ending_of("steps[0].either[1].settle.A/a.X.status", step), Some(vec![1]));
    assert_eq!(ending_of("steps[0].admitted", step), None);
}

#[test]
fn rules_are_held_broken_or_not_come_to() {
    let contract = Contract::parse(GATEWAY_API).unwrap();
    let record = |name: &str, objects: u64, breaches: usize| ContractRecord {
        name: name.to_owned(),
        clauses: vec!["C-1".to_owned()],
        severity: Severity::Failure,
        objects,
        known: None,
        breaches: (0..breaches)
            .map(|_| Breach {
                scenario: "a".to_owned(),
                object: "HTTPRoute/ns/route".to_owned(),
                path: "status".to_owned(),
                seen: "nothing".to_owned(),
                seq: 1,
            })
            .collect(),
    };
    let rules = contract.rule_names();
    let of_routes: Vec<&String> = rules.iter().filter(|name| name.starts_with("contract/HTTPRoute/")).collect();
    let records = [record(of_routes[0], 3, 0), record(of_routes[1], 3, 2)];
    let looks = super::rules(&records, &contract);
    let of = |name: &str| looks.iter().find(|look| look.expectation == name).unwrap();
    assert_eq!(of(of_routes[0]).came, Came::Held);
    let Came::Missed(miss) = &of(of_routes[1]).came else { panic!("{:?}", of(of_routes[1])) };
    assert_eq!(miss.seen, "HTTPRoute/ns/route status: nothing; and 1 more");
    assert!(matches!(of(of_routes[2]).came, Came::NotApplicable(_)));
    let of_others = rules.iter().find(|name| name.starts_with("contract/TCPRoute/")).unwrap();
    assert_eq!(of(of_others).came, Came::NotSeen("no object of its kind was watched".to_owned()));
    assert!(!of(of_others).clauses.is_empty());
}
