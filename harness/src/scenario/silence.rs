//! Negatives that a controller meets by saying nothing: that a route has no entry is so before anybody looked at it.
//!
//! What proves that it was looked at: an entry that it had before, or the entry of another route that was applied
//! later, and then a hold, because a controller may well take up the later one first.

use crate::dialects::Standing;

use super::model::{Ending, ObjectRef, Parents, Place, Scenario, Settle, Step, SubjectExpectation, Verb};

/// Where an expectation of no entry can be met by silence.
pub(super) fn met_by_silence(scenario: &Scenario) -> Vec<Place> {
    let mut found = Vec::new();
    for (index, step) in scenario.steps.iter().enumerate() {
        let before: Vec<&Step> =
            scenario.steps[..index].iter().filter(|before| scenario.goes_with(before, step)).collect();
        for settle in settles(step) {
            let proven = |subject: &SubjectExpectation| {
                had_an_entry(&before, &subject.subject)
                    || (settle.subjects.iter().any(|other| speaks_later(scenario, other, &subject.subject))
                        && scenario.steps[index..]
                            .iter()
                            .any(|later| holds(later, &subject.subject) && scenario.goes_with(later, step)))
            };
            found.extend(settle.subjects.iter().filter(|s| expects_none(s) && !proven(s)).map(|s| s.place));
        }
        if let Verb::Hold(hold) = &step.verb {
            let spoke = |subject: &ObjectRef| {
                let mut all = before.iter().flat_map(|before| settles(before)).flat_map(|settle| &settle.subjects);
                had_an_entry(&before, subject) || all.any(|other| speaks_later(scenario, other, subject))
            };
            found.extend(hold.always.iter().filter(|s| expects_none(s) && !spoke(&s.subject)).map(|s| s.place));
        }
    }
    found
}

fn settles(step: &Step) -> Vec<&Settle> {
    let own = match &step.verb {
        Verb::Settle(settle) => Some(settle),
        _ => None,
    };
    let ends = step.either.iter().filter_map(|ending| match ending {
        Ending::Settle(settle, _) => Some(settle),
        Ending::Refused(..) | Ending::Admitted => None,
    });
    own.into_iter().chain(ends).collect()
}

fn expects_none(subject: &SubjectExpectation) -> bool {
    match &subject.parents {
        Parents::Every => false,
        Parents::Selected(parents) => parents.iter().all(|parent| parent.absent),
        Parents::Absent => true,
    }
}

/// Whether it can only be met by an entry that the controller wrote.
fn expects_an_entry(subject: &SubjectExpectation) -> bool {
    subject.standing == Standing::Parents
        && match &subject.parents {
            Parents::Every => subject.conditions.values().any(|condition| !condition.absent && !condition.optional),
            Parents::Selected(parents) => parents.iter().any(|parent| !parent.absent),
            Parents::Absent => false,
        }
}

/// Whether the object had an entry that it did not lose by being deleted.
fn had_an_entry(before: &[&Step], object: &ObjectRef) -> bool {
    before.iter().fold(false, |had, step| {
        let deleted = matches!(&step.verb, Verb::Delete(delete) if delete.objects.contains(object));
        let has = settles(step).iter().flat_map(|s| &s.subjects).any(|s| s.subject == *object && expects_an_entry(s));
        (had && !deleted) || has
    })
}

/// Whether `other` expects an entry of a route that is applied after this one.
fn speaks_later(scenario: &Scenario, other: &SubjectExpectation, route: &ObjectRef) -> bool {
    let later = applied(scenario, &other.subject).zip(applied(scenario, route)).is_some_and(|(a, b)| a > b);
    later && expects_an_entry(other)
}

fn holds(step: &Step, object: &ObjectRef) -> bool {
    let Verb::Hold(hold) = &step.verb else { return false };
    hold.unchanged.contains(object) || hold.never.iter().chain(&hold.always).any(|s| s.subject == *object)
}

/// Where an object is applied first: the step, and the position in it.
fn applied(scenario: &Scenario, object: &ObjectRef) -> Option<(usize, usize)> {
    scenario.steps.iter().enumerate().find_map(|(index, step)| {
        let Verb::Apply(apply) = &step.verb else { return None };
        let is = |value: &serde_json::Value| {
            value["kind"] == object.kind.as_str() && value["metadata"]["name"] == object.name.as_str()
        };
        Some((index, apply.objects.iter().position(is)?))
    })
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
  gateways: {gw: http}
  steps:
"#;
    const ROUTE: &str = r#"    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: route}, spec: {parentRefs: ["${gw}"]}}]
"#;
    const WITNESS: &str = r#"    - apply: [{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: witness}, spec: {parentRefs: ["${gw}"]}}]
"#;
    const NONE: &str = "    - settle: {HTTPRoute/route: {parents: none}}\n";
    const NO_SUCH: &str = "    - settle: {HTTPRoute/route: {parents: [{ref: \"${gw}\", absent: true}]}}\n";
    const BOTH: &str = "    - settle: {HTTPRoute/witness: {Accepted: \"True\"}, HTTPRoute/route: {parents: none}}\n";
    const ENTRY: &str = "    - settle: {HTTPRoute/route: {Accepted: \"True\"}}\n";
    const DELETE: &str = "    - delete: [HTTPRoute/route]\n";
    const HOLD: &str = "    - hold: {for: quiet, unchanged: [HTTPRoute/route]}\n";
    const ALWAYS: &str = "    - hold: {for: quiet, always: {HTTPRoute/route: {parents: none}}}\n";
    const LIFE: &str = "    - settle: {HTTPRoute/witness: {Accepted: \"True\"}}\n";

    const ENDS: &str = "    - apply: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]\n      either:\n        - refused: {}\n          then:\n";
    const OTHER_END: &str = "        - refused: {code: 409}\n          then:\n";
    const ENTRY_THEN: &str = "            - settle: {HTTPRoute/route: {Accepted: \"True\"}}\n";
    const NONE_THEN: &str = "            - settle: {HTTPRoute/route: {parents: none}}\n";

    #[rstest]
    #[case::at_once(&[ROUTE, NONE], 1)]
    #[case::no_such_entry(&[ROUTE, NO_SUCH], 1)]
    #[case::with_a_hold_of_silence(&[ROUTE, NONE, HOLD], 1)]
    #[case::taken_away(&[ROUTE, ENTRY, NONE], 0)]
    #[case::made_again(&[ROUTE, ENTRY, DELETE, ROUTE, NONE], 1)]
    #[case::with_a_witness(&[ROUTE, WITNESS, BOTH, HOLD], 0)]
    #[case::nobody_waits(&[ROUTE, WITNESS, BOTH], 1)]
    #[case::the_witness_is_older(&[WITNESS, ROUTE, BOTH, HOLD], 1)]
    #[case::held_in_silence(&[ROUTE, ALWAYS], 1)]
    #[case::spoke_at_another_end(&[ROUTE, ENDS, ENTRY_THEN, OTHER_END, NONE_THEN], 1)]
    #[case::spoke_before_the_ends(&[ROUTE, ENTRY, ENDS, NONE_THEN], 0)]
    #[case::held_after_life(&[ROUTE, WITNESS, LIFE, ALWAYS], 0)]
    fn silence_proves_nothing(#[case] steps: &[&str], #[case] problems: usize) {
        let text = format!("{HEAD}{}", steps.concat());
        let found = parse("a.yaml", &text, &Vocabulary::builtin()).err().unwrap_or_default();
        let told: Vec<_> = found.iter().map(|p| p.message.as_str()).collect();
        assert_eq!(told.len(), problems, "{told:?}");
        assert!(told.iter().all(|message| message.contains("has not spoken")), "{told:?}");
        assert!(found.iter().all(|p| p.snippet.contains("HTTPRoute/route")), "{found:?}");
    }
}
