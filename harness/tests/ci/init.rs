//! `gateproof init`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use super::process::{Ended, run, skipped};
use super::{FAULT, WITHOUT_NEWS, edit_record, edit_record_at, first_run, is_there, ours, read};

const GITHUB: &str = ".github/workflows/gateproof.yml";
const GITLAB: &str = ".gitlab/gateproof.yml";
const KNOWN: &str = "gateproof-known-failures.yaml";

fn init(dir: &Path, arguments: &[&str]) -> Ended {
    run(dir, &[&["init"], arguments].concat())
}

fn git(dir: &Path, arguments: &[&str]) {
    let status = Command::new("git").arg("-C").arg(dir).args(arguments).status().unwrap();
    assert!(status.success());
}

/// A checkout whose origin is there.
fn checkout(dir: &Path, remote: &str) {
    git(dir, &["init", "--quiet"]);
    git(dir, &["remote", "add", "origin", remote]);
}

fn expect(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, Some(code), "{}", ended.said());
    for part in parts {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
}

#[test]
fn what_nobody_knows_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let parts = ["OWNER/gateproof", "`my-class`", "scripts/install-controller", "no git remote", "init --force` again"];
    expect(&init(dir.path(), &[]), 0, &parts);
    let workflow = read(&dir.path().join(GITHUB));
    assert!(workflow.contains("gateway-class: \"my-class\"\n") && !workflow.contains(": @"));
    assert!(read(&dir.path().join(KNOWN)).contains("failures: []"));
}

#[test]
fn what_can_be_found_out_is_not_asked() {
    let dir = tempfile::tempdir().unwrap();
    checkout(dir.path(), "git@github.com:acme/gateway.git");
    fs::create_dir_all(dir.path().join("config/default")).unwrap();
    fs::write(dir.path().join("config/default/kustomization.yaml"), "resources: []\n").unwrap();
    first_run(dir.path());
    let ended = init(dir.path(), &["--from", "us/gateproof@v0.1.0", "--until", "2199-12-31"]);
    expect(&ended, 0, &["remote: https://github.com/acme/gateway", "installed by: config/default"]);
    for part in ["OWNER/", "my-class", "no git remote", "init --force` again"] {
        assert!(!ended.said().contains(part), "`{part}` in {}", ended.said());
    }
    let workflow = read(&dir.path().join(GITHUB));
    for part in [
        "uses: \"us/gateproof/.github/actions/gateproof@v0.1.0\"\n",
        "gateway-class: \"acme\"\n",
        "gateway-api: \"v1.7.0\"\n",
        "install: \"kubectl apply --server-side -k config/default\"\n",
        "--organization acme --project gateway\n",
    ] {
        assert!(workflow.contains(part), "no `{part}` in {workflow}");
    }
    // What failed is known from now on, and nothing else.
    let words = [&["run", "--known-failures", KNOWN], &FAULT[..]].concat();
    expect(&run(dir.path(), &words), 0, &["1 passed, 0 failed, 1 known to fail"]);
    let known = read(&dir.path().join(KNOWN));
    assert!(known.contains("expectation: ") && known.contains("expires: \"2199-12-31\""), "{known}");
}

/// Writes the record of a first run with these arguments.
fn ran_with(dir: &Path, arguments: &[&str]) {
    first_run(dir);
    edit_record(dir, |record| record["arguments"] = arguments.into());
}

/// What the action is given.
fn inputs_of(workflow: &str) -> Value {
    let workflow: Value = serde_yaml::from_str(workflow).unwrap();
    workflow["jobs"]["gateproof"]["steps"][1]["with"].clone()
}

#[test]
fn a_first_run_says_how_the_controller_is_tested() {
    let dir = tempfile::tempdir().unwrap();
    checkout(dir.path(), "git@github.com:acme/gateway.git");
    fs::write(dir.path().join("patch.yaml"), "spec: {}\n").unwrap();
    let words =
        "--context kind-dev --timing embedded --backend-address 127.0.0.1 --gateway-patch patch.yaml --features A,B";
    ran_with(dir.path(), &words.split(' ').collect::<Vec<_>>());
    edit_record(dir.path(), |record| {
        record["target"]["gatewayApiChannel"] = "experimental".into();
        record["scenarios"][0]["outcome"] = "skipped".into();
        record["scenarios"][0]["reason"] = "left out with --skip".into();
    });
    let ended = init(dir.path(), &[]);
    let parts = [
        "found its options: --timing embedded --gateway-patch patch.yaml --features A,B --skip httproute-missing-backend",
        "left out --context kind-dev: of that machine",
        "left out --backend-address 127.0.0.1: an address of that machine",
        "add --port-forward if the runner cannot reach them",
        "--profile, --jobs, --logs-from, --mode the nightly needs",
        "know that the first run had 2 of ",
    ];
    expect(&ended, 0, &parts);
    let inputs = inputs_of(&read(&dir.path().join(GITHUB)));
    assert_eq!(inputs["channel"], "experimental");
    let arguments = inputs["arguments"].as_str().unwrap();
    let expected = "--timing embedded --gateway-patch patch.yaml --features A,B --skip httproute-missing-backend --implementation-version ";
    assert!(arguments.contains(expected), "{arguments}");
    // As the action parts them, they are options of `run`.
    let action = "words=(); read -r -d '' -a words <<<\"$ARGUMENTS\" || true; printf '%s\\n' \"${words[@]}\"";
    let output = Command::new("bash").args(["-c", action]).env("ARGUMENTS", arguments).output().unwrap();
    let words: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(words.join(" "), arguments);
}

/// Where nobody knows whether the runner reaches Gateways, the API server does.
#[rstest]
#[case::no_first_run(None, true)]
#[case::addresses_reached(Some(&[][..]), false)]
#[case::addresses_got_around(Some(&["--dial", "*:80=127.0.0.1:+8000"][..]), true)]
#[case::forwarded(Some(&["--port-forward=a/b"][..]), true)]
fn there_is_a_way_to_gateways(#[case] arguments: Option<&[&str]>, #[case] is_forwarded: bool) {
    let dir = tempfile::tempdir().unwrap();
    if let Some(arguments) = arguments {
        ran_with(dir.path(), arguments);
    }
    expect(&init(dir.path(), &[]), 0, &["see that Gateways get addresses: kind has nothing that gives them"]);
    let workflow = read(&dir.path().join(GITHUB));
    let inputs = inputs_of(&workflow);
    assert_eq!(inputs["arguments"].as_str().unwrap().matches("--port-forward").count(), usize::from(is_forwarded));
    assert!(workflow.contains("# kind gives Services of type LoadBalancer no address: "), "{workflow}");
    // On GitLab the cluster is somebody's, and the first run may have been there.
    let ended = init(dir.path(), &["--ci", "gitlab", "--force"]);
    let ours = arguments.is_some_and(|words| words.iter().any(|word| word.starts_with("--port-forward")));
    expect(&ended, 0, &["see that the data plane reaches the job"]);
    assert_eq!(ended.said().contains("see that the job reaches the addresses of Gateways"), !ours);
}

#[test]
fn the_file_of_known_failures_stays_the_users() {
    let dir = tempfile::tempdir().unwrap();
    checkout(dir.path(), "git@github.com:acme/gateway.git");
    fs::write(dir.path().join("ours.yaml"), "mine\n").unwrap();
    ran_with(dir.path(), &["--known-failures", "ours.yaml"]);
    let ended = init(dir.path(), &[]);
    expect(
        &ended,
        0,
        &[
            "add to ours.yaml what it does not know: the first run had 1 failure beside",
            "commit .github/workflows/gateproof.yml and ours.yaml",
        ],
    );
    assert_eq!(inputs_of(&read(&dir.path().join(GITHUB)))["known-failures"], "ours.yaml");
    assert!(!dir.path().join(KNOWN).exists());
    assert_eq!(read(&dir.path().join("ours.yaml")), "mine\n");
}

/// CI reads what is at the top, and nothing below.
#[rstest]
#[case::from_below(true)]
#[case::by_its_path(false)]
fn files_go_to_the_top_of_the_repository(#[case] from_below: bool) {
    let dir = tempfile::tempdir().unwrap();
    checkout(dir.path(), "git@github.com:acme/gateway.git");
    let sub = dir.path().join("sub");
    fs::create_dir_all(sub.join("charts/on")).unwrap();
    fs::write(sub.join("charts/on/Chart.yaml"), "name: on\n").unwrap();
    ran_with(&sub, &["--timing", "embedded"]);
    let ended = if from_below { init(&sub, &[]) } else { init(dir.path(), &["sub"]) };
    let top = dir.path().canonicalize().unwrap();
    let said = format!("found top of the repository: {}", top.display());
    let written = format!("written {}", top.join(GITHUB).display());
    expect(&ended, 0, &[&said, &written, "installed by: sub/charts/on", "its options: --timing embedded"]);
    assert!(dir.path().join(KNOWN).exists() && !sub.join(KNOWN).exists() && !sub.join(".github").exists());
    assert_eq!(inputs_of(&read(&dir.path().join(GITHUB)))["install"], "helm install --wait on sub/charts/on");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what is written ends by the calendar")]
fn what_is_known_ends_in_a_month() {
    let dir = tempfile::tempdir().unwrap();
    first_run(dir.path());
    let today = || jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let before = today();
    expect(&init(dir.path(), &[]), 0, &[]);
    let days: Vec<String> =
        [before, today()].map(|day| day.checked_add(jiff::Span::new().days(30)).unwrap().to_string()).to_vec();
    let known = read(&dir.path().join(KNOWN));
    assert!(days.iter().any(|day| known.contains(&format!("expires: \"{day}\""))), "{known}");
}

#[rstest]
#[case::by_its_remote("git@gitlab.example.com:a/b.git", &[])]
#[case::by_name("git@github.com:a/b.git", &["--ci", "gitlab"])]
fn there_is_a_file_for_gitlab(#[case] remote: &str, #[case] arguments: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    checkout(dir.path(), remote);
    expect(&init(dir.path(), arguments), 0, &["include .gitlab/gateproof.yml"]);
    assert!(!dir.path().join(GITHUB).exists());
    let file: Value = serde_yaml::from_str(&read(&dir.path().join(GITLAB))).unwrap();
    let run = file["gateproof"]["script"][2].as_str().unwrap();
    assert!(run.contains("--known-failures gateproof-known-failures.yaml --organization a --project b"), "{run}");
    let lines = file["gateproof"]["script"].as_array().unwrap();
    // What of the last run cannot be had is said, and keeps nothing from being tested.
    let baseline = lines[0].as_str().unwrap().replace("curl ", "false ");
    let output = Command::new("sh").args(["-ec", &baseline]).output().unwrap();
    assert!(output.status.success(), "{baseline}");
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("no reports of an earlier run: "));
    for line in lines {
        let checked = Command::new("sh").args(["-n", "-c", line.as_str().unwrap()]).status().unwrap();
        assert!(checked.success(), "{line}");
    }
}

/// The page of the run has what is news, where the run before is one of the same dialect. Whatever that was, everything is tested.
#[rstest]
#[case::no_run_before(None, 0, false)]
#[case::run_before(Some(FAULT[3]), 0, true)]
#[case::more_before(Some("httproute-missing-*"), 1, true)]
#[case::of_another_version(Some("unreadable"), 1, false)]
#[case::of_another_dialect(Some("another dialect"), 0, false)]
fn on_gitlab_a_run_is_told_of_the_one_before(#[case] before: Option<&str>, #[case] code: i32, #[case] has_news: bool) {
    let dir = tempfile::tempdir().unwrap();
    expect(&init(dir.path(), &["--ci", "gitlab"]), 0, &[]);
    let file: Value = serde_yaml::from_str(&read(&dir.path().join(GITLAB))).unwrap();
    if let Some(before) = before {
        let selected = if before.contains("httproute") { before } else { FAULT[3] };
        let into = "baseline/gateproof-report";
        expect(&run(dir.path(), &["run", selected, "--report-dir", into]), 0, &[]);
        let record = dir.path().join(into).join("record.json");
        match before {
            "unreadable" => fs::write(record, "{}").unwrap(),
            "another dialect" => edit_record_at(&record, |record| record["target"]["dialect"] = "aso".into()),
            _ => {}
        }
    }
    let lines: Vec<&str> = (1..=5).map(|line| file["gateproof"]["script"][line].as_str().unwrap()).collect();
    // On the embedded target, whichever class is named.
    let program = env!("CARGO_BIN_EXE_gateproof");
    let stub =
        format!("gateproof() {{ if [ $1 = run ]; then {program} run {}; else {program} \"$@\"; fi; }}", FAULT[3]);
    let script = [&[stub.as_str()], &lines[..]].concat().join("\n");
    let output = Command::new("sh").current_dir(dir.path()).args(["-ec", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert_eq!(!read(&dir.path().join("gateproof-report/report.html")).contains(WITHOUT_NEWS), has_news);
}

#[rstest]
#[case::workflow(GITHUB)]
#[case::known_failures(KNOWN)]
fn what_is_there_stays(#[case] there: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(there);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "mine\n").unwrap();
    expect(&init(dir.path(), &[]), 2, &["nothing was written", there, "--force"]);
    assert_eq!(read(&path), "mine\n");
    assert!([GITHUB, KNOWN].iter().any(|other| !dir.path().join(other).exists()), "the other one was written");
    expect(&init(dir.path(), &["--force"]), 0, &[]);
    assert_ne!(read(&path), "mine\n");
}

#[test]
fn what_a_link_leads_to_is_not_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "mine\n").unwrap();
    std::os::unix::fs::symlink(&elsewhere, dir.path().join(KNOWN)).unwrap();
    expect(&init(dir.path(), &[]), 2, &["--force"]);
    expect(&init(dir.path(), &["--force"]), 0, &[]);
    assert_eq!(read(&elsewhere), "mine\n");
}

#[rstest]
#[case::of_the_record(&[], "GatewayClass")]
#[case::of_the_user(&["--gateway-class", "a b"], "GatewayClass")]
#[case::source(&["--gateway-class", "a", "--from", "a/b/c@v1"], "names no repository")]
#[case::no_ref(&["--gateway-class", "a", "--from", "a/b"], "names no repository")]
#[case::no_release(&["--gateway-class", "a", "--from", "a/b@main # latest"], "names no release")]
fn what_could_be_more_than_a_name_goes_into_no_file(#[case] arguments: &[&str], #[case] part: &str) {
    let dir = tempfile::tempdir().unwrap();
    first_run(dir.path());
    edit_record(dir.path(), |record| record["target"]["gatewayClass"] = "${{ secrets.A }}".into());
    expect(&init(dir.path(), arguments), 2, &[part]);
    assert!(!dir.path().join(GITHUB).exists());
}

#[test]
fn failures_of_the_reference_are_nobodys() {
    let dir = tempfile::tempdir().unwrap();
    first_run(dir.path());
    edit_record(dir.path(), |record| record["target"]["embedded"] = true.into());
    expect(&init(dir.path(), &["--report", "gateproof-report"]), 2, &["the embedded target"]);
    let why =
        "first run: ./gateproof-report is about the embedded target, whose failures are not yours: nothing is taken";
    let next = "run `gateproof run --gateway-class my-class` once";
    expect(&init(dir.path(), &[]), 0, &["`my-class`", why, next]);
    assert!(read(&dir.path().join(KNOWN)).contains("failures: []"));
    // Who names the class is told the line with it.
    let named = init(dir.path(), &["--force", "--gateway-class", "acme"]);
    expect(&named, 0, &["run `gateproof run --gateway-class acme` once"]);
}

/// A run of several dialects has its reports of Gateway API in a directory of their own; one that did not end has none.
#[test]
fn a_first_run_is_found_or_it_is_said_why_not() {
    let dir = tempfile::tempdir().unwrap();
    first_run(dir.path());
    let (reports, part) = (dir.path().join("gateproof-report"), dir.path().join("gateproof-report/gateway-api"));
    fs::create_dir(&part).unwrap();
    fs::rename(reports.join("record.json"), part.join("record.json")).unwrap();
    expect(&init(dir.path(), &[]), 0, &["first run: ./gateproof-report/gateway-api of"]);
    fs::remove_dir_all(&part).unwrap();
    let why = "first run: ./gateproof-report has no record of a run that ended: nothing is taken from it";
    expect(&init(dir.path(), &["--force"]), 0, &[why, "`my-class`"]);
}

#[test]
fn failures_of_another_dialect_are_not_those_of_gateway_api() {
    let dir = tempfile::tempdir().unwrap();
    first_run(dir.path());
    edit_record(dir.path(), |record| record["target"]["dialect"] = "kuadrant".into());
    let why = "gateproof-report is of the dialect kuadrant, and what is written tests Gateway API";
    expect(&init(dir.path(), &["--report", "gateproof-report"]), 2, &[why, "name the reports of a run of Gateway API"]);
    assert!(!dir.path().join(KNOWN).exists());
    expect(&init(dir.path(), &[]), 0, &[why, "`my-class`"]);
    assert!(read(&dir.path().join(KNOWN)).contains("failures: []"));
}

/// What the action takes.
fn inputs() -> BTreeSet<String> {
    let action: Value = serde_yaml::from_str(&read(&ours(".github/actions/gateproof/action.yml"))).unwrap();
    action["inputs"].as_object().unwrap().keys().cloned().collect()
}

/// What a workflow gives it.
fn given(workflow: &str) -> BTreeSet<String> {
    let workflow: Value = serde_yaml::from_str(workflow).unwrap();
    let steps = workflow["jobs"]["gateproof"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["uses"].as_str().unwrap().contains("/actions/gateproof")).unwrap();
    step["with"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn the_action_takes_what_workflows_give_it() {
    let dir = tempfile::tempdir().unwrap();
    ran_with(dir.path(), &["--timing", "embedded", "--port-forward"]);
    edit_record(dir.path(), |record| record["target"]["gatewayApiChannel"] = "experimental".into());
    let from = format!("us/gateproof@{} # v0.1.0", "0123456789".repeat(4));
    let ended = init(dir.path(), &["--from", &from]);
    expect(&ended, 0, &[]);
    assert!(!ended.said().contains("pin gateproof"), "{}", ended.said());
    let inputs = inputs();
    for workflow in [read(&dir.path().join(GITHUB)), read(&ours(".github/workflows/conformance.yml"))] {
        let unknown: Vec<_> = given(&workflow).difference(&inputs).cloned().collect();
        assert_eq!(unknown, Vec::<String>::new());
    }
    if !is_there("actionlint") {
        return skipped("actionlint", "it is not installed");
    }
    git(dir.path(), &["init", "--quiet"]);
    let checked = Command::new("actionlint").current_dir(dir.path()).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
