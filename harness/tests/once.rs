//! A patch that an API server has carried out and not answered is not carried out twice.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use gateproof::cluster::connect::{Source, connect};
use gateproof::cluster::names;
use gateproof::cluster::pool::namespace;
use gateproof::cluster::resources::every_kind;
use gateproof::cluster::write::{PatchType, Whose, Writer};
use gateproof::dialects::Dialect;
use gateproof::log::{ObjectKey, Timing, TimingProfile, WriteOutcome};
use gateproof_apiserver::Refusal;
use gateproof_testbed::{Testbed, TestbedOptions};
use rstest::rstest;
use serde_json::{Value, json};

const RUN: &str = "abcdef";
const OWN: &str = "gp-abcdef-0-ns";

#[rstest]
#[case::moved(json!([{"op": "move", "from": "/spec/hostnames/0", "path": "/spec/hostnames/1"}]), &["b.test", "a.test"], true)]
#[case::taken_away(json!([{"op": "remove", "path": "/spec/hostnames/0"}]), &["b.test"], true)]
#[case::added(json!([{"op": "add", "path": "/spec/hostnames/0", "value": "c.test"}]), &["c.test", "a.test", "b.test"], true)]
#[case::tested(
    json!([{"op": "test", "path": "/spec/hostnames/0", "value": "a.test"}, {"op": "replace", "path": "/spec/hostnames/0", "value": "c.test"}]),
    &["c.test", "b.test"],
    true
)]
// It comes to the same however often it is carried out, and the answer of none was seen.
#[case::replaced(json!([{"op": "replace", "path": "/spec/hostnames/0", "value": "c.test"}]), &["c.test", "b.test"], false)]
#[tokio::test]
async fn what_is_lost_is_done_once(#[case] patch: Value, #[case] expected: &[&str], #[case] known: bool) {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let api = connect(&Source::Text(testbed.kubeconfig())).await.unwrap();
    let kinds = Arc::new(every_kind(&api, Dialect::gateway_api()).await.unwrap());
    let writer = Writer::new(api.clone(), kinds, &Timing::of(TimingProfile::Embedded), None);
    let route = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
        "metadata": {"name": "route", "namespace": OWN, "labels": names::labels(RUN, Some("abcdef-0"))},
        "spec": {"parentRefs": [{"name": "nobody"}], "hostnames": ["a.test", "b.test"]},
    });
    for object in [&namespace(RUN, Some("abcdef-0"), OWN, &[]), &route] {
        let made = writer.apply(0, 0, object).await;
        assert!(matches!(made.outcome, WriteOutcome::Admitted { .. }), "{made:?}");
    }
    let key = ObjectKey::of(&route).unwrap();
    testbed.server().trouble().refuse(Refusal::Lost, 1.0, 1);
    let patched = writer.patch(0, 0, key.clone(), &Whose::Own, PatchType::Json, None, &patch).await;
    let kind = writer.kinds().of(&key.group, &key.kind).unwrap();
    let live = api.get(&kind.object(&key)).await.unwrap();
    assert_eq!(live["spec"]["hostnames"], json!(expected));
    match patched.outcome {
        WriteOutcome::Admitted { uid, generation, .. } => {
            assert!(known && live["metadata"]["uid"] == uid.as_str() && generation == 2, "{uid} {generation}");
        }
        outcome => assert!(!known && matches!(outcome, WriteOutcome::Failed { .. }), "{outcome:?}"),
    }
}
