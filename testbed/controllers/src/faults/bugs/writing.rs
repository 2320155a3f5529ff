//! Statuses that are written for nothing.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde_json::Value;

use super::Bug;
use crate::{
    faults::{Fault, Seam, writer::Inner},
    runtime::seams::StatusWriterSeam,
    snapshot::Kind,
    status::StatusUpdate,
};

/// Between two needless writes. There may be dozens of policies, whose turns come one by one, and other statuses wait for them.
const PAUSE: Duration = Duration::from_millis(10);

/// Counts behind what it says itself of policies how often it said so, and leaves alone what others say.
struct Counts {
    inner: Inner,
    count: Mutex<u64>,
}

#[async_trait]
impl StatusWriterSeam for Counts {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.inner
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        if desired.kind != Kind::BackendTlsPolicy {
            return self.inner.merge(live, desired, now);
        }
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        let mut counted = desired.clone();
        for condition in counted.condition_lists().into_iter().flatten() {
            condition.message = format!("{} (reconciled {} times)", condition.message, *count);
        }
        self.inner.merge(live, &counted, now)
    }

    async fn before(&self, desired: &StatusUpdate) {
        self.inner.before(desired).await;
        if desired.kind == Kind::BackendTlsPolicy {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "never-stops-writing-policies",
        summary: "Rewrites the status of BackendTLSPolicies over and over although nothing has changed.",
        clauses: &["K8S-15"],
        seam: Seam::StatusWriter(|inner| Arc::new(Counts { inner, count: Mutex::default() })),
    },
    reported: &["traefik/traefik#12619", "traefik/traefik#12511"],
}];
