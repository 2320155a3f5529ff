//! From a probe of the manifest to bytes for an address: the address and port are the Gateway's own.

use std::collections::BTreeMap;
use std::net::IpAddr;

use indexmap::IndexMap;
use serde_json::Value;

use super::conditions::array;
use super::env::Env;
use super::grpc;
use super::history::{Latest, Version};
use crate::dialects::{Dialect, Protocol};
use crate::log::{Hello, HttpRequest, ProbeRequest, Role};
use crate::scenario::{Answer, ObjectRef, Probe, Share};

/// Why a probe cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestError {
    /// May come yet.
    #[error("{0} has no usable address in its status")]
    NoAddress(String),
    /// May come yet.
    #[error("the watch has not shown {0}")]
    NotSeen(String),
    /// Will never come: the manifest or the shape of the Gateway is at fault.
    #[error("{0}")]
    NoListener(String),
}

/// What a contrast has of its own.
#[derive(Debug, Clone)]
pub(super) struct Other {
    /// The hostname that it asks for.
    pub(super) host: String,
    /// Whether that is its server name too, over TLS.
    pub(super) is_server_name: bool,
}

/// The request for a probe, or for its contrast, by what is known of the Gateway now.
pub(super) fn build(probe: &Probe, other: Option<&Other>, env: &Env<'_>) -> Result<ProbeRequest, RequestError> {
    let host = other.map(|other| other.host.as_str());
    let gateway = &probe.target.gateway;
    let name = env.label(gateway);
    let object = match env.history.latest(gateway) {
        Latest::Current(version) | Latest::Behind { seen: version, .. } => &version.object,
        // What a deleted Gateway leaves on its data path is asked at the address that it had.
        Latest::Gone => match env.history.versions(gateway).last() {
            Some(version) => &version.object,
            None => return Err(RequestError::NotSeen(name)),
        },
        Latest::Unknown => return Err(RequestError::NotSeen(name)),
    };
    let dialect = &env.scenario.dialect;
    let ports = dialect.entries().map(|entries| &entries.ports).filter(|ports| !ports.is_empty());
    let port = match dialect.entries().and_then(|entries| entries.port.as_deref()) {
        Some(place) => port_at(object, place, &name)?,
        None if ports.is_some() => ports.and_then(|ports| fixed_port(probe, ports)).ok_or_else(|| {
            RequestError::NoListener(format!("the dialect `{}` names no port for that", dialect.name()))
        })?,
        None => match &probe.target.of {
            None => port_that_was(probe, gateway, object, env)?,
            Some(of) => match env.history.latest(of) {
                Latest::Current(version) | Latest::Behind { seen: version, .. } => {
                    port_that_was(probe, of, &version.object, env)?
                }
                // What it leaves on the data path is asked at the port that it had.
                Latest::Gone | Latest::Unknown => match env.history.versions(of).last() {
                    Some(version) => port_that_was(probe, of, &version.object, env)?,
                    None => return Err(RequestError::NotSeen(env.label(of))),
                },
            },
        },
    };
    // So is one that is not meant to be programmed, and says nothing of an address any more.
    let had =
        || env.history.versions(gateway).iter().rev().find_map(|version| usable_address(dialect, &version.object));
    let address = usable_address(dialect, object).or_else(|| probe.unprogrammed.then(had).flatten());
    let address = address.ok_or(RequestError::NoAddress(name))?;
    // Sessions and connections of a name are those of one scenario.
    let own = |name: &String| format!("{}/{name}", env.bindings.token);
    // A contrast must not come in the way of what goes on from probe to probe.
    let session = || probe.session.as_ref().filter(|_| host.is_none()).map(own);
    let Some(method) = &probe.method else {
        let (send, listens) = (probe.path.clone(), probe.listens);
        if probe.datagrams {
            let single = matches!(&probe.answer, Answer::Shares { parts, .. } if parts.iter().any(|(share, _)| *share == Share::NoAnswer));
            let (host, behind, flows) = (address.to_owned(), probe.body.clone(), probe.flows);
            return Ok(ProbeRequest::Udp { host, port, send, behind, empty: probe.empty, single, flows });
        }
        let tls = probe.tls.then(|| Hello {
            server_name: probe.host.clone(),
            alpn: probe.alpn.clone(),
            in_two: probe.in_two,
            two_records: probe.two_records,
            trusts: probe.answer.trusted().map(str::to_owned),
            version: probe.tls_version,
            session: session(),
        });
        return Ok(ProbeRequest::Tcp {
            host: address.to_owned(),
            port,
            send,
            behind: probe.body.clone(),
            listens,
            half_close: probe.half_close,
            idle: probe.idle,
            tls,
        });
    };
    let own_host = probe.host.as_deref().unwrap_or(address);
    Ok(ProbeRequest::from(HttpRequest {
        host: address.to_owned(),
        port,
        http2: probe.http2,
        tls_server_name: probe.tls.then(|| {
            let other = other.filter(|other| other.is_server_name).map(|other| other.host.as_str());
            without_port(other.unwrap_or(own_host)).to_owned()
        }),
        alpn: probe.alpn.clone(),
        trusts: probe.answer.trusted().map(str::to_owned),
        without: probe.without.clone(),
        tls_version: probe.tls_version,
        session: session(),
        client: probe.client.clone(),
        method: method.clone(),
        target: probe.path.clone(),
        absolute: probe.absolute,
        host_header: probe.host_header,
        authority: host.unwrap_or(own_host).to_owned(),
        headers: if probe.grpc { call(lines(&probe.headers)) } else { lines(&probe.headers) },
        trailers: lines(&probe.trailers),
        messages: probe.messages.clone().filter(|_| host.is_none()),
        body: probe.body.clone(),
        sends: probe.sends.clone(),
        among: if host.is_none() { probe.among.clone() } else { Vec::new() },
        connection: probe.over.as_ref().filter(|_| host.is_none()).map(own),
    }))
}

/// What a call says of itself, and its metadata.
fn call(metadata: Vec<(String, String)>) -> Vec<(String, String)> {
    let own = [grpc::CONTENT_TYPE, ("te", "trailers")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.into_iter().chain(metadata).collect()
}

fn lines(fields: &IndexMap<String, Vec<String>>) -> Vec<(String, String)> {
    let of = |(name, values): (&String, &Vec<String>)| {
        values.iter().map(|value| (name.clone(), value.clone())).collect::<Vec<_>>()
    };
    fields.iter().flat_map(of).collect()
}

/// A hostname, or the authority of a request, without its port.
pub(super) fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

/// The first address of a type that can be dialed, and that names one host.
fn usable_address<'o>(dialect: &Dialect, object: &'o Value) -> Option<&'o str> {
    let addresses = &dialect.entries()?.addresses;
    addresses.list(object).iter().find_map(|address| {
        let value = addresses.value(address)?;
        let is_one_host = |ip: IpAddr| !ip.is_unspecified();
        let usable = match &addresses.type_ {
            Some(field) => match address.get(field).and_then(Value::as_str).unwrap_or("IPAddress") {
                "IPAddress" => value.parse().is_ok_and(is_one_host),
                "Hostname" => !value.is_empty(),
                _ => false,
            },
            None => !value.is_empty() && value.parse().ok().is_none_or(is_one_host),
        };
        usable.then_some(value)
    })
}

/// The port of what the probe speaks, where all entries have the same.
fn fixed_port(probe: &Probe, ports: &BTreeMap<Protocol, u16>) -> Option<u16> {
    let protocol = match (&probe.method, probe.tls) {
        (None, _) if probe.datagrams => Protocol::Udp,
        (None, true) => Protocol::Tls,
        (None, false) => Protocol::Tcp,
        (Some(_), true) => Protocol::Https,
        (Some(_), false) => Protocol::Http,
    };
    ports.get(&protocol).copied()
}

fn port_at(object: &Value, place: &str, name: &str) -> Result<u16, RequestError> {
    let port = object.pointer(place).and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    port.ok_or_else(|| RequestError::NoListener(format!("{name} has no port at {place}")))
}

/// The port of a listener. What one that was taken off leaves on the data path is asked at the port that it had.
fn port_that_was(probe: &Probe, of: &ObjectRef, object: &Value, env: &Env<'_>) -> Result<u16, RequestError> {
    let name = env.label(of);
    let had = |version: &Version| listener_port(probe, &version.object, &name).ok();
    listener_port(probe, object, &name).or_else(|error| match probe.target.listener {
        Some(_) => env.history.versions(of).iter().rev().find_map(had).ok_or(error),
        None => Err(error),
    })
}

fn listener_port(probe: &Probe, object: &Value, name: &str) -> Result<u16, RequestError> {
    let protocols: &[&str] = match (&probe.method, probe.tls) {
        (None, _) if probe.datagrams => &["UDP"],
        (None, true) => &["TLS"],
        (None, false) => &["TCP"],
        (Some(_), true) => &["HTTPS", "TLS"],
        (Some(_), false) => &["HTTP"],
    };
    let text = |listener: &Value, field: &str| listener.get(field).and_then(Value::as_str).map(str::to_owned);
    let listener = array(object.pointer("/spec/listeners")).iter().find(|listener| match &probe.target.listener {
        Some(wanted) => text(listener, "name").as_deref() == Some(wanted.as_str()),
        None => text(listener, "protocol").is_some_and(|p| protocols.contains(&p.as_str())),
    });
    let port = listener.and_then(|l| l.get("port")).and_then(Value::as_u64).and_then(|p| u16::try_from(p).ok());
    port.ok_or_else(|| {
        RequestError::NoListener(match &probe.target.listener {
            Some(wanted) => format!("{name} has no listener {wanted}"),
            None => format!("{name} has no listener for {}", protocols.join(" or ")),
        })
    })
}

/// The id of an attempt, unique within the run.
pub(super) fn request_id(env: &Env<'_>, role: Role, attempt: u32) -> String {
    let role = match role {
        Role::Main => "",
        Role::Contrast => "c",
        Role::Reach => "r",
    };
    format!("{}-{}-{role}{attempt}", env.bindings.token, env.step.index)
}
