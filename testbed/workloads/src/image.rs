//! What containers of known images serve.

use std::collections::BTreeMap;

use gateproof_echo::{Identity, Protocol, env};
use k8s_openapi::api::core::v1::Container;

/// An image that can be run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Image {
    /// The echo server of the Gateway API conformance suite.
    Echo,
    /// Our own echo.
    Own,
    /// One that runs and answers nobody: its Pods are ready, and that is all that is asked of them.
    Silent,
}

impl Image {
    /// The image of this name, whatever registry it comes from and whatever its tag, if it is a known one.
    pub(crate) fn parse(name: &str) -> Option<Image> {
        let name = name.split('@').next().unwrap_or_default();
        let last = name.rsplit('/').next().unwrap_or_default();
        match last.split(':').next().unwrap_or_default() {
            "echo-basic" => Some(Image::Echo),
            "gateproof" | "gateproof-echo" => Some(Image::Own),
            "coredns" => Some(Image::Silent),
            _ => None,
        }
    }
}

/// A port that a container serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
}

/// What a container is, told by its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) identity: Identity,
    pub(crate) serves: Vec<Served>,
    /// What opens the journal.
    pub(crate) run_token: Option<String>,
}

/// What a container of a Pod serves; nothing if its image is silent. UDP and TLS are not served.
pub(crate) fn role(container: &Container, namespace: &str, pod: &str) -> Role {
    let variables = environment(container, namespace, pod);
    let text = |name: &str| variables.get(name).cloned().unwrap_or_default();
    let is_set = |name: &str| variables.get(name).is_some_and(|value| !value.is_empty());
    let identity = Identity {
        namespace: text("NAMESPACE"),
        ingress: text("INGRESS_NAME"),
        service: text("SERVICE_NAME"),
        pod: text("POD_NAME"),
    };
    let served = |variable: &str, default: u16, protocol: Protocol| {
        let port = variables.get(variable).filter(|text| !text.is_empty()).map_or(Ok(default), |text| text.parse());
        match port {
            Ok(port) => Some(Served { port, protocol }),
            Err(error) => {
                tracing::warn!(namespace, pod, variable, %error, "a container has a port that is none");
                None
            }
        }
    };
    let image = container.image.as_deref().and_then(Image::parse);
    if image == Some(Image::Own) {
        return own(&variables, namespace, pod);
    }
    let serves = if image != Some(Image::Echo) || is_set("UDP_ECHO_SERVER") {
        Vec::new()
    } else if is_set("GRPC_ECHO_SERVER") {
        Vec::from_iter(served("HTTP_PORT", 3000, Protocol::Grpc))
    } else if is_set("TCP_ECHO_SERVER") {
        Vec::from_iter(served("TCP_PORT", 3000, Protocol::Dialogue))
    } else {
        let both = [served("HTTP_PORT", 3000, Protocol::Http), served("H2C_PORT", 3001, Protocol::H2c)];
        both.into_iter().flatten().collect()
    };
    Role { identity, serves, run_token: None }
}

/// What our own echo serves, by its own reading of the environment.
fn own(variables: &BTreeMap<String, String>, namespace: &str, pod: &str) -> Role {
    let all = env::all_options(|name| variables.get(name).cloned()).unwrap_or_else(|error| {
        tracing::warn!(namespace, pod, %error, "a container would not start");
        Vec::new()
    });
    let serves = all.iter().map(|one| Served { port: one.bind.port(), protocol: one.protocol }).collect();
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
    #[case("registry.k8s.io/coredns/coredns:v1.12.2", Some(Image::Silent))]
    #[case("registry.k8s.io/gateway-api/echo-basic-plus:v1", None)]
    #[case("echo-basic/other:v1", None)]
    #[case("", None)]
    fn images(#[case] name: &str, #[case] expected: Option<Image>) {
        assert_eq!(Image::parse(name), expected);
    }

    #[rstest]
    #[case::http("echo-basic", &[], &[(3000, Protocol::Http), (3001, Protocol::H2c)])]
    #[case::other_ports("echo-basic", &[("HTTP_PORT", "80"), ("H2C_PORT", "81")], &[(80, Protocol::Http), (81, Protocol::H2c)])]
    #[case::bad_port("echo-basic", &[("HTTP_PORT", "http")], &[(3001, Protocol::H2c)])]
    #[case::tcp("echo-basic", &[("TCP_ECHO_SERVER", "1")], &[(3000, Protocol::Dialogue)])]
    #[case::grpc("echo-basic", &[("GRPC_ECHO_SERVER", "1")], &[(3000, Protocol::Grpc)])]
    #[case::udp("echo-basic", &[("UDP_ECHO_SERVER", "1")], &[])]
    #[case::own("gateproof-echo", &[("TCP_ECHO_SERVER", "1"), ("JOURNAL_PORT", "9080")], &[(3000, Protocol::Tcp), (9080, Protocol::Http)])]
    #[case::own_with_bad_port("gateproof-echo", &[("HTTP_PORT", "http")], &[])]
    #[case::silent("coredns", &[], &[])]
    fn roles(#[case] image: &str, #[case] variables: &[(&str, &str)], #[case] expected: &[(u16, Protocol)]) {
        let env: Vec<_> = variables.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let container = serde_json::from_value(json!({"name": "c", "image": image, "env": env})).unwrap();
        let serves = role(&container, "ns", "pod").serves;
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
        let Identity { namespace, ingress, service, pod } = role(&container, "ns", "pod-1").identity;
        assert_eq!([namespace, ingress, service, pod], ["ns", "", "svc", "pod-1"]);
    }
}
