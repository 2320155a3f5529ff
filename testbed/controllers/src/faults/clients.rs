//! What goes wrong with certificates of clients.

use std::collections::{BTreeMap, BTreeSet};

use gateproof_proxy::config::{Admits, ClientValidation, Config, Listener as Lane, Protocol, TlsListener};
use serde_json::Value;

use super::{
    Fault, Seam,
    tools::{
        Memory, drop_at, drop_field, each, has_reason, listeners, own, say, serve, serve_from, serve_past, set, view,
    },
};
use crate::{
    reconcile::has_client_authority,
    runtime::seams::{ConfigSeam, Seen, StatusesSeam},
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::{Condition, StatusUpdate, Truth},
};

/// The listeners of protocol HTTPS on a port.
pub(super) fn https_of(lane: &mut Lane) -> impl Iterator<Item = &mut TlsListener> {
    match &mut lane.protocol {
        Protocol::Https(all) => all.iter_mut(),
        Protocol::Tls(port) => port.https.iter_mut(),
        _ => [].iter_mut(),
    }
}

/// The listeners of protocol HTTPS.
pub(super) fn https(config: &mut Config) -> impl Iterator<Item = &mut TlsListener> {
    config.listeners.iter_mut().flat_map(https_of)
}

/// How listeners validate that do.
fn validations(config: &mut Config) -> impl Iterator<Item = &mut ClientValidation> {
    https(config).filter_map(|listener| listener.clients.as_mut())
}

/// Lets others in beside those with a valid certificate, where these alone may come in.
pub(super) fn admit(config: &mut Config, admits: Admits) {
    validations(config).filter(|of| of.admits == Admits::Valid).for_each(|of| of.admits = admits);
}

/// Asks the clients of TLS listeners for what those of HTTPS listeners of their Gateway have to show.
fn ask_clients_of_streams(config: &mut Config) {
    let gateway = |lane: &Lane| lane.id.rsplit_once(':').map(|(gateway, _)| gateway.to_owned());
    let asking = |lane: &mut Lane| Some((gateway(lane)?, https_of(lane).find_map(|of| of.clients.clone())?));
    let asked: BTreeMap<String, ClientValidation> = config.listeners.iter_mut().filter_map(asking).collect();
    for lane in &mut config.listeners {
        let clients = gateway(lane).and_then(|of| asked.get(&of).cloned());
        if let Protocol::Tls(port) = &mut lane.protocol {
            port.streams.iter_mut().for_each(|stream| stream.clients.clone_from(&clients));
        }
    }
}

/// The places of validation in a Gateway.
pub(super) fn places(gateway: &mut Value) -> impl Iterator<Item = &mut Value> {
    let Some(frontend) = gateway.pointer_mut("/spec/tls/frontend").and_then(Value::as_object_mut) else {
        return Vec::new().into_iter();
    };
    let mut places = Vec::new();
    for (field, value) in frontend {
        match (field.as_str(), value) {
            ("default", value) => places.push(value),
            ("perPort", Value::Array(ports)) => places.extend(ports.iter_mut().filter_map(|port| port.get_mut("tls"))),
            _ => {}
        }
    }
    places.into_iter()
}

/// The ConfigMaps that Gateways name as authorities of clients.
fn named(snapshot: &Snapshot) -> BTreeSet<ObjectKey> {
    let mut known = snapshot.clone();
    let mut named = BTreeSet::new();
    known.edit(Kind::Gateway, |gateway| {
        let own = gateway["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        for reference in places(gateway).flat_map(|place| each(place, "/validation/caCertificateRefs")) {
            let namespace = reference["namespace"].as_str().unwrap_or(&own);
            named.insert(ObjectKey::new(namespace, reference["name"].as_str().unwrap_or_default()));
        }
    });
    named
}

/// Whether a ConfigMap holds authorities.
fn is_whole(snapshot: &Snapshot, map: &Object) -> bool {
    snapshot.config_map(&map.meta.namespace, &map.meta.name).is_some_and(|(_, map)| map.authorities.is_ok())
}

/// Goes on with the first authorities that there were, as long as there are some.
fn keep_first(memory: &mut Memory, snapshot: &mut Snapshot) {
    for key in named(snapshot) {
        let Some(map) = snapshot.get(Kind::ConfigMap, &key.namespace, &key.name).cloned() else { continue };
        if is_whole(snapshot, &map) {
            let first = memory.objects.entry((Kind::ConfigMap, key)).or_insert(map);
            snapshot.insert(Kind::ConfigMap, first.clone());
        }
    }
}

/// Goes on with the last authorities that there were when there are none any more.
fn keep_last(memory: &mut Memory, snapshot: &mut Snapshot) {
    for key in named(snapshot) {
        match snapshot.get(Kind::ConfigMap, &key.namespace, &key.name).cloned() {
            Some(map) if is_whole(snapshot, &map) => {
                memory.objects.insert((Kind::ConfigMap, key), map);
            }
            _ => {
                if let Some(last) = memory.objects.get(&(Kind::ConfigMap, key)) {
                    snapshot.insert(Kind::ConfigMap, last.clone());
                }
            }
        }
    }
}

/// Leaves validation without an authority out.
pub(super) fn forget_broken(snapshot: &mut Snapshot) {
    let known = snapshot.clone();
    snapshot.edit(Kind::Gateway, |gateway| {
        let text = |field: &str| gateway["metadata"][field].as_str().unwrap_or_default().to_owned();
        let Some(object) = known.get(Kind::Gateway, &text("namespace"), &text("name")).cloned() else { return };
        for place in places(gateway) {
            if place.get("validation").is_some_and(|of| !has_client_authority(&known, &object, of)) {
                drop_field(place, "validation");
            }
        }
    });
}

/// Where a Gateway says how clients are validated.
const FRONTEND: &str = "/spec/tls/frontend";

/// Leaves out the validation that a Gateway did not ask for at first.
fn leave_late_out(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::Gateway);
    snapshot.edit(Kind::Gateway, |gateway| {
        let text = |field: &str| gateway["metadata"][field].as_str().unwrap_or_default();
        let before = first.get(Kind::Gateway, text("namespace"), text("name"));
        if before.is_some_and(|before| before.raw.pointer(FRONTEND).is_none()) {
            drop_at(gateway, "/spec/tls", "frontend");
        }
    });
}

/// Goes on with the validation that a Gateway asked for last, once it asks for none: at all, or of single ports.
fn keep_gone(memory: &mut Memory, snapshot: &mut Snapshot, of_ports: bool) {
    snapshot.edit(Kind::Gateway, |gateway| {
        let text = |field: &str| gateway["metadata"][field].as_str().unwrap_or_default();
        let key = (Kind::Gateway, ObjectKey::new(text("namespace"), text("name")));
        let before =
            memory.objects.get(&key).filter(|before| before.raw["metadata"]["uid"] == gateway["metadata"]["uid"]);
        let Some(mut former) = before.and_then(|before| before.raw.pointer(FRONTEND)).cloned() else { return };
        match gateway.pointer_mut(FRONTEND).and_then(Value::as_object_mut) {
            Some(now) if of_ports && !now.contains_key("perPort") => {
                now.insert("perPort".to_owned(), former["perPort"].take());
            }
            None if !of_ports => gateway["spec"]["tls"]["frontend"] = former,
            _ => {}
        }
    });
    memory.objects.extend(snapshot.all(Kind::Gateway).map(|one| ((Kind::Gateway, one.key()), one.clone())));
}

/// Lets everybody in at the listeners that once did.
#[derive(Default)]
struct KeepsFallback(BTreeSet<(String, String)>);

impl ConfigSeam for KeepsFallback {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let Protocol::Https(all) = &mut lane.protocol else { continue };
            for listener in all {
                let Some(clients) = &mut listener.clients else { continue };
                let key = (lane.id.clone(), listener.virtual_host.listener.clone());
                if clients.admits == Admits::Everybody {
                    self.0.insert(key);
                } else if self.0.contains(&key) {
                    clients.admits = Admits::Everybody;
                }
            }
        }
    }
}

const INSECURE: &str = "InsecureFrontendValidationMode";

/// Says of Gateways that they are insecure if they ever were.
#[derive(Default)]
struct KeepsInsecure(BTreeMap<ObjectKey, Condition>);

impl StatusesSeam for KeepsInsecure {
    fn edit(&mut self, _: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
        for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
            let (key, generation) = (update.key.clone(), update.generation);
            for conditions in own(std::slice::from_mut(update), Kind::Gateway) {
                match conditions.iter().find(|condition| condition.r#type == INSECURE) {
                    Some(condition) => {
                        self.0.insert(key.clone(), condition.clone());
                    }
                    None => conditions.extend(
                        self.0.get(&key).map(|old| Condition { observed_generation: Some(generation), ..old.clone() }),
                    ),
                }
            }
        }
    }
}

/// Says something else of listeners without an authority of clients.
fn say_otherwise(statuses: &mut [StatusUpdate], r#type: &str, reason: &str) {
    for listener in listeners(statuses) {
        if has_reason(&listener.conditions, "Accepted", "NoValidCACertificate") {
            set(&mut listener.conditions, r#type, Truth::True, reason);
        }
    }
}

const VALID: &str = "upstream:GatewayFrontendClientCertificateValidation";
const NONE_SHOWN: &str = "blind:GatewayFrontendClientCertificateValidation.1";
const BAD_SHOWN: &str = "blind:GatewayFrontendClientCertificateValidation.2";
const FALLBACK: &str = "upstream:GatewayFrontendClientCertificateValidationInsecureFallback";
const NO_FALLBACK: &str = "blind:GatewayFrontendClientCertificateValidationInsecureFallback.1";
const BROKEN: &str = "upstream:GatewayInvalidFrontendClientCertificateValidation";
const BROKEN_OPEN: &str = "blind:GatewayInvalidFrontendClientCertificateValidation.1";
const BROKEN_DEFAULT: &str = "upstream:GatewayFrontendInvalidDefaultClientCertificateValidation";
const BROKEN_DEFAULT_OPEN: &str = "blind:GatewayFrontendInvalidDefaultClientCertificateValidation.1";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "validates-clients-of-first-listeners",
        summary: "Asks for certificates at the first of the HTTPS listeners of a port alone.",
        clauses: &["blind:GatewayFrontendClientCertificateValidation.1"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for lane in &mut config.listeners {
                    https_of(lane).skip(1).for_each(|listener| listener.clients = None);
                }
            })
        }),
    },
    Fault {
        name: "serves-clients-without-certificates",
        summary: "Validates certificates of clients that show one, and lets in who shows none.",
        clauses: &[NONE_SHOWN, NO_FALLBACK],
        seam: Seam::Config(|| serve(|_, config| admit(config, Admits::ValidOrNone))),
    },
    Fault {
        name: "serves-clients-of-any-authority",
        summary: "Asks clients for a certificate and does not look who signed it.",
        clauses: &[VALID, BAD_SHOWN, NO_FALLBACK],
        seam: Seam::Config(|| serve(|_, config| admit(config, Admits::Shown))),
    },
    Fault {
        name: "serves-clients-with-expired-certificates",
        summary: "Lets in clients whose certificate is over.",
        clauses: &[BAD_SHOWN],
        seam: Seam::Config(|| serve(|_, config| admit(config, Admits::ValidOrExpired))),
    },
    Fault {
        name: "serves-clients-with-certificates-to-come",
        summary: "Lets in clients whose certificate is to be valid later.",
        clauses: &[BAD_SHOWN],
        seam: Seam::Config(|| serve(|_, config| admit(config, Admits::ValidOrToCome))),
    },
    Fault {
        name: "keeps-first-authorities-of-clients",
        summary: "Goes on validating clients by the authorities that a ConfigMap had first.",
        clauses: &[BAD_SHOWN],
        seam: Seam::Config(|| serve_past(keep_first)),
    },
    Fault {
        name: "asks-clients-of-tls-listeners",
        summary: "Asks the clients of a listener of protocol TLS for the certificate that those of HTTPS have to show.",
        clauses: &["OWN-115"],
        seam: Seam::Config(|| serve(|_, config| ask_clients_of_streams(config))),
    },
    Fault {
        name: "overlooks-validation-of-clients-that-comes-later",
        summary: "Validates no clients where a Gateway comes to ask for it once it is served.",
        clauses: &[NONE_SHOWN],
        seam: Seam::Config(|| serve_past(leave_late_out)),
    },
    Fault {
        name: "keeps-validation-of-clients-that-is-gone",
        summary: "Goes on validating clients when a Gateway asks for it no more.",
        clauses: &["IMPL-37"],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_gone(memory, snapshot, false))),
    },
    Fault {
        name: "keeps-validation-of-ports-that-is-gone",
        summary: "Goes on validating clients of a port as it was said when nothing is said of that port any more.",
        clauses: &[VALID],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_gone(memory, snapshot, true))),
    },
    Fault {
        name: "keeps-authorities-of-clients-that-are-gone",
        summary: "Goes on validating clients by the authorities that a ConfigMap had before it lost them.",
        clauses: &[BROKEN_DEFAULT_OPEN],
        seam: Seam::Config(|| serve_past(keep_last)),
    },
    Fault {
        name: "asks-clients-for-nothing-without-authority",
        summary: "Serves everybody at listeners that have no valid authority of clients.",
        clauses: &[BROKEN_OPEN, BROKEN_DEFAULT, BROKEN_DEFAULT_OPEN],
        seam: Seam::Config(|| serve_from(forget_broken)),
    },
    Fault {
        name: "validates-clients-by-the-default-alone",
        summary: "Takes no notice of what is said of single ports on the validation of clients.",
        clauses: &[VALID, BROKEN_OPEN, FALLBACK],
        seam: Seam::Config(|| {
            serve_from(|snapshot| {
                snapshot.edit(Kind::Gateway, |gateway| {
                    if let Some(frontend) = gateway.pointer_mut("/spec/tls/frontend") {
                        drop_field(frontend, "perPort");
                    }
                });
            })
        }),
    },
    Fault {
        name: "spreads-the-fallback-of-one-port",
        summary: "Lets clients in everywhere on a Gateway that has the insecure fallback for one port.",
        clauses: &[NO_FALLBACK],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let of = |id: &str| id.rsplit_once(':').map_or_else(String::new, |(gateway, _)| gateway.to_owned());
                let mut open = BTreeSet::new();
                for lane in &mut config.listeners {
                    let (id, Protocol::Https(all)) = (of(&lane.id), &lane.protocol) else { continue };
                    let falls_back = |one: &TlsListener| {
                        one.clients.as_ref().is_some_and(|clients| clients.admits == Admits::Everybody)
                    };
                    if all.iter().any(falls_back) {
                        open.insert(id);
                    }
                }
                for lane in &mut config.listeners {
                    let (id, Protocol::Https(all)) = (of(&lane.id), &mut lane.protocol) else { continue };
                    if open.contains(&id) {
                        let validations = all.iter_mut().filter_map(|one| one.clients.as_mut());
                        validations.for_each(|clients| clients.admits = Admits::Everybody);
                    }
                }
            })
        }),
    },
    Fault {
        name: "keeps-the-insecure-fallback",
        summary: "Goes on letting everybody in after the mode went back to valid certificates alone.",
        clauses: &[NO_FALLBACK],
        seam: Seam::Config(|| Box::<KeepsFallback>::default()),
    },
    Fault {
        name: "refuses-bad-certificates-under-the-fallback",
        summary: "Refuses clients whose certificate is not valid although the insecure fallback is on.",
        clauses: &[FALLBACK],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let open = validations(config).filter(|of| of.admits == Admits::Everybody);
                open.for_each(|of| of.admits = Admits::ValidOrNone);
            })
        }),
    },
    Fault {
        name: "refuses-expired-certificates-under-the-fallback",
        summary: "Refuses clients whose certificate is over although the insecure fallback is on.",
        clauses: &[FALLBACK],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let open = validations(config).filter(|of| of.admits == Admits::Everybody);
                open.for_each(|of| of.admits = Admits::AllButExpired);
            })
        }),
    },
    Fault {
        name: "refuses-certificates-to-come-under-the-fallback",
        summary: "Refuses clients whose certificate is to be valid later although the insecure fallback is on.",
        clauses: &[FALLBACK],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let open = validations(config).filter(|of| of.admits == Admits::Everybody);
                open.for_each(|of| of.admits = Admits::AllButToCome);
            })
        }),
    },
    Fault {
        name: "asks-clients-for-nothing-under-the-fallback",
        summary: "Asks clients for no certificate while the insecure fallback is on.",
        clauses: &[FALLBACK],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for listener in https(config) {
                    listener.clients = listener.clients.take().filter(|of| of.admits != Admits::Everybody);
                }
            })
        }),
    },
    Fault {
        name: "closes-clear-text-of-ports-with-validation",
        summary: "Serves no route in clear text on a port that the validation of clients names.",
        clauses: &[BROKEN_DEFAULT, BROKEN_DEFAULT_OPEN],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                for lane in &mut config.listeners {
                    let gateway = lane.id.rsplit_once(':').and_then(|(gateway, _)| gateway.split_once('/'));
                    let spec = gateway.and_then(|(namespace, name)| seen.snapshot.gateway(namespace, name));
                    let frontend = spec.and_then(|(_, spec)| spec.tls.as_ref()?.frontend.as_ref());
                    if frontend.is_some_and(|of| of.per_port.iter().any(|one| one.port == lane.port))
                        && let Protocol::Http(http) = &mut lane.protocol
                    {
                        http.virtual_hosts.iter_mut().for_each(|host| host.routes.clear());
                    }
                }
            })
        }),
    },
    Fault {
        name: "refuses-granted-authorities-of-clients",
        summary: "Takes no ConfigMap of another namespace for an authority of clients, whoever permits it.",
        clauses: &[BROKEN_OPEN, "IMPL-42"],
        seam: Seam::Snapshot(|| {
            view(|snapshot| {
                snapshot.retain(Kind::ReferenceGrant, |grant| {
                    let to = grant.raw.pointer("/spec/to").and_then(Value::as_array);
                    !to.into_iter().flatten().any(|to| to["kind"] == "ConfigMap")
                });
            })
        }),
    },
    Fault {
        name: "keeps-the-insecure-condition",
        summary: "Leaves InsecureFrontendValidationMode on a Gateway whose mode is secure again.",
        clauses: &["GEP1364-16", NO_FALLBACK],
        seam: Seam::Statuses(|| Box::<KeepsInsecure>::default()),
    },
    Fault {
        name: "says-nothing-of-the-insecure-fallback",
        summary: "Does not say on a Gateway that clients get in without a valid certificate.",
        clauses: &[FALLBACK],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    conditions.retain(|condition| condition.r#type != INSECURE);
                }
            })
        }),
    },
    Fault {
        name: "accepts-listeners-without-client-authority",
        summary: "Says Accepted=True on a listener that has no valid authority of clients.",
        clauses: &[BROKEN, BROKEN_DEFAULT],
        seam: Seam::Statuses(|| say(|_, statuses| say_otherwise(statuses, "Accepted", "Accepted"))),
    },
    Fault {
        name: "programs-listeners-without-client-authority",
        summary: "Says Programmed=True on a listener that has no valid authority of clients.",
        clauses: &[BROKEN, BROKEN_DEFAULT, "IMPL-22"],
        seam: Seam::Statuses(|| say(|_, statuses| say_otherwise(statuses, "Programmed", "Programmed"))),
    },
    Fault {
        name: "resolves-broken-authorities-of-clients",
        summary: "Says ResolvedRefs=True on a listener whose authority of clients cannot be had.",
        clauses: &[BROKEN, BROKEN_DEFAULT],
        seam: Seam::Statuses(|| say(|_, statuses| say_otherwise(statuses, "ResolvedRefs", "ResolvedRefs"))),
    },
    Fault {
        name: "misses-client-authorities-of-other-kinds",
        summary: "Says that an authority of clients is missing where its kind is none that can be one.",
        clauses: &[BROKEN],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for listener in listeners(statuses) {
                    if has_reason(&listener.conditions, "ResolvedRefs", "InvalidCACertificateKind") {
                        set(&mut listener.conditions, "ResolvedRefs", Truth::False, "InvalidCACertificateRef");
                    }
                }
            })
        }),
    },
];
