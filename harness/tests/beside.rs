//! What other status languages need: further fields of conditions, what a status mirrors, statuses of other components, and services
//! beside the target; each with a case that must fail.
#![allow(clippy::unwrap_used)]

mod process;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use gateproof_example_lamps::{Behaviour, run as operate};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use process::{Ended, TestbedProcess, run};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};

const TOKEN: &str = "beside-secret-token";

/// Before what each scenario asks: a lit Lamp, in whose status another component has written.
const LIT: &str = r#"
    - apply:
        - {apiVersion: v1, kind: ConfigMap, metadata: {name: socket}}
        - {apiVersion: examples.gateproof.dev/v1, kind: Lamp, metadata: {name: lamp}, spec: {socket: socket}}
    - settle: {Lamp/lamp: {Ready: {status: "True", fields: {severity: absent}}}}
    - patch:
        target: Lamp/lamp
        subresource: status
        component: true
        json:
          - op: add
            path: /status/conditions/-
            value:
              type: Warm
              status: "False"
              reason: not-a-reason-of-the-contract
              message: cold
              observedGeneration: 1
              lastTransitionTime: "2026-01-01T00:00:00Z"
              severity: Warning
              errors: [{type: Coil, reason: Broken}, {type: Coil, reason: Broken}]
          - {op: add, path: /status/phase, value: lit}
          - {op: add, path: /status/observedGeneration, value: 1}
"#;

/// What is asked of that Lamp, and the expectation that fails, if one does.
const ASKED: &[(&str, &str, Option<&str>)] = &[
    (
        "as-it-is",
        "{Ready: \"True/Lit\", Hot: {present: false}, Warm: {status: \"False\", fields: {severity: Warning, hint: null}, \
         below: {errors: [Coil/Broken, Coil/Broken]}}, mirrors: {phase: lit, observedGeneration: current, ending: {absent: true}}}",
        None,
    ),
    ("another-severity", "{Warm: {fields: {severity: Error}}}", Some("Warm.fields.severity")),
    ("no-severity", "{Warm: {fields: {severity: absent}}}", Some("Warm.fields.severity")),
    ("present", "{Warm: {present: false}}", Some("Warm.absent")),
    ("one-error", "{Warm: {below: {errors: [Coil/Broken]}}}", Some("Warm.below.errors")),
    ("some-error", "{Warm: {below: {errors: {atLeast: [Coil/Broken]}}}}", None),
    ("another-error", "{Warm: {below: {errors: {atLeast: [Coil/Cut]}}}}", Some("Warm.below.errors")),
    ("another-phase", "{mirrors: {phase: dark}}", Some("fields[/status/phase]")),
    ("no-phase", "{mirrors: {phase: {absent: true}}}", Some("fields[/status/phase]")),
    ("another-generation", "{mirrors: {phase: current}}", Some("fields[/status/phase]")),
];

/// The service is told to note two requests, half a second apart.
const TOLD: &str = r#"
    - script: {service: arm, rules: [{method: PUT, path: "/things/${ns}", times: 2, apart: 500}]}
"#;

const COUNTED: &[(&str, &str, Option<&str>)] = &[
    ("two", "count: 2, gap: {atLeast: 400ms, atMost: 600ms}, within: 100ms", None),
    ("of-another-method", "method: GET, count: 0, within: 100ms", None),
    ("one-at-most", "count: {atMost: 1}, within: 100ms", Some("count")),
    ("none", "count: 0", Some("count")),
    ("three", "count: {atLeast: 3}", Some("count")),
    ("further-apart", "gap: {atLeast: 1s}", Some("gap")),
    ("nearer", "gap: {atMost: 100ms}", Some("gap")),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn manifest(name: &str, steps: &str) -> String {
    format!(
        "---\napiVersion: gateproof.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {name}}}\nspec:\n  summary: A sentence.\n  features: []\n  steps:{steps}"
    )
}

fn scenarios() -> String {
    let lamps = ASKED.iter().map(|(name, asked, _)| {
        manifest(&format!("lamp-{name}"), &format!("{LIT}    - settle:\n        Lamp/lamp: {asked}\n"))
    });
    let requests = COUNTED.iter().map(|(name, asked, _)| {
        let path = "path: \"*/${ns}\"";
        manifest(&format!("arm-{name}"), &format!("{TOLD}    - requests: {{service: arm, {path}, {asked}}}\n"))
    });
    let lit = "\n    - settle: {Lamp/lamp: {Ready: \"True/Lit\"}}\n";
    let heated = manifest("lamp-heated", &format!("{LIT}{}", &lit[1..])).replace("features: []", "features: [Heating]");
    lamps.chain(requests).chain([heated]).collect()
}

/// The dialect of the lamps with a service beside them, and their definition with room for more in the status.
fn files() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let source = root().join("examples/lamps");
    let read = |name: &str| std::fs::read_to_string(source.join(name)).unwrap();
    let write = |name: &str, text: &str| std::fs::write(copy.path().join(name), text).unwrap();
    let dialect = read("dialect/dialect.yaml");
    assert!(dialect.contains("conditions: [Ready]"));
    write("dialect.yaml", &dialect.replace("conditions: [Ready]", "conditions: [Ready, Hot]\n  services: [arm]"));
    write("contract.yaml", &read("dialect/contract.yaml"));
    write("requirements.yaml", &read("dialect/requirements.yaml"));
    std::fs::create_dir(copy.path().join("manifests")).unwrap();
    write("manifests/beside.yaml", &scenarios());
    let crd = read("dialect/crds.yaml");
    let (reason, status) = (
        "reason: {type: string, minLength: 1}\n",
        "            status:\n              type: object\n              properties:\n",
    );
    assert!(crd.contains(reason) && crd.contains(status));
    let pair = "{type: object, properties: {type: {type: string}, reason: {type: string}}}";
    let indent = " ".repeat(22);
    let crd = crd
        .replace(reason, &format!("{reason}{indent}severity: {{type: string}}\n{indent}hint: {{type: string}}\n{indent}errors: {{type: array, items: {pair}}}\n"))
        .replace(status, &format!("{status}                phase: {{type: string}}\n                ending: {{type: string}}\n                observedGeneration: {{type: integer, format: int64}}\n"));
    write("crds.yaml", &crd);
    write("features.yaml", "- {name: Heating, about: Lamps can be warm.}\n");
    write("token", &format!("{TOKEN}\n"));
    write("wrong-token", "another\n");
    copy
}

/// A service that notes requests as it is told, and forgets what it was told.
#[derive(Debug, Default)]
struct Arm {
    scripts: BTreeMap<String, Value>,
    told: usize,
    requests: Vec<Value>,
}

impl Arm {
    /// Notes the requests that a rule names, spread over time without any time passing.
    fn tell(&mut self, key: &str, script: Value) {
        let start: jiff::Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        for rule in script["rules"].as_array().unwrap() {
            for index in 0..rule["times"].as_u64().unwrap() {
                let at = start + Duration::from_millis(rule["apart"].as_u64().unwrap() * index);
                self.requests.push(json!({
                    "seq": self.requests.len() + 1, "time": format!("{at:.6}"), "method": rule["method"], "path": rule["path"],
                    "query": "", "caller": "lamps", "status": 202, "further": "is of no interest",
                }));
            }
        }
        self.told += 1;
        self.scripts.insert(key.to_owned(), script);
    }

    fn answer(&mut self, method: &Method, path: &str, query: &str, body: &[u8]) -> (StatusCode, Value) {
        match (method, path.strip_prefix("/control/scripts/")) {
            (&Method::PUT, Some(key)) => {
                self.tell(key, serde_json::from_slice(body).unwrap());
                (StatusCode::OK, json!({}))
            }
            (&Method::DELETE, Some(key)) => {
                self.scripts.remove(key).unwrap();
                (StatusCode::OK, json!({}))
            }
            (&Method::GET, None) if path == "/control/requests" => {
                let after: usize = query.strip_prefix("after=").unwrap().parse().unwrap();
                let there: Vec<&Value> = self.requests.iter().skip(after).collect();
                (StatusCode::OK, json!({"requests": there, "next": self.requests.len() + 1}))
            }
            _ => (StatusCode::NOT_FOUND, json!({})),
        }
    }
}

async fn answered(request: Request<Incoming>, arm: Arc<Mutex<Arm>>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let knows = head.headers.get("authorization").is_some_and(|value| *value == format!("Bearer {TOKEN}"));
    let (status, text) = if knows {
        arm.lock().unwrap().answer(&head.method, head.uri.path(), head.uri.query().unwrap_or_default(), &body)
    } else {
        (StatusCode::UNAUTHORIZED, json!({"error": "who are you?"}))
    };
    Ok(Response::builder().status(status).body(Full::from(text.to_string())).unwrap())
}

async fn serve(arm: Arc<Mutex<Arm>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let arm = Arc::clone(&arm);
            let service = service_fn(move |request| answered(request, Arc::clone(&arm)));
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    url
}

/// Everything that a run wrote.
fn written(dir: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.push_str(&written(&path));
        } else {
            all.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        }
    }
    all
}

struct Bench {
    files: tempfile::TempDir,
    testbed: TestbedProcess,
}

impl Bench {
    async fn new() -> Bench {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let files = files();
        let dialect = files.path().display().to_string();
        let testbed = TestbedProcess::start(&["--no-controller", "--dialect", &dialect]);
        let config = kube::config::Kubeconfig::from_yaml(&testbed.credentials()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await.unwrap();
        tokio::spawn(operate(kube::Client::try_from(config).unwrap(), Behaviour::Plain));
        Bench { files, testbed }
    }

    /// A verb on the dialect, with further words.
    async fn ask(&self, verb: &str, words: &[&str]) -> Ended {
        let path = |path: &Path| path.display().to_string();
        let (dialect, kubeconfig) = (path(self.files.path()), path(&self.testbed.kubeconfig));
        let fixed =
            [verb, "--dialect", &dialect, "--kubeconfig", &kubeconfig, "--timing", "embedded", "--format", "json"];
        let words: Vec<String> = fixed.iter().chain(words).map(ToString::to_string).collect();
        let dir = self.testbed.dir.path().to_owned();
        let ended = move || run(&dir, &words.iter().map(String::as_str).collect::<Vec<_>>());
        tokio::task::spawn_blocking(ended).await.unwrap()
    }

    fn file(&self, name: &str) -> String {
        self.files.path().join(name).display().to_string()
    }
}

/// Outcome, reason and failed expectations of each scenario.
fn outcomes(ended: &Ended) -> BTreeMap<String, (String, String, Vec<String>)> {
    let record: Value = serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {}", ended.said()));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |scenario: &Value| {
        let findings =
            scenario["findings"].as_array().into_iter().flatten().map(|one| text(&one["expectation"])).collect();
        (text(&scenario["name"]), (text(&scenario["outcome"]), text(&scenario["reason"]), findings))
    };
    record["scenarios"].as_array().unwrap().iter().map(one).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_expectation_passes_and_fails() {
    let bench = Bench::new().await;
    let arm = Arc::new(Mutex::new(Arm::default()));
    let url = serve(Arc::clone(&arm)).await;
    let (service, token) = (format!("arm={url}"), format!("arm={}", bench.file("token")));
    let ended = bench.ask("run", &["--service", &service, "--service-token", &token]).await;
    let found = outcomes(&ended);
    let lamps = ASKED
        .iter()
        .map(|(name, _, part)| (format!("lamp-{name}"), part.map(|part| format!("steps[3].settle.Lamp/lamp.{part}"))));
    let counted = COUNTED
        .iter()
        .map(|(name, _, part)| (format!("arm-{name}"), part.map(|part| format!("steps[1].requests.{part}"))));
    let mut asked = 0;
    for (name, failed) in lamps.chain(counted) {
        let outcome = if failed.is_some() { "failed" } else { "passed" };
        let (found, reason, findings) = &found[&name];
        assert_eq!(found, outcome, "{name}: {reason} {findings:?}");
        assert_eq!(*findings, failed.into_iter().collect::<Vec<_>>(), "{name}");
        asked += 1;
    }
    let (outcome, why, _) = &found["lamp-heated"];
    assert_eq!((&**outcome, &**why), ("notSupported", "feature Heating not claimed"));
    assert_eq!(found.len(), asked + 1);
    // What another component wrote is not held against the contract of the target.
    let record: Value = serde_json::from_str(&ended.out).unwrap();
    let broken = |rule: &&Value| rule["breaches"].as_array().is_some_and(|breaches| !breaches.is_empty());
    assert_eq!(record["contract"].as_array().unwrap().iter().find(broken), None);
    {
        let arm = arm.lock().unwrap();
        assert_eq!((arm.told, arm.scripts.len()), (COUNTED.len(), 0), "every script is taken away again");
    }
    let written = written(&bench.testbed.dir.path().join("gateproof-report"));
    assert!(written.contains("--service-token") && written.contains("\"requested\""));
    assert!(!written.contains(TOKEN) && !ended.said().contains(TOKEN));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_not_there_fails_nobody() {
    let bench = Bench::new().await;
    let reason = |ended: &Ended| outcomes(ended)["arm-two"].clone();

    let rows: Value = serde_json::from_str(&bench.ask("plan", &["arm-two"]).await.out).unwrap();
    assert_eq!(rows[0]["decision"], "not supported");
    assert!(rows[0]["reason"].as_str().unwrap().contains("--service arm=URL"), "{rows}");
    let (outcome, why, _) = reason(&bench.ask("run", &["arm-two"]).await);
    assert_eq!(outcome, "notSupported", "{why}");

    let arm = Arc::new(Mutex::new(Arm::default()));
    let service = format!("arm={}", serve(arm).await);
    let token = format!("arm={}", bench.file("wrong-token"));
    let (outcome, why, _) =
        reason(&bench.ask("run", &["arm-two", "--service", &service, "--service-token", &token]).await);
    assert_eq!(outcome, "inconclusive");
    assert!(why.contains("it answered 401"), "{why}");

    // Bound and never listening: refused, and nobody else's meanwhile.
    let refusing = TcpSocket::new_v4().unwrap();
    refusing.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let service = format!("arm=http://{}", refusing.local_addr().unwrap());
    let (outcome, why, _) = reason(&bench.ask("run", &["arm-two", "--service", &service]).await);
    assert_eq!(outcome, "inconclusive");
    assert!(why.contains("no connection"), "{why}");

    for (words, told) in [
        (vec!["--service", "amr=http://a"], "the dialect `lamps` has no service `amr` help: did you mean `arm`?"),
        (vec!["--service", "arm=ftp://a"], "write http://HOST:PORT"),
        (vec!["--service", "arm=http://a", "--service", "arm=http://b"], "names `arm` twice"),
        (vec!["--service-token", &token], "nothing says where the service `arm` is"),
        (vec!["--service", "arm=http://a.example", "--service-token", &token], "in plain text"),
    ] {
        let ended = bench.ask("plan", &words).await;
        assert_eq!(ended.code, Some(2), "{}", ended.said());
        assert!(ended.said().contains(told), "no `{told}` in {}", ended.said());
    }
}

/// What a target has is for its user to say; a name that nobody has is an error.
#[tokio::test(flavor = "multi_thread")]
async fn features_are_as_the_user_says() {
    let bench = Bench::new().await;
    for (words, decision) in [
        (vec!["lamp-heated"], "not supported"),
        (vec!["Heating"], "not supported"),
        (vec!["lamp-heated", "--features", "Heating"], "run"),
        (vec!["lamp-heated", "--all-features"], "run"),
        (vec!["lamp-heated", "--all-features", "--exempt-features", "Heating"], "not supported"),
    ] {
        let rows: Value = serde_json::from_str(&bench.ask("plan", &words).await.out).unwrap();
        assert_eq!(rows.as_array().unwrap().len(), 1, "{words:?}");
        assert_eq!(rows[0]["decision"], decision, "{words:?}");
    }
    let ended = bench.ask("run", &["lamp-heated", "--features", "Heating"]).await;
    assert_eq!(outcomes(&ended)["lamp-heated"].0, "passed", "{}", ended.said());
    // Conformance profiles are Gateway API's, and so is what they leave out.
    assert!(!ended.out.contains("outsideProfiles"), "{}", ended.out);
    for (words, told) in [
        (vec!["--features", "Heatin"], "there is no feature `Heatin` help: did you mean `Heating`?"),
        (vec!["--features", "HTTPRoute"], "there is no feature `HTTPRoute`"),
        (
            vec!["--features-from", "report.yaml"],
            "--features-from means nothing in the dialect `lamps`: it has no ConformanceReports",
        ),
    ] {
        let ended = bench.ask("plan", &words).await;
        assert_eq!(ended.code, Some(2), "{}", ended.said());
        assert!(ended.said().contains(told), "no `{told}` in {}", ended.said());
    }
    let dialect = bench.files.path().display().to_string();
    let listed = run(bench.files.path(), &["list", "features", "--dialect", &dialect]);
    assert!(listed.said().contains("Heating Lamps can be warm."), "{}", listed.said());
}
