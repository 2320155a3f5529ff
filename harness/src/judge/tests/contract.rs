use std::sync::Arc;

use indexmap::IndexMap;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::{CONTROLLER, NS, contract};
use crate::judge::contract::{Contract, ContractError, ContractState, GATEWAY_API, Rule, over_log};
use crate::log::{
    Body, Change, Elapsed, Event, ObjectKey, Scope, Timing, TimingProfile, Write, WriteOutcome, WriteVerb,
};
use crate::scenario::{
    Basis, Channel, ConditionExpectation, ObjectRef, ParentExpectation, Parents, Place, SubjectExpectation,
};

/// What happens to one object.
#[derive(Clone)]
pub(super) enum Did {
    /// A version, so many milliseconds after what came before.
    See(u64, Value),
    /// The harness patches the status.
    Patch(Value, &'static str),
    Gap,
    /// The harness was late by so many milliseconds.
    Late(u64),
    /// All of the status stands still.
    Settle,
    /// What was awaited does: conditions of these types, on every parent of a route.
    SettleFor(&'static [&'static str]),
    /// What was awaited does: this condition, on the parent with this section.
    SettleAt(&'static str, &'static str),
}
use Did::{Gap, Late, Patch, See, Settle, SettleAt, SettleFor};

fn awaiting(subject: &ObjectRef, types: &[&str]) -> SubjectExpectation {
    SubjectExpectation {
        subject: subject.clone(),
        standing: crate::dialects::Standing::Object,
        conditions: types.iter().map(|type_| ((*type_).to_owned(), ConditionExpectation::default())).collect(),
        parents: Parents::Every,
        listeners: IndexMap::new(),
        fields: Vec::new(),
        place: Place::default(),
    }
}

pub(super) fn breaches(history: &[Did]) -> Vec<String> {
    breaches_at("v1.6.1", history)
}

fn breaches_at(version: &str, history: &[Did]) -> Vec<String> {
    let state = ContractState::new(
        contract(),
        Basis::release(version.parse().unwrap(), Channel::Standard),
        CONTROLLER.to_owned(),
    );
    let mut state = state.limits(&Timing::of(TimingProfile::Embedded));
    let mut now = 0;
    let mut key = None;
    for (seq, did) in history.iter().enumerate() {
        let body = match did {
            See(after, object) => {
                now += after * 1000;
                key = ObjectKey::of(object);
                Body::Observed { key: key.clone().unwrap(), change: Change::Modified, object: Arc::new(object.clone()) }
            }
            Patch(sent, resource_version) => Body::Wrote(Box::new(Write {
                step: 0,
                ordinal: 0,
                verb: WriteVerb::Patch,
                key: key.clone().unwrap(),
                api_version: String::new(),
                sent: Some(Arc::new(sent.clone())),
                outcome: WriteOutcome::Admitted {
                    uid: "u".to_owned(),
                    generation: 1,
                    resource_version: (*resource_version).to_owned(),
                },
            })),
            Late(by) => Body::Lagged { by: by * 1000 },
            Gap => Body::Gap { resource: String::new(), reason: String::new() },
            Settle | SettleFor(_) | SettleAt(..) => {
                let ObjectKey { kind, namespace, name, .. } = key.clone().unwrap();
                let subject = ObjectRef { kind, namespace, name, pool: false };
                let awaited = match did {
                    SettleFor(types) => Some(awaiting(&subject, types)),
                    SettleAt(section, type_) => {
                        let parents = Parents::Selected(vec![ParentExpectation {
                            parent_ref: json!({"name": "gw", "sectionName": section}),
                            controller: None,
                            absent: false,
                            conditions: awaiting(&subject, &[type_]).conditions,
                        }]);
                        Some(SubjectExpectation { parents, ..awaiting(&subject, &[]) })
                    }
                    _ => None,
                };
                state.settled(&subject, awaited.as_ref());
                continue;
            }
        };
        let scope = if matches!(did, Late(_)) { Scope::Run } else { Scope::Scenario("s".into()) };
        state.observe(&Event { seq: seq as u64, at: Elapsed(now), scope, body });
    }
    state.breaches().into_iter().map(|(name, _)| name.rsplit('/').next().unwrap().to_owned()).collect()
}

const T0: &str = "2026-01-01T00:00:00Z";
const T1: &str = "2026-01-01T00:00:05Z";

pub(super) fn condition(text: &str) -> Value {
    let (type_, rest) = text.split_once('=').unwrap();
    let (status, reason) = rest.split_once(':').unwrap();
    json!({"type": type_, "status": status, "reason": reason, "message": "because", "observedGeneration": 1,
        "lastTransitionTime": T0})
}

fn conditions(texts: &[&str]) -> Vec<Value> {
    texts.iter().map(|text| condition(text)).collect()
}

pub(super) fn with(text: &str, field: &str, value: Value) -> Value {
    let mut condition = condition(text);
    condition[field] = value;
    condition
}

fn without(text: &str, field: &str) -> Value {
    let mut condition = condition(text);
    condition.as_object_mut().unwrap().remove(field);
    condition
}

fn object(kind: &str, generation: i64, spec: Value, status: Value) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": kind,
        "metadata": {"name": "x", "namespace": NS, "uid": "u", "generation": generation},
        "spec": spec, "status": status,
    })
}

fn entry(controller: &str, section: &str, conditions: Vec<Value>) -> Value {
    json!({"parentRef": {"name": "gw", "sectionName": section}, "controllerName": controller, "conditions": conditions})
}

/// A route with one entry of our controller.
fn route(conditions: Vec<Value>) -> Value {
    let spec = json!({"parentRefs": [{"name": "gw", "sectionName": "a"}]});
    object("HTTPRoute", 1, spec, json!({"parents": [entry(CONTROLLER, "a", conditions)]}))
}

/// A route with two entries, of which the second is of an earlier generation: its parent may be gone.
fn one_of_two_current() -> Value {
    let spec = json!({"parentRefs": [{"name": "gw", "sectionName": "a"}, {"name": "gw", "sectionName": "b"}]});
    let old = with(GOOD[0], "observedGeneration", json!(0));
    let parents =
        json!([entry(CONTROLLER, "a", conditions(&GOOD)), entry(CONTROLLER, "b", vec![old, condition(GOOD[1])])]);
    object("HTTPRoute", 1, spec, json!({"parents": parents}))
}

fn at_version(mut object: Value, resource_version: &str) -> Value {
    object["metadata"]["resourceVersion"] = json!(resource_version);
    object
}

fn at_generation(mut object: Value, generation: i64) -> Value {
    object["metadata"]["generation"] = json!(generation);
    object
}

const GOOD: [&str; 2] = ["Accepted=True:Accepted", "ResolvedRefs=True:ResolvedRefs"];

fn good_and(more: Value) -> Value {
    let mut all = conditions(&GOOD);
    all.push(more);
    route(all)
}

fn good_with(accepted: Value) -> Value {
    route(vec![accepted, condition(GOOD[1])])
}

pub(super) fn gateway(conditions: Vec<Value>, listeners: Value) -> Value {
    let spec = json!({"listeners": [{"name": "http"}]});
    object("Gateway", 1, spec, json!({"conditions": conditions, "listeners": listeners}))
}

/// A Gateway with one address.
fn addressed(type_: &str, value: &str) -> Value {
    let mut gateway = gateway(programmed(), json!([listener("http")]));
    gateway["status"]["addresses"] = json!([{"type": type_, "value": value}]);
    gateway
}

/// A Gateway that says that it may go on without a client's certificate, and one that is asked for this mode.
fn insecure(mode: &str) -> Value {
    let conditions = conditions(&["InsecureFrontendValidationMode=True:ConfigurationChanged"]);
    let mut gateway = gateway([programmed(), conditions].concat(), json!([]));
    gateway["spec"]["tls"] = json!({"frontend": {"default": {"validation": {"mode": mode}}}});
    gateway
}

/// A Gateway of this class.
fn of_class(name: &str, conditions: Vec<Value>) -> Value {
    let mut gateway = gateway(conditions, json!([]));
    gateway["spec"]["gatewayClassName"] = json!(name);
    gateway
}

fn written_at(mut object: Value, time: &str) -> Value {
    object["metadata"]["managedFields"] = json!([{"manager": "c", "subresource": "status", "time": time}]);
    object
}

fn programmed() -> Vec<Value> {
    conditions(&["Accepted=True:Accepted", "Programmed=True:Programmed"])
}

pub(super) fn listener(name: &str) -> Value {
    let conditions =
        conditions(&["Accepted=True:Accepted", "Programmed=True:Programmed", "ResolvedRefs=True:ResolvedRefs"]);
    json!({"name": name, "attachedRoutes": 0, "supportedKinds": [], "conditions": conditions})
}

fn class(controller: &str, conditions: Vec<Value>, features: &[&str]) -> Value {
    let features: Vec<Value> = features.iter().map(|name| json!({"name": name})).collect();
    object(
        "GatewayClass",
        1,
        json!({"controllerName": controller}),
        json!({"conditions": conditions, "supportedFeatures": features}),
    )
}

pub(super) fn placeholder(type_: &str) -> Value {
    json!({"type": type_, "status": "Unknown", "reason": "Pending", "message": "Waiting for controller",
        "lastTransitionTime": "1970-01-01T00:00:00Z"})
}

/// One version that breaks a rule, and one that is as near to it as can be and does not.
#[rstest]
#[case(Rule::UniqueType, good_and(condition(GOOD[0])), route(conditions(&GOOD)))]
#[case(Rule::TriState, good_with(with(GOOD[0], "status", json!(""))), route(conditions(&GOOD)))]
#[case(Rule::ReasonForm, good_with(with(GOOD[0], "reason", json!(""))), good_with(with(GOOD[0], "reason", json!("a:b"))))]
#[case(Rule::ReasonForm, good_with(with(GOOD[0], "reason", json!("two words"))), route(conditions(&GOOD)))]
#[case(Rule::ReasonCamelCase, good_with(with(GOOD[0], "reason", json!("not_camel"))), good_with(with(GOOD[0], "reason", json!("CamelCase"))))]
#[case(Rule::TypeForm, good_and(condition("-x.test/Bad=True:R")), good_and(condition("x.test/Fine=True:R")))]
#[case(Rule::MessagePresent, good_with(without(GOOD[0], "message")), good_with(with(GOOD[0], "message", json!(""))))]
#[case(Rule::MessageExplains, good_with(with("Accepted=False:NoMatchingParent", "message", json!(""))), good_with(condition("Accepted=False:NoMatchingParent")))]
#[case(Rule::ObservedGenerationPresent, good_with(without(GOOD[0], "observedGeneration")), good_with(condition(GOOD[0])))]
#[case(Rule::ObservedGenerationNotAhead, good_with(with(GOOD[0], "observedGeneration", json!(2))), good_with(with(GOOD[0], "observedGeneration", json!(0))))]
#[case(Rule::AlwaysFromFirstWrite, route(conditions(&GOOD[..1])), route(conditions(&GOOD)))]
#[case(Rule::SupportedVersionPresent, class(CONTROLLER, conditions(&GOOD[..1]), &[]), class("other.test/c", conditions(&GOOD[..1]), &[]))]
#[case(Rule::SupportedVersionPresent, class(CONTROLLER, conditions(&GOOD[..1]), &[]), class(CONTROLLER, conditions(&[GOOD[0], "SupportedVersion=True:SupportedVersion"]), &[]))]
#[case(Rule::SupportedVersionPresent, class(CONTROLLER, conditions(&GOOD[..1]), &[]), class(CONTROLLER, conditions(&["Accepted=False:Unsupported"]), &[]))]
#[case(
    Rule::NegativeOnlyWhileTrue,
    good_and(condition("PartiallyInvalid=False:Fine")),
    good_and(condition("PartiallyInvalid=True:UnsupportedValue"))
)]
#[case(Rule::NegativeOnlyWhileTrue, insecure("AllowValidOnly"), insecure("AllowInsecureFallback"))]
#[case(
    Rule::ReasonListed,
    good_with(condition("Accepted=True:Fine")),
    good_with(condition("Accepted=False:UnsupportedValue"))
)]
#[case(Rule::ReasonListed, good_with(condition("Accepted=True:NoMatchingParent")), good_with(condition(GOOD[0])))]
#[case(Rule::ReasonListed, good_with(condition("Accepted=Unknown:Fine")), route(conditions(&[GOOD[0], "ResolvedRefs=Unknown:Fine"])))]
#[case(Rule::ReasonClosed,
    gateway([programmed(), conditions(&["InsecureFrontendValidationMode=True:Other"])].concat(), json!([])),
    gateway([programmed(), conditions(&["InsecureFrontendValidationMode=True:ConfigurationChanged"])].concat(), json!([])))]
#[case(Rule::TypeRetired, gateway([programmed(), conditions(&["Ready=True:Ready"])].concat(), json!([])), gateway([programmed(), conditions(&["Scheduled=True:Scheduled"])].concat(), json!([])))]
#[case(Rule::TypePrefixed, good_and(condition("Healthy=True:Fine")), good_and(condition("x.test/Healthy=True:Fine")))]
#[case(Rule::EntryUnique,
    object("HTTPRoute", 1, json!({}), json!({"parents": [entry(CONTROLLER, "a", conditions(&GOOD)), entry(CONTROLLER, "a", conditions(&GOOD))]})),
    object("HTTPRoute", 1, json!({}), json!({"parents": [entry(CONTROLLER, "a", conditions(&GOOD)), entry("o.test/c", "a", conditions(&GOOD)), entry(CONTROLLER, "b", conditions(&GOOD))]})))]
#[case(Rule::EntryUnique, gateway(programmed(), json!([listener("http"), listener("http")])), gateway(programmed(), json!([listener("http"), listener("b")])))]
#[case(Rule::ControllerNameForm,
    object("HTTPRoute", 1, json!({}), json!({"parents": [entry("plain", "a", vec![])]})), route(conditions(&GOOD)))]
#[case(Rule::ProgrammedAfterAccepted,
    gateway(conditions(&["Accepted=False:Invalid", "Programmed=True:Programmed"]), json!([])),
    gateway(conditions(&["Accepted=False:Invalid", "Programmed=False:Invalid"]), json!([])))]
#[case(Rule::ProgrammedAfterAccepted,
    gateway(vec![with(GOOD[0], "observedGeneration", json!(0)), condition("Programmed=True:Programmed")], json!([])),
    gateway(vec![condition(GOOD[0]), with("Programmed=True:Programmed", "observedGeneration", json!(0))], json!([])))]
#[case(Rule::ProgrammedAfterAccepted,
    gateway(conditions(&["Accepted=False:Invalid", "Programmed=True:Programmed"]), json!([])),
    gateway(vec![condition("Accepted=False:Invalid"), with("Programmed=True:Programmed", "observedGeneration", json!(0))], json!([])))]
#[case(Rule::CountPresent, gateway(programmed(), json!([{"name": "http", "conditions": []}])), gateway(programmed(), json!([listener("http")])))]
#[case(Rule::Sorted, class(CONTROLLER, vec![], &["B", "A"]), class(CONTROLLER, vec![], &["A", "B"]))]
#[case(Rule::ValueFitsType, addressed("Hostname", "10.0.0.1"), addressed("Hostname", "10.0.0.1.example.com"))]
#[case(Rule::ValueFitsType, addressed("Hostname", "fd00::1"), addressed("IPAddress", "fd00::1"))]
fn one_version(#[case] rule: Rule, #[case] bad: Value, #[case] good: Value) {
    let seen = breaches(&[See(0, bad)]);
    assert!(seen.iter().any(|r| r == rule.name()), "{seen:?}");
    let seen = breaches(&[See(0, good)]);
    assert!(!seen.iter().any(|r| r == rule.name()), "{seen:?}");
}

/// A route that turns so often, every so many milliseconds.
fn turns(every: u64, times: usize) -> Vec<Did> {
    let one = |n: usize| good_with(condition(if n.is_multiple_of(2) { GOOD[0] } else { BAD }));
    (0..=times).map(|n| See(if n == 0 { 0 } else { every }, one(n))).collect()
}

fn moved(text: &str) -> Value {
    with(text, "lastTransitionTime", json!(T1))
}

const BAD: &str = "Accepted=False:NoMatchingParent";

fn marked(marker: &str) -> Value {
    good_and(condition(&format!("mark.test/Marker=True:{marker}")))
}

fn mark() -> Value {
    json!({"status": {"parents": [{"conditions": [condition("mark.test/Marker=True:Here")]}]}})
}

/// Two conditions of somebody else.
const MARKS: [&str; 2] = ["mark.test/Marker=True:Here", "mark.test/Another=True:Here"];

fn marks() -> Value {
    json!({"status": {"parents": [{"conditions": conditions(&MARKS)}]}})
}

fn foreign(section: &str) -> Value {
    let parents =
        json!([entry("foreign.test/c", section, conditions(&GOOD)), entry(CONTROLLER, "a", conditions(&GOOD))]);
    object("HTTPRoute", 1, json!({}), json!({"parents": parents}))
}

/// A policy whose entry for the listener `b` is of an older generation than that for `a`.
fn policy_of_two() -> Value {
    let ancestor = |section: &str, generation: i64| {
        let accepted = with(GOOD[0], "observedGeneration", json!(generation));
        let of = json!({"kind": "Gateway", "name": "gw", "sectionName": section});
        json!({"ancestorRef": of, "controllerName": CONTROLLER, "conditions": [accepted]})
    };
    object("BackendTLSPolicy", 2, json!({}), json!({"ancestors": [ancestor("a", 2), ancestor("b", 1)]}))
}

/// A history that breaks a rule, and one that is as near to it as can be and does not.
///
/// Holds IMPL-33.
#[rstest]
#[case(Rule::ObservedGenerationNotBackwards,
    vec![See(0, at_generation(good_with(with(GOOD[0], "observedGeneration", json!(2))), 2)), See(5, at_generation(route(conditions(&GOOD)), 2))],
    vec![See(0, at_generation(route(conditions(&GOOD)), 2)), See(5, at_generation(good_with(with(GOOD[0], "observedGeneration", json!(2))), 2))])]
#[case(Rule::ObservedGenerationNotBackwards,
    vec![See(0, at_generation(good_with(with(GOOD[0], "observedGeneration", json!(2))), 2)), See(5, at_generation(route(conditions(&GOOD)), 2))],
    vec![See(0, at_generation(good_with(with(GOOD[0], "observedGeneration", json!(2))), 2)), Gap, See(5, at_generation(route(conditions(&GOOD)), 2))])]
#[case(Rule::ObservedGenerationCurrent,
    vec![See(0, at_generation(route(conditions(&GOOD)), 2)), Settle], vec![See(0, route(conditions(&GOOD))), Settle])]
#[case(Rule::ObservedGenerationCurrent,
    vec![See(0, gateway(vec![condition(GOOD[0]), with("Programmed=Unknown:Pending", "observedGeneration", json!(0))], json!([]))), Settle],
    vec![See(0, gateway(vec![condition(GOOD[0]), placeholder("Programmed")], json!([]))), Settle])]
#[case(Rule::ObservedGenerationCurrent,
    vec![See(0, good_with(with(GOOD[0], "observedGeneration", json!(0)))), SettleFor(&["Accepted"])],
    vec![See(0, good_with(with(GOOD[0], "observedGeneration", json!(0)))), SettleFor(&["ResolvedRefs"])])]
#[case(Rule::ObservedGenerationCurrent,
    vec![See(0, one_of_two_current()), SettleAt("b", "Accepted")], vec![See(0, one_of_two_current()), SettleAt("a", "Accepted")])]
#[case(Rule::ObservedGenerationCurrent,
    vec![See(0, policy_of_two()), SettleAt("b", "Accepted")], vec![See(0, policy_of_two()), SettleAt("a", "Accepted")])]
#[case(Rule::TransitionTimeMoves,
    vec![See(0, good_with(condition(GOOD[0]))), See(2500, good_with(condition(BAD)))],
    vec![See(0, good_with(condition(GOOD[0]))), See(2500, good_with(moved(BAD)))])]
#[case(Rule::TransitionTimeMoves,
    vec![See(0, good_with(condition(GOOD[0]))), See(1500, good_with(condition(GOOD[0]))), See(1500, good_with(condition(BAD)))],
    vec![See(0, good_with(condition(GOOD[0]))), See(2400, good_with(condition(BAD)))])]
#[case(Rule::TransitionTimeMoves,
    vec![See(0, gateway(vec![placeholder("Accepted")], json!([]))), See(5, gateway(vec![with(GOOD[0], "lastTransitionTime", json!("1970-01-01T00:00:00Z"))], json!([])))],
    vec![See(0, gateway(vec![placeholder("Accepted")], json!([]))), See(5, gateway(conditions(&GOOD[..1]), json!([])))])]
#[case(Rule::TransitionTimeMoves,
    vec![See(0, written_at(good_with(condition(GOOD[0])), T0)), See(2500, written_at(good_with(condition(BAD)), "2026-01-01T00:00:02Z"))],
    vec![See(0, written_at(good_with(condition(GOOD[0])), T0)), See(2500, written_at(good_with(condition(BAD)), "2026-01-01T00:00:01Z"))])]
#[case(Rule::TransitionTimeMoves,
    vec![Late(1000), See(0, good_with(condition(GOOD[0]))), See(2500, good_with(condition(BAD)))],
    vec![See(0, good_with(condition(GOOD[0]))), Late(1000), See(3400, good_with(condition(BAD)))])]
#[case(Rule::TransitionTimeMoves,
    vec![See(0, written_at(good_with(condition(GOOD[0])), T0)), Late(1000), See(3500, written_at(good_with(condition(BAD)), "2026-01-01T00:00:03Z"))],
    vec![See(0, written_at(good_with(condition(GOOD[0])), T0)), Late(1000), See(3500, written_at(good_with(condition(BAD)), "2026-01-01T00:00:02Z"))])]
#[case(Rule::TransitionTimeStays,
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), Patch(json!({"status": {}}), "1"), See(5, at_version(good_with(moved(GOOD[0])), "2"))],
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), Patch(json!({"status": {}}), "2"), See(5, at_version(good_with(moved(GOOD[0])), "3"))])]
#[case(Rule::TransitionTimeStays,
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), Patch(json!([{"op": "remove", "path": "/spec/rules"}]), "2"), See(5, at_version(good_with(moved(GOOD[0])), "3"))],
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), Patch(json!([{"op": "remove", "path": "/status/parents/0"}]), "2"), See(5, at_version(good_with(moved(GOOD[0])), "3"))])]
#[case(Rule::TransitionTimeStays,
    vec![See(0, good_with(condition(GOOD[0]))), See(5, good_with(moved(GOOD[0])))],
    vec![See(0, good_with(condition(GOOD[0]))), See(5, good_with(moved(BAD)))])]
#[case(Rule::TransitionTimeStays,
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), Patch(json!({"status": {}}), "3"), See(5, at_version(good_with(moved(GOOD[0])), "2"))],
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), Patch(json!({"status": {}}), "b"), See(5, at_version(good_with(moved(GOOD[0])), "c"))])]
#[case(Rule::TransitionTimeNotAhead,
    vec![See(0, written_at(good_with(with(GOOD[0], "lastTransitionTime", json!("2026-01-01T00:02:00Z"))), T0))],
    vec![See(0, written_at(good_with(with(GOOD[0], "lastTransitionTime", json!("2026-01-01T00:01:00Z"))), T0))])]
#[case(Rule::TransitionTimeNotBackwards,
    vec![See(0, good_with(moved(GOOD[0]))), See(5, good_with(condition(BAD)))],
    vec![See(0, good_with(condition(GOOD[0]))), See(5, good_with(moved(BAD)))])]
#[case(Rule::AlwaysPresent,
    vec![See(0, route(conditions(&GOOD))), See(5, route(conditions(&GOOD[..1])))],
    vec![See(0, route(conditions(&GOOD))), See(5, route(conditions(&GOOD)))])]
#[case(Rule::AlwaysPresent,
    vec![See(0, of_class("a", programmed())), See(5, of_class("a", vec![]))],
    vec![See(0, of_class("a", programmed())), See(5, of_class("b", programmed())), See(5, of_class("b", vec![]))])]
#[case::taken_over(Rule::AlwaysPresent,
    vec![See(0, class(CONTROLLER, vec![], &[])), See(0, of_class("b", vec![])), See(5, of_class("x", programmed())), See(5, of_class("x", vec![]))],
    vec![See(0, class("example.com/other", vec![], &[])), See(0, of_class("b", vec![])), See(5, of_class("x", programmed())), See(5, of_class("x", vec![]))])]
#[case(Rule::AlwaysPresent,
    vec![See(0, route(conditions(&GOOD[..1]))), Settle], vec![See(0, route(conditions(&GOOD))), Settle])]
#[case(Rule::AlwaysPresent,
    vec![See(0, route(conditions(&GOOD[..1]))), Settle], vec![See(0, route(conditions(&GOOD[..1]))), SettleFor(&["Accepted"])])]
#[case(Rule::ForeignPreserved,
    vec![See(0, at_version(marked("Here"), "1")), Patch(mark(), "1"), See(5, at_version(route(conditions(&GOOD)), "2"))],
    vec![See(0, at_version(marked("Here"), "1")), Patch(mark(), "1"), See(5, at_version(marked("Here"), "2"))])]
#[case(Rule::ForeignPreserved,
    vec![See(0, route(conditions(&GOOD))), Patch(mark(), "1"), See(5, at_version(marked("Here"), "1")), See(5, at_version(marked("Changed"), "2"))],
    vec![See(0, route(conditions(&GOOD))), Patch(mark(), "1"), See(5, at_version(marked("Here"), "1")), See(5, at_version(marked("Gone"), "2")), Patch(json!({}), "2")])]
#[case(Rule::ForeignOrder,
    vec![See(0, at_version(route(conditions(&[GOOD[0], MARKS[0], GOOD[1], MARKS[1]])), "1")), Patch(marks(), "1"),
        See(5, at_version(route(conditions(&[GOOD[0], MARKS[1], GOOD[1], MARKS[0]])), "2"))],
    vec![See(0, at_version(route(conditions(&[GOOD[0], MARKS[0], GOOD[1], MARKS[1]])), "1")), Patch(marks(), "1"),
        See(5, at_version(route(conditions(&[MARKS[0], MARKS[1], GOOD[0], GOOD[1]])), "2"))])]
#[case(Rule::ForeignEntriesPreserved,
    vec![See(0, at_version(foreign("f"), "1")), Patch(json!([{"controllerName": "foreign.test/c"}]), "1"), See(5, at_version(route(conditions(&GOOD)), "2"))],
    vec![See(0, at_version(foreign("f"), "1")), Patch(json!([{"controllerName": "foreign.test/c"}]), "1"), See(5, at_version(foreign("f"), "2"))])]
#[case(Rule::ListenersComplete,
    vec![See(0, gateway(programmed(), json!([]))), Settle], vec![See(0, gateway(programmed(), json!([listener("http")]))), Settle])]
#[case(Rule::ListenersComplete,
    vec![See(0, gateway(programmed(), json!([listener("http"), listener("gone")]))), Settle],
    vec![See(0, gateway(vec![placeholder("Accepted")], json!([]))), Settle])]
#[case(Rule::Quiescent,
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), See(5, at_version(route(conditions(&GOOD)), "2"))],
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), See(5, at_version(good_with(condition(BAD)), "2"))])]
#[case(Rule::ConditionsStay,
    vec![See(0, route(conditions(&GOOD))), See(5000, good_with(condition(BAD)))],
    vec![See(0, route(conditions(&GOOD))), See(4999, good_with(condition(BAD)))])]
#[case(Rule::ConditionsStay,
    vec![See(0, route(conditions(&GOOD))), See(5000, good_and(condition("PartiallyInvalid=True:UnsupportedValue")))],
    vec![See(0, route(conditions(&GOOD))), See(5000, good_and(condition("x.test/Own=True:Fine")))])]
#[case(Rule::ConditionsStay,
    vec![See(0, good_with(condition(BAD))), See(5000, route(conditions(&GOOD)))],
    vec![See(0, good_with(condition("Accepted=Unknown:Pending"))), See(5000, route(conditions(&GOOD)))])]
#[case(Rule::ConditionsStay,
    vec![See(0, route(conditions(&GOOD))), See(5000, good_with(condition(BAD)))],
    vec![See(0, route(conditions(&GOOD))), See(5000, at_generation(good_with(condition(BAD)), 2))])]
#[case(Rule::ConditionsStay,
    vec![See(0, route(conditions(&GOOD))), See(5000, good_with(condition(BAD)))],
    vec![See(0, route(conditions(&GOOD))), See(5000, route(conditions(&GOOD))), Gap, See(1, good_with(condition(BAD)))])]
#[case(Rule::ConditionsStay,
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), Patch(json!({}), "2"), See(1, at_version(route(conditions(&GOOD)), "3")), See(5000, at_version(good_with(condition(BAD)), "4"))],
    vec![See(0, at_version(route(conditions(&GOOD)), "1")), See(2000, at_version(route(conditions(&GOOD)), "2")), Patch(json!({}), "3"), See(5500, at_version(good_with(condition(BAD)), "4"))])]
#[case(Rule::ConditionsStay,
    vec![See(0, gateway(programmed(), json!([]))), See(5000, gateway(conditions(&["Accepted=False:Invalid", "Programmed=True:Programmed"]), json!([])))],
    vec![See(0, gateway(programmed(), json!([]))), See(5000, gateway(conditions(&[GOOD[0], "Programmed=False:Pending"]), json!([])))])]
#[case(Rule::ConditionsDoNotFlap, turns(1100, 4), turns(1100, 3))]
#[case(Rule::ConditionsDoNotFlap, turns(1100, 4), turns(200, 7))]
fn a_history(#[case] rule: Rule, #[case] bad: Vec<Did>, #[case] good: Vec<Did>) {
    let seen = breaches(&bad);
    assert!(seen.iter().any(|r| r == rule.name()), "{seen:?}");
    let seen = breaches(&good);
    assert!(!seen.iter().any(|r| r == rule.name()), "{seen:?}");
}

/// Who changed an object beside its status stands outside the history of statuses, so it has a case of its own:
/// `others::what_the_target_changes_is_a_breach_of_its_own` and its neighbours. Rule::ObjectsUntouched, here without anybody.
/// Definitions have no status; theirs is `definitions`: Rule::DefinitionsKept, in the same way.
#[test]
fn a_healthy_history_breaks_nothing() {
    let placeholders = gateway(vec![placeholder("Accepted"), placeholder("Programmed")], json!([]));
    let history = [See(0, placeholders), See(50, gateway(programmed(), json!([listener("http")]))), Settle];
    assert_eq!(breaches(&history), Vec::<String>::new());
    assert_eq!(breaches(&[See(0, route(conditions(&GOOD))), Settle]), Vec::<String>::new());
}

#[test]
fn accepted_may_fall_back_to_an_older_generation() {
    let fallen = |message: &str| {
        let partly = with("PartiallyInvalid=True:UnsupportedValue", "message", json!(message));
        let mut resolved = condition(GOOD[1]);
        let mut partly = partly;
        resolved["observedGeneration"] = json!(2);
        partly["observedGeneration"] = json!(2);
        breaches(&[See(0, at_generation(route(vec![condition(GOOD[0]), resolved, partly]), 2)), Settle])
    };
    assert_eq!(fallen("Fall Back to generation 1"), Vec::<String>::new());
    assert_eq!(fallen("Dropped Rule 2"), ["observed-generation-current"]);
}

#[test]
fn every_rule_is_in_a_contract_and_in_these_tables() {
    let contract = Contract::parse(GATEWAY_API).unwrap();
    let (graded, policies) = (super::graded::contract(), super::policies::contract());
    let contracts = [&contract, &graded, &policies];
    let tables = concat!(include_str!("contract.rs"), include_str!("graded.rs"), include_str!("policies.rs"));
    for rule in Rule::ALL {
        assert!(contracts.iter().any(|contract| contract.rule(rule).is_some()), "{}", rule.name());
        assert_eq!(Rule::named(rule.name()), Some(rule));
        assert!(tables.contains(&format!("Rule::{rule:?},")), "no case for {rule:?}");
    }
}

/// Conditions of others are theirs since v1.4 only.
#[test]
fn a_rule_is_held_since_its_release() {
    let history = [
        See(0, at_version(marked("Here"), "1")),
        Patch(mark(), "1"),
        See(5, at_version(route(conditions(&GOOD)), "2")),
    ];
    assert_eq!(breaches_at("v1.4.0", &history), ["foreign-preserved"]);
    assert_eq!(breaches_at("v1.3.2", &history), Vec::<String>::new());
}

#[test]
fn what_a_contract_does_not_know_is_an_error() {
    let broken = |from: &str, to: &str| Contract::parse(&GATEWAY_API.replacen(from, to, 1)).unwrap_err();
    assert!(matches!(broken("refines:", "refined:"), ContractError::Parse(_)));
    assert!(matches!(broken("refines: policies", "refines: policy"), ContractError::UnknownGround(_)));
    assert!(matches!(broken("presence: always", "presence: often"), ContractError::Parse(_)));
    match broken("    unique-type:", "    unique-typo:") {
        ContractError::UnknownRule { hint, .. } => assert_eq!(hint.as_deref(), Some("unique-type")),
        other => panic!("{other}"),
    }
    assert!(matches!(
        broken("conditions: gatewayclass}", "conditions: other}"),
        ContractError::UnknownConditions { .. }
    ));
    assert!(matches!(broken("Unsupported since 1.2", "Unsupported from 1.2"), ContractError::Reason { .. }));
    assert!(matches!(broken("Unsupported since 1.2", "Unsupported since x"), ContractError::Reason { .. }));
    assert!(matches!(broken("since: \"0.8.1\"", "since: x"), ContractError::Version { .. }));
    assert!(matches!(broken("controllerName: '^", "controllerName: '("), ContractError::Form { .. }));
}

#[test]
fn a_log_becomes_records_with_counts_and_evidence() {
    let contract = contract();
    let object = good_with(condition("Accepted=True:Fine"));
    let body = Body::Observed { key: ObjectKey::of(&object).unwrap(), change: Change::Added, object: Arc::new(object) };
    let log = [Event { seq: 7, at: Elapsed(0), scope: Scope::Scenario("s".into()), body }];
    let records = over_log(&contract, Basis::release("v1.6.1".parse().unwrap(), Channel::Standard), CONTROLLER, &log);
    let listed = records.iter().find(|r| r.name == "contract/HTTPRoute/reason-listed").unwrap();
    assert_eq!((listed.objects, listed.breaches.len()), (1, 1));
    let breach = &listed.breaches[0];
    assert_eq!((breach.scenario.as_str(), breach.seq), ("s", 7));
    assert_eq!(breach.path, format!("status.parents[Gateway {NS}/gw section a].conditions[Accepted]"));
    assert!(records.iter().filter(|r| r.name != listed.name).all(|r| r.breaches.is_empty()));
}

/// What of the contract is on depends on which objects there were, never on how many versions a watch happened to show.
#[test]
fn records_do_not_depend_on_what_was_seen_when() {
    let object = good_with(condition("Accepted=True:Accepted"));
    let key = ObjectKey::of(&object).unwrap();
    let seen = |seq| {
        let body = Body::Observed { key: key.clone(), change: Change::Modified, object: Arc::new(object.clone()) };
        Event { seq, at: Elapsed(seq), scope: Scope::Scenario("s".into()), body }
    };
    let admitted = WriteOutcome::Admitted { uid: "u".to_owned(), generation: 1, resource_version: "0".to_owned() };
    let write = Write {
        step: 0,
        ordinal: 0,
        verb: WriteVerb::Apply,
        key: key.clone(),
        api_version: String::new(),
        sent: Some(Arc::new(object.clone())),
        outcome: admitted,
    };
    let wrote =
        Event { seq: 0, at: Elapsed(0), scope: Scope::Scenario("s".into()), body: Body::Wrote(Box::new(write)) };
    let records = |log: &[Event]| {
        over_log(&contract(), Basis::release("v1.6.1".parse().unwrap(), Channel::Standard), CONTROLLER, log)
    };
    let once = records(&[seen(1)]);
    assert!(once.iter().all(|record| record.objects == 1));
    assert!(once.iter().any(|record| record.name == "contract/HTTPRoute/transition-time-moves"));
    assert!(!once.iter().any(|record| record.name == "contract/HTTPRoute/listeners-complete"));
    assert_eq!(records(std::slice::from_ref(&wrote)), once);
    assert_eq!(records(&[wrote, seen(1), seen(2)]), once);
}
