//! What goes wrong with the certificates that Gateways show to backends.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use gateproof_proxy::config::{
    BackendTarget, BackendTls, Certificate, Config, Filter, Listener, Protocol, TcpTarget, VirtualHost,
};

use super::{
    Fault, Seam,
    tls::streams,
    tools::{Memory, Remembering, backends, has_reason, own, rules, say, serve, serve_past, set},
};
use crate::{
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, ObjectKey, Snapshot},
    status::Truth,
};

/// The virtual hosts of a lane.
fn hosts(lane: &mut Listener) -> Vec<&mut VirtualHost> {
    match &mut lane.protocol {
        Protocol::Http(http) => http.virtual_hosts.iter_mut().collect(),
        Protocol::Https(all) => all.iter_mut().map(|one| &mut one.virtual_host).collect(),
        Protocol::Tls(port) => port.https.iter_mut().map(|one| &mut one.virtual_host).collect(),
        Protocol::Tcp(_) | Protocol::Udp(_) => Vec::new(),
    }
}

/// Settings of every encrypted backend.
fn encrypted(config: &mut Config) -> impl Iterator<Item = &mut BackendTls> {
    backends(config).filter_map(|backend| match &mut backend.target {
        BackendTarget::Tls { tls, .. } => Some(tls),
        _ => None,
    })
}

/// Settings of every encrypted mirror.
fn mirrors(config: &mut Config) -> impl Iterator<Item = &mut BackendTls> {
    let filters = rules(config).flat_map(|rule| {
        let of_backends = rule.backends.iter_mut().flat_map(|backend| &mut backend.filters);
        rule.filters.iter_mut().chain(of_backends)
    });
    filters.filter_map(|filter| match filter {
        Filter::RequestMirror(mirror) => match &mut mirror.target {
            BackendTarget::Tls { tls, .. } => Some(tls),
            _ => None,
        },
        _ => None,
    })
}

/// The Secrets that Gateways show to backends.
fn shown(snapshot: &Snapshot) -> BTreeSet<ObjectKey> {
    let of = snapshot.gateways().filter_map(|(gateway, spec)| {
        let reference = spec.tls.as_ref()?.backend.as_ref()?.client_certificate_ref.as_ref()?;
        let namespace = reference.namespace.as_ref().unwrap_or(&gateway.meta.namespace);
        Some(ObjectKey::new(namespace, &reference.name))
    });
    of.collect()
}

/// Shows Secrets as they were first: those that Gateways show to backends, or all others.
pub(super) fn keep_first(memory: &mut Memory, snapshot: &mut Snapshot, to_backends: bool) {
    let now = snapshot.clone();
    let shown = shown(&now);
    memory.keep_first(snapshot, Kind::Secret);
    for secret in now.all(Kind::Secret).filter(|secret| shown.contains(&secret.key()) != to_backends) {
        snapshot.insert(Kind::Secret, secret.clone());
    }
}

/// Where a Gateway says what it shows to backends.
const REFERENCE: &str = "/spec/tls/backend/clientCertificateRef";

/// Shows the Secret that a Gateway named first, as long as there is a certificate in it.
fn keep_first_references(memory: &mut Memory, snapshot: &mut Snapshot) {
    let now = snapshot.clone();
    let mut first = snapshot.clone();
    memory.keep_first(&mut first, Kind::Gateway);
    snapshot.edit(Kind::Gateway, |gateway| {
        let text = |field: &str| gateway["metadata"][field].as_str().unwrap_or_default();
        let (namespace, known) = (text("namespace"), first.get(Kind::Gateway, text("namespace"), text("name")));
        let Some(before) = known.and_then(|known| known.raw.pointer(REFERENCE)).cloned() else { return };
        let name = before["name"].as_str().filter(|_| before["namespace"].is_null()).unwrap_or_default();
        let is_there = now.secret(namespace, name).is_some_and(|(_, secret)| secret.certificate.is_ok());
        if let Some(reference) = gateway.pointer_mut(REFERENCE).filter(|_| is_there) {
            *reference = before;
        }
    });
}

/// Goes on with Secrets that Gateways show to backends as they were when nothing could be made of them.
fn keep_spoilt(memory: &mut Memory, snapshot: &mut Snapshot) {
    for key in shown(snapshot) {
        let Some(secret) = snapshot.get(Kind::Secret, &key.namespace, &key.name).cloned() else { continue };
        let read = snapshot.secret(&key.namespace, &key.name);
        if read.is_some_and(|(_, secret)| secret.certificate.is_err()) {
            memory.objects.insert((Kind::Secret, key), secret);
        } else if let Some(spoilt) = memory.objects.get(&(Kind::Secret, key)) {
            snapshot.insert(Kind::Secret, spoilt.clone());
        }
    }
}

/// Goes on showing what a Gateway showed last when it has nothing to show any more.
#[derive(Default)]
struct KeepsLast(BTreeMap<String, Certificate>);

impl ConfigSeam for KeepsLast {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let id = lane.id.clone();
            let routes = hosts(lane).into_iter().flat_map(|host| &mut host.routes);
            for backend in routes.flat_map(|route| &mut route.backends) {
                let BackendTarget::Tls { tls, .. } = &mut backend.target else { continue };
                match &tls.client {
                    Some(client) => {
                        self.0.insert(id.clone(), client.clone());
                    }
                    None => tls.client = self.0.get(&id).cloned(),
                }
            }
        }
    }
}

const SHOWN: &str = "upstream:GatewayTLSBackendClientCertificate";
const SHOWN_WRONGLY: &str = "blind:GatewayTLSBackendClientCertificate.1";
const BROKEN: &str = "upstream:GatewayInvalidTLSBackendConfiguration";
const BROKEN_STOPS: &str = "blind:GatewayInvalidTLSBackendConfiguration.1";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "shows-backends-no-certificate",
        summary: "Shows backends that ask for a certificate none, although its Gateway has one.",
        clauses: &[SHOWN, BROKEN_STOPS, "IMPL-42"],
        seam: Seam::Config(|| serve(|_, config| encrypted(config).for_each(|tls| tls.client = None))),
    },
    Fault {
        name: "shows-certificates-of-other-gateways",
        summary: "Shows a backend the certificate that another Gateway shows it, where its own has none.",
        clauses: &[SHOWN_WRONGLY],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let mut known: Vec<(Vec<SocketAddr>, Certificate)> = Vec::new();
                for backend in backends(config) {
                    if let BackendTarget::Tls { endpoints, tls, .. } = &backend.target {
                        known.extend(tls.client.clone().map(|client| (endpoints.clone(), client)));
                    }
                }
                for backend in backends(config) {
                    if let BackendTarget::Tls { endpoints, tls, .. } = &mut backend.target
                        && tls.client.is_none()
                    {
                        tls.client = known.iter().find(|(at, _)| at == endpoints).map(|(_, client)| client.clone());
                    }
                }
            })
        }),
    },
    Fault {
        name: "shows-one-certificate-for-all-gateways",
        summary: "Shows a backend that two Gateways send to the certificate of the first of them, for both.",
        clauses: &[SHOWN_WRONGLY],
        seam: Seam::Config(|| {
            serve(|_, config| {
                let mut first: Vec<(Vec<SocketAddr>, Certificate)> = Vec::new();
                for backend in backends(config) {
                    let BackendTarget::Tls { endpoints, tls, .. } = &mut backend.target else { continue };
                    let Some(client) = &mut tls.client else { continue };
                    match first.iter().find(|(at, _)| at == endpoints) {
                        Some((_, known)) => client.clone_from(known),
                        None => first.push((endpoints.clone(), client.clone())),
                    }
                }
            })
        }),
    },
    Fault {
        name: "keeps-first-certificates-for-backends",
        summary: "Goes on showing backends a certificate that was renewed in its Secret.",
        clauses: &[SHOWN_WRONGLY],
        seam: Seam::Config(|| serve_past(|memory, snapshot| keep_first(memory, snapshot, true))),
    },
    Fault {
        name: "keeps-first-references-to-certificates-for-backends",
        summary: "Goes on showing backends the certificate that its Gateway named before, as long as that is there.",
        clauses: &[SHOWN_WRONGLY],
        seam: Seam::Config(|| serve_past(keep_first_references)),
    },
    Fault {
        name: "overlooks-mended-certificates-for-backends",
        summary: "Goes on without a certificate for backends whose Secret held none and is mended.",
        clauses: &[SHOWN_WRONGLY],
        seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), keep_spoilt))),
    },
    Fault {
        name: "keeps-certificates-for-backends-that-are-gone",
        summary: "Goes on showing backends a certificate whose reference is not permitted any more.",
        clauses: &[SHOWN_WRONGLY, "IMPL-42"],
        seam: Seam::Config(|| Box::<KeepsLast>::default()),
    },
    Fault {
        name: "stops-serving-without-certificate-for-backends",
        summary: "Serves no route of a Gateway that lacks the certificate which it is to show to backends.",
        clauses: &[BROKEN_STOPS],
        seam: Seam::Config(|| {
            serve(|seen, config| {
                let lacking: BTreeSet<String> = seen
                    .snapshot
                    .gateways()
                    .filter(|(gateway, spec)| {
                        let reference =
                            spec.tls.as_ref().and_then(|tls| tls.backend.as_ref()?.client_certificate_ref.as_ref());
                        reference.is_some_and(|of| {
                            let namespace = of.namespace.as_ref().unwrap_or(&gateway.meta.namespace);
                            seen.snapshot.secret(namespace, &of.name).is_none()
                        })
                    })
                    .map(|(gateway, _)| gateway.key().to_string())
                    .collect();
                for lane in &mut config.listeners {
                    if lane.id.rsplit_once(':').is_some_and(|(gateway, _)| lacking.contains(gateway)) {
                        hosts(lane).into_iter().for_each(|host| host.routes.clear());
                    }
                }
            })
        }),
    },
    Fault {
        name: "resolves-broken-certificates-for-backends",
        summary: "Says ResolvedRefs=True on a Gateway that cannot have the certificate which it is to show to backends.",
        clauses: &[BROKEN],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "ResolvedRefs", "InvalidClientCertificateRef") {
                        set(conditions, "ResolvedRefs", Truth::True, "ResolvedRefs");
                    }
                }
            })
        }),
    },
    Fault {
        name: "refuses-gateways-without-certificate-for-backends",
        summary: "Says Accepted=False on a Gateway that cannot have the certificate which it is to show to backends.",
        clauses: &[BROKEN],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for conditions in own(statuses, Kind::Gateway) {
                    if has_reason(conditions, "ResolvedRefs", "InvalidClientCertificateRef") {
                        set(conditions, "Accepted", Truth::False, "Invalid");
                        set(conditions, "Programmed", Truth::False, "Invalid");
                    }
                }
            })
        }),
    },
    Fault {
        name: "shows-backends-of-calls-no-certificate",
        summary: "Shows backends of calls that ask for a certificate none, although its Gateway has one.",
        clauses: &["OWN-39"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in backends(config) {
                    if let BackendTarget::Tls { tls, h2: true, .. } = &mut backend.target {
                        tls.client = None;
                    }
                }
            })
        }),
    },
    Fault {
        name: "shows-backends-of-streams-no-certificate",
        summary: "Shows backends of streams that ask for a certificate none, although its Gateway has one.",
        clauses: &["OWN-39"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for backend in streams(config).flat_map(|one| &mut one.routes).flat_map(|route| &mut route.backends) {
                    if let TcpTarget::Encrypted { tls, .. } = &mut backend.target {
                        tls.client = None;
                    }
                }
            })
        }),
    },
    Fault {
        name: "shows-mirrors-no-certificate",
        summary: "Shows mirrors that ask for a certificate none, although its Gateway has one.",
        clauses: &["OWN-39"],
        seam: Seam::Config(|| serve(|_, config| mirrors(config).for_each(|tls| tls.client = None))),
    },
];
