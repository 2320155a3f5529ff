//! IPv6 from end to end, where this host has it.
#![allow(clippy::unwrap_used)]

mod process;

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use gateproof::cluster::dial::StaticDialer;
use gateproof::log::{Elapsed, HttpRequest, ProbeRequest};
use gateproof::probe::Prober;
use gateproof_echo::{Echo, EchoOptions, Identity, Journal, Protocol};
use process::{run, skipped};

fn is_absent() -> bool {
    let absent = TcpListener::bind("[::1]:0").is_err();
    if absent {
        skipped("ipv6", "this host has no ::1");
    }
    absent
}

#[test]
fn backends_at_an_ipv6_address_are_reached_by_the_data_plane() {
    if is_absent() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let few = ["run", "httproute-missing-backend", "tcproute-missing-backend", "httproute-unready-endpoint"];
    let ended = run(dir.path(), &[&few[..], &["--backend-address", "::1"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let log = std::fs::read_to_string(dir.path().join("gateproof-report/events.jsonl")).unwrap();
    assert!(log.contains("\"addressType\":\"IPv6\""), "no slice of IPv6 was written");
}

#[test]
fn backends_of_both_families_are_one_service_each() {
    if is_absent() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let both = ["--backend-address", "127.0.0.1", "--backend-address", "::1"];
    let few = [
        "run",
        "httproute-missing-backend",
        "tcproute-missing-backend",
        "httproute-unready-endpoint",
        "httproute-uneven-weights",
    ];
    let ended = run(dir.path(), &[&few[..], &both].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let log = std::fs::read_to_string(dir.path().join("gateproof-report/events.jsonl")).unwrap();
    for said in ["\"addressType\":\"IPv4\"", "\"addressType\":\"IPv6\"", "\"ipFamilyPolicy\":\"PreferDualStack\""] {
        assert!(log.contains(said), "nothing of {said} was written");
    }
    let record = std::fs::read_to_string(dir.path().join("gateproof-report/record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let passed = record["scenarios"].as_array().unwrap().iter().filter(|one| one["outcome"] == "passed").count();
    assert_eq!(passed, 4, "{}", ended.said());
}

#[tokio::test]
async fn a_gateway_at_an_ipv6_address_is_probed() {
    if is_absent() {
        return;
    }
    let options = EchoOptions {
        bind: "[::1]:0".parse().unwrap(),
        protocol: Protocol::Http,
        identity: Identity::default(),
        run_token: None,
        journal: Journal::default(),
    };
    let echo = Echo::start(options).await.unwrap();
    let port = echo.addr().port();
    let mapped = StaticDialer::new(vec![format!("[2001:db8::1]:80=[::1]:{port}").parse().unwrap()]);
    for (host, asked) in [("::1", port), ("2001:db8::1", 80)] {
        let request = ProbeRequest::from(HttpRequest {
            host: host.to_owned(),
            port: asked,
            method: "GET".to_owned(),
            target: "/".to_owned(),
            authority: "some.host.test".to_owned(),
            headers: Vec::new(),
            ..HttpRequest::default()
        });
        let prober = Prober::new(Arc::new(mapped.clone()), Duration::from_secs(5));
        let exchange = prober.attempt("id".to_owned(), request, Elapsed(0)).await;
        assert_eq!(exchange.connected_to, Some(echo.addr()), "{exchange:?}");
        assert_eq!(exchange.http.map(|answer| answer.status), Some(200));
    }
}
