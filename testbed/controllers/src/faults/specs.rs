//! Faults in what is left alone: a controller writes beside the status.

use std::sync::Arc;

use async_trait::async_trait;
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

use super::{Fault, Seam};
use crate::runtime::seams::StatusWriterSeam;

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

pub(super) const FAULTS: &[Fault] = &[Fault {
    name: "edits-specs-of-others",
    summary: "Adds a hostname to the spec of HTTPRoutes that redirect.",
    clauses: &["OWN-01"],
    seam: Seam::StatusWriter(|inner| Arc::new(EditsSpecs(inner))),
}];
