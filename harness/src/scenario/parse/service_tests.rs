#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::json;

use crate::dialects::Dialect;
use crate::log::Bindings;
use crate::scenario::expectations::{enumerate, invert};
use crate::scenario::model::*;
use crate::scenario::{Vocabulary, bind, parse};

const DIALECT: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Dialect
metadata: {name: lamps}
spec:
  title: Lamps
  groups: [examples.gateproof.dev]
  kinds: [{kind: Lamp, plural: lamps}]
  services: [arm, other]
";

const HEAD: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: []
  steps:
    - apply: [{apiVersion: v1, kind: ConfigMap, metadata: {name: socket}}]
";

fn vocabulary(dialect: &str) -> Vocabulary {
    Vocabulary::of(Arc::new(Dialect::parse(dialect).unwrap()), Default::default(), Default::default())
}

fn text(step: &str) -> String {
    format!("{HEAD}    - {step}\n")
}

fn step(step: &str) -> Verb {
    parse("a.yaml", &text(step), &vocabulary(DIALECT)).unwrap().remove(0).steps[1].verb.clone()
}

fn requests(text: &str) -> Requests {
    match step(&format!("requests: {text}")) {
        Verb::Requests(requests) => *requests,
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case::exact("3", 3, Some(3))]
#[case::none("0", 0, Some(0))]
#[case::least("{atLeast: 2}", 2, None)]
#[case::most("{atMost: 2}", 0, Some(2))]
#[case::both("{atLeast: 1, atMost: 2}", 1, Some(2))]
fn counts_are_read(#[case] count: &str, #[case] at_least: u64, #[case] at_most: Option<u64>) {
    let read = requests(&format!("{{service: arm, count: {count}}}"));
    assert_eq!(
        (read.at_least, read.at_most, read.since, read.within),
        (at_least, at_most, Since::Step, HoldFor::Quiet)
    );
}

#[test]
fn the_rest_is_read() {
    let read = requests(
        "{service: arm, method: PUT, path: \"*/a/${ns}*\", caller: me, gap: {atLeast: 500ms, atMost: 2s}, since: start, within: 3s, level: SHOULD}",
    );
    let gap = Gap { at_least: Some(Duration::from_millis(500)), at_most: Some(Duration::from_secs(2)) };
    assert_eq!((read.at_least, read.at_most, read.gap), (2, None, gap));
    assert_eq!((read.since, read.within, read.level), (Since::Start, HoldFor::Millis(3000), Level::Should));
    assert_eq!(read.caller.as_deref(), Some("me"));
}

#[test]
fn names_are_filled_in() {
    let manifest = format!(
        "{}    - script: {{service: arm, rules: [{{path: \"*/${{ns}}\", of: [\"${{token}}\"]}}]}}\n",
        text("requests: {service: arm, path: \"*/${ns}*\", caller: \"${token}\", count: 1}")
    );
    let scenario = parse("a.yaml", &manifest, &vocabulary(DIALECT)).unwrap().remove(0);
    assert_eq!(scenario.services(), ["arm"]);
    let namespaces = [("ns".to_owned(), "ns-1".to_owned())].into_iter().collect();
    let bindings = Bindings { token: "t1".to_owned(), namespaces, ..Bindings::default() };
    let bound = bind(&scenario, &bindings).unwrap();
    let (Verb::Requests(requests), Verb::Script(script)) = (&bound.steps[1].verb, &bound.steps[2].verb) else {
        panic!("{bound:?}")
    };
    assert_eq!((requests.path.as_deref(), requests.caller.as_deref()), (Some("*/ns-1*"), Some("t1")));
    assert_eq!(script.rules, [json!({"path": "*/ns-1", "of": ["t1"]})]);
}

/// What is secret is known by a digest from here on.
#[test]
fn bodies_are_read() {
    let read = requests(
        "{service: arm, path: \"*/${ns}\", body: {/a: 1, /b: {absent: true}, /c: {secret: \"kettle-${token}\"}}}",
    );
    assert_eq!((read.at_least, read.at_most), (1, None));
    let tests: Vec<_> = read.body.iter().map(|one| (one.pointer.as_str(), one.shown(), one.is_secret)).collect();
    assert_eq!(tests[..2], [("/a", FieldTest::Equals(json!(1)), false), ("/b", FieldTest::Absent, false)]);
    assert!(tests[2].2 && !format!("{:?}", tests[2].1).contains("kettle"), "{tests:?}");
    let scenario =
        parse("a.yaml", &text("requests: {service: arm, body: {/c: {secret: \"${token}\"}}}"), &vocabulary(DIALECT));
    let namespaces = [("ns".to_owned(), "ns-1".to_owned())].into_iter().collect();
    let bindings = Bindings { token: "kettle".to_owned(), namespaces, ..Bindings::default() };
    let bound = bind(&scenario.unwrap()[0], &bindings).unwrap();
    let Verb::Requests(requests) = &bound.steps[1].verb else { panic!("{bound:?}") };
    let digest = "sha256:20cd4732ae60507a2e2e01ae3ca7a75cc3c0d5a4e98f9a69689e1f31df74493e";
    assert_eq!(requests.body[0].shown(), FieldTest::Equals(json!(digest)));
}

/// Each place of a body is an expectation of its own, and has an opposite.
#[test]
fn each_place_of_a_body_can_be_wrong() {
    let scenario = parse("a.yaml", &text("requests: {service: arm, body: {/a: 1, /b: absent}}"), &vocabulary(DIALECT));
    let scenario = scenario.unwrap().remove(0);
    let names: Vec<String> =
        enumerate(&scenario).into_iter().map(|one| one.id).filter(|id| id.contains("body")).collect();
    assert_eq!(names, ["steps[1].requests.body[/a]", "steps[1].requests.body[/b]"]);
    for (at, name) in names.iter().enumerate() {
        let inverted = invert(&scenario, name).unwrap();
        let Verb::Requests(requests) = &inverted.steps[1].verb else { panic!("{inverted:?}") };
        let expected = [FieldTest::Equals(json!(1)), FieldTest::Absent];
        let is_kept = requests.body.iter().zip(expected).map(|(one, expected)| one.test == expected);
        assert_eq!(is_kept.collect::<Vec<_>>(), [at != 0, at != 1], "{name}");
    }
}

#[rstest]
#[case::no_pointer("requests: {service: arm, body: {a: 1}}", "a: 1", "`a` is not a JSON pointer")]
#[case::no_place("requests: {service: arm, body: {}}", "{}}", "no place is named")]
#[case::no_request(
    "requests: {service: arm, count: 0, body: {/a: 1}}",
    "{/a",
    "there is nothing to look into where there may be no request"
)]
#[case::no_service("requests: {count: 1}", "{count", "Requests lacks the field `service`")]
#[case::unknown("requests: {service: amr, count: 1}", "amr", "unknown service `amr`")]
#[case::unknown_to_tell("script: {service: amr, rules: []}", "amr", "unknown service `amr`")]
#[case::no_rules("script: {service: arm}", "{service", "Script lacks the field `rules`")]
#[case::rules("script: {service: arm, rules: {a: b}}", "{a: b", "expected a list, each item anything, found a mapping")]
#[case::nothing("requests: {service: arm}", "{service", "nothing is expected of the requests")]
#[case::any("requests: {service: arm, count: {}}", "{}}", "any number is right")]
#[case::any_at_least("requests: {service: arm, count: {atLeast: 0}}", "{atLeast", "any number is right")]
#[case::no_number(
    "requests: {service: arm, count: {atLeast: 2, atMost: 1}}",
    "{atLeast",
    "there is no number from 2 to 1"
)]
#[case::no_gap(
    "requests: {service: arm, count: 1, gap: {atLeast: 1s}}",
    "{atLeast",
    "there is no gap where there is one request at most"
)]
#[case::any_gap("requests: {service: arm, gap: {}}", "{}}", "any gap is right")]
#[case::no_time("requests: {service: arm, gap: {atLeast: 1}}", "1}}", "expected a string, found a number")]
#[case::not_a_time("requests: {service: arm, gap: {atLeast: soon}}", "soon", "not a time")]
#[case::no_such_gap("requests: {service: arm, gap: {atLeast: 2s, atMost: 1s}}", "{atLeast", "no time is from 2s to 1s")]
#[case::nothing_at_least(
    "requests: {service: arm, count: {atLeast: 1}, within: rest}",
    "rest}",
    "`within` without anything that must stay out"
)]
#[case::within("requests: {service: arm, count: 1, within: long}", "long", "not a time")]
#[case::within_nothing(
    "requests: {service: arm, count: {atLeast: 1}, within: 2s}",
    "2s",
    "`within` without anything that must stay out"
)]
#[case::method("requests: {service: arm, count: 1, method: put}", "put", "unknown method `put`")]
#[case::misspelt("requests: {service: arm, count: 0, method: PTU}", "PTU", "unknown method `PTU`")]
#[case::everybodys(
    "requests: {service: arm, count: 1, path: \"*\"}",
    "\"*\"",
    "requests of other scenarios would count too"
)]
#[case::nobodys(
    "requests: {service: arm, count: 0, path: \"\"}",
    "\"\"",
    "requests of other scenarios would count too"
)]
#[case::since("requests: {service: arm, count: 1, since: begin}", "begin", "unknown value `begin`")]
#[case::refused("{requests: {service: arm, count: 1}, refused: {}}", "refused", "`refused` without a write")]
#[case::placeholder("script: {service: arm, rules: [\"${namespace}\"]}", "\"$", "unknown placeholder `${namespace}`")]
#[case::two(
    "{script: {service: arm, rules: []}, requests: {service: arm, count: 1}}",
    "requests",
    "Step has both `script` and `requests`"
)]
fn mistakes_have_their_places(#[case] step: &str, #[case] at: &str, #[case] message: &str) {
    let found = parse("a.yaml", &text(step), &vocabulary(DIALECT)).unwrap_err();
    let place = (HEAD.lines().count() + 1, "    - ".len() + step.find(at).unwrap() + 1, message);
    let told: Vec<_> = found.iter().map(|one| (one.line, one.column, one.message.as_str())).collect();
    assert!(told.contains(&place), "no {place:?} in {told:#?}");
}

/// Only what watches as well comes after what lasts as long as the rest of the run.
#[rstest]
#[case::requests("requests: {service: arm, count: 0, within: rest}", "requests: {service: arm, count: 1}", true)]
#[case::a_hold(
    "requests: {service: arm, count: 0, within: rest}",
    "hold: {for: rest, unchanged: [ConfigMap/socket]}",
    true
)]
#[case::a_write("requests: {service: arm, count: 0, within: rest}", "delete: [ConfigMap/socket]", false)]
#[case::a_write_after_a_hold("hold: {for: rest, unchanged: [ConfigMap/socket]}", "delete: [ConfigMap/socket]", false)]
#[case::a_script("requests: {service: arm, count: 0, within: rest}", "script: {service: arm, rules: []}", false)]
#[case::a_write_after_a_time("requests: {service: arm, count: 0, within: 2s}", "delete: [ConfigMap/socket]", true)]
fn the_rest_of_the_run_comes_last(#[case] first: &str, #[case] second: &str, #[case] is_good: bool) {
    let read = parse("a.yaml", &format!("{}    - {second}\n", text(first)), &vocabulary(DIALECT));
    match read {
        Ok(_) => assert!(is_good),
        Err(found) => {
            let told: Vec<_> = found.iter().map(|one| (one.line, one.message.as_str())).collect();
            let after = "steps[1] lasts until the rest of the run is over, and this comes after it";
            assert_eq!((told, is_good), (vec![(HEAD.lines().count() + 2, after)], false));
        }
    }
}

#[test]
fn a_dialect_without_services_has_none_to_name() {
    let dialect = DIALECT.replace("  services: [arm, other]\n", "");
    let found = parse("a.yaml", &text("script: {service: arm, rules: []}"), &vocabulary(&dialect)).unwrap_err();
    assert_eq!(found[0].message, "the dialect `lamps` has no services, so none `arm`");
}

#[test]
fn something_is_done_before_requests_are_counted() {
    let first = HEAD.lines().take(7).collect::<Vec<_>>().join("\n");
    let manifest = format!("{first}\n    - requests: {{service: arm, count: 1}}\n");
    let found = parse("a.yaml", &manifest, &vocabulary(DIALECT)).unwrap_err();
    assert_eq!((found[0].line, found[0].message.as_str()), (8, "nothing was done before this step"));
}

/// Where requests begin to count: at the step before that is no such expectation itself, or at the first.
#[test]
fn marks_are_taken_where_requests_begin_to_count() {
    let steps = "delete: [ConfigMap/socket]\n    - requests: {service: arm, count: 1}\n    - requests: {service: other, count: 1, since: start}\n    \
                 - requests: {service: arm, count: 0}";
    let scenario = parse("a.yaml", &text(steps), &vocabulary(DIALECT)).unwrap().remove(0);
    let basis = Basis::default();
    let marks: Vec<Vec<&str>> = (0..5).map(|step| scenario.marked_at(step, basis)).collect();
    assert_eq!(marks, [vec!["other"], vec!["arm"], vec![], vec![], vec![]]);
}

/// Behind a write with several ends it is not known beforehand which step was the last.
#[test]
fn marks_are_taken_wherever_a_write_may_lead() {
    let steps = "delete: [ConfigMap/socket]\n      either:\n        - refused: {}\n          then: [{script: {service: arm, rules: []}}]\n        \
                 - refused: {code: 409}\n          then: [{script: {service: arm, rules: []}}]\n    - requests: {service: arm, count: 1}";
    let scenario = parse("a.yaml", &text(steps), &vocabulary(DIALECT)).unwrap().remove(0);
    let marks: Vec<bool> = (0..5).map(|step| !scenario.marked_at(step, Basis::default()).is_empty()).collect();
    assert_eq!(marks, [false, true, true, true, false]);
    let taken = |ending: usize| {
        let is_done = |step: &Step| step.within.is_none_or(|branch| branch.ending == ending);
        scenario.counts_from(4, Since::Step, is_done)
    };
    assert_eq!([taken(0), taken(1), taken(2)], [2, 3, 1]);
}

#[rstest]
#[case::exact("count: 1", (0, Some(0)))]
#[case::none("count: 0", (1, None))]
#[case::least("count: {atLeast: 2}", (0, Some(1)))]
#[case::most("count: {atMost: 2}", (3, None))]
fn a_count_has_an_opposite(#[case] count: &str, #[case] opposite: (u64, Option<u64>)) {
    let step = format!("requests: {{service: arm, {count}}}");
    let scenario = parse("a.yaml", &text(&step), &vocabulary(DIALECT)).unwrap().remove(0);
    let ids: Vec<String> = enumerate(&scenario).into_iter().map(|one| one.id).collect();
    assert_eq!(ids, ["steps[1].requests.count"]);
    let inverted = invert(&scenario, &ids[0]).unwrap();
    let Verb::Requests(requests) = &inverted.steps[1].verb else { panic!("{inverted:?}") };
    assert_eq!((requests.at_least, requests.at_most), opposite);
}
