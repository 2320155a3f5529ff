//! Everything that programs read has a schema, which real output meets and anything else does not.
#![allow(clippy::unwrap_used)]

mod process;

use std::path::Path;

use process::{TestbedProcess, run};
use serde_json::{Value, json};

/// What is wrong with a manifest, for `lint` to say.
const BAD: &str = include_str!("cli/base.yaml");
/// A run with a failure, a broken contract, a TCP probe and a mirror.
const RUN: [&str; 7] = [
    "run",
    "--target",
    "embedded:ignores-reference-grants",
    "httproute-missing-backend",
    "httproute-missing-reference-grant",
    "httproute-mirror",
    "tcproute-simple",
];

/// Keys whose values somebody else shapes, or that map names to values: whatever stands there is no field of ours.
const OPEN: [&str; 17] = [
    "object",
    // Of several dialects: it has a schema of its own.
    "document",
    "sent",
    "echo",
    "patch",
    "kills",
    "manifests",
    "counts",
    "profiles",
    "namespaces",
    "hosts",
    "gateways",
    "backends",
    "names",
    "ports",
    "labels",
    "metadata",
];

fn json_of(dir: &Path, arguments: &[&str]) -> Value {
    let ended = run(dir, arguments);
    assert!(!ended.said().contains("panicked"), "{}", ended.said());
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", ended.said()))
}

fn file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Real output of every kind that a subject describes; `None` for a subject that is shown elsewhere.
fn documents(dir: &Path, testbed: &TestbedProcess, subject: &str) -> Option<Vec<Value>> {
    let list = |what| vec![json_of(dir, &["list", what, "--format", "json"])];
    Some(match subject {
        // By the tests of the parser, over every manifest.
        "manifest" => return None,
        "known-failures" => vec![json!({
            "apiVersion": "gateproof.dev/v1alpha1",
            "kind": "KnownFailures",
            "failures": [{"scenario": "a", "expectation": "b", "contract": "c", "reason": "d", "expires": "2027-01-31"}],
        })],
        // By a unit test.
        "faults-proof" | "faults-variants" => return None,
        "events" => {
            file(&dir.join("gateproof-report/events.jsonl")).lines().map(|l| serde_json::from_str(l).unwrap()).collect()
        }
        "record" => vec![
            serde_json::from_str(&file(&dir.join("gateproof-report/record.json"))).unwrap(),
            json_of(dir, &["replay", "gateproof-report", "--format", "json"]),
            json_of(dir, &["report", "render", "gateproof-report", "--as", "json"]),
        ],
        "plan" => vec![json_of(dir, &["plan", "--format", "json", "--skip", "tcproute-*", "--features", "Gateway"])],
        "plan-compare" => vec![json_of(dir, &["plan", "--compare", "v1.6,v1.7", "--format", "json"])],
        "replay-at" => {
            let at = ["replay", "gateproof-report", "--gateway-api-version", "v1.6", "--format", "json"];
            vec![json_of(dir, &at)]
        }
        "preflight" => vec![
            json_of(dir, &["preflight", "--format", "json", "tcproute-simple"]),
            json_of(dir, &["preflight", "--format", "json", "--dial", "*:*=127.0.0.1:1"]),
        ],
        "list-scenarios" => list("scenarios"),
        "list-features" => list("features"),
        "list-profiles" => list("profiles"),
        "list-requirements" => list("requirements"),
        "list-faults" => list("faults"),
        "list-variants" => list("variants"),
        "explain" => vec![json_of(dir, &["explain", "--format", "json"])],
        "lint" => {
            std::fs::write(dir.join("bad.yaml"), BAD.replacen("parentRefs:", "parentRef:", 1)).unwrap();
            vec![json_of(dir, &["lint", "bad.yaml", "--format", "json"])]
        }
        "faults" => vec![json_of(dir, &["faults", "ignores-reference-grants", "--format", "json"])],
        "testbed" => vec![testbed.served.clone()],
        "report-lint" => {
            let report = "gateproof-report/conformance-report.yaml";
            vec![json_of(dir, &["report", "lint", report, "--format", "json"])]
        }
        "report-compare" => {
            let report = "gateproof-report/conformance-report.yaml";
            vec![json_of(dir, &["report", "compare", "gateproof-report", report, "--format", "json"])]
        }
        "report-diagnose" => {
            let fault = ["run", "httproute-grant-for-one-of-two", "--target", "embedded:ignores-reference-grants"];
            run(dir, &[&fault[..], &["--report-dir", "red"]].concat());
            let of = |reports| json_of(dir, &["report", "diagnose", reports, "--format", "json"]);
            vec![of("red"), of("gateproof-report")]
        }
        "report-badge" => vec![json_of(dir, &["report", "badge", "gateproof-report", "--as", "json"])],
        "report-diff" => {
            let gate = "--gate=new-failures,at-least=1";
            let words = ["report", "diff", "gateproof-report", "gateproof-report", gate, "--format", "json"];
            vec![json_of(dir, &words)]
        }
        "report-matrix" => {
            // Of somebody else, and with what has to be tolerated, so that every kind of entry is there.
            let report = file(&dir.join("gateproof-report/conformance-report.yaml"));
            let other = report.replace("organization: gateproof", "organization: other").replace("standard", "both");
            std::fs::create_dir_all(dir.join("reports")).unwrap();
            std::fs::write(dir.join("reports/one.yaml"), report).unwrap();
            std::fs::write(dir.join("reports/other.yaml"), other.replace("experimental", "both")).unwrap();
            std::fs::write(dir.join("reports/pod.yaml"), "kind: Pod\n").unwrap();
            vec![json_of(dir, &["report", "matrix", "reports", "--as", "json"])]
        }
        "report-trend" => vec![json_of(dir, &["report", "trend", "gateproof-report", "--as", "json"])],
        "report-requirements" => vec![json_of(dir, &["report", "requirements", "gateproof-report", "--as", "json"])],
        "report-verify" => {
            std::fs::write(dir.join("gateproof-report/summary.md"), "edited").unwrap();
            vec![json_of(dir, &["report", "verify", "gateproof-report", "--format", "json"])]
        }
        "clean" => {
            let kubeconfig = testbed.kubeconfig.to_str().unwrap();
            vec![json_of(dir, &["clean", "--kubeconfig", kubeconfig, "--format", "json"])]
        }
        "of-dialects" => vec![json_of(dir, &["list", "profiles", "--dialect", "gateway-api,aso", "--format", "json"])],
        "schema-list" => vec![json_of(dir, &["schema", "--list", "--format", "json"])],
        other => panic!("no output is known for the subject {other}"),
    })
}

/// A pointer to every object of a document whose fields are ours.
fn objects(value: &Value, at: &str, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            into.push(at.to_owned());
            for (key, inner) in fields.iter().filter(|(key, _)| !OPEN.contains(&key.as_str())) {
                objects(inner, &format!("{at}/{key}"), into);
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, inner)| objects(inner, &format!("{at}/{index}"), into));
        }
        _ => {}
    }
}

/// The document with one field more at `at`, and with one field misspelt.
fn spoilt(document: &Value, at: &str) -> Vec<Value> {
    let mut surplus = document.clone();
    surplus.pointer_mut(at).unwrap()["more"] = json!(1);
    let mut misspelt = document.clone();
    let fields = misspelt.pointer_mut(at).unwrap().as_object_mut().unwrap();
    let Some((key, value)) = fields.shift_remove_entry(&fields.keys().next().cloned().unwrap_or_default()) else {
        return vec![surplus];
    };
    fields.insert(format!("{key}s"), value);
    vec![surplus, misspelt]
}

#[test]
fn real_output_meets_its_schema_and_anything_else_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let ran = run(dir.path(), &RUN);
    assert_eq!(ran.code, Some(1), "{}", ran.said());
    let testbed = TestbedProcess::start(&[]);
    let subjects = json_of(dir.path(), &["schema", "--list", "--format", "json"]);
    for subject in subjects.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()) {
        let schema = json_of(dir.path(), &["schema", subject]);
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{subject}");
        jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{subject}: {error}"));
        let validator = jsonschema::validator_for(&schema).unwrap();
        let Some(documents) = documents(dir.path(), &testbed, subject) else { continue };
        assert!(!documents.is_empty(), "{subject}");
        for document in &documents {
            let errors: Vec<String> =
                validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
            assert!(errors.is_empty(), "{subject}: {errors:#?}");
        }
        let mut tried = 0;
        for document in documents.iter().take(400) {
            let mut places = Vec::new();
            objects(document, "", &mut places);
            // Lists repeat one shape: the first few items stand for all.
            places.retain(|place| !place.split('/').any(|part| part.parse::<usize>().is_ok_and(|index| index > 2)));
            for place in places {
                for wrong in spoilt(document, &place) {
                    assert!(!validator.is_valid(&wrong), "{subject}: at {place} the schema admits {wrong}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 0, "{subject}: nothing could be spoilt");
    }
}

#[test]
fn every_output_of_json_has_a_schema() {
    let dir = tempfile::tempdir().unwrap();
    let subjects = json_of(dir.path(), &["schema", "--list", "--format", "json"]);
    let told: Vec<&str> = subjects.as_array().unwrap().iter().map(|item| item["about"].as_str().unwrap()).collect();
    for verb in ["run", "preflight", "plan", "explain", "lint", "faults", "testbed", "replay", "clean"] {
        let help = run(dir.path(), &[verb, "--help"]).out;
        assert!(help.contains("--format"), "{verb} has no --format");
        assert!(told.iter().any(|about| about.contains(verb) && about.contains("--format json")), "{verb}");
    }
}
