//! Statuses that get into the cluster in another way.

use std::{
    collections::BTreeSet,
    ops::BitOr,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use kube::{Api, api::DynamicObject};
use serde_json::Value;

use super::Variant;
use crate::runtime::seams::StatusWriterSeam;

/// Writes the first status of an object in two steps.
struct InTwo {
    inner: Arc<dyn StatusWriterSeam>,
    /// UIDs of the objects that have a status.
    begun: Mutex<BTreeSet<String>>,
}

#[async_trait]
impl StatusWriterSeam for InTwo {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.inner
    }

    fn is_steady(&self) -> bool {
        self.inner.is_steady()
    }

    async fn put(&self, api: &Api<DynamicObject>, mut object: DynamicObject) -> kube::Result<DynamicObject> {
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let is_first = self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(uid);
        let mut first = object.clone();
        if is_first && leave_open(&mut first.data["status"]) {
            let written = self.inner.put(api, first).await?;
            object.metadata.resource_version = written.metadata.resource_version;
        }
        self.inner.put(api, object).await
    }
}

/// Says of `Programmed` that it is not known yet, wherever it is True. Returns whether it is anywhere.
fn leave_open(status: &mut Value) -> bool {
    match status {
        Value::Array(items) => items.iter_mut().map(leave_open).fold(false, BitOr::bitor),
        Value::Object(fields) if fields.get("type").is_some_and(|of| of == "Programmed") => {
            let is_true = fields.get("status").is_some_and(|status| status == "True");
            if is_true {
                for (name, value) in
                    [("status", "Unknown"), ("reason", "Pending"), ("message", "Waiting for the data plane")]
                {
                    fields.insert(name.to_owned(), value.into());
                }
            }
            is_true
        }
        Value::Object(fields) => fields.values_mut().map(leave_open).fold(false, BitOr::bitor),
        _ => false,
    }
}

pub(super) const VARIANTS: &[Variant] = &[Variant {
    name: "writes-programmed-second",
    summary: "Writes the first status of a Gateway in two steps, in the first of which Programmed is Unknown.",
    source: "GEP-1364 (GEP1364-58) and the implementer's guide (IMPL-22): Programmed is Unknown while too little is \
             known, and comes after Accepted.",
    enter: |seams| seams.writer = Arc::new(InTwo { inner: Arc::clone(&seams.writer), begun: Mutex::default() }),
}];
