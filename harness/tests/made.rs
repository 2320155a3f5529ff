//! What a target makes for a scenario, under names that only the run can know: in the scenario's namespaces, and where there are none.
//! A run looks at it, and leaves it as it is.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use async_trait::async_trait;
use gateproof::cluster::api::Api;
use gateproof::cluster::connect::{Source, connect};
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::run::{Bystander, RunOptions, Silent, TargetChoice, run};
use gateproof::scenario::{Scenario, Vocabulary, parse};
use gateproof_report::record::Outcome;
use gateproof_testbed::{Testbed, TestbedOptions};
use http::Method;
use rstest::rstest;
use serde_json::{Value, json};

const SCENARIO: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: made}
spec:
  summary: What the target makes has the names of the scenario.
  features: []
  made:
    - {apiVersion: v1, kind: ConfigMap, name: "of-${token}"}
    - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: "of-${token}"}
    - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: "${name:beside}"}
  steps:
    - apply: [{apiVersion: v1, kind: ConfigMap, metadata: {name: own}}]
    - settle:
        ConfigMap/of-${token}: {fields: [{at: /data/of, equals: "${token}"}]}
        ClusterRole/of-${token}: {fields: [{at: /rules/0/verbs/0, equals: VERB}]}
        ClusterRole/beside: {fields: [{at: /rules/0/verbs/0, equals: get}]}
"#;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/// Makes what the scenario asks after, once that has applied what is its own.
struct Target(Api);

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Target")
    }
}

impl Target {
    async fn make(&self, collection: &str, object: Value) {
        let body = object.to_string().into_bytes();
        let reply = self.0.call(Method::POST, collection, Some("application/json"), body).await.unwrap();
        assert!(reply.code < 300, "{}", reply.body);
    }
}

#[async_trait]
impl Bystander for Target {
    async fn at_step(&self, _: &Scenario, step: usize) {
        if step != 1 {
            return;
        }
        let namespaces = self.0.get("/api/v1/namespaces?labelSelector=gateproof.dev/scenario").await.unwrap();
        let metadata = &namespaces["items"][0]["metadata"];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (namespace, token) = (text(&metadata["name"]), text(&metadata["labels"]["gateproof.dev/scenario"]));
        let name = format!("of-{token}");
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"of": token}});
        self.make(&format!("/api/v1/namespaces/{namespace}/configmaps"), map).await;
        for name in [name, format!("gp-{token}-beside")] {
            let rules = json!([{"apiGroups": [""], "resources": ["services"], "verbs": ["get"]}]);
            let version = "rbac.authorization.k8s.io/v1";
            let role =
                json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules});
            self.make(ROLES, role).await;
        }
    }
}

#[rstest]
#[case::as_expected("get", Outcome::Passed)]
#[case::otherwise("list", Outcome::Failed)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_target_makes_is_looked_at_and_left_alone(#[case] verb: &str, #[case] outcome: Outcome) {
    let testbed = Testbed::start(TestbedOptions::default()).await.unwrap();
    let api = connect(&Source::Text(testbed.kubeconfig())).await.unwrap();
    let target = TargetChoice::Running {
        kubeconfig: testbed.kubeconfig(),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        name: "shared".to_owned(),
    };
    let mut options = RunOptions::new(target, Arc::new(Contract::parse(GATEWAY_API).unwrap()));
    options.dial = vec![testbed.dial_rule().parse().unwrap()];
    options.preflight = false;
    options.bystander = Some(Arc::new(Target(api.clone())));
    let scenarios = parse("made.yaml", &SCENARIO.replace("VERB", verb), &Vocabulary::builtin()).unwrap();
    let output = run(options, scenarios, &mut Silent).await.unwrap();
    let [scenario] = &output.record.scenarios[..] else { panic!("{:#?}", output.record.scenarios) };
    assert_eq!(scenario.outcome, outcome, "{scenario:#?}");
    let roles = api.get(ROLES).await.unwrap();
    let left: Vec<_> =
        roles["items"].as_array().unwrap().iter().filter_map(|role| role["metadata"]["name"].as_str()).collect();
    let of_run = |name: &&&str| name.starts_with("of-") || name.starts_with("gp-");
    assert_eq!(left.iter().filter(of_run).count(), 2, "{left:?}");
    testbed.shutdown().await;
}
