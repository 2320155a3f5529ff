//! Ports and HTTP servers of Pods, by way of the server.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use gateproof_apiserver::Server;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

use crate::support::{outside, raw, refused, server};

const LIMIT: Duration = Duration::from_secs(10);

/// A Pod that says that it runs on loopback.
async fn pod(server: &Server) -> Api<Pod> {
    let pods: Api<Pod> = Api::namespaced(outside(server).await, "default");
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let status = Patch::Merge(json!({"status": {"podIP": "127.0.0.1"}}));
    pods.patch_status("p", &PatchParams::default(), &status).await.unwrap();
    pods
}

/// A server that reads a line, answers it in upper case, and closes.
async fn shouting() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut text = [0; 6];
            stream.read_exact(&mut text).await.unwrap();
            stream.write_all(&text.to_ascii_uppercase()).await.unwrap();
        }
    });
    port
}

#[tokio::test]
async fn bytes_are_forwarded_both_ways_until_every_port_is_closed() {
    let server = server().await;
    let pods = pod(&server).await;
    let ports = [shouting().await, shouting().await];
    let mut forwarder = pods.portforward("p", &ports).await.unwrap();
    let mut streams = Vec::new();
    for port in ports {
        let mut stream = forwarder.take_stream(port).unwrap();
        let text = format!("{port:05}x");
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = [0; 6];
        tokio::time::timeout(LIMIT, stream.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(answer, text.to_ascii_uppercase().as_bytes());
        streams.push(stream);
    }
    // The protocol cannot close one port of several.
    for mut stream in streams {
        let read = tokio::time::timeout(LIMIT, stream.read(&mut [0; 1])).await.unwrap();
        assert_eq!(read.unwrap(), 0);
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_told_on_its_own_channel() {
    let server = server().await;
    let pods = pod(&server).await;
    // Bound and never listening: refused, and nobody else's meanwhile.
    let refusing = TcpSocket::new_v4().unwrap();
    refusing.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = refusing.local_addr().unwrap().port();
    let mut forwarder = pods.portforward("p", &[port]).await.unwrap();
    let error = tokio::time::timeout(LIMIT, forwarder.take_error(port).unwrap()).await.unwrap().unwrap();
    assert!(error.contains(&port.to_string()) && error.contains("refused"), "{error}");
    server.shutdown().await;
}

#[tokio::test]
async fn an_outage_ends_what_is_forwarded() {
    let server = server().await;
    let pods = pod(&server).await;
    let port = shouting().await;
    let mut forwarder = pods.portforward("p", &[port]).await.unwrap();
    let mut stream = forwarder.take_stream(port).unwrap();
    server.trouble().go_away();
    let read = tokio::time::timeout(LIMIT, stream.read(&mut [0; 1])).await.unwrap();
    assert_eq!(read.unwrap_or_default(), 0);
    server.shutdown().await;
}

#[tokio::test]
async fn what_cannot_be_forwarded_is_refused() {
    let server = server().await;
    let pods = pod(&server).await;
    assert_eq!(refused(pods.portforward("other", &[80]).await.map(drop)).0, 404);
    let status = Patch::Merge(json!({"status": {"podIP": null}}));
    pods.patch_status("p", &PatchParams::default(), &status).await.unwrap();
    assert_eq!(refused(pods.portforward("p", &[80]).await.map(drop)).0, 500);
    let path = "/api/v1/namespaces/default/pods/p/portforward?ports=80";
    let spdy = [("connection", "Upgrade"), ("upgrade", "SPDY/3.1")];
    let status = Patch::Merge(json!({"status": {"podIP": "127.0.0.1"}}));
    pods.patch_status("p", &PatchParams::default(), &status).await.unwrap();
    for headers in [&spdy[..], &[]] {
        assert_eq!(raw(&server, "POST", path, headers, "").await.0, 400);
    }
    server.shutdown().await;
}

#[tokio::test]
async fn requests_are_passed_on_to_a_pod() {
    let server = server().await;
    let _pods = pod(&server).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        let answer = "HTTP/1.1 418 Teapot\r\nX-Own: yes\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    let path = format!("/api/v1/namespaces/default/pods/p:{port}/proxy/a/b?c=d");
    let headers = [("x-mine", "1"), ("authorization", "Bearer secret"), ("connection", "keep-alive")];
    let (code, headers, body) = raw(&server, "GET", &path, &headers, "").await;
    assert_eq!((code, &headers["x-own"], body), (418, &"yes".parse().unwrap(), json!({"a": 1})));
    let asked = asked.await.unwrap();
    assert!(asked.starts_with("GET /a/b?c=d HTTP/1.1\r\n") && asked.contains("x-mine: 1\r\n"), "{asked}");
    assert!(!asked.contains("secret"), "{asked}");
    let (code, _, body) = raw(&server, "GET", &path, &[], "").await;
    assert_eq!((code, body["reason"].as_str()), (503, Some("ServiceUnavailable")));
    server.shutdown().await;
}
