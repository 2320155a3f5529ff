//! What differs between two releases of Gateway API: for scenarios, and for a run that was recorded at one of them. Pure.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::definitions::asks;
use crate::scenario::expectations::{Expectation, enumerate};
use crate::scenario::{Basis, Channel, Scenario, Step, Version};

/// What of a scenario is asked at one of two releases only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The scenario.
    pub scenario: String,
    /// The expectation; nothing if it is the whole scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expectation: Option<String>,
    /// The release at which it is asked.
    pub only_at: String,
    /// The channel in which that is so; nothing if it is in both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
}

/// Everything that is asked at one of two releases and not at the other, scenario by scenario.
pub fn differences<'a>(
    scenarios: impl IntoIterator<Item = &'a Scenario>,
    from: Version,
    to: Version,
) -> Vec<Difference> {
    let mut all = Vec::new();
    for scenario in scenarios {
        let standard = asked_once(scenario, from, to, Channel::Standard);
        let experimental = asked_once(scenario, from, to, Channel::Experimental);
        let both = |one: &(Option<String>, Version)| standard.contains(one) && experimental.contains(one);
        let differences = standard.iter().map(|one| (one, "standard"));
        let further = experimental.iter().filter(|one| !both(one)).map(|one| (one, "experimental"));
        all.extend(differences.chain(further).map(|(one, channel)| Difference {
            scenario: scenario.name.clone(),
            expectation: one.0.clone(),
            only_at: one.1.to_string(),
            channel: (!both(one)).then_some(channel),
        }));
    }
    all
}

/// What one channel asks at one of the two releases, with the release.
fn asked_once(scenario: &Scenario, from: Version, to: Version, channel: Channel) -> Vec<(Option<String>, Version)> {
    match (scenario.bounds.admits(Basis::release(from, channel)), scenario.bounds.admits(Basis::release(to, channel))) {
        (false, false) => Vec::new(),
        (true, false) => vec![(None, from)],
        (false, true) => vec![(None, to)],
        (true, true) => {
            let at = |one: &Expectation| match (
                one.binds(Basis::release(from, channel)),
                one.binds(Basis::release(to, channel)),
            ) {
                (true, false) => Some((Some(one.id.clone()), from)),
                (false, true) => Some((Some(one.id.clone()), to)),
                _ => None,
            };
            enumerate(scenario).iter().filter_map(at).collect()
        }
    }
}

/// A scenario of which a recorded run says nothing at another release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unanswered {
    /// The scenario.
    pub scenario: String,
    /// Why it has to be run.
    pub why: String,
}

/// What has to be run to know how a target does at another release: `recorded` is that of the run, in which the scenarios
/// `ran`.
pub fn unanswered<'a>(
    scenarios: impl IntoIterator<Item = &'a Scenario>,
    ran: &BTreeSet<&str>,
    (recorded, channel): (Version, Channel),
    wanted: Version,
) -> Vec<Unanswered> {
    let why = |scenario: &Scenario| {
        if !scenario.bounds.admits(Basis::release(wanted, channel)) {
            return None;
        }
        if !scenario.bounds.admits(Basis::release(recorded, channel)) {
            return Some(format!("it has no meaning at {recorded}"));
        }
        if !ran.contains(scenario.name.as_str()) {
            return None;
        }
        let is_other = |step: &&Step| {
            step.bounds.admits(Basis::release(recorded, channel)) != step.bounds.admits(Basis::release(wanted, channel))
        };
        if let Some(step) = scenario.steps.iter().find(is_other) {
            return Some(format!("steps[{}] is done at one of the two releases only", step.index));
        }
        let differs = |one: &Expectation| {
            one.binds(Basis::release(recorded, channel)) != one.binds(Basis::release(wanted, channel))
        };
        let turns = scenario.steps.iter().find(|step| {
            let ends = format!("steps[{}].either[", step.index);
            scenario.turns_at(step) && enumerate(scenario).iter().any(|one| one.id.starts_with(&ends) && differs(one))
        });
        if let Some(step) = turns {
            return Some(format!("what is done after steps[{}] may differ between the two releases", step.index));
        }
        let asked = scenario.steps.iter().find(|step| asks(step))?;
        Some(format!("steps[{}] asks the definitions whether they admit a write", asked.index))
    };
    let all = scenarios.into_iter();
    all.filter_map(|scenario| Some(Unanswered { scenario: scenario.name.clone(), why: why(scenario)? })).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::scenario::{Vocabulary, parse};

    const SCENARIOS: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: same}
spec:
  summary: It is the same at every release.
  features: [Gateway]
  steps:
    - settle: {"GatewayClass/${class}": {Accepted: "True"}}
      proves: [IMPL-28]
---
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: older}
spec:
  summary: It is for older releases.
  features: [Gateway]
  until: "1.7"
  steps:
    - settle: {"GatewayClass/${class}": {Accepted: "True"}}
      proves: [IMPL-28]
---
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: newer}
spec:
  summary: It is for newer releases, in the experimental channel.
  features: [Gateway]
  since: "1.7"
  channel: experimental
  steps:
    - settle: {"GatewayClass/${class}": {Accepted: "True"}}
      proves: [IMPL-28]
---
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: condition}
spec:
  summary: A condition is asked for from a release on.
  features: [Gateway]
  steps:
    - settle: {"GatewayClass/${class}": {Accepted: "True", SupportedVersion: {status: "True", since: "1.7"}}}
      proves: [IMPL-28]
---
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: step}
spec:
  summary: A step is done until a release.
  features: [Gateway]
  steps:
    - settle: {"GatewayClass/${class}": {Accepted: "True"}}
      proves: [IMPL-28]
    - settle: {"GatewayClass/${class}": {SupportedVersion: "True"}}
      until: "1.7"
      proves: [IMPL-19]
---
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: admission}
spec:
  summary: A write is refused.
  features: [Gateway]
  steps:
    - apply:
        - {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: own}, spec: {gatewayClassName: "${class}", listeners: []}}
      refused: {}
      proves: [GEP1364-39]
"#;

    const TURNS: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: turns}
spec:
  summary: What is done depends on the end of a write, and that on the release.
  features: [Gateway]
  gateways: {gw: http}
  steps:
    - apply:
        - {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: own}, spec: {parentRefs: [{name: gw}]}}
      either:
        - settle: {HTTPRoute/own: {Accepted: {status: "True", SINCE}}}
          then:
            - probe: {get: "http://${host}/", contrast: false, expect: {status: 404}}
        - settle: {HTTPRoute/own: {Accepted: "False"}}
      proves: [IMPL-28]
"#;

    #[test]
    fn a_record_tells_nothing_of_a_way_that_was_not_gone() {
        let (recorded, wanted) = versions();
        let must_be_run = |bound: &str| {
            let text = TURNS.replacen("SINCE", bound, 1);
            let all = parse("releases.yaml", &text, &Vocabulary::builtin()).unwrap();
            let ran = BTreeSet::from(["turns"]);
            unanswered(&all, &ran, (recorded, Channel::Standard), wanted).into_iter().map(|one| one.why).next()
        };
        assert_eq!(must_be_run("reason: Accepted"), None);
        let why = "what is done after steps[0] may differ between the two releases".to_owned();
        assert_eq!(must_be_run("since: \"1.7\""), Some(why));
    }

    fn scenarios() -> Vec<Scenario> {
        parse("releases.yaml", SCENARIOS, &Vocabulary::builtin()).unwrap()
    }

    fn versions() -> (Version, Version) {
        ("1.6".parse().unwrap(), "1.7".parse().unwrap())
    }

    #[test]
    fn scenarios_and_expectations_differ_by_their_bounds() {
        let (from, to) = versions();
        let said = |one: Difference| {
            let what = one.expectation.unwrap_or_else(|| "all".to_owned());
            format!("{} {what} {} {}", one.scenario, one.only_at, one.channel.unwrap_or("both"))
        };
        let mut all: Vec<String> = differences(&scenarios(), from, to).into_iter().map(said).collect();
        all.sort();
        let condition = "condition steps[0].settle.GatewayClass/${class}.SupportedVersion";
        let step = "step steps[1].settle.GatewayClass/${class}.SupportedVersion";
        let expected = [
            format!("{condition}.status v1.7.0 both"),
            "newer all v1.7.0 experimental".to_owned(),
            "older all v1.6.0 both".to_owned(),
            format!("{step}.status v1.6.0 both"),
        ];
        assert_eq!(all, expected);
        assert_eq!(differences(&scenarios(), from, from), []);
    }

    #[test]
    fn what_a_record_cannot_tell_of_another_release_has_to_be_run() {
        let (recorded, wanted) = versions();
        let all = scenarios();
        let ran: BTreeSet<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
        let names = |ran: &BTreeSet<&str>, channel| {
            let all = unanswered(&all, ran, (recorded, channel), wanted);
            all.into_iter().map(|one| one.scenario).collect::<BTreeSet<_>>()
        };
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(names(&ran, Channel::Standard), set(&["step", "admission"]));
        assert_eq!(names(&ran, Channel::Experimental), set(&["step", "admission", "newer"]));
        assert_eq!(names(&BTreeSet::new(), Channel::Experimental), set(&["newer"]));
    }
}
