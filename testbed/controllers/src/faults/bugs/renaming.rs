//! What a Service was when a route first named it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use gateproof_proxy::config::Config;
use serde_json::Value;

use super::Bug;
use crate::{
    faults::{
        Fault, Seam,
        tools::{backends, each},
    },
    runtime::seams::{ConfigSeam, Seen},
    snapshot::{Kind, Object},
};

/// Serves by what Services were, in one respect, when a rule was first seen to name them.
struct AsFirstNamed {
    /// By their uid.
    known: BTreeMap<String, Arc<Object>>,
    put_back: fn(&Value, &mut Value),
}

impl AsFirstNamed {
    fn but(put_back: fn(&Value, &mut Value)) -> Box<dyn ConfigSeam> {
        Box::new(AsFirstNamed { known: BTreeMap::new(), put_back })
    }
}

impl ConfigSeam for AsFirstNamed {
    fn edit(&mut self, seen: Seen<'_>, config: &mut Config) {
        let ids: BTreeSet<String> = backends(config).map(|backend| backend.id.clone()).collect();
        for id in ids {
            let service = id.rsplit_once(':').and_then(|(service, _)| service.split_once('/'));
            let service = service.and_then(|(namespace, name)| seen.snapshot.get(Kind::Service, namespace, name));
            if let Some(service) = service {
                self.known.entry(service.meta.uid.clone()).or_insert_with(|| Arc::clone(service));
            }
        }
        let past = |service: &mut Value| {
            let uid = service["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            if let Some(first) = self.known.get(&uid) {
                (self.put_back)(&first.raw, service);
            }
        };
        *config = seen.otherwise(|snapshot| snapshot.edit(Kind::Service, past)).config;
    }
}

/// Gives every port of a Service the name that the port of its number had, if that had one.
fn name_ports(first: &Value, service: &mut Value) {
    let known: Vec<&Value> = first["spec"]["ports"].as_array().into_iter().flatten().collect();
    for port in each(service, "/spec/ports") {
        let is_same = |one: &&&Value| (&one["port"], &one["protocol"]) == (&port["port"], &port["protocol"]);
        let before = known.iter().find(is_same).map(|one| &one["name"]).filter(|name| name.is_string());
        if let Some(name) = before.cloned() {
            port["name"] = name;
        }
    }
}

pub(super) const BUGS: &[Bug] = &[
    Bug {
        fault: Fault {
            name: "knows-services-by-their-first-type",
            summary: "Takes a Service for one of the type that it had when a route first named it.",
            clauses: &["IMPL-39"],
            seam: Seam::Config(|| {
                AsFirstNamed::but(|first, service| service["spec"]["type"] = first["spec"]["type"].clone())
            }),
        },
        reported: &["kubernetes/ingress-nginx#8308", "kubernetes/ingress-nginx#8440", "kubernetes/ingress-nginx#11844"],
    },
    Bug {
        fault: Fault {
            name: "finds-endpoints-by-the-first-name-of-a-port",
            summary: "Finds the endpoints of a port of a Service by the name that it had when a route first named it.",
            clauses: &["blind:HTTPRouteServiceTypes.1"],
            seam: Seam::Config(|| AsFirstNamed::but(name_ports)),
        },
        reported: &["kubernetes/ingress-nginx#7390"],
    },
];
