//! What differs between two releases of Gateway API: for scenarios, and for a run that was recorded at one of them. Pure.

mod twins;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::dialects::{Change, Dialect, DialectKind, Minor};
use crate::scenario::expectations::{Expectation, asserted, enumerate};
use crate::scenario::objects::applied;
use crate::scenario::scope::definitions;
use crate::scenario::{Basis, Channel, Ending, Release, Scenario, Step, Version};

/// What of a scenario is asked at one of two releases only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The scenario.
    pub scenario: String,
    /// The expectation; nothing if it is the whole scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expectation: Option<String>,
    /// The values that it asks for, such as `True` of a status; nothing where a few words do not say them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asks: Option<String>,
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
            asks: one.0.as_deref().and_then(|id| asserted(scenario, id)?.values()),
            only_at: one.1.to_string(),
            channel: (!both(one)).then_some(channel),
        }));
    }
    all
}

/// What one channel asks at one of the two releases, with the release.
fn asked_once(scenario: &Scenario, from: Version, to: Version, channel: Channel) -> Vec<(Option<String>, Version)> {
    match (has_meaning(scenario, from, channel), has_meaning(scenario, to, channel)) {
        (false, false) => Vec::new(),
        (true, false) => vec![(None, from)],
        (false, true) => vec![(None, to)],
        (true, true) => {
            let at = |one: &Expectation| match (
                one.binds(Basis::release(from, channel)),
                one.binds(Basis::release(to, channel)),
            ) {
                (true, false) => Some(from),
                (false, true) => Some(to),
                _ => None,
            };
            let all = enumerate(scenario);
            twins::without(scenario, all.iter().filter_map(|one| Some((one, at(one)?))).collect())
        }
    }
}

/// Whether a scenario is asked at a release: its bounds admit it, and the definitions there have the kinds that it needs.
pub fn has_meaning(scenario: &Scenario, version: Version, channel: Channel) -> bool {
    scenario.bounds.admits(Basis::release(version, channel)) && lacked(scenario, version, channel).is_none()
}

/// A release as a dialect knows it.
pub fn minor(version: Version) -> Minor {
    Minor { major: version.major, minor: version.minor }
}

/// A release as it is said of definitions, such as `v1.7.0 in the standard channel`; nothing if they name none.
pub(super) fn release_in_words(words: &str) -> Option<Release> {
    let (version, channel) = words.strip_suffix(" channel")?.split_once(" in the ")?;
    let channel = [Channel::Standard, Channel::Experimental].into_iter().find(|known| known.word() == channel)?;
    Some(Release { version: version.parse().ok()?, channel })
}

/// Whether a step asks the definitions whether they admit a write.
pub(super) fn asks(step: &Step) -> bool {
    step.either.iter().any(|ending| matches!(ending, Ending::Refused(..) | Ending::Admitted))
}

/// What definitions of one of two releases take otherwise than those of the other, in a channel.
pub(super) fn between(
    dialect: &Dialect,
    (one, channel): (Version, Channel),
    other: Version,
) -> impl Iterator<Item = &Change> {
    let [first, last] = if one < other { [one, other] } else { [other, one] }.map(minor);
    let is_between = move |change: &&Change| first < change.release && change.release <= last;
    dialect.changes().iter().filter(is_between).filter(move |change| change.is_in(channel.word()))
}

/// The first kind that a scenario writes or waits for at a release, and that the definitions of that release have not.
fn lacked(scenario: &Scenario, version: Version, channel: Channel) -> Option<&str> {
    let mut done = scenario.clone();
    done.steps.retain(|step| step.bounds.admits(Basis::release(version, channel)));
    let made = scenario.made.iter().map(|made| (made.group.clone(), made.object.kind.clone()));
    let needed: BTreeSet<_> = applied(&done).map(|key| (key.group, key.kind)).chain(made).collect();
    let dialect = &scenario.dialect;
    let group = |kind: &DialectKind| dialect.group_of(&kind.kind).to_owned();
    let own = definitions(scenario);
    let is_lacked = |kind: &&DialectKind| {
        needed.contains(&(group(kind), kind.kind.clone()))
            && !kind.is_served(minor(version), channel.word())
            && !own.contains(&*format!("{}.{}", kind.plural, group(kind)))
    };
    dialect.kinds().find(is_lacked).map(|kind| &*kind.kind)
}

/// A scenario of which a recorded run says nothing at another release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unanswered {
    /// The scenario.
    pub scenario: String,
    /// Why it has to be run.
    pub why: String,
    /// Whether what it wrote is taken alike at both releases, so that a part of the record may hold.
    #[serde(skip)]
    pub(super) is_written_alike: bool,
}

/// What a record has of scenarios.
#[derive(Debug, Default)]
pub struct Recorded<'a> {
    /// Those that ran.
    pub ran: BTreeSet<&'a str>,
    /// Those that were selected; nothing if the record does not say which.
    pub selected: Option<BTreeSet<&'a str>>,
    /// What each wrote that the definitions of the other release may take otherwise, in words.
    pub otherwise: BTreeMap<&'a str, String>,
}

/// What has to be run to know how a target does at another release than that of its record.
pub fn unanswered<'a>(
    scenarios: impl IntoIterator<Item = &'a Scenario>,
    record: &Recorded<'_>,
    (recorded, channel): (Version, Channel),
    wanted: Version,
) -> Vec<Unanswered> {
    let both = [recorded, wanted].map(|version| Basis::release(version, channel));
    let why = |scenario: &Scenario| {
        let name = &*scenario.name;
        if !has_meaning(scenario, wanted, channel) {
            return None;
        }
        if record.selected.as_ref().is_some_and(|selected| !selected.contains(name)) && !record.ran.contains(name) {
            return None;
        }
        if !scenario.bounds.admits(Basis::release(recorded, channel)) {
            return Some(format!("it has no meaning at {recorded}"));
        }
        if !record.ran.contains(name) {
            let kind = lacked(scenario, recorded, channel)?;
            return Some(format!("the {} channel of {recorded} has no {kind}", channel.word()));
        }
        if let Some(step) = scenario.steps.iter().find(|step| is_done_once(step, both)) {
            return Some(format!("steps[{}] is done at one of the two releases only", step.index));
        }
        let all = enumerate(scenario);
        if let Some(step) = scenario.steps.iter().find(|step| turns_otherwise(scenario, &all, step, both)) {
            return Some(format!("what is done after steps[{}] may differ between the two releases", step.index));
        }
        if let Some(asked) = scenario.steps.iter().find(|step| asks(step)) {
            return Some(format!("steps[{}] asks the definitions whether they admit a write", asked.index));
        }
        record.otherwise.get(name).cloned()
    };
    let told = |scenario: &Scenario| {
        let name = scenario.name.clone();
        let is_written_alike = record.ran.contains(&*name) && !record.otherwise.contains_key(&*name);
        Some(Unanswered { why: why(scenario)?, is_written_alike, scenario: name })
    };
    scenarios.into_iter().filter_map(told).collect()
}

/// Whether a step is done at one of two releases only.
fn is_done_once(step: &Step, [one, other]: [Basis; 2]) -> bool {
    step.bounds.admits(one) != step.bounds.admits(other)
}

/// Whether what is done after a step depends on what is asked at one of two releases only. `all` is what the scenario asks.
fn turns_otherwise(scenario: &Scenario, all: &[Expectation], step: &Step, [one, other]: [Basis; 2]) -> bool {
    let ends = format!("steps[{}].either[", step.index);
    let differs = |of: &Expectation| of.id.starts_with(&ends) && of.binds(one) != of.binds(other);
    scenario.turns_at(step) && all.iter().any(differs)
}

/// Whether what a recorded run found stands at another release, though not all of the scenario is known there: it is asked for at
/// both, and up to then nothing was written at one of them only.
pub(super) fn stands(
    scenario: &Scenario,
    finding: &str,
    (recorded, channel): (Version, Channel),
    wanted: Version,
) -> bool {
    let both = [recorded, wanted].map(|version| Basis::release(version, channel));
    let index = finding.strip_prefix("steps[").and_then(|rest| rest.split(']').next()?.parse::<usize>().ok());
    let Some(step) = scenario.steps.iter().find(|step| Some(step.index) == index) else { return false };
    let all = enumerate(scenario);
    let parts = |step: &Step| {
        turns_otherwise(scenario, &all, step, both) || asks(step) || is_done_once(step, both) && step.verb.writes()
    };
    let held = all.iter().filter(|one| one.id == finding).all(|one| both.iter().all(|at| one.binds(*at)));
    held && both.iter().all(|at| step.bounds.admits(*at))
        && !scenario.steps.iter().any(|other| other.index <= step.index && parts(other))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

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
            let record = Recorded { ran: BTreeSet::from(["turns"]), ..Recorded::default() };
            unanswered(&all, &record, (recorded, Channel::Standard), wanted).into_iter().map(|one| one.why).next()
        };
        assert_eq!(must_be_run("reason: Accepted"), None);
        let why = "what is done after steps[0] may differ between the two releases".to_owned();
        assert_eq!(must_be_run("since: \"1.7\""), Some(why));
    }

    const KIND: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: tcp}
spec:
  summary: It writes what a channel came to have.
  features: [Gateway, TCPRoute]
  gateways: {gw: tcp}
  steps:
    - apply:
        - {apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: own}, spec: {parentRefs: ["${gw}"], rules: [{backendRefs: [{name: none, port: 80}]}]}}
    - settle: {TCPRoute/own: {Accepted: "True"}}
      proves: [IMPL-28]
"#;

    #[test]
    fn a_kind_that_a_channel_came_to_have_brings_its_scenarios() {
        let all = parse("releases.yaml", KIND, &Vocabulary::builtin()).unwrap();
        let (from, to) = ("1.5.1".parse().unwrap(), "1.6".parse().unwrap());
        let said = differences(&all, from, to);
        let said: Vec<_> = said.iter().map(|one| (&*one.only_at, one.expectation.as_deref(), one.channel)).collect();
        assert_eq!(said, [("v1.6.0", None, Some("standard"))]);
        let why = |record: &Recorded<'_>, (from, to), channel| {
            unanswered(&all, record, (from, channel), to).into_iter().map(|one| one.why).next()
        };
        let none = Recorded::default();
        let lacked = Some("the standard channel of v1.5.1 has no TCPRoute".to_owned());
        assert_eq!(why(&none, (from, to), Channel::Standard), lacked);
        assert_eq!(why(&none, (from, to), Channel::Experimental), None);
        assert_eq!(why(&none, (to, from), Channel::Standard), None);
        let unselected = Recorded { selected: Some(BTreeSet::new()), ..Recorded::default() };
        assert_eq!(why(&unselected, (from, to), Channel::Standard), None);
        let selected = Recorded { selected: Some(BTreeSet::from(["tcp"])), ..Recorded::default() };
        assert_eq!(why(&selected, (from, to), Channel::Standard), lacked);
    }

    #[test]
    fn what_was_written_and_is_taken_otherwise_has_to_be_run() {
        let (all, (recorded, wanted)) = (scenarios(), versions());
        let otherwise = BTreeMap::from([("same", "it is written".to_owned())]);
        let record = Recorded { ran: BTreeSet::from(["same", "condition"]), otherwise, ..Recorded::default() };
        let said = unanswered(&all, &record, (recorded, Channel::Standard), wanted);
        let (scenario, why) = ("same".to_owned(), "it is written".to_owned());
        assert_eq!(said, [Unanswered { scenario, why, is_written_alike: false }]);
    }

    const PARTED: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: parted}
spec:
  summary: Something else is looked at, and later something else is written.
  features: [Gateway]
  gateways: {gw: http}
  steps:
    - settle: {"GatewayClass/${class}": {Accepted: "True"}}
      proves: [IMPL-28]
    - settle: {"GatewayClass/${class}": {SupportedVersion: "True"}}
      until: "1.7"
      proves: [IMPL-19]
    - settle: {"GatewayClass/${class}": {Accepted: "True", SupportedVersion: {status: "True", since: "1.7"}}}
      proves: [IMPL-28]
    - apply:
        - {apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: own}, spec: {parentRefs: [{name: gw}]}}
      until: "1.7"
    - settle: {"GatewayClass/${class}": {Accepted: "True"}}
      proves: [IMPL-28]
"#;

    #[rstest]
    #[case::before("steps[0].settle.GatewayClass/${class}.Accepted.status", true)]
    #[case::at_one_of_them("steps[1].settle.GatewayClass/${class}.SupportedVersion.status", false)]
    #[case::behind_what_is_read("steps[2].settle.GatewayClass/${class}.Accepted.status", true)]
    #[case::binding_at_one("steps[2].settle.GatewayClass/${class}.SupportedVersion.status", false)]
    #[case::behind_what_is_written("steps[4].settle.GatewayClass/${class}.Accepted.status", false)]
    #[case::of_no_step("contract/GatewayClass/something", false)]
    fn a_failure_stands_where_nothing_was_written_otherwise(#[case] finding: &str, #[case] expected: bool) {
        let all = parse("releases.yaml", PARTED, &Vocabulary::builtin()).unwrap();
        let (recorded, wanted) = versions();
        assert_eq!(stands(&all[0], finding, (recorded, Channel::Standard), wanted), expected);
    }

    #[test]
    fn definitions_say_their_release_in_words() {
        let release = Release { version: "1.3".parse().unwrap(), channel: Channel::Standard };
        assert_eq!(release_in_words("v1.3.0 in the standard channel"), Some(release));
        assert_eq!(release_in_words("no release that they name"), None);
        assert_eq!(release_in_words("v1.3.0 in the main channel"), None);
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
            let record = Recorded { ran: ran.clone(), ..Recorded::default() };
            let all = unanswered(&all, &record, (recorded, channel), wanted);
            all.into_iter().map(|one| one.scenario).collect::<BTreeSet<_>>()
        };
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(names(&ran, Channel::Standard), set(&["step", "admission"]));
        assert_eq!(names(&ran, Channel::Experimental), set(&["step", "admission", "newer"]));
        assert_eq!(names(&BTreeSet::new(), Channel::Experimental), set(&["newer"]));
    }
}
