//! Faults in what is left alone: a controller writes beside the status, and into definitions.

use std::sync::Arc;

use async_trait::async_trait;
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{Fault, Seam};
use crate::{
    runtime::{kinds::built_in_release, seams::StatusWriterSeam},
    settings::NEWEST_MINOR,
    snapshot::Kind,
};

/// A hostname that no route asks for.
const ADDED: &str = "www.example.com";

/// Gives routes that redirect one hostname more.
struct EditsSpecs(Arc<dyn StatusWriterSeam>);

fn redirects(object: &DynamicObject) -> bool {
    let rules = object.data.pointer("/spec/rules").and_then(Value::as_array).into_iter().flatten();
    let mut filters = rules.filter_map(|rule| rule.get("filters")?.as_array()).flatten();
    filters.any(|filter| filter["type"] == "RequestRedirect")
}

#[async_trait]
impl StatusWriterSeam for EditsSpecs {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let mut hostnames =
            object.data.pointer("/spec/hostnames").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_new = redirects(&object) && !hostnames.is_empty() && !hostnames.contains(&json!(ADDED));
        let written = self.0.put(api, object).await?;
        if is_new && let Some(name) = &written.metadata.name {
            hostnames.push(json!(ADDED));
            let patch = Patch::Merge(json!({"spec": {"hostnames": hostnames}}));
            api.patch(name, &PatchParams::default(), &patch).await?;
        }
        Ok(written)
    }
}

/// What that binding is called.
const SAFE_UPGRADES: &str = "safe-upgrades.gateway.networking.k8s.io";

/// Deletes the binding of the policy that keeps definitions from becoming those of an older release, where there is one.
pub(super) async fn unguard(client: Client) -> kube::Result<()> {
    let binding = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding");
    let bindings: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&binding));
    match bindings.delete(SAFE_UPGRADES, &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        done => done.map(drop),
    }
}

/// Writes into a definition, with each status of an object of that kind, what it takes it for.
struct Relabels {
    inner: Arc<dyn StatusWriterSeam>,
    kind: Kind,
    definition: &'static str,
    annotation: &'static str,
    value: String,
    /// Whether it takes away first what keeps it from that.
    unguarded: bool,
}

impl Relabels {
    async fn relabel(&self, api: &Api<DynamicObject>) -> kube::Result<()> {
        let client = api.clone().into_client();
        if self.unguarded {
            unguard(client.clone()).await?;
        }
        let definitions: Api<DynamicObject> = Api::all_with(client, &built_in_release(Kind::CustomResourceDefinition));
        let annotation = format!("gateway.networking.k8s.io/{}", self.annotation);
        let patch = Patch::Merge(json!({"metadata": {"annotations": {annotation: self.value}}}));
        definitions.patch(self.definition, &PatchParams::default(), &patch).await.map(drop)
    }
}

#[async_trait]
impl StatusWriterSeam for Relabels {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.inner
    }

    async fn put(&self, api: &Api<DynamicObject>, object: DynamicObject) -> kube::Result<DynamicObject> {
        let is_its = object.types.as_ref().is_some_and(|types| types.kind == self.kind.name());
        let written = self.inner.put(api, object).await?;
        if is_its && let Err(error) = self.relabel(api).await {
            tracing::debug!(%error, "the definition stays as it is");
        }
        Ok(written)
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "edits-specs-of-others",
        summary: "Adds a hostname to the spec of HTTPRoutes that redirect.",
        clauses: &["OWN-01"],
        seam: Seam::StatusWriter(|inner| Arc::new(EditsSpecs(inner))),
    },
    Fault {
        name: "takes-newer-definitions-back",
        summary: "Puts the release of the definition that it brings along itself in the place of a newer one's.",
        clauses: &["IMPL-11"],
        seam: Seam::StatusWriter(|inner| {
            Arc::new(Relabels {
                inner,
                kind: Kind::HttpRoute,
                definition: "httproutes.gateway.networking.k8s.io",
                annotation: "bundle-version",
                value: format!("v1.{NEWEST_MINOR}.0"),
                unguarded: false,
            })
        }),
    },
    Fault {
        name: "installs-older-definitions",
        summary: "Deletes the binding of the policy that refuses older definitions, and installs one of v1.4.1 with the first \
                  BackendTLSPolicy.",
        clauses: &["IMPL-11"],
        seam: Seam::StatusWriter(|inner| {
            Arc::new(Relabels {
                inner,
                kind: Kind::BackendTlsPolicy,
                definition: "backendtlspolicies.gateway.networking.k8s.io",
                annotation: "bundle-version",
                value: "v1.4.1".to_owned(),
                unguarded: true,
            })
        }),
    },
    Fault {
        name: "switches-channels-of-definitions",
        summary: "Makes the definition of GRPCRoutes one of the other channel with the first GRPCRoute.",
        clauses: &["IMPL-11"],
        seam: Seam::StatusWriter(|inner| {
            Arc::new(Relabels {
                inner,
                kind: Kind::GrpcRoute,
                definition: "grpcroutes.gateway.networking.k8s.io",
                annotation: "channel",
                value: "standard".to_owned(),
                unguarded: false,
            })
        }),
    },
];
