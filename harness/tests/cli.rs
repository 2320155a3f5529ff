//! The command line: what is wrong is said once, with its place and the exit code of its kind, before anything is applied.
#![allow(clippy::unwrap_used)]

mod process;

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;

use process::{expect, run};
use rstest::rstest;
use serde_json::Value;
use tokio::net::TcpSocket;

/// A good scenario, for tests to spoil.
const GOOD: &str = include_str!("cli/base.yaml");

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

#[test]
fn a_good_scenario_of_the_user_passes() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "case.yaml", GOOD);
    expect(&run(dir.path(), &["lint", "case.yaml"]), 0, &["1 scenario, no problems"]);
    expect(&run(dir.path(), &["run", "-f", "case.yaml"]), 0, &["1 passed, 0 failed"]);
}

#[rstest]
#[case::field_of_ours("summary:", "sumary:", "case.yaml:5:3", &["unknown field of a Spec `sumary`", "did you mean `summary`?"])]
#[case::verb("- apply:", "- aply:", "case.yaml:10:7", &["unknown field of a Step `aply`", "did you mean `apply`?"])]
#[case::field_of_an_object("parentRefs:", "parentRef:", "case.yaml:15:13", &["HTTPRoute has no field `spec.parentRef`", "did you mean `parentRefs`?"])]
#[case::field_deep_in_an_object("port: 8080", "port: 8080, wieght: 1", "case.yaml:17:61", &["no field `spec.rules[0].backendRefs[0].wieght`", "did you mean `weight`?"])]
#[case::field_of_a_core_object("- apply:\n", "- apply:\n        - {apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{prot: 80}]}}\n", "case.yaml:11:80", &["Service has no field `spec.ports[0].prot`", "did you mean `port`?"])]
#[case::metadata_of_a_core_object("- apply:\n", "- apply:\n        - {apiVersion: v1, kind: ConfigMap, metadata: {name: s, label: {a: b}}}\n", "case.yaml:11:65", &["ConfigMap has no field `metadata.label`", "did you mean `labels`?"])]
#[case::wrong_type("[Gateway, HTTPRoute]", "HTTPRoute", "case.yaml:6:13", &["expected a list, each item a string, found a string"])]
#[case::duplicate_key("  features:", "  summary: Again.\n  features:", "case.yaml:6:3", &["key `summary` is given twice", "line 5"])]
#[case::duplicate_key_in_an_object("hostnames:", "parentRefs: []\n            hostnames:", "case.yaml:16:13", &["key `parentRefs` is given twice", "line 15"])]
#[case::object_of_another_dialect("- apply:\n", "- apply:\n        - {apiVersion: kuadrant.io/v1, kind: AuthPolicy, metadata: {name: a}}\n", "case.yaml:11:24", &["this is an object of the dialect `kuadrant`, and the scenario is one of `gateway-api`", "name it with --dialect kuadrant, which has kinds of both"])]
#[case::feature("HTTPRoute]", "HTTPRout]", "case.yaml:6:23", &["unknown feature `HTTPRout`", "did you mean `HTTPRoute`?"])]
#[case::requirement("GEP1364-47", "GEP1364-99", "case.yaml:19:16", &["unknown clause `GEP1364-99`"])]
#[case::placeholder("[\"${host}\"]", "[\"${hots}\"]", "case.yaml:16:25", &["unknown placeholder `${hots}`", "did you mean `host`?"])]
#[case::gateway("[\"${gw}\"]", "[\"${gv}\"]", "case.yaml:15:26", &["unknown placeholder `${gv}`", "did you mean `gw`?"])]
#[case::backend("backend: echo", "backend: eco", "case.yaml:20:57", &["unknown backend `eco`", "did you mean `echo`?"])]
#[case::object("{HTTPRoute/route", "{HTTPRoute/rout", "case.yaml:18:16", &["unknown object `HTTPRoute/rout`", "did you mean `HTTPRoute/route`?"])]
#[case::pool("gw: http", "gw: htp", "case.yaml:7:18", &["unknown Gateway shape `htp`", "did you mean `http`?"])]
#[case::condition("True/Accepted", "Tru/Accepted", "case.yaml:18:44", &["unknown condition status `Tru`", "did you mean `True`?"])]
#[case::wrong_type_in_an_object("port: 8080", "port: eight", "case.yaml:17:49", &["`spec.rules[0].backendRefs[0].port` of an HTTPRoute must be an integer, found a string"])]
#[case::list_in_an_object("[\"${host}\"]", "\"${host}\"", "case.yaml:16:13", &["`spec.hostnames` of an HTTPRoute must be a list, found a string"])]
#[case::missing_field("  summary: ", "  # ", "case.yaml:6:3", &["Spec lacks the field `summary`"])]
#[case::kind("kind: Scenario", "kind: Scenari", "case.yaml:2:7", &["did you mean `Scenario`?"])]
#[case::not_yaml("spec:\n  summary", "spec: [\n  summary", "case.yaml:6:11", &["not YAML"])]
fn a_bad_manifest_is_refused_at_its_place(
    #[case] good: &str,
    #[case] bad: &str,
    #[case] place: &str,
    #[case] parts: &[&str],
) {
    let dir = tempfile::tempdir().unwrap();
    assert!(GOOD.contains(good));
    write(dir.path(), "case.yaml", &GOOD.replacen(good, bad, 1));
    let ended = run(dir.path(), &["run", "-f", "case.yaml"]);
    expect(&ended, 2, parts);
    expect(&ended, 2, &[place, "1 problem"]);
    assert!(!dir.path().join("gateproof-report").exists(), "a run began");
}

#[rstest]
#[case(&["plan", "-f", "case.yaml"])]
#[case(&["lint", "case.yaml"])]
#[case(&["explain", "-f", "case.yaml"])]
#[case(&["list", "scenarios", "-f", "case.yaml"])]
fn every_verb_refuses_a_bad_manifest(#[case] arguments: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "case.yaml", &GOOD.replacen("parentRefs:", "parentRef:", 1));
    expect(&run(dir.path(), arguments), 2, &["case.yaml:15:13", "did you mean `parentRefs`?", "1 problem"]);
}

/// Whatever flag is given, and though the manifest says of itself that it changes the cluster.
#[rstest]
#[case::a_definition("CustomResourceDefinition/tcproutes.gateway.networking.k8s.io")]
#[case::the_class("GatewayClass/${class}")]
fn what_a_run_did_not_create_is_never_deleted(#[case] object: &str) {
    let dir = tempfile::tempdir().unwrap();
    let text =
        GOOD.replacen("  steps:\n", &format!("  isolation: cluster\n  steps:\n    - delete: [\"{object}\"]\n"), 1);
    write(dir.path(), "case.yaml", &text);
    for arguments in [&["lint", "case.yaml"][..], &["run", "-f", "case.yaml", "--allow-cluster-changes"]] {
        expect(&run(dir.path(), arguments), 2, &["case.yaml:", "never deleted", "1 problem"]);
    }
}

/// Which kinds have no namespace the cluster alone knows.
#[test]
fn a_fixed_name_without_namespace_is_refused_once_the_cluster_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let object = "        - apiVersion: node.k8s.io/v1\n          kind: RuntimeClass\n          metadata: {name: precious}\n          handler: a\n";
    let (head, _) = GOOD.split_once("    - apply").unwrap();
    write(dir.path(), "case.yaml", &format!("{head}    - apply:\n{object}"));
    expect(&run(dir.path(), &["run", "-f", "case.yaml"]), 2, &["case.yaml:", "unique to run and scenario"]);
}

#[test]
fn two_files_with_one_name_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "a.yaml", GOOD);
    write(dir.path(), "b.yaml", GOOD);
    let ended = run(dir.path(), &["run", "-f", "a.yaml", "-f", "b.yaml"]);
    expect(&ended, 2, &["b.yaml:3:", "there are two scenarios `own-case`", "a.yaml"]);
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";
const HALF: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
                    metadata: {name: gateways.gateway.networking.k8s.io}\nspec: {group: gateway.networking.k8s.io}\n";

const MISTYPED: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
                        metadata: {name: gateways.gateway.networking.k8s.io}\nspec:\n  group: gateway.networking.k8s.io\n\
                        \u{20} scope: Namespaced\n  names: {kind: Gateway, plural: gateways}\n  versions:\n\
                        \u{20} - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: objekt}}}\n";

#[rstest]
#[case::mistyped_schema(
    MISTYPED,
    &["bundle.yaml: document 1, line 1", "spec.versions[0].schema.openAPIV3Schema.type", "\"objekt\""]
)]
#[case::another_kind(CONFIG_MAP, &["bundle.yaml: document 1, line 1", "v1 ConfigMap is not a CustomResourceDefinition"])]
#[case::half_a_definition(HALF, &["bundle.yaml: document 1, line 1", "spec.names.plural is missing"])]
#[case::empty("", &["bundle.yaml", "no CustomResourceDefinition among 0 document(s)"])]
#[case::not_yaml("a: [", &["bundle.yaml: document 1, line", "not valid YAML"])]
#[case::a_scenario(GOOD, &["Scenario is not a CustomResourceDefinition"])]
fn a_bundle_that_is_none_is_refused(
    #[case] text: &str,
    #[case] parts: &[&str],
    #[values("run", "testbed")] verb: &str,
) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "bundle.yaml", text);
    expect(&run(dir.path(), &[verb, "--crds", "bundle.yaml"]), 2, parts);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "something was written");
}

#[test]
fn a_bundle_that_cannot_be_fetched_is_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let refusing = refusing();
    let url = format!("https://{}/standard-install.yaml", refusing.local_addr().unwrap());
    expect(&run(dir.path(), &["run", "--crds", &url]), 3, &["cannot fetch", "name the file instead"]);
}

#[test]
fn a_port_in_use_is_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = run(dir.path(), &["testbed", "--listen", &address]);
    expect(&ended, 3, &[&format!("cannot listen on {address}"), "in use", "leave --listen out or name another"]);
    assert!(!dir.path().join("testbed.kubeconfig").exists());
}

/// A port at which nobody answers as long as this is kept: bound, so nobody else's, and never listening.
fn refusing() -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket
}

/// A kubeconfig of a cluster that nobody serves, as long as what comes is kept.
#[must_use]
fn kubeconfig(dir: &Path) -> TcpSocket {
    let refusing = refusing();
    let address = refusing.local_addr().unwrap();
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: one\n\
         clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n\
         contexts: [{{name: one, context: {{cluster: c, user: u}}}}, {{name: two, context: {{cluster: c, user: u}}}}]\n"
    );
    write(dir, "kubeconfig", &text);
    refusing
}

#[rstest]
#[case::unreachable(&["--kubeconfig", "kubeconfig"], 3, &["the API server http://127.0.0.1:", "cannot be reached"])]
#[case::context(&["--kubeconfig", "kubeconfig", "--context", "tow"], 2, &["the kubeconfig has no context `tow`; it has: one, two"])]
#[case::no_file(&["--kubeconfig", "nothing"], 2, &["cannot read the kubeconfig: nothing: No such file"])]
#[case::none_at_all(&[], 2, &["cannot read the kubeconfig", "--kubeconfig"])]
fn a_cluster_out_of_reach_is_told_from_a_wrong_name(
    #[case] arguments: &[&str],
    #[case] code: i32,
    #[case] parts: &[&str],
    #[values("run", "plan", "clean")] verb: &str,
) {
    let dir = tempfile::tempdir().unwrap();
    let _refusing = kubeconfig(dir.path());
    let mut all = vec![verb];
    if verb != "clean" {
        all.extend(["--gateway-class", "some"]);
    }
    all.extend(arguments);
    expect(&run(dir.path(), &all), code, parts);
}

#[rstest]
#[case::glob(&["run", "nosuch-*"], &["`nosuch-*` is no scenario, test, requirement, feature, profile or suite"])]
#[case::near(&["run", "httproute-mising-backend"], &["did you mean `httproute-missing-backend`?"])]
#[case::requirement(&["plan", "GEP1364-999"], &["`GEP1364-999` is no scenario"])]
#[case::profile(&["list", "scenarios", "--profile", "GATEWAY-HTPT"], &["GATEWAY-HTPT", "--profile", "GATEWAY-HTTP"])]
#[case::nothing_in_profile(&["run", "httproute-missing-backend", "--profile", "GATEWAY-TCP"], &["no selected scenario counts in GATEWAY-TCP"])]
#[case::explained(&["explain", "nosuch"], &["`nosuch` is no scenario"])]
#[case::listed(&["list", "scenarios", "nosuch"], &["`nosuch` is no scenario"])]
#[case::skip(&["run", "httproute-missing-backend", "--skip", "httproute-mising-backend"], &["--skip: there is no scenario", "did you mean `httproute-missing-backend`?"])]
#[case::fault(&["run", "--target", "embedded:ignores-reference-grant"], &["there is no fault `ignores-reference-grant`", "did you mean `ignores-reference-grants`?"])]
#[case::fault_of_a_testbed(&["testbed", "--fault", "ignores-reference-grant"], &["did you mean `ignores-reference-grants`?"])]
#[case::fault_of_the_matrix(&["faults", "ignores-reference-grant"], &["did you mean `ignores-reference-grants`?"])]
#[case::target(&["run", "--target", "kind"], &["`kind` is not a target"])]
#[case::options(&["run", "--options-from", "nothing"], &["cannot read nothing"])]
#[case::features_from(&["run", "--features-from", "nothing"], &["cannot read nothing"])]
#[case::feature(&["run", "--features", "HTTPRout"], &["there is no feature `HTTPRout`", "did you mean `HTTPRoute`?"])]
#[case::ports(&["run", "--ports", "foo=1"], &["`foo=1` names no ports"])]
#[case::dial(&["run", "--dial", "here"], &["`here` is not a dial rule"])]
#[case::proxy(&["run", "--dial-proxy", "here"], &["`here` is not a proxy", "has no port"])]
#[case::scale(&["run", "--timeout-scale", "0"], &["must be a number above 0"])]
#[case::flag(&["run", "--frobnicate"], &["--frobnicate"])]
#[case::verb(&["rnu"], &["rnu"])]
#[case::public_testbed(&["testbed", "--listen", "0.0.0.0:0"], &["0.0.0.0 is not a loopback address"])]
#[case::replay(&["replay", "nothing"], &["cannot read nothing"])]
#[case::render(&["report", "render", "nothing"], &["cannot read nothing"])]
#[case::diff(&["report", "diff", "nothing", "nothing"], &["cannot read nothing"])]
#[case::diagnose(&["report", "diagnose", "nothing"], &["cannot read nothing"])]
#[case::gate(&["report", "diff", "a", "b", "--gate=new-failure"], &["there is no rule `new-failure`", "new-failures, new-flakes"])]
#[case::rerun(&["run", "--rerun-failed", "nothing"], &["cannot read nothing"])]
#[case::baseline(&["run", "--baseline", "nothing"], &["cannot read nothing"])]
#[case::baseline_without_runs(&["run", "--baseline", "."], &[".: there is no record of a run"])]
#[case::schema(&["schema", "recrod"], &["there is no schema of `recrod`", "did you mean `record`?"])]
#[case::exempt_feature(&["run", "--exempt-features", "HTTPRout"], &["there is no feature `HTTPRout`"])]
#[case::gateway_patch(&["run", "--gateway-patch", "nothing"], &["cannot read nothing"])]
#[case::namespace_label(&["run", "--namespace-label", "nothing"], &["`nothing` is not a label"])]
#[case::backend_address(&["run", "--backend-address", "here"], &["here", "--backend-address"])]
#[case::bundle(&["run", "--crds", "nothing"], &["cannot read nothing", "--crds"])]
#[case::report_to_lint(&["report", "lint", "nothing"], &["cannot read nothing"])]
#[case::logs_from(&["run", "--logs-from", "system"], &["`system` names no Pods"])]
#[case::known_failures(&["run", "--known-failures", "nothing"], &["cannot read nothing"])]
#[case::lint(&["lint", "nothing"], &["cannot read nothing"])]
#[case::no_cluster(&["run", "--context", "kind"], &["--gateway-class"])]
#[case::format(&["list", "faults", "--format", "jsn"], &["jsn"])]
#[case::folder(&["run", "-f", "nothing"], &["cannot read nothing"])]
fn a_name_of_nothing_is_a_usage_error(#[case] arguments: &[&str], #[case] parts: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    expect(&run(dir.path(), arguments), 2, parts);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "something was written");
}

/// What stands where reports are to go stays, and nothing is run for nothing.
#[rstest]
#[case::run(&["run", "--report-dir", "mine"])]
#[case::run_below_it(&["run", "--report-dir", "mine/reports/of-today"])]
#[case::run_of_several(&["run", "--dialect", "aso,kuadrant", "--report-dir", "mine"])]
#[case::watch(&["run", "--watch", "case.yaml", "--report-dir", "mine"])]
#[case::merge(&["report", "merge", "one", "two", "--report-dir", "mine"])]
#[case::manual(&["man", "--output", "mine"])]
#[case::measured(&["faults", "--diagnose", "mine"])]
#[case::verify(&["report", "verify", "mine"])]
#[case::requirements(&["report", "requirements", "mine"])]
fn a_file_is_no_directory(#[case] arguments: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "mine", "mine");
    write(dir.path(), "case.yaml", GOOD);
    expect(&run(dir.path(), arguments), 2, &["mine is no directory"]);
    assert_eq!(std::fs::read_to_string(dir.path().join("mine")).unwrap(), "mine");
    assert_eq!(names(dir.path()), ["case.yaml", "mine"]);
}

/// What a nightly run asks: the same scenarios, before and after something broke.
#[test]
fn a_gate_fails_what_fails_newly() {
    let dir = tempfile::tempdir().unwrap();
    let scenarios = ["httproute-grant-for-one-of-two", "httproute-missing-backend", "--report-dir"];
    let made = |more: &[&str], to: &str| run(dir.path(), &[&["run"], &scenarios[..], &[to], more].concat());
    expect(&made(&[], "runs/green"), 0, &["2 passed"]);
    expect(&made(&["--repeat", "2"], "runs/twice"), 0, &["4 passed"]);
    expect(&made(&["--target", "embedded:ignores-reference-grants"], "red"), 1, &["1 failed"]);
    let looks =
        ["it behaves as under one of the known faults, which explains 1 of 1 failure:", "ignores-reference-grants"];
    expect(&run(dir.path(), &["report", "diagnose", "red"]), 0, &looks);
    expect(&run(dir.path(), &["report", "diagnose", "red", "--only", "httproute-*"]), 0, &looks);
    expect(
        &run(dir.path(), &["report", "diagnose", "red", "--only", "httproute-grant-for-one-of-too"]),
        2,
        &["nothing that fits `httproute-grant-for-one-of-too` failed; did you mean `httproute-grant-for-one-of-two`?"],
    );
    expect(&run(dir.path(), &["report", "diagnose", "runs/green"]), 0, &["nothing failed"]);
    let diff = |words: &[&str]| run(dir.path(), &[&["report", "diff"], words].concat());
    let news = ["newly failing (1)", "httproute-grant-for-one-of-two (1 execution, 3 before)", "1 newly failing"];
    expect(&diff(&["runs", "red"]), 0, &news);
    let ruling = ["gate ✗ new-failures: 1 scenario and 0 rules of the contract fail newly", "gate ✓ fewer-scenarios"];
    expect(&diff(&["runs", "red", "--gate"]), 1, &ruling);
    expect(&diff(&["red", "runs/green", "--gate=failures,at-least=2"]), 0, &["newly passing (1)", "gate ✓ at-least=2"]);
    expect(
        &diff(&["runs", "runs/green/record.json", "--gate"]),
        0,
        &["2 scenarios tested: all passing as before. 2 were tested before; none of them is missing."],
    );
    std::fs::create_dir(dir.path().join("empty")).unwrap();
    expect(&diff(&["empty", "red"]), 2, &["empty: there is no record of a run"]);
    let other = std::fs::read_to_string(dir.path().join("red/record.json")).unwrap();
    let other = other.replacen("\"dialect\": \"gateway-api\"", "\"dialect\": \"aso\"", 1);
    std::fs::write(dir.path().join("other.json"), other).unwrap();
    expect(&diff(&["other.json", "red"]), 2, &["the runs are of several dialects: aso, gateway-api"]);
    let if_same = ["other.json", "red", "--if-same-dialect", "--gate=failures"];
    expect(
        &diff(&if_same),
        0,
        &["the run before is of the dialect aso, so this one of gateway-api is judged by itself"],
    );
    expect(&diff(&["runs", "red", "--if-same-dialect", "--gate"]), 1, &news);
    std::fs::copy(dir.path().join("other.json"), dir.path().join("runs/other.json")).unwrap();
    expect(&diff(&["runs", "red", "--if-same-dialect"]), 2, &["the runs are of several dialects: aso, gateway-api"]);
    expect(&diff(&["runs", "red", "--if-same-dialect", "--format", "json"]), 2, &["cannot be used with"]);
}

/// Runs of a week: what broke, what would be pruned, and what is.
#[test]
fn runs_over_time_are_shown_and_pruned() {
    let dir = tempfile::tempdir().unwrap();
    let scenarios = ["httproute-grant-for-one-of-two", "httproute-missing-backend", "--report-dir"];
    let made = |more: &[&str], to: &str| run(dir.path(), &[&["run"], &scenarios[..], &[to], more].concat());
    expect(&made(&[], "runs/a/first"), 0, &["2 passed"]);
    expect(&made(&[], "runs/second"), 0, &["2 passed"]);
    expect(&made(&["--target", "embedded:ignores-reference-grants"], "runs/third"), 1, &["1 failed"]);
    write(dir.path(), "runs/broken.json", "{\"format\": 9}");
    let trend = |more: &[&str]| run(dir.path(), &[&["report", "trend", "runs"], more].concat());
    let said =
        ["newly failing (1)", "httproute-grant-for-one-of-two, since runs/third", "runs/broken.json: not a run record"];
    expect(&trend(&[]), 0, &said);
    expect(&trend(&["--last", "2"]), 0, &["1 older runs are not shown", "2 runs, 2 scenarios"]);
    let page = trend(&["--as", "html"]).out;
    assert!(
        page.starts_with("<!doctype html>") && page.contains("since runs/third") && !page.contains("<script"),
        "{page}"
    );
    // The last run stays, and the last green one.
    expect(&trend(&["--keep", "1"]), 0, &["runs/a/first of", "would be pruned"]);
    assert!(dir.path().join("runs/a/first/record.json").exists());
    expect(&trend(&["--prune"]), 2, &["--prune does not know what to keep"]);
    expect(&trend(&["--keep", "1", "--prune"]), 0, &["pruned runs/a/first of"]);
    assert!(!dir.path().join("runs/a/first").exists());
    assert!(dir.path().join("runs/second/record.json").exists() && dir.path().join("runs/third/record.json").exists());
    let trace = run(dir.path(), &["report", "trace", "runs/third"]).out;
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    for (cat, least) in [("scenario", 2), ("step", 6), ("stage", 6), ("write", 4), ("probe", 6), ("object", 4)] {
        let count = events.iter().filter(|event| event["cat"] == cat).count();
        assert!(count >= least, "{count} of {cat}");
    }
    expect(
        &run(dir.path(), &["report", "trace", "runs"]),
        2,
        &["runs has no record.json, but report directories in it"],
    );
    let cut = std::fs::read_to_string(dir.path().join("runs/third/events.jsonl")).unwrap();
    let half: String = cut.chars().take(cut.len() / 2).collect();
    write(dir.path(), "runs/third/events.jsonl", &half);
    expect(&run(dir.path(), &["report", "trace", "runs/third"]), 0, &["runs/third/events.jsonl: the log was cut off"]);
    write(dir.path(), "runs/third/events.jsonl", &(half + "\n"));
    let readers: [&[&str]; 2] = [&["trace", "runs/third"], &["render", "runs/third", "--as", "html"]];
    for verb in readers {
        let refused = run(dir.path(), &[&["report"], verb].concat());
        expect(&refused, 2, &["runs/third/events.jsonl: line", "of a run that ended"]);
    }
    // Nobody sees from a page that its evidence is of another run, or of a format that is read otherwise.
    let another = cut.replacen("\"date\":\"20", "\"date\":\"19", 1);
    let newer = cut.replacen("\"format\":1,", "\"format\":99,", 1);
    for (log, wrong) in [(another, "the log is of another run"), (newer, "the log is of format 99")] {
        write(dir.path(), "runs/third/events.jsonl", &log);
        for verb in readers {
            expect(&run(dir.path(), &[&["report"], verb].concat()), 2, &["runs/third/events.jsonl", wrong]);
        }
    }
}

/// What it keeps of the run before, so that what failed can be run again, would count for those to keep.
#[test]
fn a_run_that_did_not_end_is_none_of_a_series() {
    let dir = tempfile::tempdir().unwrap();
    expect(&run(dir.path(), &["run", "gateway-accepted", "--report-dir", "runs/a"]), 0, &["1 passed"]);
    std::fs::create_dir(dir.path().join("runs/b")).unwrap();
    let record = std::fs::read_to_string(dir.path().join("runs/a/record.json")).unwrap();
    write(dir.path(), "runs/b/previous-record.json", &record);
    let trend: Value =
        serde_json::from_str(&run(dir.path(), &["report", "trend", "runs", "--as", "json"]).out).unwrap();
    assert_eq!(trend["runs"].as_array().unwrap().len(), 1);
}

/// What prunes before the first of all nights, and where there are nights of several dialects, each of which keeps its own.
#[test]
fn runs_of_several_dialects_are_pruned_each_by_its_own() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("runs")).unwrap();
    let trend = |more: &[&str]| run(dir.path(), &[&["report", "trend", "runs"], more].concat());
    expect(&trend(&["--keep", "1"]), 2, &["runs: there is no record of a run"]);
    expect(&trend(&["--keep", "1", "--prune"]), 0, &["runs: there is no record of a run, so nothing is pruned"]);
    write(dir.path(), "runs/broken.json", "{\"format\": 9}");
    expect(&trend(&["--keep", "1", "--prune"]), 0, &["runs/broken.json: not a run record", "so nothing is pruned"]);
    expect(&run(dir.path(), &["report", "trend", "none", "--keep", "1", "--prune"]), 2, &["cannot read none"]);
    let words = ["run", "aso-azure-name-missing", "kuadrant-auth-empty-refused", "--dialect"];
    for night in ["runs/1", "runs/2"] {
        expect(&run(dir.path(), &[&words[..], &["aso,kuadrant", "--report-dir", night]].concat()), 0, &["1 passed"]);
    }
    expect(&run(dir.path(), &["run", words[1], "--dialect", "aso", "--report-dir", "runs/3"]), 0, &["1 passed"]);
    let of_each = ["== aso ==", "== kuadrant ==", "3 runs, 1 scenarios", "2 runs, 1 scenarios"];
    expect(&trend(&[]), 0, &of_each);
    expect(&trend(&["--as", "json"]), 2, &["the runs are of several dialects: aso, kuadrant"]);
    let pruned = ["pruned runs/1/aso of", "pruned runs/1/kuadrant of", "pruned runs/2/aso of"];
    expect(&trend(&["--keep", "1", "--prune"]), 0, &pruned);
    let there = ["1", "2", "2/aso", "2/kuadrant", "3"].map(|night| dir.path().join("runs").join(night).exists());
    assert_eq!(there, [false, true, false, true, true]);
}

/// Reports of whoever, and what is no report beside them.
#[test]
fn reports_of_anybody_stand_beside_each_other() {
    let dir = tempfile::tempdir().unwrap();
    expect(&run(dir.path(), &["run", "httproute-simple"]), 0, &["1 passed"]);
    let ours = std::fs::read_to_string(dir.path().join("gateproof-report/conformance-report.yaml")).unwrap();
    let theirs =
        ours.replace("project: embedded-reference", "project: other").replace("apiVersion:", "<Right>apiVersion:");
    std::fs::create_dir_all(dir.path().join("reports/v1.7")).unwrap();
    write(dir.path(), "reports/v1.7/other.yaml", &theirs);
    write(dir.path(), "reports/pod.yaml", "kind: Pod\n");
    write(dir.path(), "reports/notes.txt", "nothing");
    std::os::unix::fs::symlink(dir.path(), dir.path().join("reports/loop")).unwrap();
    let matrix = |more: &[&str]| {
        run(dir.path(), &[&["report", "matrix", "reports", "gateproof-report/conformance-report.yaml"], more].concat())
    };
    let said = ["2 reports of 2 implementations", "`gateproof/other", "`<Right>apiVersion`", "its kind is `Pod`"];
    expect(&matrix(&[]), 0, &said);
    expect(&matrix(&["--project", "OTHER"]), 0, &["1 report of 1 implementation (1 more is not chosen)"]);
    expect(&matrix(&["--release", "v9"]), 2, &["no report is of v9; there are v1.7.0"]);
    let json: Value = serde_json::from_str(&matrix(&["--as", "json"]).out).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == "HTTPRouteCORS").unwrap();
    assert!(row["link"].as_str().unwrap().ends_with("/pkg/features/httproute.go"), "{row}");
    assert!(!row["clauses"].as_array().unwrap().is_empty(), "{row}");
    let page = matrix(&["--as", "html"]).out;
    assert!(page.contains("https://github.com/kubernetes-sigs/gateway-api/") && !page.contains("<script"), "{page}");
    expect(
        &run(dir.path(), &["report", "matrix", "reports/pod.yaml"]),
        2,
        &["no ConformanceReport in 1 file", "its kind is `Pod`"],
    );
    expect(&run(dir.path(), &["report", "matrix", "nothing"]), 2, &["cannot read nothing"]);
    expect(&run(dir.path(), &["report", "trend", "reports"]), 2, &["there is no record of a run"]);
}

/// What is in a file that a flag names, and what is said of it.
#[rstest]
#[case::patch_of_gateways(&["run", "--gateway-patch", "given"], "- a\n", 2, &["given: this is no mapping"])]
#[case::patch_that_is_not_yaml(&["run", "--gateway-patch", "given"], "a: [", 2, &["given:", "one YAML mapping"])]
#[case::record(&["report", "render", "given"], "{}", 2, &["given: not a run record", "missing field"])]
#[case::record_to_compare(&["report", "diff", "given", "given"], "[]", 2, &["given: not a run record"])]
#[case::record_to_rerun(&["run", "--rerun-failed", "given"], "[]", 2, &["given: not a run record"])]
#[case::record_before(&["run", "--baseline", "given"], "[]", 2, &["given: not a run record"])]
#[case::log(&["replay", "given"], "{}\n", 2, &["given: line 1 of the log", "missing field"])]
#[case::empty_log(&["replay", "given"], "", 2, &["the log does not begin with the start of a run"])]
#[case::report(&["report", "lint", "given"], "kind: Pod\n", 2, &["given:"])]
#[case::not_a_report(&["run", "--features-from", "given"], "{\n  \"format\": 1\n}\n", 2, &["given: not a ConformanceReport: line 2 column 3: unknown field `format`", "conformance-report.yaml of another run"])]
#[case::report_without_profiles(&["run", "--features-from", "given"], "apiVersion: a\ndate: b\ngatewayAPIVersion: v1\nimplementation: {contact: [], organization: a, project: b, url: c, version: d}\nkind: ConformanceReport\nprofiles: []\n", 2, &["given claims no feature that is known"])]
#[case::no_manifest(&["run", "-f", "given"], "", 2, &["given"])]
#[case::reports_into_a_file(&["run", "tcproute-simple", "--report-dir", "given"], "", 2, &["given is no directory", "--report-dir"])]
fn a_file_of_something_else_is_refused(
    #[case] arguments: &[&str],
    #[case] text: &str,
    #[case] code: i32,
    #[case] parts: &[&str],
) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "given", text);
    expect(&run(dir.path(), arguments), code, parts);
    assert_eq!(std::fs::read_to_string(dir.path().join("given")).unwrap(), text);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "something was written");
}

#[test]
fn a_kubeconfig_of_something_else_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let _refusing = kubeconfig(dir.path());
    let before = std::fs::read_to_string(dir.path().join("kubeconfig")).unwrap();
    let ended = run(dir.path(), &["testbed", "--kubeconfig", "kubeconfig"]);
    expect(&ended, 2, &["kubeconfig is there already, and not a testbed's kubeconfig"]);
    assert_eq!(std::fs::read_to_string(dir.path().join("kubeconfig")).unwrap(), before);
}

const ROUTE: &str = r#"
        - apiVersion: gateway.networking.k8s.io/v1
          kind: HTTPRoute
          metadata: {name: route}
          spec: {parentRefs: ["${gw}"], hostnames: ["not a hostname"]}
"#;
const SERVICE: &str = r"
        - apiVersion: v1
          kind: Service
          metadata: {name: other}
          spec: {ports: [{port: 80}], selector: {app: 7}}
";

/// Only the refusal that the scenario asks for is one: anything else says nothing about the target.
#[rstest]
#[case::another_field(
    ROUTE,
    "refused: {code: 422, reason: Invalid, field: \"spec.rules[0].filters\"}",
    "spec.hostnames[0]"
)]
#[case::another_code(SERVICE, "refused: {code: 422, reason: Invalid, field: \"spec.ports\"}", "400")]
#[case::not_asked_for(ROUTE, "proves: [GEP1364-53]", "spec.hostnames[0]")]
fn another_refusal_is_inconclusive(#[case] object: &str, #[case] rest: &str, #[case] seen: &str) {
    let dir = tempfile::tempdir().unwrap();
    let (head, _) = GOOD.split_once("    - apply").unwrap();
    write(dir.path(), "case.yaml", &format!("{head}    - apply:{object}      {rest}\n"));
    let ended = run(dir.path(), &["run", "-f", "case.yaml"]);
    expect(&ended, 3, &["INCONCLUSIVE own-case", "0 passed, 0 failed, 1 inconclusive", seen]);
}

/// Every item of the lists that programs read has a name.
#[rstest]
#[case("scenarios", "name", "httproute-missing-backend")]
#[case("faults", "name", "ignores-reference-grants")]
#[case("requirements", "id", "GEP1364-41")]
#[case("features", "name", "HTTPRoute")]
#[case("profiles", "name", "GATEWAY-HTTP")]
fn lists_are_arrays_of_objects(#[case] what: &str, #[case] key: &str, #[case] known: &str) {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &["list", what, "--format", "json"]);
    expect(&ended, 0, &[]);
    let list: Vec<serde_json::Map<String, Value>> = serde_json::from_str(&ended.out).unwrap();
    assert!(list.iter().all(|item| item[key].as_str().is_some_and(|name| !name.is_empty())));
    assert!(list.iter().any(|item| item[key] == known), "no {known}");
}

fn listed(arguments: &[&str]) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &[&["list"][..], arguments, &["--format", "json"]].concat());
    expect(&ended, 0, &[]);
    serde_json::from_str(&ended.out).unwrap()
}

#[rstest]
#[case("faults", "aso", "name", "fatal-as-warning", 60)]
#[case("faults", "kuadrant", "name", "fails-open-without-authorino", 50)]
#[case("variants", "aso", "name", "no-labels", 10)]
#[case("variants", "kuadrant", "name", "adds-own-conditions", 10)]
#[case("requirements", "aso", "id", "ASO-01", 50)]
#[case("requirements", "kuadrant", "id", "KUADRANT-01", 50)]
fn lists_are_of_the_dialect_that_is_named(
    #[case] what: &str,
    #[case] dialect: &str,
    #[case] key: &str,
    #[case] known: &str,
    #[case] at_least: usize,
) {
    let list = listed(&[what, "--dialect", dialect]);
    assert!(list.iter().any(|item| item[key] == known), "no {known}");
    assert!(list.len() >= at_least, "{}", list.len());
}

#[test]
fn a_folder_has_no_faults() {
    let dir = tempfile::tempdir().unwrap();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/lamps/dialect");
    let ended = run(dir.path(), &["list", "faults", "--dialect", own]);
    expect(&ended, 2, &["the dialect `lamps` has no embedded reference"]);
}

/// A fault that somebody's controller had says where, to programs and to people; one that was made up says nothing.
#[test]
fn faults_say_where_they_were_reported() {
    let all = listed(&["faults"]);
    let reported = |name: &str| all.iter().find(|fault| fault["name"] == name).map(|fault| fault["reported"].clone());
    assert_eq!(reported("keeps-hosts-for-https"), Some(serde_json::json!(["cilium/cilium#44123"])));
    assert_eq!(reported("ignores-reference-grants"), Some(Value::Null));
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &["list", "faults"]);
    expect(&ended, 0, &["As in cilium/cilium#44123."]);
    assert!(ended.out.lines().any(|line| line.ends_with("permits them.")), "{}", ended.out);
}

/// Whoever asks for scenarios by profile gets those that the list of profiles names, and the list of scenarios says the same.
#[rstest]
#[case("GATEWAY-HTTP", "httproute-missing-backend")]
#[case("gateway-tcp", "tcproute-simple")]
fn a_profile_means_the_same_everywhere(#[case] profile: &str, #[case] known: &str) {
    let upper = profile.to_uppercase();
    let names = |list: &[Value]| list.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    let chosen = names(&listed(&["scenarios", "--profile", profile]));
    let all = listed(&["scenarios"]);
    let counted: Vec<Value> = all.iter().filter(|item| item["profiles"].get(&upper).is_some()).cloned().collect();
    assert!(chosen.len() < all.len() && chosen.iter().any(|name| name == known), "{chosen:?}");
    assert_eq!(chosen, names(&counted));
    assert_eq!(chosen, names(&listed(&["scenarios", profile])));
    let profiles = listed(&["profiles"]);
    let item = profiles.iter().find(|item| item["name"] == upper).unwrap();
    let of = |key: &str| item[key].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
    let mut told: Vec<String> = of("coreScenarios").chain(of("extendedScenarios")).collect();
    let mut sorted = chosen.clone();
    told.sort();
    sorted.sort();
    assert_eq!(told, sorted);
}

/// What is not proven says why, and what upstream does not see is among it.
#[test]
fn what_is_left_out_is_listed_with_its_reason() {
    let all = listed(&["requirements"]);
    let of = |id: &str| all.iter().find(|item| item["id"] == id).unwrap();
    assert_eq!(of("blind:HTTPRouteRequestPercentageMirror.2")["state"], "untested");
    assert_eq!(of("blind:GatewayInfrastructure.1")["state"], "proven");
    assert_eq!(of("blind:Generic.8")["state"], "proven");
    let ended = run(tempfile::tempdir().unwrap().path(), &["list", "requirements"]);
    for item in &all {
        let why = match item["state"].as_str().unwrap() {
            "later" => &item["later"],
            "untested" => &item["untested"],
            "open" => panic!("nothing proves {}", item["id"]),
            _ => continue,
        };
        assert!(ended.out.contains(why.as_str().unwrap()), "{item}");
    }
    let spots = all.iter().filter(|item| item.get("level").is_none()).count();
    expect(&ended, 0, &[&format!("{spots} blind spots of upstream's tests: "), " later"]);
}

#[test]
fn what_no_profile_counts_is_named_by_reports() {
    let dir = tempfile::tempdir().unwrap();
    let ended = run(dir.path(), &["run", "grpcroute-named-rule", "httproute-missing-backend"]);
    expect(&ended, 0, &["2 passed, 0 failed", "in no conformance profile: grpcroute-named-rule"]);
    let read = |name: &str| std::fs::read_to_string(dir.path().join("gateproof-report").join(name)).unwrap();
    let record: Value = serde_json::from_str(&read("record.json")).unwrap();
    assert_eq!(record["outsideProfiles"], serde_json::json!(["grpcroute-named-rule"]));
    assert!(read("summary.md").contains("in no conformance profile: grpcroute-named-rule"));
    assert!(!read("conformance-report.yaml").contains("GATEWAY-GRPC"));
}

#[test]
fn a_conformance_report_says_no_more_than_was_run() {
    let dir = tempfile::tempdir().unwrap();
    let report = || std::fs::read_to_string(dir.path().join("gateproof-report/conformance-report.yaml")).unwrap();
    let claimed = ["--features", "Gateway", "--features", "ReferenceGrant", "--features", "HTTPRoute"];
    let ended = run(dir.path(), &[&["run", "gateway-accepted", "httproute-simple"], &claimed[..]].concat());
    expect(&ended, 0, &["no result in the ConformanceReport for GATEWAY-TLS (TLSRoute not claimed)"]);
    let text = report();
    assert!(text.contains("GATEWAY-HTTP") && text.contains("- httproute-missing-backend\n"), "{text}");
    assert!(!text.contains("success") && !text.contains("GATEWAY-UDP"), "{text}");
    // Upstream's rules are about all of the scenarios that we have for it, whoever else's are run.
    write(dir.path(), "case.yaml", GOOD);
    expect(&run(dir.path(), &["run", "-f", "case.yaml"]), 0, &["1 passed, 0 failed"]);
    let text = report();
    assert!(text.contains("- httproute-missing-backend\n") && !text.contains("success"), "{text}");
}

#[test]
fn a_replay_comes_to_the_same_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let selection = ["httproute-missing-backend", "httproute-missing-reference-grant", "tcproute-simple"];
    let mut arguments = vec!["run", "--target", "embedded:ignores-reference-grants"];
    arguments.extend(selection);
    let first = run(dir.path(), &arguments);
    expect(&first, 1, &["FAILED httproute-missing-reference-grant", "2 passed, 1 failed"]);
    let again = "gateproof run httproute-missing-reference-grant --target embedded:ignores-reference-grants";
    let evidence = "gateproof-report/failures/httproute-missing-reference-grant/failure.txt";
    for place in [evidence, "gateproof-report/summary.md", "gateproof-report/junit.xml"] {
        let text = std::fs::read_to_string(dir.path().join(place)).unwrap();
        assert!(text.contains(again), "{place}: {text}");
    }
    expect(&first, 1, &[&format!("run just this: {again}")]);
    let again = run(dir.path(), &["replay", "gateproof-report"]);
    assert_eq!(again.code, Some(1));
    // What it looks like comes behind the verdicts, and of one failure alone nothing can be told.
    let looks = first.out.find("no known fault looks like the one failure: `gateproof report diagnose`").unwrap();
    assert_eq!(again.out, first.out[..looks]);
    expect(&run(dir.path(), &["run", "--rerun-failed", "gateproof-report"]), 0, &["1 passed, 0 failed"]);
}

/// What is in a directory.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[rstest]
#[case::bad_manifest(&["run", "-f", "case.yaml"])]
#[case::bad_name(&["run", "nosuch"])]
#[case::nothing_to_connect_to(&["run", "--gateway-class", "some", "--kubeconfig", "kubeconfig"])]
fn a_run_that_could_not_start_leaves_no_report_of_another(#[case] arguments: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let reports = dir.path().join("gateproof-report");
    let _refusing = kubeconfig(dir.path());
    write(dir.path(), "case.yaml", &GOOD.replacen("parentRefs:", "parentRef:", 1));
    std::fs::create_dir_all(reports.join("failures")).unwrap();
    write(&reports, "failures/mine.txt", "mine");
    expect(&run(dir.path(), &["run", "tcproute-simple"]), 0, &["1 passed, 0 failed"]);
    assert!(reports.join("junit.xml").exists() && !reports.join("unfinished.txt").exists());
    let ended = run(dir.path(), arguments);
    assert!(matches!(ended.code, Some(2 | 3)), "{}", ended.said());
    assert_eq!(std::fs::read_to_string(reports.join("failures/mine.txt")).unwrap(), "mine");
    assert!(names(&reports).iter().all(|name| !name.starts_with("junit") && name != "record.json"), "{reports:?}");
    for verb in [&["replay", "gateproof-report"][..], &["report", "render", "gateproof-report"]] {
        expect(&run(dir.path(), verb), 2, &["the run of gateproof-report did not end", "unfinished.txt says more"]);
    }
    // The run before passed, so nothing is to be run again, and nothing is lost by asking.
    let again = run(dir.path(), &["run", "--rerun-failed", "gateproof-report"]);
    expect(&again, 0, &["this is about the one before", "nothing to run again"]);
}

/// What is judged before its time is up is good for a look.
#[test]
fn no_conformance_report_comes_of_an_impatient_run() {
    let dir = tempfile::tempdir().unwrap();
    let (reports, report) = (dir.path().join("gateproof-report"), "conformance-report.yaml");
    let arguments = ["run", "httproute-missing-reference-grant", "--target", "embedded:ignores-reference-grants"];
    let duration = |record: &Value| record["scenarios"][0]["durationMs"].as_u64().unwrap();
    let record =
        || serde_json::from_str::<Value>(&std::fs::read_to_string(reports.join("record.json")).unwrap()).unwrap();
    expect(&run(dir.path(), &arguments), 1, &["0 passed, 1 failed"]);
    let (patient, taken) = (record(), std::fs::read_to_string(reports.join(report)).unwrap());
    let ended = run(dir.path(), &[&arguments[..], &["--impatient"]].concat());
    expect(&ended, 1, &["0 passed, 1 failed", "no ConformanceReport of a run that judged before the time was up"]);
    let impatient = record();
    assert!(duration(&impatient) < duration(&patient), "{impatient}");
    assert_eq!((&patient["impatient"], &impatient["impatient"]), (&Value::Null, &Value::Bool(true)));
    assert!(impatient["arguments"].to_string().contains("--impatient"), "{impatient}");
    assert!(!reports.join(report).exists());
    assert!(std::fs::read_to_string(reports.join("summary.md")).unwrap().contains("The run was impatient"));
    expect(&run(dir.path(), &["replay", "gateproof-report"]), 1, &["0 passed, 1 failed"]);
    // Nor does it stand behind that of another.
    write(&reports, report, &taken);
    let submit = ["report", "submit", "gateproof-report", "--output", "upstream"];
    expect(&run(dir.path(), &submit), 1, &["of a run that judged before the time was up", "nothing was written"]);
}

#[test]
fn features_come_from_a_report() {
    let dir = tempfile::tempdir().unwrap();
    let report = "gateproof-report/conformance-report.yaml";
    expect(&run(dir.path(), &["run", "httproute-simple", "--all-features"]), 0, &["1 passed"]);
    let text = std::fs::read_to_string(dir.path().join(report)).unwrap();
    write(dir.path(), report, &text.replacen("supportedFeatures:", "supportedFeatures:\n    - FromTheFuture", 1));
    // The report stands where the run's own goes.
    let ended = run(dir.path(), &["run", "httproute-simple", "tcproute-simple", "--features-from", report]);
    expect(&ended, 0, &["1 passed, 0 failed, 1 not supported", "that are left out: FromTheFuture"]);
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("gateproof-report/record.json")).unwrap())
            .unwrap();
    assert_eq!(record["optionsFile"], "gateproof-report/options.txt");
    let features = record["target"]["features"].clone();
    assert!(features.as_array().unwrap().len() > 40, "{features}");
    // The file means what it was made of.
    let again = ["run", "httproute-simple", "--options-from", "gateproof-report/options.txt"];
    expect(&run(dir.path(), &again), 0, &["1 passed, 0 failed"]);
    let record: Value =
        serde_json::from_str(&std::fs::read_to_string(dir.path().join("gateproof-report/record.json")).unwrap())
            .unwrap();
    assert_eq!(record["target"]["features"], features);
}

/// Reads one line, and has enough.
#[rstest]
#[case(&["list", "scenarios"])]
#[case(&["list", "requirements", "--format", "json"])]
#[case(&["list", "faults"])]
#[case(&["explain"])]
#[case(&["plan"])]
#[case(&["schema"])]
#[case(&["rbac"])]
#[case(&["lint", "--format", "json"])]
#[case(&["run", "tcproute-simple"])]
#[case(&["--help"])]
fn a_reader_who_leaves_is_no_failure(#[case] arguments: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (reader, out) = std::io::pipe().unwrap();
    let err = out.try_clone().unwrap();
    drop(reader);
    let status = process::gateproof(dir.path()).args(arguments).stdout(out).stderr(err).status().unwrap();
    assert_eq!(status.code(), Some(0), "{status}");
}

#[test]
fn what_cannot_be_printed_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = process::gateproof(dir.path()).args(["list", "scenarios"]).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write to standard output") && !said.contains("panicked"), "{said}");
}

/// What is of the chosen release alone is asked, what the definitions answer is not, and nobody takes it for a result at theirs.
#[test]
fn a_release_can_be_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let chosen = [
        "run",
        "--gateway-api-version",
        "1.6",
        "httproute-simple",
        "httproute-retry-as-it-came",
        "*-conditions-refused",
    ];
    let ended = run(dir.path(), &chosen);
    let definitions = "definitions are of v1.7.0 in the experimental channel";
    expect(
        &ended,
        0,
        &["1 of 4 scenarios", "Gateway API v1.6.0, chosen; its ", definitions, "1 passed, 0 failed, 3 not supported"],
    );
    let file = |name: &str| std::fs::read_to_string(dir.path().join("gateproof-report").join(name)).unwrap();
    assert!(file("conformance-report.yaml").contains("profiles: []"), "{}", file("conformance-report.yaml"));
    let record: Value = serde_json::from_str(&file("record.json")).unwrap();
    assert_eq!(record["target"]["gatewayApiVersion"], "v1.6.0");
    assert_eq!(record["target"]["definitions"], "v1.7.0 in the experimental channel");
    let reasons = record["scenarios"].as_array().unwrap().iter().filter_map(|scenario| scenario["reason"].as_str());
    let of_definitions = reasons.filter(|reason| reason.contains("asks whether a write is admitted"));
    assert_eq!(of_definitions.count(), 2);
}

/// What passed is run again where the contract alone was broken: nothing red turns green by it.
#[test]
fn a_broken_contract_stays_broken_when_it_is_run_again() {
    let dir = tempfile::tempdir().unwrap();
    let target = ["run", "--target", "embedded:observes-no-generation-of-listeners"];
    let broken = [&target[..], &["httproute-simple", "tcproute-simple"]].concat();
    expect(&run(dir.path(), &broken), 1, &["0 failed", "FAILED contract/"]);
    for _ in 0..2 {
        let again = run(dir.path(), &[&target[..], &["--rerun-failed", "gateproof-report"]].concat());
        expect(&again, 1, &["0 failed", "FAILED contract/"]);
    }
    let warned = [&broken[..], &["--contract", "warn"]].concat();
    expect(&run(dir.path(), &warned), 0, &["0 failed", "FAILED contract/"]);
    let again = run(dir.path(), &["run", "--rerun-failed", "gateproof-report"]);
    expect(&again, 0, &["nothing to run again"]);
}

#[test]
fn an_echo_says_where_it_listens() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = process::gateproof(dir.path());
    let mut echo = command.arg("echo").env("HTTP_PORT", "0").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(echo.stdout.take().unwrap()).read_line(&mut line).unwrap();
    process::signal(&echo, "INT");
    assert!(echo.wait().unwrap().success());
    let port = line.trim().strip_prefix("listens on 0.0.0.0:").and_then(|rest| rest.strip_suffix(" (Http)"));
    assert!(port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port > 0)), "{line}");
}

/// The embedded target of Azure Service Operator brings its own, and what means nothing to it is no option.
#[rstest]
#[case::fault(&["--target", "embedded:fatal-as-warnin"], &["there is no fault `fatal-as-warnin`", "did you mean `fatal-as-warning`?"])]
#[case::variant(&["--target", "embedded:variant:no-label"], &["there is no variant `no-label`", "did you mean `no-labels`?"])]
#[case::twice(&["--target", "embedded:no-deleting+no-deleting"], &["`no-deleting` is named twice"])]
#[case::definitions(&["--without-crd", "resourcegroups.resources.azure.com"], &["--without-crd means nothing"])]
#[case::service(&["--service", "arm=http://127.0.0.1:1"], &["--service means nothing"])]
#[case::class(&["--gateway-class", "mine"], &["--gateway-class mine means nothing in the dialect `aso`"])]
fn what_the_target_of_another_dialect_does_not_know_is_refused(#[case] given: &[&str], #[case] parts: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    expect(&run(dir.path(), &[&["run", "--dialect", "aso"][..], given].concat()), 2, parts);
}
#[test]
fn the_page_of_a_run_is_rendered_alike_again() {
    let dir = tempfile::tempdir().unwrap();
    let fault = "embedded:ignores-reference-grants";
    let ended = run(dir.path(), &["run", "httproute-missing-reference-grant", "httproute-simple", "--target", fault]);
    expect(&ended, 1, &["1 passed, 1 failed"]);
    let page = std::fs::read_to_string(dir.path().join("gateproof-report/report.html")).unwrap();
    let render = ["report", "render", "gateproof-report", "--as"];
    assert_eq!(run(dir.path(), &[&render[..], &["html"]].concat()).out, page);
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(data["verdict"]["text"], "1 of 2 scenarios failed, for one reason.");
    assert_eq!(data["causes"][0]["scenarios"], serde_json::json!(["httproute-missing-reference-grant"]));
    for name in ["httproute-missing-reference-grant", "httproute-simple"] {
        let evidence = &data["evidence"][name];
        for part in ["steps", "writes", "objects"] {
            assert!(!evidence[part].as_array().unwrap().is_empty(), "{name} {part}");
        }
    }
    let news = run(dir.path(), &[&render[..], &["html", "--baseline", "gateproof-report"]].concat());
    assert!(news.out.contains("\"news\":{\"runs\":[1,1]"), "{}", news.said());
    let other = run(dir.path(), &[&render[..], &["text", "--baseline", "gateproof-report"]].concat());
    expect(&other, 2, &["nothing but the page shows news against a baseline", "add --as html"]);
}

/// Of a feature that came with v1.5 a list of v1.4 says nothing: who does without may have it all the same, as this target does.
#[rstest]
#[case::of_now(&["--features", "Gateway,TLSRoute"], "")]
#[case::with_it(&["--features", "Gateway,TLSRoute", "--features-as-of", "1.5"], "")]
#[case::before_it(&["--features", "Gateway,TLSRoute", "--features-as-of", "1.4"], "v1.4.0")]
#[case::a_report_with_it(&["--features-from", "v1.5.1"], "")]
#[case::a_report_before_it(&["--features-from", "v1.4.1"], "v1.4.1")]
fn who_lists_features_as_of_a_release_is_blamed_for_no_newer_ones(#[case] listed: &[&str], #[case] release: &str) {
    let dir = tempfile::tempdir().unwrap();
    for release in ["v1.4.1", "v1.5.1"] {
        let report = format!(
            "apiVersion: gateway.networking.k8s.io/v1\nkind: ConformanceReport\ndate: '2026-01-01'\ngatewayAPIVersion: {release}\n\
             implementation: {{organization: a, project: b, url: 'https://b.example', version: v1, contact: [c]}}\n\
             profiles: [{{name: GATEWAY-TLS, core: {{result: success, statistics: {{Passed: 1, Failed: 0, Skipped: 0}}}}}}]\n"
        );
        write(dir.path(), release, &report);
    }
    let name = "tlsroute-terminate-not-supported";
    let words = ["run", name, "--target", "embedded:variant:claims-core-alone", "--impatient"];
    let ended = run(dir.path(), &[&words[..], listed].concat());
    let record = std::fs::read_to_string(dir.path().join("gateproof-report/record.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    let scenario = &record["scenarios"][0];
    if release.is_empty() {
        expect(&ended, 1, &["0 passed, 1 failed"]);
        assert_eq!(scenario["outcome"], "failed");
    } else {
        // Nothing was tested.
        expect(&ended, 3, &["0 passed, 0 failed, 1 not supported"]);
        let why = format!(
            "it is about who does without the feature TLSRouteModeTerminate, of which a list of features of {release} says nothing"
        );
        assert_eq!(scenario["reason"], why);
    }
}

/// A row that does not hold goes, what its fault lacks then comes, and nothing else changes.
#[test]
fn the_program_keeps_the_table_of_what_shows_each_fault() {
    let dir = tempfile::tempdir().unwrap();
    let kept = include_str!("../src/kill/shown_by.yaml");
    let row = "  - httproute-unknown-port steps[1].settle.HTTPRoute/route.Accepted.status\n";
    let (fault, wrong) = ("accepts-gateways-of-conflicts-alone", "httproute-simple steps[2].probe.status");
    let block = kept.split_once(&format!("{fault}:\n")).unwrap().1.lines().take_while(|line| line.starts_with("  - "));
    let block = block.map(|line| format!("{line}\n")).collect::<String>();
    let own = block.lines().map(|line| line.trim_start_matches("  - ")).collect::<Vec<_>>();
    let table = || std::fs::read_to_string(dir.path().join("table.yaml")).unwrap();
    let made = || run(dir.path(), &["faults", fault, "--table", "--write", "table.yaml"]);
    write(dir.path(), "table.yaml", kept);
    expect(&made(), 0, &["table.yaml: faults looked at: 1, rows put in: 0, taken out: 0"]);
    assert!(table() == kept);
    let spoilt = kept.replacen(&block, &format!("  - {wrong}\n"), 1);
    write(dir.path(), "table.yaml", &spoilt);
    let ended = made();
    expect(&ended, 0, &[&format!("- {fault}: {wrong}"), &format!("+ {fault}: "), "taken out: 1"]);
    let after = table();
    assert!(after.contains(row) && !after.contains(&format!("{fault}:\n  - {wrong}")), "{}", ended.said());
    // What shows it may be another one of several, and the rest is as it was.
    let without = |text: &str| {
        let (before, rest) = text.split_once(&format!("{fault}:\n")).unwrap();
        format!("{before}{}", rest.trim_start_matches(|c| c != '\n').trim_start_matches('\n'))
    };
    assert_eq!(own.len(), 1, "this fault is for a table of one row");
    assert!(without(&after) == without(kept), "{}", ended.said());
    expect(&made(), 0, &["rows put in: 0, taken out: 0"]);
    assert!(table() == after);

    let refused = |file: &str, text: &str, parts: &[&str]| {
        write(dir.path(), file, text);
        expect(&run(dir.path(), &["faults", fault, "--table", "--write", file]), 2, parts);
        assert_eq!(std::fs::read_to_string(dir.path().join(file)).unwrap(), text);
    };
    let aso = include_str!("../src/kill/shown_by/aso.yaml");
    refused("aso.yaml", aso, &["aso.yaml: line", "there is no fault", "nothing was run, and nothing written"]);
    refused("empty", "", &["empty: its first comment does not say that `gateproof faults --table` prints it"]);
    refused("notes.md", "# Notes\n\nOf mine.\n", &["notes.md: line 2: an empty line is neither a comment"]);
    let words = ["faults", fault, "--write", "table.yaml"];
    expect(&run(dir.path(), &words), 2, &["--table"]);
    expect(
        &run(dir.path(), &["faults", fault, "--table", "--write", "nothing.yaml"]),
        2,
        &["cannot read nothing.yaml"],
    );
}
