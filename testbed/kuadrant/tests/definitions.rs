//! The definitions of the policies, and of what they depend on, against the official ones: equal as data, and by verdict where
//! rules say what is admitted.
//!
//! What needs the official ones looks for them under `$GATEPROOF_DATA`, by default `../shared` beside the workspace, and says so when
//! they are not there.
#![allow(clippy::unwrap_used)]

#[path = "definitions/below.rs"]
mod below;

use std::io::Write as _;
use std::path::Path;

use gateproof_apiserver::crds::{canonical, digest, parse_bundle};
use gateproof_apiserver::{Options, Server};
use gateproof_kuadrant::{Edition, definitions, definitions_of};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};

/// Digests of the canonical forms of the official definitions: digest and name on each line.
const COMMITTED: &str = include_str!("../crds/digests.txt");

const AUTHORINO: &str = "authorino-operator/9650cce26bca";
const CERT_MANAGER: &str = "cert-manager/2d0d7f7f7424";
const DNS: &str = "dns-operator/57b9db50aced";
const KUADRANT: &str = "kuadrant/ae698811cdbe";
const LIMITADOR: &str = "limitador-operator/7472d1cfde0e";

/// Every definition, and the repository and the commit of it that the official one is of.
const EQUAL: [(&str, &str); 12] = [
    ("authconfigs.authorino.kuadrant.io", AUTHORINO),
    ("authorinos.operator.authorino.kuadrant.io", AUTHORINO),
    ("authpolicies.kuadrant.io", KUADRANT),
    ("certificates.cert-manager.io", CERT_MANAGER),
    ("clusterissuers.cert-manager.io", CERT_MANAGER),
    ("dnspolicies.kuadrant.io", KUADRANT),
    ("dnsrecords.kuadrant.io", DNS),
    ("issuers.cert-manager.io", CERT_MANAGER),
    ("kuadrants.kuadrant.io", KUADRANT),
    ("limitadors.limitador.kuadrant.io", LIMITADOR),
    ("ratelimitpolicies.kuadrant.io", KUADRANT),
    ("tlspolicies.kuadrant.io", KUADRANT),
];

/// The official definitions, where they are at hand.
fn official() -> Option<Vec<Value>> {
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let root = workspace.join(std::env::var_os("GATEPROOF_DATA").unwrap_or_else(|| "../shared".into())).join("crds");
    if let Some((_, folder)) = EQUAL.iter().find(|(_, folder)| !root.join(folder).exists()) {
        // Outside of the capture of tests, for CI to count.
        let folder = root.join(folder);
        let skipped = format!("skipped: bundles: there are no official definitions in {}\n", folder.display());
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    }
    let read = |(name, folder): &(&str, &str)| {
        let (plural, _) = name.split_once('.').unwrap();
        let text = std::fs::read_to_string(root.join(folder).join(format!("{plural}.yaml"))).unwrap();
        let mut definitions = parse_bundle(&text).unwrap().definitions;
        for one in &mut definitions {
            // It has the name of the tool that wrote it alone.
            one["metadata"].as_object_mut().unwrap().remove("annotations");
        }
        definitions
    };
    Some(EQUAL.iter().flat_map(read).collect())
}

/// Ours, in that order.
fn ours() -> Vec<Value> {
    let mut all = definitions();
    all.sort_by(|a, b| a["metadata"]["name"].as_str().cmp(&b["metadata"]["name"].as_str()));
    all
}

fn lines(definitions: &[Value]) -> String {
    let line = |one: &Value| format!("{} {}\n", digest(one), one["metadata"]["name"].as_str().unwrap());
    definitions.iter().map(line).collect()
}

#[test]
fn ours_have_the_committed_digests() {
    assert_eq!(lines(&ours()), COMMITTED, "run with the official definitions to see what differs");
}

#[test]
fn the_official_ones_have_the_committed_digests() {
    let Some(official) = official() else { return };
    assert_eq!(lines(&official), COMMITTED);
}

/// Where two values differ.
fn differences(at: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let (one, other) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                differences(&format!("{at}.{key}"), one, other, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{at}: ours is {ours}, the official one {theirs}")),
    }
}

#[test]
fn ours_equal_the_official_ones() {
    let Some(official) = official() else { return };
    let mut found = Vec::new();
    for (ours, theirs) in ours().iter().zip(&official) {
        let name = ours["metadata"]["name"].as_str().unwrap();
        differences(name, &canonical(ours), &canonical(theirs), &mut found);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn only_the_edition_of_the_design_has_ancestors() {
    let with =
        |definitions: Vec<Value>| definitions.iter().filter(|one| one.to_string().contains("\"ancestors\"")).count();
    assert_eq!(
        (with(definitions()), with(definitions_of(Edition::Current)), with(definitions_of(Edition::Design))),
        (0, 0, 4)
    );
}

/// What a kind admits and what not: what was there before, if anything was, and what is written.
struct Sample {
    kind: &'static str,
    plural: &'static str,
    old: Option<Value>,
    new: Value,
    admitted: bool,
}

fn target(group: &str, kind: &str) -> Value {
    json!({"group": group, "kind": kind, "name": "t"})
}

fn with(mut spec: Value, more: Value) -> Value {
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec
}

/// On both sides of every rule.
fn samples() -> Vec<Sample> {
    let group = "gateway.networking.k8s.io";
    let (gw, route) = (target(group, "Gateway"), target(group, "HTTPRoute"));
    let mut all = Vec::new();
    let mut add = |(kind, plural): (&'static str, &'static str), old: Option<Value>, new: Value, admitted: bool| {
        all.push(Sample { kind, plural, old, new, admitted });
    };
    let limits = json!({"l": {"rates": [{"limit": 1, "window": "10s"}]}});
    let rules = json!({"authentication": {"a": {"anonymous": {}}}});
    let when = json!([{"predicate": "true"}]);
    let (auth, rate) = (("AuthPolicy", "authpolicies"), ("RateLimitPolicy", "ratelimitpolicies"));
    let (tls, dns) = (("TLSPolicy", "tlspolicies"), ("DNSPolicy", "dnspolicies"));
    for (kind, rest) in [
        (auth, json!({"rules": rules})),
        (rate, json!({"limits": limits})),
        (tls, json!({"issuerRef": {"name": "i"}})),
        (dns, json!({})),
    ] {
        let takes_routes = kind == auth || kind == rate;
        add(kind, None, with(json!({"targetRef": gw}), rest.clone()), true);
        add(kind, None, with(json!({"targetRef": route}), rest.clone()), takes_routes);
        add(kind, None, with(json!({"targetRef": target(group, "GRPCRoute")}), rest.clone()), takes_routes);
        add(kind, None, with(json!({"targetRef": target(group, "TCPRoute")}), rest.clone()), false);
        add(kind, None, with(json!({"targetRef": target("apps", "Gateway")}), rest.clone()), false);
        add(kind, None, rest, false);
    }
    for (kind, part, some) in [(auth, "rules", &rules), (rate, "limits", &limits)] {
        let merged = json!({part: some, "strategy": "merge"});
        let on = |more: Value| with(json!({"targetRef": route}), more);
        add(kind, None, on(json!({})), false);
        add(kind, None, on(json!({part: {}})), false);
        add(kind, None, on(json!({"defaults": {}})), false);
        add(kind, None, on(json!({"overrides": {}})), false);
        add(kind, None, on(json!({"defaults": {part: {}}})), false);
        add(kind, None, on(json!({"overrides": {part: {}}})), false);
        add(kind, None, on(json!({"defaults": merged})), true);
        add(kind, None, on(json!({"overrides": merged})), true);
        add(kind, None, on(json!({"defaults": merged, "overrides": merged})), false);
        add(kind, None, on(json!({"defaults": merged, part: some})), false);
        add(kind, None, on(json!({"overrides": merged, part: some})), false);
        add(kind, None, on(json!({"overrides": with(merged.clone(), json!({"strategy": "other"}))})), false);
        add(kind, None, on(json!({part: some, "when": when})), true);
        // Of limits the predicates of the policy itself may stand beside defaults, where they mean nothing.
        add(kind, None, on(json!({"defaults": merged, "when": when})), kind == rate);
        add(kind, None, on(json!({"overrides": merged, "when": when})), kind == rate);
        add(kind, None, on(json!({part: some, "when": [{"predicate": ""}]})), false);
    }
    let auth_with = |rules: Value| json!({"targetRef": route, "rules": rules});
    add(auth, None, auth_with(json!({"authentication": {}})), false);
    add(auth, None, auth_with(json!({"response": {}})), false);
    add(auth, None, auth_with(json!({"response": {"unauthorized": {"code": 404}}})), true);
    add(auth, None, auth_with(json!({"response": {"unauthenticated": {"code": 200}}})), false);
    add(
        auth,
        None,
        auth_with(json!({"authorization": {"a": {"patternMatching": {"patterns": [{"predicate": "true"}]}}}})),
        true,
    );
    add(
        auth,
        None,
        json!({"targetRef": route, "rules": rules, "patterns": {"p": {"allOf": [{"predicate": "true"}]}}}),
        true,
    );
    add(auth, None, json!({"targetRef": route, "defaults": {"rules": rules}, "patterns": {"p": {"allOf": []}}}), false);
    let keys = |jwt: Value| auth_with(json!({"authentication": {"a": {"jwt": jwt}}}));
    for (issuer, url, admitted) in
        [("", "", true), ("https://a", "", true), ("", "https://b", true), ("https://a", "https://b", false)]
    {
        add(auth, None, keys(json!({"issuerUrl": issuer, "jwksUrl": url})), admitted);
        let user = json!({"identitySource": issuer, "userInfoUrl": url});
        add(auth, None, auth_with(json!({"metadata": {"m": {"userInfo": user}}})), admitted);
    }
    add(auth, None, keys(json!({"issuerUrl": "https://a"})), true);
    add(auth, None, keys(json!({})), true);
    let certified =
        |source: Value| auth_with(json!({"authentication": {"a": {"x509": {"selector": {}, "source": source}}}}));
    for field in ["xfccHeader", "clientCertHeader", "expression"] {
        add(auth, None, certified(json!({field: "x"})), true);
    }
    add(auth, None, certified(json!({})), true);
    add(auth, None, certified(json!({"xfccHeader": "x", "clientCertHeader": "y"})), false);
    add(auth, None, certified(json!({"xfccHeader": "x", "expression": "y"})), false);
    add(auth, None, certified(json!({"clientCertHeader": "x", "expression": ""})), false);
    let wristband = |algorithm: &str| {
        let band = json!({"issuer": "i", "signingKeyRefs": [{"name": "k", "algorithm": algorithm}]});
        auth_with(json!({"response": {"success": {"headers": {"h": {"wristband": band}}}}}))
    };
    add(auth, None, wristband("ES256"), true);
    add(auth, None, wristband("none"), false);
    for value in [json!("text"), json!(1), json!({"a": [true]})] {
        add(
            auth,
            None,
            auth_with(json!({"response": {"success": {"headers": {"h": {"plain": {"value": value}}}}}})),
            true,
        );
    }
    let rate_with = |limit: Value| json!({"targetRef": route, "limits": {"l": limit}});
    add(rate, None, rate_with(json!({})), true);
    add(rate, None, rate_with(json!({"rates": [{"limit": -1, "window": "1h30m"}]})), true);
    add(rate, None, rate_with(json!({"rates": [{"limit": 1, "window": "ten"}]})), false);
    add(rate, None, rate_with(json!({"rates": [{"limit": 1}]})), false);
    add(rate, None, rate_with(json!({"counters": [{"expression": ""}]})), false);
    let tls_with = |more: Value| with(json!({"targetRef": gw, "issuerRef": {"name": "i"}}), more);
    add(tls, None, json!({"targetRef": gw}), false);
    for (kind, admitted) in [("Issuer", true), ("ClusterIssuer", true), ("Vault", false), ("", false)] {
        add(tls, None, tls_with(json!({"issuerRef": {"name": "i", "kind": kind}})), admitted);
    }
    add(tls, None, tls_with(json!({"usages": ["server auth"]})), true);
    add(tls, None, tls_with(json!({"usages": ["cooking"]})), false);
    add(
        tls,
        None,
        tls_with(
            json!({"privateKey": {"algorithm": "RSA", "size": 2048, "encoding": "PKCS8", "rotationPolicy": "Always"}}),
        ),
        true,
    );
    add(tls, None, tls_with(json!({"privateKey": {"algorithm": "DSA"}})), false);
    add(tls, None, tls_with(json!({"revisionHistoryLimit": 0})), true);
    let dns_with = |more: Value| with(json!({"targetRef": gw}), more);
    let provider = json!([{"name": "p"}]);
    add(dns, None, dns_with(json!({"providerRefs": provider})), true);
    add(dns, None, dns_with(json!({"providerRefs": [{"name": "p"}, {"name": "q"}]})), false);
    add(dns, None, dns_with(json!({"delegate": true})), true);
    add(dns, None, dns_with(json!({"delegate": true, "providerRefs": provider})), false);
    add(dns, None, dns_with(json!({"delegate": true, "providerRefs": []})), false);
    add(dns, None, dns_with(json!({"delegate": false, "providerRefs": provider})), true);
    let delegates = |value: Option<bool>| dns_with(value.map_or(json!({}), |value| json!({"delegate": value})));
    for (old, new, admitted) in [
        (None, Some(true), false),
        (None, Some(false), true),
        (Some(true), None, false),
        (Some(true), Some(false), false),
        (Some(true), Some(true), true),
        (Some(false), Some(true), false),
        (Some(false), None, true),
    ] {
        add(dns, Some(delegates(old)), delegates(new), admitted);
    }
    for (port, admitted) in
        [(80, true), (443, true), (1023, false), (1024, true), (49151, true), (49152, false), (8, false), (444, false)]
    {
        add(dns, None, dns_with(json!({"healthCheck": {"port": port}})), admitted);
    }
    for (field, value, admitted) in [
        ("protocol", json!("HTTP"), true),
        ("protocol", json!("HTTPS"), true),
        ("protocol", json!("TCP"), false),
        ("failureThreshold", json!(1), true),
        ("failureThreshold", json!(0), false),
        ("failureThreshold", json!(-1), false),
        ("path", json!("/health"), true),
        ("path", json!("health"), false),
        ("additionalHeadersRef", json!({}), false),
    ] {
        add(dns, None, dns_with(json!({"healthCheck": {field: value}})), admitted);
    }
    add(dns, None, dns_with(json!({"loadBalancing": {"geo": "EU", "defaultGeo": true}})), true);
    add(dns, None, dns_with(json!({"loadBalancing": {"geo": "E", "defaultGeo": true}})), false);
    add(dns, None, dns_with(json!({"loadBalancing": {"geo": "EU"}})), false);
    add(dns, None, dns_with(json!({"loadBalancing": {"defaultGeo": true}})), false);
    add(dns, None, dns_with(json!({"loadBalancing": {"weight": -5, "geo": "EU", "defaultGeo": false}})), true);
    all
}

/// The samples of which the definitions say something else than is written there.
async fn surprises(crds: Vec<Value>) -> Vec<String> {
    let known = crds.clone();
    let server = Server::start(Options { crds, ..Options::default() }).await.unwrap();
    let client = Client::new(server.service(), "default");
    let mut surprises = Vec::new();
    for (index, Sample { kind, plural, old, new, admitted }) in
        samples().into_iter().chain(below::samples()).enumerate()
    {
        let spec = &known.iter().find(|one| one["spec"]["names"]["plural"] == plural).unwrap()["spec"];
        let (group, version) = (spec["group"].as_str().unwrap(), spec["versions"][0]["name"].as_str().unwrap());
        let kind_of = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind_of, plural);
        let api: Api<DynamicObject> = match spec["scope"].as_str() {
            Some("Cluster") => Api::all_with(client.clone(), &resource),
            _ => Api::namespaced_with(client.clone(), "default", &resource),
        };
        let name = format!("s{index}");
        let object = |spec: &Value, version: Option<String>| -> DynamicObject {
            let metadata = json!({"name": name, "resourceVersion": version});
            let object = json!({"apiVersion": resource.api_version, "kind": kind, "metadata": metadata, "spec": spec});
            serde_json::from_value(object).unwrap()
        };
        let outcome = match &old {
            None => api.create(&PostParams::default(), &object(&new, None)).await,
            Some(old) => {
                let before = api.create(&PostParams::default(), &object(old, None)).await.unwrap();
                api.replace(&name, &PostParams::default(), &object(&new, before.metadata.resource_version)).await
            }
        };
        let is_admitted = match outcome {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if status.code == 422 => false,
            Err(error) => panic!("{kind} {new}: {error}"),
        };
        if is_admitted != admitted {
            surprises.push(format!("{kind} {new} after {old:?}: admitted is {is_admitted}"));
        }
    }
    server.shutdown().await;
    surprises
}

#[tokio::test]
async fn ours_admit_what_the_official_ones_admit() {
    assert_eq!(surprises(definitions()).await, [""; 0]);
}

#[tokio::test]
async fn the_official_ones_admit_what_is_written_here() {
    let Some(official) = official() else { return };
    assert_eq!(surprises(official).await, [""; 0]);
}
