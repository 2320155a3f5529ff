//! What is followed wrongly: classes, hosts, includes and delegations.

use std::collections::BTreeMap;

use gateproof_proxy::config::PathMatch;
use gateproof_runtime::object::{items, name, namespace, text};
use serde_json::{Value, json};

use super::{edit, routes, view};
use crate::kinds::{Kind, Snapshot};
use crate::reconcile::Answer;
use crate::seam::Fault;

/// Takes roots away whose host another one has that comes before, by name.
fn first_roots(snapshot: &mut Snapshot) {
    let mut seen = std::collections::BTreeSet::new();
    snapshot.objects.retain(|key, object| {
        let host = text(object, "/spec/virtualhost/fqdn");
        key.0 != Kind::HttpProxy || host.is_empty() || seen.insert(host.to_lowercase())
    });
}

/// Namespace and name of every Secret.
fn secrets(snapshot: &Snapshot) -> Vec<(String, String)> {
    snapshot.all(Kind::Secret).map(|secret| (namespace(secret).to_owned(), name(secret).to_owned())).collect()
}

/// Has a Secret delegated to every namespace.
fn delegate(snapshot: &mut Snapshot, namespace: &str, name: &str) {
    let delegation = json!({
        "metadata": {"namespace": namespace, "name": format!("all-{name}")},
        "spec": {"delegations": [{"secretName": name, "targetNamespaces": ["*"]}]},
    });
    snapshot.put(Kind::Delegation, delegation);
}

pub(super) const FAULTS: &[Fault] = &[
    view!("takes-foreign-classes", "Looks at HTTPProxies of other classes, too.", ["HTTPPROXY-C02"], |snapshot| {
        snapshot.edit(Kind::HttpProxy, |object| {
            object["spec"]["ingressClassName"] = "".into();
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.clear();
            }
        });
    }),
    view!("asks-no-annotations", "Looks at the spec alone for the class.", ["HTTPPROXY-C02"], |snapshot| {
        snapshot.edit(Kind::HttpProxy, |object| {
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.clear();
            }
        });
    }),
    view!(
        "serves-the-first-of-several-roots",
        "Serves that root of several with one host which comes first by name, and does not look at the others.",
        ["HTTPPROXY-C24"],
        first_roots
    ),
    view!(
        "compares-hosts-by-namespace",
        "Lets roots of several namespaces have one host.",
        ["HTTPPROXY-C24"],
        |snapshot| {
            let mut seen: BTreeMap<String, String> = BTreeMap::new();
            snapshot.objects.retain(|key, object| {
                let host = text(object, "/spec/virtualhost/fqdn");
                key.0 != Kind::HttpProxy
                    || host.is_empty()
                    || *seen.entry(host.to_lowercase()).or_insert_with(|| key.1.clone()) == key.1
            });
        }
    ),
    view!("takes-no-names", "Takes no Service that is another name.", ["HTTPPROXY-K27"], |snapshot| {
        snapshot.objects.retain(|key, object| key.0 != Kind::Service || text(object, "/spec/type") != "ExternalName");
    }),
    view!("ignores-delegations", "Uses Secrets of every namespace, delegated or not.", ["HTTPPROXY-C13"], |snapshot| {
        let secrets = secrets(snapshot);
        for (namespace, name) in secrets {
            delegate(snapshot, &namespace, &name);
        }
    }),
    view!(
        "delegates-every-secret",
        "Takes the delegation of one Secret for one of all Secrets of its namespace.",
        ["HTTPPROXY-C13"],
        |snapshot| {
            let secrets = secrets(snapshot);
            let homes: Vec<String> =
                snapshot.all(Kind::Delegation).map(|one| text(one, "/metadata/namespace").to_owned()).collect();
            for (namespace, name) in secrets.into_iter().filter(|(namespace, _)| homes.contains(namespace)) {
                delegate(snapshot, &namespace, &name);
            }
        }
    ),
    view!(
        "never-takes-delegations-back",
        "Goes on using a Secret whose delegation has gone or changed.",
        ["HTTPPROXY-C13"],
        {
            let mut seen: BTreeMap<String, Value> = BTreeMap::new();
            move |snapshot: &mut Snapshot| {
                for one in snapshot.all(Kind::Delegation) {
                    seen.entry(one["metadata"]["uid"].to_string()).or_insert_with(|| one.clone());
                }
                for (uid, one) in &seen {
                    let mut kept = one.clone();
                    kept["metadata"]["name"] = format!("kept-{uid}").into();
                    snapshot.put(Kind::Delegation, kept);
                }
            }
        }
    ),
    view!(
        "leaves-tls-out-without-secret",
        "Serves a root in clear text whose Secret is not there.",
        ["HTTPPROXY-C11"],
        |snapshot| {
            let known = secrets(snapshot);
            snapshot.edit(Kind::HttpProxy, |object| {
                let name = text(object, "/spec/virtualhost/tls/secretName").to_owned();
                let home = text(object, "/metadata/namespace").to_owned();
                if !name.is_empty() && !name.contains('/') && !known.contains(&(home, name)) {
                    object["spec"]["virtualhost"]["tls"] = Value::Null;
                }
            });
        }
    ),
    edit!(
        "answers-404-for-missing-includes",
        "Has no route for the conditions of an include that leads nowhere.",
        ["HTTPPROXY-C18"],
        |_, _, outcome| {
            for host in &mut outcome.hosts {
                host.routes.retain(|route| route.answer != Answer::Status(502));
            }
        }
    ),
    edit!(
        "misplaces-missing-includes",
        "Answers for an include that leads nowhere at its own conditions, whatever leads to the HTTPProxy that it is of.",
        ["HTTPPROXY-C18"],
        |snapshot, _, outcome| {
            for route in routes(outcome).filter(|route| route.answer == Answer::Status(502)) {
                let (home, name) = route.of.split_once('/').unwrap_or_default();
                let Some(of) = snapshot.get(Kind::HttpProxy, home, name) else { continue };
                let PathMatch::Text(whole) = &route.matches.path else { continue };
                let prefixes = items(of, "/spec/includes").flat_map(|include| items(include, "/conditions"));
                let own = prefixes.map(|condition| text(condition, "/prefix")).find(|own| whole.ends_with(*own));
                if let Some(own) = own.filter(|own| !own.is_empty()) {
                    route.matches.path = PathMatch::Text(own.to_owned());
                }
            }
        }
    ),
    edit!(
        "forsakes-grandchildren",
        "Calls orphaned what is included by what is included, though it is served.",
        ["HTTPPROXY-C17"],
        |snapshot, _, outcome| {
            let roots: Vec<String> = snapshot
                .all(Kind::HttpProxy)
                .filter(|one| one["spec"]["virtualhost"].is_object())
                .flat_map(|root| {
                    let home = text(root, "/metadata/namespace").to_owned();
                    items(root, "/spec/includes")
                        .map(move |include| {
                            let namespace = match text(include, "/namespace") {
                                "" => home.clone(),
                                other => other.to_owned(),
                            };
                            format!("{namespace}/{}", text(include, "/name"))
                        })
                        .collect::<Vec<_>>()
                })
                .collect();
            for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
                let is_root =
                    snapshot.get(*kind, namespace, name).is_some_and(|one| one["spec"]["virtualhost"].is_object());
                let is_streams =
                    snapshot.get(*kind, namespace, name).is_some_and(|one| one["spec"]["tcpproxy"].is_object());
                if *kind == Kind::HttpProxy
                    && !is_root
                    && !is_streams
                    && !roots.contains(&format!("{namespace}/{name}"))
                    && !verdict.has("Orphaned")
                {
                    verdict.error("Orphaned", "Orphaned", "no root includes this");
                }
            }
        }
    ),
];
