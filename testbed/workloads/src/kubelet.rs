//! The part of a kubelet that an API server asks for the logs of Pods.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use rustls::ServerConfig;
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::pod::Log;

/// Why there is no kubelet.
#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    /// It has no certificate.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The certificate could not be used.
    #[error("cannot use the certificate: {0}")]
    Tls(#[from] rustls::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: IpAddr,
        /// What the operating system says.
        source: io::Error,
    },
}

/// The logs of all Pods, by namespace and name.
pub(crate) type Logs = Arc<Mutex<BTreeMap<(String, String), Log>>>;

/// Starts a kubelet, which serves until `stop`, and says where.
pub(crate) async fn start(host: IpAddr, logs: Logs, stop: CancellationToken) -> Result<SocketAddr, KubeletError> {
    let failed = |source| KubeletError::Listen { address: host, source };
    let listener = TcpListener::bind((host, 0)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let tls = TlsAcceptor::from(Arc::new(tls(host)?));
    tokio::spawn(stop.clone().run_until_cancelled_owned(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let serving = serve(stream, tls.clone(), logs.clone());
                    tokio::spawn(stop.clone().run_until_cancelled_owned(serving));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::task::yield_now().await;
                }
            }
        }
    }));
    Ok(address)
}

fn tls(host: IpAddr) -> Result<ServerConfig, KubeletError> {
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([host.to_string()])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)?;
    Ok(config)
}

async fn serve(stream: TcpStream, tls: TlsAcceptor, logs: Logs) {
    let stream = match tls.accept(stream).await {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "a TLS handshake failed"),
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let response = answer(&logs, request.uri().path(), request.uri().query().unwrap_or_default());
        async move { Ok::<_, Infallible>(response) }
    });
    if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// `/containerLogs/NAMESPACE/POD/CONTAINER`, with `sinceTime`, `sinceSeconds` and `tailLines`. A Pod has one log for all
/// of its containers. Following is not offered: the log ends where it is.
fn answer(logs: &Logs, path: &str, query: &str) -> Response<Full<Bytes>> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let ["containerLogs", namespace, pod, _] = segments[..] else {
        return plain(StatusCode::NOT_FOUND, "no such path");
    };
    let log = {
        let logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.get(&(namespace.to_owned(), pod.to_owned())).cloned()
    };
    let Some(log) = log else { return plain(StatusCode::NOT_FOUND, format!("no Pod {namespace}/{pod} runs here")) };
    let parameter = |name: &str| {
        form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    };
    let since = match (parameter("sinceTime"), parameter("sinceSeconds")) {
        (Some(time), _) => time.parse().ok(),
        (None, Some(seconds)) => {
            seconds.parse().ok().map(|seconds: u32| Timestamp::now() - jiff::SignedDuration::from_secs(seconds.into()))
        }
        (None, None) => None,
    };
    let lines = log.lines(since);
    let tail = parameter("tailLines").and_then(|tail| tail.parse().ok()).unwrap_or(lines.len());
    let text: String = lines[lines.len().saturating_sub(tail)..].iter().map(|line| format!("{line}\n")).collect();
    plain(StatusCode::OK, text)
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response
}
