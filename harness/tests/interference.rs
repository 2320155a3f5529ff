//! What others do to what a run made says nothing of the target: whoever else works in the cluster, the plain reference is never
//! blamed, and what cannot be told is not called good. Nor does what one scenario leaves behind say anything of the next one's.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use gateproof::cluster::api::Api;
use gateproof::cluster::connect::{Source, connect};
use gateproof::dialects::Reference;
use gateproof::judge::contract::{Contract, GATEWAY_API};
use gateproof::run::{Bystander, Keep, RunOptions, RunOutput, Silent, TargetChoice, run};
use gateproof::scenario::{Scenario, Vocabulary, load, parse};
use gateproof_report::record::Outcome;
use gateproof_testbed::{Behaviour, Testbed, TestbedOptions};
use http::Method;
use rstest::rstest;
use serde_json::json;

const SCENARIO: &str = "httproute-missing-backend";
/// It settles the route there, and probes it in the next step.
const STEP: usize = 1;

/// No scenario of ours needs a pool Gateway with TLS; one of a user's may.
const OVER_TLS: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: over-tls}
spec:
  summary: A route is served over TLS.
  features: [Gateway, HTTPRoute]
  gateways: {gw: https}
  backends: [echo]
  steps:
    - apply:
        - apiVersion: gateway.networking.k8s.io/v1
          kind: HTTPRoute
          metadata: {name: route}
          spec:
            parentRefs: ["${gw}"]
            hostnames: ["${host}"]
            rules: [{backendRefs: [{name: echo, port: 8080}]}]
    - settle: {HTTPRoute/route: {Accepted: "True"}}
    - probe: {get: "https://${host}/", expect: {backend: echo}}
"#;

#[derive(Debug, Clone, Copy)]
enum Deed {
    DeletesBackend,
    DeletesSlice,
    EditsRoute,
    DeletesRoute,
    DeletesNamespace,
    DeletesPool,
    DeletesCertificate,
    MakesRouteAnew,
    MakesRouteBeside,
    AddsToRoute,
    AddsToClass,
    EditsDefinition,
    DeletesDefinition,
}

/// Somebody else in the cluster.
struct Other {
    api: Api,
    deed: Deed,
    done: AtomicU32,
}

impl std::fmt::Debug for Other {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.deed)
    }
}

impl Other {
    async fn list(&self, collection: &str) -> Vec<serde_json::Value> {
        let mut list = self.api.get(collection).await.unwrap();
        list["items"].as_array_mut().map(std::mem::take).unwrap()
    }

    /// The first object of a collection that the run made.
    async fn own(&self, collection: &str) -> (String, serde_json::Value) {
        let items = self.list(&format!("{collection}?labelSelector=gateproof.dev/scenario")).await;
        let object = items.into_iter().next().unwrap();
        let text = |at: &str| object.pointer(at).unwrap().as_str().unwrap().to_owned();
        let (root, plural) = collection.rsplit_once('/').unwrap();
        (format!("{root}/namespaces/{}/{plural}/{}", text("/metadata/namespace"), text("/metadata/name")), object)
    }

    async fn call(&self, method: Method, path: &str, body: Option<serde_json::Value>) {
        let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let reply =
            self.api.call(method, &format!("{path}?fieldManager=somebody-else"), Some(media), body).await.unwrap();
        assert!(reply.code < 300, "{}", reply.body);
        self.done.fetch_add(1, Ordering::SeqCst);
    }

    async fn act(&self) {
        const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        const ROUTES: &str = "/apis/gateway.networking.k8s.io/v1/httproutes";
        match self.deed {
            Deed::DeletesBackend => self.call(Method::DELETE, &self.own("/api/v1/services").await.0, None).await,
            Deed::DeletesSlice => {
                let (path, _) = self.own("/apis/discovery.k8s.io/v1/endpointslices").await;
                self.call(Method::DELETE, &path, None).await;
            }
            Deed::DeletesRoute => self.call(Method::DELETE, &self.own(ROUTES).await.0, None).await,
            Deed::EditsRoute => {
                let patch = json!({"spec": {"hostnames": ["elsewhere.example.com"]}});
                self.call(Method::PATCH, &self.own(ROUTES).await.0, Some(patch)).await;
            }
            Deed::MakesRouteAnew => {
                let (path, mut route) = self.own(ROUTES).await;
                self.call(Method::DELETE, &path, None).await;
                for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"] {
                    route["metadata"].as_object_mut().unwrap().remove(field);
                }
                route.as_object_mut().unwrap().remove("status");
                self.call(Method::POST, path.rsplit_once('/').unwrap().0, Some(route)).await;
            }
            Deed::MakesRouteBeside => {
                let (path, mut route) = self.own(ROUTES).await;
                route["metadata"] = json!({"name": "beside"});
                route.as_object_mut().unwrap().remove("status");
                self.call(Method::POST, path.rsplit_once('/').unwrap().0, Some(route)).await;
            }
            Deed::AddsToRoute => {
                let (path, mut route) = self.own(ROUTES).await;
                route["spec"]["parentRefs"][0]["sectionName"] = json!("elsewhere");
                let patch = json!({"spec": {"parentRefs": route["spec"]["parentRefs"]}});
                self.call(Method::PATCH, &path, Some(patch)).await;
            }
            Deed::AddsToClass => {
                let parameters = json!({"group": "example.com", "kind": "Parameters", "name": "none"});
                let patch = json!({"spec": {"parametersRef": parameters}});
                let path = "/apis/gateway.networking.k8s.io/v1/gatewayclasses/gateproof";
                self.call(Method::PATCH, path, Some(patch)).await;
            }
            Deed::EditsDefinition => {
                let patch = json!({"spec": {"names": {"categories": ["routes"]}}});
                let path = format!("{DEFINITIONS}/httproutes.gateway.networking.k8s.io");
                self.call(Method::PATCH, &path, Some(patch)).await;
            }
            // What the scenario does not use.
            Deed::DeletesDefinition => {
                let path = format!("{DEFINITIONS}/tcproutes.gateway.networking.k8s.io");
                self.call(Method::DELETE, &path, None).await;
            }
            Deed::DeletesCertificate => {
                let secrets = self.list("/api/v1/secrets?labelSelector=gateproof.dev/pool").await;
                let text = |name: &str| secrets[0]["metadata"][name].as_str().unwrap().to_owned();
                let path = format!("/api/v1/namespaces/{}/secrets/{}", text("namespace"), text("name"));
                self.call(Method::DELETE, &path, None).await;
            }
            Deed::DeletesNamespace | Deed::DeletesPool => {
                let pool = matches!(self.deed, Deed::DeletesPool);
                let mut namespaces = self.list("/api/v1/namespaces?labelSelector=gateproof.dev/run").await;
                namespaces.retain(|one| one["metadata"]["name"].as_str().unwrap().ends_with("-pool") == pool);
                let name = namespaces[0]["metadata"]["name"].as_str().unwrap();
                self.call(Method::DELETE, &format!("/api/v1/namespaces/{name}"), None).await;
            }
        }
    }
}

#[async_trait]
impl Bystander for Other {
    async fn at_step(&self, _: &Scenario, step: usize) {
        if step == STEP {
            self.act().await;
        }
    }
}

async fn disturbed(deed: Deed, behaviour: Behaviour) -> (RunOutput, u32) {
    let testbed = Testbed::start(TestbedOptions { behaviour, ..TestbedOptions::default() }).await.unwrap();
    let api = connect(&Source::Text(testbed.kubeconfig())).await.unwrap();
    let other = Arc::new(Other { api, deed, done: AtomicU32::new(0) });
    let target = TargetChoice::Running {
        kubeconfig: testbed.kubeconfig(),
        gateway_class: Some(testbed.gateway_class().to_owned()),
        name: "shared".to_owned(),
    };
    let mut options = RunOptions::new(target, Arc::new(Contract::parse(GATEWAY_API).unwrap()));
    options.dial = vec![testbed.dial_rule().parse().unwrap()];
    options.preflight = false;
    options.bystander = Some(Arc::clone(&other) as Arc<dyn Bystander>);
    let vocabulary = Vocabulary::builtin();
    let mut scenarios = match deed {
        Deed::DeletesCertificate => parse("over-tls.yaml", OVER_TLS, &vocabulary).unwrap(),
        _ => load::builtin(&vocabulary).unwrap(),
    };
    scenarios.retain(|scenario| [SCENARIO, "over-tls"].contains(&&*scenario.name));
    let output = run(options, scenarios, &mut Silent).await.unwrap();
    testbed.shutdown().await;
    (output, other.done.load(Ordering::SeqCst))
}

#[rstest]
#[case::backend(Deed::DeletesBackend, "Service/", "deleted")]
#[case::slice(Deed::DeletesSlice, "EndpointSlice/", "deleted")]
#[case::edit(Deed::EditsRoute, "HTTPRoute/", "changed at spec.hostnames[0] by somebody-else")]
#[case::route(Deed::DeletesRoute, "HTTPRoute/", "deleted by nobody known")]
#[case::anew(Deed::MakesRouteAnew, "HTTPRoute/", "deleted")]
#[case::namespace(Deed::DeletesNamespace, "/gp-", "deleted")]
#[case::pool(Deed::DeletesPool, "-pool", "deleted")]
#[case::beside(Deed::MakesRouteBeside, "/beside", "made in a namespace of the scenario by somebody-else")]
#[case::addition(Deed::AddsToRoute, "HTTPRoute/", "added to by somebody-else")]
#[case::parameters_of_the_class(Deed::AddsToClass, "GatewayClass/", "added to by somebody-else")]
#[case::definition(Deed::EditsDefinition, "httproutes", "changed at metadata.generation")]
#[case::another_definition(Deed::DeletesDefinition, "tcproutes", "deleted by nobody known")]
#[case::certificate(Deed::DeletesCertificate, "Secret/", "deleted by nobody known")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_do_is_nobodys_failure_and_nobodys_success(
    #[case] deed: Deed,
    #[case] object: &str,
    #[case] what: &str,
) {
    let faulty = Behaviour::of(Some("reports-removed-backends-as-resolved")).unwrap();
    let (plain, faulty) = tokio::join!(disturbed(deed, Behaviour::Plain), disturbed(deed, faulty));
    for (output, done) in [plain, faulty] {
        assert!(done > 0, "{deed:?} did not happen");
        let scenario = &output.record.scenarios[0];
        assert_eq!(scenario.outcome, Outcome::Inconclusive, "{scenario:#?}");
        let reason = scenario.reason.as_deref().unwrap();
        assert!(reason.contains(object) && reason.contains(what), "{reason}");
        let broken: Vec<_> = output.record.contract.iter().filter(|rule| !rule.breaches.is_empty()).collect();
        assert!(broken.is_empty(), "{broken:#?}");
    }
}

/// Of the Gateways of the pool that one scenario at a time has for itself nobody gets one with the routes of another on it: they would
/// answer for what he asks.
#[rstest]
#[case::kept(Keep::OnFailure, 2, Outcome::Passed)]
#[case::kept_on_the_only_one(Keep::OnFailure, 1, Outcome::Inconclusive)]
#[case::removed(Keep::Never, 1, Outcome::Passed)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_of_one_is_not_held_against_the_next(
    #[case] keep: Keep,
    #[case] gateways: usize,
    #[case] expected: Outcome,
) {
    let target = TargetChoice::embedded(Reference::GatewayApi, Some("deaf-to-service-removal".to_owned()));
    let mut options = RunOptions::new(target, Arc::new(Contract::parse(GATEWAY_API).unwrap()));
    (options.keep, options.jobs, options.max_gateways) = (keep, 1, gateways);
    let mut scenarios = load::builtin(&Vocabulary::builtin()).unwrap();
    let names = ["tcproute-missing-backend", "tcproute-simple"];
    scenarios.retain(|scenario| names.contains(&&*scenario.name));
    let output = run(options, scenarios, &mut Silent).await.unwrap();
    let of = |name: &str| output.record.scenarios.iter().find(|one| one.name == name).unwrap();
    assert_eq!(of(names[0]).outcome, Outcome::Failed, "{:#?}", of(names[0]));
    let next = of(names[1]);
    assert_eq!(next.outcome, expected, "{next:#?}");
    let told = next.reason.as_deref().is_some_and(|reason| reason.contains("left of tcproute-missing-backend"));
    assert_eq!(told, expected == Outcome::Inconclusive, "{next:#?}");
}
