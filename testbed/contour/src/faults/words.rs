//! What is said in the wrong words, or in the wrong place.

use gateproof_runtime::object::{items, name, namespace, text};
use serde_json::{Value, json};

use super::history::now;
use super::{edit, valid, verdicts, write_status};
use crate::kinds::Kind;
use crate::reconcile::Outcome;
use crate::seam::Fault;
use crate::status::{Sub, Verdict};

/// What is said of Services that routes lead to, and that are not there, in the words of either edition.
fn missing_services(outcome: &mut Outcome) -> impl Iterator<Item = &mut Sub> {
    let all = verdicts(outcome).flat_map(|verdict| &mut verdict.errors);
    all.filter(|error| {
        error.r#type == "ServiceError" && ["ServiceUnresolvedReference", "ServiceNotFound"].contains(&&*error.reason)
    })
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "renames-missing-services",
        "Says ServiceNotFound of a Service that is not there.",
        ["HTTPPROXY-C03"],
        |_, _, outcome| {
            for error in missing_services(outcome) {
                error.reason = "ServiceNotFound".into();
            }
        }
    ),
    edit!(
        "spells-reasons-with-underscores",
        "Says service_unresolved_reference of a Service that is not there.",
        ["HTTPPROXY-C03", "HTTPPROXY-11"],
        |_, _, outcome| {
            for error in missing_services(outcome) {
                error.reason = "service_unresolved_reference".into();
            }
        }
    ),
    edit!(
        "invents-a-family",
        "Says BackendError of a Service that is not there.",
        ["HTTPPROXY-C03", "HTTPPROXY-INV-3"],
        |_, _, outcome| {
            for error in missing_services(outcome) {
                error.r#type = "BackendError".into();
            }
        }
    ),
    edit!(
        "blames-the-spec-for-hosts",
        "Says SpecError of a host that several roots have.",
        ["HTTPPROXY-C24", "HTTPPROXY-33"],
        |_, _, outcome| {
            for error in verdicts(outcome).flat_map(|verdict| &mut verdict.errors) {
                if error.reason == "DuplicateVhost" {
                    error.r#type = "SpecError".into();
                }
            }
        }
    ),
    edit!(
        "blames-roots-for-routes-below",
        "Tells a root of wrong routes of what it includes, too.",
        ["HTTPPROXY-C22"],
        |snapshot, _, outcome| {
            for root in snapshot.all(Kind::HttpProxy).filter(|one| one["spec"]["virtualhost"].is_object()) {
                let home = namespace(root);
                let key = |home: &str, name: &str| (Kind::HttpProxy, home.to_owned(), name.to_owned());
                let below = items(root, "/spec/includes").filter_map(|include| {
                    let elsewhere = Some(text(include, "/namespace")).filter(|other| !other.is_empty());
                    outcome.verdicts.get(&key(elsewhere.unwrap_or(home), text(include, "/name")))
                });
                let wrong: Vec<_> = below
                    .flat_map(|verdict| &verdict.errors)
                    .filter(|error| error.r#type == "RouteError")
                    .cloned()
                    .collect();
                if let Some(verdict) = outcome.verdicts.get_mut(&key(home, name(root))) {
                    verdict.errors.extend(wrong);
                }
            }
        }
    ),
    edit!(
        "calls-empty-roots-orphaned",
        "Says of a root that has nothing to serve that it is orphaned, too.",
        ["HTTPPROXY-INV-12", "HTTPPROXY-K02"],
        |_, _, outcome| {
            for verdict in verdicts(outcome) {
                if verdict.errors.iter().any(|error| error.r#type == "SpecError" && error.reason == "NothingDefined") {
                    verdict.error("Orphaned", "Orphaned", "nothing leads anywhere from here");
                }
            }
        }
    ),
    edit!(
        "warns-of-idle-services",
        "Warns of a Service that has no endpoint which is ready.",
        ["HTTPPROXY-C08"],
        |snapshot, _, outcome| {
            let is_idle = |home: &str, service: &str| {
                let of = |slice: &&Value| {
                    namespace(slice) == home && slice["metadata"]["labels"]["kubernetes.io/service-name"] == service
                };
                let mut slices = snapshot.all(Kind::EndpointSlice).filter(of).peekable();
                slices.peek().is_some()
                    && slices
                        .flat_map(|slice| items(slice, "/endpoints"))
                        .all(|one| one["conditions"]["ready"] == false)
            };
            for proxy in snapshot.all(Kind::HttpProxy) {
                let (home, own) = (namespace(proxy), name(proxy));
                let services = items(proxy, "/spec/routes").flat_map(|route| items(route, "/services"));
                let idle = services.map(|service| text(service, "/name")).filter(|service| is_idle(home, service));
                let key = (Kind::HttpProxy, home.to_owned(), own.to_owned());
                let Some(verdict) = outcome.verdicts.get_mut(&key) else { continue };
                idle.for_each(|service| verdict.warn("ServiceError", format!("{service} has no endpoints")));
            }
        }
    ),
    edit!(
        "calls-what-is-ignored-unsupported",
        "Says NotSupported of what of an HTTPProxy is ignored.",
        ["HTTPPROXY-C36", "HTTPPROXY-INV-4"],
        |_, _, outcome| {
            for warning in verdicts(outcome).flat_map(|verdict| &mut verdict.warnings) {
                if warning.r#type == "SpecError" {
                    warning.reason = "NotSupported".into();
                }
            }
        }
    ),
    edit!(
        "says-delegations-are-valid",
        "Gives TLSCertificateDelegations a status.",
        ["HTTPPROXY-INV-14"],
        |snapshot, _, outcome| {
            for one in snapshot.all(Kind::Delegation) {
                let key = (Kind::Delegation, namespace(one).to_owned(), name(one).to_owned());
                outcome.verdicts.insert(key, Verdict::default());
            }
        }
    ),
    edit!(
        "blames-routes-for-includes",
        "Says RouteError of paths of includes that cannot be matched.",
        ["HTTPPROXY-C28", "HTTPPROXY-47"],
        |_, _, outcome| {
            for error in verdicts(outcome).flat_map(|verdict| &mut verdict.errors) {
                if error.reason == "PathMatchConditionsNotValid" {
                    error.r#type = "RouteError".into();
                }
            }
        }
    ),
    edit!(
        "takes-warnings-for-errors",
        "Calls an HTTPProxy invalid because of what is ignored in it.",
        ["HTTPPROXY-15", "HTTPPROXY-C36"],
        |_, _, outcome| {
            for verdict in verdicts(outcome) {
                verdict.errors.append(&mut verdict.warnings);
            }
        }
    ),
    edit!(
        "blames-one-of-several-roots",
        "Tells one of several roots with one host, and calls the others valid.",
        ["HTTPPROXY-C24", "HTTPPROXY-INV-13"],
        |_, _, outcome| {
            let mut told = false;
            for verdict in verdicts(outcome) {
                let is_duplicate = verdict.errors.iter().any(|error| error.reason == "DuplicateVhost");
                if is_duplicate && std::mem::replace(&mut told, true) {
                    verdict.errors.retain(|error| error.reason != "DuplicateVhost");
                }
            }
        }
    ),
    write_status!(
        "calls-orphans-invalid",
        "Says currentStatus invalid of what is orphaned.",
        ["HTTPPROXY-INV-5"],
        |_, status| {
            if status["currentStatus"] == "orphaned" {
                status["currentStatus"] = "invalid".into();
            }
        }
    ),
    write_status!(
        "keeps-the-old-fields",
        "Writes conditions, and never the fields that were there before them.",
        ["HTTPPROXY-INV-5", "HTTPPROXY-03"],
        |live, status| {
            for field in ["currentStatus", "description"] {
                status[field] = live["status"][field].clone();
            }
        }
    ),
    write_status!(
        "describes-in-general",
        "Says in description that an HTTPProxy is valid or invalid, and nothing more.",
        ["HTTPPROXY-03"],
        |_, status| {
            if status["currentStatus"] != "orphaned" {
                status["description"] = status["currentStatus"].clone();
            }
        }
    ),
    write_status!(
        "describes-orphans-in-general",
        "Says in description that something is wrong with an orphan, and not that it is one.",
        ["HTTPPROXY-INV-6"],
        |_, status| {
            let message = valid(status).map(|condition| condition["message"].clone());
            if let Some(message) = message.filter(|_| status["currentStatus"] == "orphaned") {
                status["description"] = message;
            }
        }
    ),
    edit!("names-nothing", "Says that something is wrong, and not with what.", ["HTTPPROXY-K23"], |_, _, outcome| {
        for error in verdicts(outcome).flat_map(|verdict| &mut verdict.errors) {
            error.message = "something is wrong".to_owned();
        }
    }),
    write_status!(
        "counts-reasons",
        "Says MultipleReasons where several things are wrong.",
        ["HTTPPROXY-INV-2"],
        |_, status| {
            if let Some(condition) = valid(status)
                && condition["errors"].as_array().is_some_and(|errors| errors.len() > 1)
            {
                condition["reason"] = "MultipleReasons".into();
            }
        }
    ),
    write_status!(
        "lists-no-errors",
        "Says that something is wrong, and not what.",
        ["HTTPPROXY-25", "HTTPPROXY-14"],
        |_, status| {
            if let Some(condition) = valid(status).and_then(|condition| condition.as_object_mut()) {
                condition.shift_remove("errors");
            }
        }
    ),
    write_status!(
        "has-a-condition-for-each-family",
        "Adds a condition for each family of errors.",
        ["HTTPPROXY-04"],
        |live, status| {
            let Some(condition) = valid(status).cloned() else { return };
            for error in items(&condition, "/errors") {
                let mut own = error.clone();
                own["observedGeneration"] = live["metadata"]["generation"].clone();
                let same = items(live, "/status/conditions").find(|was| {
                    ["type", "status", "reason", "message", "observedGeneration"].iter().all(|at| was[at] == own[at])
                });
                own["lastTransitionTime"] = same.map_or_else(now, |was| was["lastTransitionTime"].clone());
                if let Some(conditions) = status["conditions"].as_array_mut() {
                    conditions.retain(|other| other["type"] != own["type"]);
                    conditions.push(own);
                }
            }
        }
    ),
    write_status!("says-errors-are-false", "Says False of what stands below Valid.", ["HTTPPROXY-19"], |_, status| {
        for error in
            valid(status).and_then(|condition| condition.get_mut("errors")?.as_array_mut()).into_iter().flatten()
        {
            error["status"] = json!("False");
        }
    }),
    write_status!(
        "calls-valid-ready",
        "Has a condition Ready in place of Valid where requests are shared by weight.",
        ["HTTPPROXY-02"],
        |live, status| {
            let mut services = items(live, "/spec/routes").flat_map(|route| items(route, "/services"));
            let shares = services.any(|service| service["weight"].is_number());
            let Some(conditions) = status["conditions"].as_array_mut().filter(|_| shares) else { return };
            conditions.retain(|condition| condition["type"] != "Ready");
            for condition in conditions.iter_mut().filter(|condition| condition["type"] == "Valid") {
                condition["type"] = "Ready".into();
                condition["lastTransitionTime"] = live["metadata"]["creationTimestamp"].clone();
            }
        }
    ),
    write_status!(
        "drops-conditions-of-others",
        "Takes away conditions that others added.",
        ["HTTPPROXY-06", "HTTPPROXY-INV-10"],
        |_, status| {
            if let Some(conditions) = status["conditions"].as_array_mut() {
                conditions.retain(|condition| condition["type"] == "Valid");
            }
        }
    ),
];
