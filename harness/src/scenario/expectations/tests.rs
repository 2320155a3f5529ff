#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use rstest::rstest;

use super::*;
use crate::scenario::{Channel, Verb, Vocabulary, load, parse};

const MANIFEST: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: [Gateway, HTTPRoute]
  gateways: {gw: http}
  backends: [echo, second]
  steps:
    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route}, spec: {parentRefs: [{name: gw}]}}]
      either: [{refused: {}}, {settle: {HTTPRoute/route: {Accepted: "False"}}}]
    - settle:
        HTTPRoute/route:
          Accepted: {status: "True", reason: Accepted, reasonLevel: SHOULD, proves: [GEP1364-34]}
          PartiallyInvalid: absent
        "${gw}": {listeners: {http: {attachedRoutes: 1}}, fields: [{at: /status/addresses, notEmpty: true}]}
      proves: [GEP1364-13]
    - hold: {never: {HTTPRoute/route: {Accepted: "False"}}, unchanged: ["${gw}"]}
    - probe: {get: "http://${host}/", expect: {backend: echo, seen: {path: /}}}
    - probe: {get: "http://${host}/", expect: {shares: {echo: 1, second: 1}}}
    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route}, spec: {parentRefs: [{name: gw}]}}]
      admitted: true
"#;

fn sample() -> Scenario {
    parse("a.yaml", MANIFEST, &Vocabulary::builtin()).unwrap().remove(0)
}

#[test]
fn every_asserted_value_has_a_name() {
    let ids = enumerate(&sample()).into_iter().map(|e| e.id).collect::<Vec<_>>();
    insta::assert_snapshot!(ids.join("\n"), @r"
    steps[0].refused
    steps[0].either[1].settle.HTTPRoute/route.parents
    steps[0].either[1].settle.HTTPRoute/route.Accepted.status
    steps[1].settle.HTTPRoute/route.parents
    steps[1].settle.HTTPRoute/route.Accepted.status
    steps[1].settle.HTTPRoute/route.Accepted.reason
    steps[1].settle.HTTPRoute/route.PartiallyInvalid.absent
    steps[1].settle.${gw}.listeners[http].attachedRoutes
    steps[1].settle.${gw}.fields[/status/addresses]
    steps[2].hold.never.HTTPRoute/route.Accepted
    steps[2].hold.unchanged.${gw}
    steps[3].probe.status
    steps[3].probe.backend
    steps[3].probe.seen.path
    steps[4].probe.shares
    steps[5].admitted
    ");
}

#[test]
fn levels_and_clauses_are_those_of_the_manifest() {
    let all = enumerate(&sample());
    let reason = all.iter().find(|e| e.id == "steps[1].settle.HTTPRoute/route.Accepted.reason").unwrap();
    assert_eq!(reason.level, Level::Should);
    assert_eq!(reason.clauses.iter().map(|c| &**c).collect::<Vec<_>>(), ["GEP1364-13", "GEP1364-34"]);
    assert_eq!(reason.line, 14);
    let probed = all.iter().find(|e| e.id == "steps[3].probe.backend").unwrap();
    assert!(all[0].alternative && !probed.alternative);
}

#[test]
fn inverting_changes_one_thing_and_only_what_can_be_said() {
    let sample = sample();
    for expectation in enumerate(&sample) {
        let inverted = invert(&sample, &expectation.id);
        if ["unchanged", ".refused", ".admitted"].iter().any(|part| expectation.id.contains(part)) {
            assert!(inverted.is_none());
            continue;
        }
        let inverted = inverted.unwrap();
        let changed = sample.steps.iter().zip(&inverted.steps).filter(|(a, b)| a != b).count();
        assert_eq!(changed, 1, "{}", expectation.id);
    }
    assert!(invert(&sample, &"steps[9].probe".to_owned()).is_none());
}

#[test]
fn what_may_have_been_refused_is_not_held_to_anything_until_it_is_written_again() {
    let alternative = |id: &str, manifest: &str| {
        let all = enumerate(&parse("a.yaml", manifest, &Vocabulary::builtin()).unwrap().remove(0));
        all.iter().find(|e| e.id == id).unwrap().alternative
    };
    assert!(alternative("steps[2].hold.never.HTTPRoute/route.Accepted", MANIFEST));
    assert!(!alternative("steps[2].hold.unchanged.${gw}", MANIFEST));
    assert!(!alternative("steps[3].probe.backend", MANIFEST));
    let apply = "    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route}, spec: {parentRefs: [{name: gw}]}}]\n";
    let again = MANIFEST.replacen("    - settle:\n", &format!("{apply}    - settle:\n"), 1);
    assert!(!alternative("steps[3].hold.never.HTTPRoute/route.Accepted", &again));
}

#[test]
fn what_follows_one_of_several_ends_is_conditional() {
    let then = "{settle: {HTTPRoute/route: {Accepted: \"False\"}}, then: [{settle: {HTTPRoute/route: {Accepted: \"False\"}}}]}";
    let manifest = MANIFEST.replacen("{settle: {HTTPRoute/route: {Accepted: \"False\"}}}", then, 1);
    let all = enumerate(&parse("a.yaml", &manifest, &Vocabulary::builtin()).unwrap().remove(0));
    let flags = |id: &str| all.iter().find(|e| e.id == id).map(|e| (e.alternative, e.conditional)).unwrap();
    assert_eq!(flags("steps[0].either[1].settle.HTTPRoute/route.Accepted.status"), (true, false));
    assert_eq!(flags("steps[1].settle.HTTPRoute/route.Accepted.status"), (false, true));
    assert_eq!(flags("steps[2].settle.HTTPRoute/route.Accepted.status"), (true, false));
    assert_eq!(flags("steps[4].probe.backend"), (false, false));
}

#[test]
fn two_conditions_that_must_never_meet_are_negated_one_at_a_time() {
    let manifest = MANIFEST.replacen(
        "never: {HTTPRoute/route: {Accepted: \"False\"}}",
        "never: {HTTPRoute/route: {Accepted: \"False\", Programmed: \"True\"}}",
        1,
    );
    let scenario = parse("a.yaml", &manifest, &Vocabulary::builtin()).unwrap().remove(0);
    let inverted = invert(&scenario, &"steps[2].hold.never.HTTPRoute/route.Accepted".to_owned()).unwrap();
    let Verb::Hold(hold) = &inverted.steps[2].verb else { panic!("it is a hold") };
    assert!(hold.always.is_empty());
    let statuses = hold.never[0].conditions.values().map(|c| c.status.clone()).collect::<Vec<_>>();
    assert_eq!(statuses, [vec!["True", "Unknown"], vec!["True"]]);
}

/// What a status passes through on its way is not the opposite of what it comes to.
#[test]
fn the_opposite_of_a_moment_stands_still() {
    let manifest =
        MANIFEST.replacen("      proves: [GEP1364-13]\n", "      proves: [GEP1364-13]\n      atOnce: true\n", 1);
    let scenario = parse("a.yaml", &manifest, &Vocabulary::builtin()).unwrap().remove(0);
    let at_once = |id: &str| match &invert(&scenario, &id.to_owned()).unwrap().steps[1].verb {
        Verb::Settle(settle) => settle.at_once,
        verb => panic!("{verb:?}"),
    };
    assert!(!at_once("steps[1].settle.HTTPRoute/route.Accepted.status"));
    assert!(at_once("steps[3].probe.status"));
}

#[test]
fn a_value_binds_where_all_around_it_does() {
    let manifest = MANIFEST
        .replacen("  summary:", "  since: \"1.1\"\n  summary:", 1)
        .replacen("proves: [GEP1364-34]", "until: \"1.3\", proves: [GEP1364-34]", 1)
        .replacen("{refused: {}}", "{refused: {}, channel: experimental}", 1);
    let all = enumerate(&parse("a.yaml", &manifest, &Vocabulary::builtin()).unwrap().remove(0));
    let binds = |id: &str, version: &str| {
        let expectation = all.iter().find(|e| e.id == id).unwrap();
        expectation.binds(Basis::release(version.parse().unwrap(), Channel::Standard))
    };
    let reason = "steps[1].settle.HTTPRoute/route.Accepted.reason";
    assert_eq!(["1.0", "1.2", "1.3"].map(|version| binds(reason, version)), [false, true, false]);
    assert!(binds("steps[3].probe.backend", "1.6") && !binds("steps[3].probe.backend", "1.0"));
    assert!(!binds("steps[0].refused", "1.6"));
}

#[rstest]
#[case::itself("steps[1].settle.HTTPRoute/r.Accepted.status", "steps[1].settle.HTTPRoute/r.Accepted.status", true)]
#[case::another_step(
    "steps[1].settle.HTTPRoute/r.Accepted.status",
    "steps[11].settle.HTTPRoute/r.Accepted.status",
    false
)]
#[case::stale(
    "steps[1].settle.GatewayClass/c.Accepted.status",
    "steps[1].settle.GatewayClass/c.Accepted.observedGeneration",
    false
)]
#[case::there("steps[1].settle.HTTPRoute/r.Accepted.absent", "steps[1].settle.HTTPRoute/r.Accepted.present", true)]
#[case::not_there(
    "steps[1].settle.HTTPRoute/r.parents[0].present",
    "steps[1].settle.HTTPRoute/r.parents[0].absent",
    true
)]
#[case::always("steps[1].hold.never.HTTPRoute/r.Accepted", "steps[1].hold.always.HTTPRoute/r.Accepted.status", true)]
#[case::no_entry("steps[1].hold.never.HTTPRoute/r.Accepted", "steps[1].hold.always.HTTPRoute/r.parents", true)]
#[case::still_never("steps[1].hold.never.Gateway/g.Accepted", "steps[1].hold.never.Gateway/g.Programmed", true)]
#[case::always_other("steps[1].hold.never.HTTPRoute/r", "steps[1].hold.always.HTTPRoute/route.parents", false)]
#[case::anybody("steps[2].probe", "steps[2].probe.status", true)]
#[case::one_part("steps[2].probe.backend", "steps[2].probe.status", false)]
#[case::another_mirror("steps[2].probe.mirrored.a", "steps[2].probe.mirrored.b", true)]
fn findings_are_told_from_those_about_other_values(#[case] negated: &str, #[case] finding: &str, #[case] same: bool) {
    assert_eq!(is_opposite_of(&expectation(negated, false), finding), same);
}

#[test]
fn what_nobody_touched_is_outdated() {
    let (id, stale) =
        ("steps[1].settle.Gateway/g.Accepted.status", "steps[1].settle.Gateway/g.Accepted.observedGeneration");
    assert!(is_opposite_of(&expectation(id, true), stale) && is_opposite_of(&expectation(id, true), id));
    assert!(!is_opposite_of(&expectation(id, false), stale));
}

fn expectation(id: &str, untouched: bool) -> Expectation {
    Expectation { id: id.to_owned(), untouched, ..enumerate(&sample()).remove(0) }
}

#[test]
fn names_are_unique_in_every_shipped_scenario() {
    for scenario in load::builtin_once() {
        let all = enumerate(scenario);
        assert!(!all.is_empty(), "{}", scenario.name);
        let ids = all.iter().map(|e| e.id.as_str()).collect::<BTreeSet<_>>();
        assert_eq!(ids.len(), all.len(), "{}", scenario.name);
    }
}
