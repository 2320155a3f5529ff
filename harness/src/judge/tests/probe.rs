use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use gateproof_report::record::{Outcome, Severity};
use indexmap::IndexMap;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::Context;
use crate::log::{Body, Change, Ended, JournalEntry, ProbeError, ProbeRequest, Scope, TcpEnd, Timing, TimingProfile};
use crate::scenario::{Answer, HeaderTest, Isolation, Noted, ObjectRef, Probe, ProbeTarget, Seen, Share, Times};

fn probing(probe: Probe) -> Play {
    Play::new(scenario(vec![asks(probe)]))
}

fn host(request: &ProbeRequest) -> String {
    match request {
        ProbeRequest::Http(http) => http.authority.clone(),
        ProbeRequest::Tcp { .. } | ProbeRequest::Udp { .. } => String::new(),
    }
}

#[test]
fn agrees_after_so_many_answers_in_a_row() {
    let mut play = probing(get(backend("echo")))
        .probes(|at, _, _| if at.0 < 20_000 { Back::Status(404) } else { Back::Echo("echo-pod") });
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    let stage = &verdict.stages[0];
    assert_eq!((&*stage.stage, stage.limit_ms), ("converged", 5000));
    assert!(stage.reached_ms >= 20 && stage.settled_ms >= stage.reached_ms + 2);
    match &play.requests[0] {
        ProbeRequest::Http(http) => {
            assert_eq!((http.host.as_str(), http.port, http.authority.as_str()), ("10.0.0.1", 80, "a.test"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_stale_answer_in_three_starts_the_count_again() {
    let mut n = 0;
    let mut play = probing(get(backend("echo"))).probes(move |_, _, _| {
        n += 1;
        Back::Echo(if n == 3 { "other-pod" } else { "echo-pod" })
    });
    assert_eq!(play.run().outcome, Outcome::Passed);
    assert_eq!(play.requests.len(), 6 + 17);
}

/// What comes after the first answer is not asked for.
#[rstest]
#[case::agrees(0, &[], Outcome::Passed, 1)]
#[case::would_agree_later(20_000, &[], Outcome::Failed, 1)]
#[case::the_harness_was_late(20_000_000, &[1000], Outcome::Inconclusive, 1)]
fn what_is_sent_once_has_one_answer(
    #[case] from: u64,
    #[case] lags: &[u64],
    #[case] outcome: Outcome,
    #[case] requests: usize,
) {
    let mut play = probing(Probe { once: true, ..get(backend("echo")) })
        .probes(move |at, _, _| if at.0 < from { Back::Error(ProbeError::TimedOut) } else { Back::Echo("echo-pod") });
    play.answers_after = Duration::from_secs(2);
    for at in lags {
        play = play.at(*at, Body::Lagged { by: 1_100_000 });
    }
    let verdict = play.run();
    assert_eq!((verdict.outcome, play.requests.len()), (outcome, requests), "{verdict:?}");
}

/// Others have a Gateway that they share configured anew.
#[rstest]
#[case::twice(2, 2, &[], Outcome::Passed, 3)]
#[case::every_time(9, 2, &[], Outcome::Failed, 3)]
#[case::while_the_harness_was_late(1, 2, &[1000], Outcome::Passed, 2)]
#[case::in_logs_from_before(1, 0, &[], Outcome::Failed, 1)]
fn what_breaks_where_others_are_is_sent_again(
    #[case] broken: u32,
    #[case] resent: u32,
    #[case] lags: &[u64],
    #[case] outcome: Outcome,
    #[case] requests: usize,
    #[values("", "not of the pool", "alone on its lane", "each of several")] but: &str,
) {
    let each = if but == "each of several" { 2 } else { 1 };
    let mut probe = Probe { once: true, each, ..get(backend("echo")) };
    probe.target.gateway.pool = but != "not of the pool";
    let mut scenario = scenario(vec![asks(probe)]);
    if but == "alone on its lane" {
        scenario.isolation = Isolation::Lane;
    }
    let mut sent = 0..;
    let context = Context { timing: Timing { resent, ..Timing::of(TimingProfile::Embedded) }, ..context() };
    let mut play = Play::under(scenario, context).probes(move |_, _, _| {
        let is_broken = sent.next().is_some_and(|number: u32| number < broken);
        if is_broken { Back::Error(ProbeError::Broken("closed".to_owned())) } else { Back::Echo("echo-pod") }
    });
    // Three of them take longer than the budget of one.
    play.answers_after = Duration::from_secs(3);
    for at in lags {
        play = play.at(*at, Body::Lagged { by: 1_100_000 });
    }
    let alone = if lags.is_empty() { Outcome::Failed } else { Outcome::Inconclusive };
    let expected = if but.is_empty() { (outcome, requests) } else { (alone, 1) };
    let verdict = play.run();
    assert_eq!((verdict.outcome, play.requests.len()), expected, "{verdict:?}");
}

/// One wrong answer among them is enough, and the one after it is not asked for.
#[rstest]
#[case::all_agree(u32::MAX, Outcome::Passed, 4)]
#[case::one_does_not(2, Outcome::Failed, 3)]
fn each_of_several_has_one_answer(#[case] wrong: u32, #[case] outcome: Outcome, #[case] requests: usize) {
    let mut sent = 0..;
    let mut play = probing(Probe { once: true, each: 4, ..get(backend("echo")) })
        .probes(move |_, _, _| if sent.next() == Some(wrong) { Back::Status(502) } else { Back::Echo("echo-pod") });
    let verdict = play.run();
    assert_eq!((verdict.outcome, play.requests.len()), (outcome, requests), "{verdict:?}");
}

#[rstest]
#[case::status(Back::Status(404), "status", "status 404 from no backend")]
#[case::other_backend(Back::Echo("other-pod"), "backend", "status 200 from backend other")]
#[case::stranger(Back::Echo("x"), "backend", "a backend that is not the scenario's")]
#[case::refused(Back::Error(ProbeError::ConnectRefused("os 111".to_owned())), "status", "refused")]
#[case::hang(Back::Error(ProbeError::TimedOut), "status", "no whole answer in time")]
fn says_what_came_back(#[case] back: Back, #[case] part: &str, #[case] seen: &str) {
    let verdict = probing(get(backend("echo"))).probes(move |_, _, _| back.clone()).run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    assert_eq!(verdict.findings[0].expectation, format!("steps[0].probe.{part}"));
    assert_eq!(verdict.findings[0].stage, "converged");
    assert!(verdict.findings[0].seen.contains(seen), "{}", verdict.findings[0].seen);
}

/// The embedded budget is 5 s. Each attempt that timed out while the harness was late is preceded by what says so.
#[rstest]
#[case::in_time(&[], Outcome::Failed)]
#[case::late_once(&[4000], Outcome::Passed)]
#[case::late_twice(&[4000, 8000], Outcome::Passed)]
fn attempts_of_a_late_harness_are_not_the_targets_failure(#[case] lags: &[u64], #[case] outcome: Outcome) {
    let mut play = probing(get(backend("echo")))
        .probes(|at, _, _| if at.0 < 9_000_000 { Back::Error(ProbeError::TimedOut) } else { Back::Echo("echo-pod") });
    for at in lags {
        play = play.at(*at, Body::Lagged { by: 1_100_000 });
    }
    assert_eq!(play.run().outcome, outcome);
}

/// What fails stands for a quiet window before it is believed: what ends an execution may show only then.
#[rstest]
#[case::before_it_failed(3000, 1)]
#[case::while_it_is_doubted(5120, 0)]
#[case::long_after(9000, 1)]
fn what_has_just_failed_is_not_held_against_a_target_whose_surroundings_broke(
    #[case] at: u64,
    #[case] findings: usize,
) {
    let gone = Ended::Environment { error: "a backend is gone".to_owned() };
    let mut play = probing(get(backend("echo"))).probes(|_, _, _| Back::Status(404)).at(at, Body::ScenarioEnded(gone));
    assert_eq!(play.run().findings.len(), findings);
}

#[test]
fn no_way_to_the_address_is_not_the_targets_fault() {
    let back = Back::Error(ProbeError::Unreachable("no route".to_owned()));
    assert_eq!(probing(get(backend("echo"))).probes(move |_, _, _| back.clone()).run().outcome, Outcome::Inconclusive);
}

#[test]
fn a_deleted_gateway_is_asked_at_the_address_that_it_had() {
    let gateway = pool_gateway();
    let steps = vec![delete(vec![gateway_ref()]), asks(get(Answer::NoAnswer))];
    let mut play = Play::new(scenario(steps))
        .writes(move |_, _| (admitted(0), vec![(5, super::driver::seen(Change::Deleted, &gateway))]))
        .probes(|_, _, _| Back::Error(ProbeError::ConnectRefused(String::new())));
    assert_eq!(play.run().outcome, Outcome::Passed);
    assert!(matches!(&play.requests[0], ProbeRequest::Http(http) if http.host == "10.0.0.1"));
}

/// There is nothing to dial where there was never an address. One that cannot be dialled from here is an address.
#[rstest]
#[case::nothing(json!([]), Answer::NoAnswer, Outcome::Passed)]
#[case::an_odd_one(json!([{"type": "example.test/odd", "value": "x"}]), Answer::NoAnswer, Outcome::Failed)]
#[case::an_answer(json!([]), backend("echo"), Outcome::Failed)]
#[case::with_an_address(json!([{"value": "10.0.0.2"}]), Answer::NoAnswer, Outcome::Failed)]
fn nothing_answers_without_an_address(#[case] addresses: Value, #[case] answer: Answer, #[case] outcome: Outcome) {
    let mut own = pool_gateway();
    own["metadata"] = json!({"name": "own", "namespace": NS, "uid": "uid-route", "generation": 1});
    own["status"]["addresses"] = addresses;
    let target = ProbeTarget { gateway: object("Gateway", "own"), listener: None, of: None };
    let steps = vec![apply(vec![own.clone()]), asks(Probe { target, unprogrammed: true, ..get(answer) })];
    let mut play = Play::new(scenario(steps)).writes(move |_, _| (admitted(1), vec![(5, modified(&own))]));
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
    assert_eq!(verdict.checked, 1);
}

/// Silence has its whole time from when there is an address, though that comes late: here after 30 s, and before 60 s.
#[rstest]
#[case::soon(1000, Back::Error(ProbeError::ConnectRefused(String::new())), Outcome::Passed)]
#[case::after_its_time(35_000, Back::Error(ProbeError::ConnectRefused(String::new())), Outcome::Passed)]
#[case::and_somebody_answers(35_000, Back::Echo("echo-pod"), Outcome::Failed)]
fn an_address_that_comes_later_is_not_held_against_who_is_silent(
    #[case] comes: u64,
    #[case] back: Back,
    #[case] outcome: Outcome,
) {
    let mut own = pool_gateway();
    own["metadata"] = json!({"name": "own", "namespace": NS, "uid": "uid-route", "generation": 1});
    own["status"]["addresses"] = json!([]);
    let mut there = own.clone();
    there["status"]["addresses"] = json!([{"type": "IPAddress", "value": "10.0.0.2"}]);
    let target = ProbeTarget { gateway: object("Gateway", "own"), listener: None, of: None };
    let probe = Probe { target, unprogrammed: true, ..get(Answer::NoAnswer) };
    let context = Context { timing: Timing::of(TimingProfile::Real), ..context() };
    let mut play = Play::under(scenario(vec![apply(vec![own.clone()]), asks(probe)]), context)
        .writes(move |_, _| (admitted(1), vec![(5, modified(&own)), (comes, modified(&there))]))
        .probes(move |_, _, _| back.clone());
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
}

#[test]
fn answers_to_somebody_elses_writes_move_nothing() {
    let mut play = Play::new(scenario(vec![apply(vec![route(&["http"])]), asks(get(backend("echo")))]))
        .writes(|_, _| (admitted(1), Vec::new()));
    play.pool_write();
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed);
    let own = play.log.iter().filter(|e| matches!(e.body, Body::Wrote(_)) && matches!(e.scope, Scope::Scenario(_)));
    assert_eq!(own.count(), 1);
}

fn seen(change: impl FnOnce(&mut Seen)) -> Answer {
    let mut seen = Seen { status: vec![200], backend: Some("echo".to_owned()), ..Seen::default() };
    change(&mut seen);
    Answer::Http(Box::new(seen))
}

fn header(name: &str, test: HeaderTest) -> IndexMap<String, HeaderTest> {
    IndexMap::from([(name.to_owned(), test)])
}

#[rstest]
#[case(seen(|s| s.seen_path = Some("/".to_owned())), None)]
#[case(seen(|s| s.seen_path = Some("/x".to_owned())), Some("seen.path"))]
#[case(seen(|s| s.seen_host = Some("b.test".to_owned())), Some("seen.host"))]
#[case(seen(|s| s.seen_headers = header("x-a", HeaderTest::Equals("one".to_owned()))), None)]
#[case(seen(|s| s.seen_headers = header("x-a", HeaderTest::Equals("two".to_owned()))), Some("seen.headers.x-a"))]
#[case(seen(|s| s.seen_headers = header("X-A", HeaderTest::Absent)), Some("seen.headers.X-A"))]
#[case(seen(|s| s.seen_headers = header("X-B", HeaderTest::Absent)), None)]
#[case(seen(|s| s.seen_headers = header("X-B", HeaderTest::Present)), Some("seen.headers.X-B"))]
#[case(seen(|s| s.headers = header("Content-Type", HeaderTest::Present)), None)]
#[case(seen(|s| s.headers = header("Location", HeaderTest::Present)), Some("headers.Location"))]
fn what_the_backend_saw_is_compared(#[case] answer: Answer, #[case] part: Option<&str>) {
    let verdict = probing(get(answer)).run();
    assert_eq!(verdict.findings.first().map(|f| f.expectation.clone()), part.map(|p| format!("steps[0].probe.{p}")));
}

#[test]
fn a_preferred_status_is_a_should() {
    let answer = Answer::Http(Box::new(Seen { status: vec![500, 503], preferred: vec![503], ..Seen::default() }));
    let mut play =
        probing(get(answer)).probes(|_, _, request| Back::Status(if host(request) == "a.test" { 500 } else { 404 }));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed);
    assert_eq!(verdict.findings[0].severity, Severity::Warning);
    assert_eq!(verdict.findings[0].expectation, "steps[0].probe.preferred");
}

#[rstest]
#[case::same("http://a.test/x", None)]
#[case::spelt_out_port("http://a.test:80/x", Some(Severity::Warning))]
#[case::another_port("http://a.test:8080/x", Some(Severity::Failure))]
#[case::relative("/x", Some(Severity::Failure))]
fn a_location_should_not_spell_out_the_port_of_its_scheme(
    #[case] location: &'static str,
    #[case] severity: Option<Severity>,
) {
    let headers = header("Location", HeaderTest::Equals("http://a.test/x".to_owned()));
    let answer = Answer::Http(Box::new(Seen { status: vec![302], headers, ..Seen::default() }));
    let verdict = probing(get(answer)).probes(move |_, _, _| Back::Moved(location)).run();
    let found: Vec<_> = verdict.findings.iter().map(|f| (f.expectation.as_str(), f.severity)).collect();
    assert_eq!(found, severity.map(|s| ("steps[0].probe.headers.Location", s)).into_iter().collect::<Vec<_>>());
    let expected = if severity == Some(Severity::Failure) { Outcome::Failed } else { Outcome::Passed };
    assert_eq!(verdict.outcome, expected);
}

#[rstest]
#[case(Answer::TcpBackend("echo".to_owned()), Back::Line("echo-pod"), true)]
#[case(Answer::TcpBackend("echo".to_owned()), Back::Line("other-pod"), false)]
#[case(Answer::TcpBackend("echo".to_owned()), Back::Tcp(TcpEnd::Hung), false)]
#[case(Answer::TcpRefused, Back::Tcp(TcpEnd::ClosedBeforeAnyByte), true)]
#[case(Answer::TcpRefused, Back::Error(ProbeError::ConnectRefused(String::new())), true)]
#[case(Answer::TcpRefused, Back::Tcp(TcpEnd::Hung), false)]
#[case(Answer::TcpRefused, Back::Line("echo-pod"), false)]
#[case(Answer::TcpRefused, Back::Error(broken()), true)]
#[case(Answer::TcpRefused, Back::Cut(broken(), None), false)]
#[case(Answer::NoAnswer, Back::Error(ProbeError::ConnectRefused(String::new())), true)]
#[case(Answer::NoAnswer, Back::Error(ProbeError::TimedOut), false)]
#[case(Answer::NoAnswer, Back::Error(broken()), true)]
#[case(Answer::NoAnswer, Back::Cut(malformed(), None), true)]
#[case(Answer::NoAnswer, Back::Cut(broken(), Some(200)), false)]
#[case(Answer::NoAnswer, Back::Cut(malformed(), Some(200)), false)]
#[case(Answer::CutOff, Back::Cut(broken(), Some(200)), true)]
#[case(Answer::CutOff, Back::Cut(malformed(), Some(200)), false)]
#[case(Answer::CutOff, Back::Status(504), true)]
#[case(Answer::NoAnswer, Back::Status(404), true)]
#[case(Answer::NoAnswer, Back::Status(500), false)]
#[case(Answer::NoAnswer, Back::Echo("echo-pod"), false)]
fn ends_of_connections_are_told_apart(#[case] answer: Answer, #[case] back: Back, #[case] good: bool) {
    let mut play = probing(get(answer.clone())).probes(move |_, _, _| back.clone());
    assert_eq!(play.run().outcome == Outcome::Passed, good);
    if !matches!(answer, Answer::NoAnswer | Answer::CutOff) {
        assert!(matches!(&play.requests[0], ProbeRequest::Tcp { port: 9000, .. }));
    }
}

#[rstest]
#[case::refused(Back::Error(ProbeError::ConnectRefused(String::new())), true)]
#[case::packets_are_dropped(Back::Error(ProbeError::ConnectTimedOut), true)]
#[case::closed(Back::Tcp(TcpEnd::ClosedBeforeAnyByte), true)]
#[case::silent(Back::Tcp(TcpEnd::Hung), true)]
#[case::answered(Back::Line("echo-pod"), false)]
#[case::answered_in_part(Back::Cut(broken(), None), false)]
fn nobody_answers_over_tcp(#[case] back: Back, #[case] good: bool) {
    let probe = Probe { method: None, host: None, ..get(Answer::NoAnswer) };
    let mut play = probing(probe).probes(move |_, _, _| back.clone());
    assert_eq!(play.run().outcome == Outcome::Passed, good);
    assert!(matches!(&play.requests[0], ProbeRequest::Tcp { .. }));
}

fn broken() -> ProbeError {
    ProbeError::Broken("the connection ended".to_owned())
}

fn malformed() -> ProbeError {
    ProbeError::Malformed("no status line".to_owned())
}

#[rstest]
#[case::of_others("b.test", Outcome::Passed)]
#[case::of_the_host("a.test", Outcome::Failed)]
fn a_listener_that_is_not_programmed_shows_in_the_certificate(#[case] name: &'static str, #[case] outcome: Outcome) {
    let mut probe = Probe { tls: true, ..get(Answer::NoAnswer) };
    probe.target.listener = Some("http".to_owned());
    assert_eq!(probing(probe).probes(move |_, _, _| Back::TurnedAway(name)).run().outcome, outcome);
}

/// What a mirror at `other` noted of these requests.
fn mirrored<'i>(ids: impl Iterator<Item = &'i String>) -> Vec<JournalEntry> {
    let entry = |id: &String| JournalEntry {
        backend: "other".to_owned(),
        id: id.clone(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        proto: "HTTP/1.1".to_owned(),
        host: "a.test".to_owned(),
        headers: Vec::new(),
        body_sha256: String::new(),
        micros: 0,
    };
    ids.map(entry).collect()
}

#[rstest]
#[case::at_once(0, 1, Outcome::Passed)]
#[case::a_little_later(2, 1, Outcome::Passed)]
#[case::twice(0, 2, Outcome::Failed)]
#[case::never(u32::MAX, 1, Outcome::Failed)]
fn mirrors_are_counted_in_the_journal(#[case] after_reads: u32, #[case] times: usize, #[case] outcome: Outcome) {
    let mut play = probing(get(seen(|s| s.mirrored_to = vec!["other".to_owned()])));
    play.on_journal = Box::new(move |_, reads, ids| {
        if reads < after_reads {
            return Vec::new();
        }
        mirrored(ids.iter().flat_map(|id| std::iter::repeat_n(id, times)))
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome);
    if outcome == Outcome::Failed {
        assert_eq!(verdict.findings[0].expectation, "steps[0].probe.mirrored.other");
    }
}

/// A target that is busy may be behind with copies, whose originals are answered.
#[rstest]
#[case::all_of_them(98, Outcome::Passed)]
#[case::not_all(90, Outcome::Failed)]
fn copies_are_waited_for_as_long_as_more_come(#[case] most: usize, #[case] outcome: Outcome) {
    let mut play = probing(get(seen(|s| s.mirrored_to = vec!["other".to_owned()])));
    let (mut batch, mut there) = (String::new(), 0);
    play.on_journal = Box::new(move |_, _, ids| {
        if batch != ids[0] {
            (batch, there) = (ids[0].clone(), 0);
        }
        there += 5;
        mirrored(ids.iter().take(there.min(most)))
    });
    assert_eq!(play.run().outcome, outcome);
}

#[rstest]
#[case::presented(Back::Presented("a.test", "echo-pod"), None)]
#[case::case_does_not_matter(Back::Presented("A.test", "echo-pod"), None)]
#[case::another(Back::Presented("b.test", "echo-pod"), Some("one for x.test, b.test"))]
#[case::a_wildcard_is_another(Back::Presented("*.test", "echo-pod"), Some("one for x.test, *.test"))]
#[case::none(Back::Echo("echo-pod"), Some("one without any name, or none"))]
fn the_certificate_is_the_one_of_that_name(#[case] back: Back, #[case] seen_: Option<&str>) {
    let probe = get(seen(|s| s.certificate = Some("a.test".to_owned())));
    let verdict = probing(probe).probes(move |_, _, _| back.clone()).run();
    let found = verdict.findings.first().map(|f| (f.expectation.as_str(), f.seen.as_str()));
    assert_eq!(found, seen_.map(|seen| ("steps[0].probe.certificate", seen)));
}

#[test]
fn a_connection_that_breaks_says_nothing_of_the_mirror() {
    let mut play = probing(get(seen(|s| s.mirrored_to = vec!["other".to_owned()])));
    play.on_journal = Box::new(|_, _, ids| mirrored(ids.iter()));
    let mut n = 0;
    let mut play = play.probes(move |at, _, _| {
        n += 1;
        if n % 40 == 0 && at.0 < 3_000_000 { Back::Status(503) } else { Back::Echo("echo-pod") }
    });
    let verdict = play.run();
    assert!(verdict.probes[0].n > 4 * 98, "too few countings were broken off: {}", verdict.probes[0].n);
    assert_eq!(verdict.outcome, Outcome::Passed, "{:?}", verdict.findings);
}

/// The number of a request, by its ID.
fn number(id: &str) -> u32 {
    id.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap()
}

/// A mirror that leaves out every n-th request.
fn mirroring_all_but_every(n: u32) -> Outcome {
    let mut play = probing(get(seen(|s| s.mirrored_to = vec!["other".to_owned()])));
    play.on_journal = Box::new(move |_, _, ids| mirrored(ids.iter().filter(|id| !(number(id) + 1).is_multiple_of(n))));
    play.run().outcome
}

#[rstest]
#[case::every_second(2)]
#[case::one_of_ten(10)]
#[case::one_of_fifty(50)]
fn a_mirror_that_leaves_requests_out_is_noticed(#[case] n: u32) {
    assert_eq!(mirroring_all_but_every(n), Outcome::Failed);
    assert_eq!(mirroring_all_but_every(u32::MAX), Outcome::Passed);
}

/// A mirror that gets so many of ten requests, so often, expected to get one of five; what is in its journal shows a read later.
#[rstest]
#[case::as_many(2, 1, false, Outcome::Passed)]
#[case::shown_later(2, 1, true, Outcome::Passed)]
#[case::all(10, 1, false, Outcome::Failed)]
#[case::none(0, 1, false, Outcome::Failed)]
#[case::as_many_but_twice(2, 2, false, Outcome::Failed)]
fn copies_are_counted_in_the_journal(
    #[case] of_ten: u32,
    #[case] times: usize,
    #[case] is_late: bool,
    #[case] outcome: Outcome,
) {
    let mut play = probing(get(shares_of_a_mirror(20)));
    let mut known: Vec<String> = Vec::new();
    play.on_journal = Box::new(move |_, _, ids| {
        if is_late && known != ids {
            known = ids.to_vec();
            return mirrored(ids.iter().take(1));
        }
        let copied = ids.iter().filter(|id| number(id) % 10 < of_ten);
        mirrored(copied.flat_map(|id| std::iter::repeat_n(id, times)))
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
    if outcome == Outcome::Failed {
        assert_eq!(verdict.findings[0].expectation, "steps[0].probe.shares");
    }
}

fn shares_of_a_mirror(percent: u32) -> Answer {
    let parts = vec![(Share::Copied("other".to_owned()), percent), (Share::NotCopied, 100 - percent)];
    Answer::Shares { parts, margin: 10.0 }
}

fn noted_by_a_mirror() -> Answer {
    let noted = Noted { times: Some(Times::exactly(1)), ..Noted::default() };
    seen(|s| s.noted = IndexMap::from([("other".to_owned(), noted)]))
}

fn mirrored_to_other() -> Answer {
    seen(|s| s.mirrored_to = vec!["other".to_owned()])
}

fn kept_from_other() -> Answer {
    let noted = Noted { times: Some(Times::exactly(0)), ..Noted::default() };
    seen(|s| (s.backend, s.noted) = (Some("echo".to_owned()), IndexMap::from([("other".to_owned(), noted)])))
}

/// Nothing says how soon a copy must come; where none has for as long as copies are waited for, there is none. The second time is
/// that of every other ten requests.
#[rstest]
#[case::of_each(mirrored_to_other(), 10, (400, 400), Outcome::Passed)]
#[case::of_each_for_ever(mirrored_to_other(), 10, (60_000, 60_000), Outcome::Failed)]
#[case::of_each_in_part(mirrored_to_other(), 10, (400, 60_000), Outcome::Failed)]
#[case::as_noted(noted_by_a_mirror(), 10, (400, 400), Outcome::Passed)]
#[case::as_noted_for_ever(noted_by_a_mirror(), 10, (60_000, 60_000), Outcome::Failed)]
#[case::where_none_is_due(kept_from_other(), 10, (400, 400), Outcome::Failed)]
#[case::none_where_none_is_due(kept_from_other(), 0, (0, 0), Outcome::Passed)]
#[case::of_some(shares_of_a_mirror(20), 2, (400, 400), Outcome::Passed)]
#[case::of_most_very_late(shares_of_a_mirror(80), 8, (900, 900), Outcome::Passed)]
#[case::of_most_at_two_paces(shares_of_a_mirror(80), 8, (0, 900), Outcome::Passed)]
#[case::of_some_at_two_paces(shares_of_a_mirror(20), 2, (0, 400), Outcome::Passed)]
#[case::of_some_for_ever(shares_of_a_mirror(20), 2, (60_000, 60_000), Outcome::Failed)]
#[case::of_too_few_at_two_paces(shares_of_a_mirror(20), 2, (0, 60_000), Outcome::Failed)]
#[case::of_too_many(shares_of_a_mirror(20), 4, (400, 400), Outcome::Failed)]
#[case::of_too_many_at_two_paces(shares_of_a_mirror(20), 4, (0, 400), Outcome::Failed)]
#[case::of_too_many_very_late(shares_of_a_mirror(20), 4, (900, 900), Outcome::Failed)]
fn copies_that_come_late_are_waited_for(
    #[case] answer: Answer,
    #[case] of_ten: u32,
    #[case] late_ms: (u64, u64),
    #[case] outcome: Outcome,
) {
    let sent = Rc::new(RefCell::new(HashMap::new()));
    let noted = Rc::clone(&sent);
    let mut play = probing(get(answer)).probes(move |at, id, _| {
        sent.borrow_mut().insert(id.to_owned(), at);
        Back::Echo("echo-pod")
    });
    play.on_journal = Box::new(move |now, _, ids| {
        let late = |n: u32| Duration::from_millis(if (n / 10).is_multiple_of(2) { late_ms.0 } else { late_ms.1 });
        let there = |id: &&String| now - noted.borrow()[*id] >= late(number(id));
        mirrored(ids.iter().filter(|id| number(id) % 10 < of_ten).filter(there))
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
    if of_ten == 4 {
        let (_, due, copied) = &verdict.shares[0].counts[0];
        assert!(f64::from(*copied) > due * f64::from(verdict.shares[0].n), "{:?}", verdict.shares);
    }
}

/// Half of the answers are wrong for a while, which no copy mends.
#[rstest]
#[case(2_000, 4_300)]
#[case(3_000, 4_500)]
#[case(3_700, 4_600)]
fn copies_are_not_waited_for_where_they_do_not_matter(#[case] from_ms: u64, #[case] to_ms: u64) {
    let mut n = 0;
    let mut play = probing(get(shares_of_a_mirror(20))).probes(move |at, _, _| {
        n += 1;
        let is_wrong = at.0 < from_ms * 1000 || (at.0 < to_ms * 1000 && n % 2 == 0);
        if is_wrong { Back::Status(404) } else { Back::Echo("echo-pod") }
    });
    play.on_journal = Box::new(move |_, _, ids| mirrored(ids.iter().filter(|id| number(id) % 10 < 2)));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{:?} {:?}", verdict.reason, verdict.findings);
}

/// The last that was asked in time was sent before anything was copied, and waited for until time was up.
#[rstest]
#[case::in_time(4_800, Outcome::Passed)]
#[case::never(60_000, Outcome::Failed)]
fn what_is_copied_while_copies_are_waited_for_is_in_time(#[case] from_ms: u64, #[case] outcome: Outcome) {
    let sent = Rc::new(RefCell::new(HashMap::new()));
    let noted = Rc::clone(&sent);
    let mut play = probing(get(mirrored_to_other())).probes(move |at, id, _| {
        sent.borrow_mut().insert(id.to_owned(), at);
        Back::Echo("echo-pod")
    });
    play.on_journal =
        Box::new(move |_, _, ids| mirrored(ids.iter().filter(|id| noted.borrow()[*id].0 >= from_ms * 1000)));
    assert_eq!(play.run().outcome, outcome);
}

/// Every attempt takes 60 ms that the harness was late by; from some time on it is in time again.
#[rstest]
#[case::always(u64::MAX, Outcome::Inconclusive)]
#[case::not_at_the_end(5300, Outcome::Failed)]
fn an_answer_for_which_the_harness_was_late_is_not_the_last(#[case] until: u64, #[case] outcome: Outcome) {
    let mut play = probing(get(backend("echo"))).probes(|_, _, _| Back::Status(404));
    for at in (0..20_000).step_by(50).take_while(|at| *at < until) {
        play = play.at(at, Body::Lagged { by: 60_000 });
    }
    assert_eq!(play.run().outcome, outcome);
}

#[test]
fn an_answer_that_comes_in_the_grace_time_is_late() {
    let mut context = context();
    context.timing.grace = Duration::from_secs(3);
    let mut play = Play::under(scenario(vec![asks(get(backend("echo")))]), context)
        .probes(|at, _, _| if at.0 < 6_000_000 { Back::Status(404) } else { Back::Echo("echo-pod") });
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Late);
    assert!(verdict.findings[0].late);
}

fn shared(weights: (u32, u32), counted: u32) -> (Outcome, Severity, u32) {
    let parts = vec![(Share::Backend("echo".to_owned()), weights.0), (Share::Backend("other".to_owned()), weights.1)];
    let mut context = context();
    context.timing.converge = Duration::from_millis(500);
    let mut n = 0;
    let probe = asks(get(Answer::Shares { parts, margin: 10.0 }));
    let mut play = Play::under(scenario(vec![probe]), context).probes(move |_, _, _| {
        n += 1;
        Back::Echo(if n % 10 < counted { "echo-pod" } else { "other-pod" })
    });
    let verdict = play.run();
    let severity = verdict.findings.first().map_or(Severity::Note, |f| f.severity);
    (verdict.outcome, severity, verdict.shares[0].n)
}

#[test]
fn shares_are_tested_in_sequence() {
    let (outcome, _, n) = shared((1, 1), 5);
    assert_eq!(outcome, Outcome::Passed);
    assert!((200..1500).contains(&n), "{n}");
    let (outcome, severity, n) = shared((1, 1), 8);
    assert_eq!((outcome, severity), (Outcome::Failed, Severity::Failure));
    assert!(n < 500, "{n}");
    assert_eq!(shared((9, 1), 9).0, Outcome::Passed);
    assert_eq!(shared((1, 0), 10).0, Outcome::Passed);
    assert_eq!(shared((1, 0), 9).0, Outcome::Failed);
}

/// Two backends by turns, and something bad instead of every tenth answer until some time, in milliseconds.
fn halves(until: u64, bad: Back) -> Play {
    let parts = vec![(Share::Backend("echo".to_owned()), 1), (Share::Backend("other".to_owned()), 1)];
    let mut n = 0;
    Play::under(scenario(vec![asks(get(Answer::Shares { parts, margin: 10.0 }))]), context()).probes(move |at, _, _| {
        n += 1;
        match n {
            n if n % 10 == 0 && at.0 / 1000 < until => bad.clone(),
            n if n % 2 == 0 => Back::Echo("echo-pod"),
            _ => Back::Echo("other-pod"),
        }
    })
}

/// What breaks requests while the run changes something elsewhere breaks shares too.
#[rstest]
#[case::while_the_run_writes(5_100, false, Outcome::Inconclusive)]
#[case::all_the_same(60_000, false, Outcome::Failed)]
#[case::the_run_goes_on(60_000, true, Outcome::Inconclusive)]
fn shares_fail_only_while_the_run_writes_nothing(#[case] until: u64, #[case] restless: bool, #[case] outcome: Outcome) {
    let mut play = halves(until, Back::Status(503));
    play.restless = restless;
    let verdict = play.run();
    assert_eq!((verdict.outcome, play.quiesced), (outcome, 1), "{:?} {:?}", verdict.reason, verdict.findings);
}

/// One backend gets all requests until then, and the others their half from then on.
fn all_at_first(until: u64) -> Play {
    let parts = vec![(Share::Backend("echo".to_owned()), 1), (Share::Backend("other".to_owned()), 1)];
    let mut n = 0;
    Play::under(scenario(vec![asks(get(Answer::Shares { parts, margin: 10.0 }))]), context()).probes(move |at, _, _| {
        n += 1;
        Back::Echo(if n % 2 == 0 && at.0 / 1000 >= until { "echo-pod" } else { "other-pod" })
    })
}

/// A test may be under way, or a pause, when the budget ends: what comes right meanwhile came in time.
#[test]
fn shares_that_come_right_in_time_are_not_late() {
    for until in (4_000..5_000).step_by(10) {
        let verdict = all_at_first(until).run();
        assert_eq!(verdict.outcome, Outcome::Passed, "{until} ms: {:?}", verdict.findings);
    }
    assert_eq!(all_at_first(6_500).run().outcome, Outcome::Failed);
}

/// Where answers take so long that a test outlasts the budget, what it saw of a data path that was still converging, or of the run's
/// doings elsewhere, is not the last word.
#[rstest]
#[case::converges(3000, Back::Status(404), Outcome::Passed, 0)]
#[case::breaks_while_the_run_writes(13_000, Back::Error(ProbeError::Broken("reset".to_owned())), Outcome::Passed, 1)]
#[case::breaks_all_the_same(u64::MAX, Back::Error(ProbeError::Broken("reset".to_owned())), Outcome::Failed, 1)]
#[case::never_converges(u64::MAX, Back::Status(404), Outcome::Failed, 1)]
fn a_test_of_shares_that_outlasts_its_budget_is_repeated(
    #[case] until: u64,
    #[case] bad: Back,
    #[case] outcome: Outcome,
    #[case] quiesced: u32,
) {
    let mut play = halves(until, bad);
    play.answers_after = Duration::from_millis(150);
    let verdict = play.run();
    assert_eq!((verdict.outcome, play.quiesced), (outcome, quiesced), "{:?} {:?}", verdict.reason, verdict.findings);
}

/// A Gateway's ports come in turn with those of all others that come, which its status does not wait for; a route has no such reason.
#[rstest]
#[case::opened(gateway_object(), 55, (180, 3), 45, Outcome::Passed)]
#[case::opened_and_too_late(gateway_object(), 55, (180, 3), 600, Outcome::Failed)]
#[case::opened_while_others_take_longer(gateway_object(), 20, (180, 3), 45, Outcome::Passed)]
#[case::opened_where_nothing_takes_long(gateway_object(), 5, (180, 3), 45, Outcome::Late)]
#[case::opened_in_old_logs(gateway_object(), 55, (0, 0), 45, Outcome::Late)]
#[case::opened_in_newer_logs(gateway_object(), 55, (180, 0), 45, Outcome::Passed)]
#[case::opened_in_newer_logs_while_others_take_longer(gateway_object(), 20, (180, 0), 45, Outcome::Late)]
#[case::of_a_route(route(&["http"]), 55, (180, 3), 45, Outcome::Late)]
fn what_opens_ports_has_as_long_as_others_took(
    #[case] object: Value,
    #[case] slowest: u64,
    #[case] (most, openings): (u64, u32),
    #[case] seconds: u64,
    #[case] outcome: Outcome,
) {
    let timing = Timing { opened: Duration::from_secs(most), openings, ..Timing::of(TimingProfile::Real) };
    let context = Context { timing, slowest_settle: Duration::from_secs(slowest), ..context() };
    let steps = vec![apply(vec![object]), asks(get(backend("echo")))];
    let refused = Back::Error(ProbeError::ConnectRefused(String::new()));
    let mut play = Play::under(scenario(steps), context).probes(move |at, _, _| match at.0 < seconds * 1_000_000 {
        true => refused.clone(),
        false => Back::Echo("echo-pod"),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
}

/// A port is opened by a certificate, too, that its listener had lacked; once it has answered it is open.
#[rstest]
#[case::had_lacked_something(Answer::NoAnswer, false, Outcome::Passed)]
#[case::had_lacked_a_certificate(Answer::NoCertificate, false, Outcome::Passed)]
#[case::answers(status(&[404]), false, Outcome::Late)]
#[case::of_the_pool(Answer::NoAnswer, true, Outcome::Late)]
fn what_a_listener_had_lacked_opens_its_port(#[case] first: Answer, #[case] pool: bool, #[case] outcome: Outcome) {
    let context =
        Context { timing: Timing::of(TimingProfile::Real), slowest_settle: Duration::from_secs(55), ..context() };
    let is_answered = !first.is_silence();
    let probe = |answer| {
        let target = ProbeTarget { gateway: ObjectRef { pool, ..gateway_ref() }, listener: None, of: None };
        asks(Probe { target, ..get(answer) })
    };
    let steps = vec![probe(first), apply(vec![route(&["http"])]), probe(backend("echo"))];
    let mut play = Play::under(scenario(steps), context).probes(move |at, _, _| match at.0 {
        45_000_000.. => Back::Echo("echo-pod"),
        _ if is_answered => Back::Status(404),
        _ => Back::Error(ProbeError::ConnectRefused(String::new())),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
}

/// Who is to be silent has been, or never was: nothing has to be opened for it.
#[test]
fn silence_is_waited_for_no_longer_at_a_listener_of_its_own() {
    let timing = Timing::of(TimingProfile::Real);
    let context = Context { timing, slowest_settle: Duration::from_secs(55), ..context() };
    let target = ProbeTarget { gateway: ObjectRef { pool: false, ..gateway_ref() }, listener: None, of: None };
    let steps = vec![asks(Probe { target, ..get(Answer::NoAnswer) })];
    let mut play = Play::under(scenario(steps), context).probes(move |at, _, _| match at.0 {
        45_000_000.. => Back::Error(ProbeError::ConnectRefused(String::new())),
        _ => Back::Echo("echo-pod"),
    });
    assert_eq!(play.run().outcome, Outcome::Late);
}

fn gateway_object() -> Value {
    json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "own", "namespace": NS}})
}
