//! What runs say of each clause.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use gateproof_report::record::Severity;
use gateproof_report::requirements::{self, Account, Came, Clause, Look, Miss, Run, State, Unlooked, account};
use proptest::prelude::*;
use rstest::rstest;

fn clause(id: &str, otherwise: Unlooked) -> Clause {
    Clause {
        id: id.to_owned(),
        level: Some("must".to_owned()),
        text: format!("What {id} asks."),
        source: Some(format!("https://example.com/{id}")),
        otherwise,
    }
}

fn run(name: &str) -> Run {
    Run {
        name: name.to_owned(),
        target: "embedded".to_owned(),
        of: "Gateway API v1.7.0 standard".to_owned(),
        date: "2026-11-20T10:00:00Z".to_owned(),
        counts: BTreeMap::new(),
    }
}

fn look(scenario: Option<&str>, expectation: &str, came: Came) -> Look {
    Look {
        clauses: vec!["C-1".to_owned()],
        scenario: scenario.map(str::to_owned),
        expectation: expectation.to_owned(),
        came,
    }
}

fn missed(severity: Severity, consequence: bool) -> Came {
    Came::Missed(Miss {
        severity,
        expected: "True".to_owned(),
        seen: "False".to_owned(),
        late: false,
        consequence,
        known: None,
    })
}

fn not_seen(why: &str) -> Came {
    Came::NotSeen(why.to_owned())
}

fn not_applicable(why: &str) -> Came {
    Came::NotApplicable(why.to_owned())
}

fn state(looks: Vec<Look>, otherwise: Unlooked) -> State {
    account(&[clause("C-1", otherwise)], vec![(run("a"), looks)]).clauses[0].of[0].state
}

#[rstest]
#[case::held(vec![Came::Held], State::Held)]
#[case::held_where_it_was_come_to(vec![Came::Held, not_seen("it stopped")], State::Held)]
#[case::held_where_it_applies(vec![not_applicable("no such feature"), Came::Held], State::Held)]
#[case::broken(vec![missed(Severity::Failure, false)], State::Broken)]
#[case::broken_once(vec![Came::Held, missed(Severity::Failure, false), Came::Held], State::Broken)]
#[case::should(vec![Came::Held, missed(Severity::Warning, false)], State::Broken)]
#[case::in_consequence(vec![Came::Held, missed(Severity::Failure, true)], State::Broken)]
#[case::optional(vec![missed(Severity::Note, false)], State::NotApplicable)]
#[case::optional_and_held(vec![missed(Severity::Note, false), Came::Held], State::Held)]
#[case::not_seen(vec![not_seen("it stopped")], State::NotSeen)]
#[case::open_somewhere(vec![not_applicable("no such feature"), not_seen("it stopped")], State::NotSeen)]
#[case::not_applicable(vec![not_applicable("no such feature")], State::NotApplicable)]
fn what_was_seen_decides(#[case] came: Vec<Came>, #[case] expected: State) {
    let looks = came.into_iter().map(|came| look(Some("s"), "e", came)).collect();
    assert_eq!(state(looks, Unlooked::OfHarness), expected);
}

#[rstest]
#[case::of_the_harness(Unlooked::OfHarness, State::NotApplicable)]
#[case::for_a_reason(Unlooked::Because("it is a Go package".to_owned()), State::NotSeen)]
#[case::open(Unlooked::Open, State::NotSeen)]
fn what_nothing_looks_at_says_why(#[case] otherwise: Unlooked, #[case] expected: State) {
    let told = account(&[clause("C-1", otherwise)], vec![(run("a"), Vec::new())]);
    let cell = &told.clauses[0].of[0];
    assert_eq!(cell.state, expected);
    assert_eq!(cell.not_seen.len() + cell.not_applicable.len(), 1);
}

/// A run with one clause in each state, beside one with all of them held but one.
fn two() -> Account {
    let clauses = ["C-1", "C-2", "C-3", "C-4", "C-5"].map(|id| clause(id, Unlooked::Open));
    let of = |id: &str, look: Look| Look { clauses: vec![id.to_owned()], ..look };
    let late = Came::Missed(Miss {
        severity: Severity::Warning,
        expected: "it is there".to_owned(),
        seen: "<b>later</b> | `x`".to_owned(),
        late: true,
        consequence: false,
        known: Some("an issue (until 2027-01-31, known.yaml:3)".to_owned()),
    });
    let first = vec![
        of("C-1", look(Some("s"), "steps[1].settle.A/a.X.status", missed(Severity::Failure, true))),
        of("C-1", look(Some("t"), "steps[1].settle.A/a.X.status", missed(Severity::Failure, false))),
        of("C-1", look(Some("u"), "steps[1].settle.A/a.X.status", late)),
        of("C-1", look(Some("v"), "steps[1].settle.A/a.X.status", Came::Held)),
        of("C-2", look(Some("s"), "steps[2].probe.status", not_seen("it stopped at steps[1].settle.A/a.X.status"))),
        of("C-2", look(Some("w"), "steps[2].probe.status", not_seen("it was not selected"))),
        of("C-3", look(Some("x"), "steps[1].refused", not_applicable("the target does not claim TCPRoute"))),
        of("C-4", look(Some("v"), "steps[1].settle.A/a.X.status", Came::Held)),
        of("C-4", look(Some("v"), "steps[1].settle.A/a.X.reason", Came::Held)),
        of("C-4", look(None, "contract/A/rule", Came::Held)),
    ];
    let held = |id: &str| of(id, look(Some("v"), "steps[1].settle.A/a.X.status", Came::Held));
    let second = ["C-1", "C-2", "C-3", "C-4"].map(held).to_vec();
    account(&clauses, vec![(run("first"), first), (run("second"), second)])
}

/// The first of them alone.
fn one() -> Account {
    let mut account = two();
    account.runs.truncate(1);
    account.clauses.iter_mut().for_each(|row| row.of.truncate(1));
    account
}

#[test]
fn one_run_is_told_with_its_evidence() {
    insta::assert_snapshot!(requirements::text(&one()));
}

#[test]
fn several_runs_stand_side_by_side() {
    insta::assert_snapshot!(requirements::text(&two()));
}

#[test]
fn the_table_is_markdown() {
    insta::assert_snapshot!(requirements::markdown(&two()));
}

#[test]
fn the_page_loads_and_runs_nothing() {
    let page = requirements::html(&two());
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("<img"), "{page}");
    insta::assert_snapshot!(page);
}

#[test]
fn states_can_be_chosen() {
    let shown = |account: Account, states: &[State]| {
        account.only(states).clauses.iter().map(|row| row.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(shown(two(), &[]), ["C-1", "C-2", "C-3", "C-4", "C-5"]);
    assert_eq!(shown(two(), &[State::Broken]), ["C-1"]);
    assert_eq!(shown(two(), &[State::Broken, State::NotApplicable]), ["C-1", "C-3"]);
    assert_eq!(shown(one(), &[State::Held]), ["C-4"]);
    assert_eq!(shown(two(), &[State::Held]), ["C-1", "C-2", "C-3", "C-4"]);
}

/// The same is said once, of many the first are named, and what is not shown is counted.
#[test]
fn what_is_said_often_is_told_in_short() {
    let held = |scenario: &str| look(Some(scenario), "e", Came::Held);
    let unseen = |scenario: &str| look(Some(scenario), "f", not_seen("it stopped"));
    let looks = ["a", "a", "b", "c", "d", "e"].into_iter().flat_map(|name| [held(name), unseen(name)]).collect();
    let clauses = ["C-1", "C-2"].map(|id| clause(id, Unlooked::Open));
    let text = requirements::text(&account(&clauses, vec![(run("x"), looks)]).only(&[State::Held]));
    for part in [
        "met 5 times, in a, b, c and 2 more\n",
        "not seen: it stopped, in a, b, c and 2 more\n",
        "2 clauses: 1 not seen, 1 held; 1 of them is shown\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[rstest]
#[case::script("javascript:alert(1)")]
#[case::plain("http://example.com/")]
#[case::markdown("https://example.com/a)b|[c](d")]
fn what_is_no_address_is_no_link(#[case] source: &str) {
    let clauses = [Clause { source: Some(source.to_owned()), ..clause("C-1", Unlooked::Open) }];
    let told = account(&clauses, vec![(run("x"), Vec::new())]);
    assert!(requirements::markdown(&told).contains("| `C-1` |"));
    if !source.starts_with("https://") {
        assert!(!requirements::html(&told).contains("<a "));
    }
}

#[test]
fn what_does_not_follow_from_anything_else_comes_first() {
    let told = one();
    let names: Vec<_> = told.clauses[0].of[0].missed.iter().map(|missed| missed.scenario.clone().unwrap()).collect();
    assert_eq!(names, ["t", "u", "s"]);
}

proptest! {
    #[test]
    fn text_of_others_stays_text(seen in any::<String>(), name in any::<String>()) {
        let came = Came::Missed(Miss {
            severity: Severity::Failure,
            expected: seen.clone(),
            seen,
            late: false,
            consequence: false,
            known: None,
        });
        let told = account(&[clause("C-1", Unlooked::Open)], vec![(run(&name), vec![look(Some(&name), "e", came)])]);
        let page = requirements::html(&told);
        let plain = requirements::html(&account(&[clause("C-1", Unlooked::Open)], vec![(run("a"), vec![look(Some("a"), "e", missed(Severity::Failure, false))])]));
        prop_assert_eq!(page.matches('<').count(), plain.matches('<').count());
        let steers = |c: char| c.is_control() && c != '\n';
        prop_assert!(!requirements::text(&told).contains(steers));
        prop_assert!(!requirements::markdown(&told).contains(steers));
    }
}
