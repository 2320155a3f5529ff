//! Removes what a run created: each scenario's objects after its verdict, the pool at the end. Deletions overlap with
//! scenarios that still run, and are awaited before the run ends.

use std::sync::Arc;
use std::time::Duration;

use crate::log::{ObjectKey, WriteOutcome};
use crate::target::api::Api;
use crate::target::clean::{Leftover, diagnose};
use crate::target::pool::describe;
use crate::target::view::View;
use crate::target::write::Writer;

/// Removes objects and waits until the observer saw them go.
#[derive(Clone)]
pub struct Tidy {
    /// The target, for diagnoses.
    pub api: Api,
    /// Deletes.
    pub writer: Writer,
    /// Tells when they are gone.
    pub view: Arc<View>,
    /// How long to wait.
    pub budget: Duration,
}

impl Tidy {
    /// The key of a namespace.
    pub fn namespace(name: &str) -> ObjectKey {
        ObjectKey { group: String::new(), kind: "Namespace".to_owned(), namespace: None, name: name.to_owned() }
    }

    /// Deletes objects and waits until they are gone. Returns those that are not, with what holds them.
    pub async fn remove(&self, keys: Vec<ObjectKey>) -> Vec<Leftover> {
        let mut leftovers = Vec::new();
        let deletions = keys.iter().map(|key| self.writer.delete(0, 0, key.clone()));
        let mut awaited = Vec::new();
        for write in futures::future::join_all(deletions).await {
            match write.outcome {
                WriteOutcome::Admitted { .. } => awaited.push(write.key),
                WriteOutcome::Refused { code: 404, .. } => {}
                outcome => {
                    leftovers.push(Leftover { object: write.key.to_string(), diagnosis: describe(&outcome) });
                }
            }
        }
        let gone = self.view.until(|live| awaited.iter().all(|key| !live.contains_key(key)));
        if tokio::time::timeout(self.budget, gone).await.is_err() {
            for key in awaited {
                if let Some(object) = self.view.get(&key) {
                    let diagnosis = diagnose(&self.api, self.writer.kinds(), &object).await;
                    leftovers.push(Leftover { object: key.to_string(), diagnosis });
                }
            }
        }
        leftovers
    }
}
