#![allow(clippy::unwrap_used)]
use std::time::Duration;

use gateproof_report::record::ProbeRecord;
use rstest::rstest;
use serde_json::json;

use super::super::fixtures::facts;
use super::*;
use crate::cluster::shape::Shape;

fn permission(verb: &'static str, need: Need) -> Permission {
    Permission { group: "g.test".to_owned(), resource: "things/status".to_owned(), verb, need }
}

fn instance(name: &str) -> Instance {
    let shape: Shape = "http".parse().unwrap();
    Instance { name: Arc::from(name), shape, port: 80, exclusive: false, addresses: vec!["10.0.0.1".to_owned()] }
}

fn gateway(programmed: &str) -> Option<Arc<Value>> {
    Some(Arc::new(json!({"status": {
        "addresses": [{"type": "IPAddress", "value": "10.0.0.1"}],
        "conditions": [{"type": "Programmed", "status": programmed, "reason": "Pending", "message": "no room"}],
    }})))
}

#[test]
fn the_scenario_of_preflight_is_sound() {
    let scenario = crate::suite::Suite::gateway_api().unwrap().preflight.unwrap();
    assert_eq!(scenario.gateways.keys().collect::<Vec<_>>(), ["gw"]);
    assert!(!crate::scenario::load::builtin_once().iter().any(|s| s.name == PREFLIGHT));
}

#[rstest]
#[case::accepted(Acceptance::Accepted, None)]
#[case::unasked(Acceptance::Unasked, None)]
#[case::refused(Acceptance::Refused("InvalidParameters (\"no map\")".to_owned()), Some("InvalidParameters (\"no map\")"))]
#[case::silent(Acceptance::Silent, Some("no controller answers for `example.com/controller`"))]
fn a_class_must_be_accepted(#[case] acceptance: Acceptance, #[case] told: Option<&str>) {
    let mut facts = facts();
    facts.class.as_mut().unwrap().acceptance = acceptance;
    let preflight = Preflight::of_facts(&facts);
    match told {
        None => assert!(preflight.is_good()),
        Some(told) => {
            let failure = preflight.failure().unwrap();
            assert_eq!(failure.question, Question::Class);
            assert!(failure.seen.contains(told), "{}", failure.seen);
            assert!(failure.next.is_some());
        }
    }
}

#[rstest]
#[case::all(Vec::new(), true, "5 verbs")]
#[case::evidence(vec![permission("watch", Need::Help)], true, "4 verbs; without watch things/status.g.test")]
#[case::needed(
    vec![permission("watch", Need::Help), permission("patch", Need::Run)],
    false,
    "the API server does not permit us to patch things/status.g.test"
)]
fn what_is_needed_must_be_permitted(#[case] missing: Vec<Permission>, #[case] good: bool, #[case] told: &str) {
    let mut preflight = Preflight::default();
    preflight.permissions(5, Ok(missing));
    assert_eq!(preflight.is_good(), good);
    assert_eq!(preflight.checks[0].seen, told);
}

#[test]
fn an_api_server_without_reviews_is_tried_all_the_same() {
    let mut preflight = Preflight::default();
    preflight.permissions(5, Err(ApiError::Transport("gone".to_owned())));
    assert_eq!(preflight.checks[0].answer, Answer::NotAsked);
    assert!(preflight.is_good());
}

#[rstest]
#[case::one_of_two(vec![gateway("False"), gateway("True")], true, "1 of 2 Gateways say Programmed=True, at 10.0.0.1")]
#[case::none(vec![gateway("False"), gateway("Unknown")], false, "Programmed=False/Pending (\"no room\")")]
#[case::never_seen(vec![None, None], false, "it was not seen")]
fn a_gateway_must_get_an_address(#[case] live: Vec<Option<Arc<Value>>>, #[case] good: bool, #[case] told: &str) {
    let mut preflight = Preflight::default();
    preflight.addresses(&[instance("a"), instance("b")], &live, &Dialect::gateway_api());
    assert_eq!(preflight.is_good(), good);
    assert!(preflight.checks[0].seen.contains(told), "{}", preflight.checks[0].seen);
}

#[test]
fn a_screen_has_a_line_for_every_question() {
    let mut preflight = Preflight::of_facts(&facts());
    preflight.permissions(5, Ok(vec![permission("patch", Need::Run)]));
    insta::assert_snapshot!(preflight.to_string(), @r"
      ✓ API server   it answers
      ✓ definitions  v1.4.0 in the standard channel
      ✓ class        `class` is accepted by example.com/controller
      ✗ permissions  the API server does not permit us to patch things/status.g.test
      · address      not asked
      · data path    not asked
      · backend      not asked
    ");
}

/// What a data path does that answers at times is for the scenarios to say.
#[rstest]
#[case::at_times(7, true, "it answers 3 of 10 requests")]
#[case::never(10, false, "no request could be made: it flaps")]
fn a_data_path_that_flaps_can_be_tested(#[case] disagreed: u64, #[case] good: bool, #[case] told: &str) {
    let verdict = Verdict {
        outcome: gateproof_report::record::Outcome::Failed,
        reason: Some("it flaps".to_owned()),
        findings: Vec::new(),
        stages: Vec::new(),
        shares: Vec::new(),
        probes: vec![ProbeRecord { n: 10, staying: disagreed, ..ProbeRecord::default() }],
        came_out: Vec::new(),
        checked: 1,
        contract: Vec::new(),
        contract_watched: Default::default(),
        slowest_settle: Duration::ZERO,
    };
    let mut preflight = Preflight::default();
    preflight.request(&verdict, &[], &Dialect::gateway_api(), ["connect", "backend"]);
    assert_eq!((preflight.is_good(), preflight.checks.last().unwrap().seen.as_str()), (good, told));
}

#[rstest]
#[case::enough(Room { nodes: 1, fit: 110, taken: 23 }, "for 87 Pods more on 1 node: 23 of 110 are there")]
#[case::as_many_as_there_may_be(Room { nodes: 2, fit: 60, taken: 28 }, "for 32 Pods more on 2 nodes: 28 of 60 are there")]
#[case::too_little(
    Room { nodes: 1, fit: 110, taken: 79 },
    "for 31 Pods more on 1 node: 79 of 110 are there; where each Gateway costs a Pod, this run may have 32 at once: --jobs 15 keeps to that"
)]
#[case::none(
    Room { nodes: 1, fit: 110, taken: 110 },
    "for 0 Pods more on 1 node: 110 of 110 are there; where each Gateway costs a Pod, this run may have 32 at once, and 1 even with --jobs 1"
)]
fn room_is_told_and_keeps_nobody_from_being_tested(#[case] room: Room, #[case] told: &str) {
    let mut preflight = Preflight::default();
    preflight.room(room, &Crowd::of(0, &[(1, 0)], 32), 16);
    assert!(preflight.is_good());
    assert_eq!(preflight.checks[0].seen, told);
    assert!(preflight.to_string().contains(&format!("  ✓ room         {told}\n")), "{preflight}");
}

#[test]
fn room_that_cannot_be_read_is_told_and_keeps_nobody_from_being_tested() {
    let mut preflight = Preflight::default();
    preflight.room_unread(&ApiError::Transport("connection reset".to_owned()));
    let told = "  · room         nodes or Pods cannot be read: no answer from the API server: connection reset\n";
    assert!(preflight.is_good() && preflight.to_string().contains(told), "{preflight}");
}

#[test]
fn of_room_that_nobody_may_see_nothing_is_said() {
    assert!(!Preflight::default().to_string().contains("room"));
}
