//! Filters through the proxy.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::*;
use gateproof_proxy::config::*;
use http::{Request, StatusCode};
use http_body_util::Full;

fn modifier() -> HeaderModifier {
    HeaderModifier {
        set: vec![header("X-Set", "set")],
        add: vec![header("X-Add", "added")],
        remove: vec!["X-Remove".to_owned()],
    }
}

#[tokio::test]
async fn request_headers_are_modified_for_rule_and_backend() {
    let bed = Bed::new(&["one"]).await;
    let own = HeaderModifier { set: vec![header("X-Backend", "one")], ..HeaderModifier::default() };
    let backend = Backend { filters: vec![Filter::RequestHeaderModifier(own)], ..bed.backend(0) };
    let mut rule = route("rule", vec![backend]);
    rule.filters = vec![Filter::RequestHeaderModifier(modifier())];
    let address = bed.apply(rules(vec![rule])).await;
    let sent = [("x-set", "old"), ("x-add", "old"), ("x-remove", "old"), ("x-keep", "kept"), ("x-backend", "spoofed")];
    let headers = send(address, request("example.com", "/", &sent)).await.json()["headers"].clone();
    assert_eq!(headers["X-Set"], serde_json::json!(["set"]));
    assert_eq!(headers["X-Add"], serde_json::json!(["old", "added"]));
    assert_eq!(headers["X-Keep"], serde_json::json!(["kept"]));
    assert_eq!(headers["X-Backend"], serde_json::json!(["one"]));
    assert!(headers.get("X-Remove").is_none());
}

#[tokio::test]
async fn response_headers_are_modified() {
    let bed = Bed::new(&["one"]).await;
    let mut rule = route("rule", vec![bed.backend(0)]);
    rule.filters = vec![Filter::ResponseHeaderModifier(modifier())];
    let address = bed.apply(rules(vec![rule])).await;
    let asked = [("X-Echo-Set-Header", "x-set:old,x-add:old,x-remove:old,x-keep:kept")];
    let answer = send(address, request("example.com", "/", &asked)).await;
    assert_eq!(answer.header("x-set"), ["set"]);
    assert_eq!(answer.header("x-add"), ["old", "added"]);
    assert_eq!(answer.header("x-keep"), ["kept"]);
    assert_eq!(answer.header("x-remove"), [""; 0]);
}

#[tokio::test]
async fn a_redirect_answers_by_itself_and_keeps_the_query() {
    let bed = Bed::new(&["one"]).await;
    let redirect = RequestRedirect {
        scheme: Some("https".to_owned()),
        hostname: Some("example.org".to_owned()),
        path: Some(PathModifier::ReplacePrefixMatch("/new".to_owned())),
        port: None,
        status: 301,
    };
    let mut rule = route("rule", vec![]);
    rule.matches = vec![prefix("/old")];
    rule.filters = vec![Filter::RequestRedirect(redirect)];
    let address = bed.apply(rules(vec![rule])).await;
    let answer = get(address, "example.com", "/old/x?y=z").await;
    assert_eq!(answer.status, StatusCode::MOVED_PERMANENTLY);
    assert_eq!(answer.header("location"), ["https://example.org/new/x?y=z"]);
    assert_eq!(bed.journal.written(), 0);
}

#[tokio::test]
async fn a_rewrite_changes_host_and_path_for_the_backend_only() {
    let bed = Bed::new(&["one"]).await;
    let rewrite = UrlRewrite {
        hostname: Some("one.example.org".to_owned()),
        path: Some(PathModifier::ReplacePrefixMatch("/".to_owned())),
    };
    let mut rule = route("rule", vec![bed.backend(0)]);
    rule.matches = vec![prefix("/strip")];
    rule.filters = vec![Filter::UrlRewrite(rewrite)];
    let address = bed.apply(rules(vec![rule])).await;
    for (path, seen) in [("/strip/three?a=b", "/three?a=b"), ("/strip", "/"), ("/strip/", "/")] {
        let json = get(address, "example.com:80", path).await.json();
        assert_eq!((json["path"].as_str(), json["host"].as_str()), (Some(seen), Some("one.example.org")), "{path}");
    }
}

#[tokio::test]
async fn mirrors_get_one_whole_copy_each() {
    let bed = Bed::new(&["one", "two", "three"]).await;
    let mirror = |index: usize| {
        let Backend { id, target, .. } = bed.backend(index);
        Filter::RequestMirror(RequestMirror { id, target, fraction: None })
    };
    let mut rule = route("rule", vec![bed.backend(0)]);
    let set = HeaderModifier { set: vec![header("X-Set", "set")], ..HeaderModifier::default() };
    rule.filters = vec![mirror(1), mirror(2), Filter::RequestHeaderModifier(set)];
    let address = bed.apply(rules(vec![rule])).await;
    let body = Bytes::from(vec![b'm'; 200_000]);
    let request = Request::put("/mirror?x")
        .header("Host", "example.com")
        .header("X-Gateproof-Request", "mirrored")
        .body(Full::new(body))
        .unwrap();
    assert_eq!(send(address, request).await.pod(), "one");
    let records = tokio::time::timeout(Duration::from_secs(10), bed.journal.wait_for("mirrored", 3)).await.unwrap();
    let mut pods: Vec<_> = records.iter().map(|record| record.backend.pod.as_str()).collect();
    pods.sort_unstable();
    assert_eq!(pods, ["one", "three", "two"]);
    for record in &records {
        assert_eq!(
            (record.method.as_str(), record.path.as_str(), record.host.as_str()),
            ("PUT", "/mirror?x", "example.com")
        );
        assert_eq!(record.body_length, 200_000);
        assert_eq!(record.body_digest, records[0].body_digest);
        assert!(record.headers.contains(&("x-set".to_owned(), "set".to_owned())));
    }
}

#[tokio::test]
async fn a_mirror_takes_its_fraction_and_cannot_hurt() {
    let bed = Bed::new(&["one", "two"]).await;
    let mirror = |target, numerator| {
        let fraction = Some(Fraction { numerator, denominator: 50 });
        Filter::RequestMirror(RequestMirror { id: "test/mirror".to_owned(), target, fraction })
    };
    let mut rule = route("rule", vec![bed.backend(0)]);
    rule.filters = vec![
        mirror(bed.backend(1).target, 25),
        mirror(bed.backend(1).target, 0),
        mirror(BackendTarget::Endpoints(vec![]), 50),
        mirror(failing(500, "gone").target, 50),
    ];
    let address = bed.apply(rules(vec![rule])).await;
    let mut client = Client::connect(address).await;
    for _ in 0..200 {
        assert_eq!(client.get("example.com", "/").await.unwrap().pod(), "one");
    }
    bed.proxy.shutdown().await;
    let copies = bed.journal.written() - 200;
    // 8 standard deviations of 200 draws at one half.
    assert!((44..=156).contains(&copies), "{copies} copies of 200");
}

#[tokio::test]
async fn copies_are_made_of_requests_that_fail() {
    let bed = Bed::new(&["one"]).await;
    let mut rule = route("rule", vec![failing(500, "gone")]);
    let Backend { id, target, .. } = bed.backend(0);
    rule.filters = vec![Filter::RequestMirror(RequestMirror { id, target, fraction: None })];
    let address = bed.apply(rules(vec![rule])).await;
    let request = Request::post("/")
        .header("Host", "example.com")
        .header("X-Gateproof-Request", "failed")
        .body(Full::new(Bytes::from_static(b"content")))
        .unwrap();
    assert_eq!(send(address, request).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    let records = tokio::time::timeout(Duration::from_secs(10), bed.journal.wait_for("failed", 1)).await.unwrap();
    assert_eq!(records[0].body_length, 7);
}

#[tokio::test]
async fn copies_are_made_of_requests_that_are_redirected() {
    let bed = Bed::new(&["one"]).await;
    let Backend { id, target, .. } = bed.backend(0);
    let redirect = RequestRedirect {
        scheme: None,
        hostname: Some("example.org".to_owned()),
        path: None,
        port: Some(80),
        status: 302,
    };
    let mut rule = route("rule", vec![]);
    rule.filters = vec![
        Filter::RequestHeaderModifier(modifier()),
        Filter::RequestMirror(RequestMirror { id, target, fraction: None }),
        Filter::RequestRedirect(redirect),
    ];
    let address = bed.apply(rules(vec![rule])).await;
    let request = Request::post("/old?x")
        .header("Host", "example.com")
        .header("X-Gateproof-Request", "redirected")
        .body(Full::new(Bytes::from_static(b"content")))
        .unwrap();
    let answer = send(address, request).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (StatusCode::FOUND, vec!["http://example.org/old?x".to_owned()])
    );
    let records = tokio::time::timeout(Duration::from_secs(10), bed.journal.wait_for("redirected", 1)).await.unwrap();
    assert_eq!((records[0].method.as_str(), records[0].path.as_str()), ("POST", "/old?x"));
    assert_eq!(records[0].body_length, 7);
    assert!(records[0].headers.contains(&("x-set".to_owned(), "set".to_owned())));
}
