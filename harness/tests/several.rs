//! Several dialects at once: each has its own target, reports and exit code, and nothing of one gets into another.
#![allow(clippy::unwrap_used)]

mod process;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use gateproof_example_lamps::Behaviour;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use process::{Ended, TestbedProcess, run};
use rstest::rstest;
use serde_json::Value;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names(list: &Value) -> Vec<String> {
    let mut names: Vec<_> = list.as_array().unwrap().iter().map(|one| one["name"].to_string()).collect();
    names.sort();
    names
}

#[test]
fn dialects_run_side_by_side() {
    let dir = tempfile::tempdir().unwrap();
    // Of each, which is run whole elsewhere, what is about some of its objects.
    let all = "gateway-api,kuadrant,aso,contour";
    let selected = [
        ["gateway-*", "gatewayclass-*"],
        ["kuadrant-dns-*", "kuadrant-tls-*"],
        ["aso-o*", "aso-s*"],
        ["contour-i*", "contour-s*"],
    ];
    let all_of_them =
        || run(dir.path(), &[&["run", "--dialect", all, "--report-dir", "reports"], selected.as_flattened()].concat());
    let mut ended = all_of_them();
    // What a busy machine could not tell is asked once more.
    if ended.code == Some(3) {
        ended = all_of_them();
    }
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let strangers: [(&str, &[&str]); 4] = [
        ("gateway-api", &["kuadrant.io", ".azure.com", "projectcontour.io"]),
        ("kuadrant", &[".azure.com", "projectcontour.io"]),
        ("aso", &["gateway.networking.k8s.io", "kuadrant.io", "projectcontour.io"]),
        ("contour", &["gateway.networking.k8s.io", "kuadrant.io", ".azure.com"]),
    ];
    for ((dialect, foreign), its) in strangers.into_iter().zip(selected) {
        let own = dir.path().join("reports").join(dialect);
        let record: Value = serde_json::from_str(&read(&own.join("record.json"))).unwrap();
        assert_eq!(record["target"]["dialect"], dialect);
        // Gateway API has scenarios about targets that lack what the reference has.
        let is_well =
            |one: &Value| one["outcome"] == "passed" || (dialect == "gateway-api" && one["outcome"] == "notSupported");
        let scenarios = record["scenarios"].as_array().unwrap();
        assert!(scenarios.iter().all(is_well), "{}", ended.said());
        assert!(scenarios.iter().filter(|one| one["outcome"] == "passed").count() > 15);
        let list = ["list", "scenarios", "--dialect", dialect, "--format", "json"];
        let listed = run(dir.path(), &[&list[..], &its].concat());
        let listed: Value = serde_json::from_str(&listed.out).unwrap();
        assert_eq!(names(&record["scenarios"]), names(&listed));
        let log = read(&own.join("events.jsonl"));
        let found: Vec<_> = foreign.iter().filter(|group| log.contains(**group)).collect();
        assert!(log.len() > 100_000 && found.is_empty(), "{dialect} has something of {found:?}");
        assert!(ended.err.contains(&format!("{dialect}: ")), "{}", ended.err);
    }
}

#[rstest]
#[case::twice(&["run", "--dialect", "aso,aso"], "--dialect names `aso` twice")]
#[case::empty(&["run", "--dialect", "aso,"], "one of the names behind --dialect is empty")]
#[case::unknown(&["run", "--dialect", "aso,kuadrantt"], "there is no dialect `kuadrantt`")]
#[case::selection(&["run", "--dialect", "aso,kuadrant", "asso-*"], "`asso-*` is no scenario")]
#[case::selected_by_half(&["run", "--dialect", "aso,gateway-api", "aso-*", "--profile", "GATEWAY-HTTP"], "is selected by all that is asked for")]
#[case::skip(&["run", "--dialect", "aso,kuadrant", "--skip", "asso-*"], "--skip: there is no scenario `asso-*`")]
#[case::label(&["run", "--dialect", "aso,kuadrant", "--namespace-label", "a"], "aso: × `a` is not a label")]
#[case::fault(&["run", "--dialect", "aso,kuadrant", "--target", "embedded:takes-over"], "a fault or variant of --target is about one dialect")]
#[case::no_cluster(&["run", "--dialect", "gateway-api,aso", "--gateway-class", "a"], "nothing names one for `aso`")]
#[case::no_class(&["run", "--dialect", "aso,gateway-api", "--context", "a"], "nothing says what of it is to be tested of the dialect `gateway-api`")]
#[case::nobodys(&["run", "--dialect", "kuadrant,aso", "--gateway-api-version", "v1.6"], "--gateway-api-version means nothing in the dialect `kuadrant`")]
#[case::nobodys_service(&["run", "--dialect", "kuadrant,aso", "--service", "arn=http://127.0.0.1:1"], "has no service `arn`")]
#[case::nobodys_edition(&["run", "--dialect", "gateway-api,aso", "--edition", "desing"], "has no edition `desing`")]
#[case::list_twice(&["list", "faults", "--dialect", "aso,aso"], "--dialect names `aso` twice")]
#[case::list_unknown(&["list", "faults", "--dialect", "aso,kuadrantt"], "there is no dialect `kuadrantt`")]
#[case::list_edition(&["list", "faults", "--dialect", "aso,kuadrant", "--edition", "desing"], "has no edition `desing`")]
#[case::list_scenarios(&["list", "scenarios", "--dialect", "kuadrant,aso", "asso-*"], "`asso-*` is no scenario")]
#[case::list_profile(&["list", "scenarios", "--dialect", "kuadrant,aso", "--profile", "X"], "--profile X: none of these dialects has a profile of this name")]
#[case::explain(&["explain", "--dialect", "aso,kuadrant", "aso-deletion-refusd"], "did you mean `aso-deletion-refused`?")]
#[case::explain_file(&["explain", "--dialect", "aso,kuadrant", "-f", "."], "a manifest of --file is about one dialect")]
#[case::plan_selection(&["plan", "--dialect", "aso,kuadrant", "asso-*"], "`asso-*` is no scenario")]
#[case::plan_nobodys(&["plan", "--dialect", "kuadrant,aso", "--gateway-api-version", "v1.6"], "--gateway-api-version means nothing in the dialect `kuadrant`")]
#[case::preflight(&["preflight", "--dialect", "gateway-api,aso", "--gateway-class", "a"], "nothing names one for `aso`")]
#[case::baseline(&["run", "--dialect", "gateway-api,aso", "--baseline", "nothing"], "cannot read nothing/aso")]
#[case::rbac_again(&["rbac", "--dialect", "gateway-api,aso", "--rerun-failed", "."], "--rerun-failed is about one dialect")]
#[case::lint(&["lint", ".", "--dialect", "aso,kuadrant"], "manifests are of one dialect, and these are several: aso, kuadrant")]
#[case::faults(&["faults", "--dialect", "kuadrant,aso", "fatal-as-warnin"], "there is no fault `fatal-as-warnin`")]
#[case::faults_table(&["faults", "--dialect", "kuadrant,aso", "--table"], "--table prints what stands in the table of one dialect")]
#[case::faults_scenario(&["faults", "--dialect", "kuadrant,aso", "--pinpoint", "--scenario", "asso-*"], "no scenario is called `asso-*`")]
#[case::testbed(&["testbed", "--dialect", "aso,kuadrant"], "the references of several dialects have an API server each")]
#[case::testbed_crds(&["testbed", "--dialect", "aso,kuadrant", "--no-controller", "--crds", "a.yaml"], "--crds is about one dialect")]
fn what_is_about_one_dialect_is_refused(#[case] arguments: &[&str], #[case] told: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ended: Ended = run(dir.path(), arguments);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.said().contains(told), "{}", ended.said());
    assert!(!ended.out.contains("== "), "nothing is asked before all is right: {}", ended.out);
    assert!(!dir.path().join("gateproof-report").exists());
}

/// Of runs that follow each other in one directory, of one dialect or several, the last alone is there, also when it is refused.
#[test]
fn a_run_leaves_nothing_of_one_of_other_dialects() {
    let dir = tempfile::tempdir().unwrap();
    let both = ["run", "aso-azure-name-missing", "kuadrant-auth-empty-refused", "--dialect", "kuadrant,aso"];
    let runs: [(&[&str], i32, [bool; 3]); 5] = [
        (&["run", "aso-azure-name-missing", "--dialect", "aso"], 0, [true, false, false]),
        (&both, 0, [false, true, true]),
        (&["run", "aso-azure-name-missing", "--dialect", "aso"], 0, [true, false, false]),
        (&both, 0, [false, true, true]),
        (&["run", "aso-azure-name-mising", "--dialect", "kuadrant,aso"], 2, [false; 3]),
    ];
    for (words, code, records) in runs {
        let ended = run(dir.path(), words);
        assert_eq!(ended.code, Some(code), "{}", ended.said());
        let there = ["", "aso", "kuadrant"].map(|name| dir.path().join("gateproof-report").join(name));
        for file in ["record.json", "report.html", "junit.xml"] {
            assert_eq!(there.each_ref().map(|dir| dir.join(file).exists()), records, "{words:?}: {file}");
        }
        let unfinished = there.each_ref().map(|dir| dir.join("unfinished.txt").exists());
        assert_eq!(unfinished, [code != 0; 3], "{words:?}");
    }
}

/// An edition is that of the dialects that have it, and who has it not is told, once.
#[rstest]
#[case::of_some(Some("--edition design is for what has it: kuadrant, aso; asked without it: gateway-api"))]
#[case::of_all(None)]
fn an_edition_is_that_of_those_that_have_it(#[case] note: Option<&str>) {
    let dir = tempfile::tempdir().unwrap();
    let dialects = if note.is_some() { "kuadrant,gateway-api,aso" } else { "kuadrant,aso" };
    let design = ["--edition", "design"];
    let listed = ["list", "scenarios", "--format", "json", "--dialect", dialects];
    let listed = run(dir.path(), &[&listed[..], &design].concat());
    assert_eq!(listed.code, Some(0), "{}", listed.said());
    assert_eq!(listed.err.trim(), note.unwrap_or_default());
    let count = |words: &[&str]| {
        let listed = run(dir.path(), &[&["list", "scenarios", "--format", "json"], words].concat());
        serde_json::from_str::<Value>(&listed.out).unwrap().as_array().unwrap().len()
    };
    for one in serde_json::from_str::<Vec<Value>>(&listed.out).unwrap() {
        let dialect = one["dialect"].as_str().unwrap();
        let edition: &[&str] = if dialect == "gateway-api" { &[] } else { &design };
        let alone = count(&[&["--dialect", dialect], edition].concat());
        assert_eq!(one["document"].as_array().unwrap().len(), alone, "{dialect}");
    }
}

/// What is selected and what is left out goes to the dialects that have it, and one that has nothing of it is not run.
#[test]
fn a_run_takes_what_each_has_of_a_selection() {
    let dir = tempfile::tempdir().unwrap();
    let run_of = |words: &[&str]| {
        let ended =
            run(dir.path(), &[&["run", "--format", "json", "--dialect", "gateway-api,aso,kuadrant"], words].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let documents: Vec<Value> = serde_json::from_str(&ended.out).unwrap();
        let outcomes = documents.into_iter().map(|one| {
            let (dialect, record) = (one["dialect"].as_str().unwrap().to_owned(), &one["document"]);
            assert_eq!(record["target"]["dialect"], *dialect);
            let scenarios = record["scenarios"].as_array().unwrap().iter();
            let word = |value: &Value| value.as_str().unwrap().to_owned();
            (dialect, scenarios.map(|one| (word(&one["name"]), word(&one["outcome"]))).collect::<Vec<_>>())
        });
        outcomes.collect::<Vec<_>>()
    };
    let outcome = |name: &str, outcome: &str| (name.to_owned(), outcome.to_owned());
    let (refused, created, missing) = ("aso-deletion-refused", "aso-created", "httproute-missing-backend");
    assert_eq!(
        run_of(&[refused, created, missing, "--skip", "aso-deletion-*=not today"]),
        [
            ("gateway-api".to_owned(), vec![outcome(missing, "passed")]),
            ("aso".to_owned(), vec![outcome(created, "passed"), outcome(refused, "skipped")])
        ]
    );
    assert!(!dir.path().join("gateproof-report/kuadrant").exists());
}

/// The example's dialect, whose targets need nothing but its definitions.
fn lamps() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join("examples/lamps/dialect").display().to_string()
}

async fn client(testbed: &TestbedProcess) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// `--service` and what goes with it for the services of a testbed.
fn services(testbed: &TestbedProcess) -> Vec<String> {
    let service = &testbed.served["services"][0];
    let words = [("--service", "url"), ("--service-token", "token"), ("--service-ca", "authority")];
    let given = words.into_iter().filter_map(|(option, field)| Some((option, service[field].as_str()?)));
    given.flat_map(|(option, value)| [option.to_owned(), format!("arm={value}")]).collect()
}

/// A run that must not wait for this thread, on which the controller is.
async fn ran(testbed: &TestbedProcess, words: &[&str]) -> Ended {
    let kubeconfig = testbed.kubeconfig.to_str().unwrap();
    let words =
        [&["run", "--kubeconfig", kubeconfig, "--report-dir", "reports", "--timing", "embedded"], words].concat();
    let (dir, words) = (testbed.dir.path().to_owned(), words.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let run = move || run(&dir, &words.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// One that cannot be tested keeps all from being run: nothing is applied for one before it is known of all that they can be, and no
/// scenario of one runs before what has to be applied for that has arrived.
#[rstest]
#[case::without_its_definitions(
    false,
    false,
    3,
    "serves no resources.azure.com, storage.azure.com, network.azure.com, dbforpostgresql.azure.com or authorization.azure.com"
)]
#[case::without_its_service(true, false, 2, "nothing says where arm is")]
#[case::without_its_controller(true, true, 2, "does not reach arm")]
#[tokio::test(flavor = "multi_thread")]
async fn all_are_asked_before_one_is_run(
    #[case] is_served: bool,
    #[case] is_named: bool,
    #[case] code: i32,
    #[case] told: &str,
    #[values(false, true)] skip: bool,
) {
    let lamps = lamps();
    let both = format!("{lamps},aso");
    let testbed = TestbedProcess::start(&["--no-controller", "--dialect", if is_served { &both } else { &lamps }]);
    let operator = tokio::spawn(gateproof_example_lamps::run(client(&testbed).await, Behaviour::Plain));
    // What can be tested passes alone.
    let alone = ran(&testbed, &["--dialect", &lamps]).await;
    assert_eq!(alone.code, Some(0), "{}", alone.said());
    std::fs::rename(testbed.dir.path().join("reports"), testbed.dir.path().join("lamps")).unwrap();
    std::fs::create_dir(testbed.dir.path().join("reports")).unwrap();
    std::fs::rename(testbed.dir.path().join("lamps"), testbed.dir.path().join("reports/lamps")).unwrap();
    let named = if is_named { services(&testbed) } else { Vec::new() };
    let mut words = vec!["--dialect", &both, "--format", "json"];
    words.extend(named.iter().map(String::as_str));
    if skip {
        words.push("--skip-preflight");
    }
    let ended = ran(&testbed, &words).await;
    assert_eq!(ended.code, Some(code), "{}", ended.said());
    for part in ["aso:", told, "no scenario of any of these dialects was run"] {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
    assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap(), serde_json::json!([]));
    // What an earlier run came to is not taken for what this one did.
    let reports = testbed.dir.path().join("reports");
    assert!(read(&reports.join("lamps/unfinished.txt")).contains("another of the dialects cannot be run"));
    for file in ["lamps/events.jsonl", "lamps/record.json", "aso"] {
        assert!(!reports.join(file).exists(), "{file}");
    }
    let left: Api<Namespace> = Api::all(client(&testbed).await);
    let left = left.list(&ListParams::default().labels("gateproof.dev/run")).await.unwrap().items;
    assert!(left.is_empty(), "{left:?}");
    operator.abort();
}

/// Who breaks off while a canary is on its way ends all, and nothing is left of it.
#[tokio::test(flavor = "multi_thread")]
async fn who_breaks_off_before_the_first_scenario_ends_all() {
    let both = format!("{},aso", lamps());
    let testbed = TestbedProcess::start(&["--no-controller", "--dialect", &both]);
    let namespaces: Api<Namespace> = Api::all(client(&testbed).await);
    let of_runs =
        async || namespaces.list(&ListParams::default().labels("gateproof.dev/run")).await.unwrap().items.len();
    let mut command = process::gateproof(testbed.dir.path());
    command.args(["run", "--dialect", &both, "--kubeconfig", testbed.kubeconfig.to_str().unwrap()]);
    let mut child = command.args(services(&testbed)).stderr(Stdio::piped()).spawn().unwrap();
    while of_runs().await == 0 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before anything was applied");
    }
    process::signal(&child, "INT");
    let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap()).await.unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted before any scenario was run"), "{said}");
    assert_eq!(of_runs().await, 0);
    assert!(!testbed.dir.path().join("gateproof-report").exists());
}

/// On one cluster, each with its own reports.
#[tokio::test(flavor = "multi_thread")]
async fn dialects_run_one_after_the_other_on_a_cluster() {
    let testbed = TestbedProcess::start(&["--dialect", "aso"]);
    let definitions: Api<CustomResourceDefinition> = Api::all(client(&testbed).await);
    let definition = serde_yaml::from_str(&read(&Path::new(&lamps()).join("crds.yaml"))).unwrap();
    definitions.create(&PostParams::default(), &definition).await.unwrap();
    let operator = tokio::spawn(gateproof_example_lamps::run(client(&testbed).await, Behaviour::Plain));
    let (both, named) = (format!("{},aso", lamps()), services(&testbed));
    let mut words = vec!["aso-deletion-refused", "lamp*", "--dialect", &both, "--format", "json"];
    words.extend(named.iter().map(String::as_str));
    let ended = ran(&testbed, &words).await;
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let documents: Vec<Value> = serde_json::from_str(&ended.out).unwrap();
    let of: Vec<_> = documents.iter().map(|one| one["dialect"].as_str().unwrap()).collect();
    assert_eq!(of, ["lamps", "aso"]);
    for one in &documents {
        let scenarios = one["document"]["scenarios"].as_array().unwrap();
        assert!(!scenarios.is_empty() && scenarios.iter().all(|one| one["outcome"] == "passed"), "{one}");
        let own = testbed.dir.path().join("reports").join(one["dialect"].as_str().unwrap());
        assert_eq!(serde_json::from_str::<Value>(&read(&own.join("record.json"))).unwrap(), one["document"]);
    }
    operator.abort();
}

#[rstest]
#[case::profiles(&["list", "profiles", "--dialect", "kuadrant,aso"], "the dialect `kuadrant` has no profiles")]
#[case::releases(&["plan", "--dialect", "kuadrant,aso", "--compare", "v1.6,v1.7"], "--compare means nothing in the dialect `kuadrant`")]
fn what_none_of_them_has_is_an_error(#[case] arguments: &[&str], #[case] told: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), arguments);
    assert_eq!(ended.code, Some(2), "{}", ended.said());
    assert!(ended.err.contains(told), "{}", ended.err);
}

/// What a verb says of each of these dialects alone, under a heading for each.
fn under_headings(dir: &Path, dialects: &[&str], verb: &[&str]) -> String {
    let one = |dialect: &&str| {
        let ended = run(dir, &[verb, &["--dialect", dialect]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        format!("== {dialect} ==\n{}", ended.out)
    };
    dialects.iter().map(one).collect::<Vec<_>>().join("\n")
}

#[rstest]
#[case::scenarios(&["list", "scenarios"])]
#[case::features(&["list", "features"])]
#[case::requirements(&["list", "requirements"])]
#[case::faults(&["list", "faults"])]
#[case::variants(&["list", "variants"])]
#[case::lint(&["lint"])]
#[case::explain(&["explain"])]
#[case::plan(&["plan"])]
#[case::preflight(&["preflight"])]
fn a_verb_says_of_each_what_it_says_of_it_alone(#[case] verb: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let dialects = ["gateway-api", "aso", "kuadrant"];
    let ended = run(dir.path(), &[verb, &["--dialect", &dialects.join(",")]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let (said, alone) = (anywhere(&ended.out), anywhere(&under_headings(dir.path(), &dialects, verb)));
    let first = said.lines().zip(alone.lines()).find(|(one, other)| one != other);
    assert_eq!(first, None);
    assert_eq!(said.len(), alone.len());
    let ended = run(dir.path(), &[verb, &["--format", "json", "--dialect", &dialects.join(",")]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let documents: Value = serde_json::from_str(&ended.out).unwrap();
    for (index, dialect) in dialects.iter().enumerate() {
        let alone = run(dir.path(), &[verb, &["--format", "json", "--dialect", dialect]].concat());
        let document = serde_json::from_str::<Value>(&anywhere(&alone.out)).unwrap();
        assert_eq!(documents[index]["dialect"], *dialect);
        let found = serde_json::from_str::<Value>(&anywhere(&documents[index]["document"].to_string())).unwrap();
        assert!(found == document, "{dialect}");
    }
    assert_eq!(documents.as_array().unwrap().len(), dialects.len());
}

/// Every embedded target has a network of its own.
fn anywhere(text: &str) -> String {
    regex::Regex::new(r"127\.\d+\.\d+\.\d+(:\d+)?").unwrap().replace_all(text, "ADDRESS").into_owned()
}

/// Whoever has no profiles is no error beside one that has.
#[test]
fn what_some_have_is_told_of_those() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["list", "profiles", "--dialect", "aso,gateway-api"];
    let ended = run(dir.path(), &words);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(
        ended.out.starts_with("== aso ==\nthe dialect `aso` has no profiles\n\n== gateway-api ==\nGATEWAY-HTTP"),
        "{}",
        ended.out
    );
    let ended = run(dir.path(), &[&words[..], &["--format", "json"]].concat());
    let documents: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(documents[0], serde_json::json!({"dialect": "aso", "document": []}));
    assert_eq!(documents[1]["document"][0]["name"], "GATEWAY-HTTP");
    let ended = run(dir.path(), &["plan", "--dialect", "aso,gateway-api", "--compare", "v1.6,v1.7"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(ended.out.contains("== aso ==\n--compare means nothing in the dialect `aso`"), "{}", ended.out);
    assert!(ended.out.contains("scenarios differ"), "{}", ended.out);
}

#[test]
fn a_scenario_is_explained_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let dialects = ["--dialect", "gateway-api,aso,kuadrant"];
    let ended = run(dir.path(), &[&["explain", "aso-deletion-refused", "httproute-missing-*"], &dialects[..]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let headings: Vec<&str> = ended.out.lines().filter(|line| line.starts_with("== ")).collect();
    assert_eq!(headings, ["== gateway-api ==", "== aso =="]);
    let at = |part: &str| ended.out.find(part).unwrap_or_else(|| panic!("no {part} in {}", ended.out));
    assert!(at("httproute-missing-backend (") < at("== aso ==") && at("== aso ==") < at("aso-deletion-refused ("));
    let listed = run(dir.path(), &[&["list", "scenarios", "--profile", "GATEWAY-TLS"], &dialects[..]].concat());
    assert!(listed.out.starts_with("== gateway-api ==\n") && !listed.out.contains("== aso"), "{}", listed.out);
}

/// One environment that stands in the way decides, and says nothing about the others.
#[test]
fn the_exit_code_is_the_gravest() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = ["preflight", "--dialect", "gateway-api,aso", "--dial", "*:*=127.0.0.1:1"];
    let ended = run(dir.path(), &nowhere);
    assert_eq!(ended.code, Some(3), "{}", ended.said());
    assert!(
        ended.err.contains("gateway-api:\n") && ended.said().contains("the target cannot be tested"),
        "{}",
        ended.err
    );
    assert!(ended.out.contains("== aso ==\n") && ended.out.ends_with("the target can be tested\n"), "{}", ended.out);
    let ended = run(dir.path(), &[&nowhere[..], &["--format", "json"]].concat());
    assert_eq!(ended.code, Some(3), "{}", ended.said());
    let documents: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&documents[0]["dialect"], &documents[1]["dialect"]), (&"gateway-api".into(), &"aso".into()));
}

/// Group, resource, name and verb of all that a role permits, and the documents beside it.
fn permitted(dir: &Path, arguments: &[&str]) -> (BTreeSet<[String; 4]>, Vec<Value>) {
    let ended = run(dir, arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let documents: Vec<Value> = ended.out.split("---\n").map(|one| serde_yaml::from_str(one).unwrap()).collect();
    let words = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .map_or(vec![String::new()], |all| all.iter().map(|one| one.as_str().unwrap().to_owned()).collect())
    };
    let role = documents.iter().find(|one| one["kind"] == "ClusterRole").unwrap();
    let mut found = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in words(&rule["apiGroups"]) {
            for resource in words(&rule["resources"]) {
                for name in words(&rule["resourceNames"]) {
                    let all = words(&rule["verbs"]).into_iter();
                    found.extend(all.map(|verb| [group.clone(), resource.clone(), name.clone(), verb]));
                }
            }
        }
    }
    (found, documents)
}

#[test]
fn one_role_permits_what_the_runs_of_all_need_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let dialects = ["gateway-api", "aso", "kuadrant"];
    let rbac = ["rbac", "--allow-cluster-changes", "--admission-policy", "--dialect"];
    let (union, documents) = permitted(dir.path(), &[&rbac[..], &[&dialects.join(",")]].concat());
    let each = dialects.map(|dialect| permitted(dir.path(), &[&rbac[..], &[dialect]].concat()));
    let expected: BTreeSet<_> = each.iter().flat_map(|(one, _)| one.clone()).collect();
    assert_eq!(union, expected);
    assert!(each.iter().all(|(one, _)| one.len() < union.len()));
    let kinds: Vec<_> = documents.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    let alone: Vec<_> = each[0].1.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, alone, "one of each");
    // What those of Gateway API may change of others' is confined no further by runs of the others, and no less.
    let rule = |documents: &[Value]| {
        let policy = documents.iter().find(|one| one["kind"] == "ValidatingAdmissionPolicy").unwrap();
        policy["spec"]["validations"][0]["expression"].as_str().unwrap().to_owned()
    };
    assert_eq!(rule(&documents), rule(&each[0].1));
    let ended = run(dir.path(), &["rbac", "--dialect", "gateway-api,aso", "--format", "json"]);
    assert_eq!(serde_json::from_str::<Value>(&ended.out).unwrap()["kind"], "List");
}

#[test]
fn the_kill_matrix_is_that_of_each() {
    let dir = tempfile::tempdir().unwrap();
    let faults = ["faults", "--dialect", "kuadrant,aso", "fatal-as-warning", "fails-open-without-authorino"];
    let ended = run(dir.path(), &[&faults[..], &["--format", "json"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    let documents: Value = serde_json::from_str(&ended.out).unwrap();
    for (index, dialect, fault) in [(0, "kuadrant", "fails-open-without-authorino"), (1, "aso", "fatal-as-warning")] {
        assert_eq!(documents[index]["dialect"], dialect);
        let rows = documents[index]["document"]["rows"].as_array().unwrap();
        assert_eq!(rows.iter().map(|row| &row["fault"]).collect::<Vec<_>>(), [fault]);
    }
    let ended = run(dir.path(), &["faults", "--dialect", "kuadrant,aso", "fatal-as-warning"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    assert!(ended.out.starts_with("== aso ==\nfatal-as-warning"), "{}", ended.out);
}

/// Controllers of several dialects find the kinds of all of them on one API server, and the services that they need.
#[rstest]
#[case::all("gateway-api,aso,kuadrant", &["gateways", "resourcegroups", "authpolicies"], true)]
#[case::policies("kuadrant,aso", &["gateways", "resourcegroups", "authpolicies"], true)]
#[case::without_azure("kuadrant,gateway-api", &["gateways", "authpolicies"], false)]
#[tokio::test]
async fn a_testbed_serves_the_definitions_of_all(
    #[case] dialects: &str,
    #[case] kinds: &[&str],
    #[case] with_azure: bool,
) {
    let mut testbed = TestbedProcess::start(&["--no-controller", "--dialect", dialects]);
    let definitions: Api<CustomResourceDefinition> = Api::all(client(&testbed).await);
    let served: BTreeSet<String> = definitions
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|one| one.spec.names.plural)
        .collect();
    let expected: BTreeSet<String> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
    assert!(expected.is_subset(&served), "{served:?}");
    assert_eq!(served.contains("resourcegroups"), with_azure);
    assert_eq!(testbed.served["services"][0]["name"].as_str(), with_azure.then_some("arm"));
    let environment = testbed.served["environment"].as_str().map(std::path::PathBuf::from);
    assert_eq!(environment.as_ref().is_some_and(|file| file.exists()), with_azure);
    assert!(testbed.interrupt().success());
    assert!(!environment.is_some_and(|file| file.exists()));
}

/// A class and releases are Gateway API's, and a service is another's: none stands in the way of the other.
#[test]
fn each_takes_the_options_that_are_its_own() {
    let testbed = TestbedProcess::start(&["--no-controller"]);
    let kubeconfig = testbed.kubeconfig.to_str().unwrap();
    let words = ["run", "--dialect", "gateway-api,aso", "--kubeconfig", kubeconfig, "--gateway-class", "nobodys"];
    let own = ["--gateway-api-version", "v1.6", "--ports", "http=80", "--service", "arm=http://127.0.0.1:1"];
    let ended = run(testbed.dir.path(), &[&words[..], &own].concat());
    // Both came to ask the cluster for what they need.
    let neither = "no scenario of any of these dialects was run";
    for part in ["the target has no GatewayClass `nobodys`", "serves no resources.azure.com", neither] {
        assert!(ended.said().contains(part), "no `{part}` in {}", ended.said());
    }
    assert!(!ended.said().contains("means nothing"), "{}", ended.said());
}
