use std::time::Duration;

use gateproof_report::record::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use super::driver::*;
use crate::judge::Context;
use crate::log::{Body, ProbeError, Timing, WriteOutcome};
use crate::scenario::{Probe, Share, Verb};

/// A version of the scenario's own Gateway; it has had its address from the start.
fn own(generation: i64, conditions: &[&str]) -> Value {
    let mut gateway = pool_gateway();
    gateway["metadata"] = json!({"name": "own", "namespace": NS, "uid": "uid-own", "generation": generation});
    gateway["status"]["conditions"] = conditions.iter().map(|c| condition(c, generation)).collect();
    gateway
}

fn through_own() -> Probe {
    let mut probe = get(backend("echo"));
    probe.target.gateway = object("Gateway", "own");
    probe
}

/// Plays with a data path that refuses until so many milliseconds have passed.
fn play(verbs: Vec<Verb>, context: Context, serves_from: u64) -> Play {
    Play::under(scenario(verbs), context).probes(move |at, _, _| {
        if at.0 < serves_from * 1000 {
            Back::Error(ProbeError::ConnectRefused(String::new()))
        } else {
            Back::Echo("echo-pod")
        }
    })
}

/// When probes were sent, in milliseconds.
fn sent(play: &Play) -> Vec<u64> {
    let started = play.log.iter().filter_map(|event| match &event.body {
        Body::Probed { exchange, .. } => Some(exchange.started.0 / 1000),
        _ => None,
    });
    started.collect()
}

/// Both budgets are 5 s.
#[rstest]
#[case::one_by_one(through_own())]
#[case::shares(Probe {
    answer: crate::scenario::Answer::Shares { parts: vec![(Share::Backend("echo".to_owned()), 1)], margin: 10.0 },
    ..through_own()
})]
fn a_probe_begins_once_its_gateway_is_programmed(#[case] probe: Probe, #[values(0, 3)] openings: u32) {
    let timing = Timing { openings, ..context().timing };
    let mut play = play(vec![asks(probe)], Context { timing, ..context() }, 8000)
        .at(1, modified(&own(1, &["Accepted=True/Accepted", "Programmed=False/NoResources"])))
        .at(4000, modified(&own(1, &["Accepted=True/Accepted", "Programmed=True/Programmed"])));
    let verdict = play.run();
    assert_eq!((verdict.outcome, verdict.findings.len()), (Outcome::Passed, 0), "{verdict:?}");
    let stages: Vec<_> = verdict.stages.iter().map(|s| (&*s.stage, s.step, s.reached_ms >= 3999)).collect();
    assert_eq!(stages, [("programmed", 0, true), ("converged", 0, true)]);
    assert_eq!(sent(&play)[0], 4000);
    // Whatever comes in turn with others may take as long, but for old logs.
    assert_eq!(verdict.slowest_settle.as_millis(), u128::from(openings > 0) * 4000);
    // It needs no place until then, nor as long as the answers behind it are wrong.
    let lingers = if openings > 0 { [1, 6] } else { [1, 5] };
    assert_eq!(play.lingers.iter().map(|at| at.0 / 1_000_000).collect::<Vec<_>>(), lingers);
}

#[rstest]
#[case::denied(&["Programmed=False/NoResources"], &["GEP1364-18"], "Programmed=False/NoResources")]
#[case::not_known(&["Programmed=Unknown/Pending"], &["GEP1364-18"], "Programmed=Unknown/Pending")]
#[case::not_there(&["Accepted=True/Accepted"], &["GEP1364-57"], "no condition Programmed")]
#[case::of_before(&["Programmed=True/Programmed@1"], &["GEP1364-08", "IMPL-25"], "where the generation is 2")]
fn a_gateway_that_is_never_programmed_is_the_finding(
    #[case] conditions: &[&str],
    #[case] clauses: &[&str],
    #[case] seen: &str,
) {
    let mut play = play(vec![asks(through_own())], context(), 0).at(1, modified(&own(2, conditions)));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Failed);
    let [finding] = verdict.findings.as_slice() else { panic!("{:?}", verdict.findings) };
    assert_eq!((finding.expectation.as_str(), finding.stage.as_str()), ("steps[0].probe.programmed", "programmed"));
    assert_eq!(
        (finding.clauses.as_slice(), finding.late),
        (&clauses.iter().map(|&c| c.to_owned()).collect::<Vec<_>>()[..], false)
    );
    assert!(finding.seen.contains(seen), "{}", finding.seen);
    assert_eq!(sent(&play), [0; 0]);
}

#[test]
fn a_gateway_that_is_programmed_in_the_grace_time_is_late_and_probed() {
    let mut context = context();
    context.timing.grace = Duration::from_secs(3);
    let mut play = play(vec![asks(through_own())], context, 0)
        .at(1, modified(&own(1, &["Programmed=False/Pending"])))
        .at(7000, modified(&own(1, &["Programmed=True/Programmed"])));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Late);
    let found: Vec<_> = verdict.findings.iter().map(|f| (f.expectation.as_str(), f.late)).collect();
    assert_eq!(found, [("steps[0].probe.programmed", true)]);
    assert_eq!(sent(&play)[0], 7000);
}

#[test]
fn a_gateway_that_no_watch_shows_is_not_the_targets_fault() {
    let mut play = play(vec![asks(through_own())], context(), 0);
    assert_eq!(play.run().outcome, Outcome::Inconclusive);
}

/// The watch shows nothing more, and a read finds what the Gateway says by now.
#[rstest]
#[case::programmed("Programmed=True/Programmed", Outcome::Passed, 1)]
#[case::not_programmed("Programmed=False/NoResources", Outcome::Failed, 1)]
fn a_gateway_is_read_before_it_is_blamed(#[case] hidden: &str, #[case] outcome: Outcome, #[case] renewals: u32) {
    let at_version = |version: &str, text: &str| {
        let mut gateway = own(1, &[text]);
        gateway["metadata"]["resourceVersion"] = json!(version);
        gateway
    };
    let mut play =
        play(vec![asks(through_own())], context(), 0).at(1, modified(&at_version("1", "Programmed=False/Pending")));
    play.hidden = vec![(crate::log::Elapsed(100_000), at_version("2", hidden))];
    let verdict = play.run();
    assert_eq!((verdict.outcome, play.renewals), (outcome, renewals), "{verdict:?}");
}

/// The budget is 5 s, and once more where the harness was late.
#[test]
fn a_late_harness_gets_the_budget_once_more() {
    let mut play = play(vec![asks(through_own())], context(), 0)
        .at(1, modified(&own(1, &["Programmed=False/Pending"])))
        .at(4000, Body::Lagged { by: 1_100_000 })
        .at(8000, modified(&own(1, &["Programmed=True/Programmed"])));
    assert_eq!(play.run().outcome, Outcome::Passed);
}

#[test]
fn a_manifest_can_mean_a_gateway_that_is_not_programmed() {
    let probe = Probe { unprogrammed: true, ..through_own() };
    let mut play = play(vec![asks(probe)], context(), 0).at(0, modified(&own(1, &["Programmed=False/Invalid"])));
    assert_eq!(play.run().outcome, Outcome::Passed);
}

#[rstest]
#[case::meant(true, Outcome::Passed)]
#[case::not_meant(false, Outcome::Failed)]
fn a_gateway_that_is_not_meant_to_be_programmed_is_asked_where_it_was(
    #[case] unprogrammed: bool,
    #[case] outcome: Outcome,
) {
    let before = own(1, &["Programmed=True/Programmed"]);
    let mut cleared = before.clone();
    cleared["status"]["addresses"] = json!([]);
    let probe = Probe { unprogrammed, ..through_own() };
    let mut play = play(vec![asks(probe)], context(), 0).at(0, modified(&before)).at(0, modified(&cleared));
    assert_eq!(play.run().outcome, outcome);
}

/// The Gateway is applied again between two probes, and 3 s later its status follows.
#[rstest]
#[case::nothing_changed(1, "Programmed=True/Programmed", false)]
#[case::the_status_alone(1, "Programmed=False/Pending", false)]
#[case::the_spec(2, "Programmed=True/Programmed@1", true)]
fn a_gateway_is_waited_for_again_when_its_spec_has_changed(
    #[case] generation: i64,
    #[case] between: &'static str,
    #[case] waits: bool,
) {
    let verbs = vec![asks(through_own()), apply(vec![own(1, &[])]), asks(through_own())];
    let mut play = play(verbs, context(), 0)
        .writes(move |_, _| {
            let outcome = WriteOutcome::Admitted {
                uid: "uid-own".to_owned(),
                generation,
                resource_version: format!("w{generation}"),
            };
            let later = [(0, between), (3000, "Programmed=True/Programmed")];
            (outcome, later.map(|(after, text)| (after, modified(&own(generation, &[text])))).to_vec())
        })
        .at(0, modified(&own(1, &["Programmed=True/Programmed"])));
    let verdict = play.run();
    assert_eq!(verdict.outcome, Outcome::Passed, "{verdict:?}");
    assert_eq!(verdict.stages.iter().any(|stage| stage.stage == "programmed" && stage.step == 2), waits);
    assert_eq!(*sent(&play).last().unwrap() >= 3000, waits);
}
