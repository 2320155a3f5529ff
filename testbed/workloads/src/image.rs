//! What containers of known images serve.

use std::collections::BTreeMap;

use gateproof_echo::{CertificateError, Clients, Identity, Protocol, ServerTls, env};
use k8s_openapi::api::core::v1::Container;

use crate::volumes::Volumes;

/// An image that can be run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Image {
    /// The echo server of the Gateway API conformance suite.
    Echo,
    /// Our own echo.
    Own,
    /// A DNS server. It knows no name and refuses every query.
    Dns,
}

impl Image {
    /// The image of this name, whatever registry it comes from and whatever its tag, if it is a known one.
    pub(crate) fn parse(name: &str) -> Option<Image> {
        let name = name.split('@').next().unwrap_or_default();
        let last = name.rsplit('/').next().unwrap_or_default();
        match last.split(':').next().unwrap_or_default() {
            "echo-basic" => Some(Image::Echo),
            "gateproof" | "gateproof-echo" => Some(Image::Own),
            "coredns" => Some(Image::Dns),
            _ => None,
        }
    }
}

/// A port that a container serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
    /// What is shown there to who comes over TLS.
    pub(crate) certificate: Option<Certificate>,
}

impl Served {
    fn clear(port: u16, protocol: Protocol) -> Served {
        Served { port, protocol, certificate: None }
    }
}

/// A certificate, all of it in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    chain: String,
    key: String,
    /// The authorities by which certificates of clients are checked, if clients are asked for one.
    clients: Option<String>,
}

impl Certificate {
    /// What serves it.
    pub(crate) fn server(&self) -> Result<ServerTls, CertificateError> {
        ServerTls::asking(&self.chain, &self.key, self.clients.as_deref().map_or(Clients::All, Clients::OfOrNone))
    }
}

/// What a container is, told by its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) identity: Identity,
    pub(crate) serves: Vec<Served>,
    /// What opens the journal.
    pub(crate) run_token: Option<String>,
}

/// What a container of a Pod serves.
pub(crate) fn role(container: &Container, namespace: &str, pod: &str, volumes: &Volumes) -> Role {
    let variables = Variables { all: environment(container, namespace, pod), namespace, pod };
    let serves = match container.image.as_deref().and_then(Image::parse) {
        Some(Image::Own) => return own(&variables),
        Some(Image::Echo) => {
            // HTTP, and what is not, have different names for it.
            let keys = ["TLS_SERVER_PRIVKEY", "TLS_SERVER_PRIV_KEY"];
            let file = |name: &str| volumes.read(container, variables.text(name)).map(str::to_owned);
            let certificate = file("TLS_SERVER_CERT")
                .zip(keys.into_iter().find_map(file))
                .map(|(chain, key)| Certificate { chain, key, clients: file("TLS_CLIENT_CACERTS") });
            echo(&variables, certificate)
        }
        Some(Image::Dns) => vec![Served::clear(53, Protocol::Dns)],
        None => Vec::new(),
    };
    Role { identity: variables.identity(), serves, run_token: None }
}

/// What upstream's echo serves.
fn echo(variables: &Variables<'_>, certificate: Option<Certificate>) -> Vec<Served> {
    let (ports, secured) = if variables.is_set("GRPC_ECHO_SERVER") {
        (vec![("HTTP_PORT", 3000, Protocol::Grpc)], Some(("HTTPS_PORT", Protocol::Grpc)))
    } else if variables.is_set("TCP_ECHO_SERVER") {
        (vec![("TCP_PORT", 3000, Protocol::Dialogue)], Some(("TLS_PORT", Protocol::Dialogue)))
    } else if variables.is_set("UDP_ECHO_SERVER") {
        (vec![("UDP_PORT", 8080, Protocol::Quoting)], None)
    } else {
        let both = vec![("HTTP_PORT", 3000, Protocol::Http), ("H2C_PORT", 3001, Protocol::H2c)];
        (both, Some(("HTTPS_PORT", Protocol::Https)))
    };
    let clear = ports.into_iter().filter_map(|(variable, default, protocol)| {
        variables.port(variable, default).map(|port| Served::clear(port, protocol))
    });
    let secured = secured.zip(certificate).and_then(|((variable, protocol), certificate)| {
        let port = variables.port(variable, 8443)?;
        Some(Served { port, protocol, certificate: Some(certificate) })
    });
    clear.chain(secured).collect()
}

/// The environment of a container.
struct Variables<'a> {
    all: BTreeMap<String, String>,
    namespace: &'a str,
    pod: &'a str,
}

impl Variables<'_> {
    fn text(&self, name: &str) -> &str {
        self.all.get(name).map(String::as_str).unwrap_or_default()
    }

    fn is_set(&self, name: &str) -> bool {
        !self.text(name).is_empty()
    }

    fn port(&self, variable: &str, default: u16) -> Option<u16> {
        if !self.is_set(variable) {
            return Some(default);
        }
        let port = self.text(variable).parse();
        let Variables { namespace, pod, .. } = self;
        port.inspect_err(
            |error| tracing::warn!(namespace, pod, variable, %error, "a container has a port that is none"),
        )
        .ok()
    }

    fn identity(&self) -> Identity {
        let text = |name: &str| self.text(name).to_owned();
        Identity {
            namespace: text("NAMESPACE"),
            ingress: text("INGRESS_NAME"),
            service: text("SERVICE_NAME"),
            pod: text("POD_NAME"),
        }
    }
}

/// What our own echo serves, by its own reading of the environment.
fn own(variables: &Variables<'_>) -> Role {
    let Variables { namespace, pod, .. } = variables;
    let all = env::all_options(|name| variables.all.get(name).cloned()).unwrap_or_else(|error| {
        tracing::warn!(namespace, pod, %error, "a container would not start");
        Vec::new()
    });
    let serves = all.iter().map(|one| Served::clear(one.bind.port(), one.protocol)).collect();
    let first = all.into_iter().next();
    Role {
        run_token: first.as_ref().and_then(|one| one.run_token.clone()),
        identity: first.map(|one| one.identity).unwrap_or_default(),
        serves,
    }
}

/// The environment of a container: values, and what the downward API tells of the Pod's name and namespace.
fn environment(container: &Container, namespace: &str, pod: &str) -> BTreeMap<String, String> {
    let variables = container.env.iter().flatten().filter_map(|variable| {
        let value = match &variable.value_from {
            None => variable.value.clone().unwrap_or_default(),
            Some(source) => match source.field_ref.as_ref()?.field_path.as_str() {
                "metadata.name" => pod.to_owned(),
                "metadata.namespace" => namespace.to_owned(),
                "spec.nodeName" => crate::NODE.to_owned(),
                _ => return None,
            },
        };
        Some((variable.name.clone(), value))
    });
    variables.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("registry.k8s.io/gateway-api/echo-basic:v1.5.1", Some(Image::Echo))]
    #[case("localhost:5000/echo-basic@sha256:00", Some(Image::Echo))]
    #[case("echo-basic", Some(Image::Echo))]
    #[case("example.com/gateproof-echo:v1", Some(Image::Own))]
    #[case("registry.k8s.io/coredns/coredns:v1.12.2", Some(Image::Dns))]
    #[case("registry.k8s.io/gateway-api/echo-basic-plus:v1", None)]
    #[case("echo-basic/other:v1", None)]
    #[case("", None)]
    fn images(#[case] name: &str, #[case] expected: Option<Image>) {
        assert_eq!(Image::parse(name), expected);
    }

    const SECURED: &[(&str, &str)] = &[("TLS_SERVER_CERT", "/v/chain"), ("TLS_SERVER_PRIVKEY", "/v/key")];
    const SECURED_CALLS: &[(&str, &str)] =
        &[("TLS_SERVER_CERT", "/v/chain"), ("TLS_SERVER_PRIV_KEY", "/v/key"), ("GRPC_ECHO_SERVER", "1")];
    const SECURED_STREAMS: &[(&str, &str)] =
        &[("TLS_SERVER_CERT", "/v/chain"), ("TLS_SERVER_PRIV_KEY", "/v/key"), ("TCP_ECHO_SERVER", "1")];

    fn volumes() -> Volumes {
        let file = |path: &str| (path.to_owned(), format!("the {path}"));
        Volumes(BTreeMap::from([("v".to_owned(), BTreeMap::from(["chain", "key"].map(file)))]))
    }

    #[rstest]
    #[case::http("echo-basic", &[], &[(3000, Protocol::Http), (3001, Protocol::H2c)])]
    #[case::other_ports("echo-basic", &[("HTTP_PORT", "80"), ("H2C_PORT", "81")], &[(80, Protocol::Http), (81, Protocol::H2c)])]
    #[case::bad_port("echo-basic", &[("HTTP_PORT", "http")], &[(3001, Protocol::H2c)])]
    #[case::tcp("echo-basic", &[("TCP_ECHO_SERVER", "1")], &[(3000, Protocol::Dialogue)])]
    #[case::grpc("echo-basic", &[("GRPC_ECHO_SERVER", "1")], &[(3000, Protocol::Grpc)])]
    #[case::udp("echo-basic", &[("UDP_ECHO_SERVER", "1")], &[(8080, Protocol::Quoting)])]
    #[case::https("echo-basic", SECURED, &[(3000, Protocol::Http), (3001, Protocol::H2c), (8443, Protocol::Https)])]
    #[case::calls_and_tls("echo-basic", SECURED_CALLS, &[(3000, Protocol::Grpc), (8443, Protocol::Grpc)])]
    #[case::tcp_and_tls("echo-basic", SECURED_STREAMS, &[(3000, Protocol::Dialogue), (8443, Protocol::Dialogue)])]
    #[case::own("gateproof-echo", &[("TCP_ECHO_SERVER", "1"), ("JOURNAL_PORT", "9080")], &[(3000, Protocol::Tcp), (9080, Protocol::Http)])]
    #[case::own_with_bad_port("gateproof-echo", &[("HTTP_PORT", "http")], &[])]
    #[case::dns("coredns", &[], &[(53, Protocol::Dns)])]
    fn roles(#[case] image: &str, #[case] variables: &[(&str, &str)], #[case] expected: &[(u16, Protocol)]) {
        let env: Vec<_> = variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let container = serde_json::from_value(
            json!({"name": "c", "image": image, "env": env, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}),
        )
        .unwrap();
        let serves = role(&container, "ns", "pod", &volumes()).serves;
        assert_eq!(serves.iter().map(|one| (one.port, one.protocol)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_downward_api_tells_who_the_pod_is() {
        let from = |path: &str| json!({"fieldRef": {"fieldPath": path}});
        let container = serde_json::from_value(json!({"name": "c", "image": "echo-basic", "env": [
            {"name": "POD_NAME", "valueFrom": from("metadata.name")},
            {"name": "NAMESPACE", "valueFrom": from("metadata.namespace")},
            {"name": "SERVICE_NAME", "value": "svc"},
            {"name": "INGRESS_NAME", "valueFrom": from("metadata.uid")},
        ]}))
        .unwrap();
        let Identity { namespace, ingress, service, pod } =
            role(&container, "ns", "pod-1", &Volumes::default()).identity;
        assert_eq!([namespace, ingress, service, pod], ["ns", "", "svc", "pod-1"]);
    }
}
