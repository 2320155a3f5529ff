//! Manifests that are read whole.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn the_founding_manifest_is_read_whole() {
    let path = "gateway-api/httproute/missing-backend.yaml";
    let text = gateproof_suites::manifests().into_iter().find(|(p, _)| *p == path).unwrap().1;
    let scenario = parse(path, text, &vocabulary()).unwrap().remove(0);
    assert_eq!(scenario.name, "httproute-missing-backend");
    assert_eq!(scenario.suite, "gateway-api");
    assert_eq!(scenario.digest.len(), 64);
    let Verb::Settle(settle) = &scenario.steps[4].verb else { panic!("not a settle") };
    let resolved = &settle.subjects[0].conditions["ResolvedRefs"];
    assert_eq!(
        (resolved.status.as_slice(), resolved.reason.as_slice()),
        (&["False".into()][..], &["BackendNotFound".into()][..])
    );
    assert_eq!(resolved.message.as_ref().unwrap().level, Level::Should);
    assert!(scenario.steps[4].proves.iter().any(|c| **c == *"GEP1364-41"));
    let Verb::Probe(probe) = &scenario.steps[5].verb else { panic!("not a probe") };
    assert_eq!(
        (probe.method.as_deref(), probe.host.as_deref(), probe.path.as_str()),
        (Some("GET"), Some("${host}"), "/")
    );
    assert!(probe.target.gateway.pool);
}

#[test]
fn every_shipped_manifest_is_clean() {
    let scenarios = crate::scenario::load::builtin(&vocabulary());
    match scenarios {
        Ok(scenarios) => assert!(!scenarios.is_empty()),
        Err(crate::scenario::load::LoadError::Manifests(problems)) => {
            let shown = problems.iter().map(|p| format!("{}:{}:{} {}", p.file, p.line, p.column, p.message));
            panic!("{:#?}", shown.collect::<Vec<_>>());
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_backend_speaks_first_over_tcp_only() {
    let of = |backend: &str| with("delete: [HTTPRoute/route]").replace("[echo]", &format!("[{backend}]"));
    assert_eq!(problems(&of("{name: echo, protocol: tcp, greets: true}")), []);
    let told = problems(&of("{name: echo, greets: true}"));
    let help = Some("add `protocol: tcp`".to_owned());
    assert_eq!(told, [(8, "only over TCP a backend may speak first".to_owned(), help)]);
}
