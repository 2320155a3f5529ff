use gateproof_report::record::Outcome;
use proptest::prelude::*;

use super::driver::*;
use crate::scenario::{Answer, Hold, HoldFor, Level, Scenario, Share, Verb};

fn whole() -> Scenario {
    let hold = Hold {
        duration: HoldFor::Quiet,
        never: vec![route_subject(&["Accepted=False"])],
        always: Vec::new(),
        unchanged: Vec::new(),
        other_messages: false,
        unchanged_level: Level::Must,
    };
    let parts = vec![(Share::Backend("echo".to_owned()), 1), (Share::Backend("other".to_owned()), 1)];
    scenario(vec![
        apply(vec![route(&["http"])]),
        settle(vec![route_subject(&["Accepted=True", "ResolvedRefs=True"])]),
        asks(get(backend("echo"))),
        Verb::Hold(hold),
        asks(get(Answer::Shares { parts, margin: 10.0 })),
        delete(vec![object("HTTPRoute", "route")]),
        asks(get(status(&[404]))),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_recorded_log_gets_the_same_verdict(
        accepted_at in prop::option::of(0u64..6000),
        flap_at in 0u64..2000,
        good_from in 0u64..7000,
        even in 3u32..7,
    ) {
        let versions: Vec<_> = accepted_at
            .into_iter()
            .flat_map(|at| {
                let good = route_version(1, &["http"], &[("http", GOOD)]);
                let bad = route_version(1, &["http"], &[("http", &["Accepted=False/NoMatchingParent"])]);
                [(at, modified(&good)), (at + flap_at, modified(&bad)), (at + flap_at + 10, modified(&good))]
            })
            .collect();
        let gone = route_version(1, &["http"], &[("http", GOOD)]);
        let mut n = 0;
        let mut play = Play::new(whole())
            .writes(move |step, _| match step {
                0 => (admitted(1), versions.clone()),
                _ => (admitted(0), vec![(3, seen(crate::log::Change::Deleted, &gone))]),
            })
            .probes(move |at, id, _| {
                n += 1;
                match id.split('-').nth(1) {
                    Some("2") if at.0 >= good_from * 1000 => Back::Echo("echo-pod"),
                    Some("4") => Back::Echo(if n % 10 < even { "echo-pod" } else { "other-pod" }),
                    _ => Back::Status(404),
                }
            });
        let verdict = play.run();
        prop_assert_eq!(&replay(whole(), context(), &play.log), &verdict);
        let text: Vec<String> = play.log.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        let read: Vec<crate::log::Event> = text.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(replay(whole(), context(), &read), verdict);
    }
}

#[test]
fn a_log_without_an_end_has_no_verdict() {
    let good = route_version(1, &["http"], &[("http", GOOD)]);
    let steps = || scenario(vec![apply(vec![route(&["http"])]), settle(vec![route_subject(&["Accepted=True"])])]);
    let mut play = Play::new(steps()).writes(move |_, _| (admitted(1), vec![(5, modified(&good))]));
    assert_eq!(play.run().outcome, Outcome::Passed);
    let whole = play.log.len();
    let open = replay(steps(), context(), &play.log[..whole - 1]);
    assert_eq!(
        (open.outcome, open.reason.as_deref()),
        (Outcome::Inconclusive, Some("the log of this scenario has no end"))
    );
    // Cut before the settle is over, but ended: it was broken off.
    let mut cut = play.log[..3].to_vec();
    cut.push(play.log[whole - 1].clone());
    assert_eq!(replay(steps(), context(), &cut).outcome, Outcome::Inconclusive);
}
