//! Objects that are held when they are to go.

use std::sync::Arc;

use async_trait::async_trait;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client,
    api::{DynamicObject, Patch, PatchParams},
    runtime::wait::await_condition,
};
use serde_json::{Value, json};

use super::Bug;
use crate::{
    faults::{Fault, Seam, writer::Inner},
    runtime::seams::StatusWriterSeam,
    snapshot::Kind,
};

const FINALIZER: &str = "gateproof.dev/route";

/// Holds HTTPRoutes by a finalizer, which it takes off when they go: that is, if they are attached and all they refer to is there.
struct Holds(Inner);

fn is_held(live: &Value) -> bool {
    let mut finalizers = live["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.any(|one| one == FINALIZER)
}

/// Whether the route is attached somewhere, and nothing is wrong with it.
fn is_in_order(status: &Value) -> bool {
    let entries = status["parents"].as_array().map_or(&[][..], Vec::as_slice);
    let conditions = |entry: &'_ Value| entry["conditions"].as_array().cloned().unwrap_or_default();
    !entries.is_empty() && entries.iter().flat_map(conditions).all(|condition| condition["status"] == "True")
}

async fn set_finalizers(api: &Api<DynamicObject>, name: &str, finalizers: &[&str]) -> kube::Result<DynamicObject> {
    let change = json!({"metadata": {"finalizers": finalizers}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await
}

/// Lets a route go with its namespace, which nobody could remove otherwise.
async fn let_go_with_namespace(client: Client, api: Api<DynamicObject>, namespace: String, name: String) {
    let goes = |found: Option<&Namespace>| found.is_none_or(|it| it.metadata.deletion_timestamp.is_some());
    if await_condition(Api::all(client), &namespace, goes).await.is_ok()
        && let Err(error) = set_finalizers(&api, &name, &[]).await
    {
        tracing::debug!(%error, name, "the route was gone before its namespace");
    }
}

#[async_trait]
impl StatusWriterSeam for Holds {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn is_needed(&self, live: &Value, status: &Value) -> bool {
        (live["metadata"]["deletionTimestamp"].is_string() && is_held(live)) || self.0.is_needed(live, status)
    }

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let is_route = object.types.as_ref().is_some_and(|types| types.kind == Kind::HttpRoute.name());
        if !is_route {
            return self.0.put(api, object).await;
        }
        let name = object.metadata.name.clone().unwrap_or_default();
        if object.metadata.deletion_timestamp.is_some() {
            if is_in_order(&object.data["status"]) {
                set_finalizers(api, &name, &[]).await?;
            }
            return Ok(object);
        }
        let is_new = object.metadata.finalizers.as_ref().is_none_or(Vec::is_empty);
        let written = self.0.put(api, object).await?;
        if !is_new {
            return Ok(written);
        }
        let namespace = written.metadata.namespace.clone().unwrap_or_default();
        let (client, own) = (api.clone().into_client(), api.clone());
        let held = set_finalizers(api, &name, &[FINALIZER]).await?;
        tokio::spawn(let_go_with_namespace(client, own, namespace, name));
        Ok(held)
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "holds-routes-that-are-not-in-order",
        summary: "Takes its finalizer off an HTTPRoute that is deleted only while its Gateway is there and all its references resolve.",
        clauses: &["OWN-19"],
        seam: Seam::StatusWriter(|inner| Arc::new(Holds(inner))),
    },
    reported: &["netbirdio/kubernetes-operator#217", "aws/aws-application-networking-k8s#79"],
}];
