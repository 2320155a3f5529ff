//! Faults in what is seen of the world and heard of ARM.

use super::{
    Fault,
    tools::{SUBSCRIPTION, object, overlook},
};
use crate::{
    arm::{How, Outcome, Poll, Purpose, Response},
    behaviour::Seam,
    kinds::Source,
    settings::Settings,
    world::{Facts, OPERATOR_NAMESPACE, Owner, RECONCILE_POLICY, RESOURCE_ID},
};

fn found(name: &str, id: &str) -> Owner {
    Owner::Found { name: name.to_owned(), is_ready: true, id: Some(id.to_owned()), uid: String::new() }
}

/// Whether the object has been looked at before.
fn has_spoken(facts: &Facts) -> bool {
    facts.object["status"]["conditions"].as_array().is_some_and(|conditions| !conditions.is_empty())
}

fn fill(facts: &mut Facts, source: Source) {
    for input in facts.inputs.iter_mut().filter(|input| input.source == source && input.value.is_err()) {
        input.value = Ok(String::new());
    }
}

fn policy(facts: &Facts) -> Option<&str> {
    facts.annotation(RECONCILE_POLICY)
}

/// Hears Succeeded instead of some states of a resource.
fn state(outcome: &mut Outcome, is_wrong: impl Fn(&str) -> bool) {
    if let Ok(response) = outcome
        && response.state().is_some_and(is_wrong)
    {
        response.body["properties"]["provisioningState"] = "Succeeded".into();
    }
}

/// Hears that an operation succeeded instead of how it ended.
fn ended(outcome: &mut Outcome, end: &str) {
    if let Ok(response) = outcome
        && response.body["status"] == end
    {
        response.body["status"] = "Succeeded".into();
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "ignores-missing-owner",
        summary: "Says once that the owner is missing, and sends the spec nevertheless.",
        clauses: &["ASO-13"],
        seam: Seam::World(|facts| {
            // An owner that only has yet to be heard of is not missing.
            if let Owner::Missing(name) = &facts.owner
                && has_spoken(facts)
            {
                facts.owner = found(name, &format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/missing"));
            }
        }),
    },
    Fault {
        name: "ignores-unready-owner",
        summary: "Sends the spec although the owner is not Ready.",
        clauses: &["ASO-A03"],
        seam: Seam::World(|facts| {
            if let Owner::Found { is_ready, .. } = &mut facts.owner {
                *is_ready = true;
            }
        }),
    },
    Fault {
        name: "takes-any-subscription",
        summary: "Takes an owner of another subscription.",
        clauses: &["ASO-A06"],
        seam: Seam::World(|facts| {
            if let Owner::Arm(id) = &facts.owner {
                facts.owner = found("", id);
            }
        }),
    },
    Fault {
        name: "sends-without-secret",
        summary: "Sends the spec with an empty value where a Secret is missing.",
        clauses: &["ASO-A07", "ASO-A08"],
        seam: Seam::World(|facts| fill(facts, Source::Secret)),
    },
    Fault {
        name: "sends-without-config-map",
        summary: "Sends the spec with an empty value where a ConfigMap is missing.",
        clauses: &["ASO-A09"],
        seam: Seam::World(|facts| fill(facts, Source::ConfigMap)),
    },
    Fault {
        name: "sends-without-reference",
        summary: "Sends the spec with an empty value where a reference leads nowhere.",
        clauses: &["ASO-A10", "ASO-A11"],
        seam: Seam::World(|facts| fill(facts, Source::Resource)),
    },
    Fault {
        name: "takes-over",
        summary: "Looks after an object that another installation looks after.",
        clauses: &["ASO-A17"],
        seam: Seam::World(|facts| {
            if facts.annotation(OPERATOR_NAMESPACE).is_some() {
                let own = Settings::default().operator_namespace;
                object(facts, |object| object["metadata"]["annotations"][OPERATOR_NAMESPACE] = own.into());
            }
        }),
    },
    Fault {
        name: "deletes-despite-skip",
        summary: "Deletes a resource that it may only read.",
        clauses: &["ASO-A18"],
        seam: Seam::World(|facts| {
            if facts.is_deleting() && policy(facts) == Some("skip") {
                overlook(facts, RECONCILE_POLICY);
            }
        }),
    },
    Fault {
        name: "deletes-despite-detach",
        summary: "Deletes a resource from which the object is to be detached.",
        clauses: &["ASO-A34"],
        seam: Seam::World(|facts| {
            if policy(facts) == Some("detach-on-delete") {
                overlook(facts, RECONCILE_POLICY);
            }
        }),
    },
    Fault {
        name: "puts-despite-skip",
        summary: "Puts a spec in that it may not put in.",
        clauses: &["ASO-A29"],
        seam: Seam::World(|facts| {
            if !facts.is_deleting() && policy(facts) == Some("skip") {
                overlook(facts, RECONCILE_POLICY);
            }
        }),
    },
    Fault {
        name: "misspelt-policy-skips",
        summary: "Takes a policy that it does not know for skip.",
        clauses: &["ASO-A19"],
        seam: Seam::World(|facts| {
            if policy(facts).is_some_and(|word| !["manage", "skip", "detach-on-delete"].contains(&word)) {
                object(facts, |object| object["metadata"]["annotations"][RECONCILE_POLICY] = "skip".into());
            }
        }),
    },
    Fault {
        name: "ignores-policy-of-namespace",
        summary: "Does not hear the policy of the namespace.",
        clauses: &["ASO-A20"],
        seam: Seam::World(|facts| facts.namespace_policy = None),
    },
    Fault {
        name: "policy-of-namespace-wins",
        summary: "Hears the policy of the namespace before that of the object.",
        clauses: &["ASO-A20"],
        seam: Seam::World(|facts| {
            if facts.namespace_policy.is_some() {
                overlook(facts, RECONCILE_POLICY);
            }
        }),
    },
    Fault {
        name: "ignores-policy-of-operator",
        summary: "Manages what has no policy, whatever the operator's default is.",
        clauses: &["ASO-A20"],
        seam: Seam::World(|facts| facts.default_policy = "manage".into()),
    },
    Fault {
        name: "policy-of-operator-wins",
        summary: "Hears a default of the operator that is not manage before the policy of the object.",
        clauses: &["ASO-A20"],
        seam: Seam::World(|facts| {
            if facts.default_policy != "manage" {
                overlook(facts, RECONCILE_POLICY);
            }
        }),
    },
    Fault {
        name: "overwrites-foreign-secrets",
        summary: "Writes into a Secret of somebody else.",
        clauses: &["ASO-A36"],
        seam: Seam::World(|facts| facts.foreign.retain(|one| !one.starts_with("Secret "))),
    },
    Fault {
        name: "overwrites-foreign-config-maps",
        summary: "Writes into a ConfigMap of somebody else.",
        clauses: &["ASO-A36"],
        seam: Seam::World(|facts| facts.foreign.retain(|one| !one.starts_with("ConfigMap "))),
    },
    Fault {
        name: "ignores-subscription",
        summary: "Sends with a credential of another subscription than the resource is of.",
        clauses: &["ASO-A37"],
        seam: Seam::World(|facts| {
            if let Some(of) = facts.annotation(RESOURCE_ID).and_then(|id| id.split('/').nth(2)) {
                facts.subscription = Ok(of.to_owned());
            }
        }),
    },
    Fault {
        name: "creating-is-done",
        summary: "Takes a provisioningState that is not final for Succeeded.",
        clauses: &["ASO-37"],
        seam: Seam::Arm(|request, outcome| {
            if matches!(request.purpose, Purpose::Put | Purpose::Confirm) {
                state(outcome, |state| !["Succeeded", "Failed", "Canceled"].contains(&state));
            }
        }),
    },
    Fault {
        name: "accepted-is-done",
        summary: "Takes 202 for 200.",
        // Nor does what is edited meanwhile get there.
        clauses: &["ASO-38", "ASO-39", "ASO-INV-8", "ASO-A48"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Put, Ok(response)) = (&request.purpose, outcome)
                && response.status == 202
            {
                *response = Response { status: 200, ..Response::default() };
            }
        }),
    },
    Fault {
        name: "failed-operation-is-done",
        summary: "Takes a failed operation for one that succeeded.",
        clauses: &["ASO-39"],
        seam: Seam::Arm(|request, outcome| {
            if matches!(&request.purpose, Purpose::Poll(poll) if !poll.deletes) {
                ended(outcome, "Failed");
            }
        }),
    },
    Fault {
        name: "failed-by-location-is-done",
        summary: "Takes an operation for done whose Location answers with an error.",
        clauses: &["ASO-39"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Poll(Poll { how: How::Location, .. }), Ok(response)) = (&request.purpose, outcome)
                && (400..429).contains(&response.status)
            {
                *response = Response { status: 200, ..Response::default() };
            }
        }),
    },
    Fault {
        name: "failed-state-is-done",
        summary: "Takes a provisioningState of Failed for success, while it follows a resource and when it looks at it in the end.",
        clauses: &["ASO-39", "ASO-40"],
        seam: Seam::Arm(|request, outcome| {
            if matches!(&request.purpose, Purpose::Poll(Poll { how: How::Body, .. }) | Purpose::Confirm) {
                state(outcome, |state| state == "Failed");
            }
        }),
    },
    Fault {
        name: "deletion-by-location-is-done",
        summary: "Takes a deletion for done whose Location says that it goes on.",
        clauses: &["ASO-INV-11"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Poll(Poll { how: How::Location, deletes: true, .. }), Ok(response)) =
                (&request.purpose, outcome)
                && response.status == 202
            {
                response.status = 204;
            }
        }),
    },
    Fault {
        name: "failed-deletion-operation-is-done",
        summary: "Takes the operation of a deletion for done that ended as Failed.",
        clauses: &["ASO-A32"],
        seam: Seam::Arm(|request, outcome| {
            if matches!(&request.purpose, Purpose::Poll(poll) if poll.deletes) {
                ended(outcome, "Failed");
            }
        }),
    },
    Fault {
        name: "canceled-operation-is-done",
        summary: "Takes a canceled operation for one that succeeded, and so the resource that it leaves behind.",
        clauses: &["ASO-39"],
        seam: Seam::Arm(|request, outcome| {
            if matches!(request.purpose, Purpose::Poll(_) | Purpose::Confirm) {
                ended(outcome, "Canceled");
                state(outcome, |state| state == "Canceled");
            }
        }),
    },
    Fault {
        name: "failed-resource-is-ready",
        summary: "Takes a resource whose provisioningState is Failed for one that is fit.",
        clauses: &["ASO-40"],
        seam: Seam::Arm(|request, outcome| {
            if request.purpose == Purpose::Confirm {
                state(outcome, |state| state == "Failed");
            }
        }),
    },
    Fault {
        name: "missing-is-success",
        summary: "Takes a missing resource that it may only read for success.",
        clauses: &["ASO-A29"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Read, Ok(response)) = (&request.purpose, outcome)
                && response.status == 404
            {
                *response = Response { status: 200, ..Response::default() };
            }
        }),
    },
    Fault {
        name: "failed-deletion-is-done",
        summary: "Takes a deletion that was refused for done.",
        clauses: &["ASO-A32"],
        seam: Seam::Arm(|request, outcome| {
            if let (Purpose::Delete, Ok(response)) = (&request.purpose, outcome)
                && response.status >= 400
            {
                response.status = 204;
            }
        }),
    },
];
