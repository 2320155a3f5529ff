#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use jiff::Timestamp;
use rstest::rstest;

use super::{FAULTS, find};
use crate::{
    Behaviour, Edition, Settings,
    behaviour::Write,
    decide::{Seen, tests::moment},
    variants::{self, VARIANTS},
};

/// Everything that comes of a moment.
fn outcome(name: &str, behaviour: &Behaviour) -> String {
    let mut moment = moment(name);
    behaviour.view(&mut moment.facts);
    if let Some((request, outcome)) = &mut moment.answer {
        behaviour.hear(request, outcome);
    }
    let settings = Settings::default();
    let answer = moment.answer.as_ref().map(|(request, outcome)| (request, outcome));
    let (facts, memory) = (&moment.facts, &moment.memory);
    let decision = behaviour.decide(Seen { facts, memory, answer, now: Timestamp::UNIX_EPOCH, settings: &settings });
    let write = Write { live: &facts.object, desired: &decision.status, now: "2026-01-01T00:00:00Z" };
    let statuses = behaviour.statuses(Edition::Current, write);
    let (mut object, mut definitions) = (facts.object.as_ref().clone(), crate::definitions());
    behaviour.objects(&mut object);
    behaviour.reshape(&mut definitions);
    format!("{decision:?} {statuses:?} {object} {definitions:?}")
}

/// Where each fault shows.
const SHOWS: &[(&str, &str)] = &[
    ("says-nothing", "confirmed"),
    ("severity-when-true", "becomes-true"),
    ("unknown-with-severity", "fresh"),
    ("no-severity-when-false", "owner-missing"),
    ("severity-of-its-own", "put-400"),
    ("empty-reason", "reference-missing"),
    ("reason-with-spaces", "fresh"),
    ("message-on-success", "confirmed"),
    ("no-reconciling", "fresh"),
    ("reconciling-as-warning", "fresh"),
    ("waiting-as-error", "owner-missing"),
    ("waiting-as-info", "owner-missing"),
    ("claims-before-owner", "owner-missing"),
    ("deleting-as-reconciling", "delete-202"),
    ("no-deleting", "delete-202"),
    ("success-by-another-name", "confirmed"),
    ("resends-after-success", "confirmed"),
    ("reason-of-its-own", "put-400"),
    ("message-lost", "put-400"),
    ("fatal-as-warning", "put-400"),
    ("retries-fatal", "parked"),
    ("gives-up", "put-409"),
    ("transient-as-error", "put-409"),
    ("time-moves-with-status-alone", "put-again-409"),
    ("time-with-fractions", "fresh"),
    ("drops-state", "confirmed"),
    ("empty-code-empty-reason", "put-bare"),
    ("secret-as-reference", "secret-missing"),
    ("config-map-as-secret", "config-map-missing"),
    ("reference-as-owner", "reference-missing"),
    ("missing-credential-as-error", "no-credential"),
    ("lets-go-early", "delete-202"),
    ("failed-deletion-as-error", "delete-400"),
    ("silent-about-missing-delete", "lingers"),
    ("dips-when-resending", "resync"),
    ("generation-ahead", "subnet"),
    ("ready-twice", "confirmed"),
    ("deletes-twice", "delete-202"),
    ("keeps-operation", "poll-done"),
    ("forgets-status", "wiped"),
    ("stays-silent-once-wiped", "wiped"),
    ("stays-after-edit", "edited"),
    ("ignores-missing-owner", "owner-still-missing"),
    ("ignores-unready-owner", "owner-unready"),
    ("takes-any-subscription", "owner-elsewhere"),
    ("sends-without-secret", "secret-missing"),
    ("sends-without-config-map", "config-map-missing"),
    ("sends-without-reference", "reference-missing"),
    ("takes-over", "elsewhere"),
    ("deletes-despite-skip", "delete-skip"),
    ("deletes-despite-detach", "delete-detach"),
    ("puts-despite-skip", "skip"),
    ("misspelt-policy-skips", "misspelt"),
    ("ignores-policy-of-namespace", "skip-of-namespace"),
    ("policy-of-namespace-wins", "manage-over-namespace"),
    ("ignores-policy-of-operator", "skip-of-operator"),
    ("policy-of-operator-wins", "manage-over-operator"),
    ("overwrites-foreign-secrets", "foreign-secret"),
    ("ignores-subscription", "id-elsewhere"),
    ("creating-is-done", "put-creating"),
    ("accepted-is-done", "put-202"),
    ("failed-operation-is-done", "poll-failed"),
    ("canceled-operation-is-done", "poll-canceled"),
    ("failed-by-location-is-done", "location-400"),
    ("failed-state-is-done", "state-failed"),
    ("failed-deletion-operation-is-done", "deletion-failed"),
    ("failed-resource-is-ready", "confirm-failed"),
    ("missing-is-success", "skip-404"),
    ("failed-deletion-is-done", "delete-400"),
    ("ignores-retry-after", "put-429"),
    ("polls-early", "put-202-later"),
    ("asks-while-waiting", "owner-missing"),
    ("asks-while-parked", "parked"),
    ("asks-late-while-waiting", "owner-missing"),
    ("retries-fatal-late", "parked"),
    ("sends-late-without-secret-key", "key-missing"),
    ("sends-late-without-config-map-key", "key-missing-in-config-map"),
    ("asks-late-in-any-subscription", "id-elsewhere"),
    ("asks-late-where-ids-are-broken", "id-broken"),
    ("changes-late-what-is-blocked", "blocked-for-long"),
    ("asks-in-its-own-name", "fresh"),
    ("ignores-credential-of-namespace", "fresh"),
    ("forgets-operations-on-restart", "running"),
    ("sends-again-after-restart", "poll-done"),
    ("forgets-locations-on-restart", "running-by-location"),
    ("forgets-deletions-on-restart", "deletion-running"),
    ("drops-edits-made-meanwhile", "poll-done-before-edit"),
    ("lets-go-with-the-creation", "delete-while-running"),
    ("loses-operations-after-skip", "put-202-after-skip"),
    ("does-not-make-again", "edited-after-ready"),
    ("never-sends-again", "resync"),
    ("says-it-in-an-annotation", "resync"),
    ("retries-without-a-pause", "put-409"),
    ("bare-error-as-error", "put-bare-500"),
    ("keeps-what-was-never-claimed", "owner-missing"),
    ("overwrites-foreign-config-maps", "foreign-config-map"),
    ("deletion-by-location-is-done", "deletion-by-location-202"),
    ("sends-no-secrets", "inputs"),
    ("sends-secrets-as-they-are-stored", "inputs"),
    ("sends-no-config-maps", "inputs"),
    ("sends-keys-of-config-maps", "inputs"),
    ("sends-no-references", "inputs"),
    ("sends-names-of-references", "inputs"),
    ("mixes-up-inputs", "inputs"),
    ("sends-what-azure-has", "tagged"),
    ("mirrors-the-spec", "normalized"),
    ("writes-no-secrets", "keys"),
    ("mixes-up-keys", "keys"),
    ("writes-no-config-maps", "endpoints"),
    ("works-out-endpoints", "endpoints"),
    ("takes-its-own-for-somebody-elses", "put-again-200"),
    ("hears-edits-alone", "policy-changed"),
    ("looks-up-once", "secret-came"),
    ("changes-what-is-blocked", "blocked"),
    ("deletes-in-any-subscription", "delete-elsewhere"),
    ("works-out-broken-ids", "id-broken"),
    ("looks-for-owners-by-id", "owner-by-id"),
    ("missing-group-as-error", "put-404"),
    ("falls-back-to-its-own-credential", "no-credential"),
    ("takes-a-missing-key-for-empty", "key-missing"),
    ("takes-ids-for-names", "id-as-name"),
    ("watches-for-ever", "manage-after-skip"),
    ("missing-name-as-warning", "no-name"),
    ("once-ready-always-ready", "put-400-after-ready"),
    ("deleting-as-status", "delete-202"),
    ("observes-nothing-on-the-way", "fresh"),
    ("observes-backwards", "confirmed-again"),
    ("renews-time-when-resending", "confirmed-again"),
    ("time-goes-backwards", "confirmed"),
    ("time-to-come", "confirmed"),
    ("clears-ready-after-an-error", "edited"),
    ("deleting-after-an-error", "edited"),
    ("reasons-with-dashes", "put-bare"),
    ("writes-defaults-into-the-spec", "confirmed-again"),
    ("serves-definitions-without-rules", "fresh"),
    ("conflicting-deletion-is-done", "delete-409"),
    ("busy-deletion-is-done", "delete-503"),
    ("throttled-deletion-is-done", "delete-429"),
    ("deletion-of-what-is-gone-fails", "delete-404"),
    ("deletes-before-retry-after", "delete-429"),
    ("polls-deletions-early", "delete-202-later"),
    ("busy-deletion-polls-are-done", "deletion-poll-503"),
    ("takes-busy-polls-for-failed", "poll-503"),
    ("takes-throttled-polls-for-failed", "poll-429"),
    ("stops-polling-after-refusals", "poll-503"),
    ("polls-early-after-refusals", "poll-429"),
];

#[test]
fn every_fault_makes_a_difference_at_its_moment() {
    let listed: BTreeSet<_> = SHOWS.iter().map(|(name, _)| *name).collect();
    let known: BTreeSet<_> = FAULTS.iter().map(|fault| fault.name).collect();
    assert_eq!(listed, known);
    for (name, at) in SHOWS {
        let behaviour = Behaviour::default().with_fault(find(name).unwrap());
        assert_ne!(outcome(at, &behaviour), outcome(at, &Behaviour::default()), "{name} does nothing at {at}");
    }
}

#[rstest]
#[case("unknown-first", "fresh")]
#[case("two-writes", "confirmed")]
#[case("other-messages", "owner-missing")]
#[case("no-message-while-on-its-way", "fresh")]
#[case("empty-fields", "confirmed")]
#[case("another-condition", "fresh")]
#[case("slower-retries", "put-409")]
#[case("faster-retries", "put-409")]
#[case("slower-polls", "put-202")]
#[case("looks-first", "fresh")]
#[case("no-labels", "fresh")]
#[case("begins-again-after-refused-polls", "poll-503")]
fn every_variant_shows(#[case] name: &str, #[case] at: &str) {
    let behaviour = Behaviour::default().with_variant(variants::find(name).unwrap());
    assert_ne!(outcome(at, &behaviour), outcome(at, &Behaviour::default()));
    assert_eq!(VARIANTS.len(), 12);
}

#[test]
fn names_are_unique_and_clauses_of_known_kinds() {
    let names: BTreeSet<_> = FAULTS.iter().map(|fault| fault.name).collect();
    assert_eq!(names.len(), FAULTS.len());
    for fault in FAULTS.iter() {
        assert!(!fault.clauses.is_empty() && fault.clauses.iter().all(|clause| clause.starts_with("ASO-")));
        assert!(fault.summary.ends_with('.'), "{}", fault.name);
    }
    assert!(find("no-such-fault").is_none());
}
