//! What is served wrongly.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateproof_proxy::config::{
    Admits, Authorities, Backend, BackendTarget, Certificate, ClientValidation, Filter, PathMatch, PeerName, Refuses,
};
use gateproof_proxy::exchange::{Exchange, MatchOutcome, RequestHead};
use gateproof_proxy::routing::Routing;
use serde_json::Value;

use super::{edit, routes};
use crate::reconcile::{Answer, Host, Outcome, Secure, config};
use crate::seam::{Fault, Seam};

/// Looks at the host of a request alone, whatever the name of the handshake was.
struct NoNames;

impl Exchange for NoNames {
    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        match (found, routing.virtual_host(&request.host)) {
            (MatchOutcome::Misdirected, Some(index)) => routing.route_in(index, request),
            (found, _) => found,
        }
    }
}

/// The HTTPProxies that lead to Services which are not there.
fn lacking_services(outcome: &Outcome) -> Vec<String> {
    let lacking = outcome.verdicts.iter().filter(|(_, verdict)| verdict.has("ServiceError"));
    lacking.map(|(key, _)| format!("{}/{}", key.1, key.2)).collect()
}

/// How each host is served over TLS that is.
fn secure(outcome: &mut Outcome) -> impl Iterator<Item = &mut Secure> {
    outcome.hosts.iter_mut().filter_map(|host| host.secure.as_mut())
}

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "serves-nothing-beside-missing-services",
        "Leaves a whole HTTPProxy unserved of which one Service is not there.",
        ["HTTPPROXY-45"],
        |_, _, outcome| {
            let broken = lacking_services(outcome);
            for host in &mut outcome.hosts {
                host.routes.retain(|route| !broken.contains(&route.of) || route.answer == Answer::Status(503));
            }
        }
    ),
    edit!(
        "answers-404-for-missing-services",
        "Has no route to a Service that is not there.",
        ["HTTPPROXY-C03"],
        |_, _, outcome| {
            for host in &mut outcome.hosts {
                host.routes.retain(|route| route.answer != Answer::Status(503));
            }
        }
    ),
    edit!(
        "sends-shares-to-missing-services",
        "Answers 503 to the share of a Service that is not there.",
        ["HTTPPROXY-C05", "HTTPPROXY-45"],
        |_, _, outcome| {
            let broken = lacking_services(outcome);
            for route in routes(outcome).filter(|route| broken.contains(&route.of)) {
                if let Answer::Backends(backends) = &mut route.answer
                    && let [only] = &mut backends[..]
                {
                    let mut missing = only.clone();
                    missing.target = BackendTarget::Fail { status: 503, reason: "there is no such Service".to_owned() };
                    backends.push(missing);
                }
            }
        }
    ),
    edit!(
        "answers-404-for-idle-services",
        "Has no route to Services without endpoints.",
        ["HTTPPROXY-C08"],
        |_, _, outcome| {
            let is_idle = |backend: &Backend| matches!(&backend.target, BackendTarget::Endpoints(endpoints) if endpoints.is_empty());
            for host in &mut outcome.hosts {
                host.routes.retain(|route| match &route.answer {
                    Answer::Backends(backends) => !backends.iter().all(is_idle),
                    _ => true,
                });
            }
        }
    ),
    edit!(
        "serves-tls-in-clear-text",
        "Serves roots with TLS in clear text, too.",
        ["HTTPPROXY-C14"],
        |_, _, outcome| {
            routes(outcome).for_each(|route| route.enforces_tls = false);
        }
    ),
    edit!(
        "redirects-to-tls-with-302",
        "Sends clear text to TLS with 302.",
        ["HTTPPROXY-C14"],
        |_, settings, outcome| {
            let mut config = outcome.config.take().unwrap_or_else(|| config(&outcome.hosts, settings));
            for listener in &mut config.listeners {
                let gateproof_proxy::config::Protocol::Http(http) = &mut listener.protocol else { continue };
                for filter in
                    http.virtual_hosts.iter_mut().flat_map(|host| &mut host.routes).flat_map(|route| &mut route.filters)
                {
                    if let Filter::RequestRedirect(redirect) = filter
                        && redirect.scheme.as_deref() == Some("https")
                        && redirect.hostname.is_none()
                        && redirect.path.is_none()
                    {
                        redirect.status = 302;
                    }
                }
            }
            outcome.config = Some(config);
        }
    ),
    edit!(
        "permits-nothing-in-clear-text",
        "Sends routes to TLS that permit clear text.",
        ["HTTPPROXY-C15"],
        |_, _, outcome| {
            for host in outcome.hosts.iter_mut().filter(|host| host.secure.is_some()) {
                host.routes.iter_mut().for_each(|route| route.enforces_tls = true);
            }
        }
    ),
    Fault {
        name: "answers-whoever-asks-over-tls",
        summary: "Answers over TLS for another host than that of the handshake.",
        clauses: &["HTTPPROXY-C14"],
        seam: Seam::Exchange(|| Arc::new(NoNames)),
    },
    edit!(
        "matches-elements-of-paths",
        "Takes a prefix for whole elements of a path.",
        ["HTTPPROXY-K07"],
        |_, _, outcome| {
            for route in routes(outcome) {
                if let PathMatch::Text(prefix) = &route.matches.path {
                    route.matches.path = PathMatch::Prefix(prefix.clone());
                }
            }
        }
    ),
    edit!("takes-exact-paths-for-prefixes", "Takes an exact path for a prefix.", ["HTTPPROXY-K07"], |_, _, outcome| {
        for route in routes(outcome) {
            if let PathMatch::Exact(path) = &route.matches.path {
                route.matches.path = PathMatch::Text(path.clone());
            }
        }
    }),
    edit!("ignores-header-conditions", "Ignores conditions about headers.", ["HTTPPROXY-K07"], |_, _, outcome| {
        routes(outcome).for_each(|route| route.matches.headers.clear());
    }),
    edit!(
        "ignores-query-conditions",
        "Ignores conditions about query parameters.",
        ["HTTPPROXY-K07"],
        |_, _, outcome| {
            routes(outcome).for_each(|route| route.matches.query.clear());
        }
    ),
    edit!("replaces-no-prefixes", "Forwards paths as they come.", ["HTTPPROXY-C30"], |_, _, outcome| {
        for route in routes(outcome) {
            route.filters.retain(|filter| !matches!(filter, Filter::UrlRewrite(rewrite) if rewrite.path.is_some()));
        }
    }),
    edit!(
        "sets-no-request-headers",
        "Forwards headers of requests as they come.",
        ["HTTPPROXY-K08"],
        |_, _, outcome| {
            for route in routes(outcome) {
                route.filters.retain(|filter| !matches!(filter, Filter::RequestHeaderModifier(_)));
            }
        }
    ),
    edit!(
        "sets-no-response-headers",
        "Passes headers of responses on as they come.",
        ["HTTPPROXY-K08"],
        |_, _, outcome| {
            for route in routes(outcome) {
                route.filters.retain(|filter| !matches!(filter, Filter::ResponseHeaderModifier(_)));
            }
        }
    ),
    edit!("ignores-weights", "Shares requests between services evenly.", ["HTTPPROXY-K09"], |_, _, outcome| {
        for route in routes(outcome) {
            if let Answer::Backends(backends) = &mut route.answer {
                backends.iter_mut().for_each(|backend| backend.weight = 1);
            }
        }
    }),
    edit!("mirrors-nothing", "Sends no copies.", ["HTTPPROXY-C31"], |_, _, outcome| {
        for route in routes(outcome) {
            route.filters.retain(|filter| !matches!(filter, Filter::RequestMirror(_)));
        }
    }),
    edit!("redirects-for-ever", "Redirects with 301 unless told otherwise.", ["HTTPPROXY-C32"], |_, _, outcome| {
        for route in routes(outcome) {
            if let Answer::Redirect(redirect) = &mut route.answer {
                redirect.status = 301;
            }
        }
    }),
    edit!("answers-200-itself", "Gives every direct response the status 200.", ["HTTPPROXY-C33"], |_, _, outcome| {
        for route in routes(outcome) {
            if let Answer::Status(status) = &mut route.answer
                && ![502, 503].contains(status)
            {
                *status = 200;
            }
        }
    }),
    edit!("says-nothing-itself", "Gives direct responses without their body.", ["HTTPPROXY-C33"], |_, _, outcome| {
        routes(outcome).for_each(|route| route.says = None);
    }),
    edit!("waits-for-ever", "Waits as long as a service takes.", ["HTTPPROXY-K24"], |_, _, outcome| {
        routes(outcome).for_each(|route| route.timeout = None);
    }),
    edit!("asks-once", "Asks no service again that failed.", ["HTTPPROXY-K26"], |_, _, outcome| {
        routes(outcome).for_each(|route| route.retry = None);
    }),
    edit!(
        "asks-again-and-again",
        "Asks a service again that failed once more than it may.",
        ["HTTPPROXY-K26"],
        |_, _, outcome| {
            for retry in routes(outcome).filter_map(|route| route.retry.as_mut()) {
                retry.how.attempts += 1;
            }
        }
    ),
    edit!("opens-no-websockets", "Opens no WebSocket.", ["HTTPPROXY-K25"], |_, _, outcome| {
        routes(outcome).for_each(|route| route.guard.upgrades = false);
    }),
    edit!(
        "opens-every-websocket",
        "Opens WebSockets where they are not switched on, too.",
        ["HTTPPROXY-K25"],
        |_, _, outcome| {
            routes(outcome).for_each(|route| route.guard.upgrades = true);
        }
    ),
    edit!("asks-clients-for-nothing", "Asks no client for a certificate.", ["HTTPPROXY-K04"], |_, _, outcome| {
        for secure in outcome.hosts.iter_mut().filter_map(|host| host.secure.as_mut()) {
            secure.clients = None;
        }
    }),
    edit!(
        "admits-strangers",
        "Takes certificates of clients by whomever they are signed.",
        ["HTTPPROXY-K04"],
        |_, _, outcome| {
            for clients in outcome.hosts.iter_mut().filter_map(|host| host.secure.as_mut()?.clients.as_mut()) {
                clients.admits = match clients.admits {
                    Admits::Valid => Admits::Shown,
                    Admits::ValidOrNone => Admits::Everybody,
                    other => other,
                };
            }
        }
    ),
    edit!(
        "demands-certificates",
        "Demands certificates of clients where they are optional.",
        ["HTTPPROXY-K04"],
        |_, _, outcome| {
            for clients in outcome.hosts.iter_mut().filter_map(|host| host.secure.as_mut()?.clients.as_mut()) {
                if clients.admits == Admits::ValidOrNone {
                    clients.admits = Admits::Valid;
                }
            }
        }
    ),
    edit!(
        "demands-certificates-for-nothing",
        "Demands certificates of clients where they are left unchecked and no authority is named.",
        ["HTTPPROXY-K04"],
        |snapshot, _, outcome| {
            let is_open = |object: &&Value| {
                object.pointer("/spec/virtualhost/tls/clientValidation").is_some_and(|validation| {
                    validation["skipClientCertValidation"] == true
                        && validation["optionalClientCertificate"] != true
                        && validation.get("caSecret").is_none()
                })
            };
            for open in snapshot.all(crate::kinds::Kind::HttpProxy).filter(is_open) {
                let fqdn = open.pointer("/spec/virtualhost/fqdn").and_then(Value::as_str);
                let hosts = outcome.hosts.iter_mut().filter(|host| Some(&*host.fqdn) == fqdn);
                for secure in hosts.filter_map(|host| host.secure.as_mut()) {
                    secure.clients = Some(ClientValidation {
                        authorities: String::new(),
                        admits: Admits::Shown,
                        refuses: Refuses::InHandshake,
                    });
                }
            }
        }
    ),
    edit!("trusts-every-backend", "Takes every certificate of a Service.", ["HTTPPROXY-K06"], |_, _, outcome| {
        for route in routes(outcome) {
            let Answer::Backends(backends) = &mut route.answer else { continue };
            for backend in backends {
                if let BackendTarget::Tls { tls, .. } = &mut backend.target {
                    (tls.authorities, tls.names) = (Authorities::Any, vec![PeerName::Any]);
                }
            }
        }
    }),
    edit!("passes-no-streams", "Carries no streams.", ["HTTPPROXY-K05"], |_, _, outcome| {
        for secure in outcome.hosts.iter_mut().filter_map(|host| host.secure.as_mut()) {
            if let Some(streams) = &mut secure.streams {
                streams.clear();
            }
        }
    }),
    edit!(
        "serves-nothing-once-edited",
        "Serves nothing of a root that was edited.",
        ["HTTPPROXY-49"],
        |snapshot, _, outcome| {
            let edited: Vec<String> = snapshot
                .all(crate::kinds::Kind::HttpProxy)
                .filter(|one| one["metadata"]["generation"].as_i64() > Some(1))
                .filter_map(|one| one.pointer("/spec/virtualhost/fqdn").and_then(Value::as_str).map(str::to_lowercase))
                .collect();
            outcome.hosts.retain(|host| !edited.contains(&host.fqdn));
        }
    ),
    edit!(
        "serves-what-is-stopped",
        "Goes on serving a root that was served before something stopped it.",
        ["HTTPPROXY-49"],
        {
            let mut before: Vec<Host> = Vec::new();
            move |snapshot, _, outcome: &mut Outcome| {
                let is_there = |fqdn: &str| {
                    snapshot.all(crate::kinds::Kind::HttpProxy).any(|one| {
                        one.pointer("/spec/virtualhost/fqdn")
                            .and_then(Value::as_str)
                            .is_some_and(|own| own.eq_ignore_ascii_case(fqdn))
                    })
                };
                for host in &before {
                    if is_there(&host.fqdn) && !outcome.hosts.iter().any(|one| one.fqdn == host.fqdn) {
                        outcome.hosts.push(host.clone());
                    }
                }
                before.clone_from(&outcome.hosts);
            }
        }
    ),
    edit!("falls-back-for-nobody", "Serves nothing to whoever says no name.", ["HTTPPROXY-K22"], |_, _, outcome| {
        secure(outcome).for_each(|secure| secure.fallback = None);
    }),
    edit!(
        "falls-back-for-everybody",
        "Serves every root over the fallback certificate that one asks for.",
        ["HTTPPROXY-K22"],
        |_, _, outcome| {
            let fallback = secure(outcome).find_map(|secure| secure.fallback.clone());
            secure(outcome).for_each(|secure| secure.fallback.clone_from(&fallback));
        }
    ),
    edit!(
        "keeps-fallbacks",
        "Goes on serving a root over the fallback certificate that asks for it no longer.",
        ["HTTPPROXY-K22"],
        {
            let mut before: BTreeMap<String, Certificate> = BTreeMap::new();
            move |_, _, outcome: &mut Outcome| {
                for host in &mut outcome.hosts {
                    let Some(secure) = &mut host.secure else { continue };
                    match &secure.fallback {
                        Some(fallback) => drop(before.insert(host.fqdn.clone(), fallback.clone())),
                        None => secure.fallback = before.get(&host.fqdn).cloned(),
                    }
                }
            }
        }
    ),
    edit!(
        "shows-roots-for-fallbacks",
        "Shows whoever says no name the certificate of a root.",
        ["HTTPPROXY-K22"],
        |_, _, outcome| {
            for secure in secure(outcome).filter(|secure| secure.fallback.is_some()) {
                secure.fallback.clone_from(&secure.certificate);
            }
        }
    ),
    edit!(
        "shows-fallbacks-for-roots",
        "Shows the fallback certificate of a root to whoever says its name, too.",
        ["HTTPPROXY-K22"],
        |_, _, outcome| {
            for secure in secure(outcome).filter(|secure| secure.fallback.is_some()) {
                secure.certificate.clone_from(&secure.fallback);
            }
        }
    ),
    edit!("forgets-wildcard-hosts", "Serves no host by a wildcard.", ["HTTPPROXY-K19"], |_, _, outcome| {
        outcome.hosts.retain(|host| !host.fqdn.starts_with("*."));
    }),
    edit!(
        "takes-the-name-itself-by-its-wildcard",
        "Serves the name, too, below which a wildcard has all hosts.",
        ["HTTPPROXY-K19"],
        |_, _, outcome| {
            let named = |host: &Host| Some(Host { fqdn: host.fqdn.strip_prefix("*.")?.to_owned(), ..host.clone() });
            let more: Vec<_> = outcome.hosts.iter().filter_map(named).collect();
            outcome.hosts.extend(more);
        }
    ),
    edit!(
        "prefers-wildcard-hosts",
        "Serves a host by a wildcard that has a root of its own.",
        ["HTTPPROXY-K19"],
        |_, _, outcome| {
            let wild: Vec<String> =
                outcome.hosts.iter().filter_map(|host| host.fqdn.strip_prefix('*').map(str::to_owned)).collect();
            outcome.hosts.retain(|host| host.fqdn.starts_with('*') || !wild.iter().any(|end| host.fqdn.ends_with(end)));
        }
    ),
];
