#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use rstest::rstest;

use super::*;
use crate::scenario::{Vocabulary, load, parse};

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
    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route}}]
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
    ");
}

#[test]
fn levels_and_clauses_are_those_of_the_manifest() {
    let all = enumerate(&sample());
    let reason = all.iter().find(|e| e.id == "steps[1].settle.HTTPRoute/route.Accepted.reason").unwrap();
    assert_eq!(reason.level, Level::Should);
    assert_eq!(reason.clauses.iter().map(|c| &**c).collect::<Vec<_>>(), ["GEP1364-13", "GEP1364-34"]);
    assert_eq!(reason.line, 14);
    assert!(all[0].alternative && !reason.alternative);
}

#[test]
fn inverting_changes_one_thing_and_only_what_can_be_said() {
    let sample = sample();
    for expectation in enumerate(&sample) {
        let inverted = invert(&sample, &expectation.id);
        if expectation.id.contains("unchanged") || expectation.id.ends_with(".refused") {
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
fn a_value_binds_where_all_around_it_does() {
    let manifest = MANIFEST
        .replacen("  summary:", "  since: \"1.1\"\n  summary:", 1)
        .replacen("proves: [GEP1364-34]", "until: \"1.3\", proves: [GEP1364-34]", 1)
        .replacen("{refused: {}}", "{refused: {}, channel: experimental}", 1);
    let all = enumerate(&parse("a.yaml", &manifest, &Vocabulary::builtin()).unwrap().remove(0));
    let binds = |id: &str, version: &str| {
        let expectation = all.iter().find(|e| e.id == id).unwrap();
        expectation.binds(version.parse().unwrap(), Channel::Standard)
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
#[case::always_else("steps[1].hold.never.HTTPRoute/r.Accepted", "steps[1].hold.always.HTTPRoute/r.parents", false)]
#[case::always_other("steps[1].hold.never.HTTPRoute/r", "steps[1].hold.always.HTTPRoute/route.parents", false)]
#[case::anybody("steps[2].probe", "steps[2].probe.status", true)]
#[case::one_part("steps[2].probe.backend", "steps[2].probe.status", false)]
#[case::another_mirror("steps[2].probe.mirrored.a", "steps[2].probe.mirrored.b", true)]
fn findings_are_told_from_those_about_other_values(#[case] negated: &str, #[case] finding: &str, #[case] same: bool) {
    assert_eq!(is_opposite_of(negated, finding), same);
}

#[test]
fn names_are_unique_in_every_shipped_scenario() {
    for scenario in load::builtin(&Vocabulary::builtin()).unwrap() {
        let all = enumerate(&scenario);
        assert!(!all.is_empty(), "{}", scenario.name);
        let ids = all.iter().map(|e| e.id.as_str()).collect::<BTreeSet<_>>();
        assert_eq!(ids.len(), all.len(), "{}", scenario.name);
    }
}
