#![allow(clippy::unwrap_used)]
use gateproof_report::known::{KnownFailure, KnownFailureRecord, KnownState};
use gateproof_report::record::{Breach, LeftoverRecord, ScenarioRecord, Severity, Target};
use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn scenario((name, outcome): (&str, Outcome)) -> ScenarioRecord {
    ScenarioRecord {
        name: name.to_owned(),
        suite: "".into(),
        file: "".into(),
        summary: "".into(),
        features: [].into(),
        proves: [].into(),
        outcome,
        reason: None,
        findings: vec![],
        stages: vec![],
        probes: vec![],
        duration_ms: 0,
        alike: 0,
    }
}

fn record(scenarios: &[(&str, Outcome)]) -> RunRecord {
    let empty = || String::new();
    RunRecord {
        format: 1,
        producer: empty(),
        date: empty(),
        target: Target {
            name: empty(),
            embedded: false,
            dialect: empty(),
            edition: None,
            gateway_class: None,
            controller_name: None,
            gateway_api_version: None,
            gateway_api_channel: None,
            definitions: None,
            features: vec![],
        },
        arguments: vec![],
        options_file: None,
        interrupted: false,
        impatient: false,
        scenarios: scenarios.iter().copied().map(scenario).collect(),
        outside_profiles: vec![],
        contract: vec![],
        known_failures: vec![],
        leftovers: vec![],
        digests: None,
        shard: None,
        duration_ms: 0,
    }
}

fn rule(severity: Severity, known: Option<&str>, scenarios: &[&str]) -> ContractRecord {
    let breach = |scenario: &&str| Breach {
        scenario: (*scenario).to_owned(),
        object: String::new(),
        path: String::new(),
        seen: String::new(),
        seq: 0,
    };
    ContractRecord {
        name: "contract/Gateway/tri-state".to_owned(),
        clauses: vec![],
        severity,
        objects: 1,
        known: known.map(str::to_owned),
        breaches: scenarios.iter().map(breach).collect(),
    }
}

fn stale(contract: bool, state: KnownState, names: &[&str]) -> KnownFailureRecord {
    let entry = KnownFailure {
        scenario: None,
        expectation: None,
        contract: contract.then(|| "contract/*".to_owned()),
        reason: String::new(),
        expires: String::new(),
        place: String::new(),
    };
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let (seen, passed) = if state == KnownState::UnexpectedPass { (vec![], names) } else { (names, vec![]) };
    KnownFailureRecord { entry, state, seen, passed }
}

use Outcome::{Failed, Inconclusive, KnownFailure as Known, Late, NotSupported, Passed, Skipped};

#[rstest]
#[case::nothing(&[("a", Passed), ("b", Skipped), ("c", NotSupported), ("d", Known)], &[])]
#[case::what_failed(&[("a", Failed), ("b", Late), ("c", Inconclusive), ("d", Passed)], &["a", "b", "c"])]
#[case::repeats(&[("a", Passed), ("a#2", Failed), ("a#3", Failed)], &["a"])]
#[case::nothing_that_tells(&[("a", Skipped), ("b", NotSupported)], &["a", "b"])]
fn what_has_no_good_end_is_run_again(#[case] scenarios: &[(&str, Outcome)], #[case] expected: &[&str]) {
    assert_eq!(to_rerun(&record(scenarios)), expected);
}

#[rstest]
#[case::a_must(rule(Severity::Failure, None, &["a", "c#2"]), &["a", "c"])]
#[case::of_what_all_share(rule(Severity::Failure, None, &["a", ""]), &["a", "b", "c"])]
#[case::a_should(rule(Severity::Warning, None, &["a"]), &[])]
#[case::known(rule(Severity::Failure, Some("#12"), &["a"]), &[])]
#[case::held(rule(Severity::Failure, None, &[]), &[])]
fn scenarios_that_break_the_contract_are_run_again(#[case] rule: ContractRecord, #[case] expected: &[&str]) {
    let mut record = record(&[("a", Passed), ("b", Passed), ("c", Passed), ("c#2", Passed)]);
    record.contract.push(rule);
    assert_eq!(to_rerun(&record), expected);
    record.arguments = ["--target", "embedded:deaf", "--contract", "warn"].map(str::to_owned).to_vec();
    assert_eq!(to_rerun(&record), [""; 0], "the contract was only told of");
}

#[test]
fn what_was_left_behind_is_no_success() {
    let mut record = record(&[("a", Passed)]);
    record.leftovers.push(LeftoverRecord { object: "Namespace/gp-x".to_owned(), diagnosis: "finalizers".to_owned() });
    assert_eq!(causes(&record, true).iter().map(|cause| cause.code).collect::<Vec<_>>(), [exit_codes::INCONCLUSIVE]);
}

#[rstest]
#[case::passes(stale(false, KnownState::UnexpectedPass, &["a"]), &["a"])]
#[case::expired(stale(false, KnownState::Expired, &["b"]), &["b"])]
#[case::of_the_contract(stale(true, KnownState::UnexpectedPass, &["contract/x"]), &["a", "b"])]
#[case::seen(stale(false, KnownState::Seen, &["a"]), &[])]
fn what_a_stale_entry_is_about_is_run_again(#[case] known: KnownFailureRecord, #[case] expected: &[&str]) {
    let mut record = record(&[("a", Passed), ("b", Known)]);
    record.known_failures.push(known);
    assert_eq!(to_rerun(&record), expected);
}

#[test]
fn an_interrupted_run_goes_on_where_it_ended() {
    let mut begun = record(&[("a", Passed), ("b", Inconclusive)]);
    begun.interrupted = true;
    assert_eq!(to_rerun(&begun), ["b"]);
    let mut done = record(&[("a", Passed)]);
    done.interrupted = true;
    assert_eq!(to_rerun(&done), ["a"]);
}

proptest! {
    /// Whatever a run came to: there is nothing to run again exactly if the process said 0.
    #[test]
    fn nothing_is_run_again_only_after_success(
        outcomes in prop::collection::vec(prop::sample::select(vec![Passed, Failed, Late, Known, Inconclusive, Skipped, NotSupported]), 1..4),
        breach in prop::option::of(prop::sample::select(vec!["", "s0"])),
        known in prop::option::of((any::<bool>(), prop::sample::select(vec![KnownState::Seen, KnownState::Expired, KnownState::UnexpectedPass]))),
        warn in any::<bool>(),
        interrupted in any::<bool>(),
    ) {
        let named: Vec<(String, Outcome)> = outcomes.into_iter().enumerate().map(|(n, outcome)| (format!("s{n}"), outcome)).collect();
        let named: Vec<(&str, Outcome)> = named.iter().map(|(name, outcome)| (name.as_str(), *outcome)).collect();
        let mut record = record(&named);
        record.interrupted = interrupted;
        record.contract.extend(breach.map(|scenario| rule(Severity::Failure, None, &[scenario])));
        record.known_failures.extend(known.map(|(contract, state)| stale(contract, state, &["s0"])));
        if warn {
            record.arguments = vec!["--contract".to_owned(), "warn".to_owned()];
        }
        prop_assert_eq!(to_rerun(&record).is_empty(), exit_code(&record, !warn) == exit_codes::PASSED);
    }
}
