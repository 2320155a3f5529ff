#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::log::Elapsed;

fn write(verb: WriteVerb, object: Value, outcome: WriteOutcome) -> Box<Write> {
    let key = ObjectKey::of(&object).unwrap();
    let api_version = object["apiVersion"].as_str().unwrap().to_owned();
    let sent = (verb != WriteVerb::Delete).then(|| Arc::new(object));
    Box::new(Write { step: 0, ordinal: 0, verb, key, api_version, sent, outcome })
}

fn admitted() -> WriteOutcome {
    WriteOutcome::Admitted { uid: "u".to_owned(), generation: 1, resource_version: "1".to_owned() }
}

fn refused() -> WriteOutcome {
    WriteOutcome::Refused {
        code: 422,
        reason: "Invalid".to_owned(),
        message: "spec: Invalid\nrm -rf /".to_owned(),
        causes: vec![],
    }
}

fn object(kind: &str, name: &str) -> Value {
    let version = if kind == "HTTPRoute" { "gateway.networking.k8s.io/v1" } else { "v1" };
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}});
    if kind != "Namespace" {
        object["metadata"]["namespace"] = json!("gp-1");
    }
    object
}

/// A write of a step, or one that something was made by.
fn wrote(step: usize, verb: WriteVerb, of: Value, sent: Option<Value>, outcome: WriteOutcome) -> (Scope, Body) {
    let mut write = write(verb, of, outcome);
    write.step = step;
    if let Some(sent) = sent {
        write.sent = Some(Arc::new(sent));
    }
    (Scope::Scenario(Arc::from("a")), Body::Wrote(write))
}

fn made(scope: Scope, kind: &str, name: &str) -> (Scope, Body) {
    (scope, Body::Made(write(WriteVerb::Apply, object(kind, name), admitted())))
}

fn script(events: Vec<(Scope, Body)>) -> Option<String> {
    let scenario = json!({"name": "a", "suite": "s", "file": "f", "summary": "It is\nso.", "features": [], "proves": [],
        "outcome": "failed", "durationMs": 0});
    let mut script = Script::default();
    for (scope, body) in events {
        script.add(&Event { seq: 0, at: Elapsed(0), scope, body });
    }
    script.text(&serde_json::from_value(scenario).unwrap())
}

#[test]
fn what_was_written_is_a_script() {
    let route = || object("HTTPRoute", "route");
    let (apply, patch, delete) = (WriteVerb::Apply, WriteVerb::Patch, WriteVerb::Delete);
    let marked =
        json!([{"op": "add", "path": "/status/parents/0/conditions/-", "value": {"type": "example.com/Marker"}}]);
    let text = script(vec![
        made(Scope::Run, "Namespace", "gp-1"),
        made(Scope::Run, "Namespace", "gp-of-others"),
        made(Scope::Scenario(Arc::from("a")), "Service", "echo"),
        wrote(0, apply, object("Secret", "certificate"), None, admitted()),
        wrote(0, apply, route(), None, admitted()),
        wrote(2, patch, route(), Some(marked), admitted()),
        wrote(3, patch, route(), Some(json!({"spec": {"hostnames": null}})), refused()),
        wrote(4, delete, route(), None, admitted()),
    ]);
    insta::assert_snapshot!(text.unwrap(), @r"
    #!/bin/sh
    # a: It is\nso.
    # What was written, in that order and with the names of that run. What each step waited for, and what came of it, is in failure.txt.
    # Backends were Gateproof's own: where an answer matters, let the EndpointSlices name one that is there (`gateproof echo` is such).
    set -eu

    # made for it
    kubectl apply --server-side --force-conflicts -f - <<'END'
    apiVersion: v1
    kind: Namespace
    metadata:
      name: gp-1
    END
    kubectl apply --server-side --force-conflicts -f - <<'END'
    apiVersion: v1
    kind: Service
    metadata:
      name: echo
      namespace: gp-1
    END

    # steps[0]
    # Here Secret/gp-1/certificate was written. What is in a Secret is in no log.
    kubectl apply --server-side --force-conflicts -f - <<'END'
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata:
      name: route
      namespace: gp-1
    END

    # steps[2]
    # Once the status that it is put into is there:
    for try in 1 2 3 4 5 6 7 8 9 10; do kubectl patch httproute.v1.gateway.networking.k8s.io route -n gp-1 --subresource=status --type=json --patch-file=/dev/stdin <<'END' && break || sleep 1
    - op: add
      path: /status/parents/0/conditions/-
      value:
        type: example.com/Marker
    END
    done

    # steps[3]
    # The API server answered 422: spec: Invalid\nrm -rf /
    kubectl patch httproute.v1.gateway.networking.k8s.io route -n gp-1 --type=merge --patch-file=/dev/stdin <<'END' || :
    spec:
      hostnames: null
    END

    # steps[4]
    kubectl delete httproute.v1.gateway.networking.k8s.io route -n gp-1
    ");
}

#[test]
fn of_what_wrote_nothing_there_is_no_script() {
    assert_eq!(script(vec![made(Scope::Scenario(Arc::from("a")), "Service", "echo")]), None);
}

/// The words of each command and what it read, as a shell has them.
fn run(script: &str) -> String {
    let stub = "kubectl() { printf '%s,' \"$@\"; printf '\\n'; cat; }\n";
    let done = Command::new("sh").args(["-c", &format!("{stub}{script}")]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever stands in an object reaches kubectl as it is, and nothing of it is run.
    #[test]
    fn a_shell_hands_objects_on_as_they_are(text in "[ -~\n\u{85}\u{2028}ä\t]{0,40}", hostile in "(END|END_|EOF|\\$\\(id\\)|`id`|'|\n){0,8}") {
        let mut route = object("HTTPRoute", "route");
        route["spec"] = json!({"hostnames": [text, hostile.clone()], hostile: "END"});
        let said = run(&script(vec![wrote(0, WriteVerb::Apply, route.clone(), None, admitted())]).unwrap());
        let (words, document) = said.split_once('\n').unwrap();
        prop_assert_eq!(words, "apply,--server-side,--force-conflicts,-f,-,");
        prop_assert_eq!(serde_yaml::from_str::<Value>(document).unwrap(), route);
    }
}

#[test]
fn a_write_that_was_refused_does_not_end_the_script() {
    let route = || object("HTTPRoute", "route");
    let events = vec![
        wrote(0, WriteVerb::Apply, route(), None, refused()),
        wrote(1, WriteVerb::Delete, route(), None, admitted()),
    ];
    let text = script(events).unwrap();
    let stub = "kubectl() { [ \"$1\" = delete ] && echo deleted; }\n";
    let done = Command::new("sh").args(["-c", &format!("{stub}{text}")]).output().unwrap();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "deleted\n", "what was refused is refused again: {text}");
}
