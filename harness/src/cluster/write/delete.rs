//! Deletions: of what the run created, and of what an earlier run left.

use http::Method;
use serde_json::{Value, json};

use super::reply::admitted;
use super::{Call, End, Writer, logged, not_created};
use crate::cluster::definitions;
use crate::cluster::kinds::Kind;
use crate::cluster::names::RUN_LABEL;
use crate::cluster::own::Entry;
use crate::log::{ObjectKey, Write, WriteOutcome, WriteVerb};
use crate::scenario::scope::DEFINITION;

impl Writer {
    /// Deletion in the background of an object that the run created. Of any other it is refused here, with 404, as if it were not
    /// there.
    pub async fn delete(&self, step: usize, ordinal: usize, key: ObjectKey) -> Write {
        let verb = WriteVerb::Delete;
        let Some(kind) = self.kinds.of(&key.group, &key.kind) else {
            return self.not_served(step, ordinal, verb, key);
        };
        let end = match self.uid(kind, &key).await {
            Ok(Some(uid)) => match self.may_go(kind, &key).await {
                Err(why) => End::NotOurs(why),
                Ok(version) => {
                    let again = matches!(self.own.get(&key), Some(Entry::Deleted { .. }));
                    let mut end = self.delete_one(kind, &key, &uid, version.as_deref()).await;
                    // What was deleted before, and not awaited, may have gone meanwhile.
                    if again && matches!(end, End::Answered(WriteOutcome::Refused { code: 404, .. })) {
                        end = End::Answered(admitted(&json!({})));
                    }
                    if let End::Answered(WriteOutcome::Admitted { .. }) = end {
                        self.own.put(key.clone(), Entry::Deleted { uid });
                    }
                    end
                }
            },
            Ok(None) => End::Answered(not_created()),
            Err(error) => End::Lost(error),
        };
        logged(step, ordinal, verb, kind, key, None, end)
    }

    /// Whether what the run created may be deleted: a definition only in the version that is returned, if nobody else has written it
    /// since, or made objects of its kind. Otherwise why it has to stay.
    async fn may_go(&self, kind: &Kind, key: &ObjectKey) -> Result<Option<String>, String> {
        let Some(Entry::Created { sent, .. }) = self.own.get(key).filter(|_| key.kind == DEFINITION) else {
            return Ok(None);
        };
        let run = sent["metadata"]["labels"][RUN_LABEL].as_str().unwrap_or_default();
        let unknown = |error| format!("nobody knows what else would go with it: {error}");
        let live = match self.api.get(&kind.object(key)).await {
            Err(error) if error.is_not_found() => return Ok(None),
            live => live.map_err(unknown)?,
        };
        if !definitions::is_ours_alone(&live) {
            return Err("somebody else has written it since the run created it".to_owned());
        }
        match definitions::other(&self.api, &live, run).await.map_err(unknown)? {
            Some(object) => Err(format!("{object} would go with it, and the run has not created that")),
            None => Ok(live.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned)),
        }
    }

    /// Deletion in the background of an object of an earlier run, as it was found: of a version alone, if one is given.
    pub async fn delete_found(&self, key: ObjectKey, uid: &str, version: Option<&str>) -> Write {
        let verb = WriteVerb::Delete;
        let Some(kind) = self.kinds.of(&key.group, &key.kind) else {
            return self.not_served(0, 0, verb, key);
        };
        let end = self.delete_one(kind, &key, uid, version).await;
        logged(0, 0, verb, kind, key, None, end)
    }

    async fn delete_one(&self, kind: &Kind, key: &ObjectKey, uid: &str, version: Option<&str>) -> End {
        let mut options = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": {"uid": uid},
        });
        if let Some(version) = version {
            options["preconditions"]["resourceVersion"] = json!(version);
        }
        let (verb, method) = (WriteVerb::Delete, Method::DELETE);
        let (path, content_type, body) = (kind.object(key), "application/json", options.to_string().into_bytes());
        self.attempt(&Call { verb, method, path, content_type, body, kind, key, creates: None, once: None }).await
    }
}
