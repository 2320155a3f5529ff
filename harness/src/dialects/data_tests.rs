use rstest::rstest;

use super::*;

#[rstest]
#[case::no_group(
    "groups: [gateway.networking.k8s.io, gateway.networking.x-k8s.io]",
    "groups: []",
    "names no API group"
)]
#[case::core_group(
    "groups: [",
    "groups: ['', ",
    "has `` among its `groups`, which is one of Kubernetes itself: a dialect may"
)]
#[case::group_of_kubernetes(
    "groups: [",
    "groups: [networking.k8s.io, ",
    "`networking.k8s.io` among its `groups`, which is one of"
)]
#[case::unused_group(
    "k8s.io, gateway",
    "k8s.io, apps, gateway",
    "has `apps` among its `groups`, which is one of Kubernetes itself, and no kind"
)]
#[case::group_with_a_version(
    "groups: [gateway.networking.k8s.io,",
    "groups: [gateway.networking.k8s.io, a.test/v1,",
    "`a.test/v1` among its `groups`, which is no API group"
)]
#[case::group_without_a_domain(
    "groups: [gateway.networking.k8s.io,",
    "groups: [gateway.networking.k8s.io, a,",
    "`a` among its `groups`, which is no"
)]
#[case::group_in_capitals(
    "groups: [gateway.networking.k8s.io,",
    "groups: [gateway.networking.k8s.io, A.test,",
    "`A.test` among its"
)]
#[case::group_twice(
    "groups: [gateway.networking.k8s.io,",
    "groups: [gateway.networking.k8s.io, gateway.networking.k8s.io,",
    "which is there twice"
)]
#[case::twice("kind: TCPRoute", "kind: HTTPRoute", "names the kind HTTPRoute twice")]
#[case::foreign(
    "{kind: TCPRoute, ",
    "{kind: TCPRoute, group: example.com, ",
    "`example.com`, which is not among its groups"
)]
#[case::two_entries(
    "{kind: ListenerSet, ",
    "{kind: ListenerSet, role: entry, ",
    "more than one kind whose role is `entry`"
)]
#[case::service("  conditions:", "  services: [arm, Arm]\n  conditions:", "has a service `Arm`")]
#[case::service_twice("  conditions:", "  services: [arm, arm]\n  conditions:", "has a service `arm`")]
#[case::no_edition("  conditions:", "  editions: []\n  conditions:", "has no edition in its `editions`")]
#[case::edition("  conditions:", "  editions: [Design]\n  conditions:", "has an edition `Design`")]
#[case::edition_twice("  conditions:", "  editions: [a, a]\n  conditions:", "has an edition `a`")]
#[case::no_such_edition(
    "  conditions:",
    "  editions: [a]\n  withoutGenerations: [b]\n  conditions:",
    "has no edition of that name"
)]
#[case::no_entry(", role: entry", "", "no kind has the role `entry`")]
#[case::no_pointer("at: /status/addresses", "at: status.addresses", "to be a JSON pointer")]
#[case::no_port("ready: Programmed", "ready: Programmed\n    port: spec.port", "`port` is to be a JSON pointer")]
#[case::no_address("values: [value]", "values: []", "names no field")]
#[case::no_shape("http-8080", "http-0", "`http-0` is no shape")]
#[case::shape_without_manifest("      tcp:\n", "      sctp:\n", "unknown variant `sctp`")]
#[case::no_manifest("manifests:\n", "manifests: {}\n    unread:\n", "unknown field `unread`")]
#[case::manifest_of_another("kind: Gateway\n", "kind: Gate\n", "`kind` is to be Gateway in the manifest `http`")]
#[case::version_of_another("apiVersion: gateway.networking.k8s.io/v1\n", "apiVersion: v1\n", "a group of the dialect")]
#[case::own_metadata("kind: Gateway\n", "kind: Gateway\n        metadata: {}\n", "`metadata` is the run's")]
#[case::placeholder("${port}", "${ports}", "`${ports}` stands for nothing: there are ${class}")]
#[case::name("{name: gateway-api}", "{name: ../gateway-api}", "`../gateway-api` cannot be the name of a dialect")]
#[case::no_name("{name: gateway-api}", "{name: ''}", "`` cannot be the name of a dialect")]
#[case::nobodys_parents("role: class, ", "", "HTTPRoute stand in `status.parents`, in the entries of one controller")]
#[case::nobodys_ancestors(
    "role: class, settles: class,",
    "settles: class}\n    - {kind: A, plural: as, conditions: ancestors,",
    "A stand in `status.ancestors`"
)]
#[case::accepted(
    "accepted: Accepted",
    "accepted: Acepted",
    "says `Acepted` in `accepted`, which is not among its `conditions`"
)]
#[case::falls_back("condition: PartiallyInvalid", "condition: Partially", "says `Partially` in `fallsBack`")]
#[case::falls_back_without_a_word("message: Fall Back", "message: ''", "in its `message` nothing with which")]
#[case::falls_back_on_blanks("message: Fall Back", "message: '  '", "in its `message` nothing with which")]
#[case::falls_back_on_itself(
    "condition: PartiallyInvalid",
    "condition: Accepted",
    "in its `condition` the condition of `accepted`"
)]
#[case::nothing_falls_back("  accepted: Accepted\n", "", "says `fallsBack`, and not in `accepted`")]
#[case::ready("ready: Programmed", "ready: Programed", "says `Programed` in `entries`")]
#[case::change_of_no_kind(
    "kind: GRPCRoute, newest",
    "kind: GRPC, newest",
    "changes of GRPC in v1.2, and has no such kind"
)]
#[case::change_in_no_release("\"1.6\", \"1.7\"]", "\"1.6\"]", "in v1.7, and has no such release")]
#[case::span_of_none("\"1.3..1.5\"", "\"1.5..1.5\"", "there is no release in `1.5..1.5`")]
#[case::unknown("plural: gateways", "plurals: gateways", "unknown field `plurals`")]
fn what_contradicts_itself_is_no_dialect(#[case] from: &str, #[case] to: &str, #[case] told: &str) {
    let text = gateproof_suites::dialects::GATEWAY_API;
    assert!(text.contains(from));
    let error = Dialect::parse(&text.replacen(from, to, 1)).map_err(|error| error.to_string());
    assert!(error.as_ref().is_err_and(|error| error.contains(told)), "{error:?}");
}

/// Services and Deployments may be among what a dialect speaks of.
#[test]
fn kinds_of_kubernetes_may_be_borrowed() {
    let text = gateproof_suites::dialects::GATEWAY_API;
    let groups =
        text.replacen("groups: [gateway.networking.k8s.io,", "groups: [gateway.networking.k8s.io, '', apps,", 1);
    let kinds = "  kinds:\n    - {kind: Service, group: '', plural: services}\n    - {kind: Deployment, group: apps, plural: deployments}\n";
    let dialect = Dialect::parse(&groups.replacen("  kinds:\n", kinds, 1)).map_err(|error| error.to_string());
    assert_eq!(dialect.map(|dialect| dialect.group_of("Service").to_owned()), Ok(String::new()));
}

#[test]
fn where_traffic_comes_in_a_run_has_to_make_something() {
    let text = "{apiVersion: gateproof.dev/v1alpha1, kind: Dialect, metadata: {name: a}, spec: {title: A, groups: [a.test], \
                kinds: [{kind: A, plural: as, role: entry}]}}";
    let error = Dialect::parse(text).map_err(|error| error.to_string());
    assert!(
        error.as_ref().is_err_and(|error| error.ends_with("there are none, and traffic comes in at A")),
        "{error:?}"
    );
}

/// Messages take their words from the dialect.
#[rstest]
#[case("gateway-api", ["Gateway", "Gateways", "GatewayClass"])]
#[case("kuadrant", ["Gateway", "Gateways", "GatewayClass"])]
#[case("contour", ["HTTPProxy", "HTTPProxies", "class"])]
#[case("aso", ["entry", "entries", "class"])]
fn a_dialect_has_words_for_what_messages_are_about(#[case] name: &str, #[case] words: [&str; 3]) {
    let dialect = crate::suite::Suite::named(name).unwrap().unwrap().dialect;
    assert_eq!([dialect.entry_in_words(), &dialect.entries_in_words(), dialect.class_in_words()], words);
}

#[rstest]
#[case::of_gateways(DialectKind { kind: "BackendLBPolicy".to_owned(), plural: "backendlbpolicies".to_owned(), ..some() }, "BackendLBPolicies")]
#[case::with_another_end(DialectKind { kind: "Ox".to_owned(), plural: "oxen".to_owned(), ..some() }, "Oxen")]
fn several_are_spelt_as_one_is(#[case] kind: DialectKind, #[case] several: &str) {
    assert_eq!(kind.several(), several);
}

fn some() -> DialectKind {
    Dialect::gateway_api().kinds().next().unwrap().clone()
}
