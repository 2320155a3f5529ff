//! What is wrong with Services and with what is kept of objects that have gone or changed.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_proxy::config::{BackendTarget, Certificate, Filter};
use serde_json::Value;

use super::{edit, routes, view};
use crate::kinds::{Key, Kind, Snapshot};
use crate::reconcile::{Answer, Outcome};
use crate::seam::{Edit, Fault, Seam};
use crate::settings::Settings;

/// Says nothing of a reason for an HTTPProxy that was there once without it.
fn remember(reason: &'static str) -> Edit {
    let mut good: BTreeSet<Key> = BTreeSet::new();
    Box::new(move |_: &Snapshot, _: &Settings, outcome: &mut Outcome| {
        for (key, verdict) in &mut outcome.verdicts {
            if verdict.errors.is_empty() {
                good.insert(key.clone());
            } else if good.contains(key) {
                verdict.errors.retain(|error| error.reason != reason);
            }
        }
    })
}

pub(super) const FAULTS: &[Fault] = &[
    edit!("speaks-http-1-alone", "Speaks HTTP/1.1 to every Service.", ["HTTPPROXY-K29"], |_, _, outcome| {
        for route in routes(outcome) {
            let Answer::Backends(backends) = &mut route.answer else { continue };
            for backend in backends {
                if let BackendTarget::H2cEndpoints(endpoints) = &backend.target {
                    backend.target = BackendTarget::Endpoints(endpoints.clone());
                }
            }
        }
    }),
    view!(
        "asks-no-annotations-of-services",
        "Does not look at annotations of Services for the protocol.",
        ["HTTPPROXY-K29"],
        |snapshot| snapshot.edit(Kind::Service, |service| service["metadata"]["annotations"] = Value::Null)
    ),
    view!(
        "asks-no-protocols-of-routes",
        "Does not look at what a route says of the protocol of a Service, but for TLS.",
        ["HTTPPROXY-K29"],
        |snapshot| snapshot.edit(Kind::HttpProxy, |proxy| {
            let routes = proxy.pointer_mut("/spec/routes").and_then(Value::as_array_mut);
            for route in routes.into_iter().flatten() {
                let services = route.get_mut("services").and_then(Value::as_array_mut);
                for service in services.into_iter().flatten() {
                    if service["protocol"] == "h2c" {
                        service["protocol"] = Value::Null;
                    }
                }
            }
        })
    ),
    edit!(
        "mirrors-everything",
        "Sends copies of all requests, whatever the weight.",
        ["HTTPPROXY-C31"],
        |_, _, outcome| {
            for route in routes(outcome) {
                for filter in &mut route.filters {
                    if let Filter::RequestMirror(mirror) = filter {
                        mirror.fraction = None;
                    }
                }
            }
        }
    ),
    edit!(
        "ignores-weights-of-streams",
        "Shares streams between services evenly.",
        ["HTTPPROXY-K31"],
        |_, _, outcome| {
            let streams = outcome.hosts.iter_mut().filter_map(|host| host.secure.as_mut()?.streams.as_mut());
            streams.flatten().for_each(|backend| backend.weight = 1);
        }
    ),
    edit!(
        "serves-no-routes-beside-streams",
        "Serves no route of a root that has a tcpproxy.",
        ["HTTPPROXY-C15"],
        |_, _, outcome| {
            for host in &mut outcome.hosts {
                if host.secure.as_ref().is_some_and(|secure| secure.streams.is_some()) {
                    host.routes.clear();
                }
            }
        }
    ),
    edit!(
        "accepts-missing-services-beside-streams",
        "Says nothing of a Service that a route beside a tcpproxy leads to and that is not there.",
        ["HTTPPROXY-C03"],
        |snapshot, _, outcome| {
            for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
                let proxy = snapshot.get(*kind, namespace, name);
                if proxy.is_some_and(|proxy| proxy["spec"]["tcpproxy"].is_object()) {
                    verdict.errors.retain(|error| error.r#type != "ServiceError");
                }
            }
        }
    ),
    Fault {
        name: "remembers-authorizers",
        summary: "Says nothing of an authorization by an ExtensionService that has gone.",
        clauses: &["HTTPPROXY-C38"],
        seam: Seam::Outcome(|| remember("ExtensionServiceNotFound")),
    },
    Fault {
        name: "remembers-authorities",
        summary: "Says nothing of a validation of a Service by an authority that has gone.",
        clauses: &["HTTPPROXY-K06"],
        seam: Seam::Outcome(|| remember("TLSUpstreamValidation")),
    },
    edit!("shows-first-certificates", "Goes on showing the certificate that a root had first.", ["HTTPPROXY-K30"], {
        let mut first: BTreeMap<String, Certificate> = BTreeMap::new();
        move |_: &Snapshot, _: &Settings, outcome: &mut Outcome| {
            for host in &mut outcome.hosts {
                let Some(certificate) = host.secure.as_mut().and_then(|secure| secure.certificate.as_mut()) else {
                    continue;
                };
                *certificate = first.entry(host.fqdn.clone()).or_insert_with(|| certificate.clone()).clone();
            }
        }
    }),
];
