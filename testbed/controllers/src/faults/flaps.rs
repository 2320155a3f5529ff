//! Faults that come and go: what was right once does not stay so.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use gateproof_proxy::{
    body,
    config::RouteId,
    exchange::{Exchange, MatchOutcome, RequestHead},
    routing::Routing,
};
use http::{Response, StatusCode};
use serde_json::Value;

use super::{
    Fault, Seam,
    exchange::Body,
    tools::{is, parents, set},
};
use crate::{
    runtime::seams::StatusWriterSeam,
    snapshot::Kind,
    status::{StatusUpdate, Truth},
};

/// One in so many requests fails.
const ONE_IN: u64 = 10;

/// Fails requests over TLS now and then.
#[derive(Default)]
struct FailsNowAndThen(AtomicU64);

#[async_trait]
impl Exchange for FailsNowAndThen {
    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        if request.scheme == "https" && self.0.fetch_add(1, Ordering::Relaxed) % ONE_IN == ONE_IN - 1 {
            response.headers_mut().clear();
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            *response.body_mut() = body::empty();
        }
        Some(response)
    }
}

/// Fails the first request to a hostname after a while without any, as connections do that the other side has closed meanwhile.
#[derive(Default)]
struct FallsAsleep(Mutex<HashMap<String, Instant>>);

/// So long nobody may have asked.
const IDLE: Duration = Duration::from_secs(5);

#[async_trait]
impl Exchange for FallsAsleep {
    async fn on_response(&self, request: &RequestHead, mut response: Response<Body>) -> Option<Response<Body>> {
        let now = Instant::now();
        let host = request.host.clone();
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(host, now);
        if before.is_some_and(|before| now - before >= IDLE) {
            response.headers_mut().clear();
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            *response.body_mut() = body::empty();
        }
        Some(response)
    }
}

/// Serves every second fresh connection, by chance, by each rule as it was first. What comes over one later is served as it should be.
#[derive(Default)]
struct OneOfTwoNeverLearns {
    first: Mutex<HashMap<RouteId, MatchOutcome>>,
    served: Mutex<HashSet<u64>>,
}

fn goes_to_the_second(connection: u64) -> bool {
    let mut hasher = DefaultHasher::new();
    connection.hash(&mut hasher);
    hasher.finish().is_multiple_of(2)
}

#[async_trait]
impl Exchange for OneOfTwoNeverLearns {
    fn on_route(&self, request: &RequestHead, _: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let MatchOutcome::Rule { route, .. } = &found else { return found };
        let mut known = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let first = known.entry(route.rule.id.clone()).or_insert_with(|| found.clone()).clone();
        let is_fresh = self.served.lock().unwrap_or_else(PoisonError::into_inner).insert(request.connection.id);
        if is_fresh && goes_to_the_second(request.connection.id) { first } else { found }
    }
}

/// Says the opposite of what it said last of the references of TCPRoutes that resolve, as two controllers would that do not know of
/// each other.
struct Disputes(Arc<dyn StatusWriterSeam>);

/// Between two words.
const PAUSE: Duration = Duration::from_millis(60);

#[async_trait]
impl StatusWriterSeam for Disputes {
    fn within(&self) -> &dyn StatusWriterSeam {
        &*self.0
    }

    fn merge(&self, live: &Value, desired: &StatusUpdate, now: &str) -> Value {
        let mut desired = desired.clone();
        if desired.kind == Kind::TcpRoute && resolves(live) {
            for parent in parents(std::slice::from_mut(&mut desired)) {
                if is(&parent.conditions, "ResolvedRefs", Truth::True) {
                    set(&mut parent.conditions, "ResolvedRefs", Truth::False, "BackendNotFound");
                }
            }
        }
        self.0.merge(live, &desired, now)
    }

    async fn before(&self, desired: &StatusUpdate) {
        self.0.before(desired).await;
        if desired.kind == Kind::TcpRoute {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Whether a route says that its references resolve.
fn resolves(live: &Value) -> bool {
    let parents = live.pointer("/status/parents").and_then(Value::as_array).into_iter().flatten();
    let mut conditions = parents.filter_map(|parent| parent["conditions"].as_array()).flatten();
    conditions.any(|condition| condition["type"] == "ResolvedRefs" && condition["status"] == "True")
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "fails-one-request-in-ten",
        summary: "Answers one in ten requests over TLS by 503.",
        clauses: &["OWN-02"],
        seam: Seam::Exchange(|| Arc::new(FailsNowAndThen::default())),
    },
    Fault {
        name: "fails-first-request-after-idling",
        summary: "Answers the first request to a hostname by 503 if there was none for five seconds.",
        clauses: &["OWN-05"],
        seam: Seam::Exchange(|| Arc::new(FallsAsleep::default())),
    },
    Fault {
        name: "one-of-two-replicas-never-learns",
        summary: "Serves every second fresh connection, by chance, by each rule as it was first.",
        clauses: &["OWN-02", "blind:Generic.2", "GEP1364-49", "IMPL-42", "blind:HTTPRouteServiceTypes.1"],
        seam: Seam::Exchange(|| Arc::new(OneOfTwoNeverLearns::default())),
    },
    Fault {
        name: "flaps-resolved-refs",
        summary: "Says of the references of a TCPRoute that resolve by turns that they do and that they do not.",
        clauses: &["OWN-04", "blind:Generic.4"],
        seam: Seam::StatusWriter(|inner| Arc::new(Disputes(inner))),
    },
];
