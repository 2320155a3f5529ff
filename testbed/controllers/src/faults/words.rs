//! Conditions and controllers that are called something else, and words that are taken back.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use kube::{Api, api::DynamicObject};
use serde_json::Value;

use super::{
    Fault, Seam,
    tools::{each, find, listeners, own, say},
    writer::{Inner, merge, was_visited},
};
use crate::{
    model::ParentRef,
    runtime::seams::StatusWriterSeam,
    snapshot::{Kind, Object, ObjectKey, Snapshot},
    status::{Condition, StatusUpdate, Truth},
};

/// Who writes for the controller, by its own name.
const ANOTHER: &str = "gateproof.dev/reference-data-plane";

/// The most entries that a route has room for.
const ENTRIES: usize = 32;

/// So long an object is left alone before its references are doubted: longer than a controller may be at work.
const LATE: Duration = Duration::from_millis(6200);

fn now() -> Value {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

/// Whether a Gateway has several listeners, all of HTTP, and no route is for it.
fn is_idle(snapshot: &Snapshot, gateway: &ObjectKey) -> bool {
    let names = |route: &Object, of: &ParentRef| {
        of.name == gateway.name && of.namespace.as_deref().unwrap_or(&route.meta.namespace) == gateway.namespace
    };
    let mut http = snapshot.http_routes().map(|(route, spec)| (route, &spec.parent_refs));
    let mut grpc = snapshot.grpc_routes().map(|(route, spec)| (route, &spec.parent_refs));
    let is_plain = snapshot.gateway(&gateway.namespace, &gateway.name).is_some_and(|(_, spec)| {
        spec.listeners.len() > 1 && spec.listeners.iter().all(|listener| listener.protocol == "HTTP")
    });
    is_plain
        && !http.any(|(route, parents)| parents.iter().any(|of| names(route, of)))
        && !grpc.any(|(route, parents)| parents.iter().any(|of| names(route, of)))
}

/// Calls `Accepted` something else that says the same.
fn rename(conditions: &mut [Condition], r#type: &str) {
    if let Some(accepted) = find(conditions, "Accepted") {
        accepted.r#type = r#type.into();
    }
}

/// Calls `Accepted` something else that says the opposite.
fn invert(conditions: &mut [Condition], r#type: &str) {
    if let Some(accepted) = find(conditions, "Accepted") {
        accepted.r#type = r#type.into();
        accepted.status = match accepted.status {
            Truth::True => Truth::False,
            Truth::False => Truth::True,
            Truth::Unknown => Truth::Unknown,
        };
    }
}

/// Whether a class is another one than the oldest, and no Gateway is of it.
fn is_spare(snapshot: &Snapshot, class: &ObjectKey) -> bool {
    let oldest = snapshot.gateway_classes().map(|(object, _)| object).min_by_key(|object| object.meta.precedence());
    oldest.is_some_and(|object| object.meta.name != class.name)
        && !snapshot.gateways().any(|(_, spec)| spec.gateway_class_name == class.name)
}

/// Puts an entry of somebody else before those of a route, once.
fn write_for_another(desired: &StatusUpdate, status: &mut Value) {
    let Some(parents) = status.get_mut("parents").and_then(Value::as_array_mut) else { return };
    let is_there = parents.iter().any(|entry| entry["controllerName"] == ANOTHER);
    let Some(mut entry) = parents.iter().find(|one| one["controllerName"] == desired.controller_name.as_str()).cloned()
    else {
        return;
    };
    if !is_there && parents.len() < ENTRIES {
        entry["controllerName"] = ANOTHER.into();
        parents.insert(0, entry);
    }
}

/// Says once of the listeners of a Gateway that nobody has touched for a while that their references do not resolve.
struct DoubtsOnce(Inner, Arc<Mutex<BTreeSet<String>>>);

#[async_trait]
impl StatusWriterSeam for DoubtsOnce {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let written = self.0.put(api, object.clone()).await?;
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let is_gateway = object.types.as_ref().is_some_and(|types| types.kind == "Gateway");
        if is_gateway && !self.1.lock().unwrap_or_else(PoisonError::into_inner).contains(&uid) {
            let (inner, doubted, api) = (Arc::clone(&self.0), Arc::clone(&self.1), api.clone());
            let mut late = object;
            late.metadata.resource_version.clone_from(&written.metadata.resource_version);
            tokio::spawn(async move {
                tokio::time::sleep(LATE).await;
                doubt(&mut late.data["status"]);
                // Refused if the object has changed since then.
                if inner.put(&api, late).await.is_ok() {
                    doubted.lock().unwrap_or_else(PoisonError::into_inner).insert(uid);
                }
            });
        }
        Ok(written)
    }
}

fn doubt(status: &mut Value) {
    for condition in each(status, "/listeners").flat_map(|listener| each(listener, "/conditions")) {
        if condition["type"] == "ResolvedRefs" && condition["status"] == "True" {
            condition["status"] = "False".into();
            condition["reason"] = "InvalidCertificateRef".into();
            condition["message"] = "No certificate was found".into();
            condition["lastTransitionTime"] = now();
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "says-scheduled-of-idle-gateways",
        summary: "Says Scheduled, as it was once called, in place of Accepted of a Gateway with several listeners and no routes.",
        clauses: &["GEP1364-13", "GEP1364-15", "GEP1364-27", "GEP1364-31", "GEP1364-34", "IMPL-22"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| is_idle(seen.snapshot, &update.key)) {
                    own(std::slice::from_mut(update), Kind::Gateway).for_each(|all| rename(all, "Scheduled"));
                }
            })
        }),
    },
    Fault {
        name: "says-detached-of-idle-listeners",
        summary: "Says Detached, as it was once called, in place of Accepted of the listeners of a Gateway with several of them and no \
                  routes.",
        clauses: &["GEP1364-13", "GEP1364-15", "GEP1364-27", "GEP1364-32", "IMPL-22"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| is_idle(seen.snapshot, &update.key)) {
                    let all = listeners(std::slice::from_mut(update));
                    all.for_each(|listener| invert(&mut listener.conditions, "Detached"));
                }
            })
        }),
    },
    Fault {
        name: "says-admitted-of-spare-classes",
        summary: "Says Admitted, as it was once called, in place of Accepted of GatewayClasses beside the oldest that no Gateway is of.",
        clauses: &["GEP1364-13", "GEP1364-33", "GEP1364-34"],
        seam: Seam::Statuses(|| {
            say(|seen, statuses| {
                for update in statuses.iter_mut().filter(|update| is_spare(seen.snapshot, &update.key)) {
                    own(std::slice::from_mut(update), Kind::GatewayClass).for_each(|all| rename(all, "Admitted"));
                }
            })
        }),
    },
    Fault {
        name: "says-ready-of-gateways",
        summary: "Says Ready, which is reserved, of every Gateway.",
        clauses: &["GEP1364-17"],
        seam: Seam::Statuses(|| {
            say(|_, statuses| {
                for update in statuses.iter_mut().filter(|update| update.kind == Kind::Gateway) {
                    let generation = update.generation;
                    for conditions in own(std::slice::from_mut(update), Kind::Gateway) {
                        let ready = Condition::new("Ready", true, "Ready", "");
                        conditions.push(Condition { observed_generation: Some(generation), ..ready });
                    }
                }
            })
        }),
    },
    Fault {
        name: "calls-gateways-invalid-at-first",
        summary: "Says Programmed=False/Invalid in the first status of a Gateway, whatever it is going to be.",
        clauses: &["GEP1364-58"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |live, desired, status| {
                if desired.kind == Kind::Gateway && !was_visited(live) {
                    for condition in each(status, "/conditions").filter(|condition| condition["type"] == "Programmed") {
                        condition["status"] = "False".into();
                        condition["reason"] = "Invalid".into();
                        condition["message"] = "Nothing was looked at yet".into();
                        condition["lastTransitionTime"] = now();
                    }
                }
            })
        }),
    },
    Fault {
        name: "writes-entries-for-another-controller",
        summary: "Writes an entry of an HTTPRoute under another controller's name, before its own.",
        clauses: &["IMPL-26"],
        seam: Seam::StatusWriter(|inner| {
            merge(inner, |_, desired, status| {
                if desired.kind == Kind::HttpRoute {
                    write_for_another(desired, status);
                }
            })
        }),
    },
    Fault {
        name: "doubts-references-once",
        summary: "Says once, when nobody has touched a Gateway for more than five seconds, that the references of its listeners \
                  do not resolve.",
        clauses: &["OWN-03"],
        seam: Seam::StatusWriter(|inner| Arc::new(DoubtsOnce(inner, Arc::default()))),
    },
];
