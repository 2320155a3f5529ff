//! Every fault and every variant changes what it says it changes, and that reads otherwise without it.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use base64::Engine as _;
use serde_json::{Map, Value, json};

use super::cases::{MORE, no_records};
use crate::behaviour::{Behaviour, Seams};
use crate::components::{Component, Rule, Stop};
use crate::gate::{Counters, Verdict, decide};
use crate::object::{Kind, Snapshot};
use crate::reconcile::Outcome;
use crate::reconcile::tests::{gw, limits, policy, route, said, settle, world};
use crate::settings::Settings;
use crate::status::Change;

/// One behaviour's effect: `plain` is read without it and not with it, `changed` with it and not without it. Empty is not asked.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What the cluster has.
    pub(super) setup: fn(&mut Snapshot),
    /// What happens after a first round.
    pub(super) then: fn(&mut Snapshot),
    /// What is read.
    pub(super) probe: fn(&mut Round) -> String,
    pub(super) plain: &'static str,
    pub(super) changed: &'static str,
}

pub(super) struct Round {
    world: Snapshot,
    pub(super) outcome: Outcome,
    seams: Seams,
}

fn read(case: &Case, behaviour: Option<&str>) -> String {
    let mut world = world();
    (case.setup)(&mut world);
    let mut seams = Behaviour::of(behaviour).unwrap().seams();
    let mut world = settle(&world, &mut seams);
    seams.round(world.clone(), &Settings::default());
    (case.then)(&mut world);
    let outcome = seams.round(world.clone(), &Settings::default());
    (case.probe)(&mut Round { world, outcome, seams })
}

fn hold(case: &Case, behaviour: &str) {
    assert!(!case.plain.is_empty() || !case.changed.is_empty(), "{behaviour} is asked for nothing");
    let (without, with) = (read(case, None), read(case, Some(behaviour)));
    if !case.plain.is_empty() {
        assert!(without.contains(case.plain), "{behaviour}: {:?} is not in {without}", case.plain);
        assert!(!with.contains(case.plain), "{behaviour}: {:?} is still in {with}", case.plain);
    }
    if !case.changed.is_empty() {
        assert!(with.contains(case.changed), "{behaviour}: {:?} is not in {with}", case.changed);
        assert!(!without.contains(case.changed), "{behaviour}: {:?} is in {without} as well", case.changed);
    }
}

// What is read.

pub(super) fn says(round: &mut Round) -> String {
    let (conditions, messages) = said(&round.outcome, "p");
    let update = round.outcome.statuses.iter().find(|one| one.key.2 == "p").unwrap();
    let Change::Own { fields, .. } = &update.change else { panic!("{update:?}") };
    format!("{} | {messages} | {}", conditions.join(" "), Value::Object(fields.clone()))
}

pub(super) fn merged(round: &mut Round, kind: Kind, name: &str) -> Value {
    let live = round.world.get(kind, "ns", name).unwrap();
    let update = round.outcome.statuses.iter().find(|one| one.key.0 == kind && one.key.2 == name);
    update.map_or_else(
        || live["status"].clone(),
        |update| round.seams.merge(live, &update.change, "2026-02-02T00:00:00Z"),
    )
}

pub(super) fn targets(round: &mut Round) -> String {
    let (gateway, route) = (merged(round, Kind::Gateway, "gw"), merged(round, Kind::HttpRoute, "r"));
    format!("gateway={} listeners={} route={route}", gateway["conditions"], gateway["listeners"])
}

fn written_of_tls(round: &mut Round) -> String {
    merged(round, Kind::TlsPolicy, "p").to_string()
}

pub(super) fn written(round: &mut Round) -> String {
    merged(round, Kind::RateLimitPolicy, "p").to_string()
}

fn order(round: &mut Round) -> String {
    let kind = |one: Option<&crate::status::StatusUpdate>| one.unwrap().key.0.name();
    let all = &round.outcome.statuses;
    format!("first={} last={}", kind(all.first()), kind(all.last()))
}

fn children(round: &mut Round) -> String {
    Value::Array(round.outcome.children.clone()).to_string()
}

/// Without a key, with a wrong one, to write with a key, and to read with it twice.
pub(super) fn verdicts(round: &mut Round) -> Vec<Verdict> {
    let requests = [
        ("GET", ""),
        ("GET", "APIKEY wrong"),
        ("POST", "APIKEY right"),
        ("GET", "APIKEY right"),
        ("GET", "APIKEY right"),
    ];
    let key = ("127.9.9.9".parse().unwrap(), 80, "http".to_owned(), "ns/r".to_owned(), 0);
    let mut counters = Counters::default();
    let mut one = |(method, credential): (&str, &str)| {
        let mut headers = Map::new();
        if !credential.is_empty() {
            headers.insert("authorization".to_owned(), credential.into());
        }
        let facts = Map::from_iter([("request".to_owned(), json!({"method": method, "headers": headers}))]);
        let verdict = decide(&round.outcome.gate, &key, &facts, &mut counters, Duration::from_secs(1));
        round.seams.alters.iter().fold(verdict, |verdict, alter| alter(&facts, verdict))
    };
    requests.into_iter().map(&mut one).collect()
}

pub(super) fn answers(round: &mut Round) -> String {
    let one = |verdict: &Verdict| match verdict {
        Verdict::Pass => "pass".to_owned(),
        Verdict::Deny { status, .. } => status.to_string(),
    };
    verdicts(round).iter().map(one).collect::<Vec<_>>().join(" ")
}

fn reasons(round: &mut Round) -> String {
    format!("{:?}", verdicts(round))
}

pub(super) fn in_force(round: &mut Round) -> String {
    let limits = round.outcome.gate.guards.values().flat_map(|guard| &guard.limits);
    limits.map(|rule| rule.body.to_string()).collect()
}

// What the cluster has.

fn nothing(_: &mut Snapshot) {}

pub(super) fn base(world: &mut Snapshot) {
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "p", route(), 4, limits("l")));
}

pub(super) fn no_target(world: &mut Snapshot) {
    base(world);
    world.objects.retain(|key, _| key.0 != Kind::HttpRoute);
}

fn no_target_before(world: &mut Snapshot) {
    no_target(world);
    world.edit(Kind::RateLimitPolicy, |one| {
        one["status"] = json!({"conditions": [{"type": "Accepted", "status": "False", "message": "before"}]});
    });
}

pub(super) fn enforced_late(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::RateLimitPolicy, |one| {
        let long_ago = "2020-01-01T00:00:00Z";
        one["status"] =
            json!({"conditions": [{"type": "Enforced", "status": "False", "lastTransitionTime": long_ago}]});
    });
}

pub(super) fn conflict(world: &mut Snapshot) {
    let body = json!({"issuerRef": {"name": "i"}});
    world.put(Kind::TlsPolicy, policy(Kind::TlsPolicy, "p", gw(), 4, body.clone()));
    world.put(Kind::TlsPolicy, policy(Kind::TlsPolicy, "q", gw(), 3, body));
}

fn certificate(world: &mut Snapshot) {
    world.put(
        Kind::Certificate,
        json!({"metadata": {"namespace": "ns", "name": "c", "resourceVersion": "9"}, "spec": {}}),
    );
}

fn no_issuer(world: &mut Snapshot) {
    world.put(Kind::TlsPolicy, policy(Kind::TlsPolicy, "p", gw(), 4, json!({"issuerRef": {"name": "j"}})));
}

fn bad_network(world: &mut Snapshot) {
    world.put(Kind::DnsPolicy, policy(Kind::DnsPolicy, "p", gw(), 4, json!({"excludeAddresses": ["10.0.0.0/99"]})));
}

pub(super) fn sick_record(world: &mut Snapshot) {
    world.put(Kind::DnsPolicy, policy(Kind::DnsPolicy, "p", gw(), 4, json!({"healthCheck": {}})));
    let conditions = json!([{"type": "Ready", "status": "True"}, {"type": "Healthy", "status": "False"}]);
    let metadata = json!({"namespace": "ns", "name": "gw-http"});
    world.put(Kind::DnsRecord, json!({"metadata": metadata, "spec": {}, "status": {"conditions": conditions}}));
}

fn another_policy(world: &mut Snapshot) {
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "z", gw(), 5, limits("l")));
}

fn published(world: &mut Snapshot) {
    world.put(Kind::DnsPolicy, policy(Kind::DnsPolicy, "p", gw(), 4, json!({})));
}

fn record_not_ready(world: &mut Snapshot) {
    world.edit(Kind::DnsRecord, |one| one["status"]["conditions"][0]["status"] = json!("False"));
}

fn no_kuadrant(world: &mut Snapshot) {
    base(world);
    world.objects.retain(|key, _| key.0 != Kind::Kuadrant);
}

pub(super) fn no_paths(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::Gateway, |one| one["status"]["listeners"] = json!([]));
}

fn service_down(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::Limitador, |one| one["status"] = json!({}));
}

pub(super) fn overridden(world: &mut Snapshot) {
    base(world);
    let body = json!({"overrides": limits("x")});
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", gw(), 5, body));
}

fn merging(world: &mut Snapshot) {
    let mut body = limits("x");
    body["strategy"] = json!("merge");
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "p", gw(), 5, json!({"defaults": body})));
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", route(), 4, limits("l")));
}

fn broken(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::RateLimitPolicy, |one| one["spec"]["when"] = json!([{"predicate": "request.("}]));
}

fn partly(world: &mut Snapshot) {
    base(world);
    let mut at = route();
    at["sectionName"] = json!("one");
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", at, 5, limits("x")));
}

fn on_gateway(world: &mut Snapshot) {
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "p", gw(), 4, limits("l")));
    world.edit(Kind::HttpRoute, |one| {
        let all = one["status"]["parents"][0]["conditions"].as_array_mut().unwrap();
        all.push(json!({"type": "ResolvedRefs", "status": "True"}));
    });
}

fn on_listener(world: &mut Snapshot) {
    let mut at = gw();
    at["sectionName"] = json!("http");
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "p", at, 4, limits("l")));
}

fn affected_before(world: &mut Snapshot) {
    world.edit(Kind::Gateway, |one| {
        one["status"]["conditions"] = json!([{"type": "kuadrant.io/RateLimitPolicyAffected", "status": "True"}]);
    });
}

pub(super) fn guarded(world: &mut Snapshot) {
    base(world);
    let rules = json!({"rules": {
        "authentication": {"keys": {
            "apiKey": {"selector": {"matchLabels": {"app": "a"}}},
            "credentials": {"authorizationHeader": {"prefix": "APIKEY"}},
        }},
        "authorization": {"reads": {"patternMatching": {"patterns": [{"predicate": "request.method == 'GET'"}]}}},
    }});
    world.put(Kind::AuthPolicy, policy(Kind::AuthPolicy, "a", route(), 4, rules));
    let labels = json!({"app": "a", "authorino.kuadrant.io/managed-by": "authorino"});
    let key = base64::engine::general_purpose::STANDARD.encode("right");
    world.put(
        Kind::Secret,
        json!({"metadata": {"namespace": "ns", "name": "k", "labels": labels}, "data": {"api_key": key}}),
    );
}

fn counted(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::RateLimitPolicy, |one| {
        one["spec"]["limits"]["l"]["counters"] = json!([{"expression": "request.path"}]);
    });
}

/// Two routes, each with a limit of the same name.
fn namesakes(world: &mut Snapshot) {
    base(world);
    let mut other = world.get(Kind::HttpRoute, "ns", "r").unwrap().clone();
    other["metadata"]["name"] = json!("other");
    world.put(Kind::HttpRoute, other);
    let mut target = route();
    target["name"] = json!("other");
    let mut wide = limits("l");
    wide["limits"]["l"]["rates"][0]["limit"] = json!(9);
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "wide", target, 5, wide));
}

fn stop(world: &mut Snapshot, stop: Component) {
    guarded(world);
    let rule = Rule::Stop(Stop { stop, namespace: None, host: None, reason: None });
    world.components.0.insert("test".to_owned(), vec![rule]);
}

fn no_authorino(world: &mut Snapshot) {
    stop(world, Component::Authorino);
}

fn no_limitador(world: &mut Snapshot) {
    stop(world, Component::Limitador);
}

fn no_policies(world: &mut Snapshot) {
    world.objects.retain(|key, _| !Kind::POLICIES.contains(&key.0));
}

fn no_quota(world: &mut Snapshot) {
    world.edit(Kind::RateLimitPolicy, |one| one["spec"]["limits"]["l"]["rates"][0]["limit"] = json!(0));
}

pub(super) const fn case(
    name: &'static str,
    setup: fn(&mut Snapshot),
    probe: fn(&mut Round) -> String,
    plain: &'static str,
    changed: &'static str,
) -> Case {
    Case { name, setup, then: nothing, probe, plain, changed }
}

const AFFECTED: &str = "kuadrant.io/RateLimitPolicyAffected";
pub(super) const MISSING: &str = "Accepted=False/TargetNotFound";
pub(super) const REPLACED: &str = "Enforced=False/Overridden";
pub(super) const ACCEPTED: &str = "Accepted=True/Accepted";
pub(super) const ENFORCED: &str = "Enforced=True/Enforced";
const USUAL: &str = "401 401 403 pass 429";

const FAULTS: &[Case] = &[
    case("accepts-missing-targets", no_target, says, MISSING, ACCEPTED),
    case("calls-missing-targets-invalid", no_target, says, MISSING, "Accepted=False/Invalid"),
    case("hides-the-missing-target", no_target, says, "HTTPRoute ns/r", ""),
    case("calls-missing-targets-unknown", no_target, says, MISSING, "Accepted=False/Unknown"),
    Case {
        then: another_policy,
        ..case("forgets-why-after-other-events", no_target, says, MISSING, "Accepted=False/Unknown")
    },
    Case {
        then: record_not_ready,
        ..case("never-leaves-enforced", published, says, "Enforced=False/Unknown", "Enforced=True/Enforced")
    },
    case("accepts-conflicts", conflict, says, "Accepted=False/Conflicted", ACCEPTED),
    case("hides-the-rival", conflict, says, "ns/q", ""),
    case("accepts-tls-policies-without-issuer", no_issuer, says, "Accepted=False/Invalid", ACCEPTED),
    case("accepts-bad-networks", bad_network, says, "Accepted=False/Unknown", ACCEPTED),
    case("enforces-without-kuadrant", no_kuadrant, says, "Enforced=False/MissingResource", ENFORCED),
    case("enforces-without-paths", no_paths, says, "Enforced=False/Unknown", ENFORCED),
    case("hides-the-stopped-service", service_down, says, "components: Limitador", "components: a service"),
    case("enforces-overridden-policies", overridden, says, REPLACED, ENFORCED),
    case("hides-the-winners", overridden, says, "[ns/q]", ""),
    case("calls-overridden-unknown", overridden, says, REPLACED, "Enforced=False/Unknown"),
    case("enforces-broken-expressions", broken, says, "Enforced=False/InvalidCelExpression", ENFORCED),
    case("hides-partial-enforcement", partly, says, "is partially enforced", "is enforced"),
    case("says-unknown-status", no_paths, says, "Enforced=False/Unknown", "Enforced=Unknown/Unknown"),
    case("keeps-enforced-beside-refusals", no_target, says, "", "Enforced=False/Unknown"),
    case("enforces-what-it-refuses", no_target, says, "", ENFORCED),
    case("has-no-enforced-condition", base, says, ENFORCED, ""),
    case("has-no-accepted-condition", base, says, ACCEPTED, ""),
    case("gives-no-messages", no_target, says, "was not found", ""),
    case("invents-reasons", base, says, ACCEPTED, "Accepted=True/Valid"),
    case("invents-enforced-reasons", base, says, ENFORCED, "Enforced=True/Programmed"),
    case("adds-failed", no_target, says, "", "Failed=True/Failed"),
    case("has-no-affected-conditions", on_gateway, targets, AFFECTED, ""),
    case("affects-gateways-only", on_gateway, targets, "kuadrant.io/policy-controller", ""),
    case("says-affected-false", on_gateway, targets, "", "\"status\":\"False\""),
    case(
        "affects-without-a-generation",
        on_gateway,
        targets,
        "\"observedGeneration\":3}] listeners",
        "0Z\"}] listeners",
    ),
    case("keeps-affected-conditions", affected_before, targets, "", AFFECTED),
    case("is-blind-to-stopped-services", service_down, says, "Enforced=False/Unknown", ENFORCED),
    case("forgets-sick-records", sick_record, says, "SubResourcesHealthy=False", "SubResourcesHealthy=True"),
    case("miscounts-records", sick_record, says, "\"totalRecords\":1", "\"totalRecords\":2"),
    case(
        "ignores-sections",
        on_listener,
        targets,
        "gateway=null",
        "gateway=[{\"type\":\"kuadrant.io/RateLimitPolicyAffected",
    ),
    case("ignores-overrides", overridden, says, REPLACED, ENFORCED),
    case("ignores-merging", merging, says, ENFORCED, REPLACED),
    case("claims-without-a-gate", guarded, answers, USUAL, "pass pass pass pass pass"),
    case("enforces-no-limits", guarded, answers, USUAL, "401 401 403 pass pass"),
    case("enforces-no-authorization", guarded, answers, USUAL, "401 401 pass 429 429"),
    case("fails-open-without-authorino", no_authorino, answers, "403 403 403 403 403", "pass 429 429 429 429"),
    Case { then: no_policies, ..case("never-takes-guards-away", guarded, answers, "pass pass pass pass pass", USUAL) },
    Case { then: no_quota, ..case("acts-by-the-first-rules", guarded, answers, "401 401 403 429 429", USUAL) },
    Case { then: no_quota, ..case("counts-by-the-first-rates", guarded, answers, "401 401 403 429 429", USUAL) },
    case("fails-closed-without-limitador", no_limitador, answers, "401 401 403 pass pass", "401 401 403 403 403"),
    case("answers-403-without-key", guarded, answers, USUAL, "403 403 403 pass 429"),
    case("answers-503-for-limits", guarded, answers, USUAL, "401 401 403 pass 503"),
    case("lets-one-more-through", guarded, answers, USUAL, "401 401 403 pass pass"),
    case("stops-one-early", guarded, answers, USUAL, "401 401 403 429 429"),
    case("counts-all-together", counted, in_force, "\"counters\"", ""),
    case("knows-limits-by-name-alone", namesakes, in_force, "\"limit\":9", ""),
    case("trusts-every-key", guarded, answers, USUAL, "401 pass 403 pass 429"),
    case("observes-nothing", no_issuer, written_of_tls, "\"observedGeneration\":2", ""),
    case("observes-ahead", no_issuer, written_of_tls, "\"observedGeneration\":2", "\"observedGeneration\":3"),
    case("never-moves-transition-times", enforced_late, written, "", "2020-01-01"),
    case("edits-entries-of-others", on_gateway, targets, "ResolvedRefs", ""),
    case("amplifies-messages", no_target_before, written, "", "again: before"),
    Case {
        then: certificate,
        ..case("accepts-tls-after-certificate-events", conflict, says, "Accepted=False/Conflicted", ACCEPTED)
    },
];

const VARIANTS: &[Case] = &[
    case("says-it-in-other-words", base, says, "", "Note: "),
    case("shouts-partial", partly, says, "partially enforced", "PARTIALLY enforced"),
    case("adds-own-conditions", base, says, "", "example.com/Seen=True/Seen"),
    case(
        "orders-conditions-otherwise",
        base,
        says,
        "Accepted=True/Accepted Enforced",
        "Enforced=True/Enforced Accepted",
    ),
    case("stamps-conditions", base, written, "", "\"observedGeneration\":2},{"),
    case("counts-none-as-zero", no_records, says, "\"totalRecords\":null", "\"totalRecords\":0"),
    case("writes-routes-first", base, order, "first=RateLimitPolicy", "last=RateLimitPolicy"),
    case("keeps-more-children", base, children, "", "spare.example.com"),
    case("writes-in-two-steps", base, written, "\"type\":\"Enforced\"", ""),
    case("gives-no-reasons-for-denials", guarded, reasons, "no credential that counts", "forbidden"),
    case("lists-affecting-policies-with-kinds", on_gateway, targets, "", "policies: affected by"),
];

#[test]
fn every_fault_changes_what_it_says() {
    let all = || FAULTS.iter().chain(MORE);
    all().for_each(|case| hold(case, case.name));
    // Those of time change nothing at first, and that of definitions has a test of its own.
    let apart =
        ["renews-times", "recovers-by-itself", "turns-by-itself", "turns-after-a-while", "forgets-why-after-a-while"];
    // Those of the other edition have theirs beside them.
    let apart = apart
        .into_iter()
        .chain(["rewrites-crowds", "serves-specs-without-rules"])
        .chain(super::design::FAULTS.iter().map(|one| one.name));
    let shown: Vec<&str> = all().map(|case| case.name).chain(apart).collect();
    let not_shown: Vec<&str> = crate::FAULTS.iter().map(|one| one.name).filter(|name| !shown.contains(name)).collect();
    assert_eq!(not_shown, [""; 0]);
}

#[test]
fn every_variant_changes_what_it_says() {
    VARIANTS.iter().for_each(|case| hold(case, &format!("variant:{}", case.name)));
    // Those of the other edition have their tests beside the faults of that.
    let shown: Vec<&str> = VARIANTS
        .iter()
        .map(|case| case.name)
        .chain(["refuses-what-does-not-compile", "takes-gateways-for-ancestors"])
        .collect();
    let not_shown: Vec<&str> =
        crate::VARIANTS.iter().map(|one| one.name).filter(|name| !shown.contains(name)).collect();
    assert_eq!(not_shown, [""; 0]);
}

#[test]
fn definitions_lose_their_rules_by_the_fault_that_says_so() {
    let rules = |names: Option<&str>| {
        let mut definitions = crate::definitions();
        Behaviour::of(names).unwrap().reshape(&mut definitions);
        definitions.retain(|one| one["spec"]["group"] == "kuadrant.io");
        Value::Array(definitions).to_string().matches("x-kubernetes-validations").count()
    };
    assert!(rules(None) > 0);
    assert_eq!(rules(Some("serves-specs-without-rules")), 0);
}
