#![allow(clippy::unwrap_used)]
use rstest::rstest;
use serde_json::json;

use super::super::fixtures::{apply, facts, scenario};
use super::super::locks;
use super::*;
use crate::cluster::definitions;
use crate::cluster::served::Definitions;
use crate::scenario::{Bounds, Channel, Ending, Isolation, ObjectRef, Script, Verb, Vocabulary, load};

fn policy() -> Policy {
    Policy {
        features: FeatureChoice::Claimed,
        unsaid: None,
        exempt: Vec::new(),
        skip: Vec::new(),
        cluster_changes: false,
        hosted: true,
        services: BTreeSet::new(),
    }
}

fn decision(scenario: Scenario, policy: &Policy) -> Decision {
    plan(&[Arc::new(scenario)], &facts(), policy).remove(0).decision
}

fn only(feature: &str) -> FeatureChoice {
    FeatureChoice::Only(vec![feature.to_owned()])
}

fn not_supported(reason: &str) -> Decision {
    Decision::NotSupported(reason.to_owned())
}

/// Holds IMPL-15.
#[rstest]
#[case(&["HTTPRoute"], FeatureChoice::Claimed, &[], Decision::Run)]
#[case(&["HTTPRoute", "TLSRoute"], FeatureChoice::Claimed, &[], not_supported("feature TLSRoute not claimed"))]
#[case(&["A", "B"], FeatureChoice::Claimed, &[], not_supported("features A, B not claimed"))]
#[case(&["TLSRoute"], only("TLSRoute"), &[], Decision::Run)]
#[case(&["TLSRoute"], only("TLSRoute"), &["TLSRoute"], not_supported("feature TLSRoute not claimed"))]
#[case(&["HTTPRoute"], FeatureChoice::Claimed, &["HTTPRoute"], not_supported("feature HTTPRoute not claimed"))]
#[case(&["HTTPRoute"], only("Gateway"), &[], not_supported("feature HTTPRoute not claimed"))]
fn features_decide(
    #[case] needed: &[&str],
    #[case] features: FeatureChoice,
    #[case] exempt: &[&str],
    #[case] expected: Decision,
) {
    let mut scenario = scenario("a");
    scenario.features = needed.iter().map(|&feature| feature.to_owned()).collect();
    let exempt = exempt.iter().map(|&feature| feature.to_owned()).collect();
    assert_eq!(decision(scenario, &Policy { features, exempt, ..policy() }), expected);
}

/// What is about who does without a feature says nothing of who has it, held to it or not.
#[rstest]
#[case("TLSRoute", FeatureChoice::Claimed, &[], true)]
#[case("HTTPRoute", FeatureChoice::Claimed, &[], false)]
#[case("HTTPRoute", FeatureChoice::Claimed, &["HTTPRoute"], false)]
#[case("HTTPRoute", only("Gateway"), &[], false)]
#[case("TLSRoute", only("TLSRoute"), &[], false)]
#[case("TLSRoute", only("TLSRoute"), &["TLSRoute"], true)]
fn features_that_must_be_lacking_decide(
    #[case] without: &str,
    #[case] features: FeatureChoice,
    #[case] exempt: &[&str],
    #[case] runs: bool,
) {
    let scenario = Scenario { features: Vec::new(), without: vec![without.to_owned()], ..scenario("a") };
    let exempt = exempt.iter().map(|&feature| feature.to_owned()).collect();
    let reason = format!("feature {without} claimed, and it is about who does without");
    let expected = if runs { Decision::Run } else { Decision::NotSupported(reason) };
    assert_eq!(decision(scenario, &Policy { features, exempt, ..policy() }), expected);
}

/// Of what came later than a list of features nobody knows whether the target does without; what it claims by itself is known.
#[rstest]
#[case::newer(
    "TLSRoute",
    "it is about who does without the feature TLSRoute, of which a list of features of v1.3.0 says nothing"
)]
#[case::as_old("UDPRoute", "")]
#[case::claimed("HTTPRoute", "feature HTTPRoute claimed, and it is about who does without")]
fn a_list_of_features_says_nothing_of_newer_ones(#[case] without: &str, #[case] reason: &str) {
    let scenario = Scenario { features: Vec::new(), without: vec![without.to_owned()], ..scenario("a") };
    let newer = ["TLSRoute", "HTTPRoute"].map(str::to_owned).to_vec();
    let unsaid = Some(Unsaid { release: "1.3".parse().unwrap(), features: newer });
    let expected = if reason.is_empty() { Decision::Run } else { not_supported(reason) };
    assert_eq!(decision(scenario, &Policy { unsaid, features: only("Gateway"), ..policy() }), expected);
}

/// A service that nobody named makes a scenario not supported, not failed.
#[test]
fn services_have_to_be_named() {
    let mut step = apply(Vec::new());
    step.verb = Verb::Script(Script { service: "arm".to_owned(), rules: Vec::new() });
    let asking = || Arc::new(Scenario { steps: vec![step.clone()], ..scenario("a") });
    let reason = "it needs the service `arm`, which is not named; name it with --service arm=URL".to_owned();
    assert_eq!(plan(&[asking()], &facts(), &policy()).remove(0).decision, Decision::NotSupported(reason));
    let named = Policy { services: ["arm".to_owned()].into(), ..policy() };
    assert_eq!(plan(&[asking()], &facts(), &named).remove(0).decision, Decision::Run);
}

/// Holds IMPL-16.
#[rstest]
#[case(Some("1.4"), None, None, true)]
#[case(Some("1.5"), None, None, false)]
#[case(None, Some("1.4"), None, false)]
#[case(None, None, Some(Channel::Experimental), false)]
fn bounds_decide(
    #[case] since: Option<&str>,
    #[case] until: Option<&str>,
    #[case] channel: Option<Channel>,
    #[case] runs: bool,
) {
    let mut scenario = scenario("a");
    let version = |text: &str| text.parse().unwrap();
    scenario.bounds = Bounds { since: since.map(version), until: until.map(version), channel, ..Bounds::default() };
    let expected = if runs { Decision::Run } else { not_supported("has no meaning at v1.4.0 in the standard channel") };
    assert_eq!(decision(scenario, &policy()), expected);
}

#[test]
fn kinds_that_are_not_served_decide_unless_their_step_is_not_bound() {
    let grant = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "ReferenceGrant", "metadata": {"name": "a"},
    });
    let mut scenario = scenario("a");
    scenario.steps = vec![apply(vec![grant])];
    let expected = not_supported("the target does not serve ReferenceGrant.gateway.networking.k8s.io");
    assert_eq!(decision(scenario.clone(), &policy()), expected);
    scenario.steps[0].bounds.since = Some("1.5".parse().unwrap());
    assert_eq!(decision(scenario, &policy()), Decision::Run);
}

/// What is looked at needs its kind as well: no definition is there to be waited for.
#[rstest]
#[case(TCP, not_supported("the target does not serve tcproutes.gateway.networking.k8s.io"))]
#[case("httproutes.gateway.networking.k8s.io", Decision::Run)]
fn a_definition_that_is_not_there_decides(#[case] name: &str, #[case] expected: Decision) {
    let text = format!(
        "apiVersion: gateproof.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: a}}\nspec:\n  summary: A.\n  features: [Gateway]\n  \
         steps:\n    - settle:\n        CustomResourceDefinition/{name}:\n          fields: [{{at: /metadata/name, notEmpty: true}}]\n      \
         proves: [IMPL-01]\n"
    );
    let scenario = crate::scenario::parse("a.yaml", &text, &Vocabulary::builtin()).unwrap().remove(0);
    let mut alone = facts();
    alone.kinds = kinds_of([&scenario].into_iter());
    assert_eq!(plan(&[Arc::new(scenario.clone())], &alone, &policy()).remove(0).decision, Decision::Run);
    assert_eq!(decision(scenario, &policy()), expected);
}

/// A target of the built-in release, and whether it serves TCPRoutes.
fn released(tcp: bool) -> Facts {
    let mut facts = facts();
    facts.bundle.as_mut().unwrap().release.version = gateproof_apiserver::crds::BUNDLE_VERSION.parse().unwrap();
    facts.kinds.add("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false);
    if tcp {
        facts.kinds.add("gateway.networking.k8s.io", "v1", "TCPRoute", "tcproutes", true);
    }
    facts
}

/// With what scenarios bring along themselves.
fn expecting(mut facts: Facts) -> Facts {
    if let Some(definition) = definitions::built_in(TCP, facts.basis().release.unwrap()) {
        definitions::expect(&mut facts.kinds, definition);
    }
    facts
}

const TCP: &str = "tcproutes.gateway.networking.k8s.io";

#[test]
fn definitions_that_a_scenario_creates_must_be_absent_and_known() {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": TCP},
    });
    let route = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "TCPRoute", "metadata": {"name": "a"}});
    let own = Arc::new(Scenario { steps: vec![apply(vec![definition, route.clone()])], ..scenario("own") });
    let policy = Policy { cluster_changes: true, ..policy() };
    let decide = |scenario: &Arc<Scenario>, facts: Facts, policy: &Policy| {
        plan(&[Arc::clone(scenario)], &expecting(facts), policy).remove(0).decision
    };
    assert_eq!(decide(&own, released(false), &policy), Decision::Run);
    assert_eq!(shared_name(&own, &expecting(released(false))), None);
    let reason =
        format!("the target serves TCPRoute from the start; the embedded one does not with --without-crd {TCP}");
    assert_eq!(decide(&own, released(true), &policy), not_supported(&reason));
    let mut older = released(false);
    older.bundle.as_mut().unwrap().release.version = "1.6".parse().unwrap();
    let reason = format!("what {TCP} says at v1.6.0 in the standard channel is not known");
    assert_eq!(decide(&own, older, &policy), not_supported(&reason));
    let leave =
        "it creates a CustomResourceDefinition, which the whole cluster sees, which needs --allow-cluster-changes";
    let unpermitted = Policy { cluster_changes: false, ..policy.clone() };
    assert_eq!(decide(&own, released(false), &unpermitted), Decision::Skipped(leave.to_owned()));
    // It is there for nobody else.
    let other = Arc::new(Scenario { steps: vec![apply(vec![route])], ..scenario("other") });
    let reason = "the target does not serve TCPRoute.gateway.networking.k8s.io";
    assert_eq!(decide(&other, released(false), &policy), not_supported(reason));
}

#[test]
fn a_skip_has_its_reason_and_never_hides_what_is_not_supported() {
    let skip = Skip { pattern: "http*".to_owned(), reason: "ticket 7".to_owned() };
    let policy = Policy { skip: vec![skip], ..policy() };
    assert_eq!(decision(scenario("httproute-a"), &policy), Decision::Skipped("ticket 7".to_owned()));
    assert_eq!(decision(scenario("tcproute-a"), &policy), Decision::Run);
    let mut unsupported = scenario("httproute-b");
    unsupported.features = vec!["X".to_owned()];
    assert_eq!(decision(unsupported, &policy), not_supported("feature X not claimed"));
}

#[test]
fn cluster_changes_need_leave() {
    let mut scenario = scenario("a");
    scenario.isolation = Isolation::Cluster;
    assert!(matches!(decision(scenario.clone(), &policy()), Decision::Skipped(_)));
    assert_eq!(decision(scenario, &Policy { cluster_changes: true, ..policy() }), Decision::Run);
}

#[test]
fn what_is_about_endpoints_of_backends_needs_hosted_ones() {
    let all = load::builtin_once();
    let port_of_endpoints = |since: Option<&str>| {
        let about = all.iter().find(|one| one.name == "httproute-port-of-endpoints").unwrap();
        let (backends, mut steps) = (about.backends.clone(), about.steps.clone());
        steps[0].bounds.since = since.map(|version| version.parse().unwrap());
        Scenario { backends, steps, ..scenario("a") }
    };
    let deployed = Policy { hosted: false, ..policy() };
    assert_eq!(decision(port_of_endpoints(None), &policy()), Decision::Run);
    let reason =
        "it changes which endpoints Service/echo has; with --backends deployed the cluster makes them from Pods";
    assert_eq!(decision(port_of_endpoints(None), &deployed), Decision::Skipped(reason.to_owned()));
    // The step that does so is not for this version.
    assert_eq!(decision(port_of_endpoints(Some("1.5")), &deployed), Decision::Run);
}

#[test]
fn a_full_target_takes_a_class_that_can_be_filled() {
    let gateway = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "own"},
        "spec": {"gatewayClassName": "${class:single}"},
    });
    let filling = || Arc::new(Scenario { steps: vec![apply(vec![gateway.clone()])], ..scenario("a") });
    let decide = |facts: &Facts| plan(&[filling()], facts, &policy()).remove(0).decision;
    let Decision::NotSupported(reason) = decide(&facts()) else { panic!("it is to be not supported") };
    assert!(reason.contains("--single-gateway-class"), "{reason}");
    let mut named = facts();
    named.class.as_mut().unwrap().single = Some("single".to_owned());
    assert_eq!(decide(&named), Decision::Run);
}

#[test]
fn an_address_is_asked_for_where_one_is_known_and_by_one_run_at_a_time() {
    let gateway = json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "own"},
        "spec": {"gatewayClassName": "${class}", "addresses": [{"value": "${address}"}]},
    });
    let asking = Arc::new(Scenario { steps: vec![apply(vec![gateway])], ..scenario("a") });
    let decide = |facts: &Facts| plan(&[Arc::clone(&asking)], facts, &policy()).remove(0).decision;
    let Decision::NotSupported(reason) = decide(&facts()) else { panic!("it is to be not supported") };
    assert!(reason.contains("--usable-address"), "{reason}");
    let locks = |address: &str| {
        let mut named = facts();
        named.class.as_mut().unwrap().address = Some(address.to_owned());
        assert_eq!(decide(&named), Decision::Run);
        locks::known_before(&asking, &named, std::iter::empty())
    };
    assert!(locks::needs_any(&asking, std::iter::empty()));
    assert_eq!(locks("192.0.2.1").len(), 1);
    assert_ne!(locks("192.0.2.1"), locks("192.0.2.2"));
}

#[rstest]
#[case::known(json!({"parentRefs": [], "rules": []}), &[], None)]
#[case::unknown_field(json!({"useDefaultGateways": "All"}), &[], Some("it writes HTTPRoute spec.useDefaultGateways"))]
#[case::admission(json!({}), &[Ending::Admitted], Some("steps[0] asks whether a write is admitted"))]
fn nothing_is_asked_that_the_definitions_do_not_have(
    #[case] spec: serde_json::Value,
    #[case] ends: &[Ending],
    #[case] lack: Option<&str>,
) {
    let schema = json!({"properties": {"spec": {"properties": {"parentRefs": {}, "rules": {}}}}});
    let definitions = Definitions::with("v1.0.0 in the standard channel", [("HTTPRoute", schema)]);
    let mut chosen = facts();
    chosen.bundle.as_mut().unwrap().definitions = Some(Arc::new(definitions));
    let mut step = apply(vec![json!({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": {"name": "route"}, "spec": spec,
    })]);
    step.either = ends.to_vec();
    let asking = || Arc::new(Scenario { steps: vec![step.clone()], ..scenario("a") });
    assert_eq!(plan(&[asking()], &facts(), &policy()).remove(0).decision, Decision::Run);
    let expected = lack.map_or(Decision::Run, |lack| {
        Decision::NotSupported(format!("{lack}, and the definitions are of v1.0.0 in the standard channel"))
    });
    assert_eq!(plan(&[asking()], &chosen, &policy()).remove(0).decision, expected);
}

#[rstest]
#[case::anything("1.0", "1.9", &[], true)]
#[case::at_this_release("1.4", "1.5", &["1.4.0"], true)]
#[case::not_at_this_one("1.5", "1.6", &["1.4.0"], false)]
fn what_is_possible_depends_on_what_is_known(
    #[case] since: &str,
    #[case] until: &str,
    #[case] known: &[&str],
    #[case] expected: bool,
) {
    let mut options = options();
    options.bundle = known.first().map(|version| GivenBundle { version: version.parse().unwrap(), channel: None });
    let mut bound = scenario("a");
    bound.bounds = Bounds { since: since.parse().ok(), until: until.parse().ok(), ..Bounds::default() };
    assert_eq!(possible(&[Arc::new(bound)], &options).len(), usize::from(expected));
}

#[test]
fn what_is_possible_follows_the_options() {
    let mut needs_tls = scenario("a");
    needs_tls.features = vec!["TLSRoute".to_owned()];
    let all = [Arc::new(needs_tls), Arc::new(scenario("b"))];
    let names = |options: &RunOptions| -> Vec<String> {
        possible(&all, options).iter().map(|scenario| scenario.name.clone()).collect()
    };
    assert_eq!(names(&options()), ["a", "b"]);
    assert_eq!(names(&RunOptions { features: FeatureChoice::Only(Vec::new()), ..options() }), ["b"]);
    assert_eq!(names(&RunOptions { exempt: vec!["TLSRoute".to_owned()], ..options() }), ["b"]);
    let skip = vec![Skip { pattern: "b".to_owned(), reason: String::new() }];
    assert_eq!(names(&RunOptions { skip, ..options() }), ["a"]);
}

fn options() -> RunOptions {
    let target = crate::run::TargetChoice::embedded(crate::dialects::Reference::GatewayApi, None);
    let contract = crate::judge::contract::Contract::parse(gateproof_suites::contracts::GATEWAY_API).unwrap();
    RunOptions::new(target, Arc::new(contract))
}

/// What only discovery tells to have no namespace has to have a name of its own, too.
#[rstest]
#[case("proxy", Some("Widget has no namespace on this target, and `proxy` may be somebody else's"))]
#[case("proxy-${token}", None)]
fn what_a_target_makes_is_nobody_elses(#[case] name: &str, #[case] problem: Option<&str>) {
    let object = ObjectRef { kind: "Widget".to_owned(), namespace: None, name: name.to_owned(), pool: false };
    let made = vec![MadeObject { group: "example.com".to_owned(), object }];
    let scenario = Scenario { made, ..scenario("a") };
    let told = |namespaced: bool| {
        let mut facts = facts();
        facts.kinds.add("example.com", "v1", "Widget", "widgets", namespaced);
        shared_name(&scenario, &facts)
    };
    assert_eq!((told(true), told(false).as_deref()), (None, problem));
}
