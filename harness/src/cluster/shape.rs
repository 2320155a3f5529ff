//! Shapes of pool Gateways: what a scenario asks for by name.

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::names::{self, POOL_LABEL};
use crate::dialects::Protocol;

/// A shape: `http`, `https`, `tls`, `tcp`, `udp`, or `http-8080` with a port of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// Protocol of the listener.
    pub protocol: Protocol,
    /// A port given by the shape, instead of the first permitted one.
    pub port: Option<u16>,
}

/// Not a shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Gateway shape; there are http, https, tls, tcp, udp, and each with a port such as http-8080")]
pub struct ShapeError(pub String);

impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Shape, ShapeError> {
        let (protocol, port) = Protocol::of_shape(text).ok_or_else(|| ShapeError(text.to_owned()))?;
        Ok(Shape { protocol, port })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}-{port}", self.protocol.listener()),
            None => f.write_str(self.protocol.listener()),
        }
    }
}

/// Ports that the target permits, by protocol name, in order of preference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(pub IndexMap<String, Vec<u16>>);

impl Default for Ports {
    fn default() -> Ports {
        let ports = [
            ("http", vec![80, 8080]),
            ("https", vec![443, 8443]),
            ("tcp", (9000..=9010).collect()),
            ("udp", (5300..=5310).collect()),
        ];
        Ports(ports.into_iter().map(|(name, ports)| (name.to_owned(), ports)).collect())
    }
}

/// Not a list of ports.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no ports; write it like http=80,8080 or tcp=9000-9010")]
pub struct PortsError(pub String);

impl Ports {
    /// Takes in one argument such as `tcp=9000-9010` or `http=80,8080`; it replaces the protocol's ports.
    pub fn set(&mut self, text: &str) -> Result<(), PortsError> {
        let wrong = || PortsError(text.to_owned());
        let (name, list) = text.split_once('=').ok_or_else(wrong)?;
        if !matches!(name, "http" | "https" | "tls" | "tcp" | "udp") {
            return Err(wrong());
        }
        let mut ports = Vec::new();
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first: u16 = first.parse().map_err(|_| wrong())?;
            let last: u16 = last.parse().map_err(|_| wrong())?;
            if first == 0 || last < first {
                return Err(wrong());
            }
            ports.extend(first..=last);
        }
        self.0.insert(name.to_owned(), ports);
        Ok(())
    }

    /// Permitted ports of a protocol. Those of HTTPS serve for TLS too, unless TLS has its own.
    pub fn of(&self, protocol: Protocol) -> &[u16] {
        let named = |name: &str| self.0.get(name).map(Vec::as_slice);
        match protocol {
            Protocol::Tls => named("tls").or_else(|| named("https")),
            other => named(other.listener()),
        }
        .unwrap_or_default()
    }

    /// Port aliases of manifests: `http` is the first one of HTTP, `http-2` the second, and so on.
    pub fn aliases(&self) -> IndexMap<String, u16> {
        let mut aliases = IndexMap::new();
        for (name, ports) in &self.0 {
            for (index, port) in ports.iter().enumerate() {
                let alias = if index == 0 { name.clone() } else { format!("{name}-{}", index + 1) };
                aliases.insert(alias, *port);
            }
        }
        aliases
    }
}

/// Name of the TLS Secret of a pool Gateway.
pub fn secret(gateway: &str) -> String {
    format!("{gateway}-certificate")
}

/// The TLS Secret of a pool Gateway: a self-signed certificate for every hostname of a run. Each has its own, so that what happens to
/// it concerns the scenarios on that Gateway alone.
pub fn certificate(run_id: &str, gateway: &str) -> Result<Value, rcgen::Error> {
    let mut labels = names::labels(run_id, None);
    labels.insert(POOL_LABEL.to_owned(), json!(gateway));
    let names = vec![format!("*.{}", names::DOMAIN), names::DOMAIN.to_owned()];
    let generated = rcgen::generate_simple_self_signed(names)?;
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": secret(gateway),
            "namespace": names::pool_namespace(run_id),
            "labels": labels,
        },
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": base64(generated.cert.pem()), "tls.key": base64(generated.signing_key.serialize_pem())},
    }))
}

fn base64(text: String) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("http", Protocol::Http, None)]
    #[case("http-8080", Protocol::Http, Some(8080))]
    #[case("tcp", Protocol::Tcp, None)]
    #[case("udp", Protocol::Udp, None)]
    fn shapes_are_read_and_written(#[case] text: &str, #[case] protocol: Protocol, #[case] port: Option<u16>) {
        let shape: Shape = text.parse().unwrap();
        assert_eq!(shape, Shape { protocol, port });
        assert_eq!(shape.to_string(), text);
    }

    #[rstest]
    #[case("htp")]
    #[case("http-")]
    #[case("http-99999")]
    fn other_shapes_are_errors(#[case] text: &str) {
        assert!(text.parse::<Shape>().is_err());
    }

    #[rstest]
    #[case("tcp=9000-9002", Protocol::Tcp, &[9000, 9001, 9002])]
    #[case("http=80,8080", Protocol::Http, &[80, 8080])]
    fn ports_are_lists_and_ranges(#[case] text: &str, #[case] protocol: Protocol, #[case] expected: &[u16]) {
        let mut ports = Ports::default();
        ports.set(text).unwrap();
        assert_eq!(ports.of(protocol), expected);
    }

    #[rstest]
    #[case("tcp")]
    #[case("tcp=9-8")]
    #[case("tcp=0")]
    #[case("sctp=1")]
    fn other_ports_are_errors(#[case] text: &str) {
        assert!(Ports::default().set(text).is_err());
    }

    #[test]
    fn further_ports_have_numbered_aliases() {
        let aliases = Ports::default().aliases();
        assert_eq!((aliases["http"], aliases["http-2"], aliases["tcp-3"]), (80, 8080, 9002));
    }

    #[test]
    fn the_certificate_is_a_tls_secret() {
        let secret = certificate("abc", "https-1").unwrap();
        assert_eq!(secret["type"], "kubernetes.io/tls");
        assert!(secret["data"]["tls.crt"].as_str().unwrap().len() > 100);
    }
}
