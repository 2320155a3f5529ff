//! A backend described by its environment, as in a Pod.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};

use crate::TOKEN_VARIABLE;
use crate::backend::{EchoError, Protocol};
use crate::echo::{Echo, EchoOptions};
use crate::identity::Identity;
use crate::journal::Journal;

/// The port without `HTTP_PORT`.
const DEFAULT_PORT: u16 = 3000;

/// Reads the options of a backend from variables: `HTTP_PORT` (3000), `TCP_ECHO_SERVER` (set and not empty: byte
/// streams instead of HTTP, and with `tls` those within TLS), `UDP_ECHO_SERVER` (likewise: datagrams), `POD_NAME`, `NAMESPACE`, `SERVICE_NAME`, `INGRESS_NAME` (empty) and `GATEPROOF_TOKEN`
/// (the run token; none).
///
/// # Errors
/// [`EchoError::Environment`] if the port is none.
pub fn options(variable: impl Fn(&str) -> Option<String>) -> Result<EchoOptions, EchoError> {
    let text = |name: &str| variable(name).unwrap_or_default();
    let port = match variable("HTTP_PORT").filter(|port| !port.is_empty()) {
        None => DEFAULT_PORT,
        Some(port) => port_of("HTTP_PORT", &port)?,
    };
    Ok(EchoOptions {
        bind: SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        protocol: match (text("UDP_ECHO_SERVER").as_str(), text("TCP_ECHO_SERVER").as_str()) {
            ("", "") => Protocol::Http,
            ("", "tls") => Protocol::Tls,
            ("", _) => Protocol::Tcp,
            _ => Protocol::Udp,
        },
        identity: Identity {
            namespace: text("NAMESPACE"),
            ingress: text("INGRESS_NAME"),
            service: text("SERVICE_NAME"),
            pod: text("POD_NAME"),
        },
        run_token: variable(TOKEN_VARIABLE).filter(|token| !token.is_empty()),
        journal: Journal::default(),
    })
}

/// The same, and behind it, where `JOURNAL_PORT` is set, an HTTP server at that port for the same journal: byte streams have no
/// room for it.
///
/// # Errors
/// [`EchoError::Environment`] if a port is none.
pub fn all_options(variable: impl Fn(&str) -> Option<String>) -> Result<Vec<EchoOptions>, EchoError> {
    let echo = options(&variable)?;
    let port = variable("JOURNAL_PORT").filter(|port| !port.is_empty());
    let port = port.map(|port| port_of("JOURNAL_PORT", &port)).transpose()?;
    let journal = port.map(|port| EchoOptions {
        bind: SocketAddr::new(echo.bind.ip(), port),
        protocol: Protocol::Http,
        ..echo.clone()
    });
    Ok([echo].into_iter().chain(journal).collect())
}

fn port_of(variable: &'static str, text: &str) -> Result<u16, EchoError> {
    text.parse().map_err(|error| EchoError::Environment { variable, reason: format!("{text:?} is no port: {error}") })
}

/// Serves the backend that the environment of the process describes until `stop` completes. `listening` is told of each of
/// its ports, once connections are taken there.
///
/// # Errors
/// See [`all_options`] and [`Echo::start`].
pub async fn serve_from_env(
    stop: impl Future<Output = ()>,
    mut listening: impl FnMut(SocketAddr, Protocol),
) -> Result<(), EchoError> {
    let mut echoes = Vec::new();
    for options in all_options(|name| std::env::var(name).ok())? {
        let protocol = options.protocol;
        let echo = Echo::start(options).await?;
        listening(echo.addr(), protocol);
        echoes.push(echo);
    }
    stop.await;
    for echo in echoes {
        echo.shutdown().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<EchoOptions, EchoError> {
        options(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn an_empty_environment_is_a_plain_http_backend() {
        let options = read(&[]).unwrap();
        assert_eq!((options.bind.port(), options.protocol, options.run_token), (3000, Protocol::Http, None));
        assert_eq!(options.identity, Identity::default());
    }

    #[test]
    fn every_variable_counts() {
        let options = read(&[
            ("HTTP_PORT", "8080"),
            ("TCP_ECHO_SERVER", "1"),
            ("POD_NAME", "pod"),
            ("NAMESPACE", "ns"),
            ("SERVICE_NAME", "svc"),
            ("INGRESS_NAME", "ing"),
            ("GATEPROOF_TOKEN", "token"),
        ])
        .unwrap();
        assert_eq!((options.bind.port(), options.protocol), (8080, Protocol::Tcp));
        assert_eq!(options.run_token.as_deref(), Some("token"));
        let Identity { namespace, ingress, service, pod } = options.identity;
        assert_eq!([namespace, ingress, service, pod], ["ns", "ing", "svc", "pod"]);
    }

    #[test]
    fn a_port_that_is_none_is_refused() {
        let error = read(&[("HTTP_PORT", "http")]).unwrap_err().to_string();
        assert!(error.contains("HTTP_PORT") && error.contains("http"), "{error}");
    }

    #[test]
    fn a_journal_at_a_port_of_its_own_is_the_same_one() {
        let variables = |name: &str| match name {
            "TCP_ECHO_SERVER" => Some("1".to_owned()),
            "JOURNAL_PORT" => Some("9080".to_owned()),
            "GATEPROOF_TOKEN" => Some("token".to_owned()),
            _ => None,
        };
        let all = all_options(variables).unwrap();
        let told: Vec<_> = all.iter().map(|one| (one.bind.port(), one.protocol, one.run_token.as_deref())).collect();
        assert_eq!(told, [(3000, Protocol::Tcp, Some("token")), (9080, Protocol::Http, Some("token"))]);
        assert!(all_options(|name| (name == "JOURNAL_PORT").then(|| "x".to_owned())).is_err());
    }
}
