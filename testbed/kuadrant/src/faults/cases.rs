//! What faults of waiting, precedence and history change.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::tests::{
    ACCEPTED, Case, ENFORCED, MISSING, REPLACED, Round, answers, base, case, conflict, enforced_late, guarded,
    in_force, merged, no_paths, no_target, overridden, says, sick_record, targets, verdicts, written,
};
use crate::object::{Dependency, Kind, Snapshot};
use crate::reconcile::tests::{gw, limits, policy, route};

const WAITS: &str = "Enforced=False/Unknown";

// What is read.

fn types(round: &mut Round) -> String {
    let status = merged(round, Kind::TlsPolicy, "p");
    let types = status["conditions"].as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap().to_owned());
    types.collect::<Vec<_>>().join(" ")
}

/// What is answered once nobody is asked for a key any more.
fn answers_after_an_edit(round: &mut Round) -> String {
    verdicts(round);
    round.outcome.gate.guards.values_mut().for_each(|guard| guard.auth.clear());
    answers(round)
}

fn health(round: &mut Round) -> String {
    merged(round, Kind::DnsPolicy, "p").to_string()
}

// What the cluster has.

/// A policy that found its records healthy while there was a Gateway.
fn refused_after_health(world: &mut Snapshot) {
    let mut at = gw();
    at["name"] = json!("gone");
    world.put(Kind::DnsPolicy, policy(Kind::DnsPolicy, "p", at, 4, json!({"healthCheck": {}})));
    world.edit(Kind::DnsPolicy, |one| {
        one["status"] = json!({"conditions": [{"type": "SubResourcesHealthy", "status": "True"}]});
    });
}

fn few(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::RateLimitPolicy, |one| one["spec"]["limits"]["l"]["rates"][0]["limit"] = json!(2));
}

fn put(world: &mut Snapshot, name: &str, target: Value, created: u32, body: Value) {
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, name, target, created, body));
}

fn newer(world: &mut Snapshot) {
    base(world);
    put(world, "q", route(), 5, limits("x"));
}

fn older(world: &mut Snapshot) {
    base(world);
    put(world, "q", route(), 1, limits("x"));
}

/// Two defaults on one route that were made in one second.
fn at_once(world: &mut Snapshot) {
    base(world);
    put(world, "q", route(), 4, limits("x"));
}

fn overrides(world: &mut Snapshot) {
    put(world, "p", route(), 4, json!({"overrides": limits("l")}));
    put(world, "q", route(), 5, json!({"overrides": limits("l")}));
}

/// What a Gateway has as a default, with what its listener and its route have each for themselves, which is merged.
fn two_winners(world: &mut Snapshot) {
    let merged = |name: &str| {
        let mut body = limits(name);
        body["strategy"] = json!("merge");
        json!({"defaults": body})
    };
    let mut listener = gw();
    listener["sectionName"] = json!("http");
    put(world, "p", gw(), 4, json!({"defaults": limits("l")}));
    put(world, "q", listener, 4, merged("x"));
    put(world, "r", route(), 4, merged("y"));
}

fn merging_overrides(world: &mut Snapshot) {
    let mut body = limits("l");
    body["strategy"] = json!("merge");
    put(world, "p", gw(), 4, json!({"overrides": body}));
    put(world, "q", route(), 5, limits("l"));
}

fn on_a_rule(world: &mut Snapshot) {
    let mut at = route();
    at["sectionName"] = json!("two");
    put(world, "p", at, 4, limits("l"));
}

fn without_the_other(world: &mut Snapshot) {
    world.objects.retain(|key, _| key.2 != "q");
}

/// The one key that there is, without a label that it needs.
fn unlabelled(world: &mut Snapshot, label: &str) {
    guarded(world);
    world.edit(Kind::Secret, |one| {
        one["metadata"]["labels"].as_object_mut().unwrap().remove(label).unwrap();
    });
}

fn not_selected(world: &mut Snapshot) {
    unlabelled(world, "app");
}

fn not_watched(world: &mut Snapshot) {
    unlabelled(world, "authorino.kuadrant.io/managed-by");
}

fn no_service(world: &mut Snapshot) {
    base(world);
    world.objects.retain(|key, _| key.0 != Kind::Limitador);
}

fn not_programmed(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::Gateway, |one| one["status"]["listeners"][0]["conditions"][0]["status"] = json!("False"));
}

fn not_admitted(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::HttpRoute, |one| one["status"]["parents"][0]["conditions"][0]["status"] = json!("False"));
}

fn unknown_controller(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::GatewayClass, |one| one["spec"]["controllerName"] = json!("example.com/x"));
    world.edit(Kind::HttpRoute, |one| one["status"]["parents"][0]["controllerName"] = json!("example.com/x"));
}

fn tls(world: &mut Snapshot) {
    world.put(Kind::TlsPolicy, policy(Kind::TlsPolicy, "p", gw(), 4, json!({"issuerRef": {"name": "i"}})));
}

fn certificate(world: &mut Snapshot, reason: &str) {
    tls(world);
    world.edit(Kind::Gateway, |one| one["spec"]["listeners"][0]["tls"] = json!({"certificateRefs": [{"name": "c"}]}));
    let conditions = json!([{"type": "Ready", "status": "False", "reason": reason, "message": ""}]);
    let metadata = json!({"namespace": "ns", "name": "c"});
    world.put(Kind::Certificate, json!({"metadata": metadata, "spec": {}, "status": {"conditions": conditions}}));
}

fn no_certificate(world: &mut Snapshot) {
    certificate(world, "Pending");
}

fn certificate_for_others(world: &mut Snapshot) {
    certificate(world, "IncorrectCertificate");
}

pub(super) fn no_records(world: &mut Snapshot) {
    let body = json!({"excludeAddresses": ["127.0.0.0/8"]});
    world.put(Kind::DnsPolicy, policy(Kind::DnsPolicy, "p", gw(), 4, body));
}

fn two_records(world: &mut Snapshot, conditions: Value) {
    world.put(Kind::DnsPolicy, policy(Kind::DnsPolicy, "p", gw(), 4, json!({"healthCheck": {}})));
    world.edit(Kind::Gateway, |one| {
        let spec = one["spec"]["listeners"].as_array_mut().unwrap();
        spec.push(json!({"name": "more", "port": 80, "hostname": "b.example.com"}));
        let status = one["status"]["listeners"].as_array_mut().unwrap();
        status.push(json!({"name": "more", "attachedRoutes": 1}));
    });
    let metadata = json!({"namespace": "ns", "name": "gw-more"});
    world.put(Kind::DnsRecord, json!({"metadata": metadata, "spec": {}, "status": {"conditions": conditions}}));
}

fn one_not_ready(world: &mut Snapshot) {
    two_records(world, json!([{"type": "Ready", "status": "False"}]));
}

fn one_sick(world: &mut Snapshot) {
    two_records(world, json!([{"type": "Ready", "status": "True"}, {"type": "Healthy", "status": "False"}]));
}

fn authorino_not_ready(world: &mut Snapshot) {
    world.edit(Kind::Authorino, |one| one["status"]["conditions"][0]["status"] = json!("False"));
}

/// Accepted long ago, at an older generation.
fn edited(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::RateLimitPolicy, |one| {
        one["status"] = json!({"observedGeneration": 1, "conditions": [
            {"type": "Accepted", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]});
    });
}

/// At its seventh generation.
fn edited_often(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::RateLimitPolicy, |one| one["metadata"]["generation"] = json!(7));
}

fn observed(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::RateLimitPolicy, |one| one["status"] = json!({"observedGeneration": 2}));
}

/// Already said to be enforced by whoever was there before.
fn enforced_before(world: &mut Snapshot) {
    base(world);
    world.edit(Kind::RateLimitPolicy, |one| {
        one["status"] = json!({"conditions": [{"type": "Enforced", "status": "True", "message": "before"}]});
    });
}

fn no_gateway_api(world: &mut Snapshot) {
    base(world);
    world.missing.insert(Dependency::GatewayApi);
}

fn no_provider(world: &mut Snapshot) {
    base(world);
    world.missing.insert(Dependency::Provider);
}

fn no_carrier(world: &mut Snapshot) {
    base(world);
    world.missing.insert(Dependency::Limitador);
}

fn another_misses(world: &mut Snapshot) {
    guarded(world);
    world.missing.insert(Dependency::Authorino);
}

fn missed_before(world: &mut Snapshot) {
    base(world);
    let message = "needs what is not there: [Limitador Operator]";
    world.edit(Kind::RateLimitPolicy, |one| {
        one["status"] =
            json!({"conditions": [{"type": "Accepted", "reason": "MissingDependency", "message": message}]});
    });
}

/// A policy about keys with this label, on a section of the route or on all of it.
fn secured(world: &mut Snapshot, name: &str, section: Option<&str>, app: &str) {
    let mut target = route();
    if let Some(section) = section {
        target["sectionName"] = json!(section);
    }
    let keys = json!({"apiKey": {"selector": {"matchLabels": {"app": app}}}});
    let rules = json!({"rules": {"authentication": {"keys": keys}}});
    world.put(Kind::AuthPolicy, policy(Kind::AuthPolicy, name, target, 4, rules));
}

fn secured_whole(world: &mut Snapshot) {
    secured(world, "p", None, "a");
}

fn secured_apart(world: &mut Snapshot) {
    secured(world, "p", Some("one"), "a");
    secured(world, "q", Some("two"), "b");
    world.edit(Kind::HttpRoute, |one| one["spec"]["hostnames"] = json!(["a.example.com"]));
}

fn refuse(config: &mut Value) {
    config["status"] = json!({"conditions": [{"type": "Ready", "status": "False"}]});
}

fn first_not_ready(world: &mut Snapshot) {
    let mut is_first = true;
    world.edit(Kind::AuthConfig, |config| {
        if std::mem::take(&mut is_first) {
            refuse(config);
        }
    });
}

fn other_not_ready(world: &mut Snapshot) {
    world.edit(Kind::AuthConfig, |config| {
        if config["spec"].to_string().contains("\"app\":\"b\"") {
            refuse(config);
        }
    });
}

fn no_section(world: &mut Snapshot) {
    let mut target = gw();
    target["sectionName"] = json!("nowhere");
    world.put(Kind::TlsPolicy, policy(Kind::TlsPolicy, "p", target, 4, json!({"issuerRef": {"name": "i"}})));
}

fn one_of_two_records(world: &mut Snapshot) {
    two_records(world, json!([{"type": "Ready", "status": "True"}]));
    world.edit(Kind::DnsPolicy, |one| one["spec"]["targetRef"]["sectionName"] = json!("http"));
}

const NOBODY: &str = "401 401 401 401 401";
const LACKS: &str = "Accepted=False/MissingDependency";

pub(super) const MORE: &[Case] = &[
    case("looks-for-targets-without-gateway-api", no_gateway_api, says, LACKS, MISSING),
    case("accepts-without-a-provider", no_provider, says, LACKS, ACCEPTED),
    case("accepts-without-carriers", no_carrier, says, LACKS, ACCEPTED),
    case("hides-missing-dependencies", no_carrier, says, "Limitador Operator", ""),
    case("misses-what-others-need", another_misses, says, ACCEPTED, LACKS),
    case("remembers-what-was-missing", missed_before, says, ACCEPTED, LACKS),
    case("overlooks-what-it-finds", base, written, "is enforced", "null"),
    case("takes-back-what-it-finds", enforced_before, written, "is enforced", "about to begin"),
    Case { then: first_not_ready, ..case("takes-one-auth-config-for-all", secured_whole, says, WAITS, ENFORCED) },
    Case { then: other_not_ready, ..case("waits-for-auth-configs-of-others", secured_apart, says, ENFORCED, WAITS) },
    case("accepts-missing-sections", no_section, says, MISSING, ACCEPTED),
    case("publishes-beyond-sections", one_of_two_records, says, "\"totalRecords\":1", "\"totalRecords\":2"),
    case("oldest-default-wins", newer, says, REPLACED, ENFORCED),
    case("newest-override-wins", overrides, says, ENFORCED, REPLACED),
    case("takes-the-last-by-name-for-the-oldest", at_once, says, REPLACED, ENFORCED),
    case("takes-refused-routes-for-paths", not_admitted, says, WAITS, ENFORCED),
    case("takes-unprogrammed-listeners-for-paths", not_programmed, says, WAITS, ENFORCED),
    case("observes-five-generations", edited_often, written, "\"observedGeneration\":7", "\"observedGeneration\":5"),
    case("names-itself-as-a-rival", conflict, says, "", "ns/q, ns/p"),
    case("names-itself-among-the-winners", overridden, says, "", "[ns/q], ns/p"),
    case("lists-refused-policies", conflict, targets, "", "[ns/q ns/p]"),
    case("calls-younger-policies-conflicted", older, says, ACCEPTED, "Accepted=False/Conflicted"),
    case("decides-conflicts-by-name", conflict, says, "Accepted=False/Conflicted", ACCEPTED),
    case("merges-overrides-as-defaults", merging_overrides, says, ENFORCED, REPLACED),
    case("names-the-first-winner-alone", two_winners, says, "[ns/q ns/r]", "[ns/q]"),
    Case { then: without_the_other, ..case("ends-overridden-with-one-winner", two_winners, says, REPLACED, ENFORCED) },
    Case { then: without_the_other, ..case("stays-overridden", overridden, says, WAITS, REPLACED) },
    Case { then: without_the_other, ..case("stays-conflicted", conflict, says, ACCEPTED, "Accepted=False/Conflicted") },
    case("never-begins-another-window", base, in_force, "\"window\":\"10s\"", "\"window\":\"24h\""),
    case("answers-once-more-by-the-old-rules", guarded, answers_after_an_edit, "pass 429", "401 429"),
    case("limits-from-the-second-request", base, answers, "pass 429 429 429 429", "pass pass pass pass 429"),
    case("counts-to-one", few, answers, "pass pass 429", "pass pass pass pass pass"),
    case("trusts-keys-of-any-label", not_selected, answers, NOBODY, "403 pass 429"),
    case("trusts-keys-that-authorino-does-not-watch", not_watched, answers, NOBODY, "403 pass 429"),
    case("acts-beyond-sections", on_a_rule, answers, "pass pass pass pass pass", "pass 429 429 429 429"),
    case("enforces-without-service-objects", no_service, says, "Enforced=False/MissingResource", ENFORCED),
    case("knows-every-controller", unknown_controller, says, WAITS, ENFORCED),
    case("enforces-without-certificates", no_certificate, says, WAITS, ENFORCED),
    case("enforces-mismatched-certificates", certificate_for_others, says, WAITS, ENFORCED),
    case("waits-for-records-that-nothing-asks-for", no_records, says, ENFORCED, WAITS),
    case("hides-unready-records", one_not_ready, says, "is partially enforced", "is enforced"),
    case("waits-for-every-record", one_not_ready, says, ENFORCED, WAITS),
    case("overlooks-one-sick-record", one_sick, says, "SubResourcesHealthy=False", "SubResourcesHealthy=True"),
    case("lists-no-sick-records", sick_record, says, "\"recordConditions\":{", "\"recordConditions\":null"),
    case("keeps-health-when-refused", refused_after_health, health, "", "SubResourcesHealthy"),
    case("says-nothing-of-health", sick_record, says, "SubResourcesHealthy=False", ""),
    Case {
        then: authorino_not_ready,
        ..case("forgets-why-without-services", no_target, says, MISSING, "Accepted=False/Unknown")
    },
    case(
        "affects-gateways-of-routes",
        base,
        targets,
        "gateway=null",
        "gateway=[{\"type\":\"kuadrant.io/RateLimitPolicyAffected",
    ),
    case("accepts-routes-itself", base, targets, "", "\"message\":\"accepted\""),
    case("says-it-twice", tls, types, "", "Enforced Accepted"),
    case("writes-empty-statuses", no_paths, written, "", "\"status\":\"\""),
    case("writes-reasons-as-sentences", no_target, written, "TargetNotFound", "target not found"),
    case("writes-no-message-field", base, written, "is enforced", ""),
    case("drops-accepted-after-an-edit", base, written, "\"type\":\"Accepted\"", ""),
    case("observes-the-first-generation", edited, written, "\"observedGeneration\":2", "\"observedGeneration\":1"),
    case("goes-back-a-generation", observed, written, "\"observedGeneration\":2", "\"observedGeneration\":1"),
    case("moves-times-with-edits", edited, written, "2020-01-01T00:00:00Z", "2020-01-01T00:00:01Z"),
    case("sets-times-back", enforced_late, written, "", "2019-12-31T23:00:00Z"),
    case("writes-times-of-tomorrow", base, written, "", "2026-02-03"),
];
