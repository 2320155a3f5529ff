//! What two have in common, or a second place refers to: that it changes, or goes with one of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use gateproof_proxy::config::{BackendTarget, Config, Filter, Protocol, TlsListener};
use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{Memory, Remembering, each, filters, serve, serve_from},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, ObjectKey, Snapshot},
};

/// Sends copies to the endpoints that a mirror had when it first had some.
#[derive(Default)]
struct KeepsEndpointsOfMirrors(BTreeMap<String, BackendTarget>);

impl ConfigSeam for KeepsEndpointsOfMirrors {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for filter in filters(config).flatten() {
            if let Filter::RequestMirror(mirror) = filter
                && matches!(mirror.target, BackendTarget::Endpoints(_))
            {
                mirror.target = self.0.entry(mirror.id.clone()).or_insert_with(|| mirror.target.clone()).clone();
            }
        }
    }
}

/// Goes on seeing Services that are gone and that a mirror of an HTTPRoute names.
fn keep_services_of_mirrors(memory: &mut Memory, snapshot: &mut Snapshot) {
    let mut mirrors = BTreeSet::new();
    snapshot.edit(Kind::HttpRoute, |route| {
        let own = route["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        for filter in each(route, "/spec/rules").flat_map(|rule| each(rule, "/filters")) {
            let target = &filter["requestMirror"]["backendRef"];
            if let Some(name) = target["name"].as_str() {
                mirrors.insert(ObjectKey::new(target["namespace"].as_str().unwrap_or(&own), name));
            }
        }
    });
    for service in snapshot.all(Kind::Service) {
        memory.objects.insert((Kind::Service, service.key()), service.clone());
    }
    for ((_, key), service) in memory.objects.iter().filter(|((_, key), _)| mirrors.contains(key)) {
        if snapshot.get(Kind::Service, &key.namespace, &key.name).is_none() {
            snapshot.insert(Kind::Service, service.clone());
        }
    }
}

/// The Secrets of its own namespace that a Gateway has certificates from.
pub(super) fn secrets(gateway: &Value) -> BTreeSet<ObjectKey> {
    let namespace = gateway["metadata"]["namespace"].as_str().unwrap_or_default();
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let references = list(&gateway["spec"]["listeners"]).into_iter().flat_map(|of| list(&of["tls"]["certificateRefs"]));
    let own = references.filter(|reference| reference["namespace"].is_null());
    own.filter_map(|reference| Some(ObjectKey::new(namespace, reference["name"].as_str()?))).collect()
}

/// Serves nothing with the Secrets of Gateways that were deleted.
#[derive(Default)]
struct DropsSecretsOfDeleted {
    known: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    dropped: BTreeSet<ObjectKey>,
}

impl ConfigSeam for DropsSecretsOfDeleted {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let now: BTreeMap<_, _> = seen.snapshot.gateways().map(|(it, _)| (it.key(), secrets(&it.raw))).collect();
        let gone = std::mem::take(&mut self.known).into_iter().filter(|(gateway, _)| !now.contains_key(gateway));
        self.dropped.extend(gone.flat_map(|(_, secrets)| secrets));
        if !self.dropped.is_empty() {
            let without = |snapshot: &mut Snapshot| {
                for secret in &self.dropped {
                    snapshot.remove(Kind::Secret, secret);
                }
            };
            *config = seen.otherwise(without).config;
        }
        self.known = now;
    }
}

/// Shows a Secret that is gone to every Gateway but the first that has a certificate from it.
fn keep_secrets_for_all_but_the_first(memory: &mut Memory, snapshot: &mut Snapshot) {
    for secret in snapshot.all(Kind::Secret) {
        memory.objects.insert((Kind::Secret, secret.key()), secret.clone());
    }
    let is_gone = |key: &ObjectKey| snapshot.get(Kind::Secret, &key.namespace, &key.name).is_none();
    let gone: Vec<_> = memory.objects.iter().filter(|((_, key), _)| is_gone(key)).collect();
    let mut kept = Vec::new();
    for ((_, key), secret) in gone {
        let other = format!("{}-as-it-was", key.name);
        let mut before = 0;
        snapshot.edit(Kind::Gateway, |gateway| {
            if !secrets(gateway).contains(key) {
                return;
            }
            before += 1;
            if before > 1 {
                for reference in each(gateway, "/spec/listeners").flat_map(|of| each(of, "/tls/certificateRefs")) {
                    if reference["name"] == *key.name {
                        reference["name"] = other.clone().into();
                    }
                }
            }
        });
        if before > 1 {
            let mut raw = (*secret.raw).clone();
            raw["metadata"]["name"] = other.into();
            kept.push(raw);
        }
    }
    for secret in kept {
        // What could be read under its name can be read under another.
        let _ = snapshot.put(Kind::Secret, secret);
    }
}

/// Goes on seeing EndpointSlices that are gone, for as long as their Service is there.
fn keep_slices(memory: &mut Memory, snapshot: &mut Snapshot) {
    for slice in snapshot.all(Kind::EndpointSlice) {
        memory.objects.insert((Kind::EndpointSlice, slice.key()), slice.clone());
    }
    for ((_, key), slice) in &memory.objects {
        let service = slice.meta.labels.get("kubernetes.io/service-name");
        let is_there = service.is_some_and(|name| snapshot.get(Kind::Service, &key.namespace, name).is_some());
        if is_there && snapshot.get(Kind::EndpointSlice, &key.namespace, &key.name).is_none() {
            snapshot.insert(Kind::EndpointSlice, slice.clone());
        }
    }
}

/// Serves no HTTPRoute that has the name of a GRPCRoute.
fn take_names_for_one(snapshot: &mut Snapshot) {
    let calls: Vec<ObjectKey> = snapshot.all(Kind::GrpcRoute).map(|route| route.key()).collect();
    for key in calls {
        snapshot.remove(Kind::HttpRoute, &key);
    }
}

fn take_streams_for_one(snapshot: &mut Snapshot) {
    let streams: Vec<ObjectKey> = snapshot.all(Kind::TcpRoute).map(|route| route.key()).collect();
    for key in streams {
        snapshot.remove(Kind::UdpRoute, &key);
    }
}

/// Answers no handshake for a hostname that a Gateway has on two ports with one certificate.
fn refuse_repeated_names(config: &mut Config) {
    let mut seen = BTreeMap::new();
    let secure = |config: &mut Config, visit: &mut dyn FnMut(IpAddr, &mut TlsListener)| {
        for lane in &mut config.listeners {
            if let Protocol::Https(listeners) = &mut lane.protocol {
                listeners.iter_mut().for_each(|listener| visit(lane.address, listener));
            }
        }
    };
    let name = |address: IpAddr, listener: &TlsListener| {
        let chain = listener.certificates.first().map(|certificate| certificate.chain_pem.clone());
        (address, format!("{:?}", listener.virtual_host.hostname), chain)
    };
    secure(config, &mut |address, listener| *seen.entry(name(address, listener)).or_insert(0) += 1);
    secure(config, &mut |address, listener| {
        if seen.get(&name(address, listener)).is_some_and(|count| *count > 1) {
            listener.certificates.clear();
        }
    });
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "deaf-to-deletion-of-slices",
            summary: "Goes on sending requests to the endpoints of an EndpointSlice that was deleted.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), keep_slices))),
        },
        reported: &["nginx/nginx-gateway-fabric#5734"],
    },
    Bug {
        fault: Fault {
            name: "takes-routes-of-a-name-for-one",
            summary: "Does not serve an HTTPRoute that has the name of a GRPCRoute of its namespace.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| serve_from(take_names_for_one)),
        },
        reported: &["kgateway-dev/kgateway#12894"],
    },
    Bug {
        fault: Fault {
            name: "takes-streams-of-a-name-for-one",
            summary: "Does not serve a UDPRoute that has the name of a TCPRoute of its namespace.",
            clauses: &["GEP1364-14"],
            seam: Seam::Config(|| serve_from(take_streams_for_one)),
        },
        reported: &["kgateway-dev/kgateway#12894"],
    },
    Bug {
        fault: Fault {
            name: "refuses-a-name-on-two-ports",
            summary: "Answers no handshake for a hostname that a Gateway has on two ports with one certificate.",
            clauses: &["GEP1364-18"],
            seam: Seam::Config(|| serve(|_, config| refuse_repeated_names(config))),
        },
        reported: &["cilium/cilium#45623", "cilium/cilium#44877"],
    },
    Bug {
        fault: Fault {
            name: "keeps-first-endpoints-of-mirrors",
            summary: "Sends mirrored requests to the endpoints that the Service of the mirror had at first.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| Box::<KeepsEndpointsOfMirrors>::default()),
        },
        reported: &["envoyproxy/gateway#5495"],
    },
    Bug {
        fault: Fault {
            name: "deaf-to-removal-of-mirrors",
            summary: "Does not notice that a Service is gone which a mirror names.",
            clauses: &["blind:HTTPRouteRequestMirror.6"],
            seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), keep_services_of_mirrors))),
        },
        reported: &["envoyproxy/gateway#5495"],
    },
    Bug {
        fault: Fault {
            name: "drops-secrets-of-deleted-gateways",
            summary: "Takes the Secrets of a Gateway that was deleted from every other one too.",
            clauses: &["GEP1364-18"],
            seam: Seam::Config(|| Box::<DropsSecretsOfDeleted>::default()),
        },
        reported: &["envoyproxy/gateway#579"],
    },
    Bug {
        fault: Fault {
            name: "deaf-to-removal-of-shared-secrets",
            summary: "Notices at the first alone of several Gateways that the Secret of their certificate is gone.",
            clauses: &["GEP1364-37"],
            seam: Seam::Snapshot(|| Box::new(Remembering(Memory::default(), keep_secrets_for_all_but_the_first))),
        },
        reported: &["vmware/load-balancer-and-ingress-services-for-kubernetes#1607"],
    },
];
