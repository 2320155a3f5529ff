//! Reports are functions of a record: counts add up, nothing inconclusive passes for success, foreign text is escaped.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use std::collections::BTreeSet;

use gateproof_report::compare::{Agreement, Here, Published, Test, compare};
use gateproof_report::conformance::{
    ConformanceReport, Defect, Extended, Identity, KnownTest, LeftOut, ProfileReport, ProfileRule, Statistics, Status,
    TestResult, Why, Withheld, build, claimed, lint,
};
use gateproof_report::known::{KnownFailure, KnownFailureRecord, KnownState};
use gateproof_report::record::{
    Breach, ContractRecord, Finding, LeftoverRecord, Outcome, RunRecord, ScenarioRecord, Severity, repeat_of,
};
use gateproof_report::{annotations, junit, markdown, terminal};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use rstest::rstest;
use support::{official, record, scenario};

/// What every profile of these tests is about.
const CORE: [&str; 3] = ["Gateway", "HTTPRoute", "ReferenceGrant"];

fn set(items: &[&str]) -> BTreeSet<String> {
    items.iter().map(|i| (*i).to_owned()).collect()
}

fn http() -> ProfileRule {
    ProfileRule {
        name: "GATEWAY-HTTP".to_owned(),
        core: set(&["Gateway", "ReferenceGrant", "HTTPRoute"]),
        extended: set(&["HTTPRouteCORS", "ListenerSet"]),
    }
}

fn identity() -> Identity {
    Identity {
        contact: vec!["@us".to_owned()],
        organization: "us".to_owned(),
        project: "it".to_owned(),
        url: "https://example.com".to_owned(),
        version: "v1.0.0".to_owned(),
    }
}

#[test]
fn a_profile_with_an_inconclusive_scenario_is_withheld() {
    let record = record(vec![
        scenario("a", &CORE, Outcome::Passed),
        scenario("b", &["Gateway", "HTTPRoute"], Outcome::Inconclusive),
    ]);
    let (report, withheld) = build(&record, &[], &[http()], identity(), "default".to_owned());
    assert!(report.profiles.is_empty());
    assert_eq!(withheld, [Withheld { profile: "GATEWAY-HTTP".to_owned(), why: Why::Inconclusive }]);
    assert_eq!(withheld[0].to_string(), "GATEWAY-HTTP (a scenario of it is inconclusive)");
}

#[test]
fn every_profile_is_withheld_if_the_release_was_chosen() {
    let mut record = record(vec![scenario("a", &CORE, Outcome::Passed)]);
    record.target.definitions = Some("v1.6.1 in the standard channel".to_owned());
    let (report, withheld) = build(&record, &[], &[http()], identity(), "default".to_owned());
    assert!(report.profiles.is_empty());
    let said = "GATEWAY-HTTP (judged by a chosen release; the definitions are of v1.6.1 in the standard channel)";
    assert_eq!(withheld[0].to_string(), said);
    assert!(markdown::render(&record).contains("The release was chosen: the definitions on the target are of"));
}

/// Scenarios that need a Gateway alone count in every profile with Gateways, and say nothing of its routes.
#[test]
fn a_profile_of_which_a_core_feature_is_not_claimed_is_withheld() {
    let mut record = record(vec![scenario("a", &["Gateway"], Outcome::Passed)]);
    record.target.features.retain(|feature| feature != "HTTPRoute");
    let (report, withheld) = build(&record, &[], &[http()], identity(), "default".to_owned());
    assert!(report.profiles.is_empty());
    assert_eq!(withheld[0].to_string(), "GATEWAY-HTTP (HTTPRoute not claimed)");
}

#[test]
fn a_profile_with_a_core_feature_that_no_scenario_needs_is_withheld() {
    let of = |features: &[&str], outcome| {
        build(&record(vec![scenario("a", features, outcome)]), &[], &[http()], identity(), "default".to_owned())
    };
    let (report, withheld) = of(&["Gateway", "ReferenceGrant"], Outcome::Passed);
    assert!(report.profiles.is_empty());
    assert_eq!(withheld[0].to_string(), "GATEWAY-HTTP (no scenario is about HTTPRoute)");
    assert_eq!(of(&["Gateway", "ReferenceGrant", "HTTPRoute"], Outcome::Passed).0.profiles.len(), 1);
}

/// Holds IMPL-14.
#[test]
fn what_the_selection_left_out_is_skipped() {
    let record =
        record(vec![scenario("a", &CORE, Outcome::Passed), scenario("elsewhere", &["TLSRoute"], Outcome::Passed)]);
    let of = |name: &str, feature: &str| LeftOut { name: name.to_owned(), features: vec![feature.to_owned()] };
    let left_out = [of("b", "HTTPRoute"), of("c", "HTTPRouteCORS"), of("d", "TLSRoute")];
    let report =
        |left_out: &[LeftOut]| build(&record, left_out, &[http()], identity(), "default".to_owned()).0.profiles;
    let partly = &report(&left_out)[0];
    assert_eq!((partly.core.result, &partly.core.skipped_tests[..]), (TestResult::Partial, &["b".to_owned()][..]));
    assert_eq!(partly.core.statistics, Statistics { failed: 0, passed: 1, skipped: 1 });
    let extended = partly.extended.as_ref().unwrap();
    assert_eq!((extended.result, &extended.skipped_tests[..]), (TestResult::Partial, &["c".to_owned()][..]));
    assert_eq!(report(&[])[0].core.result, TestResult::Success);
    // Nothing of the profile was run.
    assert!(build(&self::record(vec![]), &left_out, &[http()], identity(), "default".to_owned()).0.profiles.is_empty());
}

#[test]
fn a_repeated_scenario_counts_once_by_its_worst_end() {
    let record = record(vec![
        scenario("a", &CORE, Outcome::Passed),
        scenario("a#2", &["Gateway"], Outcome::Passed),
        scenario("b", &["Gateway"], Outcome::Passed),
        scenario("b#2", &["Gateway"], Outcome::Failed),
        scenario("c", &["Gateway"], Outcome::Passed),
        scenario("c#2", &["Gateway"], Outcome::Skipped),
    ]);
    let (report, _) = build(&record, &[], &[http()], identity(), "default".to_owned());
    let core = &report.profiles[0].core;
    assert_eq!(core.statistics, Statistics { failed: 1, passed: 1, skipped: 1 });
    assert_eq!((&core.failed_tests[..], &core.skipped_tests[..]), (&["b".to_owned()][..], &["c".to_owned()][..]));
}

/// Holds IMPL-14 and IMPL-18.
#[test]
fn counts_follow_upstreams_rules_and_the_file_reads_back() {
    let record = record(vec![
        scenario("core-pass", &CORE, Outcome::Passed),
        scenario("core-late", &["Gateway", "HTTPRoute"], Outcome::Late),
        scenario("ext-pass", &["HTTPRoute", "HTTPRouteCORS"], Outcome::Passed),
        scenario("ext-skip", &["HTTPRouteCORS"], Outcome::Skipped),
        scenario("unclaimed", &["ListenerSet"], Outcome::NotSupported),
        scenario("elsewhere", &["TLSRoute"], Outcome::Failed),
    ]);
    let (report, withheld) = build(&record, &[], &[http()], identity(), "default".to_owned());
    assert!(withheld.is_empty());
    let yaml = report.to_yaml().unwrap();
    assert_eq!(ConformanceReport::from_yaml(&yaml).unwrap(), report);
    insta::assert_snapshot!("conformance_report", yaml);
}

#[test]
fn what_no_profile_counts_is_named_if_it_was_run() {
    let mut record = record(vec![
        scenario("counted", &["Gateway"], Outcome::Passed),
        scenario("mixed", &["GRPCRoute", "HTTPRoute"], Outcome::Passed),
        scenario("unclaimed", &["GRPCRoute", "TCPRoute"], Outcome::NotSupported),
    ]);
    let line = "in no conformance profile: mixed";
    assert!(!terminal::summary(&record).contains(line) && !markdown::render(&record).contains(line));
    record.outside_profiles = vec!["mixed".to_owned(), "unclaimed".to_owned()];
    assert!(terminal::summary(&record).contains(&format!("{line}\n")), "{}", terminal::summary(&record));
    assert!(markdown::render(&record).contains(&format!("`{line}`\n")));
}

/// Whoever reads the report is not to be told less because somebody expected it.
#[test]
fn a_known_failure_is_a_failure_in_the_conformance_report() {
    let of = |outcome| {
        let record = record(vec![scenario("a", &CORE, outcome), scenario("b", &["Gateway"], Outcome::Passed)]);
        build(&record, &[], &[http()], identity(), "default".to_owned())
    };
    assert_eq!(of(Outcome::KnownFailure), of(Outcome::Failed));
    assert_ne!(of(Outcome::KnownFailure), of(Outcome::Passed));
}

fn known(state: KnownState, names: &[&str]) -> KnownFailureRecord {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let (seen, passed) = if state == KnownState::UnexpectedPass { (vec![], names) } else { (names, vec![]) };
    let entry = KnownFailure {
        scenario: Some("a*".to_owned()),
        expectation: None,
        contract: None,
        reason: "#12 <b>\u{1b}[2K".to_owned(),
        expires: "2026-11-19".to_owned(),
        place: "known.yaml:4".to_owned(),
    };
    KnownFailureRecord { entry, state, seen, passed }
}

#[test]
fn known_failures_and_stale_entries_are_told_in_every_report() {
    let mut broken = scenario("a-broken", &["Gateway"], Outcome::KnownFailure);
    broken.reason = Some("#12 (until 2026-11-30, known.yaml:4)".to_owned());
    let mut record = record(vec![broken, scenario("a-fine", &["Gateway"], Outcome::Passed)]);
    record.known_failures = vec![
        known(KnownState::UnexpectedPass, &["a-fine"]),
        known(KnownState::Expired, &["a-broken"]),
        known(KnownState::Seen, &["a-other"]),
        known(KnownState::NotTried, &[]),
    ];
    record.contract.push(ContractRecord {
        name: "contract/HTTPRoute/tri-state".to_owned(),
        clauses: vec![],
        severity: Severity::Failure,
        objects: 1,
        known: Some("#13 (until 2026-11-30, known.yaml:9)".to_owned()),
        breaches: vec![Breach {
            scenario: String::new(),
            object: "HTTPRoute/ns/route".to_owned(),
            path: "status".to_owned(),
            seen: "nothing".to_owned(),
            seq: 7,
        }],
    });
    let xml = junit::render(&record).unwrap();
    assert_eq!(xml.matches("type=\"known failure\"").count(), 2, "{xml}");
    for part in ["name=\"known-failures\"", "type=\"unexpected pass\"", "type=\"expired\""] {
        assert!(xml.contains(part), "{part} is missing in {xml}");
    }
    assert_eq!(xml.matches("<failure").count(), 2, "{xml}");
    let text = terminal::summary(&record);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "KNOWN FAILURE a-broken: #12 (until 2026-11-30, known.yaml:4)");
    assert_eq!(lines[1], "KNOWN FAILURE contract/HTTPRoute/tri-state: #13 (until 2026-11-30, known.yaml:9)");
    assert!(lines[2].starts_with("UNEXPECTED PASS known.yaml:4: a-fine passed"), "{text}");
    assert!(lines[3].starts_with("EXPIRED known.yaml:4: a-broken still fails"), "{text}");
    assert!(lines[3].ends_with("(reason: #12 <b>\\u{1b}[2K)"), "{text}");
    assert!(lines[4].starts_with("1 passed, 0 failed, 1 known to fail in"), "{text}");
    assert_eq!(lines.len(), 5, "{text}");
    let page = markdown::render(&record);
    for part in [
        "| `a-broken` | KNOWN FAILURE | `#12",
        "| `contract/HTTPRoute/tri-state` | KNOWN FAILURE | `#13",
        "- `UNEXPECTED PASS",
        "- `EXPIRED",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
}

#[test]
fn lint_names_what_a_submission_may_not_have() {
    let record = record(vec![scenario("a", &CORE, Outcome::Passed)]);
    let (mut report, _) = build(&record, &[], &[http()], identity(), "default".to_owned());
    assert_eq!(lint(&report, &[]), []);
    report.implementation.version = "main".to_owned();
    report.mode = None;
    report.profiles[0].core.statistics.failed = 1;
    let fields: Vec<String> = lint(&report, &[]).into_iter().map(|d| d.field).collect();
    assert_eq!(
        fields,
        [
            "mode",
            "implementation.version",
            "profiles[GATEWAY-HTTP].core.result",
            "profiles[GATEWAY-HTTP].core.failedTests"
        ]
    );
}

#[rstest]
#[case::as_many_as_are_taken("v1.7.0", 5, None)]
#[case::too_many("v1.7.0", 6, Some("profiles[GATEWAY-HTTP].core.statistics.skipped"))]
#[case::of_a_release_that_took_them("v1.6.3", 6, None)]
#[case::of_a_candidate("v1.7.0-rc.1", 6, Some("profiles[GATEWAY-HTTP].core.statistics.skipped"))]
fn from_v1_7_on_few_tests_may_be_skipped(#[case] release: &str, #[case] skipped: u32, #[case] field: Option<&str>) {
    let mut report = fit();
    report.gateway_api_version = release.to_owned();
    let core = &mut report.profiles[0].core;
    core.statistics.skipped = skipped;
    core.result = core.statistics.result();
    core.skipped_tests = (0..skipped).map(|number| format!("Test{number}")).collect();
    assert_eq!(lint(&report, &[]).into_iter().map(|d| d.field).next().as_deref(), field);
}

#[rstest]
#[case::of_the_release("v1.7.0", 0)]
#[case::of_a_later_one("v1.6.3", 1)]
fn a_report_lists_no_test_of_a_later_release(#[case] release: &str, #[case] defects: usize) {
    let mut report = fit();
    report.gateway_api_version = release.to_owned();
    let core = &mut report.profiles[0].core;
    core.statistics.skipped = 2;
    core.result = core.statistics.result();
    core.skipped_tests = vec!["Late".to_owned(), "Unknown".to_owned()];
    let found = lint(&report, &[KnownTest { name: "Late", since: "v1.7" }]);
    assert_eq!(found.len(), defects, "{found:?}");
    assert!(found.iter().all(|one| one.field.ends_with("core.skippedTests") && one.problem.contains("`Late`")));
}

#[rstest]
#[case::page("v1.7.0", "https://example.test/project", true)]
#[case::plain("v1.7.0", "http://example.test", true)]
#[case::no_scheme("v1.7.0", "example.test/project", false)]
#[case::no_page("v1.7.0", "ftp://example.test", false)]
#[case::no_host("v1.7.0", "https://", false)]
#[case::before_it_was_asked("v1.6.3", "example.test/project", true)]
fn from_v1_7_on_the_home_page_is_an_absolute_address(#[case] release: &str, #[case] url: &str, #[case] is_fit: bool) {
    let mut report = fit();
    report.gateway_api_version = release.to_owned();
    report.implementation.url = url.to_owned();
    assert_eq!(lint(&report, &[]).is_empty(), is_fit);
}

#[rstest]
#[case("a", ("a", 1))]
#[case("a#2", ("a", 2))]
#[case("a#10", ("a", 10))]
#[case("a#b", ("a#b", 1))]
fn a_repeat_has_a_number(#[case] name: &str, #[case] expected: (&str, u32)) {
    assert_eq!(repeat_of(name), expected);
}

fn fit() -> ConformanceReport {
    let record = record(vec![scenario("a", &CORE, Outcome::Passed)]);
    build(&record, &[], &[http()], identity(), "default".to_owned()).0
}

#[test]
fn junit_and_markdown_keep_every_state_apart_and_escape() {
    let mut failed = scenario("broken", &["Gateway"], Outcome::Failed);
    failed.findings.push(Finding {
        expectation: "steps[1].probe".to_owned(),
        severity: Severity::Failure,
        clauses: vec!["GEP1364-41".to_owned()],
        line: 12,
        stage: "converged".to_owned(),
        expected: "status 500".to_owned(),
        seen: "200 from <script>alert(1)</script>".to_owned(),
        late: false,
        consequence: false,
        at_ms: 40,
    });
    let mut unclear = scenario("unclear", &["Gateway"], Outcome::Inconclusive);
    unclear.reason = Some("no route to the address".to_owned());
    let mut record = record(vec![failed, scenario("fine", &["Gateway"], Outcome::Passed), unclear]);
    record.contract.push(ContractRecord {
        name: "contract/HTTPRoute/tri-state".to_owned(),
        clauses: vec!["GEP1364-04".to_owned()],
        severity: Severity::Failure,
        objects: 3,
        known: None,
        breaches: vec![Breach {
            scenario: "broken".to_owned(),
            object: "HTTPRoute/ns/route".to_owned(),
            path: "status.parents[0].conditions[Accepted]".to_owned(),
            seen: "status \"\"".to_owned(),
            seq: 7,
        }],
    });
    let left = LeftoverRecord { object: "Namespace/gp-<b>".to_owned(), diagnosis: "finalizers a/b".to_owned() };
    record.leftovers.push(left);
    let xml = junit::render(&record).unwrap();
    for part in [
        "name=\"clean-up\"",
        "left behind",
        "gp-&lt;b&gt;",
        "finalizers a/b",
        "<failure",
        "<error",
        "type=\"inconclusive\"",
        "no route to the address",
        "contract/HTTPRoute",
    ] {
        assert!(xml.contains(part), "{part} is missing in {xml}");
    }
    // Each place where a failure is told says how to run just that one, as it was run.
    for text in [&xml, &markdown::render(&record), &terminal::summary(&record)] {
        for name in ["broken", "unclear"] {
            let line = format!("gateproof run {name} --target embedded:deaf");
            assert!(text.contains(&line), "{line} is missing in {text}");
        }
    }
    assert!(!xml.contains("<script>"));
    insta::assert_snapshot!("terminal_summary", terminal::summary(&record));
}

proptest! {
    #[test]
    fn every_counted_scenario_is_counted_once(outcomes in prop::collection::vec(0..6usize, 0..30)) {
        let states = [
            Outcome::Passed,
            Outcome::Failed,
            Outcome::Late,
            Outcome::Skipped,
            Outcome::NotSupported,
            Outcome::KnownFailure,
        ];
        let scenarios: Vec<_> = outcomes
            .iter()
            .enumerate()
            .map(|(i, o)| scenario(&format!("s{i}"), &CORE, states[*o]))
            .collect();
        let counted = scenarios.iter().filter(|s| s.outcome != Outcome::NotSupported).count();
        let failed = scenarios.iter().any(|s| matches!(s.outcome, Outcome::Failed | Outcome::Late | Outcome::KnownFailure));
        let (report, _) = build(&record(scenarios), &[], &[http()], identity(), "default".to_owned());
        let total: u32 = report
            .profiles
            .iter()
            .map(|p| p.core.statistics.passed + p.core.statistics.failed + p.core.statistics.skipped)
            .sum();
        prop_assert_eq!(total as usize, counted);
        prop_assert_eq!(report.profiles.iter().any(|p| p.core.result == TestResult::Failure), failed);
    }
}

/// A record in which every text that others chose is this one.
fn all_of(text: &str) -> RunRecord {
    let own = || text.to_owned();
    let mut known_scenario = scenario(text, &["Gateway"], Outcome::KnownFailure);
    known_scenario.reason = Some(own());
    let mut failed = scenario(text, &["Gateway"], Outcome::Failed);
    failed.findings.push(finding(text, text));
    let mut unclear = scenario(text, &["Gateway"], Outcome::Inconclusive);
    unclear.reason = Some(own());
    let mut record = record(vec![known_scenario, failed, unclear]);
    let target = &mut record.target;
    target.name = own();
    for field in [
        &mut target.gateway_class,
        &mut target.controller_name,
        &mut target.gateway_api_version,
        &mut target.gateway_api_channel,
    ] {
        *field = Some(own());
    }
    record.arguments = vec![own()];
    record.outside_profiles = vec![own()];
    let breach = Breach { scenario: own(), object: own(), path: own(), seen: own(), seq: 7 };
    record.contract = [None, Some(own())]
        .map(|known| ContractRecord {
            name: own(),
            clauses: vec![],
            severity: Severity::Failure,
            objects: 1,
            known,
            breaches: vec![breach.clone()],
        })
        .to_vec();
    let mut stale = known(KnownState::UnexpectedPass, &[text]);
    stale.entry.reason = own();
    stale.entry.place = own();
    record.known_failures = vec![stale];
    record
}

/// What a page is made of beside what stands in code, and what stands in code.
fn parsed(page: &str) -> (String, Vec<String>) {
    let (mut others, mut codes, mut block) = (String::new(), vec![], false);
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Code(text) => codes.push(text.to_string()),
            Event::Start(Tag::CodeBlock(_)) => block = true,
            Event::End(TagEnd::CodeBlock) => block = false,
            Event::Text(text) if block => codes.push(text.to_string()),
            // The parser splits texts as it likes.
            Event::Text(text) => others.push_str(&text),
            other => others.push_str(&format!("{other:?}")),
        }
    }
    (others, codes)
}

#[rstest]
#[case::mention("ask @octocat")]
#[case::issue("see #123, GH-123 or a/b#123")]
#[case::link("[here](https://example.com) https://example.com www.example.com <me@example.com>")]
#[case::image("![x](https://example.com/x.png)")]
#[case::html("<script>alert(1)</script> &lt; <!-- ")]
#[case::table("a | b \\| c \\\\| d")]
#[case::code("`a` ``b`` ```")]
#[case::ends("`")]
#[case::nothing("  ")]
#[case::lines("a\n\n# b\n    c")]
#[case::directions("a\u{202e}b\u{61c}c\u{2066}d")]
fn what_others_say_is_nothing_but_code(#[case] text: &str) {
    let (others, codes) = parsed(&markdown::render(&all_of(text)));
    assert_eq!(others, parsed(&markdown::render(&all_of("x"))).0);
    let turns =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(!codes.concat().contains(turns), "{codes:?}");
}

#[test]
fn code_says_what_was_said() {
    let text = "`a` || b ``c`` <i> @me #1";
    let (_, codes) = parsed(&markdown::render(&all_of(text)));
    assert!(codes.iter().filter(|code| *code == text).count() > 10, "{codes:?}");
}

proptest! {
    #[test]
    fn no_text_makes_anything_of_the_page(text in prop_oneof![".+", "[`|\\\\ a<>&*_\\[\\]()!#@\n-]{1,12}"]) {
        prop_assert_eq!(parsed(&markdown::render(&all_of(&text))).0, parsed(&markdown::render(&all_of("x"))).0);
    }
}

#[test]
fn a_report_claims_what_its_profiles_are_about_and_list() {
    let extended =
        |names: &[&str]| Extended { supported_features: set(names).into_iter().collect(), ..Extended::default() };
    let profile = |name: &str, names: &[&str]| ProfileReport {
        name: name.to_owned(),
        extended: Some(extended(names)),
        ..ProfileReport::default()
    };
    let profiles = vec![profile("HTTP", &["HTTPRouteCORS"]), profile("GATEWAY-NEW", &["NewRoute"])];
    let report = ConformanceReport { profiles, ..ConformanceReport::default() };
    let claims = claimed(&report, &[http()]);
    assert_eq!(claims.features, set(&["Gateway", "ReferenceGrant", "HTTPRoute", "HTTPRouteCORS", "NewRoute"]));
    assert_eq!(claims.unknown_profiles, ["GATEWAY-NEW"]);
}

#[test]
fn a_file_of_options_keeps_the_line_short() {
    let mut record = record(vec![scenario("broken", &["Gateway"], Outcome::Inconclusive)]);
    record.options_file = Some("reports/options.txt".to_owned());
    let line = "gateproof run broken --options-from reports/options.txt";
    for text in [terminal::summary(&record), markdown::render(&record), junit::render(&record).unwrap()] {
        assert!(text.contains(line) && !text.contains("embedded:deaf"), "{text}");
    }
}

/// A published report that passed `counted` tests of GATEWAY-HTTP, but for those named.
fn published(counted: u32, failed: &[&str], skipped: &[&str]) -> ConformanceReport {
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let core = Status {
        failed_tests: named(failed),
        skipped_tests: named(skipped),
        statistics: Statistics { passed: counted, ..Statistics::default() },
        ..Status::default()
    };
    let profile = ProfileReport { core, name: "GATEWAY-HTTP".to_owned(), ..ProfileReport::default() };
    ConformanceReport { profiles: vec![profile], ..ConformanceReport::default() }
}

fn upstream(name: &str, features: &[&str]) -> Test {
    Test { name: name.to_owned(), features: features.iter().map(|f| (*f).to_owned()).collect() }
}

/// A scenario that proves upstream's test `T`, and may have failed at a clause, by itself or as a consequence.
fn proving(outcome: Outcome, failed_at: Option<(&str, bool)>) -> ScenarioRecord {
    let mut proving = scenario("s", &["Gateway"], outcome);
    proving.proves = ["upstream:T".to_owned()].into();
    proving.findings.extend(failed_at.map(|(clause, consequence)| Finding {
        clauses: vec![clause.to_owned()],
        consequence,
        ..finding("a", "b")
    }));
    proving
}

#[rstest]
#[case(&[], proving(Outcome::Passed, None), Here::Passed, Agreement::Agrees)]
#[case(&["T"], proving(Outcome::Passed, None), Here::Passed, Agreement::Disagrees)]
#[case(&[], proving(Outcome::Failed, Some(("upstream:T", false))), Here::Failed, Agreement::Disagrees)]
#[case(&["T"], proving(Outcome::Late, Some(("upstream:T", false))), Here::Failed, Agreement::Agrees)]
#[case(&["T"], proving(Outcome::KnownFailure, Some(("upstream:T", false))), Here::Failed, Agreement::Agrees)]
#[case(&[], proving(Outcome::Failed, Some(("upstream:T", true))), Here::FailedElsewhere, Agreement::Stricter)]
#[case(&[], proving(Outcome::Failed, Some(("K8S-07", false))), Here::FailedElsewhere, Agreement::Stricter)]
#[case(&["T"], proving(Outcome::Failed, Some(("K8S-07", false))), Here::FailedElsewhere, Agreement::Open)]
#[case(&[], proving(Outcome::Passed, Some(("upstream:T", false))), Here::Passed, Agreement::Agrees)]
#[case(&[], proving(Outcome::Inconclusive, None), Here::Inconclusive, Agreement::Open)]
#[case(&[], proving(Outcome::NotSupported, None), Here::NotRun, Agreement::Open)]
#[case(&[], scenario("s", &[], Outcome::Passed), Here::NotTested, Agreement::Open)]
fn a_run_is_held_against_a_published_report(
    #[case] failed: &[&str],
    #[case] scenario: ScenarioRecord,
    #[case] here: Here,
    #[case] agreement: Agreement,
) {
    let tests = [upstream("T", &["Gateway"])];
    let compared = compare(&record(vec![scenario]), &published(1, failed, &[]), &tests, &[http()]);
    assert_eq!(compared.tests.iter().map(|line| (line.here, line.agreement)).collect::<Vec<_>>(), [(here, agreement)]);
    assert_eq!(compared.miscounts, []);
}

#[test]
fn the_worst_scenario_decides_and_is_named() {
    let named = |name: &str, of: ScenarioRecord| ScenarioRecord { name: name.to_owned(), ..of };
    let scenarios = vec![
        named("z", proving(Outcome::Failed, Some(("upstream:T", false)))),
        named("b", proving(Outcome::Passed, None)),
        named("a", proving(Outcome::Failed, Some(("upstream:T", false)))),
    ];
    let compared = compare(&record(scenarios), &published(1, &[], &[]), &[upstream("T", &["Gateway"])], &[http()]);
    assert_eq!((compared.tests[0].here, compared.tests[0].scenarios.join(" ")), (Here::Failed, "a z".to_owned()));
}

#[test]
fn only_tests_that_the_published_report_speaks_of_are_compared() {
    let tests = [
        upstream("Extended", &["Gateway", "HTTPRouteCORS"]),
        upstream("Left", &["Gateway"]),
        upstream("Other", &["Gateway", "TLSRoute"]),
        upstream("Provisional", &["Gateway", "TLSRoute"]),
        upstream("Unclaimed", &["Gateway", "ListenerSet"]),
    ];
    let mut report = published(1, &[], &["Left"]);
    report.succeeded_provisional_tests = vec!["Provisional".to_owned()];
    report.profiles[0].extended = Some(Extended {
        supported_features: vec!["HTTPRouteCORS".to_owned()],
        statistics: Statistics { passed: 2, ..Statistics::default() },
        ..Extended::default()
    });
    let compared = compare(&record(vec![]), &report, &tests, &[http()]);
    let said: Vec<_> = compared.tests.iter().map(|line| (line.test.as_str(), line.published)).collect();
    let expected = [("Extended", Published::Passed), ("Left", Published::Skipped), ("Provisional", Published::Passed)];
    assert_eq!(said, expected);
    assert_eq!((compared.miscounts[0].counted, compared.miscounts[0].known), (3, 2));
}

/// The one published file that is not YAML of the schema begins with a stray `<Right>`.
#[test]
fn published_reports_are_read_by_the_same_types() {
    let Some((_, files)) = official::reports() else { return };
    let unreadable: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            let error = ConformanceReport::from_yaml(&text).err()?;
            (!text.starts_with("<Right>")).then(|| format!("{}: {error}", file.display()))
        })
        .collect();
    assert_eq!(unreadable, [] as [String; 0]);
}

/// What is wrong with reports that upstream took, and that it would take no longer by its own rules. All else is fine.
#[test]
fn published_reports_have_no_defects_but_these() {
    let Some((_, files)) = official::reports() else { return };
    let (mut others, mut faultless) = (Vec::new(), 0);
    for file in &files {
        let text = std::fs::read_to_string(file).unwrap();
        let Ok(report) = ConformanceReport::from_yaml(&text) else { continue };
        let found = lint(&report, &[]);
        faultless += usize::from(found.is_empty());
        let is_expected = |field: &str| match field {
            "date" | "implementation.version" | "gatewayAPIVersion" => true,
            // Of no release that a report names, today's rules are asked for.
            "apiVersion" | "gatewayAPIChannel" | "mode" => found.iter().any(|one| one.field == "gatewayAPIVersion"),
            "profiles[HTTP].extended" | "profiles[GATEWAY-HTTP].extended.status" => true,
            _ => false,
        };
        let is_other = |one: &&Defect| !is_expected(&one.field);
        others.extend(found.iter().filter(is_other).map(|one| format!("{}: {one:?}", file.display())));
    }
    assert_eq!(others, [] as [String; 0]);
    assert!(faultless * 10 > files.len() * 9, "{faultless} of {} reports have no defect", files.len());
}

fn finding(expected: &str, seen: &str) -> Finding {
    Finding {
        expectation: "steps[1].settle".to_owned(),
        severity: Severity::Failure,
        clauses: vec![],
        line: 12,
        stage: "programmed".to_owned(),
        expected: expected.to_owned(),
        seen: seen.to_owned(),
        late: false,
        consequence: false,
        at_ms: 40,
    }
}

fn saw(seen: &str) -> String {
    let mut failed = scenario("one", &[], Outcome::Failed);
    failed.reason = Some(seen.to_owned());
    failed.findings.push(finding(seen, seen));
    terminal::failure(&failed, &[])
}

/// What one object of a cluster says may be a megabyte, and of many objects many: reports that are read have what can be read of it.
#[test]
fn no_report_that_is_read_has_all_of_a_long_text() {
    const SAID: usize = 1_000_000;
    let long = "ä".repeat(SAID / 2);
    let mut failed = scenario("one", &[], Outcome::Failed);
    failed.findings.push(finding(&long, &long));
    let mut open = scenario("two", &[], Outcome::Inconclusive);
    open.reason = Some(long.clone());
    let mut run = record(vec![failed, open]);
    run.contract = vec![ContractRecord {
        name: "contract/Gateway/always-present".to_owned(),
        clauses: vec![],
        severity: Severity::Failure,
        objects: 1,
        known: None,
        breaches: vec![Breach {
            scenario: "one".to_owned(),
            object: "Gateway/ns/edge".to_owned(),
            path: "status".to_owned(),
            seen: long,
            seq: 1,
        }],
    }];
    for (what, text, said) in [
        ("terminal", terminal::summary(&run), 4),
        ("junit", junit::render(&run).unwrap(), 7),
        ("annotations", annotations::render(&run), 3),
        ("summary", markdown::render(&run), 4),
    ] {
        assert!(text.len() < 80_000, "{what} has {} bytes", text.len());
        assert_eq!(text.matches(" bytes more)").count(), said, "{what}");
    }
}

#[test]
fn control_characters_of_a_target_are_escaped() {
    let text = saw("gone\u{1b}[2K\rPASSED all\n\u{202e}x\u{9b}1m");
    assert!(text.contains(r"gone\u{1b}[2K\rPASSED all\n\u{202e}x\u{9b}1m"), "{text}");
}

proptest! {
    #[test]
    fn nothing_that_a_target_says_steers_the_terminal(seen in any::<String>()) {
        let text = saw(&seen);
        prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        prop_assert_eq!(text.lines().count(), saw("plain").lines().count());
    }
}

/// One row stands for all that never began, so each report says how many they are.
#[test]
fn what_never_began_is_told_with_how_many_there_are() {
    let mut unbegun = scenario("unbegun", &["Gateway"], Outcome::Inconclusive);
    (unbegun.reason, unbegun.alike) = (Some("interrupted before it began".to_owned()), 198);
    let record = record(vec![unbegun]);
    let failure = terminal::failure(&record.scenarios[0], &[]);
    let reports = [failure, junit::render(&record).unwrap(), markdown::render(&record), annotations::render(&record)];
    for report in reports {
        assert!(report.contains("interrupted before it began (and 198 more executions)"), "{report}");
    }
    assert!(terminal::counts(&record).contains("199 inconclusive"));
}
