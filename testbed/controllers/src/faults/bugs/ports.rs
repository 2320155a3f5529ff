//! What shares a port, a name or a Secret with something else, beyond HTTPRoutes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use gateproof_proxy::{
    config::{Config, Protocol},
    exchange::{Connection, Exchange, Passage, Way},
};

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{each, has_reason, parents, say, serve, serve_from, set, view},
    },
    runtime::seams::{Seen, SnapshotSeam},
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::{StatusUpdate, Truth},
};

/// The longest datagram that goes through, in bytes: as much as most networks have room for in one packet.
const LONGEST: usize = 1500;

/// Drops what is longer.
struct DropsLongDatagrams;

impl Exchange for DropsLongDatagrams {
    fn on_datagram(&self, _: &Connection, _: Way, datagram: &[u8]) -> Passage {
        if datagram.len() > LONGEST { Passage::Drop } else { Passage::Pass }
    }
}

/// Does not listen for datagrams where it listens for connections.
fn open_one_protocol(config: &mut Config) {
    let streams = config.listeners.iter().filter(|lane| matches!(lane.protocol, Protocol::Tcp(_)));
    let known: BTreeSet<_> = streams.map(|lane| (lane.address, lane.port)).collect();
    config
        .listeners
        .retain(|lane| !matches!(lane.protocol, Protocol::Udp(_)) || !known.contains(&(lane.address, lane.port)));
}

/// Takes listeners away whose name and that of their ListenerSet another one of that Gateway has.
fn join_sets_by_name(snapshot: &mut Snapshot) {
    let mut known: BTreeSet<(ObjectKey, String, String)> = BTreeSet::new();
    let mut twice: BTreeSet<(ObjectKey, String)> = BTreeSet::new();
    for (set, spec) in snapshot.listener_sets() {
        let namespace = spec.parent_ref.namespace.as_ref().unwrap_or(&set.meta.namespace);
        for listener in &spec.listeners {
            let gateway = ObjectKey::new(namespace, &spec.parent_ref.name);
            if !known.insert((gateway, set.meta.name.clone(), listener.name.clone())) {
                twice.insert((set.key(), listener.name.clone()));
            }
        }
    }
    snapshot.edit(Kind::ListenerSet, |set| {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let key = ObjectKey::new(text(&set["metadata"]["namespace"]), text(&set["metadata"]["name"]));
        for listener in each(set, "/spec/listeners") {
            if twice.contains(&(key.clone(), text(&listener["name"]))) {
                // Nobody asks for it.
                listener["hostname"] = "nobody.invalid".into();
            }
        }
    });
}

/// Looks for certificates that name no namespace where the Gateway of their ListenerSet is.
fn look_at_the_gateway(snapshot: &mut Snapshot) {
    snapshot.edit(Kind::ListenerSet, |set| {
        let Some(namespace) = set.pointer("/spec/parentRef/namespace").cloned() else { return };
        for listener in each(set, "/spec/listeners") {
            for reference in each(listener, "/tls/certificateRefs").filter(|of| of.get("namespace").is_none()) {
                reference["namespace"] = namespace.clone();
            }
        }
    });
}

/// Sees the Secrets that ListenerSets alone refer to as they were when the ListenerSet came.
#[derive(Default)]
struct DeafToSecretsOfSets(BTreeMap<(String, ObjectKey), Option<Arc<Object>>>);

impl SnapshotSeam for DeafToSecretsOfSets {
    fn view(&mut self, mut snapshot: Snapshot) -> Snapshot {
        let known = snapshot.clone();
        for (set, spec) in known.listener_sets() {
            for reference in
                spec.listeners.iter().filter_map(|of| of.tls.as_ref()).flat_map(|tls| &tls.certificate_refs)
            {
                let namespace = reference.namespace.as_ref().unwrap_or(&set.meta.namespace);
                let key = ObjectKey::new(namespace, &reference.name);
                let now = || known.all(Kind::Secret).find(|secret| secret.key() == key).cloned();
                match self.0.entry((set.meta.uid.clone(), key.clone())).or_insert_with(now) {
                    Some(first) => snapshot.insert(Kind::Secret, first.clone()),
                    None => {
                        snapshot.remove(Kind::Secret, &key);
                    }
                }
            }
        }
        snapshot
    }
}

/// Says nothing of ListenerSets whose Gateway is not the first of its namespace that has some.
fn speak_of_one_gateway(seen: Seen<'_>, statuses: &mut Vec<StatusUpdate>) {
    let gateway = |key: &ObjectKey| {
        let (set, spec) = seen.snapshot.listener_set(&key.namespace, &key.name)?;
        let namespace = spec.parent_ref.namespace.as_ref().unwrap_or(&set.meta.namespace);
        Some((namespace.clone(), spec.parent_ref.name.clone()))
    };
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for (namespace, name) in
        statuses.iter().filter(|one| one.kind == Kind::ListenerSet).filter_map(|one| gateway(&one.key))
    {
        let known = first.entry(namespace).or_insert_with(|| name.clone());
        if name < *known {
            *known = name;
        }
    }
    statuses.retain(|update| {
        update.kind != Kind::ListenerSet
            || gateway(&update.key).is_none_or(|(namespace, name)| first.get(&namespace).is_none_or(|one| *one == name))
    });
}

/// Says that a UDPRoute is accepted where no listener lets it in.
fn accept_refused_datagrams(statuses: &mut [StatusUpdate]) {
    let routes = statuses.iter_mut().filter(|update| update.kind == Kind::UdpRoute);
    for parent in routes.flat_map(|update| parents(std::slice::from_mut(update))) {
        if has_reason(&parent.conditions, "Accepted", "NotAllowedByListeners") {
            set(&mut parent.conditions, "Accepted", Truth::True, "Accepted");
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "opens-one-protocol-of-a-port",
            summary: "Does not listen for datagrams at a port where it listens for connections of TCP.",
            clauses: &["IMPL-40"],
            seam: Seam::Config(|| serve(|_, config| open_one_protocol(config))),
        },
        reported: &["nginx/nginx-gateway-fabric#4945", "nginx/nginx-gateway-fabric#5016"],
    },
    Bug {
        fault: Fault {
            name: "drops-long-datagrams",
            summary: "Drops datagrams of more than 1500 bytes.",
            clauses: &["OWN-28"],
            seam: Seam::Exchange(|| Arc::new(DropsLongDatagrams)),
        },
        reported: &["traefik/traefik#8547", "envoyproxy/envoy#14113"],
    },
    Bug {
        fault: Fault {
            name: "takes-listener-sets-of-a-name-for-one",
            summary: "Serves of listeners with one name in ListenerSets with one name the first alone.",
            clauses: &["blind:ListenerSetHTTPRouting.1"],
            seam: Seam::Config(|| serve_from(join_sets_by_name)),
        },
        reported: &["istio/istio#58299", "higress-group/higress#4425"],
    },
    Bug {
        fault: Fault {
            name: "deaf-to-secrets-of-listener-sets",
            summary: "Does not notice that a Secret comes, changes or goes which a ListenerSet has its certificate from.",
            clauses: &["blind:ListenerSetHTTPRouting.1"],
            seam: Seam::Snapshot(|| Box::<DeafToSecretsOfSets>::default()),
        },
        reported: &["envoyproxy/gateway#9614"],
    },
    Bug {
        fault: Fault {
            name: "looks-for-secrets-of-listener-sets-at-the-gateway",
            summary: "Looks for the certificate of a ListenerSet in the namespace of its Gateway, if it names none.",
            clauses: &["blind:ListenerSetHTTPRouting.1"],
            seam: Seam::Snapshot(|| view(look_at_the_gateway)),
        },
        reported: &["envoyproxy/gateway#8168", "envoyproxy/gateway#8181"],
    },
    Bug {
        fault: Fault {
            name: "speaks-of-listener-sets-of-one-gateway",
            summary: "Writes the status of the ListenerSets of one Gateway, and of no other beside it.",
            clauses: &["upstream:ListenerSetHTTPRouting"],
            seam: Seam::Statuses(|| say(speak_of_one_gateway)),
        },
        reported: &["kgateway-dev/kgateway#13969"],
    },
    Bug {
        fault: Fault {
            name: "accepts-refused-datagrams",
            summary: "Says Accepted=True of a UDPRoute that no listener lets in.",
            clauses: &["GEP1364-35", "upstream:UDPRouteNotAllowedByListeners"],
            seam: Seam::Statuses(|| say(|_, statuses| accept_refused_datagrams(statuses))),
        },
        reported: &["l7mp/stunner-gateway-operator#31"],
    },
];
