//! The pool: Gateways that scenarios share, and those that one scenario at a time has for itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::clock;
use super::log_writer::LogWriter;
use super::names::{self, POOL_LABEL, RUN_LABEL, pool_namespace};
use super::shape::{Ports, Shape, certificate, secret};
use super::view::{Live, View};
use super::write::Writer;
use crate::dialects::{Dialect, Entry, Protocol};
use crate::log::{Body, ObjectKey, Scope, WriteOutcome};

/// So many scenarios that need a Gateway for themselves take turns on one: each may cost a machine of its own.
const ONE_BEHIND_THE_OTHER: usize = 4;

/// A pool Gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its name, and its scope in the log.
    pub name: Arc<str>,
    /// Its shape.
    pub shape: Shape,
    /// Its listener's port.
    pub port: u16,
    /// Whether one scenario at a time has it for itself.
    pub exclusive: bool,
    /// The addresses of its status, once known; they and the port are its lanes.
    pub addresses: Vec<String>,
}

/// Why the pool cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// A write was not taken.
    #[error("cannot create pool object {object}: {outcome}")]
    Write {
        /// Which object.
        object: String,
        /// What came of it.
        outcome: String,
    },
    /// No port.
    #[error("no port is permitted for entries of shape {0}; name some with --ports")]
    NoPort(Shape),
    /// No manifest.
    #[error("the dialect has no manifest for entries of shape {0}")]
    NoManifest(Shape),
    /// No certificate.
    #[error("cannot generate the pool's certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

/// How many Gateways of each shape a run needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// Scenarios that share one.
    pub shared: usize,
    /// Scenarios that need one for themselves while others run.
    pub exclusive: usize,
    /// The most that one scenario needs at once for itself.
    pub at_once: usize,
}

/// The Gateways that satisfy a demand: one shared by all who share, and up to `limit` of each shape for those who don't,
/// layer 4 ones each on a port of its own.
pub fn layout(demand: &BTreeMap<Shape, Demand>, ports: &Ports, limit: usize) -> Result<Vec<Instance>, PoolError> {
    let mut instances = Vec::new();
    for (shape, demand) in demand {
        let permitted: Vec<u16> = shape.port.map_or_else(|| ports.of(shape.protocol).to_vec(), |port| vec![port]);
        let Some(first) = permitted.first().copied() else { return Err(PoolError::NoPort(*shape)) };
        let instance = |name: String, port: u16, exclusive: bool| Instance {
            name: Arc::from(name),
            shape: *shape,
            port,
            exclusive,
            addresses: Vec::new(),
        };
        let layer_4 = shape.protocol.is_layer_4();
        if demand.shared > 0 && !layer_4 {
            instances.push(instance(shape.to_string(), first, false));
        }
        // What one has to itself the next one takes behind it. Layer 4 scenarios differ by their ports: a few of them need not wait.
        let alone = if layer_4 { demand.shared + demand.exclusive } else { demand.exclusive };
        let unshared = if layer_4 { alone.min(ONE_BEHIND_THE_OTHER) } else { 0 };
        let alone = alone.div_ceil(ONE_BEHIND_THE_OTHER).max(unshared);
        let most = if layer_4 { limit.min(permitted.len()) } else { limit };
        for index in 0..alone.min(most.max(1)).max(demand.at_once) {
            let port = if layer_4 { permitted[index % permitted.len()] } else { first };
            instances.push(instance(format!("{shape}-own-{index}"), port, true));
        }
    }
    Ok(instances)
}

/// Creates the run's own namespace, in which the pool lives.
///
/// # Errors
/// If it is not taken.
pub async fn open(
    writer: &Writer,
    log: &LogWriter,
    run_id: &str,
    namespace_labels: &[(String, String)],
) -> Result<(), PoolError> {
    apply(writer, log, Scope::Run, &namespace(run_id, None, &pool_namespace(run_id), namespace_labels)).await
}

/// Creates the pool's Gateways.
///
/// # Errors
/// If one of them is not taken, or not the certificate that they need.
pub async fn create(
    writer: &Writer,
    log: &LogWriter,
    run_id: &str,
    class: &str,
    instances: &[Instance],
) -> Result<(), PoolError> {
    let gateways = instances.iter().map(|instance| async move {
        let scope = || Scope::Pool(Arc::clone(&instance.name));
        if instance.shape.protocol == Protocol::Https {
            apply(writer, log, scope(), &certificate(run_id, &instance.name)?).await?;
        }
        let mut labels = names::labels(run_id, None);
        labels.insert(POOL_LABEL.to_owned(), Value::from(&*instance.name));
        let entry = Entry {
            name: &instance.name,
            namespace: &pool_namespace(run_id),
            labels,
            class,
            protocol: instance.shape.protocol,
            port: instance.port,
            secret: &secret(&instance.name),
            admits: (RUN_LABEL, run_id),
        };
        let entries = writer.kinds().dialect().entries();
        let manifest =
            entries.and_then(|entries| entries.manifest(entry)).ok_or(PoolError::NoManifest(instance.shape))?;
        apply(writer, log, scope(), &manifest).await
    });
    futures::future::try_join_all(gateways).await?;
    Ok(())
}

/// The manifest of a namespace of the run or of a scenario.
pub fn namespace(run_id: &str, token: Option<&str>, name: &str, extra: &[(String, String)]) -> Value {
    let mut labels = names::labels(run_id, token);
    for (key, value) in extra {
        labels.insert(key.clone(), Value::String(value.clone()));
    }
    serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

async fn apply(writer: &Writer, log: &LogWriter, scope: Scope, object: &Value) -> Result<(), PoolError> {
    let written = writer.apply(0, 0, object).await;
    log.append(scope, Body::Made(Box::new(written.clone())));
    match written.outcome {
        WriteOutcome::Admitted { .. } => Ok(()),
        outcome => Err(PoolError::Write { object: written.key.to_string(), outcome: describe(&outcome) }),
    }
}

/// What a write came to, in words.
pub fn describe(outcome: &WriteOutcome) -> String {
    match outcome {
        WriteOutcome::Admitted { .. } => "taken".to_owned(),
        WriteOutcome::Refused { code, reason, message, .. } => format!("refused with {code} {reason}: {message}"),
        WriteOutcome::Failed { error } => error.clone(),
    }
}

/// The key of a pool Gateway.
pub fn key(dialect: &Dialect, run_id: &str, name: &str) -> ObjectKey {
    ObjectKey {
        group: dialect.group_of(dialect.entry_kind()).to_owned(),
        kind: dialect.entry_kind().to_owned(),
        namespace: Some(pool_namespace(run_id)),
        name: name.to_owned(),
    }
}

/// Waits until every Gateway is programmed and has an address, and notes the addresses. They may come one after the other, so the budget
/// is how long none more may come. Gateways that are late are not an error here: the scenarios on them will say so. Gives how long the
/// first and the last of those took that came.
pub async fn await_programmed(
    view: &View,
    dialect: &Dialect,
    run_id: &str,
    instances: &mut [Instance],
    budget: Duration,
) -> (Duration, Duration) {
    let keys: Vec<ObjectKey> = instances.iter().map(|instance| key(dialect, run_id, &instance.name)).collect();
    let began = clock::now();
    let programmed =
        |live: &Live| keys.iter().filter(|key| live.get(key).is_some_and(|one| is_programmed(dialect, one))).count();
    let (mut there, mut first, mut last) = (0, None, Duration::ZERO);
    while there < keys.len() {
        if tokio::time::timeout(budget, view.until(|live| programmed(live) > there)).await.is_err() {
            let (several, says) = (dialect.entries_in_words(), dialect.ready());
            tracing::warn!("some {several} of the pool do not say {says}=True after {budget:?}");
            break;
        }
        // One may have turned back meanwhile.
        view.look(|live| there = programmed(live).max(there + 1));
        last = clock::now() - began;
        first.get_or_insert(last);
    }
    for (instance, key) in instances.iter_mut().zip(&keys) {
        instance.addresses = view.get(key).map(|object| addresses(dialect, &object)).unwrap_or_default();
    }
    (first.unwrap_or_default(), last)
}

/// Whether a Gateway is programmed and has an address.
pub fn is_programmed(dialect: &Dialect, gateway: &Value) -> bool {
    let conditions = gateway.pointer("/status/conditions").and_then(Value::as_array);
    let programmed = conditions.into_iter().flatten().any(|condition| {
        condition.get("type").and_then(Value::as_str) == Some(dialect.ready())
            && condition.get("status").and_then(Value::as_str) == Some("True")
    });
    programmed && !addresses(dialect, gateway).is_empty()
}

fn addresses(dialect: &Dialect, gateway: &Value) -> Vec<String> {
    let Some(entries) = dialect.entries() else { return Vec::new() };
    let mut addresses: Vec<String> = entries.addresses.of(gateway).map(str::to_owned).collect();
    addresses.sort();
    addresses
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    fn names(demand: &[(&str, usize, usize)], limit: usize) -> Vec<(String, u16)> {
        let demand = demand
            .iter()
            .map(|(shape, shared, exclusive)| {
                (shape.parse().unwrap(), Demand { shared: *shared, exclusive: *exclusive, at_once: 0 })
            })
            .collect();
        let layout = layout(&demand, &Ports::default(), limit).unwrap();
        layout.into_iter().map(|instance| (instance.name.to_string(), instance.port)).collect()
    }

    #[test]
    fn one_gateway_is_shared_and_some_are_not() {
        let expected = [("http", 80), ("http-own-0", 80), ("http-own-1", 80)];
        assert_eq!(names(&[("http", 100, 5)], 2), expected.map(|(name, port)| (name.to_owned(), port)));
        assert_eq!(names(&[("http", 0, 12)], 8).len(), 3);
        assert_eq!(names(&[("http-8080", 1, 0)], 2), [("http-8080".to_owned(), 8080)]);
        assert_eq!(names(&[("http", 0, 0)], 2), []);
        assert_eq!(names(&[("http", 0, 5)], 0).len(), 1, "whoever needs one has one");
    }

    #[test]
    fn whoever_needs_several_at_once_gets_them() {
        let demand = Demand { shared: 0, exclusive: 3, at_once: 3 };
        let demand = BTreeMap::from([("http".parse().unwrap(), demand)]);
        assert_eq!(layout(&demand, &Ports::default(), 2).unwrap().len(), 3);
    }

    #[test]
    fn layer_4_scenarios_have_ports_of_their_own() {
        let expected = [("tcp-own-0", 9000), ("tcp-own-1", 9001), ("tcp-own-2", 9002)];
        assert_eq!(names(&[("tcp", 3, 0)], 8), expected.map(|(name, port)| (name.to_owned(), port)));
        assert_eq!(names(&[("tcp", 60, 0)], 80).len(), 11);
        assert_eq!(names(&[("tcp", 10, 10)], 8).len(), 5, "whether they say that they need one alone or not");
    }

    #[rstest]
    #[case::a_few(3, 3)]
    #[case::as_many_as_take_turns(4, 4)]
    #[case::more(9, 4)]
    #[case::many(27, 7)]
    #[case::more_than_there_may_be(60, 8)]
    fn many_layer_4_scenarios_take_turns(#[case] scenarios: usize, #[case] gateways: usize) {
        assert_eq!(names(&[("udp", 0, scenarios)], 8).len(), gateways);
    }

    #[test]
    fn a_gateway_is_ready_with_condition_and_address() {
        let gateway = |status: &str, addresses: Value| {
            serde_json::json!({"status": {
                "conditions": [{"type": "Programmed", "status": status}], "addresses": addresses,
            }})
        };
        let address = serde_json::json!([{"type": "IPAddress", "value": "127.0.1.1"}]);
        let dialect = Dialect::gateway_api();
        assert!(is_programmed(&dialect, &gateway("True", address.clone())));
        assert!(!is_programmed(&dialect, &gateway("False", address)));
        assert!(!is_programmed(&dialect, &gateway("True", serde_json::json!([]))));
    }
}
