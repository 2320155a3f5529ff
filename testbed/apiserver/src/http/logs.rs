//! The logs of Pods, which are with the kubelet of the Pod's node.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::answers::answer_with;
use super::app::App;
use super::body::Body;
use super::pod::{object, pod};
use super::query::Query;
use super::route::ObjectPath;
use crate::auth::User;
use crate::error::ApiError;
use crate::tls;

/// How long a kubelet may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The log as the kubelet has it.
///
/// # Errors
/// 403 unless the user may, 404 where there is no such Pod, 400 if it has no node or the container is not named clearly, 500 if the kubelet does
/// not answer.
pub async fn read(app: &App, user: &User, parts: &Parts, path: &ObjectPath) -> Result<Response<Body>, ApiError> {
    let pod = pod(app, user, parts, "get", path)?;
    let node = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty());
    let Some(node) = node else {
        return Err(ApiError::bad_request(format!("pod {} does not have a host assigned", path.name)));
    };
    let query = Query::parse(parts.uri.query().unwrap_or(""));
    let container = container(&pod, query.get("container"))?;
    let (host, port) = kubelet(&*object(app, "nodes", "", node)?)
        .ok_or_else(|| ApiError::internal(format!("node {node} does not say where its kubelet is")))?;
    let (namespace, name) = (&path.namespace, &path.name);
    let mut target = format!("/containerLogs/{namespace}/{name}/{container}");
    if let Some(query) = parts.uri.query() {
        target = format!("{target}?{query}");
    }
    let failed = |why: String| ApiError::internal(format!("the kubelet at {host}:{port} does not answer: {why}"));
    let answered = tokio::time::timeout(PATIENCE, fetch(&host, port, &target)).await;
    match answered.map_err(|_| failed(format!("nothing came within {} s", PATIENCE.as_secs())))? {
        Ok((code, text)) if code == StatusCode::OK => Ok(answer_with(code, "text/plain", &[], text)),
        Ok((code, text)) => Err(failed(format!("{code}: {}", String::from_utf8_lossy(&text)))),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// The container asked for, or the only one.
fn container(pod: &Value, asked: &str) -> Result<String, ApiError> {
    let all = pod["spec"]["containers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names: Vec<&str> = all.iter().filter_map(|container| container["name"].as_str()).collect();
    let pod = &pod["metadata"]["name"];
    match (asked, names.as_slice()) {
        ("", [only]) => Ok((*only).to_owned()),
        ("", names) => {
            let message = format!("a container name must be specified for pod {pod}, choose one of: {names:?}");
            Err(ApiError::bad_request(message))
        }
        (asked, names) if names.contains(&asked) => Ok(asked.to_owned()),
        (asked, _) => Err(ApiError::bad_request(format!("container {asked} is not valid for pod {pod}"))),
    }
}

/// Where a node's kubelet listens.
fn kubelet(node: &Value) -> Option<(String, u16)> {
    let addresses = node["status"]["addresses"].as_array()?;
    let internal = addresses.iter().find(|address| address["type"] == "InternalIP")?;
    let port = node.pointer("/status/daemonEndpoints/kubeletEndpoint/Port")?.as_u64()?;
    Some((internal["address"].as_str()?.to_owned(), u16::try_from(port).ok()?))
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Asks a kubelet. Its certificate is not checked, as a real API server does not without
/// `--kubelet-certificate-authority`.
async fn fetch(host: &str, port: u16, target: &str) -> Result<(StatusCode, Bytes), Failure> {
    let stream = TcpStream::connect((host, port)).await?;
    let connector = TlsConnector::from(Arc::new(tls::trusting_client()?));
    let stream = connector.connect(ServerName::try_from(host.to_owned())?, stream).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = Request::get(target).header(header::HOST, host).body(Empty::<Bytes>::new())?;
    let response = sender.send_request(request).await?;
    let code = response.status();
    let text = response.into_body().collect().await?.to_bytes();
    connection.abort();
    Ok((code, text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::the_only_one(&["a"], "", Ok("a"))]
    #[case::by_name(&["a", "b"], "b", Ok("b"))]
    #[case::unclear(&["a", "b"], "", Err("choose one of: [\"a\", \"b\"]"))]
    #[case::unknown(&["a"], "c", Err("container c is not valid"))]
    fn containers(#[case] names: &[&str], #[case] asked: &str, #[case] expected: Result<&str, &str>) {
        let all: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": all}});
        match (container(&pod, asked), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(error), Err(expected)) => assert!(error.status().to_string().replace('\\', "").contains(expected)),
            (found, expected) => unreachable!("{found:?} instead of {expected:?}"),
        }
    }
}
