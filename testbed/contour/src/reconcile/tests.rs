#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr};

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::status::Sub;

fn object(kind: &str, name: &str, spec: Value) -> (Kind, Value) {
    use gateproof_runtime::object::Kind as _;
    let kind = Kind::ALL.iter().copied().find(|one| one.name() == kind).unwrap();
    (kind, json!({"metadata": {"namespace": "demo", "name": name, "generation": 1}, "spec": spec}))
}

fn echo() -> (Kind, Value) {
    object("Service", "echo", json!({"ports": [{"port": 80}]}))
}

fn proxy(name: &str, spec: Value) -> (Kind, Value) {
    object("HTTPProxy", name, spec)
}

fn round(objects: Vec<(Kind, Value)>, edition: Edition) -> Outcome {
    let mut snapshot = Snapshot::default();
    objects.into_iter().for_each(|(kind, object)| snapshot.put(kind, object));
    let settings = Settings { edition, ..Settings::at(IpAddr::V4(Ipv4Addr::LOCALHOST)) };
    reconcile(&snapshot, &settings)
}

fn said(outcome: &Outcome, name: &str) -> Vec<String> {
    let verdict = &outcome.verdicts[&(Kind::HttpProxy, "demo".to_owned(), name.to_owned())];
    verdict.errors.iter().map(|Sub { r#type, reason, .. }| format!("{type}/{reason}")).collect()
}

#[rstest]
#[case::good(json!([{"services": [{"name": "echo", "port": 80}]}]), &[], 1)]
#[case::missing(json!([{"services": [{"name": "nope", "port": 80}]}]), &["ServiceError/ServiceUnresolvedReference"], 1)]
#[case::port(json!([{"services": [{"name": "echo", "port": 81}]}]), &["ServiceError/ServiceUnresolvedReference"], 1)]
#[case::two_missing(
    json!([{"services": [{"name": "nope", "port": 80}, {"name": "none", "port": 80}]}]),
    &["ServiceError/ServiceUnresolvedReference", "ServiceError/ServiceUnresolvedReference"],
    1
)]
#[case::one_wrong_route_leaves_none(
    json!([{"services": [{"name": "echo", "port": 80}]}, {}]), &["RouteError/RouteActionCountNotValid"], 0
)]
#[case::path(
    json!([{"conditions": [{"prefix": "no"}], "services": [{"name": "echo", "port": 80}]}]),
    &["RouteError/PathMatchConditionsNotValid"],
    0
)]
#[case::header(
    json!([{
        "conditions": [{"header": {"name": "X-A", "exact": "a"}}, {"header": {"name": "x-a", "notexact": "a"}}],
        "services": [{"name": "echo", "port": 80}]
    }]),
    &["RouteError/HeaderMatchConditionsNotValid"],
    0
)]
#[case::query(
    json!([{"conditions": [{"queryParameter": {"name": "a"}}], "services": [{"name": "echo", "port": 80}]}]),
    &["RouteError/QueryParameterMatchConditionsNotValid"],
    0
)]
#[case::header_name(
    json!([{
        "services": [{"name": "echo", "port": 80}], "requestHeadersPolicy": {"set": [{"name": "x_a", "value": "a"}]}
    }]),
    &["RouteError/RequestHeadersPolicyInvalid"],
    0
)]
#[case::rewrite_without_prefix(
    json!([{
        "conditions": [{"exact": "/a"}],
        "services": [{"name": "echo", "port": 80}],
        "pathRewritePolicy": {"replacePrefix": [{"replacement": "/b"}]}
    }]),
    &["PrefixReplaceError/MustHavePrefix"],
    0
)]
#[case::rewritten_in_two(
    json!([{
        "conditions": [{"prefix": "/a"}],
        "services": [{"name": "echo", "port": 80}],
        "pathRewritePolicy": {"replacePrefix": [{"replacement": "/b"}]}
    }]),
    &[],
    2
)]
#[case::mirrors(
    json!([{"services": [
        {"name": "echo", "port": 80}, {"name": "echo", "port": 80, "mirror": true}, {"name": "echo", "port": 80, "mirror": true}
    ]}]),
    &["ServiceError/OnlyOneMirror"],
    0
)]
#[case::limits(
    json!([{"services": [{"name": "echo", "port": 80}], "rateLimitPolicy": {"local": {"requests": 1, "unit": "day"}}}]),
    &["RouteError/RateLimitPolicyNotValid"],
    0
)]
fn routes_are_told_of_and_served(#[case] routes: Value, #[case] expected: &[&str], #[case] served: usize) {
    let outcome = round(
        vec![echo(), proxy("root", json!({"virtualhost": {"fqdn": "a.test"}, "routes": routes}))],
        Edition::Current,
    );
    assert_eq!(said(&outcome, "root"), expected);
    assert_eq!(outcome.hosts.iter().map(|host| host.routes.len()).sum::<usize>(), served);
}

/// The only route of a root with this one.
fn only_route(route: Value) -> HostRoute {
    let root = json!({"virtualhost": {"fqdn": "a.test"}, "routes": [route]});
    let mut outcome = round(vec![echo(), proxy("root", root)], Edition::Current);
    outcome.hosts.remove(0).routes.remove(0)
}

#[test]
fn services_that_are_there_share_among_themselves() {
    let services = json!([{"name": "echo", "port": 80, "weight": 0}, {"name": "nope", "port": 80, "weight": 9}]);
    let Answer::Backends(backends) = only_route(json!({"services": services})).answer else { panic!("no backends") };
    assert_eq!(backends.iter().map(|backend| backend.weight).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_condition_that_says_nothing_of_a_header_asks_nothing() {
    let conditions = json!([{"header": {"name": "x-a"}}, {"header": {"name": "x-b", "present": true}}]);
    let route = only_route(json!({"conditions": conditions, "services": [{"name": "echo", "port": 80}]}));
    assert_eq!(route.matches.headers.iter().map(|header| &*header.name).collect::<Vec<_>>(), ["x-b"]);
}

#[rstest]
#[case::plain(json!({"count": 2}), Some((2, vec![500, 503, 599], true)))]
#[case::never(json!({"count": -1}), Some((0, vec![500, 503, 599], true)))]
#[case::gateways(json!({"count": 1, "retryOn": ["gateway-error"]}), Some((1, vec![503], true)))]
#[case::codes(json!({"count": 1, "retryOn": ["retriable-status-codes"], "retriableStatusCodes": [418]}), Some((1, vec![418], false)))]
#[case::none(Value::Null, None)]
fn services_are_asked_again_as_often_as_is_said(
    #[case] policy: Value,
    #[case] expected: Option<(u32, Vec<u16>, bool)>,
) {
    let retry = only_route(json!({"services": [{"name": "echo", "port": 80}], "retryPolicy": policy})).retry;
    let asked = [418, 500, 503, 599];
    let seen = retry.map(|retry| {
        let codes = asked.into_iter().filter(|code| retry.how.codes.contains(code)).collect();
        (retry.how.attempts, codes, retry.how.on_broken_connections)
    });
    assert_eq!(seen, expected);
}

#[rstest]
#[case(Edition::Current, &[])]
#[case(Edition::Design, &["VirtualHostError/FQDNNotValid"])]
fn a_wildcard_is_a_host_in_what_ships(#[case] edition: Edition, #[case] expected: &[&str]) {
    let spec = json!({"virtualhost": {"fqdn": "*.a.test"}, "routes": [{"services": [{"name": "echo", "port": 80}]}]});
    let outcome = round(vec![echo(), proxy("root", spec)], edition);
    assert_eq!(said(&outcome, "root"), expected);
    assert_eq!(outcome.hosts.is_empty(), !expected.is_empty());
}

#[test]
fn what_is_not_delegated_is_not_told_of() {
    let tls = |secret: &str| json!({"virtualhost": {"fqdn": "a.test", "tls": {"secretName": secret}}, "routes": [{}]});
    for (secret, expected) in [("other/nope", "TLSError/DelegationNotPermitted"), ("nope", "TLSError/SecretNotValid")] {
        let outcome = round(vec![proxy("root", tls(secret))], Edition::Current);
        assert_eq!(said(&outcome, "root"), [expected]);
    }
}

#[test]
fn chains_of_includes_may_be_long() {
    const LENGTH: usize = 1000;
    let link = |index: usize| {
        let next = json!([{"name": format!("link-{}", index + 1), "conditions": [{"prefix": "/a"}]}]);
        let last = json!({"routes": [{"services": [{"name": "echo", "port": 80}]}]});
        proxy(&format!("link-{index}"), if index == LENGTH { last } else { json!({"includes": next}) })
    };
    let root = json!({"virtualhost": {"fqdn": "a.test"}, "includes": [{"name": "link-1"}]});
    let objects = (1..=LENGTH).map(link).chain([echo(), proxy("root", root)]).collect();
    let outcome = round(objects, Edition::Current);
    assert_eq!(said(&outcome, &format!("link-{LENGTH}")), [""; 0]);
    assert_eq!(outcome.hosts[0].routes.len(), 1);
}

#[test]
fn a_root_may_have_many_includes() {
    const MANY: usize = 1000;
    let child = |index: usize| {
        proxy(&format!("child-{index}"), json!({"routes": [{"services": [{"name": "echo", "port": 80}]}]}))
    };
    let include =
        |index: usize| json!({"name": format!("child-{index}"), "conditions": [{"prefix": format!("/{index}")}]});
    let includes: Vec<Value> = (0..MANY).map(include).collect();
    let root = proxy("root", json!({"virtualhost": {"fqdn": "a.test"}, "includes": includes}));
    let outcome = round((0..MANY).map(child).chain([echo(), root]).collect(), Edition::Current);
    assert!(outcome.verdicts.values().all(|verdict| verdict.errors.is_empty()));
    assert_eq!(outcome.hosts[0].routes.len(), MANY);
}

#[test]
fn conditions_may_be_many() {
    // 64 KiB of them.
    const MANY: usize = 1200;
    let header = |index: usize| json!({"header": {"name": format!("x-header-{index}"), "notexact": "a value"}});
    let conditions: Vec<Value> = (0..MANY).map(header).collect();
    assert!(serde_json::to_vec(&conditions).unwrap().len() > 64 * 1024);
    let route = only_route(json!({"conditions": conditions, "services": [{"name": "echo", "port": 80}]}));
    assert_eq!(route.matches.headers.len(), MANY);
}

#[test]
fn includes_are_followed_once_and_told_of_where_they_are() {
    let services = json!([{"services": [{"name": "echo", "port": 80}]}]);
    let includes = json!([
        {"name": "child", "conditions": [{"prefix": "/a"}]},
        {"name": "child", "conditions": [{"prefix": "/a"}]},
        {"name": "nobody", "conditions": [{"prefix": "/b"}]},
        {"name": "nobody"},
        {"name": "other", "conditions": [{"prefix": "/c"}]},
    ]);
    let outcome = round(
        vec![
            echo(),
            proxy("root", json!({"virtualhost": {"fqdn": "a.test"}, "includes": includes})),
            proxy("other", json!({"virtualhost": {"fqdn": "b.test"}, "routes": services})),
            proxy("child", json!({"routes": services, "includes": [{"name": "child"}]})),
            proxy("alone", json!({"routes": services})),
        ],
        Edition::Current,
    );
    let missing = "IncludeError/IncludeNotFound";
    let expected = ["IncludeError/DuplicateMatchConditions", missing, missing, "IncludeError/RootIncludesRoot"];
    assert_eq!(said(&outcome, "root"), expected);
    assert_eq!(said(&outcome, "child"), ["IncludeError/IncludeCreatesCycle"]);
    assert_eq!(said(&outcome, "alone"), ["Orphaned/Orphaned"]);
    assert_eq!(said(&outcome, "other"), [""; 0]);
    let host = outcome.hosts.iter().find(|host| host.fqdn == "a.test").unwrap();
    let gone = host.routes.iter().filter(|route| route.answer == Answer::Status(502)).count();
    assert_eq!((host.routes.len(), gone), (3, 2));
}

#[test]
fn what_is_outside_of_the_namespaces_for_roots_may_be_included() {
    let routes = json!([{"directResponsePolicy": {"statusCode": 200}}]);
    let includes = json!([{"name": "child", "namespace": "closed", "conditions": [{"prefix": "/a"}]}]);
    let mut snapshot = Snapshot::default();
    for (namespace, name, spec) in [
        ("closed", "child", json!({"routes": routes})),
        ("closed", "root", json!({"virtualhost": {"fqdn": "closed.test"}, "routes": routes})),
        ("open", "root", json!({"virtualhost": {"fqdn": "open.test"}, "includes": includes})),
    ] {
        let metadata = json!({"namespace": namespace, "name": name, "generation": 1});
        snapshot.put(Kind::HttpProxy, json!({"metadata": metadata, "spec": spec}));
    }
    let settings = Settings { rootless: Some("closed".to_owned()), ..Settings::at(IpAddr::V4(Ipv4Addr::LOCALHOST)) };
    let outcome = reconcile(&snapshot, &settings);
    let wrong: Vec<_> = outcome.verdicts.iter().filter(|(_, verdict)| !verdict.errors.is_empty()).collect();
    assert_eq!(wrong.iter().map(|(key, _)| (&*key.1, &*key.2)).collect::<Vec<_>>(), [("closed", "root")]);
    assert_eq!(
        outcome.hosts.iter().map(|host| (&*host.fqdn, host.routes.len())).collect::<Vec<_>>(),
        [("open.test", 1)]
    );
}

#[test]
fn several_roots_with_one_host_are_served_by_none() {
    let root =
        |fqdn: &str| json!({"virtualhost": {"fqdn": fqdn}, "routes": [{"services": [{"name": "echo", "port": 80}]}]});
    let outcome = round(vec![echo(), proxy("a", root("A.test")), proxy("b", root("a.test"))], Edition::Current);
    assert_eq!([said(&outcome, "a"), said(&outcome, "b")].concat(), ["VirtualHostError/DuplicateVhost"; 2]);
    assert_eq!(outcome.hosts, []);
}

#[rstest]
#[case(Edition::Current, &["TLSError/SecretNotValid"])]
#[case(Edition::Design, &["TLSError/TLSSecretNotFound", "ServiceError/ServiceNotFound"])]
fn a_missing_secret_stops_a_root(#[case] edition: Edition, #[case] expected: &[&str]) {
    let spec = json!({
        "virtualhost": {"fqdn": "a.test", "tls": {"secretName": "nope"}},
        "routes": [{"services": [{"name": "nope", "port": 80}]}],
    });
    let outcome = round(vec![proxy("root", spec)], edition);
    assert_eq!(said(&outcome, "root"), expected);
    assert_eq!(outcome.hosts, []);
}

#[rstest]
#[case::nothing("[]", "Text(\"/\")")]
#[case::put_behind_each_other(r#"[{"prefix": "/a/"}, {"prefix": "/b"}]"#, "Text(\"/a/b\")")]
#[case::the_last_says_which(r#"[{"prefix": "/a"}, {"exact": "/b"}]"#, "Exact(\"/a/b\")")]
#[case::a_header_comes_last(r#"[{"exact": "/a"}, {"header": {"name": "x", "present": true}}]"#, "Text(\"/a\")")]
#[case::regex_anywhere(r#"[{"prefix": "/a"}, {"regex": "/b.*"}]"#, "Regex(\"/a/b.*\")")]
fn paths_of_includes_and_routes_come_to_one(#[case] conditions: &str, #[case] expected: &str) {
    let conditions: Vec<crate::api::Condition> = serde_json::from_str(conditions).unwrap();
    assert_eq!(format!("{:?}", conditions::merged(&conditions).path), expected);
}

#[rstest]
#[case("1m30s", Ok(Some(90_000)))]
#[case("1.5s", Ok(Some(1500)))]
#[case("infinity", Ok(None))]
#[case("", Ok(None))]
#[case("soon", Err(()))]
#[case("5", Err(()))]
fn times_are_read_as_go_writes_them(#[case] response: &str, #[case] expected: Result<Option<u128>, ()>) {
    let policy = crate::api::TimeoutPolicy { response: response.to_owned(), ..Default::default() };
    let read = policies::timeout(Some(&policy)).map(|time| time.map(|time| time.as_millis())).map_err(drop);
    assert_eq!(read, expected);
}

#[rstest]
#[case::by_number(json!({"projectcontour.io/upstream-protocol.h2c": "81, 80"}), Value::Null, true)]
#[case::by_name(json!({"projectcontour.io/upstream-protocol.h2c": "web"}), Value::Null, true)]
#[case::of_another_port(json!({"projectcontour.io/upstream-protocol.h2c": "81"}), Value::Null, false)]
#[case::without_any(json!({}), Value::Null, false)]
#[case::beside_what_the_port_says(json!({"projectcontour.io/upstream-protocol.h2c": "80"}), json!("http"), false)]
fn an_annotation_says_what_is_spoken(#[case] annotations: Value, #[case] says: Value, #[case] is_h2c: bool) {
    let (kind, mut service) = object("Service", "echo", json!({"ports": [{"name": "web", "port": 80}]}));
    service["metadata"]["annotations"] = annotations;
    service["spec"]["ports"][0]["appProtocol"] = says;
    let routes = json!([{"services": [{"name": "echo", "port": 80}]}]);
    let root = proxy("root", json!({"virtualhost": {"fqdn": "demo.example"}, "routes": routes}));
    let outcome = round(vec![(kind, service), root], Edition::Current);
    let Answer::Backends(backends) = &outcome.hosts[0].routes[0].answer else { panic!("it leads to a Service") };
    let target = &backends[0].target;
    assert_eq!(matches!(target, gateproof_proxy::config::BackendTarget::H2cEndpoints(_)), is_h2c);
}
