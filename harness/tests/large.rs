//! HTTPProxies as large as anybody makes them: a run of them passes within its budgets and in bounded memory, and its reports stay small.
//!
//! A fifth of the includes; all of them with `GATEPROOF_FULL=1`, as nightly does.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod process;

use std::fmt::Write;
use std::process::Command;

use process::{Ended, expect};
use rstest::rstest;

/// Memory that a run, its target and its API server may have together, in KiB.
const MEMORY: u64 = 1024 * 1024;

/// The most that a report may take, in bytes.
const REPORT: u64 = 8 * 1024 * 1024;

/// A route to the backend of the scenario.
const ROUTE: &str = "{services: [{name: echo, port: 8080}]}";

fn object(name: &str, spec: &str) -> String {
    format!(
        "        - {{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {{name: {name}}}, spec: {{{spec}}}}}\n"
    )
}

/// A root, and what it leads to.
fn root(spec: &str) -> String {
    object("proxy", &format!("virtualhost: {{fqdn: \"${{host}}\"}}, {spec}"))
}

/// A chain of includes of this length.
fn chain(length: usize) -> (String, String) {
    let mut objects = root("includes: [{name: link-1}]");
    for index in 1..length {
        let next = index + 1;
        objects += &object(
            &format!("link-{index}"),
            &format!("includes: [{{name: link-{next}, conditions: [{{prefix: /a}}]}}]"),
        );
    }
    objects += &object(&format!("link-{length}"), &format!("routes: [{ROUTE}]"));
    (objects, format!("link-{length}"))
}

/// So many includes of one root.
fn many(count: usize) -> (String, String) {
    let includes: Vec<String> =
        (0..count).map(|index| format!("{{name: child-{index}, conditions: [{{prefix: /{index}}}]}}")).collect();
    let mut objects = root(&format!("includes: [{}]", includes.join(", ")));
    for index in 0..count {
        objects += &object(&format!("child-{index}"), &format!("routes: [{ROUTE}]"));
    }
    (objects, format!("child-{}", count - 1))
}

/// A route with 64 KiB of conditions.
fn conditions() -> (String, String) {
    let mut list = String::from("{prefix: /}");
    let mut index = 0;
    while list.len() < 64 * 1024 {
        index += 1;
        write!(list, ", {{header: {{name: x-header-{index}, notexact: a value, treatMissingAsEmpty: true}}}}").unwrap();
    }
    (root(&format!("routes: [{{conditions: [{list}], services: [{{name: echo, port: 8080}}]}}]")), "proxy".to_owned())
}

/// Objects are applied, the last of them is said to be valid, and a path of the host is served.
fn scenario((objects, last): &(String, String), path: &str) -> String {
    format!(
        "apiVersion: gateproof.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: large}}\nspec:\n  summary: It is large.\n  features: []\n  \
         backends: [echo]\n  steps:\n    - apply:\n{objects}    - settle:\n        HTTPProxy/{last}: {{Valid: \"True/Valid\"}}\n      \
         proves: [HTTPPROXY-02]\n    - probe: {{get: \"http://${{host}}{path}\", via: HTTPProxy/proxy, expect: {{backend: echo}}}}\n      proves: [HTTPPROXY-49]\n"
    )
}

#[rstest]
#[case::a_chain(chain(100), &"/a".repeat(99))]
#[case::many_includes(many(if std::env::var_os("GATEPROOF_FULL").is_some() { 1000 } else { 200 }), "/7")]
#[case::many_conditions(conditions(), "/")]
fn what_is_large_takes_bounded_time_and_memory(#[case] large: (String, String), #[case] path: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("large.yaml"), scenario(&large, path)).unwrap();
    let words = ["run", "--dialect", "contour", "-f", "large.yaml", "--report-dir", "report"];
    let limited = format!("ulimit -d {MEMORY}; exec \"$0\" \"$@\"");
    let mut command = Command::new("bash");
    command.current_dir(folder.path()).env_remove("KUBECONFIG").env("HOME", folder.path()).env("NO_COLOR", "1");
    let output = command.args(["-c", &limited, env!("CARGO_BIN_EXE_gateproof")]).args(words).output().unwrap();
    let ended = Ended {
        code: output.status.code(),
        signal: std::os::unix::process::ExitStatusExt::signal(&output.status),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    expect(&ended, 0, &["1 passed"]);
    for report in ["record.json", "report.html", "summary.md", "junit.xml"] {
        let size = std::fs::metadata(folder.path().join("report").join(report)).unwrap().len();
        assert!(size > 0 && size <= REPORT, "{report} has {size} bytes");
    }
}
