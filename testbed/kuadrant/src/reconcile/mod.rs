//! The pure core: from a snapshot to statuses, objects to keep and the gate's configuration.

mod accepted;
mod affected;
mod dns;
mod enforced;
mod stubs;
mod tls;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::components::{Component, Place, Removable};
use crate::effective::{Rule, effective, ordered};
use crate::gate::{GateConfig, Guard};
use crate::object::{Dependency, Key, Kind, Snapshot, full_name, items, name, namespace, text};
use crate::settings::{Edition, Settings};
use crate::status::{Change, Condition, StatusUpdate};
use crate::topology::{Path, paths, target};

/// The label of objects that the implementation keeps.
pub const MANAGED: &str = "kuadrant.io/managed";

/// What should be.
#[derive(Clone, Default)]
pub struct Outcome {
    /// Statuses.
    pub statuses: Vec<StatusUpdate>,
    /// Objects to keep. Others with the label [`MANAGED`] go.
    pub children: Vec<Value>,
    /// What the gate does.
    pub gate: GateConfig,
}

/// A path with the rules that are in force on it.
pub(crate) struct Way<'a> {
    path: Path<'a>,
    auth: Vec<Rule>,
    limits: Vec<Rule>,
}

/// A verdict that is not good: reason and message.
pub(crate) type Verdict = Result<String, (&'static str, String)>;

/// Works out what should be.
#[must_use]
pub fn reconcile(snapshot: &Snapshot, settings: &Settings) -> Outcome {
    let accepted = |kind: Kind| -> Vec<&Value> {
        snapshot.all(kind).filter(|policy| accepted::accepted(snapshot, settings, kind, policy).is_ok()).collect()
    };
    let (auth, limits) = (accepted(Kind::AuthPolicy), accepted(Kind::RateLimitPolicy));
    let ways: Vec<Way<'_>> = paths(snapshot)
        .into_iter()
        .map(|path| Way { auth: effective(&ordered(&path, &auth)), limits: effective(&ordered(&path, &limits)), path })
        .collect();
    let mut outcome = Outcome::default();
    let kuadrant = snapshot.all(Kind::Kuadrant).next();
    children(snapshot, settings, &ways, &mut outcome);
    if kuadrant.is_some() {
        outcome.gate = gate(snapshot, &ways);
    }
    for kind in Kind::POLICIES {
        for policy in snapshot.all(kind) {
            outcome.statuses.push(policy_status(snapshot, settings, kind, policy, &ways, &outcome.children));
        }
    }
    outcome.statuses.extend(kuadrant_status(snapshot));
    if settings.edition == Edition::Current {
        outcome.statuses.extend(affected::affected(snapshot, settings));
    }
    outcome.statuses.extend(stubs::statuses(snapshot));
    outcome
}

fn key(kind: Kind, object: &Value) -> Key {
    (kind, namespace(object).to_owned(), name(object).to_owned())
}

fn children(snapshot: &Snapshot, settings: &Settings, ways: &[Way<'_>], outcome: &mut Outcome) {
    let child = |kind: Kind, namespace: &str, name: &str, spec: Value| {
        json!({
            "apiVersion": kind.api_version(), "kind": kind.name(),
            "metadata": {"namespace": namespace, "name": name, "labels": {MANAGED: "true"}},
            "spec": spec,
        })
    };
    if settings.keep_kuadrant && !snapshot.components.without(Removable::Kuadrant) {
        outcome.children.push(child(Kind::Kuadrant, &settings.namespace, "kuadrant", json!({})));
    }
    if let Some(kuadrant) = snapshot.all(Kind::Kuadrant).next() {
        let home = namespace(kuadrant);
        if !snapshot.components.without(Removable::Authorino) {
            outcome.children.push(child(Kind::Authorino, home, "authorino", authorino()));
        }
        let limits: Vec<Value> = ways.iter().flat_map(limits_of).collect();
        if !snapshot.components.without(Removable::Limitador) {
            outcome.children.push(child(Kind::Limitador, home, "limitador", json!({"limits": limits})));
        }
        for way in ways.iter().filter(|way| !way.auth.is_empty()) {
            outcome.children.push(child(Kind::AuthConfig, home, &auth_config_name(way), auth_config(way)));
        }
    }
    for (namespace, name, spec) in dns::records(snapshot, settings).into_iter().flat_map(|(_, records)| records) {
        outcome.children.push(child(Kind::DnsRecord, &namespace, &name, spec));
    }
    for (namespace, name, spec) in tls::certificates(snapshot, settings).into_iter().flat_map(|(_, all)| all) {
        outcome.children.push(child(Kind::Certificate, &namespace, &name, spec));
    }
    let is_there = |kind: Kind| !snapshot.missing.iter().any(|missing| missing.kinds().contains(&kind));
    outcome.children.retain(|child| Kind::find(text(child, "/kind")).is_some_and(is_there));
}

/// One service for the whole cluster, which the proxies reach within it.
fn authorino() -> Value {
    let plain = json!({"tls": {"enabled": false}});
    json!({"clusterWide": true, "supersedingHostSubsets": true, "listener": plain, "oidcServer": plain})
}

/// What the service that counts is given for a path: a limit for each rate, under the name of its policy and its own.
fn limits_of(way: &Way<'_>) -> Vec<Value> {
    let path = format!("descriptors[0][\"path\"] == {:?}", way.path.id());
    let of_rule = |rule: &Rule| -> Vec<Value> {
        let own = items(&rule.body, "/when").map(|one| text(one, "/predicate"));
        let when: Vec<&str> =
            std::iter::once(path.as_str()).chain(rule.when.iter().map(String::as_str)).chain(own).collect();
        let by: Vec<&str> = items(&rule.body, "/counters").map(|one| text(one, "/expression")).collect();
        let one = |rate: &Value| {
            let window = crate::gate::duration(text(rate, "/window")).unwrap_or_default();
            json!({
                "namespace": full_name(way.path.route), "name": format!("{}/{}", rule.source, rule.id),
                "conditions": when, "variables": by, "max_value": rate["limit"], "seconds": window.as_secs(),
            })
        };
        items(&rule.body, "/rates").map(one).collect()
    };
    way.limits.iter().flat_map(of_rule).collect()
}

/// Whether a limit that [`limits_of`] made is one of a policy.
fn is_limit_of(limit: &Value, policy: &str) -> bool {
    text(limit, "/name").strip_prefix(policy).is_some_and(|rest| rest.starts_with('/'))
}

fn auth_config_name(way: &Way<'_>) -> String {
    Sha256::digest(way.path.id()).iter().take(20).fold(String::from("c"), |name, byte| format!("{name}{byte:02x}"))
}

/// The rules of a path as the service takes them: what it calls otherwise than policies do is renamed, and its own defaults are
/// there, so that what is written is what is read.
fn auth_config(way: &Way<'_>) -> Value {
    let mut spec = Map::from_iter([("hosts".to_owned(), json!(way.path.hosts()))]);
    for rule in &way.auth {
        let Some((section, name)) = rule.id.split_once('/') else { continue };
        let section = spec.entry(section).or_insert_with(|| json!({}));
        section[name] = as_service_takes(&rule.id, &rule.body);
    }
    let when: Vec<Value> =
        way.auth.first().into_iter().flat_map(|rule| &rule.when).map(|one| json!({"predicate": one})).collect();
    if !when.is_empty() {
        spec.insert("when".to_owned(), Value::Array(when));
    }
    Value::Object(spec)
}

fn as_service_takes(id: &str, body: &Value) -> Value {
    let mut body = body.clone();
    if id.starts_with("patterns/") {
        return body["allOf"].take();
    }
    if id == "response/success"
        && let Some(filters) = body.as_object_mut().and_then(|success| success.shift_remove("filters"))
    {
        body["dynamicMetadata"] = filters;
    }
    if let Some(opa) = body.get_mut("opa").and_then(Value::as_object_mut) {
        opa.entry("version").or_insert_with(|| json!("v0"));
    }
    body
}

fn gate(snapshot: &Snapshot, ways: &[Way<'_>]) -> GateConfig {
    let up = |service: Component, object: Removable| {
        snapshot.components.stopped(service, Place::default()).is_none() && !snapshot.components.without(object)
    };
    let mut config = GateConfig {
        auth_up: up(Component::Authorino, Removable::Authorino),
        limits_up: up(Component::Limitador, Removable::Limitador),
        secrets: snapshot
            .all(Kind::Secret)
            .filter(|secret| secret["metadata"]["labels"]["authorino.kuadrant.io/managed-by"] == "authorino")
            .cloned()
            .collect(),
        ..GateConfig::default()
    };
    for way in ways.iter().filter(|way| !way.auth.is_empty() || !way.limits.is_empty()) {
        let addresses = way.path.gateway["status"]["addresses"].as_array().into_iter().flatten();
        for address in addresses.filter_map(|address| text(address, "/value").parse().ok()) {
            let key = (address, way.path.port, way.path.listener.to_owned(), full_name(way.path.route), way.path.rule);
            config.guards.insert(key, Guard { auth: way.auth.clone(), limits: way.limits.clone() });
        }
    }
    config
}

fn policy_status(
    snapshot: &Snapshot,
    settings: &Settings,
    kind: Kind,
    policy: &Value,
    ways: &[Way<'_>],
    children: &[Value],
) -> StatusUpdate {
    let mut fields = Map::from_iter([("observedGeneration".to_owned(), policy["metadata"]["generation"].clone())]);
    let mut conditions = Vec::new();
    match accepted::accepted(snapshot, settings, kind, policy) {
        Err((reason, message)) => {
            conditions.push(Condition::new("Accepted", false, reason, message));
            if kind == Kind::DnsPolicy {
                fields.extend(dns::COUNTS.map(|name| (name.to_owned(), Value::Null)));
            }
        }
        Ok(message) => {
            conditions.push(Condition::new("Accepted", true, "Accepted", message));
            let enforced = match kind {
                Kind::TlsPolicy => tls::enforced(snapshot, settings, policy),
                Kind::DnsPolicy => dns::enforced(snapshot, settings, policy),
                _ => enforced::enforced(snapshot, settings, kind, policy, ways, children),
            };
            conditions.push(match enforced {
                Ok(message) => Condition::new("Enforced", true, "Enforced", message),
                Err((reason, message)) => {
                    let known = settings.edition == Edition::Current || reason == "Overridden";
                    Condition::new("Enforced", false, if known { reason } else { "Unknown" }, message)
                }
            });
            if kind == Kind::DnsPolicy {
                dns::health(snapshot, settings, policy, &mut conditions, &mut fields);
            }
        }
    }
    let ancestors = match (settings.edition, target(snapshot, policy)) {
        (Edition::Design, Ok(_)) => vec![policy["spec"]["targetRef"].clone()],
        _ => Vec::new(),
    };
    let owned = vec!["Accepted", "Enforced", "SubResourcesHealthy"];
    StatusUpdate { key: key(kind, policy), change: Change::Own { conditions, owned, fields, ancestors } }
}

fn kuadrant_status(snapshot: &Snapshot) -> Vec<StatusUpdate> {
    let ready = |kind: Kind, home: &str, name: &str| {
        snapshot.get(kind, home, name).is_some_and(|object| crate::object::is_true(&object["status"], "Ready"))
    };
    let one = |kuadrant: &Value| {
        let home = namespace(kuadrant);
        // It speaks for policies about authentication and limits alone.
        let of_others = |one: &&Dependency| matches!(one, Dependency::Dns | Dependency::Issuer);
        let missing: Vec<&str> = snapshot.missing.iter().filter(|one| !of_others(one)).map(|one| one.name()).collect();
        let condition = if !missing.is_empty() {
            let message = format!("not there: [{}]; restart the operator once they are", missing.join(", "));
            Condition::new("Ready", false, "MissingDependency", message)
        } else if !ready(Kind::Limitador, home, "limitador") {
            Condition::new("Ready", false, "LimitadorNotReady", format!("Limitador {home}/limitador is not ready"))
        } else if !ready(Kind::Authorino, home, "authorino") {
            Condition::new("Ready", false, "AuthorinoNotReady", format!("Authorino {home}/authorino is not ready"))
        } else {
            Condition::new("Ready", true, "Ready", "everything that policies need is ready")
        };
        let fields = Map::from_iter([("observedGeneration".to_owned(), kuadrant["metadata"]["generation"].clone())]);
        let change = Change::Own { conditions: vec![condition], owned: vec!["Ready"], fields, ancestors: Vec::new() };
        StatusUpdate { key: key(Kind::Kuadrant, kuadrant), change }
    };
    snapshot.all(Kind::Kuadrant).map(one).collect()
}

#[cfg(test)]
pub(crate) mod tests;
