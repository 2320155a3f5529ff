//! Bundles of CustomResourceDefinitions.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::crds::{BundleError, parse_bundle};
use crate::kinds::{crd, definitions};

/// A text is refused with a line that it has, or holds definitions of different names, which read the same when they are
/// written as one list, and which the server can judge.
pub fn crd_bundle(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let bundle = match parse_bundle(&text) {
        Ok(bundle) => bundle,
        Err(error) => return has_a_place(&error, &text),
    };
    let names: BTreeSet<_> = bundle.definitions.iter().map(|d| d["metadata"]["name"].as_str()).collect();
    assert_eq!(names.len(), bundle.definitions.len());
    let list = json!({"apiVersion": "v1", "kind": "List", "items": bundle.definitions}).to_string();
    match parse_bundle(&list) {
        Ok(again) => assert_eq!(again.definitions, bundle.definitions),
        Err(error) => panic!("a bundle does not read as a list: {error}: {list}"),
    }
    for definition in &bundle.definitions {
        let mut definition: Value = definition.clone();
        crd::default(&mut definition);
        let _ = definitions::validate(&definition, None);
    }
}

fn has_a_place(error: &BundleError, text: &str) {
    let line = match error {
        BundleError::Yaml { line, .. }
        | BundleError::NotAnObject { line, .. }
        | BundleError::UnexpectedKind { line, .. }
        | BundleError::Malformed { line, .. } => *line,
        BundleError::Empty { .. } => return,
    };
    let lines = text.split(['\n', '\r']).count();
    assert!((1..=lines).contains(&line), "line {line} of {text:?}");
}
