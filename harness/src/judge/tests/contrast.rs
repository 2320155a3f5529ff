//! The control behind an error.

use gateproof_report::record::Outcome;
use rstest::rstest;

use super::driver::*;
use crate::log::{ProbeError, ProbeRequest};
use crate::scenario::{Answer, Probe};

const OTHER: &str = "contrast-tok.invalid";

fn probing(probe: Probe) -> Play {
    Play::new(scenario(vec![asks(probe)]))
}

fn host(request: &ProbeRequest) -> &str {
    match request {
        ProbeRequest::Http(http) => &http.authority,
        ProbeRequest::Tcp { .. } | ProbeRequest::Udp { .. } => "",
    }
}

fn server_name(request: &ProbeRequest) -> &str {
    match request {
        ProbeRequest::Http(http) => http.tls_server_name.as_deref().unwrap_or_default(),
        ProbeRequest::Tcp { .. } | ProbeRequest::Udp { .. } => "",
    }
}

#[rstest]
#[case::route_answers(500, 404, true, Outcome::Passed)]
#[case::everything_answers(500, 500, true, Outcome::Inconclusive)]
#[case::not_wanted(500, 500, false, Outcome::Passed)]
#[case::not_for_404(404, 404, true, Outcome::Passed)]
fn contrast_tells_the_route_from_the_gateway(
    #[case] main: u16,
    #[case] other: u16,
    #[case] wanted: bool,
    #[case] outcome: Outcome,
) {
    let mut probe = get(status(&[main]));
    probe.contrast = wanted;
    let mut play =
        probing(probe).probes(move |_, _, request| Back::Status(if host(request) == "a.test" { main } else { other }));
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.reason);
    let contrasts = play.requests.iter().filter(|r| host(r) == OTHER).count();
    assert_eq!(contrasts, usize::from(wanted && main != 404));
}

#[test]
fn a_turn_makes_the_contrast_needless() {
    let mut play = Play::new(scenario(vec![asks(get(backend("echo"))), asks(get(status(&[500])))]))
        .probes(|_, id, _| if id.starts_with("tok-0-") { Back::Echo("echo-pod") } else { Back::Status(500) });
    assert_eq!(play.run().outcome, Outcome::Passed);
    assert!(play.requests.iter().all(|r| host(r) == "a.test"));
}

/// How the contrast is answered, attempt by attempt; then for ever as the last time.
#[rstest]
#[case::late(vec![Back::Error(ProbeError::TimedOut), Back::Status(404)], Outcome::Passed)]
#[case::same_in_the_end(vec![Back::Error(ProbeError::TimedOut), Back::Status(500)], Outcome::Inconclusive)]
#[case::never(vec![Back::Error(ProbeError::TimedOut)], Outcome::Inconclusive)]
#[case::refused(vec![Back::Error(ProbeError::ConnectRefused("no".to_owned()))], Outcome::Inconclusive)]
#[case::no_way(vec![Back::Error(ProbeError::Unreachable("no".to_owned()))], Outcome::Inconclusive)]
fn no_answer_is_not_another_answer(#[case] answers: Vec<Back>, #[case] outcome: Outcome) {
    let mut left = answers.clone().into_iter();
    let mut play = probing(get(status(&[500]))).probes(move |_, _, request| match host(request) {
        OTHER => left.next().or_else(|| answers.last().cloned()).unwrap(),
        _ => Back::Status(500),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.reason);
}

/// Who refuses other hosts than that of the connection shows whose error it is by what the host itself got before.
#[rstest]
#[case::it_was_served(backend("echo"), 421, Outcome::Passed)]
#[case::it_was_not(status(&[200]), 421, Outcome::Inconclusive)]
#[case::nothing_comes(backend("echo"), 0, Outcome::Inconclusive)]
fn who_misdirects_others_is_known_by_the_host_itself(
    #[case] first: Answer,
    #[case] code: u16,
    #[case] outcome: Outcome,
) {
    let over_tls = |probe: Probe| Probe { tls: true, ..probe };
    let slow = Probe { path: "/slow".to_owned(), ..get(status(&[504])) };
    let mut play = Play::new(scenario(vec![asks(over_tls(get(first))), asks(over_tls(slow))]));
    play.listen("HTTPS");
    let mut play = play.probes(move |_, id, request| match (host(request), server_name(request)) {
        (OTHER, "a.test") if code > 0 => Back::Status(code),
        (OTHER, _) => Back::Error(ProbeError::Handshake("unrecognized name".to_owned())),
        _ if id.starts_with("tok-0-") => Back::Echo("echo-pod"),
        _ => Back::Status(504),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.reason);
}

/// A listener may have no certificate for the hostname of the contrast, and a request for another host than that of its
/// connection may be misdirected.
#[rstest]
#[case::everybody_is_let_in(&[OTHER, "a.test"], 404, &[OTHER], Outcome::Passed)]
#[case::others_are_not(&["a.test"], 404, &[OTHER, "a.test"], Outcome::Passed)]
#[case::it_is_misdirected(&["a.test"], 421, &[OTHER, "a.test", OTHER, "a.test", OTHER, "a.test"], Outcome::Inconclusive)]
fn over_tls_the_contrast_has_a_server_name_of_its_own(
    #[case] let_in: &'static [&str],
    #[case] code: u16,
    #[case] asked: &[&str],
    #[case] outcome: Outcome,
) {
    let mut play = probing(Probe { tls: true, ..get(status(&[500])) });
    play.listen("HTTPS");
    let mut play = play.probes(move |_, _, request| match (host(request), server_name(request)) {
        (_, name) if !let_in.contains(&name) => Back::Error(ProbeError::Handshake("unrecognized name".to_owned())),
        (OTHER, _) => Back::Status(code),
        _ => Back::Status(500),
    });
    let verdict = play.run();
    assert_eq!(verdict.outcome, outcome, "{:?}", verdict.reason);
    let contrasts = play.requests.iter().filter(|request| host(request) == OTHER);
    assert_eq!(contrasts.map(server_name).collect::<Vec<_>>(), asked);
}
