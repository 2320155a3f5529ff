//! Bodies that the encoders of the Go types wrote, each beside the JSON that they write for the same object:
//! `scripts/interop/client-go/run --print-protobuf > testbed/apiserver/tests/protobuf.txt` makes the file anew.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::decode;

/// Each body, and the object that it has to be read as.
fn bodies() -> Vec<(Vec<u8>, Value)> {
    let lines = include_str!("../../tests/protobuf.txt").lines();
    lines
        .map(|line| {
            let (hex, text) = line.split_once(' ').unwrap();
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            ((0..hex.len()).step_by(2).map(byte).collect(), serde_json::from_str(text).unwrap())
        })
        .collect()
}

/// Where two values differ. JSON may say what is empty, where protobuf cannot tell it from what is not there.
fn differences(at: &str, read: Option<&Value>, meant: Option<&Value>) -> Vec<String> {
    match (read, meant) {
        (None, Some(Value::Null)) => Vec::new(),
        (None, Some(Value::Object(members))) => {
            members.iter().flat_map(|(name, value)| differences(&format!("{at}.{name}"), None, Some(value))).collect()
        }
        (Some(Value::Object(read)), Some(Value::Object(meant))) => {
            let names = read.keys().chain(meant.keys().filter(|name| !read.contains_key(*name)));
            names.flat_map(|name| differences(&format!("{at}.{name}"), read.get(name), meant.get(name))).collect()
        }
        (Some(Value::Array(read)), Some(Value::Array(meant))) if read.len() == meant.len() => {
            let pairs = read.iter().zip(meant).enumerate();
            pairs.flat_map(|(i, (read, meant))| differences(&format!("{at}[{i}]"), Some(read), Some(meant))).collect()
        }
        (Some(Value::Number(read)), Some(Value::Number(meant))) if read.as_f64() == meant.as_f64() => Vec::new(),
        (read, meant) if read == meant => Vec::new(),
        (read, meant) => vec![format!("{at} is {read:?}, not {meant:?}")],
    }
}

#[test]
fn are_read_as_the_go_types_mean_them() {
    let bodies = bodies();
    assert!(bodies.len() > 25, "{} bodies", bodies.len());
    for (body, meant) in bodies {
        let read = decode(&body).unwrap();
        let found = differences("", Some(&read), Some(&meant));
        assert!(found.is_empty(), "{} {}:\n{}", meant["apiVersion"], meant["kind"], found.join("\n"));
    }
}

#[test]
fn what_is_there_and_empty_stays() {
    let of = |kind: &str| bodies().into_iter().find(|(_, meant)| meant["kind"] == kind).map(|(body, _)| decode(&body));
    let pod = of("Pod").unwrap().unwrap();
    assert_eq!(pod["spec"]["volumes"][0], json!({"name": "v", "emptyDir": {}}));
    let map = of("ConfigMap").unwrap().unwrap();
    assert_eq!((&map["data"]["empty"], &map["immutable"]), (&json!(""), &json!(false)));
    let deployment = of("Deployment").unwrap().unwrap();
    assert_eq!(deployment["spec"]["replicas"], 0);
    assert_eq!(deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 0);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["--level", "-1", ""]));
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
}

#[test]
fn a_body_that_ends_early_is_refused_or_says_less() {
    for (body, meant) in bodies() {
        for end in 0..body.len() {
            if let Ok(read) = decode(&body[..end]) {
                assert_eq!(read["kind"], meant["kind"]);
            }
        }
    }
}
