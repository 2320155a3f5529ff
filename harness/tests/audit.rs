//! What is made of recorded runs: the parts of one put together, an account of every clause, and whether reports are those of their log.
#![allow(clippy::unwrap_used)]

mod process;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

use gateproof_report::record::{Outcome, RunRecord, ScenarioRecord};
use process::{Ended, expect, run};
use rstest::rstest;
use serde_json::{Value, json};

/// Three scenarios that pass, one that fails under the fault, and one that is not supported without its feature.
const RUN: [&str; 9] = [
    "run",
    "httproute-simple",
    "httproute-missing-backend",
    "httproute-missing-reference-grant",
    "tcproute-simple",
    "gateway-accepted",
    "--target",
    "embedded:ignores-reference-grants",
    "--features=Gateway,HTTPRoute,ReferenceGrant",
];

/// Runs these words, with more of them.
fn with(dir: &Path, words: &[&str], more: &[&str]) -> Ended {
    run(dir, &[words, more].concat())
}

fn record(dir: &Path) -> RunRecord {
    serde_json::from_str(&fs::read_to_string(dir.join("record.json")).unwrap()).unwrap()
}

/// Without times, and what depends on them or on names of one run.
fn timeless(record: RunRecord) -> RunRecord {
    let mut record = RunRecord { date: String::new(), duration_ms: 0, ..record };
    for scenario in &mut record.scenarios {
        scenario.duration_ms = 0;
        scenario.stages.clear();
        scenario.probes.clear();
        for finding in &mut scenario.findings {
            finding.at_ms = 0;
            finding.seen.clear();
            finding.expected.clear();
        }
    }
    for rule in &mut record.contract {
        // The class and the Gateways of the pool are watched in each part.
        rule.objects = rule.objects.min(1);
        for breach in &mut rule.breaches {
            (breach.seq, breach.object) = (0, String::new());
        }
    }
    record
}

/// A ConformanceReport without its date.
fn conformance(dir: &Path) -> String {
    let text = fs::read_to_string(dir.join("conformance-report.yaml")).unwrap();
    text.lines().filter(|line| !line.starts_with("date:")).collect::<Vec<_>>().join("\n")
}

/// What a page shows.
fn shown(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

fn states(account: &Value) -> Vec<(String, Value)> {
    let rows = account["clauses"].as_array().unwrap();
    rows.iter().map(|row| (row["id"].as_str().unwrap().to_owned(), row["of"][0]["state"].clone())).collect()
}

fn account(dir: &Path, reports: &str) -> Value {
    let ended = run(dir, &["report", "requirements", reports, "--upstream", "--blind", "--as", "json"]);
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {}", ended.said()))
}

/// Writes the reports of a run of that many scenarios, all of them copies of what ran in `r`, one after the other.
fn copied(dir: &Path, count: usize) {
    let (from, to) = (dir.join("r"), dir.join("copies"));
    fs::create_dir_all(&to).unwrap();
    let text = fs::read_to_string(from.join("events.jsonl")).unwrap();
    let scope = |name: &str| format!("\"scope\":{{\"scenario\":\"{name}\"}}");
    let (own, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.contains("\"scope\":{\"scenario\":"));
    let mut log = BufWriter::new(fs::File::create(to.join("events.jsonl")).unwrap());
    let mut seq = 0;
    let mut put = |line: &str| {
        let (_, after) = line.split_once(',').unwrap();
        writeln!(log, "{{\"seq\":{seq},{after}").unwrap();
        seq += 1;
    };
    let (end, before) = rest.split_last().unwrap();
    before.iter().for_each(|line| put(line));
    let mut whole = record(&from);
    let ran: Vec<ScenarioRecord> =
        whole.scenarios.into_iter().filter(|one| one.outcome != Outcome::NotSupported).collect();
    whole.scenarios = Vec::new();
    for (number, one) in ran.iter().cycle().take(count).enumerate() {
        let (was, name) = (scope(&one.name), format!("{}-{number:05}", one.name));
        own.iter().filter(|line| line.contains(&was)).for_each(|line| put(&line.replacen(&was, &scope(&name), 1)));
        whole.scenarios.push(ScenarioRecord { name, ..one.clone() });
    }
    put(end);
    log.flush().unwrap();
    fs::write(to.join("record.json"), serde_json::to_string(&whole).unwrap()).unwrap();
}

/// The page of these copies, and the seconds of work that it took, however busy the machine is.
fn rendered(dir: &Path, to: &str) -> (String, f64) {
    let program = std::env::var_os("GATEPROOF").unwrap_or_else(|| env!("CARGO_BIN_EXE_gateproof").into());
    let line = "TIMEFORMAT='%U %S'; time \"$0\" report render copies --as html > \"$1\"";
    let ended = Command::new("bash").args(["-c", line]).arg(program).arg(to).current_dir(dir).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{said}");
    let seconds = said.split_whitespace().map(|one| one.parse::<f64>().unwrap()).sum();
    (fs::read_to_string(dir.join(to)).unwrap(), seconds)
}

#[test]
fn parts_that_are_put_together_are_as_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    expect(&with(dir, &RUN, &["--report-dir", "whole"]), 1, &["3 passed, 1 failed, 1 not supported"]);
    for part in ["1", "2", "3"] {
        let ended = with(dir, &RUN, &["--shard", &format!("{part}/3"), "--report-dir", part]);
        assert!(matches!(ended.code, Some(0 | 1 | 3)), "{}", ended.said());
    }
    let merged = run(dir, &["report", "merge", "3", "1", "2", "--report-dir", "merged", "--baseline", "whole"]);
    expect(&merged, 1, &["FAILED httproute-missing-reference-grant", "3 passed, 1 failed, 1 not supported"]);

    let (whole, together) = (record(&dir.join("whole")), record(&dir.join("merged")));
    assert_eq!(timeless(together.clone()), timeless(whole.clone()));
    assert_eq!(conformance(&dir.join("merged")), conformance(&dir.join("whole")));
    let [digests, of_whole] = [together, whole].map(|record| record.digests.unwrap());
    assert_eq!((digests.manifests.len(), &digests), (5, &of_whole));
    for file in ["junit.xml", "summary.md", "report.html", "failures/httproute-missing-reference-grant/failure.txt"] {
        assert!(dir.join("merged").join(file).is_file(), "{file}");
    }
    // What was seen in each part is in the page, which can be made again.
    let page = |of: &str| fs::read_to_string(dir.join(of).join("report.html")).unwrap();
    let [whole, merged] = ["whole", "merged"].map(|of| shown(&page(of)));
    let names = |page: &Value| page["evidence"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((names(&merged), names(&whole).len()), (names(&whole), 4));
    assert!(merged["evidence"].as_object().unwrap().values().all(|one| !one["objects"].as_array().unwrap().is_empty()));
    assert_eq!(merged["news"]["runs"], json!([1, 1]));
    let render = ["report", "render", "merged", "--as", "html", "--baseline", "whole"];
    assert!(run(dir, &render).out == page("merged"));
    assert_eq!(states(&account(dir, "merged")), states(&account(dir, "whole")));
    let traced = |of: &str| {
        let trace: Value = serde_json::from_str(&run(dir, &["report", "trace", of]).out).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "scenario");
        events.map(|event| event["name"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!((traced("merged"), traced("whole").len()), (traced("whole"), 4));
    let part = dir.join("merged/events-2-of-3.jsonl");
    let text = fs::read_to_string(&part).unwrap();
    fs::write(&part, text.replacen("\"date\":\"20", "\"date\":\"21", 1)).unwrap();
    expect(&run(dir, &["report", "trace", "merged"]), 2, &["events-2-of-3.jsonl: the log is of another run"]);
    fs::write(&part, text).unwrap();
    let replayed = run(dir, &["replay", "merged"]);
    expect(&replayed, 2, &["merged was put together of 3 parts", "name the log of one"]);
    // Lines are broken wherever they are full.
    let said: String = replayed.said().split_whitespace().collect();
    assert!(
        said.contains("merged/events-1-of-3.jsonl,merged/events-2-of-3.jsonl,merged/events-3-of-3.jsonl"),
        "{said}"
    );
    for reports in ["whole", "merged", "1"] {
        expect(&run(dir, &["report", "verify", reports]), 0, &["same"]);
    }

    let merge = |dirs: &[&str]| run(dir, &[&["report", "merge", "--report-dir", "bad"], dirs].concat());
    expect(&merge(&["1", "3"]), 2, &["part 2/3 is missing"]);
    expect(&merge(&["1", "2", "1", "3"]), 2, &["part 1/3 is there twice: 1 and 1"]);
    expect(&merge(&["whole"]), 2, &["whole is no part of a run"]);
    let other = ["run", "httproute-simple", "tcproute-simple", "gateway-accepted"];
    with(dir, &other, &["--shard", "2/3", "--report-dir", "other"]);
    expect(&merge(&["1", "other", "3"]), 2, &["other is no part of the run that 1 is of: its target is embedded, not"]);
    assert!(!dir.join("bad").exists());
    let own = run(dir, &["report", "merge", "1", "2", "3", "--report-dir", "2"]);
    expect(&own, 2, &["2 is a part, and its reports would be taken away"]);
}

/// The run before may be the one whose reports are taken away.
#[test]
fn a_page_begins_with_what_is_news() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let words = ["run", "httproute-missing-reference-grant", "--report-dir", "r"];
    expect(&with(dir, &words, &[]), 0, &["1 passed"]);
    let fault = ["--target", "embedded:ignores-reference-grants", "--baseline", "r"];
    expect(&with(dir, &words, &fault), 1, &["1 failed"]);
    let file = dir.join("r/report.html");
    let page = fs::read_to_string(&file).unwrap();
    let news = &shown(&page)["news"]["scenarios"][0];
    assert_eq!(
        (&news["scenario"], &news["change"]),
        (&json!("httproute-missing-reference-grant"), &json!("newlyFailing"))
    );
    // No log has that, and the rest of the page is held against it all the same.
    let verify = || run(dir, &["report", "verify", "r"]);
    expect(&verify(), 0, &["report.html begins with news against a baseline"]);
    let tone = "\"tone\":\"failed\"";
    assert!(page.contains(tone));
    fs::write(&file, page.replacen(tone, "\"tone\":\"passed\"", 1)).unwrap();
    expect(&verify(), 1, &["report.html: edited"]);
    // What is no run of the same dialect is refused before one begins.
    let aso = ["run", "aso-credential-missing", "--dialect", "aso", "--baseline", "r", "--report-dir", "other"];
    expect(&run(dir, &aso), 2, &["r: a run of the dialect gateway-api, and this one is of aso"]);
    assert!(!dir.join("other").exists());
    // If that is asked for, it is judged by itself.
    let told = ["the run before is of the dialect gateway-api, so this one of aso is judged by itself", "1 passed"];
    expect(&run(dir, &[&aso[..], &["--if-same-dialect"]].concat()), 0, &told);
    // So is a page that is made again, and one that was to be held against it.
    let render = ["report", "render", "r", "--as", "html", "--baseline", "other"];
    expect(&run(dir, &render), 2, &["other: a run of the dialect aso, and this one is of gateway-api"]);
    let rendered = run(dir, &[&render[..], &["--if-same-dialect"]].concat());
    expect(&rendered, 0, &["the run before is of the dialect aso, so this one of gateway-api is judged by itself"]);
    assert_eq!(shown(&rendered.out)["news"], Value::Null);
}

/// Nothing about the runs before keeps anything from being tested, if that is asked for, and what can be read of them is used.
#[test]
fn a_baseline_that_is_optional_stands_in_no_way() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let test = |more: &[&str], said: &[&str]| {
        let words = ["run", "httproute-missing-reference-grant", "--baseline-optional", "--baseline"];
        let ended = with(dir, &words, more);
        expect(&ended, ended.code.unwrap(), said);
        let page = fs::read_to_string(dir.join("gateproof-report/report.html")).unwrap();
        let news = shown(&page)["news"].clone();
        (ended.code, news["runs"][0].as_u64(), news["scenarios"][0]["change"].as_str().map(str::to_owned))
    };
    let alone = (Some(0), None, None);
    assert_eq!(test(&["none"], &["cannot read none: ", "so this run of gateway-api is judged by itself"]), alone);
    fs::create_dir(dir.join("runs")).unwrap();
    let told = ["runs: there is no record of a run, so this run of gateway-api is judged by itself"];
    assert_eq!(test(&["runs"], &told), alone);
    for name in ["one", "two"] {
        fs::create_dir(dir.join("runs").join(name)).unwrap();
        fs::write(dir.join("runs").join(name).join("record.json"), "{").unwrap();
    }
    let told =
        ["runs/one/record.json: not a run record: ", ", and 1 more, so this run of gateway-api is judged by itself"];
    assert_eq!(test(&["runs"], &told), alone);
    fs::copy(dir.join("gateproof-report/record.json"), dir.join("runs/two/record.json")).unwrap();
    let fault = ["--target", "embedded:ignores-reference-grants"];
    let told = ["left out of the runs before this one of gateway-api: runs/one/record.json: not a run record"];
    let newly = || Some("newlyFailing".to_owned());
    assert_eq!(test(&[&["runs"], &fault[..]].concat(), &told), (Some(1), Some(1), newly()));
    // Of two that differ it is neither the one nor the other, and of these alone the green one counts.
    fs::copy(dir.join("gateproof-report/record.json"), dir.join("runs/one/record.json")).unwrap();
    let flaky = Some("wasFlaky".to_owned());
    assert_eq!(test(&[&["runs"], &fault[..]].concat(), &[]), (Some(1), Some(2), flaky));
    assert_eq!(test(&[&["runs", "--last-green"], &fault[..]].concat(), &[]), (Some(1), Some(1), newly()));
    let strict =
        with(dir, &["report", "render", "gateproof-report", "--as", "html"], &["--baseline", "runs", "--last-green"]);
    assert_eq!(shown(&strict.out)["news"]["scenarios"][0]["change"], "newlyFailing");
    // Those of another dialect are none, and those of several are found by theirs.
    let aso = [
        "run",
        "aso-azure-name-missing",
        "--dialect",
        "aso",
        "--report-dir",
        "night",
        "--baseline-optional",
        "--baseline",
    ];
    let told = ["the run before is of the dialect gateway-api, so this one of aso is judged by itself", "1 passed"];
    expect(&with(dir, &aso, &["runs"]), 0, &told);
    fs::create_dir_all(dir.join("runs/three/aso")).unwrap();
    fs::copy(dir.join("night/record.json"), dir.join("runs/three/aso/record.json")).unwrap();
    for more in [&["runs"][..], &["runs", "--last-green"]] {
        expect(&with(dir, &aso, more), 0, &["1 passed"]);
        let page = fs::read_to_string(dir.join("night/report.html")).unwrap();
        assert_eq!(shown(&page)["news"]["runs"], json!([1, 1]));
    }
    let several = ["run", "aso-azure-name-missing", "--dialect", "kuadrant,aso", "--report-dir", "night"];
    expect(&with(dir, &several, &["--baseline-optional", "--baseline", "runs"]), 0, &["1 passed"]);
    let page = fs::read_to_string(dir.join("night/aso/report.html")).unwrap();
    assert_eq!(shown(&page)["news"]["runs"], json!([1, 1]));
    expect(&with(dir, &["run"], &["--last-green"]), 2, &["--baseline"]);
}

/// Ten times the scenarios may cost twelve times the work, and whenever a page is made of a log it is the same. `GATEPROOF` names a
/// release. Copies of what was seen of one run stand for many scenarios: the renderer takes no notice of what is alike.
#[test]
#[ignore = "takes minutes; nightly: cargo test -p gateproof --test audit -- --ignored --nocapture"]
fn a_page_costs_as_much_as_its_run_has() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    expect(&with(dir, &RUN, &["--report-dir", "r"]), 1, &["1 failed"]);
    let costs = [1_000, 10_000].map(|count| {
        copied(dir, count);
        let [(page, one), (again, other)] = ["one.html", "other.html"].map(|to| rendered(dir, to));
        assert!(page == again);
        f64::min(one, other)
    });
    println!("1,000 scenarios: {:.1} s, 10,000: {:.1} s, {:.1} times as much", costs[0], costs[1], costs[1] / costs[0]);
    assert!(costs[1] < 12.0 * costs[0]);
}

#[test]
fn no_part_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(folder.path(), &["run", "httproute-simple", "--shard", "1/2"]);
    expect(&ended, 2, &["1 scenario is selected", "name at most 1 part; nothing was applied"]);
    expect(&run(folder.path(), &["run", "--shard", "3/2"]), 2, &["`3/2` is no part of several, such as 2/4"]);
}

#[test]
fn every_clause_is_accounted_for() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let ended = with(dir, &RUN, &["--skip", "gateway-accepted=later", "--report-dir", "red"]);
    expect(&ended, 1, &["1 failed"]);
    with(dir, &["run", "httproute-missing-reference-grant"], &["--report-dir", "green"]);
    let red = account(dir, "red");
    let of = |account: &Value, id: &str| {
        let row = account["clauses"].as_array().unwrap().iter().find(|row| row["id"] == id).cloned();
        row.unwrap_or_else(|| panic!("no {id}"))["of"][0].clone()
    };
    let failed = record(&dir.join("red"));
    let failed = failed.scenarios.iter().find(|one| one.outcome == Outcome::Failed).unwrap();
    let finding = &failed.findings[0];
    for clause in &finding.clauses {
        let cell = of(&red, clause);
        assert_eq!(cell["state"], json!("broken"), "{clause}: {cell}");
        let evidence = &cell["missed"][0];
        assert_eq!(evidence["scenario"], json!(failed.name));
        assert_eq!(evidence["expectation"], json!(finding.expectation));
        assert_eq!((&evidence["expected"], &evidence["seen"]), (&json!(finding.expected), &json!(finding.seen)));
        assert_eq!(of(&account(dir, "green"), clause)["state"], json!("held"), "{clause}");
    }
    assert_eq!(of(&red, "upstream:HTTPRouteSimpleSameNamespace")["state"], json!("held"));
    let unclaimed = of(&red, "upstream:TCPRouteWeightedRouting");
    assert_eq!(unclaimed["state"], json!("notApplicable"), "{unclaimed}");
    assert_eq!(unclaimed["notApplicable"][0]["reason"], json!("feature TCPRoute not claimed"));
    let skipped = of(&red, "GEP1364-40");
    assert_eq!(skipped["notSeen"][0]["reason"], json!("it was not selected"), "{skipped}");
    let text = run(dir, &["report", "requirements", "red", "--state", "broken"]);
    expect(&text, 0, &["broken, ", "expected", "saw"]);
    assert!(!text.out.contains("\nheld, "), "{}", text.out);
    let both = run(dir, &["report", "requirements", "red", "green"]);
    expect(&both, 0, &["≠", "differ"]);
    expect(&run(dir, &["report", "requirements", "red/record.json"]), 2, &["red/record.json is no directory"]);
}

#[test]
fn what_was_edited_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    expect(&with(dir, &RUN, &["--report-dir", "r"]), 1, &["1 failed"]);
    let verify = || run(dir, &["report", "verify", "r"]);
    expect(&verify(), 0, &["same"]);
    let path = |name: &str| dir.join("r").join(name);
    let edit = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(path(name)).unwrap();
        assert!(text.contains(from), "{name}: {text}");
        fs::write(path(name), text.replacen(from, to, 1)).unwrap();
        let found = verify();
        fs::write(path(name), text).unwrap();
        found
    };
    expect(
        &edit("record.json", "\"failed\"", "\"passed\""),
        1,
        &["record.json: edited, line", "log: \"outcome\": \"failed\""],
    );
    expect(&edit("summary.md", "1 failed", "0 failed"), 1, &["summary.md: edited, line"]);
    expect(&edit("junit.xml", "failures=\"1\"", "failures=\"0\""), 1, &["junit.xml: edited, line"]);
    expect(&edit("conformance-report.yaml", "failure", "success"), 1, &["conformance-report.yaml: edited, line"]);
    expect(&edit("report.html", "failed", "passed"), 1, &["report.html: edited, line"]);
    let evidence = "failures/httproute-missing-reference-grant/writes.jsonl";
    expect(&edit(evidence, "wrote", "write"), 1, &[&format!("{evidence}: edited, line 1")]);
    // A digest says of what the run was, and nothing else.
    let suite = record(&dir.join("r")).digests.unwrap().suite;
    expect(&edit("record.json", &suite, &suite.replace('a', "b")), 1, &["record.json: edited"]);

    fs::remove_file(path("junit.xml")).unwrap();
    fs::write(path("notes.txt"), "mine").unwrap();
    expect(&verify(), 1, &["junit.xml: missing", "notes.txt: foreign"]);
    // What no longer comes to an end cannot be judged.
    let log = fs::read_to_string(path("events.jsonl")).unwrap();
    fs::write(path("events.jsonl"), log.lines().take(20).collect::<Vec<_>>().join("\n")).unwrap();
    expect(&verify(), 2, &["the log was not closed"]);
}

/// Logs as versions before wrote them, all of `case.yaml`: whoever changes what is in a log adds one.
#[rstest]
#[case::before_dialects("before-dialects", false)]
#[case::before_digests("before-digests", false)]
#[case::with_digests("with-digests", true)]
fn logs_of_every_format_stay_readable(#[case] name: &str, #[case] says_what_did_not_run: bool) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs");
    fs::create_dir(dir.join("r")).unwrap();
    fs::copy(from.join("case.yaml"), dir.join("case.yaml")).unwrap();
    for file in ["events.jsonl", "record.json"] {
        fs::copy(from.join(name).join(file), dir.join("r").join(file)).unwrap();
    }
    let of_case = |words: &[&str]| run(dir, &[words, &["-f", "case.yaml"]].concat());
    expect(&of_case(&["replay", "r"]), 0, &["1 passed, 0 failed"]);
    let account = of_case(&["report", "requirements", "r", "--as", "json"]);
    let account: Value = serde_json::from_str(&account.out).unwrap();
    assert!(states(&account).contains(&("GEP1364-47".to_owned(), json!("held"))), "{account}");
    // What is not there is made of the log all the same, and found missing.
    let verified = of_case(&["report", "verify", "r"]);
    expect(&verified, 1, &["junit.xml: missing"]);
    let says = !verified.out.contains("does not say which scenarios did not run");
    assert_eq!(says, says_what_did_not_run, "{}", verified.out);
}
