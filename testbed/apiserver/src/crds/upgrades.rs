//! The policy that comes with the definitions since v1.5, and keeps them from becoming those of an older release, or of the experimental
//! channel where the other one is.

use serde_json::{Value, json};

use super::{BUNDLE_VERSION, BUNDLE_VERSION_ANNOTATION, CHANNEL_ANNOTATION, Channel};

/// The name of policy and binding.
const NAME: &str = "safe-upgrades.gateway.networking.k8s.io";

const OURS: &str = "object.spec.group == 'gateway.networking.k8s.io'";
const NOW: &str = "has(object.metadata.annotations) ? object.metadata.annotations : {}";
const BEFORE: &str = "oldObject != null && has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}";

/// The releases that definitions of the standard channel may not be of, wherever in their name that stands.
const OLDER_THAN_STANDARD: &str = "v0|v1.[0-6].[0-9]";
/// The releases that definitions beside the experimental channel's may be of.
const BESIDE_EXPERIMENTAL: &str = "^(v0[.]0[.]0-dev$|v1[.])";
/// And those that they may not.
const OLDER_THAN_EXPERIMENTAL: &str = "^v1[.][0-4]([.]|$)";

/// The policy of a channel and its binding, of [`BUNDLE_VERSION`].
#[must_use]
pub fn safe_upgrades(channel: Channel) -> [Value; 2] {
    let said = |of: &str, annotation: &str| format!("variables.{of}['{annotation}']");
    let is_said = |of: &str, annotation: &str| format!("'{annotation}' in variables.{of}");
    let is_of = |of: &str, channel: Channel| {
        format!("({} && {} == '{channel}')", is_said(of, CHANNEL_ANNOTATION), said(of, CHANNEL_ANNOTATION))
    };
    let release = said("now", BUNDLE_VERSION_ANNOTATION);
    let (is_recent, first) = match channel {
        Channel::Standard => (format!("!{release}.matches('{OLDER_THAN_STANDARD}')"), "v1.7.0"),
        Channel::Experimental => {
            let is_older = format!("{release}.matches('{OLDER_THAN_EXPERIMENTAL}')");
            (format!("{release}.matches('{BESIDE_EXPERIMENTAL}') && !{is_older}"), "v1.5.0")
        }
    };
    let channels = format!(
        "!variables.ours || oldObject == null || {} || {}",
        is_of("now", Channel::Standard),
        is_of("before", Channel::Experimental)
    );
    let releases = format!("!variables.ours || ({} && {is_recent})", is_said("now", BUNDLE_VERSION_ANNOTATION));
    let way_out = format!("; whoever means it deletes ValidatingAdmissionPolicy {NAME} first");
    // The official ones say so of both channels.
    let annotations =
        json!({BUNDLE_VERSION_ANNOTATION: BUNDLE_VERSION, CHANNEL_ANNOTATION: Channel::Standard.as_str()});
    let rule = |resources: &str| {
        json!({
            "apiGroups": ["apiextensions.k8s.io"],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [resources],
        })
    };
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME, "annotations": annotations},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule("*")]},
            "variables": [
                {"name": "ours", "expression": OURS},
                {"name": "now", "expression": NOW},
                {"name": "before", "expression": BEFORE},
            ],
            "validations": [
                {
                    "expression": channels,
                    "message": format!("experimental definitions may not take the place of standard ones{way_out}"),
                    "reason": "Invalid",
                },
                {
                    "expression": releases,
                    "message": format!("definitions have to be of {first} or newer, and to say so{way_out}"),
                    "reason": "Invalid",
                },
            ],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME, "annotations": annotations},
        "spec": {
            "policyName": NAME,
            "validationActions": ["Deny"],
            "matchResources": {"resourceRules": [rule("customresourcedefinitions")]},
        },
    });
    [policy, binding]
}
