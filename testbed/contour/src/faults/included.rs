//! What is wrong with what is included, and with who else has a host.

use gateproof_runtime::object::{items, name, namespace, text};
use serde_json::Value;

use super::{edit, view};
use crate::kinds::{Kind, Snapshot};
use crate::reconcile::{Host, HostRoute, Outcome};
use crate::seam::Fault;

/// The routes of each host that are not of its root.
fn included<'o>(snapshot: &'o Snapshot, outcome: &'o mut Outcome) -> impl Iterator<Item = &'o mut HostRoute> {
    outcome.hosts.iter_mut().flat_map(move |host: &mut Host| {
        let mut proxies = snapshot.all(Kind::HttpProxy);
        let root = proxies.find(|proxy| text(proxy, "/spec/virtualhost/fqdn").eq_ignore_ascii_case(&host.fqdn));
        let root = root.map(|root| format!("{}/{}", namespace(root), name(root)));
        host.routes.iter_mut().filter(move |route| Some(&route.of) != root.as_ref())
    })
}

fn is_foreign(proxy: &Value) -> bool {
    !text(proxy, "/spec/ingressClassName").is_empty()
}

/// The prefixes of an include's conditions, and whether it has others.
fn asked(include: &Value) -> (String, bool) {
    let prefix = items(include, "/conditions").map(|condition| text(condition, "/prefix")).collect();
    (prefix, items(include, "/conditions").any(|condition| condition.get("prefix").is_none()))
}

/// Tells of two includes of an HTTPProxy, if these two are meant.
fn refuse_pairs(snapshot: &Snapshot, outcome: &mut Outcome, is_meant: impl Fn(&Value, &Value) -> bool) {
    for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
        let Some(proxy) = snapshot.get(*kind, namespace, name) else { continue };
        let includes: Vec<&Value> = items(proxy, "/spec/includes").collect();
        let mut pairs =
            includes.iter().enumerate().flat_map(|(at, one)| includes[..at].iter().map(move |two| (two, one)));
        if pairs.any(|(one, two)| is_meant(one, two)) && !verdict.has("IncludeError") {
            verdict.error("IncludeError", "DuplicateMatchConditions", "two includes have the same conditions");
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "sends-own-routes-to-tls-alone",
        "Serves in clear text what a root with TLS includes.",
        ["HTTPPROXY-C14"],
        |snapshot, _, outcome| included(snapshot, outcome).for_each(|route| route.enforces_tls = false)
    ),
    edit!(
        "permits-nothing-in-clear-text-of-includes",
        "Sends an included route to TLS that permits clear text.",
        ["HTTPPROXY-C15"],
        |snapshot, _, outcome| {
            let roots: Vec<Value> = snapshot.all(Kind::HttpProxy).cloned().collect();
            let has_tls = |host: &Host| {
                roots.iter().any(|root| {
                    text(root, "/spec/virtualhost/fqdn") == host.fqdn && root["spec"]["virtualhost"]["tls"].is_object()
                })
            };
            let secure: Vec<String> =
                outcome.hosts.iter().filter(|host| has_tls(host)).map(|host| host.fqdn.clone()).collect();
            for host in &mut outcome.hosts {
                let is_secure = secure.contains(&host.fqdn);
                let root = roots.iter().find(|root| text(root, "/spec/virtualhost/fqdn") == host.fqdn);
                let own = root.map(|root| format!("{}/{}", namespace(root), name(root)));
                for route in host.routes.iter_mut().filter(|route| is_secure && Some(&route.of) != own.as_ref()) {
                    route.enforces_tls = true;
                }
            }
        }
    ),
    edit!(
        "filters-no-addresses-of-includes",
        "Lets requests in from everywhere for what a root includes.",
        ["HTTPPROXY-C37"],
        |snapshot, _, outcome| included(snapshot, outcome).for_each(|route| route.guard.addresses = None)
    ),
    edit!(
        "limits-no-includes",
        "Lets as many requests in as like for what a root includes.",
        ["HTTPPROXY-K20"],
        |snapshot, _, outcome| included(snapshot, outcome).for_each(|route| route.guard.limit = None)
    ),
    edit!(
        "asks-for-no-tokens-of-includes",
        "Serves whoever shows no token what a root includes.",
        ["HTTPPROXY-K16"],
        |snapshot, _, outcome| included(snapshot, outcome).for_each(|route| route.jwt = None)
    ),
    edit!(
        "authorizes-nobody-for-includes",
        "Serves whom nobody has authorized what a root includes.",
        ["HTTPPROXY-C38"],
        |snapshot, _, outcome| included(snapshot, outcome).for_each(|route| route.is_open = true)
    ),
    view!(
        "follows-an-include-once",
        "Follows the first of several includes of one HTTPProxy alone.",
        ["HTTPPROXY-C17", "HTTPPROXY-C30", "HTTPPROXY-37"],
        |snapshot| snapshot.edit(Kind::HttpProxy, |proxy| {
            let mut seen: Vec<(Value, Value)> = Vec::new();
            if let Some(includes) = proxy.pointer_mut("/spec/includes").and_then(Value::as_array_mut) {
                includes.retain(|include| {
                    let of = (include["namespace"].clone(), include["name"].clone());
                    let is_new = !seen.contains(&of);
                    seen.push(of);
                    is_new
                });
            }
        })
    ),
    view!(
        "replaces-the-first-prefix-alone",
        "Looks at the replacement of the prefix alone that comes first where there are others.",
        ["HTTPPROXY-C30"],
        |snapshot| snapshot.edit(Kind::HttpProxy, |proxy| {
            let routes = proxy.pointer_mut("/spec/routes").and_then(Value::as_array_mut);
            for route in routes.into_iter().flatten() {
                let all = route.pointer_mut("/pathRewritePolicy/replacePrefix").and_then(Value::as_array_mut);
                if let Some(all) = all {
                    let first = all.first().map(|one| one["prefix"].clone());
                    all.retain(|one| Some(&one["prefix"]) == first.as_ref());
                }
            }
        })
    ),
    edit!(
        "compares-includes-by-their-paths",
        "Takes includes of one path for the same, whatever else they ask.",
        ["HTTPPROXY-C23"],
        |snapshot, _, outcome| refuse_pairs(snapshot, outcome, |one, two| {
            let (one, two) = (asked(one), asked(two));
            one.0 == two.0 && !one.0.is_empty() && (one.1 || two.1)
        })
    ),
    edit!(
        "takes-includes-of-everything-for-the-same",
        "Takes two includes that ask nothing for the same.",
        ["HTTPPROXY-C23"],
        |snapshot, _, outcome| refuse_pairs(snapshot, outcome, |one, two| {
            [one, two].into_iter().all(|include| items(include, "/conditions").next().is_none())
        })
    ),
    edit!(
        "compares-includes-as-written",
        "Takes the same conditions of two includes for others that are written in another order.",
        ["HTTPPROXY-C23"],
        |snapshot, _, outcome| {
            for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
                let Some(proxy) = snapshot.get(*kind, namespace, name) else { continue };
                let mut written: Vec<&Value> =
                    items(proxy, "/spec/includes").map(|include| &include["conditions"]).collect();
                let count = written.len();
                written.dedup();
                if written.len() == count {
                    verdict.errors.retain(|error| error.reason != "DuplicateMatchConditions");
                }
            }
        }
    ),
    edit!(
        "counts-foreign-roots",
        "Calls a root invalid whose host one of another class has, too, and does not serve it.",
        ["HTTPPROXY-C24"],
        |snapshot, _, outcome| {
            let foreign: Vec<&str> = snapshot
                .all(Kind::HttpProxy)
                .filter(|proxy| is_foreign(proxy))
                .map(|proxy| text(proxy, "/spec/virtualhost/fqdn"))
                .filter(|fqdn| !fqdn.is_empty())
                .collect();
            outcome.hosts.retain(|host| !foreign.contains(&&*host.fqdn));
            for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
                let Some(proxy) = snapshot.get(*kind, namespace, name) else { continue };
                if foreign.contains(&text(proxy, "/spec/virtualhost/fqdn")) {
                    verdict.error("VirtualHostError", "DuplicateVhost", "another HTTPProxy has this host");
                }
            }
        }
    ),
    view!(
        "includes-foreign-classes",
        "Follows includes to HTTPProxies of other classes.",
        ["HTTPPROXY-C18"],
        |snapshot| snapshot.edit(Kind::HttpProxy, |proxy| {
            if proxy["spec"]["virtualhost"].is_null() {
                proxy["spec"]["ingressClassName"] = "".into();
            }
        })
    ),
];
