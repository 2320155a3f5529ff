//! Who is asked about requests before they are matched.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use gateproof_proxy::config::*;
use http::StatusCode;
use rstest::rstest;

/// Backends `plain` and `red`, of which the latter is for requests with `X-Tenant: red`, and `first` and `second` to be asked.
async fn bed() -> Bed {
    Bed::new(&["plain", "red", "first", "second"]).await
}

fn asking(bed: &Bed, index: usize, taken: &[&str]) -> Authorization {
    Authorization {
        id: format!("test/pod-{index}"),
        target: bed.backend(index).target,
        prefix: String::new(),
        shown: ["X-Echo-Set-Header", "X-Tenant"].map(str::to_owned).to_vec(),
        taken: taken.iter().map(|name| (*name).to_owned()).collect(),
        may_change_host: false,
        is_seen_by_rules: true,
    }
}

fn config(bed: &Bed, before: Vec<Authorization>) -> Config {
    let tenant = FieldMatch { name: "X-Tenant".to_owned(), value: ValueMatch::Exact("red".to_owned()) };
    let mut red = route("red", vec![bed.backend(1)]);
    red.matches = vec![RequestMatch { headers: vec![tenant], ..RequestMatch::default() }];
    let mut all = host("", vec![red, route("plain", vec![bed.backend(0)])]);
    all.before = before;
    http(vec![all])
}

/// Who was asked, in order, and with which `X-Tenant`.
fn asked(bed: &Bed) -> Vec<(String, Option<String>)> {
    let one = |record: std::sync::Arc<gateproof_echo::Record>| {
        let tenant = record.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-tenant"));
        (record.backend.pod.clone(), tenant.map(|(_, value)| value.clone()))
    };
    bed.journal.records().into_iter().map(one).collect()
}

const SETS_TENANT: [(&str, &str); 1] = [("X-Echo-Set-Header", "X-Tenant:red")];

#[rstest]
#[case::seen(true, "red")]
#[case::not_seen(false, "plain")]
#[tokio::test]
async fn rules_see_what_was_added(#[case] is_seen_by_rules: bool, #[case] expected: &str) {
    let bed = bed().await;
    let one = Authorization { is_seen_by_rules, ..asking(&bed, 2, &["X-Tenant"]) };
    let address = bed.apply(config(&bed, vec![one])).await;
    let answer = send(address, request("example.com", "/", &SETS_TENANT)).await;
    assert_eq!(answer.pod(), expected);
    assert_eq!(answer.json()["headers"]["X-Tenant"], serde_json::json!(["red"]));
    assert_eq!(send(address, request("example.com", "/", &[])).await.pod(), "plain");
}

#[tokio::test]
async fn all_are_asked_in_order_and_know_what_was_added_before() {
    let bed = bed().await;
    let before = vec![asking(&bed, 2, &["X-Tenant"]), asking(&bed, 3, &["X-Other"])];
    let address = bed.apply(config(&bed, before)).await;
    send(address, request("example.com", "/", &SETS_TENANT)).await.json();
    let tenant = Some("red".to_owned());
    let expected = [("first", None), ("second", tenant.clone()), ("red", tenant)];
    assert_eq!(asked(&bed), expected.map(|(pod, tenant)| (pod.to_owned(), tenant)));
}

#[tokio::test]
async fn whoever_says_no_answers_and_nobody_else_is_asked() {
    let bed = bed().await;
    let address = bed.apply(config(&bed, vec![asking(&bed, 2, &[]), asking(&bed, 3, &[])])).await;
    assert_eq!(send(address, request("example.com", "/status/403", &[])).await.status, StatusCode::FORBIDDEN);
    assert_eq!(asked(&bed), [("first".to_owned(), None)]);
}

#[rstest]
#[case::broken(BackendTarget::Fail { status: 500, reason: "gone".to_owned() })]
#[case::nobody(BackendTarget::Endpoints(Vec::new()))]
#[case::closed(BackendTarget::Endpoints(vec!["127.0.0.1:1".parse().unwrap()]))]
#[tokio::test]
async fn nothing_gets_past_somebody_who_cannot_be_asked(#[case] target: BackendTarget) {
    let bed = bed().await;
    let one = Authorization { target, ..asking(&bed, 2, &[]) };
    let address = bed.apply(config(&bed, vec![one])).await;
    assert_eq!(send(address, request("example.com", "/", &[])).await.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(asked(&bed), []);
}

#[rstest]
#[case::kept(false, "example.com")]
#[case::changed(true, "example.org")]
#[tokio::test]
async fn the_host_stays(#[case] may_change_host: bool, #[case] expected: &str) {
    let bed = bed().await;
    let one = Authorization { may_change_host, ..asking(&bed, 2, &[]) };
    let address = bed.apply(config(&bed, vec![one])).await;
    let answer = send(address, request("example.com", "/", &[("X-Echo-Set-Header", "Host:example.org")])).await;
    assert_eq!(answer.json()["host"], expected);
}
