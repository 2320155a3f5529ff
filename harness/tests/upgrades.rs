//! From one release to another: what is asked at both, what a recorded run tells of the other, and what has to be run.
#![allow(clippy::unwrap_used)]

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gateproof::dialects::{Change, Dialect, Minor};
use gateproof_apiserver::crds::parse_bundle;
use process::{Ended, run};
use rstest::rstest;
use serde_json::{Value, json};

/// The last patch of each release.
const RELEASES: [&str; 8] = ["v1.0.0", "v1.1.1", "v1.2.1", "v1.3.0", "v1.4.1", "v1.5.1", "v1.6.3", "v1.7.0"];
const CHANNELS: [&str; 2] = ["standard", "experimental"];
/// As a server prefers them.
const VERSIONS: [&str; 5] = ["v1", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1"];
/// What says the same in other words: kind, release and place.
const THE_SAME: [(&str, &str, &str); 1] = [("Gateway", "v1.2", "spec.listeners[].protocol")];

/// A scenario of a route, with the rules of it.
fn scenario(name: &str, rules: &str) -> String {
    format!(
        r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {{name: {name}}}
spec:
  summary: A route is served.
  features: [Gateway, HTTPRoute]
  gateways: {{gw: http}}
  backends: [echo]
  steps:
    - apply:
        - apiVersion: gateway.networking.k8s.io/v1
          kind: HTTPRoute
          metadata: {{name: route}}
          spec: {{parentRefs: ["${{gw}}"], hostnames: ["${{host}}"], rules: {rules}}}
    - settle: {{HTTPRoute/route: {{Accepted: "True/Accepted"}}}}
      proves: [GEP1364-47]
"#
    )
}

const PLAIN: &str = "[{name: one, backendRefs: [{name: echo, port: 8080}]}]";

/// Where official bundles are; nothing, and a word about it, if there are none.
fn bundles() -> Option<PathBuf> {
    let data = std::env::var_os("GATEPROOF_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"));
    let dir = data.join("crds/gateway-api");
    if dir.is_dir() {
        return Some(dir);
    }
    process::skipped("bundles", &format!("there are no official bundles in {}", dir.display()));
    None
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {}", ended.said()))
}

/// What has to be run, with the reasons.
fn must_be_run(dir: &Path, release: &str, further: &[&str]) -> BTreeMap<String, String> {
    let words =
        [&["replay", "gateproof-report", "--gateway-api-version", release, "--format", "json"], further].concat();
    let document = json(&run(dir, &words));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = document["mustBeRun"].as_array().unwrap().iter();
    all.map(|one| (text(&one["scenario"]), text(&one["why"]))).collect()
}

#[rstest]
#[case::run(&["run", "httproute-simple", "--gateway-api-version", "v9.9"], "--gateway-api-version: there is no release v9.9.0")]
#[case::plan(&["plan", "--gateway-api-version", "1.70"], "--gateway-api-version: there is no release v1.70.0")]
#[case::compare(&["plan", "--compare", "v0.5,v1.7"], "--compare: there is no release v0.5.0")]
#[case::compare_to(&["plan", "--compare", "v1.7,v1.8"], "--compare: there is no release v1.8.0")]
#[case::replay(&["replay", "gateproof-report", "--gateway-api-version", "v1.8"], "--gateway-api-version: there is no release v1.8.0")]
fn releases_that_there_are_not_are_refused(#[case] words: &[&str], #[case] problem: &str) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("gateproof-report")).unwrap();
    std::fs::write(dir.path().join("gateproof-report/events.jsonl"), "").unwrap();
    let ended = run(dir.path(), words);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    for part in [problem, "known are v1.0, v1.1,"] {
        assert!(ended.said().contains(part), "no `{part}` in: {}", ended.said());
    }
}

/// What definitions of the other release take otherwise has to be run; what none of them minds, and what nobody selected, need not.
#[test]
fn what_a_record_tells_of_the_release_before() {
    let dir = tempfile::tempdir().unwrap();
    let rules =
        |attempts: &str| format!("[{{name: one, retry: {{{attempts}}}, backendRefs: [{{name: echo, port: 8080}}]}}]");
    let all = [
        ("httproute-my-plain", PLAIN.to_owned()),
        ("httproute-my-retry", rules("attempts: 2")),
        ("httproute-my-no-retry", rules("attempts: 0")),
        ("httproute-my-default-retry", rules("codes: [500]")),
    ];
    let text: Vec<String> = all.iter().map(|(name, rules)| scenario(name, rules)).collect();
    std::fs::write(dir.path().join("own.yaml"), text.join("---")).unwrap();
    let ended = run(dir.path(), &["run", "-f", "own.yaml", "--gateway-api-version", "v1.6"]);
    assert!(ended.said().contains("4 passed"), "{}", ended.said());
    // The definitions of that run are of v1.7, whatever it was judged by.
    let why = |steps: &str| {
        format!("steps[0] writes HTTPRoute spec.rules[0].{steps}, which definitions take otherwise from v1.7 on")
    };
    let expected = BTreeMap::from([
        ("httproute-my-no-retry".to_owned(), why("retry.attempts")),
        ("httproute-my-default-retry".to_owned(), why("retry")),
    ]);
    assert_eq!(must_be_run(dir.path(), "v1.6", &["-f", "own.yaml"]), expected);
    assert_eq!(must_be_run(dir.path(), "v1.7", &["-f", "own.yaml"]), BTreeMap::new());
    let told = run(dir.path(), &["replay", "gateproof-report", "-f", "own.yaml", "--gateway-api-version", "v1.6"]);
    for part in [
        "2 passed, 0 failed, 2 must be run to be known in",
        "recorded at v1.6.0, with definitions of v1.7.0 in the experimental channel",
    ] {
        assert!(told.out.contains(part), "no `{part}` in: {}", told.out);
    }
}

/// Rules are held against every write, and fields that were not known were refused.
#[test]
fn what_v1_7_refuses_or_knows_is_run_again() {
    let Some(bundles) = bundles() else { return };
    let dir = tempfile::tempdir().unwrap();
    let twice = "[{name: one, matches: [{path: {value: /a}}], backendRefs: [{name: echo, port: 8080}]}, {name: one, backendRefs: [{name: echo, port: 8080}]}]";
    let retry = "[{retry: {attempts: 3, codes: [500]}, backendRefs: [{name: echo, port: 8080}]}]";
    let all = [("httproute-my-plain", PLAIN), ("httproute-my-twice", twice), ("httproute-my-retry", retry)];
    let text: Vec<String> = all.iter().map(|(name, rules)| scenario(name, rules)).collect();
    std::fs::write(dir.path().join("own.yaml"), text.join("---")).unwrap();
    let crds = bundles.join("v1.6.3/standard.yaml").display().to_string();
    let ended = run(dir.path(), &["run", "-f", "own.yaml", "--crds", &crds]);
    assert!(ended.said().contains("2 passed, 0 failed, 1 inconclusive"), "{}", ended.said());
    let why = |place: &str| format!("steps[0] writes HTTPRoute {place}, which definitions take otherwise from v1.7 on");
    let expected = BTreeMap::from([
        ("httproute-my-twice".to_owned(), why("spec.rules")),
        ("httproute-my-retry".to_owned(), why("spec.rules[0].retry")),
    ]);
    assert_eq!(must_be_run(dir.path(), "v1.7", &["-f", "own.yaml"]), expected);
}

/// Kinds that come into a channel bring their scenarios with them, as far as they were selected.
#[test]
fn new_kinds_of_a_channel_are_named() {
    let Some(bundles) = bundles() else { return };
    let dir = tempfile::tempdir().unwrap();
    let crds = bundles.join("v1.5.1/standard.yaml").display().to_string();
    let ended = run(dir.path(), &["run", "tcproute-simple", "udproute-simple", "httproute-simple", "--crds", &crds]);
    assert!(ended.said().contains("1 passed, 0 failed, 2 not supported"), "{}", ended.said());
    let why = |kind: &str| format!("the standard channel of v1.5.1 has no {kind}");
    let expected = BTreeMap::from([
        ("tcproute-simple".to_owned(), why("TCPRoute")),
        ("udproute-simple".to_owned(), why("UDPRoute")),
    ]);
    assert_eq!(must_be_run(dir.path(), "v1.6", &[]), expected);
}

#[test]
fn a_comparison_knows_the_kinds_of_a_channel() {
    let dir = tempfile::tempdir().unwrap();
    let compared = |releases: &str| {
        let ended = run(
            dir.path(),
            &["plan", "tcproute-simple", "httproute-simple", "--compare", releases, "--format", "json"],
        );
        json(&ended)
    };
    let tcp = json!([{"scenario": "tcproute-simple", "onlyAt": "v1.6.0", "channel": "standard"}]);
    assert_eq!(compared("v1.5,v1.6"), tcp);
    assert_eq!(compared("v1.6,v1.7"), json!([]));
}

/// A release newer than the definitions asks for values that these do not have, and for less than they demand.
#[rstest]
#[case::value(
    "v1.4.1",
    "v1.5",
    "httproute-redirect-303",
    "requestRedirect.statusCode: 303, and the definitions are of v1.4.1"
)]
#[case::demanded(
    "v1.2.1",
    "v1.7",
    "gateway-address-of-any-value",
    "spec.addresses[0] without value, and the definitions are of v1.2.1"
)]
#[case::rule(
    "v1.3.0",
    "v1.7",
    "gateway-address-of-any-value",
    "spec.addresses[0], which definitions take otherwise from v1.4 on, and the definitions are of v1.3.0"
)]
fn what_definitions_have_no_place_for_is_not_supported(
    #[case] installed: &str,
    #[case] judged: &str,
    #[case] scenario: &str,
    #[case] why: &str,
) {
    let Some(bundles) = bundles() else { return };
    let dir = tempfile::tempdir().unwrap();
    let crds = bundles.join(installed).join("standard.yaml").display().to_string();
    let words =
        ["plan", scenario, "--all-features", "--crds", &crds, "--gateway-api-version", judged, "--format", "json"];
    let plan = json(&run(dir.path(), &words));
    assert_eq!(plan[0]["decision"], "not supported", "{plan}");
    assert!(plan[0]["reason"].as_str().unwrap().ends_with(&format!("{why} in the standard channel")), "{plan}");
}

/// Whether a condition type is one of a later release makes a difference to nobody.
#[test]
fn a_condition_of_a_later_release_is_not_made_up() {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &["run", "gateway-address-*", "--gateway-api-version", "v1.6"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(!ended.said().contains("type-prefixed"), "{}", ended.said());
}

/// Everything that a schema says of what may stand in each place.
fn places(schema: &Value, path: &str, all: &mut BTreeMap<String, Value>) {
    let says = schema.as_object().into_iter().flatten().filter(|(name, _)| {
        let is_bound = name.starts_with("min") || name.starts_with("max");
        is_bound || matches!(&***name, "enum" | "pattern" | "type" | "default" | "nullable")
    });
    let mut says: serde_json::Map<String, Value> = says.map(|(name, value)| (name.clone(), value.clone())).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten().map(|rule| text(&rule["rule"]));
    // Of the ways to merge, those count that refuse what is there twice.
    let list = schema["x-kubernetes-list-type"].as_str().filter(|list| *list != "atomic");
    says.insert("list".to_owned(), json!([list, schema["x-kubernetes-list-map-keys"]]));
    says.insert("rules".to_owned(), json!(rules.collect::<BTreeSet<_>>()));
    let required = schema["required"].as_array().into_iter().flatten().map(&text);
    says.insert("required".to_owned(), json!(required.collect::<BTreeSet<_>>()));
    all.insert(path.to_owned(), Value::Object(says));
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        places(inner, &format!("{path}.{name}"), all);
    }
    for (name, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[name].is_object() {
            places(&schema[name], &format!("{path}{suffix}"), all);
        }
    }
}

/// By kind, the places of its spec at the version that a server prefers.
type Kinds = BTreeMap<String, BTreeMap<String, Value>>;

fn kinds(bundle: &Path) -> Kinds {
    let definitions = parse_bundle(&std::fs::read_to_string(bundle).unwrap()).unwrap().definitions;
    let of = |definition: &Value| {
        let versions = definition["spec"]["versions"].as_array().unwrap();
        let served = |name: &&str| versions.iter().any(|one| one["name"] == **name && one["served"] == true);
        let name = VERSIONS.iter().find(|name| served(name)).unwrap();
        let version = versions.iter().find(|one| one["name"] == **name).unwrap();
        let mut all = BTreeMap::new();
        places(&version["schema"]["openAPIV3Schema"]["properties"]["spec"], "spec", &mut all);
        (definition["spec"]["names"]["kind"].as_str().unwrap().to_owned(), all)
    };
    definitions.iter().map(of).collect()
}

/// Where one of two has something else to say, and the highest places that one alone has.
fn differing(before: &BTreeMap<String, Value>, after: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let is_in_both = |path: &str| before.contains_key(path) && after.contains_key(path);
    let parent = |path: &str| {
        let path = path.trim_end_matches("[]").trim_end_matches("{}");
        path.rsplit_once('.').map_or("", |(parent, _)| parent).to_owned()
    };
    let differs = |path: &&&String| match (before.get(**path), after.get(**path)) {
        (Some(before), Some(after)) => before != after,
        _ => is_in_both(&parent(path)) && !path.ends_with("[]") && !path.ends_with("{}"),
    };
    all.iter().filter(differs).map(|path| (*path).clone()).collect()
}

/// What the dialect says of kinds and of changes is what the official definitions say, no more and no less.
#[test]
fn the_dialect_knows_what_official_definitions_change() {
    let Some(bundles) = bundles() else { return };
    let dialect = Dialect::gateway_api();
    let minor = |release: &str| -> Minor { release[1..4].parse().unwrap() };
    for channel in CHANNELS {
        let all: Vec<Kinds> =
            RELEASES.iter().map(|release| kinds(&bundles.join(release).join(format!("{channel}.yaml")))).collect();
        for (release, kinds) in RELEASES.iter().zip(&all) {
            let known = dialect.kinds().filter(|kind| kind.is_served(minor(release), channel));
            let known: BTreeSet<&str> = known.map(|kind| &*kind.kind).collect();
            assert_eq!(known, kinds.keys().map(String::as_str).collect(), "{release} {channel}");
        }
        for (pair, release) in all.windows(2).zip(&RELEASES[1..]) {
            for (kind, after) in &pair[1] {
                let Some(before) = pair[0].get(kind) else { continue };
                let of = |change: &&Change| {
                    change.kind == *kind && change.release == minor(release) && change.is_in(channel)
                };
                let said: BTreeSet<&String> =
                    dialect.changes().iter().filter(of).flat_map(|change| &change.at).collect();
                let mut differing = differing(before, after);
                differing.retain(|path| !THE_SAME.contains(&(&**kind, &release[..4], &**path)));
                for path in &differing {
                    let is_said = said.iter().any(|at| at.starts_with(&**path));
                    assert!(is_said, "{kind} {path} changes in {channel} {release}: name it in dialect.yaml");
                }
                for at in said {
                    let is_so = differing.iter().any(|path| path.starts_with(&**at) || at.starts_with(&**path));
                    assert!(is_so, "{kind} {at} does not change in {channel} {release}: dialect.yaml says so");
                }
            }
        }
    }
}
