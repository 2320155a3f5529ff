#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use rstest::rstest;

use super::*;
use crate::scenario::lint;

fn suite(name: &str) -> Suite {
    Suite::named(name).unwrap().unwrap()
}

/// Line, column, what is wrong and what to do.
type Told = (usize, usize, String, Option<String>);

/// What is told of a rule for a service, and the column at which it begins.
fn told(dialect: &str, service: &str, rule: &str) -> (Vec<Told>, usize) {
    let before = format!("    - script: {{service: {service}, rules: [");
    let text = format!("spec:\n  steps:\n{before}{rule}]}}\n");
    let found = lint::scripts("a.yaml", &text, &suite(dialect)).into_iter();
    (found.map(|one| (one.line, one.column, one.message, one.help)).collect(), before.len() + 1)
}

#[rstest]
#[case::no_path("arm", "{method: PUT}", "{method", "a rule for `arm` lacks `path`", None)]
#[case::field(
    "arm",
    "{path: /a, retryafter: 1}",
    "retryafter",
    "a rule for `arm` has no field `retryafter`",
    Some("did you mean `retryAfter`?")
)]
#[case::field_below(
    "arm",
    "{path: /a, method: PUT, operation: {kind: location, poll: 1}}",
    "poll",
    "a rule for `arm` has no field `operation.poll`",
    Some("did you mean `polls`?")
)]
#[case::no_mapping("arm", "/a", "/a", "a rule for `arm` must be a mapping, found a string", None)]
#[case::type_(
    "arm",
    "{path: /a, status: \"400\"}",
    "status",
    "`status` of a rule for `arm` must be an integer, found a string",
    None
)]
#[case::word(
    "arm",
    "{path: /a, method: put}",
    "method",
    "`method` of a rule for `arm` is none of GET, HEAD, PUT, PATCH, POST, DELETE",
    Some("did you mean `PUT`?")
)]
#[case::limit(
    "arm",
    "{path: /a, delay: 601}",
    "delay",
    "`delay` of a rule for `arm` should be less than or equal to 600",
    None
)]
#[case::half_a_path(
    "arm",
    "{path: a}",
    "path",
    "`path` of a rule for `arm`: it is held against whole paths: begin with `/` or `**`",
    None
)]
#[case::no_refusal(
    "arm",
    "{path: /a, code: A}",
    "code",
    "`code` of a rule for `arm`: it belongs to a refusal: add a status from 400 on",
    None
)]
#[case::endless(
    "arm",
    "{path: /a, method: PUT, operation: {kind: location}}",
    "operation",
    "`operation` of a rule for `arm`: write either `polls` or `seconds`",
    None
)]
#[case::behind(
    "arm",
    "{path: /a, behind: deleted}",
    "behind",
    "`behind` of a rule for `arm` is none of delete",
    Some("did you mean `delete`?")
)]
#[case::operator(
    "operator",
    "{stopp: true}",
    "stopp",
    "a rule for `operator` has no field `stopp`",
    Some("did you mean `stop`?")
)]
fn rules_that_would_be_refused_have_their_places(
    #[case] service: &str,
    #[case] rule: &str,
    #[case] at: &str,
    #[case] message: &str,
    #[case] help: Option<&str>,
) {
    let (found, begin) = told("aso", service, rule);
    let column = begin + rule.find(at).unwrap();
    assert_eq!(found, [(3, column, message.to_owned(), help.map(str::to_owned))]);
}

#[rstest]
#[case::word(
    "{stop: dnss}",
    "`stop` of a rule for `components` is none of authorino, limitador, dns, issuer",
    Some("did you mean `dns`?")
)]
#[case::both(
    "{stop: dns, remove: kuadrant}",
    "a rule for `components`: say one of `stop`, `unhealthy` and `remove`",
    None
)]
#[case::place(
    "{stop: limitador, namespace: a}",
    "`namespace` of a rule for `components`: authorino and limitador are there once for all: leave it out",
    None
)]
#[case::host(
    "{stop: issuer, host: a}",
    "`host` of a rule for `components`: only records of dns, and what authorino is to take, have a host: leave it out",
    None
)]
fn each_dialect_has_its_own(#[case] rule: &str, #[case] message: &str, #[case] help: Option<&str>) {
    let (found, _) = told("kuadrant", "components", rule);
    let found: Vec<_> = found.iter().map(|(_, _, message, help)| (&**message, help.as_deref())).collect();
    assert_eq!(found, [(message, help)]);
}

/// Nobody knows yet what a placeholder stands for.
#[rstest]
#[case::word("{path: /a, method: \"${method}\"}")]
#[case::number("{path: /a, status: \"${status}\"}")]
#[case::path("{path: \"/a/${ns}\", behind: {change: {tags: {by: \"${token}\"}}}}")]
fn placeholders_may_be_right(#[case] rule: &str) {
    assert_eq!(told("aso", "arm", rule).0, []);
}

#[test]
fn what_nobody_describes_is_not_held() {
    assert_eq!(told("aso", "another", "{a: b}").0, []);
    assert_eq!(told("gateway-api", "arm", "{a: b}").0, []);
}

#[test]
fn what_is_built_in_is_taken() {
    let mut scripts = 0;
    for name in Suite::names() {
        let suite = suite(&name);
        for (file, text) in suite.manifests().unwrap() {
            scripts += text.matches("script:").count();
            let told: Vec<String> = lint::scripts(&file, &text, &suite).iter().map(ToString::to_string).collect();
            assert_eq!(told, Vec::<String>::new(), "{file}");
        }
    }
    assert!(scripts > 60, "{scripts}");
}

#[rstest]
#[case::nobody("- {name: amr, rule: {type: object}}", "1: the dialect `aso` has no service `amr`; did you mean `arm`?")]
#[case::twice(
    "- {name: arm, rule: {type: object}}\n- {name: arm, rule: {type: object}}",
    "2: the service `arm` is there twice"
)]
#[case::keyword(
    "- name: arm\n  rule:\n    type: object\n    properties:\n      a: {typ: string}",
    "5: a schema of rules has no `typ`; did you mean `type`?"
)]
#[case::type_(
    "- name: arm\n  rule: {type: mapping}",
    "2: schema at openAPIV3Schema.properties[rules].items: unknown type \"mapping\""
)]
#[case::rule(
    "- name: arm\n  rule: {type: object, x-kubernetes-validations: [{rule: \"self.a ==\"}]}",
    "2: rule \"self.a ==\" at properties[rules].items.x-kubernetes-validations[0].rule does not compile: "
)]
fn what_is_wrong_with_a_schema_has_its_place(#[case] text: &str, #[case] told: &str) {
    let file = (PathBuf::from("services.yaml"), text.to_owned());
    let error = read(&file, &suite("aso").dialect).unwrap_err().to_string();
    assert!(error.starts_with(&format!("services.yaml:{told}")), "{error}");
}
