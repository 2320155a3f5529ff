//! Sessions of TLS that different clients would go on with: a session has what its first attempt was given, whatever a later probe says.

use super::model::{Place, Probe, Scenario, Step, Verb};

/// Where a probe goes on with a session as another client than that with which it began.
pub(super) fn of_another_client(scenario: &Scenario) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, step) in scenario.steps.iter().enumerate() {
        let Some((name, probe)) = in_session(step) else { continue };
        // Whichever of its ends a write came to: one that began within an end goes on behind all of them.
        let mut before = scenario.steps[..index]
            .iter()
            .filter(|before| scenario.goes_with(before, step) || scenario.goes_with(step, before));
        if before.any(|before| in_session(before).is_some_and(|(of, first)| of == name && !is_one_client(first, probe)))
        {
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

    /// One that began within an end of a write goes on behind all of its ends, but not within another one.
    #[rstest]
    #[case::behind_the_ends("", r#"    - probe: {get: "https://${host}/", session: a, expect: {backend: echo}}"#, 1)]
    #[case::within_another_end(
        r#"          then: [{probe: {get: "https://${host}/", session: a, expect: {backend: echo}}}]"#,
        "",
        0
    )]
    fn a_session_of_one_end(#[case] within: &str, #[case] behind: &str, #[case] problems: usize) {
        let apply = r#"    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {parentRefs: ["${gw}"]}}]
      either:
        - settle: {HTTPRoute/r: {Accepted: "True"}}
          then: [{probe: {get: "https://${host}/", session: a, client: {}, expect: {backend: echo}}}]
        - settle: {HTTPRoute/r: {Accepted: "False"}}
"#;
        let found = parse("a.yaml", &format!("{HEAD}{apply}{within}\n{behind}\n"), &Vocabulary::builtin());
        let found = found.err().unwrap_or_default();
        let told: Vec<_> = found.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(told.len(), problems, "{told:?}");
        assert!(told.iter().all(|message| message.contains("another client")), "{told:?}");
    }
}
