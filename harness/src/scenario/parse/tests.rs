#![allow(clippy::unwrap_used)]

mod ends;
mod mistakes;
mod own;
mod probes;
mod whole;
mod without;

use rstest::rstest;

use super::*;
use crate::scenario::GrpcCode;
use crate::scenario::model::*;

fn vocabulary() -> Vocabulary {
    Vocabulary::builtin()
}

const HEAD: &str = "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: [Gateway, HTTPRoute]
  gateways: {gw: http}
  backends: [echo]
  steps:
    - apply:
        - apiVersion: gateway.networking.k8s.io/v1
          kind: HTTPRoute
          metadata: {name: route}
          spec: {parentRefs: [\"${gw}\"]}
";

fn problems(text: &str) -> Vec<(usize, String, Option<String>)> {
    match parse("a.yaml", text, &vocabulary()) {
        Ok(_) => Vec::new(),
        Err(found) => found.into_iter().map(|d| (d.line, d.message, d.help)).collect(),
    }
}

fn with(step: &str) -> String {
    format!("{HEAD}    - {step}\n")
}

fn step(text: &str) -> Step {
    let scenario = parse("a.yaml", &with(text), &vocabulary()).unwrap().remove(0);
    scenario.steps.last().unwrap().clone()
}
