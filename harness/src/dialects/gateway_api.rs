//! What data cannot say of Gateway API.

use serde_json::{Map, Value, json};

use super::{Dialect, Protocol};

/// What a Gateway of the pool is to be.
pub struct Entry<'e> {
    /// Its name.
    pub name: &'e str,
    /// Its namespace.
    pub namespace: &'e str,
    /// Its labels.
    pub labels: Map<String, Value>,
    /// Whose it is.
    pub class: &'e str,
    /// What its listener speaks.
    pub protocol: Protocol,
    /// The port of the listener.
    pub port: u16,
    /// The Secret with its certificate, if it needs one.
    pub secret: &'e str,
    /// The label of the namespaces from which it admits routes.
    pub admits: (&'e str, &'e str),
}

/// The manifest of a Gateway of the pool.
pub fn entry(dialect: &Dialect, entry: Entry<'_>) -> Value {
    let (protocol, tls) = match entry.protocol {
        Protocol::Http => ("HTTP", None),
        Protocol::Tcp => ("TCP", None),
        Protocol::Https => ("HTTPS", Some(json!({"mode": "Terminate", "certificateRefs": [{"name": entry.secret}]}))),
        Protocol::Tls => ("TLS", Some(json!({"mode": "Passthrough"}))),
    };
    let (label, value) = entry.admits;
    let mut listener = json!({
        "name": entry.protocol.listener(),
        "port": entry.port,
        "protocol": protocol,
        "allowedRoutes": {"namespaces": {"from": "Selector", "selector": {"matchLabels": {label: value}}}},
    });
    if let Some(tls) = tls {
        listener["tls"] = tls;
    }
    json!({
        "apiVersion": format!("{}/v1", dialect.group()),
        "kind": dialect.entry_kind(),
        "metadata": {"name": entry.name, "namespace": entry.namespace, "labels": entry.labels},
        "spec": {"gatewayClassName": entry.class, "listeners": [listener]},
    })
}
