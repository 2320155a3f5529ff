//! Runs of which a page is made, with what was seen in them.
#![allow(dead_code)]

use gateproof_report::conformance::ProfileRule;
use gateproof_report::html::{About, Came, Clause, Evidence, Note, Object, Page, Request, Row, Write};
use gateproof_report::known::{KnownFailure, KnownFailureRecord, KnownState};
use gateproof_report::record::{Breach, ContractRecord, Finding, Outcome, RunRecord, Severity, Stage};
use serde_json::json;

use crate::support;

/// What failed at the end of the second step.
pub fn finding(seen: &str) -> Finding {
    Finding {
        expectation: "steps[1].settle.HTTPRoute/route.ResolvedRefs.status".to_owned(),
        severity: Severity::Failure,
        clauses: vec!["GEP1364-50".to_owned(), "upstream:HTTPRouteInvalidReferenceGrant".to_owned()],
        line: 26,
        stage: "programmed".to_owned(),
        expected: "condition ResolvedRefs of HTTPRoute/route for Gateway gp-abc123-pool/http is False with reason RefNotPermitted"
            .to_owned(),
        seen: seen.to_owned(),
        late: false,
        consequence: false,
        at_ms: 5020,
    }
}

/// Scenarios of which each fifth fails, the first one among them.
pub fn run(count: usize) -> RunRecord {
    let scenarios = (0..count).map(|number| {
        let failed = number % 5 == 0;
        let outcome = if failed { Outcome::Failed } else { Outcome::Passed };
        let mut one = support::scenario(&format!("scenario-{number:04}"), &["Gateway", "HTTPRoute"], outcome);
        one.summary = format!("A route to a good backend answers, for the {number}th time.").into();
        one.proves = ["GEP1364-50".to_owned()].into();
        one.duration_ms = 5100;
        if failed {
            let reasons =
                ["ResolvedRefs=True/ResolvedRefs at observedGeneration 1", "no entry of our controller", "status 200"];
            one.findings = vec![finding(reasons[number / 5 % 3])];
        } else {
            one.stages = vec![Stage {
                step: 1,
                stage: "programmed".into(),
                reached_ms: 40 + number as u64 % 7,
                settled_ms: 240,
                limit_ms: 5000,
                waited_ms: 200,
            }];
        }
        one
    });
    support::record(scenarios.collect())
}

/// A run with repeats, known failures, a broken rule, and something without a verdict.
pub fn varied() -> RunRecord {
    let mut record = run(40);
    let named = |name: &str, outcome| support::scenario(name, &["Gateway", "HTTPRoute", "HTTPRouteCORS"], outcome);
    for (number, outcome) in [Outcome::Passed, Outcome::Failed, Outcome::Passed].into_iter().enumerate() {
        let name = if number == 0 { "repeated".to_owned() } else { format!("repeated#{}", number + 1) };
        let mut one = named(&name, outcome);
        if outcome == Outcome::Failed {
            one.findings = vec![finding("no entry of our controller"), Finding { consequence: true, ..finding("404") }];
        }
        record.scenarios.push(one);
    }
    let mut known = named("known", Outcome::KnownFailure);
    known.findings = vec![finding("mirrors are dropped")];
    known.reason = Some("our #123: mirrors are dropped under load".to_owned());
    let mut open = named("open", Outcome::Inconclusive);
    open.reason = Some("the harness itself was late while it probed in steps[3]".to_owned());
    record.scenarios.extend([known, open, named("left-out", Outcome::Skipped)]);
    record.known_failures = vec![KnownFailureRecord {
        entry: KnownFailure {
            scenario: Some("known".to_owned()),
            expectation: None,
            contract: None,
            reason: "our #123: mirrors are dropped under load".to_owned(),
            expires: "2026-12-02".to_owned(),
            place: "known.yaml:4".to_owned(),
        },
        state: KnownState::Seen,
        seen: vec!["known".to_owned()],
        passed: Vec::new(),
    }];
    record.contract = vec![ContractRecord {
        name: "contract/HTTPRoute/observed-generation-current".to_owned(),
        clauses: vec!["GEP1364-50".to_owned()],
        severity: Severity::Failure,
        objects: 12,
        known: None,
        breaches: vec![Breach {
            scenario: "scenario-0000".to_owned(),
            object: "HTTPRoute/gp-abc123-ns/route".to_owned(),
            path: "status.parents[0].conditions[Accepted]".to_owned(),
            seen: "observedGeneration went from 3 to 2".to_owned(),
            seq: 7,
        }],
    }];
    let mut known = record.contract[0].clone();
    "contract/HTTPRoute/always-present".clone_into(&mut known.name);
    known.known = Some("our #124: written in two steps".to_owned());
    record.contract.push(known);
    record
}

/// Names and texts as an enemy chooses them.
pub fn with_hostile_names() -> RunRecord {
    let mut record = run(6);
    let texts = [
        "</script><script>globalThis.owned = 1</script>",
        "\"><img src=x onerror=\"globalThis.owned = 1\">",
        "line\u{2028}separator\u{2029}and \u{202e}bidi\u{202c} and \u{1b}[2K and \0",
        "<!--<script>",
        "````'; globalThis.owned = 1; '",
        "{policy}{style}{script}{data}",
    ];
    for (scenario, text) in record.scenarios.iter_mut().zip(texts) {
        scenario.outcome = Outcome::Failed;
        text.clone_into(&mut scenario.name);
        scenario.summary = text.into();
        scenario.reason = Some(text.to_owned());
        scenario.features = scenario.features.iter().cloned().chain([text.to_owned()]).collect();
        let mut finding = finding(&format!("{text}{}", "w<ide".repeat(20_000)));
        text.clone_into(&mut finding.expectation);
        finding.clauses.push(text.to_owned());
        scenario.findings = vec![finding];
    }
    texts[0].clone_into(&mut record.target.name);
    record.target.gateway_class = Some("javascript:globalThis.owned=1".to_owned());
    record.options_file = Some("it's $(id).yaml".to_owned());
    record
}

/// What was seen of one.
pub fn evidence(number: usize, much: bool) -> Evidence {
    let mut evidence = Evidence { began: 1000, ended: 5_100_000, ..Evidence::default() };
    let mut route = Object::named("HTTPRoute/gp-abc123-ns/route".to_owned());
    for version in 0..if much { 100 } else { 3 } {
        let conditions = json!([
            {"type": "Accepted", "status": "True", "observedGeneration": version, "reason": "Accepted", "message": "x".repeat(60)},
            {"type": "ResolvedRefs", "status": if version > 1 { "True" } else { "Unknown" }, "reason": "ResolvedRefs"},
        ]);
        let object = json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": {"name": "route", "namespace": "gp-abc123-ns", "generation": 1},
            "spec": {"hostnames": [format!("h{number}.gateproof.test")], "rules": [{"backendRefs": [{"name": "echo", "port": 8080}]}]},
            "status": {"parents": [{"controllerName": "gateproof.dev/reference", "conditions": conditions}]},
        });
        route.saw(20_000 + version * 48_000, false, &object);
    }
    evidence.objects.push(route);
    evidence.in_step(0, 10_000);
    evidence.writes.push(Write {
        at: 10_000,
        step: 0,
        verb: "apply".to_owned(),
        object: "HTTPRoute/gp-abc123-ns/route".to_owned(),
        answer: "taken, generation 1".to_owned(),
        taken: true,
        sent: Some(json!({"kind": "HTTPRoute", "spec": {"hostnames": ["a.test"]}})),
    });
    for attempt in 0..if much { 100 } else { 12 } {
        let at = 30_000 + u64::from(attempt) * 50_000;
        evidence.in_step(2, at);
        let status = if attempt % 4 == 3 { "503" } else { "200 from echo" };
        let request = Request {
            line: format!("GET http://h{number}.gateproof.test/"),
            to: "127.0.0.1:80".to_owned(),
            sent: "GET / HTTP/1.1\nHost: a.test\nX-Gateproof-Request: ".to_owned(),
            rest: "\n\n".to_owned(),
            curl: Some("curl -i --path-as-is http://a.test/".to_owned()),
        };
        let came = Came {
            id: format!("id-{attempt}"),
            took: 3000,
            text: format!("{status}\nserver: x\n\n{}", "b".repeat(300)),
        };
        let row = Row {
            step: 2,
            role: "main".to_owned(),
            first: attempt,
            request: 0,
            ended: status.to_owned(),
            at: vec![at],
            came: vec![came],
        };
        evidence.attempt(request, row);
    }
    evidence.notes.push(Note {
        at: 40_000,
        sort: "event".to_owned(),
        text: "Warning BackendNotFound of HTTPRoute/route: no".to_owned(),
    });
    evidence
}

/// What the page says beside.
pub fn about() -> About {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    About {
        clauses: vec![
            Clause {
                id: "GEP1364-50".to_owned(),
                level: Some("MUST".to_owned()),
                text: "A reference into another namespace without a grant is RefNotPermitted.".to_owned(),
                source: Some("https://gateway-api.sigs.k8s.io/geps/gep-1364/".to_owned()),
            },
            Clause {
                id: "upstream:HTTPRouteInvalidReferenceGrant".to_owned(),
                level: None,
                text: "What is no address is no link.".to_owned(),
                source: Some("javascript:globalThis.owned = 1".to_owned()),
            },
        ],
        profiles: vec![ProfileRule {
            name: "GATEWAY-HTTP".to_owned(),
            core: set(&["Gateway", "HTTPRoute", "ReferenceGrant"]),
            extended: set(&["HTTPRouteCORS"]),
        }],
        diagnosis: vec!["it behaves as under one of the known faults, which explains 3 of 3 failures:".to_owned()],
        news: None,
    }
}

/// The page of a run, with evidence of everything in it.
pub fn page(record: &RunRecord) -> String {
    let mut page = Page::of(record, about()).unwrap();
    for (number, scenario) in record.scenarios.iter().enumerate() {
        page.put(&scenario.name, evidence(number, record.scenarios.len() <= 1000)).unwrap();
    }
    page.render().unwrap()
}
