//! Sessions of TLS that different clients would go on with: a session has what its first attempt was given, whatever a later probe says.

use super::model::{Place, Probe, Scenario, Step, Verb};

/// Where a probe goes on with a session as another client than that with which it began.
pub(super) fn of_another_client(scenario: &Scenario) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, step) in scenario.steps.iter().enumerate() {
        let Some((name, probe)) = in_session(step) else { continue };
        let mut before = scenario.steps[..index].iter().filter(|before| scenario.goes_with(before, step));
        let first = before.find_map(|before| in_session(before).filter(|(of, _)| *of == name));
        if first.is_some_and(|(_, first)| !is_one_client(first, probe)) {
            found.push(step.place);
        }
    }
    found
}

fn in_session(step: &Step) -> Option<(&str, &Probe)> {
    match &step.verb {
        Verb::Probe(probe) => Some((probe.session.as_deref()?, probe)),
        _ => None,
    }
}

/// Whether both say the same of what a handshake has beside the server name, of which each has sessions of its own.
fn is_one_client(one: &Probe, other: &Probe) -> bool {
    let of = |probe: &Probe| {
        let offered = (probe.method.is_some(), probe.http2, probe.alpn.clone());
        (probe.client.clone(), probe.tls_version, probe.without.clone(), offered)
    };
    of(one) == of(other)
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
  features: [Gateway, HTTPRoute, TLSRoute]
  gateways: {gw: https}
  backends: [echo]
  steps:
    - probe: {get: "https://${host}/", expect: {backend: echo}}
"#;

    #[rstest]
    #[case::the_same(
        r#"get: "https://${host}/", session: a, client: {}"#,
        r#"get: "https://${host}/b", session: a, client: {}"#,
        0
    )]
    #[case::another_host(r#"get: "https://${host}/", session: a"#, r#"get: "https://b.${host}/", session: a"#, 0)]
    #[case::another_session(
        r#"get: "https://${host}/", session: a, client: {}"#,
        r#"get: "https://${host}/", session: b"#,
        0
    )]
    #[case::no_session(r#"get: "https://${host}/", session: a, client: {}"#, r#"get: "https://${host}/""#, 0)]
    #[case::no_certificate_any_more(
        r#"get: "https://${host}/", session: a, client: {}"#,
        r#"get: "https://${host}/", session: a"#,
        1
    )]
    #[case::another_certificate(
        r#"get: "https://${host}/", session: a, client: {}"#,
        r#"get: "https://${host}/", session: a, client: {expired: true}"#,
        1
    )]
    #[case::another_version(
        r#"get: "https://${host}/", session: a"#,
        r#"get: "https://${host}/", session: a, tlsVersion: "1.2""#,
        1
    )]
    #[case::other_protocols(
        r#"get: "https://${host}/", session: a"#,
        r#"get: "https://${host}/", session: a, alpn: [h2]"#,
        1
    )]
    #[case::http2(r#"get: "https://${host}/", session: a"#, r#"get: "https://${host}/", session: a, http2: true"#, 1)]
    #[case::without_a_name(
        r#"get: "https://${host}/", session: a"#,
        r#"get: "https://${host}/", session: a, without: [sni]"#,
        1
    )]
    fn a_session_has_one_client(#[case] first: &str, #[case] then: &str, #[case] problems: usize) {
        let probe = |said: &str| format!("    - probe: {{{said}, expect: {{backend: echo}}}}\n");
        let text = format!("{HEAD}{}{}", probe(first), probe(then));
        let found = parse("a.yaml", &text, &Vocabulary::builtin()).err().unwrap_or_default();
        let told: Vec<_> = found.iter().map(|p| (p.line, p.message.as_str())).collect();
        let line = text.lines().count();
        assert_eq!(told.len(), problems, "{told:?}");
        assert!(told.iter().all(|(at, message)| *at == line && message.contains("another client")), "{told:?}");
    }
}
