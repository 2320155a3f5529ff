#![allow(clippy::unwrap_used)]

use rstest::rstest;

use super::*;
use crate::scenario::parse;

fn scenarios() -> Vec<Scenario> {
    let one = |name: &str, features: &str, clause: &str| {
        format!(
            "apiVersion: gateproof.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {name}}}\nspec:\n  summary: A sentence.\n  \
             features: [{features}]\n  gateways: {{gw: http}}\n  steps:\n    - settle: {{\"${{gw}}\": {{Programmed: \"True\"}}}}\n      \
             proves: [\"{clause}\"]\n"
        )
    };
    let text = [
        one("http-one", "Gateway, HTTPRoute", "GEP1364-41"),
        one("http-two", "Gateway, HTTPRoute, HTTPRouteRetry", "upstream:HTTPRouteRetry"),
        one("tcp-one", "Gateway, TCPRoute", "upstream:TCPRouteReferenceGrant"),
    ]
    .join("---\n");
    parse("manifests/gateway-api/a.yaml", &text, &Vocabulary::builtin()).unwrap()
}

#[rstest]
#[case(&[], &[0, 1, 2])]
#[case(&["http-one"], &[0])]
#[case(&["*-one"], &[0, 2])]
#[case(&["http-???"], &[0, 1])]
#[case(&["GEP1364-41"], &[0])]
#[case(&["HTTPRouteRetry"], &[1])]
#[case(&["TCPRouteReferenceGrant"], &[2])]
#[case(&["upstream:TCPRouteReferenceGrant"], &[2])]
#[case(&["HTTPRoute"], &[0, 1])]
#[case(&["GATEWAY-TCP"], &[2])]
#[case(&["gateway-http"], &[0, 1])]
#[case(&["gateway-api"], &[0, 1, 2])]
#[case(&["tcp-one", "http-two", "http-two"], &[1, 2])]
fn selectors_mean(#[case] selectors: &[&str], #[case] expected: &[usize]) {
    let selectors = selectors.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    assert_eq!(select(&scenarios(), &selectors, &Vocabulary::builtin()).unwrap(), expected);
}

#[rstest]
#[case("http-onee", Some("http-one"))]
#[case("HTTPRouteRetyr", Some("HTTPRouteRetry"))]
#[case("GEP1364-61", Some("GEP1364-01"))]
#[case("zzz*", None)]
fn unknown_selectors_are_errors(#[case] selector: &str, #[case] near: Option<&str>) {
    let error = select(&scenarios(), &[selector.to_owned()], &Vocabulary::builtin()).unwrap_err();
    let SelectError::Unknown { near: found, .. } = &error else { panic!("{error}") };
    if let Some(near) = near
        && near != "GEP1364-01"
    {
        assert_eq!(found.as_deref(), Some(near));
    }
    assert_eq!(found.is_some(), near.is_some());
}

#[test]
fn a_known_name_without_scenarios_is_an_error() {
    let error = select(&scenarios(), &["GEP1364-42".to_owned()], &Vocabulary::builtin()).unwrap_err();
    assert_eq!(error, SelectError::Matchless("GEP1364-42".to_owned()));
    assert_eq!(select(&[], &[], &Vocabulary::builtin()).unwrap_err(), SelectError::Empty);
}
