//! Tables of the core.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::behaviour::{Behaviour, Seams};
use crate::effective::effective;
use crate::status::merge;

/// A Gateway with a route of two rules and everything that policies need, all of it ready.
pub(crate) fn world() -> Snapshot {
    let mut world = Snapshot::default();
    let ready = json!({"conditions": [{"type": "Ready", "status": "True", "message": ""}]});
    let accepted = json!([{"type": "Accepted", "status": "True"}]);
    world.put(
        Kind::GatewayClass,
        json!({"metadata": {"name": "c"}, "spec": {"controllerName": "gateproof.dev/reference"}}),
    );
    world.put(Kind::Gateway, json!({
        "metadata": {"namespace": "ns", "name": "gw", "generation": 3},
        "spec": {"gatewayClassName": "c", "listeners": [{"name": "http", "port": 80, "hostname": "*.example.com"}]},
        "status": {"addresses": [{"value": "127.9.9.9"}],
            "listeners": [{"name": "http", "attachedRoutes": 1, "conditions": [{"type": "Programmed", "status": "True"}]}]},
    }));
    world.put(Kind::HttpRoute, json!({
        "metadata": {"namespace": "ns", "name": "r", "generation": 1},
        "spec": {"rules": [{"name": "one"}, {"name": "two"}]},
        "status": {"parents": [{"parentRef": {"name": "gw"}, "controllerName": "gateproof.dev/reference", "conditions": accepted}]},
    }));
    for (kind, name) in [(Kind::Authorino, "authorino"), (Kind::Limitador, "limitador"), (Kind::Kuadrant, "kuadrant")] {
        world.put(
            kind,
            json!({"metadata": {"namespace": "kuadrant-system", "name": name}, "spec": {}, "status": ready}),
        );
    }
    world.put(
        Kind::Issuer,
        json!({"metadata": {"namespace": "ns", "name": "i"}, "spec": {"selfSigned": {}}, "status": ready}),
    );
    world
}

pub(crate) fn policy(kind: Kind, name: &str, target: Value, created: u32, body: Value) -> Value {
    let mut spec = json!({"targetRef": target});
    spec.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    let created = format!("2026-01-01T00:00:{created:02}Z");
    json!({"kind": kind.name(), "metadata": {"namespace": "ns", "name": name, "generation": 2, "creationTimestamp": created}, "spec": spec})
}

pub(crate) fn gw() -> Value {
    json!({"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw"})
}

pub(crate) fn route() -> Value {
    json!({"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "r"})
}

pub(crate) fn limits(name: &str) -> Value {
    json!({"limits": {name: {"rates": [{"limit": 1, "window": "10s"}]}}})
}

/// Lets the kept objects come true and their components be ready, as the runtime and the components do.
pub(crate) fn settle(world: &Snapshot, seams: &mut Seams) -> Snapshot {
    let mut world = world.clone();
    for _ in 0..3 {
        for mut child in seams.round(world.clone(), &Settings::default()).children {
            let kind = Kind::find(text(&child, "/kind")).unwrap();
            let known = world.get(kind, namespace(&child), name(&child)).map(|known| known["status"].clone());
            if kind == Kind::Kuadrant || (known.is_none() && matches!(kind, Kind::Authorino | Kind::Limitador)) {
                continue;
            }
            child["status"] =
                known.unwrap_or(json!({"conditions": [{"type": "Ready", "status": "True", "message": ""}]}));
            world.put(kind, child);
        }
    }
    world
}

fn settled(world: &Snapshot) -> Outcome {
    reconcile(&settle(world, &mut Seams::default()), &Settings::default())
}

/// What a policy says, as `Type=Status/Reason`, with the messages.
pub(crate) fn said(outcome: &Outcome, of: &str) -> (Vec<String>, String) {
    let update = outcome.statuses.iter().find(|one| one.key.2 == of && Kind::POLICIES.contains(&one.key.0)).unwrap();
    let Change::Own { conditions, .. } = &update.change else { panic!("{update:?}") };
    let one = |condition: &Condition| format!("{}={}/{}", condition.r#type, condition.status, condition.reason);
    (
        conditions.iter().map(one).collect(),
        conditions.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; "),
    )
}

type Change_ = fn(&mut Snapshot);

#[rstest]
#[case::enforced(|_: &mut Snapshot| {}, "Accepted=True/Accepted Enforced=True/Enforced", "is enforced")]
#[case::no_target(|w: &mut Snapshot| { w.objects.remove(&(Kind::HttpRoute, "ns".into(), "r".into())); }, "Accepted=False/TargetNotFound", "HTTPRoute ns/r")]
#[case::no_dependency(|w: &mut Snapshot| { w.missing.insert(Dependency::Limitador); }, "Accepted=False/MissingDependency", "[Limitador Operator]")]
#[case::dependency_of_others(|w: &mut Snapshot| { w.missing.insert(Dependency::Authorino); }, "Accepted=True/Accepted Enforced=True/Enforced", "is enforced")]
#[case::no_gateway_api(|w: &mut Snapshot| w.missing.extend([Dependency::GatewayApi, Dependency::Provider]), "Accepted=False/MissingDependency", "[Gateway API, Gateway API provider]")]
#[case::no_kuadrant(|w: &mut Snapshot| w.objects.retain(|key, _| key.0 != Kind::Kuadrant), "Accepted=True/Accepted Enforced=False/MissingResource", "Kuadrant")]
#[case::no_service(|w: &mut Snapshot| w.objects.retain(|key, _| key.0 != Kind::Limitador), "Accepted=True/Accepted Enforced=False/MissingResource", "Limitador")]
#[case::not_programmed(|w: &mut Snapshot| w.edit(Kind::Gateway, |one| one["status"]["listeners"] = json!([])), "Accepted=True/Accepted Enforced=False/Unknown", "path")]
#[case::service_down(|w: &mut Snapshot| w.edit(Kind::Limitador, |one| one["status"] = json!({})), "Accepted=True/Accepted Enforced=False/Unknown", "Limitador")]
#[case::other_controller(|w: &mut Snapshot| {
    w.edit(Kind::GatewayClass, |one| one["spec"]["controllerName"] = json!("example.com/x"));
    w.edit(Kind::HttpRoute, |one| one["status"]["parents"][0]["controllerName"] = json!("example.com/x"));
}, "Accepted=True/Accepted Enforced=False/Unknown", "Gateway (ns/gw)")]
#[case::bad_expression(|w: &mut Snapshot| w.edit(Kind::RateLimitPolicy, |one| one["spec"]["when"] = json!([{"predicate": "request.("}])), "Accepted=True/Accepted Enforced=False/InvalidCelExpression", "compile")]
#[case::overridden(|w: &mut Snapshot| w.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", gw(), 5, json!({"overrides": limits("x")}))), "Accepted=True/Accepted Enforced=False/Overridden", "[ns/q]")]
#[case::defaults_yield(|w: &mut Snapshot| w.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", gw(), 1, limits("x"))), "Accepted=True/Accepted Enforced=True/Enforced", "is enforced")]
#[case::newer_has_precedence(|w: &mut Snapshot| w.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", route(), 5, limits("x"))), "Accepted=True/Accepted Enforced=False/Overridden", "[ns/q]")]
#[case::older_yields(|w: &mut Snapshot| w.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", route(), 1, limits("x"))), "Accepted=True/Accepted Enforced=True/Enforced", "is enforced")]
#[case::later_name_has_precedence(|w: &mut Snapshot| w.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", route(), 4, limits("x"))), "Accepted=True/Accepted Enforced=False/Overridden", "[ns/q]")]
#[case::partially(|w: &mut Snapshot| {
    let mut at = route();
    at["sectionName"] = json!("one");
    w.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "q", at, 5, limits("x")));
}, "Accepted=True/Accepted Enforced=True/Enforced", "partially")]
fn limits_say(#[case] change: Change_, #[case] expected: &str, #[case] message: &str) {
    let mut world = world();
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "p", route(), 4, limits("l")));
    change(&mut world);
    let (conditions, messages) = said(&settled(&world), "p");
    assert_eq!(conditions.join(" "), expected, "{messages}");
    assert!(messages.contains(message), "{messages}");
}

#[rstest]
#[case::tls(Kind::TlsPolicy, json!({"issuerRef": {"name": "i"}}), "Accepted=True/Accepted Enforced=True/Enforced", "")]
#[case::no_issuer(Kind::TlsPolicy, json!({"issuerRef": {"name": "j"}}), "Accepted=False/Invalid", "j")]
#[case::dns(Kind::DnsPolicy, json!({"healthCheck": {}}), "Accepted=True/Accepted Enforced=True/Enforced SubResourcesHealthy=True/SubResourcesHealthy", "")]
#[case::bad_network(Kind::DnsPolicy, json!({"excludeAddresses": ["10.0.0.0/99"]}), "Accepted=False/Unknown", "10.0.0.0/99")]
#[case::no_records(Kind::DnsPolicy, json!({"excludeAddresses": ["127.0.0.0/8"]}), "Accepted=True/Accepted Enforced=True/Enforced", "no DNSRecords")]
fn direct_policies_say(#[case] kind: Kind, #[case] body: Value, #[case] expected: &str, #[case] message: &str) {
    let mut world = world();
    world.put(kind, policy(kind, "p", gw(), 4, body));
    let (conditions, messages) = said(&settled(&world), "p");
    assert_eq!(conditions.join(" "), expected, "{messages}");
    assert!(messages.contains(message), "{messages}");
}

#[rstest]
#[case::older(3, "Accepted=False/Conflicted")]
#[case::of_the_same_second(4, "Accepted=True/Accepted Enforced=True/Enforced")]
fn the_younger_is_in_conflict(#[case] other: u32, #[case] expected: &str) {
    let mut world = world();
    let body = json!({"issuerRef": {"name": "i"}});
    world.put(Kind::TlsPolicy, policy(Kind::TlsPolicy, "p", gw(), 4, body.clone()));
    world.put(Kind::TlsPolicy, policy(Kind::TlsPolicy, "q", gw(), other, body));
    assert_eq!(said(&settled(&world), "p").0.join(" "), expected);
}

#[test]
fn targets_tell_and_forget_what_affects_them() {
    let mut world = world();
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "p", gw(), 4, limits("l")));
    let write = |world: &mut Snapshot| {
        for update in settled(world).statuses {
            if !matches!(update.change, Change::Own { .. }) {
                let mut object = world.get(update.key.0, &update.key.1, &update.key.2).unwrap().clone();
                object["status"] = merge(&object, &update.change, "2026-01-01T00:00:00Z");
                world.put(update.key.0, object);
            }
        }
    };
    let before = world.clone();
    write(&mut world);
    let gateway = world.get(Kind::Gateway, "ns", "gw").unwrap();
    assert!(crate::object::is_true(&gateway["status"], "kuadrant.io/RateLimitPolicyAffected"), "{gateway}");
    assert!(crate::object::is_true(&gateway["status"]["listeners"][0], "kuadrant.io/RateLimitPolicyAffected"));
    let parents = world.get(Kind::HttpRoute, "ns", "r").unwrap()["status"]["parents"].clone();
    assert_eq!(parents[0], before.get(Kind::HttpRoute, "ns", "r").unwrap()["status"]["parents"][0]);
    assert_eq!(parents[1]["controllerName"], crate::status::CONTROLLER_NAME);
    world.objects.retain(|key, _| key.0 != Kind::RateLimitPolicy);
    write(&mut world);
    assert_eq!(world.get(Kind::HttpRoute, "ns", "r").unwrap()["status"]["parents"].as_array().unwrap().len(), 1);
    assert!(!world.get(Kind::Gateway, "ns", "gw").unwrap().to_string().contains("Affected"));
}

#[test]
fn names_of_behaviours_are_unique_and_known() {
    let mut names: Vec<&str> =
        crate::FAULTS.iter().map(|one| one.name).chain(crate::VARIANTS.iter().map(|one| one.name)).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    assert!(crate::FAULTS.iter().all(|fault| !fault.clauses.is_empty() && Behaviour::of(Some(fault.name)).is_ok()));
    assert!(Behaviour::of(Some("no-such-fault")).is_err());
}

proptest! {
    /// Of policies on one object, the oldest that overrides wins, else the newest; names decide among equals.
    #[test]
    fn the_oldest_override_or_the_newest_default_has_precedence(of in proptest::collection::vec((0..4u32, any::<bool>()), 1..6)) {
        let world = world();
        let path = &paths(&world)[0];
        let all: Vec<Value> = of.iter().enumerate().map(|(index, (created, overrides))| {
            let body = limits(&format!("l{index}"));
            let body = if *overrides { json!({"overrides": body}) } else { body };
            policy(Kind::RateLimitPolicy, &format!("p{index}"), route(), *created, body)
        }).collect();
        let rules = effective(&ordered(path, &all.iter().collect::<Vec<_>>()));
        let by_age = |(index, (created, _)): &(usize, &(u32, bool))| (*created, *index);
        let oldest_override = of.iter().enumerate().filter(|(_, (_, overrides))| *overrides).min_by_key(by_age);
        let winner = oldest_override.or_else(|| of.iter().enumerate().max_by_key(by_age)).unwrap().0;
        prop_assert_eq!(rules.iter().map(|rule| rule.source.clone()).collect::<Vec<_>>(), vec![format!("ns/p{winner}")]);
    }
}

fn spec_of(outcome: &Outcome, kind: Kind) -> Value {
    let children: Vec<_> = outcome.children.iter().filter(|child| child["kind"] == kind.name()).collect();
    assert!(children.iter().all(|child| child["spec"] == children[0]["spec"]), "{children:?}");
    children[0]["spec"].clone()
}

#[test]
fn the_service_that_counts_is_given_a_limit_for_each_rate_and_path() {
    let mut world = world();
    let mut body = limits("l");
    body["limits"]["l"]["rates"].as_array_mut().unwrap().push(json!({"limit": 5, "window": "1h30m"}));
    body["limits"]["l"]["counters"] = json!([{"expression": "request.path"}]);
    body["limits"]["l"]["when"] = json!([{"predicate": "inner"}]);
    body["when"] = json!([{"predicate": "outer"}]);
    world.put(Kind::RateLimitPolicy, policy(Kind::RateLimitPolicy, "p", route(), 4, body));
    let limits = spec_of(&settled(&world), Kind::Limitador)["limits"].as_array().unwrap().clone();
    let rates: Vec<_> = limits.iter().map(|one| (one["max_value"].clone(), one["seconds"].clone())).collect();
    assert_eq!(rates, [(1, 10), (5, 5400), (1, 10), (5, 5400)].map(|(most, window)| (json!(most), json!(window))));
    for limit in &limits {
        assert_eq!((&limit["namespace"], &limit["name"]), (&json!("ns/r"), &json!("ns/p/limits/l")));
        assert_eq!(limit["variables"], json!(["request.path"]));
        assert_eq!(limit["conditions"].as_array().unwrap()[1..], [json!("outer"), json!("inner")]);
    }
    assert_ne!(limits[0]["conditions"][0], limits[2]["conditions"][0], "each path counts by itself");
}

#[test]
fn the_service_that_authorizes_is_given_rules_by_its_own_names() {
    let mut world = world();
    let pattern = json!({"selector": "a", "operator": "eq", "value": "b"});
    let item = json!({"m": {"plain": {"value": 1}}});
    let body = json!({"patterns": {"p": {"allOf": [pattern]}}, "rules": {
        "authorization": {"o": {"opa": {"rego": "allow = true"}}},
        "response": {"success": {"filters": item}},
    }});
    world.put(Kind::AuthPolicy, policy(Kind::AuthPolicy, "p", route(), 4, body));
    let outcome = settled(&world);
    let spec = spec_of(&outcome, Kind::AuthConfig);
    assert_eq!(spec["patterns"], json!({"p": [pattern]}));
    assert_eq!(spec["authorization"], json!({"o": {"opa": {"rego": "allow = true", "version": "v0"}}}));
    assert_eq!(spec["response"], json!({"success": {"dynamicMetadata": item}}));
    assert_eq!(said(&outcome, "p").0, ["Accepted=True/Accepted", "Enforced=True/Enforced"]);
}
