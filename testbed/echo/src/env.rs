//! A backend described by its environment, as in a Pod.

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};

use crate::echo::{Echo, EchoError, EchoOptions, Protocol};
use crate::identity::Identity;
use crate::journal::Journal;

/// The port without `HTTP_PORT`.
const DEFAULT_PORT: u16 = 3000;

/// Reads the options of a backend from variables: `HTTP_PORT` (3000), `TCP_ECHO_SERVER` (set and not empty: byte
/// streams instead of HTTP), `POD_NAME`, `NAMESPACE`, `SERVICE_NAME`, `INGRESS_NAME` (empty) and `GATEPROOF_TOKEN`
/// (the run token; none).
///
/// # Errors
/// [`EchoError::Environment`] if the port is none.
pub fn options(variable: impl Fn(&str) -> Option<String>) -> Result<EchoOptions, EchoError> {
    let text = |name: &str| variable(name).unwrap_or_default();
    let port = match variable("HTTP_PORT").filter(|port| !port.is_empty()) {
        None => DEFAULT_PORT,
        Some(port) => port.parse().map_err(|error| EchoError::Environment {
            variable: "HTTP_PORT",
            reason: format!("{port:?} is no port: {error}"),
        })?,
    };
    Ok(EchoOptions {
        bind: SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        protocol: if text("TCP_ECHO_SERVER").is_empty() { Protocol::Http } else { Protocol::Tcp },
        identity: Identity {
            namespace: text("NAMESPACE"),
            ingress: text("INGRESS_NAME"),
            service: text("SERVICE_NAME"),
            pod: text("POD_NAME"),
        },
        run_token: variable("GATEPROOF_TOKEN").filter(|token| !token.is_empty()),
        journal: Journal::default(),
    })
}

/// Serves the backend that the environment of the process describes until `stop` completes.
///
/// # Errors
/// See [`options`] and [`Echo::start`].
pub async fn serve_from_env(stop: impl Future<Output = ()>) -> Result<(), EchoError> {
    let echo = Echo::start(options(|name| std::env::var(name).ok())?).await?;
    tracing::info!(address = %echo.addr(), "echo backend listens");
    stop.await;
    echo.shutdown().await;
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
}
