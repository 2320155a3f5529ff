//! Whether no route is an answer.

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::log::{Change, ProbeError, ProbeRequest, Scope};
use crate::scenario::{Answer, Probe, ProbeTarget};

fn no_route(to: &str) -> Back {
    Back::Error(ProbeError::NoRoute { to: to.parse().unwrap(), why: "No route to host".to_owned() })
}

fn port(request: &ProbeRequest) -> u16 {
    match request {
        ProbeRequest::Http(http) => http.port,
        ProbeRequest::Tcp { port, .. } | ProbeRequest::Udp { port, .. } => *port,
    }
}

/// The pool's Gateway has a listener at 9000 beside that at 80.
#[rstest]
#[case::of_a_port(Answer::NoAnswer, "10.0.0.1:80", Back::Status(404), Outcome::Passed)]
#[case::of_a_port_that_should_answer(backend("echo"), "10.0.0.1:80", Back::Status(404), Outcome::Failed)]
#[case::of_the_host(Answer::NoAnswer, "10.0.0.1:80", no_route("10.0.0.1:9000"), Outcome::Inconclusive)]
#[case::of_the_host_that_should_answer(
    backend("echo"),
    "10.0.0.1:80",
    no_route("10.0.0.1:9000"),
    Outcome::Inconclusive
)]
#[case::the_other_refuses(
    backend("echo"),
    "10.0.0.1:80",
    Back::Error(ProbeError::ConnectRefused(String::new())),
    Outcome::Inconclusive
)]
#[case::the_other_is_dialled_elsewhere(backend("echo"), "192.0.2.7:80", Back::Status(404), Outcome::Inconclusive)]
fn no_route_to_a_port_is_no_answer_where_another_port_answers(
    #[case] wanted: Answer,
    #[case] to: &'static str,
    #[case] other: Back,
    #[case] outcome: Outcome,
) {
    let mut play = Play::new(scenario(vec![asks(get(wanted))]))
        .probes(move |_, _, request| if port(request) == 80 { no_route(to) } else { other.clone() });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
    assert!(play.requests.iter().any(|request| port(request) == 9000));
}

/// The way may have been lost since.
#[test]
fn what_answered_before_does_not_count() {
    let steps = vec![asks(get(backend("echo"))), asks(get(Answer::NoAnswer))];
    let mut play =
        Play::new(scenario(steps)).probes(|_, id, request| match (id.starts_with("tok-0-"), port(request)) {
            (true, _) => Back::Echo("echo-pod"),
            (false, port) => no_route(if port == 80 { "10.0.0.1:80" } else { "10.0.0.1:9000" }),
        });
    assert_eq!(play.run().outcome, Outcome::Inconclusive);
}

/// The address of a Gateway that is gone usually goes too.
#[rstest]
#[case::no_route(no_route("10.0.0.1:80"), true, Answer::NoAnswer, Outcome::Passed)]
#[case::no_way(Back::Error(ProbeError::Unreachable("no such name".to_owned())), true, Answer::NoAnswer, Outcome::Passed)]
#[case::no_way_of_ours(
    Back::Error(ProbeError::Hindered("no port-forward in time".to_owned())),
    true,
    Answer::NoAnswer,
    Outcome::Inconclusive
)]
#[case::that_never_answered(no_route("10.0.0.1:80"), false, Answer::NoAnswer, Outcome::Inconclusive)]
#[case::that_should_answer(no_route("10.0.0.1:80"), true, backend("echo"), Outcome::Inconclusive)]
#[case::still_answers(Back::Echo("echo-pod"), true, Answer::NoAnswer, Outcome::Failed)]
fn no_way_to_a_gateway_that_is_gone_is_no_answer(
    #[case] back: Back,
    #[case] answered: bool,
    #[case] wanted: Answer,
    #[case] outcome: Outcome,
) {
    let before = asks(get(if answered { backend("echo") } else { status(&[404]) }));
    let steps = vec![before, delete(vec![gateway_ref()]), asks(get(wanted))];
    let mut play = Play::new(scenario(steps))
        .writes(|_, _| (admitted(0), vec![(5, seen(Change::Deleted, &pool_gateway()))]))
        .probes(move |_, id, _| match id.starts_with("tok-0-") {
            true if answered => Back::Echo("echo-pod"),
            true => Back::Status(404),
            false => back.clone(),
        });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
}

fn of_class(class: &str, generation: i64) -> Value {
    let mut gateway = pool_gateway();
    gateway["spec"]["gatewayClassName"] = json!(class);
    gateway["metadata"]["generation"] = json!(generation);
    gateway
}

/// Its status may keep the address, which nobody is to clear, while what had the address is taken down.
#[rstest]
#[case::of_another("class", "nobodys", true, Answer::NoAnswer, Outcome::Passed)]
#[case::that_never_answered("class", "nobodys", false, Answer::NoAnswer, Outcome::Inconclusive)]
#[case::that_should_answer("class", "nobodys", true, backend("echo"), Outcome::Inconclusive)]
#[case::that_it_always_had("nobodys", "nobodys", true, Answer::NoAnswer, Outcome::Inconclusive)]
#[case::under_test("class", "class", true, Answer::NoAnswer, Outcome::Inconclusive)]
#[case::under_test_again("nobodys", "class", true, Answer::NoAnswer, Outcome::Inconclusive)]
fn no_way_to_a_gateway_that_left_its_class_is_no_answer(
    #[case] first: &str,
    #[case] later: &str,
    #[case] answered: bool,
    #[case] wanted: Answer,
    #[case] outcome: Outcome,
) {
    let before = asks(get(if answered { backend("echo") } else { status(&[404]) }));
    let later = of_class(later, 2);
    let mut play = Play::new(scenario(vec![before, apply(vec![route(&["http"])]), asks(get(wanted))]));
    play.push(Scope::Pool("http".into()), seen(Change::Modified, &of_class(first, 1)));
    let mut play = play.writes(move |_, _| (admitted(1), vec![(5, modified(&later))])).probes(move |_, id, _| match id
        .starts_with("tok-0-")
    {
        true if answered => Back::Echo("echo-pod"),
        true => Back::Status(404),
        false => Back::Error(ProbeError::Unreachable("no Service has the address".to_owned())),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?} {:?}", verdict.reason, verdict.findings);
}

/// A listener that was taken off its Gateway is asked at the port that it had.
#[test]
fn what_a_listener_leaves_is_asked_at_its_port() {
    let target = ProbeTarget { listener: Some("more".to_owned()), ..get(Answer::NoAnswer).target };
    let mut play = Play::new(scenario(vec![asks(Probe { target, ..get(Answer::NoAnswer) })]));
    play.listen("HTTP");
    play.push(Scope::Pool("http".into()), seen(Change::Modified, &pool_gateway()));
    let mut play = play.probes(|_, _, _| Back::Error(ProbeError::ConnectRefused(String::new())));
    play.run();
    assert!(play.requests.iter().any(|request| port(request) == 443), "{:?}", play.requests);
}
