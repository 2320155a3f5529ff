//! What runs within a cluster: the kustomize bases and the Helm chart say what `rbac` says, ask for no more than they need, and
//! are admitted.

use std::fs;
use std::path::Path;
use std::process::Command;

use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use rstest::rstest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::process::{TestbedProcess, run, skipped};
use super::{WITHOUT_NEWS, is_there, ours, read};

fn documents(text: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_yaml::from_multiple(text).unwrap();
    all.into_iter().filter(|document| !document.is_null()).collect()
}

fn rbac(arguments: &[&str]) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &[&["rbac"], arguments].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    documents(&ended.out)
}

/// Every YAML file of a base as it stands.
fn base(name: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for entry in fs::read_dir(ours("deploy/kustomize").join(name)).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("kustomization.yaml") {
            found.extend(documents(&read(&path)));
        }
    }
    assert!(!found.is_empty(), "{name}");
    found
}

/// Whether nothing of it is unknown to the type, or of another form than it has.
fn is_strict<T: Serialize + DeserializeOwned>(object: &Value) {
    let typed: T = serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object}"));
    assert_eq!(&serde_json::to_value(typed).unwrap(), object, "the type has no such field");
}

fn has_known_fields_alone(object: &Value) {
    match object["kind"].as_str().unwrap() {
        "Job" => is_strict::<Job>(object),
        "CronJob" => is_strict::<CronJob>(object),
        "Pod" => is_strict::<Pod>(object),
        "PersistentVolumeClaim" => is_strict::<PersistentVolumeClaim>(object),
        "Namespace" => is_strict::<Namespace>(object),
        "ServiceAccount" => is_strict::<ServiceAccount>(object),
        "ConfigMap" => is_strict::<ConfigMap>(object),
        "ClusterRole" => is_strict::<ClusterRole>(object),
        "ClusterRoleBinding" => is_strict::<ClusterRoleBinding>(object),
        other => panic!("{other} is held against nothing"),
    }
}

/// The Pod of a Job or a CronJob; nothing of other kinds.
fn pod(object: &Value) -> Option<&Value> {
    object.pointer("/spec/jobTemplate/spec/template/spec").or_else(|| object.pointer("/spec/template/spec"))
}

/// What runs in a Pod, in order.
fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["initContainers", "containers"].into_iter().filter_map(|list| pod[list].as_array()).flatten()
}

/// The words of a container.
fn words(container: &Value) -> Vec<&str> {
    container["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// Nobody in particular, nothing that it could write but its volumes, and a token only where something is asked of the API server.
fn is_least(pod: &Value) {
    let asks = pod["containers"][0]["args"][0] == "run";
    assert_eq!(pod["automountServiceAccountToken"], json!(asks), "{pod}");
    assert_eq!(pod["serviceAccountName"] == "default", !asks, "{pod}");
    // What is ended cleans up, which Kubernetes gives 30 s for, and Gateways alone three minutes.
    assert_eq!(pod["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds > 180), asks, "{pod}");
    let of = &pod["securityContext"];
    assert_eq!((&of["runAsNonRoot"], &of["seccompProfile"]["type"]), (&json!(true), &json!("RuntimeDefault")));
    let own = json!({
        "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
    });
    assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
    for container in containers(pod) {
        assert_eq!(container["securityContext"], own);
    }
    for volume in pod["volumes"].as_array().unwrap() {
        assert!(volume.get("hostPath").is_none(), "{volume}");
    }
}

/// The claim on which a Pod leaves its reports; there has to be one, as they are to outlive it.
fn claim(pod: &Value) -> &str {
    let volumes = pod["volumes"].as_array().unwrap();
    let reports = volumes.iter().find(|volume| volume["name"] == "reports").unwrap();
    reports["persistentVolumeClaim"]["claimName"].as_str().unwrap_or_else(|| panic!("no claim: {reports}"))
}

/// Every Job of a CronJob leaves its reports in a directory of its own.
fn keeps_the_night_before(pod: &Value) {
    let container = &pod["containers"][0];
    assert!(words(container).contains(&"/reports/$(JOB)"), "{container}");
    let from = json!({"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-name']"}});
    assert_eq!(container["env"], json!([{"name": "JOB", "valueFrom": from}]));
}

/// None hangs until the next one, which would not begin.
fn makes_way_for_the_next_night(object: &Value) {
    let seconds = object["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"].as_i64().unwrap();
    assert!((3600..86400).contains(&seconds), "{seconds}");
    assert_eq!(object["spec"]["concurrencyPolicy"], "Forbid");
}

/// Night after night in a directory, by the words of the containers: the first one with nothing there, another beside what nobody can
/// read, one that fails, and one after so many that the first is kept no longer.
fn nights_follow_each_other(pod: &Value, keep: &str) {
    let dir = tempfile::tempdir().unwrap();
    let reports = dir.path().join("reports");
    fs::create_dir(&reports).unwrap();
    let night = |name: &str, more: &[&str]| {
        let words = containers(pod).map(words).map(|words| {
            let words = words.into_iter().map(|word| if word == keep { "1" } else { word });
            let words = words.map(|word| word.replace("/reports", "reports").replace("$(JOB)", name));
            words.filter(|word| word != "--gateway-class" && word != "my-class").collect::<Vec<String>>()
        });
        let [prune, test] = words.collect::<Vec<_>>().try_into().unwrap();
        let [prune, test] = [&prune, &test].map(|words| words.iter().map(String::as_str).collect::<Vec<_>>());
        let pruned = run(dir.path(), &prune);
        assert_eq!(pruned.code, Some(0), "{}", pruned.said());
        let ended = run(dir.path(), &[&test[..], &["httproute-missing-reference-grant"], more].concat());
        let news = read(&reports.join(name).join("report.html")).contains(WITHOUT_NEWS);
        (ended.code, !news, pruned, ended)
    };
    let (code, has_news, pruned, ended) = night("first", &[]);
    assert_eq!((code, has_news), (Some(0), false), "{}", ended.said());
    assert!(pruned.said().contains("there is no record of a run, so nothing is pruned"), "{}", pruned.said());
    assert!(ended.said().contains("so this run of gateway-api is judged by itself"), "{}", ended.said());
    fs::create_dir(reports.join("broken")).unwrap();
    fs::write(reports.join("broken/record.json"), "{").unwrap();
    let (code, has_news, pruned, ended) = night("second", &["--target", "embedded:ignores-reference-grants"]);
    assert_eq!((code, has_news), (Some(1), true), "{}", ended.said());
    assert!(pruned.said().contains("reports/broken/record.json: not a run record"), "{}", pruned.said());
    assert!(ended.said().contains("left out of the runs before this one of gateway-api: "), "{}", ended.said());
    // What failed once is news as long as it fails, against the last green one, which stays.
    let (code, _, _, ended) = night("third", &["--target", "embedded:ignores-reference-grants"]);
    assert_eq!(code, Some(1), "{}", ended.said());
    assert!(read(&reports.join("third/report.html")).contains("\"change\":\"newlyFailing\""));
    let (code, has_news, pruned, ended) = night("fourth", &[]);
    assert_eq!((code, has_news), (Some(0), true), "{}", ended.said());
    assert!(pruned.said().contains("pruned reports/second of "), "{}", pruned.said());
    assert!(reports.join("first").exists() && reports.join("third").exists() && !reports.join("second").exists());
}

/// The words of a Pod are those of our command line, up to the name of the class.
fn are_words(pod: &Value) {
    for container in containers(pod) {
        let words = words(container);
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("none"), "").unwrap();
        let output = super::process::gateproof(dir.path())
            .args(&words)
            .args(["--kubeconfig", "none"].iter().filter(|_| words[0] == "run"))
            .env("JOB_COMPLETION_INDEX", "3")
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        for part in ["unexpected argument", "unrecognized subcommand", "invalid value"] {
            assert!(!said.contains(part), "{words:?}: {said}");
        }
    }
}

#[test]
fn the_role_is_what_rbac_prints() {
    assert_eq!(documents(&read(&ours("deploy/kustomize/base/rbac.yaml"))), rbac(&["--namespace", "gateproof"]));
    let rules: Value = serde_yaml::from_str(&read(&ours("deploy/helm/gateproof/files/rules.yaml"))).unwrap();
    assert_eq!(rules, rbac(&[])[1]["rules"]);
}

#[rstest]
#[case("base", 0)]
#[case("job", 1)]
#[case("cronjob", 1)]
#[case("shards", 1)]
#[case("merge", 1)]
fn a_base_asks_for_no_more_than_it_needs(#[case] name: &str, #[case] pods: usize) {
    let objects = base(name);
    objects.iter().for_each(has_known_fields_alone);
    assert_eq!(objects.iter().filter_map(pod).inspect(|pod| is_least(pod)).inspect(|pod| are_words(pod)).count(), pods);
    for object in objects.iter().filter(|object| pod(object).is_some()) {
        let pod = pod(object).unwrap();
        assert_eq!(claim(pod), "gateproof-reports");
        if object["kind"] == "CronJob" {
            keeps_the_night_before(pod);
            makes_way_for_the_next_night(object);
            nights_follow_each_other(pod, "30");
        }
        // What merge reads is on the claim of shards.
        let claims = objects.iter().filter(|object| object["kind"] == "PersistentVolumeClaim");
        assert_eq!(claims.filter(|made| made["metadata"]["name"] == claim(pod)).count(), usize::from(name != "merge"));
    }
}

#[test]
fn who_reads_the_reports_is_nobody_in_particular() {
    let objects = base("reader");
    assert_eq!(objects.len(), 1);
    has_known_fields_alone(&objects[0]);
    is_least(&objects[0]["spec"]);
    assert_eq!(claim(&objects[0]["spec"]), "gateproof-reports");
}

/// Rendered, everything that the embedded API server has is admitted by it, and the rest has no field that is none.
fn is_admitted(objects: &[Value], namespace: &str) {
    objects.iter().for_each(has_known_fields_alone);
    objects.iter().filter_map(pod).for_each(is_least);
    if !is_there("kubectl") {
        return skipped("kubectl", "it is not installed");
    }
    let testbed = TestbedProcess::start(&["--no-controller"]);
    let served =
        |object: &&Value| !["Job", "CronJob", "PersistentVolumeClaim"].iter().any(|kind| object["kind"] == **kind);
    let mut items: Vec<Value> = objects.iter().filter(served).cloned().collect();
    items.insert(0, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
    let apply = |items: &[Value]| {
        let file = testbed.dir.path().join("objects.json");
        fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
        let mut kubectl = Command::new("kubectl");
        kubectl.arg("--kubeconfig").arg(&testbed.kubeconfig).args([
            "apply",
            "--server-side",
            "--validate=strict",
            "-f",
        ]);
        kubectl.arg(file).output().unwrap()
    };
    let output = apply(&items);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    if let Some(role) = items.iter_mut().find(|object| object["kind"] == "ClusterRole") {
        role["ruels"] = json!([]);
        assert!(!apply(&items).status.success(), "a field that is none was admitted");
    }
}

#[rstest]
fn a_base_is_admitted(#[values("job", "cronjob", "shards", "merge")] name: &str) {
    if !is_there("kubectl") {
        return skipped("kubectl", "it is not installed");
    }
    let output = Command::new("kubectl").arg("kustomize").arg(ours("deploy/kustomize").join(name)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let objects = documents(&String::from_utf8(output.stdout).unwrap());
    for object in objects.iter().filter(|object| pod(object).is_some()) {
        assert_eq!(object["metadata"]["namespace"], "gateproof");
        assert!(containers(pod(object).unwrap()).all(|one| one["image"] == "REGISTRY/gateproof:v0.1.0"));
    }
    is_admitted(&objects, "gateproof");
}

fn chart(arguments: &[&str]) -> Result<Vec<Value>, String> {
    release("it", arguments)
}

fn release(name: &str, arguments: &[&str]) -> Result<Vec<Value>, String> {
    let chart: &Path = &ours("deploy/helm/gateproof");
    let output = Command::new("helm")
        .args(["template", name])
        .arg(chart)
        .args(["--namespace", "ci", "--kube-version", "1.33.0"])
        .args(arguments)
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8(output.stderr).unwrap());
    }
    Ok(documents(&String::from_utf8(output.stdout).unwrap()))
}

const KNOWN: [&str; 2] = ["--set", "knownFailures=a: b"];

#[rstest]
#[case::run(
    "run",
    5,
    "run --gateway-class my-class --known-failures /known-failures/known-failures.yaml --report-dir /reports/run"
)]
#[case::schedule(
    "schedule",
    5,
    "run --gateway-class my-class --known-failures /known-failures/known-failures.yaml --report-dir /reports/$(JOB) --baseline /reports --baseline-optional --last-green"
)]
#[case::shards(
    "shards",
    5,
    "run --gateway-class my-class --known-failures /known-failures/known-failures.yaml --shard job/4 --report-dir /reports/part-$(JOB_COMPLETION_INDEX)"
)]
#[case::merge(
    "merge",
    1,
    "report merge /reports/part-0 /reports/part-1 /reports/part-2 /reports/part-3 --report-dir /reports/run"
)]
fn the_chart_is_admitted(#[case] mode: &str, #[case] count: usize, #[case] words: &str) {
    if !is_there("helm") {
        return skipped("helm", "it is not installed");
    }
    let set = format!("mode={mode}");
    let objects = chart(&[&["--set", &set, "--set", "claim=reports"], &KNOWN[..]].concat()).unwrap();
    assert_eq!(objects.len(), count);
    let pod = objects.iter().find_map(pod).unwrap();
    assert_eq!(self::words(&pod["containers"][0]).join(" "), words);
    is_admitted(&objects, "ci");
    let account: Vec<Value> =
        objects.iter().filter(|o| o["kind"] != "Job" && o["kind"] != "CronJob").cloned().collect();
    if mode != "merge" {
        let account: Vec<Value> = account.into_iter().filter(|object| object["kind"] != "ConfigMap").collect();
        assert_eq!(account, account_and_role("it"));
    }
}

/// What `rbac` prints, but for the names of what has no namespace: releases of one name in two are two.
fn account_and_role(release: &str) -> Vec<Value> {
    let mut objects = rbac(&["--name", release, "--namespace", "ci"]);
    for (at, place) in [(1, "/metadata/name"), (2, "/metadata/name"), (2, "/roleRef/name")] {
        *objects[at].pointer_mut(place).unwrap() = format!("gateproof:ci:{release}").into();
    }
    objects
}

#[rstest]
#[case::run("run", "ReadWriteOnce")]
#[case::schedule("schedule", "ReadWriteOnce")]
#[case::shards("shards", "ReadWriteMany")]
fn the_chart_makes_a_claim_where_none_is_named(#[case] mode: &str, #[case] access: &str) {
    if !is_there("helm") {
        return skipped("helm", "it is not installed");
    }
    // Digits alone are a name, and a number to whoever reads YAML.
    let objects = release("123", &["--set", &format!("mode={mode},keep=7,deadline=7200")]).unwrap();
    objects.iter().for_each(has_known_fields_alone);
    let made = objects.iter().find(|object| object["kind"] == "PersistentVolumeClaim").unwrap();
    assert_eq!(made["spec"]["accessModes"], json!([access]));
    assert_eq!(made["metadata"]["annotations"], json!({"helm.sh/resource-policy": "keep"}));
    let pod = objects.iter().find_map(pod).unwrap();
    assert_eq!((claim(pod), &made["metadata"]["name"]), ("123-reports", &json!("123-reports")));
    let images: Vec<&Value> = containers(pod).map(|one| &one["image"]).collect();
    assert!(images.iter().all(|image| **image == "REGISTRY/gateproof:v0.1.0"), "{images:?}");
    assert_eq!(images.len(), if mode == "schedule" { 2 } else { 1 });
    if mode == "schedule" {
        keeps_the_night_before(pod);
        let night = objects.iter().find(|object| object["kind"] == "CronJob").unwrap();
        makes_way_for_the_next_night(night);
        assert_eq!(night["spec"]["jobTemplate"]["spec"]["activeDeadlineSeconds"], 7200);
        nights_follow_each_other(pod, "7");
    }
}

#[test]
fn the_chart_takes_an_account_that_is_there() {
    if !is_there("helm") {
        return skipped("helm", "it is not installed");
    }
    let objects = chart(&["--set", "rbac.create=false,rbac.serviceAccount=theirs,claim=reports"]).unwrap();
    assert_eq!(objects.iter().map(|object| &object["kind"]).collect::<Vec<_>>(), ["Job"]);
    assert_eq!(pod(&objects[0]).unwrap()["serviceAccountName"], "theirs");
}

#[rstest]
#[case::no_claim(&["--set", "mode=merge"], "name the claim")]
#[case::no_account(&["--set", "rbac.create=false"], "rbac.serviceAccount")]
#[case::a_mode_that_is_none(&["--set", "mode=twice"], "mode")]
#[case::a_day_that_ends_no_night(&["--set", "mode=schedule,deadline=100000"], "deadline")]
#[case::a_value_that_is_none(&["--set", "gatewayclass=a"], "gatewayclass")]
fn the_chart_refuses_what_it_cannot_do(#[case] arguments: &[&str], #[case] part: &str) {
    if !is_there("helm") {
        return skipped("helm", "it is not installed");
    }
    let error = chart(arguments).unwrap_err();
    assert!(error.contains(part), "{error}");
}

#[rstest]
#[case::the_last(Some("1"), Some(0), "")]
#[case::one_too_many(Some("2"), Some(2), "`job/2` is no part")]
#[case::no_job(None, Some(2), "`job/2` needs JOB_COMPLETION_INDEX")]
fn a_pod_of_an_indexed_job_knows_its_part(#[case] index: Option<&str>, #[case] code: Option<i32>, #[case] part: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = super::process::gateproof(dir.path());
    command.args(["run", "httproute-missing-reference-grant", "httproute-missing-backend", "--shard", "job/2"]);
    command.env_remove("JOB_COMPLETION_INDEX").envs(index.map(|index| ("JOB_COMPLETION_INDEX", index)));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), code, "{said}");
    assert!(said.contains(part), "{said}");
    if code == Some(0) {
        let record: Value = serde_json::from_str(&read(&dir.path().join("gateproof-report/record.json"))).unwrap();
        assert_eq!((&record["shard"]["part"], &record["shard"]["parts"]), (&json!(2), &json!(2)));
    }
}
