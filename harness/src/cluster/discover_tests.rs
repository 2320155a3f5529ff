#![allow(clippy::unwrap_used)]
use rstest::rstest;
use serde_json::json;

use super::*;

const BUNDLE_VERSION: &str = "example.com/version";
const CHANNEL: &str = "example.com/channel";

#[rstest]
#[case(json!([{"name": "HTTPRoute"}, {"name": "Gateway"}]), &["Gateway", "HTTPRoute"])]
#[case(json!(["Gateway"]), &["Gateway"])]
#[case(json!(["GatewayInfrastructure", "GatewayInfrastructurePropagation"]), &["GatewayInfrastructure"])]
#[case(json!([]), &[])]
fn features_are_read_in_both_forms(#[case] list: Value, #[case] expected: &[&str]) {
    assert_eq!(claimed(&json!({"status": {"supportedFeatures": list}})), expected);
}

#[rstest]
#[case(&[], "the target has no GatewayClass `x`, and no other either: the controller is not installed")]
#[case(&["a", "b"], "the target has no GatewayClass `x`; it has: a, b")]
fn a_class_that_is_missing_is_told_with_what_is_there(#[case] known: &[&str], #[case] begin: &str) {
    let known = known.iter().map(|name| (*name).to_owned()).collect();
    let said = DiscoverError::ClassMissing { kind: "GatewayClass".to_owned(), name: "x".to_owned(), known }.to_string();
    assert!(said.starts_with(begin), "{said}");
}

#[rstest]
#[case::as_annotated("v1.6.1", "standard", None, Ok(("v1.6.1", Channel::Standard, None)))]
#[case::chosen("v1.6.1", "standard", Some(("1.7", None)), Ok(("v1.7.0", Channel::Standard, Some("v1.6.1 in the standard channel"))))]
#[case::the_same("v1.6.1", "standard", Some(("1.6.1", Some(Channel::Standard))), Ok(("v1.6.1", Channel::Standard, None)))]
#[case::the_same_but_for_a_patch("v1.6.1", "standard", Some(("1.6", None)), Ok(("v1.6.1", Channel::Standard, None)))]
#[case::another_patch("v1.6.1", "standard", Some(("1.6.3", None)), Ok(("v1.6.3", Channel::Standard, Some("v1.6.1 in the standard channel"))))]
#[case::another_channel("v1.6.1", "standard", Some(("1.6.1", Some(Channel::Experimental))), Ok(("v1.6.1", Channel::Experimental, Some("v1.6.1 in the standard channel"))))]
#[case::silent("", "", Some(("1.6", Some(Channel::Standard))), Ok(("v1.6.0", Channel::Standard, Some("no release that they name"))))]
#[case::unknown("dev", "standard", Some(("1.6", None)), Ok(("v1.6.0", Channel::Standard, Some("dev in the standard channel"))))]
#[case::unknown_channel("", "", Some(("1.6", None)), Err(CHANNEL))]
#[case::unknown_release("dev", "standard", None, Err(BUNDLE_VERSION))]
fn a_release_is_chosen_or_read(
    #[case] annotated: &str,
    #[case] channel: &str,
    #[case] given: Option<(&str, Option<Channel>)>,
    #[case] expected: Result<(&str, Channel, Option<&str>), &str>,
) {
    let releases = Releases {
        definition: "x".to_owned(),
        version: BUNDLE_VERSION.to_owned(),
        channel: CHANNEL.to_owned(),
        known: Vec::new(),
    };
    let annotations = json!({BUNDLE_VERSION: annotated, CHANNEL: channel});
    let crd = json!({"metadata": {"annotations": annotations}});
    let given = given.map(|(version, channel)| GivenBundle { version: version.parse().unwrap(), channel });
    let found = match choose(&crd, &releases, given) {
        Ok(found) => Ok((found.name, found.release.channel, found.other)),
        Err(DiscoverError::Bundle { annotation, .. }) => Err(annotation),
        Err(error) => panic!("{error}"),
    };
    let expected = expected
        .map(|(name, channel, other)| (name.to_owned(), channel, other.map(str::to_owned)))
        .map_err(str::to_owned);
    assert_eq!(found, expected);
}

#[rstest]
#[case("True", 2, true)]
#[case("True", 1, false)]
#[case("False", 2, false)]
fn a_class_is_accepted_at_its_own_generation(#[case] status: &str, #[case] observed: i64, #[case] expected: bool) {
    let class = json!({
        "metadata": {"generation": 2},
        "status": {"conditions": [{"type": "Accepted", "status": status, "observedGeneration": observed}]},
    });
    assert_eq!(is_accepted(&class, &Dialect::gateway_api()), expected);
}

#[rstest]
#[case::of_an_earlier_generation(json!([{"type": "Accepted", "status": "True", "observedGeneration": 1}]), Acceptance::Accepted)]
#[case::refused(json!([{"type": "Accepted", "status": "False", "reason": "InvalidParameters", "message": "no such map"}]),
    Acceptance::Refused("InvalidParameters (\"no such map\")".to_owned()))]
#[case::the_default_of_the_crd(json!([{"type": "Accepted", "status": "Unknown", "reason": "Pending"}]), Acceptance::Silent)]
#[case::another_condition(json!([{"type": "SupportedVersion", "status": "True"}]), Acceptance::Silent)]
#[case::nothing(json!(null), Acceptance::Silent)]
fn what_the_controller_says_is_kept(#[case] conditions: Value, #[case] expected: Acceptance) {
    let class = json!({"metadata": {"generation": 2}, "status": {"conditions": conditions}});
    assert_eq!(acceptance(&class, &Dialect::gateway_api()), expected);
}

/// Where classes do not say whether they are accepted, nothing is waited for.
#[test]
fn a_class_that_is_not_asked_is_taken_as_it_is() {
    let dialect = "{apiVersion: gateproof.dev/v1alpha1, kind: Dialect, metadata: {name: a}, spec: {title: A, groups: [a.test], \
                   kinds: [{kind: A, plural: as, role: class}]}}";
    let dialect = Dialect::parse(dialect).unwrap();
    let class = json!({"metadata": {"generation": 2}, "status": {}});
    assert_eq!((acceptance(&class, &dialect), is_accepted(&class, &dialect)), (Acceptance::Unasked, true));
}
