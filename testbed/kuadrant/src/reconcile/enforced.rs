//! Whether an AuthPolicy or a RateLimitPolicy is enforced.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Verdict, Way, auth_config, auth_config_name, is_limit_of};
use crate::effective::{Rule, rules};
use crate::expression::{expressions, problem};
use crate::object::{Kind, Snapshot, full_name, is_true, items, namespace};
use crate::settings::Settings;

/// The message of enforcement, or reason and message of what is in its way, in the order in which it is looked for.
pub(crate) fn enforced(
    snapshot: &Snapshot,
    settings: &Settings,
    kind: Kind,
    policy: &Value,
    ways: &[Way<'_>],
    children: &[Value],
) -> Verdict {
    let named = kind.name();
    let Some(kuadrant) = snapshot.all(Kind::Kuadrant).next() else {
        return Err(("MissingResource", format!("{named} waits for a Kuadrant object: there is none")));
    };
    let of = full_name(policy);
    let on_path: Vec<&Way<'_>> = ways.iter().filter(|way| way.path.level(policy).is_some()).collect();
    if on_path.is_empty() {
        return Err(("Unknown", format!("{named} is on the path of no route")));
    }
    let in_force = |way: &&Way<'_>| effective(kind, way).iter().any(|rule| rule.source == of);
    let (won, lost): (Vec<&Way<'_>>, Vec<&Way<'_>>) = on_path.into_iter().partition(in_force);
    if won.is_empty() && !rules(policy).is_empty() {
        let winners: BTreeSet<&str> =
            lost.iter().flat_map(|way| effective(kind, way)).map(|rule| rule.source.as_str()).collect();
        let winners: Vec<&str> = winners.into_iter().collect();
        return Err(("Overridden", format!("{named} is overridden by [{}]", winners.join(" "))));
    }
    let home = namespace(kuadrant);
    let (service, service_name) = match kind {
        Kind::AuthPolicy => (Kind::Authorino, "authorino"),
        _ => (Kind::Limitador, "limitador"),
    };
    let Some(running) = snapshot.get(service, home, service_name) else {
        return Err(("MissingResource", format!("{named} waits for {} {home}/{service_name}", service.name())));
    };
    let mut lagging = BTreeSet::new();
    if !is_true(&running["status"], "Ready") {
        lagging.insert(service.name().to_owned());
    }
    if kind == Kind::RateLimitPolicy {
        let own = |object: &Value| -> Vec<Value> {
            items(object, "/spec/limits").filter(|limit| is_limit_of(limit, &of)).cloned().collect()
        };
        let wanted = children.iter().find(|child| child["kind"] == service.name());
        // Those of others may be on their way.
        if wanted.is_some_and(|wanted| own(wanted) != own(running)) {
            lagging.insert(format!("{} ({home}/{service_name})", service.name()));
        }
    }
    for way in &won {
        if kind == Kind::AuthPolicy {
            let of = auth_config_name(way);
            let in_sync = snapshot
                .get(Kind::AuthConfig, home, &of)
                .is_some_and(|config| is_true(&config["status"], "Ready") && config["spec"] == auth_config(way));
            if !in_sync {
                lagging.insert(format!("AuthConfig ({of})"));
            }
        }
        if !settings.controllers.iter().any(|known| known == way.path.controller) {
            lagging.insert(format!("Gateway ({})", full_name(way.path.gateway)));
        }
    }
    let broken: BTreeSet<String> = won.iter().flat_map(|way| effective(kind, way)).flat_map(issues).collect();
    if !broken.is_empty() {
        let broken: Vec<String> = broken.into_iter().collect();
        return Err((
            "InvalidCelExpression",
            format!("{named} has expressions that do not compile: {}", broken.join("; ")),
        ));
    }
    if !lagging.is_empty() {
        let lagging: Vec<String> = lagging.into_iter().collect();
        return Err(("Unknown", format!("{named} waits for components: {}", lagging.join(", "))));
    }
    let own = rules(policy).len();
    let whole = |way: &&Way<'_>| effective(kind, way).iter().filter(|rule| rule.source == of).count() == own;
    if lost.is_empty() && won.iter().all(whole) {
        Ok(format!("{named} is enforced"))
    } else {
        Ok(format!("{named} is partially enforced: other policies replace it on some paths"))
    }
}

fn effective<'a>(kind: Kind, way: &'a Way<'_>) -> &'a [Rule] {
    if kind == Kind::AuthPolicy { &way.auth } else { &way.limits }
}

fn issues(rule: &Rule) -> Vec<String> {
    let in_body = expressions(&rule.body);
    let all = rule.when.iter().map(String::as_str).chain(in_body);
    all.filter_map(problem).collect()
}
