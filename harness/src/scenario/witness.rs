//! Answers that a data path gives which serves nothing at all: 404, and UNIMPLEMENTED of calls.
//!
//! What proves that it serves and knows no such route: a backend that answers at the same listener, or that noted the very request.

use super::grpc::GrpcCode;
use super::model::{Answer, Place, Probe, Scenario, Step, Verb};

const NOT_FOUND: u16 = 404;

/// Where such an answer is expected and no probe of the scenario shows that the listener serves. One without any control says
/// so by `contrast: false`.
pub(super) fn given_by_nobody(scenario: &Scenario) -> Vec<Place> {
    let probes = || {
        scenario.steps.iter().filter_map(|step| match &step.verb {
            Verb::Probe(probe) => Some((step, &**probe)),
            _ => None,
        })
    };
    let is_witnessed = |step: &Step, probe: &Probe| {
        probes().any(|(other_step, other)| {
            is_at(probe, other) && is_from_a_backend(other) && scenario.goes_with(other_step, step)
        })
    };
    let unproven =
        probes().filter(|(step, probe)| probe.contrast && may_be_nothing(probe) && !is_witnessed(step, probe));
    unproven.map(|(step, _)| step.place).collect()
}

fn may_be_nothing(probe: &Probe) -> bool {
    let Answer::Http(seen) = &probe.answer else { return false };
    let is_nothing = seen.status.contains(&NOT_FOUND) || seen.code.contains(&GrpcCode::UNIMPLEMENTED);
    is_nothing && seen.backend.is_none() && seen.noted.is_empty()
}

fn is_at(probe: &Probe, other: &Probe) -> bool {
    probe.target == other.target && probe.tls == other.tls
}

fn is_from_a_backend(probe: &Probe) -> bool {
    match &probe.answer {
        Answer::Http(seen) => seen.backend.is_some(),
        Answer::Shares { .. } => true,
        Answer::TcpBackend(_)
        | Answer::TlsBackend { .. }
        | Answer::TcpRefused
        | Answer::NoAnswer
        | Answer::NoCertificate
        | Answer::CutOff => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::super::parse;
    use super::super::vocabulary::Vocabulary;

    const HEAD: &str = r#"
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {name: sample}
spec:
  summary: A sentence.
  features: [Gateway, HTTPRoute]
  gateways: {gw: http, other: http}
  backends: [echo]
  steps:
"#;
    const NOT_FOUND: &str = "    - probe: {get: \"http://${host}/\", via: gw, expect: {status: 404}}\n";
    const NO_CONTROL: &str =
        "    - probe: {get: \"http://${host}/\", via: gw, contrast: false, expect: {status: 404}}\n";
    const EITHER: &str = "    - probe: {get: \"http://${host}/\", via: gw, expect: {status: [404, 421]}}\n";
    const NOTED: &str =
        "    - probe: {get: \"http://${host}/\", via: gw, expect: {status: 404, noted: {echo: {times: 1}}}}\n";
    const CALL: &str = "    - probe: {grpc: \"http://${host}/a.B/C\", via: gw, expect: {code: UNIMPLEMENTED}}\n";
    const SERVED: &str = "    - probe: {get: \"http://a.${host}/\", via: gw, expect: {backend: echo}}\n";
    const ELSEWHERE: &str = "    - probe: {get: \"http://a.${host}/\", via: other, expect: {backend: echo}}\n";
    const OVER_TLS: &str = "    - probe: {get: \"https://a.${host}/\", via: gw, expect: {backend: echo}}\n";
    const FAILS: &str = "    - probe: {get: \"http://a.${host}/\", via: gw, expect: {status: 500}}\n";

    const EITHER_END: &str = "    - apply: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]\n      either:\n        - refused: {}\n          then:\n";
    const OTHER_END: &str = "        - refused: {code: 409}\n          then:\n";
    const NOT_FOUND_THEN: &str = "            - probe: {get: \"http://${host}/\", via: gw, expect: {status: 404}}\n";
    const SERVED_THEN: &str = "            - probe: {get: \"http://a.${host}/\", via: gw, expect: {backend: echo}}\n";

    #[rstest]
    #[case::alone(&[NOT_FOUND], 1)]
    #[case::beside_another_code(&[EITHER], 1)]
    #[case::of_a_call(&[CALL], 1)]
    #[case::beside_an_error(&[FAILS, NOT_FOUND], 1)]
    #[case::served_elsewhere(&[ELSEWHERE, NOT_FOUND], 1)]
    #[case::served_over_tls(&[OVER_TLS, NOT_FOUND], 1)]
    #[case::served(&[SERVED, NOT_FOUND, EITHER, CALL], 0)]
    #[case::served_later(&[NOT_FOUND, SERVED], 0)]
    #[case::noted(&[NOTED], 0)]
    #[case::no_control_is_wanted(&[NO_CONTROL], 0)]
    #[case::an_error_has_its_contrast(&[FAILS], 0)]
    #[case::served_after_the_same_end(&[EITHER_END, NOT_FOUND_THEN, SERVED_THEN], 0)]
    #[case::served_after_another_end(&[EITHER_END, NOT_FOUND_THEN, OTHER_END, SERVED_THEN], 1)]
    #[case::served_after_each(&[EITHER_END, NOT_FOUND_THEN, SERVED], 0)]
    fn nothing_is_no_proof(#[case] steps: &[&str], #[case] problems: usize) {
        let text = format!("{HEAD}{}", steps.concat());
        let found = parse("a.yaml", &text, &Vocabulary::builtin()).err().unwrap_or_default();
        let told: Vec<_> = found.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(told.len(), problems, "{told:?}");
        assert!(told.iter().all(|message| message.contains("serves nothing")), "{told:?}");
    }
}
