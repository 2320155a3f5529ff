#![allow(clippy::unwrap_used)]
use std::fs;

use rstest::rstest;
use serde_json::json;

use super::*;

fn record(arguments: &[&str], scenarios: &[(&str, &str, Option<&str>)]) -> RunRecord {
    let scenario = |(name, outcome, reason): &(&str, &str, Option<&str>)| {
        json!({
            "name": name, "suite": "a", "file": "a.yaml", "summary": "a", "features": [], "proves": [], "outcome": outcome,
            "reason": reason, "durationMs": 1,
        })
    };
    serde_json::from_value(json!({
        "format": 1, "producer": "gateproof", "date": "2026-01-01T00:00:00Z",
        "target": {"name": "a", "embedded": false, "features": []},
        "arguments": arguments,
        "interrupted": false, "scenarios": scenarios.iter().map(scenario).collect::<Vec<_>>(), "contract": [], "durationMs": 1,
    }))
    .unwrap()
}

/// A repository with files, and one beside it.
fn places() -> (tempfile::TempDir, Places) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let top = base.join("repository");
    fs::create_dir_all(top.join("sub/scenarios")).unwrap();
    for file in ["patch.yaml", "my patch.yaml", "known.yaml", "sub/two.yaml"] {
        fs::write(top.join(file), "").unwrap();
    }
    fs::write(base.join("outside.yaml"), "").unwrap();
    std::os::unix::fs::symlink(base.join("outside.yaml"), top.join("link.yaml")).unwrap();
    let places = Places { bases: vec![top.join("sub"), top.clone()], top };
    (dir, places)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn line(carried: &Carried) -> String {
    carried.options.concat().join(" ")
}

#[test]
fn every_option_of_a_run_is_sorted_in_once() {
    let command = run_args::Args::augment_args(Command::new("run"));
    let options: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
    for option in &options {
        let rows = FATES.iter().filter(|(name, _)| name == option).count();
        assert_eq!(rows, 1, "--{option}: say once in FATES whether it is true of the nightly's run as well");
    }
    for (name, _) in FATES {
        assert!(options.contains(name), "--{name} is no option of `run`");
    }
}

/// What is about the controller stays, and what is about a machine does not.
#[rstest]
#[case::timing("--timing embedded", "--timing embedded", "")]
#[case::forward("--port-forward --timeout-scale 2", "--port-forward --timeout-scale 2", "")]
#[case::forward_to("--port-forward=a/b --ports http=80,8080", "--port-forward=a/b --ports http=80,8080", "")]
#[case::features(
    "--features Gateway,HTTPRoute --features-as-of v1.3.0",
    "--features Gateway,HTTPRoute --features-as-of v1.3.0",
    ""
)]
#[case::exempt("--all-features --exempt-features TCPRoute", "--all-features --exempt-features TCPRoute", "")]
#[case::labels("--namespace-label a=b --namespace-label c=", "--namespace-label a=b --namespace-label c=", "")]
#[case::gateways("--max-gateways 2 --single-gateway-class small", "--max-gateways 2 --single-gateway-class small", "")]
#[case::deployed("--backends deployed --backend-image a/b:c", "--backends deployed --backend-image a/b:c", "")]
#[case::contract("--contract warn", "--contract warn", "")]
#[case::written("--gateway-class a", "", "")]
#[case::cluster("--kubeconfig k --context c", "", "--kubeconfig k: of that machine; --context c: of that machine")]
#[case::address("--backend-address 10.0.0.1", "", "--backend-address 10.0.0.1: an address of that machine")]
#[case::way("--dial *:80=10.0.0.1:+8000", "", "--dial *:80=10.0.0.1:+8000: how that machine reached Gateways")]
#[case::quick("--impatient --timing real", "--timing real", "--impatient: for a quick look")]
#[case::address_in_the_cluster(
    "--usable-address 10.0.0.9",
    "",
    "--usable-address 10.0.0.9: an address of that cluster"
)]
#[case::unknown(
    "--gone 3 --going --timing real",
    "--timing real",
    "--gone 3: this gateproof has no such option; --going: this gateproof has no such option"
)]
fn what_is_true_of_the_nightly_is_carried_over(#[case] given: &str, #[case] kept: &str, #[case] left: &str) {
    let (_dir, places) = places();
    for ci in [Ci::Github, Ci::Gitlab] {
        let carried = of(&record(&words(given), &[]), ci, &places);
        assert_eq!((line(&carried).as_str(), carried.left.join("; ").as_str()), (kept, left));
        assert!(carried.next.is_empty(), "{:?}", carried.next);
    }
}

/// The nightly on GitHub has a cluster of its own, with the definitions of the first run; that on GitLab has one of the user's.
#[rstest]
#[case::release(Ci::Github, "--gateway-api-version v1.4.0 --gateway-api-channel standard", "")]
#[case::release_there(Ci::Gitlab, "--gateway-api-version v1.4.0 --gateway-api-channel standard", "the same")]
#[case::changes(Ci::Github, "--allow-cluster-changes", "the same")]
#[case::changes_there(Ci::Gitlab, "--allow-cluster-changes", "")]
fn some_are_for_one_of_them(#[case] ci: Ci, #[case] given: &str, #[case] kept: &str) {
    let (_dir, places) = places();
    let carried = of(&record(&words(given), &[]), ci, &places);
    assert_eq!(line(&carried), if kept.is_empty() { "" } else { given });
    assert_eq!(carried.left.is_empty(), !kept.is_empty());
}

/// By its path in the repository, wherever the run was started.
#[rstest]
#[case::at_the_top(&["--gateway-patch", "patch.yaml"], "--gateway-patch patch.yaml", "")]
#[case::below(&["-f", "two.yaml", "-f", "scenarios"], "-f sub/two.yaml -f sub/scenarios", "")]
#[case::from_below(&["--gateway-patch", "../patch.yaml"], "--gateway-patch patch.yaml", "")]
#[case::outside(&["--gateway-patch", "../../outside.yaml"], "", "it is not in the repository: put it into the repository")]
#[case::by_a_link(&["--gateway-patch", "link.yaml"], "", "it is not in the repository")]
#[case::gone(&["-f", "gone.yaml"], "", "`-f gone.yaml` was left out, since it is not there")]
#[case::outside_for_failures(&["--known-failures", "/etc/hostname"], "", "take its entries over into the file")]
#[case::with_a_space(&["--gateway-patch", "my patch.yaml"], "", "can hold no such word: put its words into a file")]
fn a_file_has_to_be_in_the_repository(#[case] given: &[&str], #[case] kept: &str, #[case] next: &str) {
    let (_dir, places) = places();
    let carried = of(&record(given, &[]), Ci::Github, &places);
    assert_eq!(line(&carried), kept);
    assert_eq!(carried.next.is_empty(), next.is_empty());
    assert!(carried.next.iter().all(|line| line.contains(next)), "{:?}", carried.next);
    assert_eq!(carried.known, None);
}

#[test]
fn the_file_of_known_failures_stays_that_of_the_run() {
    let (_dir, places) = places();
    let carried = of(&record(&["--known-failures", "known.yaml"], &[]), Ci::Github, &places);
    assert_eq!(carried.known.as_deref(), Some("known.yaml"));
    assert!(carried.options.is_empty() && carried.next.is_empty());
}

/// A shell is told where a word ends, the action is not; neither is told an expression, which CI would put something in the place of.
#[rstest]
#[case::space("a b", false, true)]
#[case::nothing("", false, true)]
#[case::line("a\nb", false, false)]
#[case::tab("a\tb", false, false)]
#[case::separator("a\u{2028}b", false, false)]
#[case::expression("${{secrets.A}}", false, false)]
#[case::expression_there("$[[inputs.a]]", false, false)]
#[case::variable("$HOME/`id`'\"", true, true)]
#[case::letters("grün", true, true)]
fn what_a_file_cannot_hold_is_not_written(#[case] value: &str, #[case] github: bool, #[case] gitlab: bool) {
    let (_dir, places) = places();
    for (ci, is_kept) in [(Ci::Github, github), (Ci::Gitlab, gitlab)] {
        let carried = of(&record(&["--single-gateway-class", value], &[]), ci, &places);
        assert_eq!((carried.options.len(), carried.next.len()), if is_kept { (1, 0) } else { (0, 1) }, "{ci:?}");
        assert!(carried.next.iter().all(|line| !line.contains('\n')));
    }
}

/// A record has no `--skip`, but what was skipped and why.
#[rstest]
#[case::github(Ci::Github, "--skip a --skip b --skip c=ticket")]
#[case::gitlab(Ci::Gitlab, "--skip a --skip b=see ticket 7 --skip c=ticket")]
fn what_was_skipped_is_skipped_again(#[case] ci: Ci, #[case] kept: &str) {
    let (_dir, places) = places();
    let scenarios = [
        ("a", "skipped", Some("left out with --skip")),
        ("a#2", "skipped", Some("left out with --skip")),
        ("b", "skipped", Some("see ticket 7")),
        ("c", "skipped", Some("ticket")),
        ("d", "skipped", Some("--fail-fast: a failed before")),
        ("e", "skipped", Some("it changes a definition, which needs --allow-cluster-changes")),
        ("f", "skipped", Some("an endpoint is not ready; with --backends deployed the cluster makes them from Pods")),
        ("g", "passed", None),
        ("h", "notSupported", Some("it needs more")),
    ];
    assert_eq!(line(&of(&record(&[], &scenarios), ci, &places)), kept);
}
