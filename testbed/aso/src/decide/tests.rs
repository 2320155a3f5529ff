#![allow(clippy::unwrap_used)]

mod moments;

use proptest::prelude::*;
use rstest::rstest;

pub(crate) use self::moments::{Moment, moment};
use super::*;
use crate::status::{PRECONDITIONS, should_overwrite};

fn decision(name: &str, edition: Edition) -> Decision {
    let Moment { facts, memory, answer } = moment(name);
    let settings = Settings { edition, ..Settings::default() };
    let answer = answer.as_ref().map(|(request, outcome)| (request, outcome));
    decide(Seen { facts: &facts, memory: &memory, answer, now: Timestamp::UNIX_EPOCH, settings: &settings })
}

/// What is said, in one line, and the next request.
fn line(decision: &Decision) -> String {
    let said = decision.status.ready.as_ref().map_or("-".to_owned(), |ready| {
        let severity = ready.severity.map_or("-".to_owned(), |severity| format!("{severity:?}"));
        format!("{:?} {severity} {}", ready.status, ready.reason)
    });
    let next = decision.request.as_ref().map_or_else(
        || match decision.again {
            Again::Change => "waits".to_owned(),
            Again::Now => "goes on".to_owned(),
            Again::After(_) => "tries again".to_owned(),
        },
        |request| format!("{:?}", request.method).to_uppercase(),
    );
    format!("{said}, {next}")
}

#[rstest]
#[case("fresh", "False Info Reconciling, PUT")]
#[case("unowned", "-, goes on")]
#[case("elsewhere", "-, waits")]
#[case("owner-missing", "False Warning WaitingForOwner, waits")]
#[case("owner-unready", "False Warning WaitingForOwner, waits")]
#[case("owner-elsewhere", "False Error Failed, waits")]
#[case("no-credential", "False Warning Failed, waits")]
#[case("no-name", "False Error Failed, waits")]
#[case("id-broken", "False Error Failed, waits")]
#[case("id-elsewhere", "False Error SubscriptionMismatch, waits")]
#[case("secret-missing", "False Warning SecretNotFound, waits")]
#[case("config-map-missing", "False Warning ConfigMapNotFound, waits")]
#[case("reference-missing", "False Warning ReferenceNotFound, waits")]
#[case("running", "False Info Reconciling, GET")]
#[case("parked", "-, waits")]
#[case("edited", "False Info Reconciling, PUT")]
#[case("wiped", "True - Succeeded, waits")]
#[case("skip", "-, GET")]
#[case("skip-of-namespace", "-, GET")]
#[case("skip-of-operator", "-, GET")]
#[case("manage-over-operator", "False Info Reconciling, PUT")]
#[case("manage-over-namespace", "False Info Reconciling, PUT")]
#[case("misspelt", "False Info Reconciling, PUT")]
#[case("skip-404", "False Warning AzureResourceNotFound, tries again")]
#[case("skip-200", "True - Succeeded, tries again")]
#[case("put-200", "-, GET")]
#[case("put-creating", "-, tries again")]
#[case("put-202", "-, tries again")]
#[case("put-400", "False Error Whatever, waits")]
#[case("put-409", "False Warning Conflict, tries again")]
#[case("put-bare", "False Warning ServiceUnavailable, tries again")]
#[case("put-lost", "False Warning Failed, tries again")]
#[case("poll-running", "-, tries again")]
#[case("poll-failed", "False Error SkuNotAvailable, waits")]
#[case("poll-canceled", "False Warning Canceled, tries again")]
#[case("poll-done", "-, GET")]
#[case("location-400", "False Error SkuNotAvailable, waits")]
#[case("state-failed", "False Warning Failed, tries again")]
#[case("deletion-failed", "False Warning BadRequest, tries again")]
#[case("confirmed", "True - Succeeded, tries again")]
#[case("confirmed-before-edit", "-, goes on")]
#[case("put-400-before-edit", "False Error Whatever, goes on")]
#[case("confirm-failed", "False Warning Failed, tries again")]
#[case("unfit", "False Warning PostReconciliationFailure, tries again")]
#[case("foreign-secret", "False Error FailedWritingAdditionalKubernetesObjects, waits")]
#[case("blocked", "False Warning ReconciliationBlocked, tries again")]
#[case("delete", "-, DELETE")]
#[case("delete-skip", "-, waits")]
#[case("delete-detach", "-, waits")]
#[case("delete-elsewhere", "False Error SubscriptionMismatch, waits")]
#[case("delete-202", "False Info Deleting, tries again")]
#[case("delete-204", "False Info Deleting, goes on")]
#[case("delete-400", "False Warning BadRequest, tries again")]
#[case("delete-404", "False Info Deleting, goes on")]
#[case("delete-409", "False Warning Conflict, tries again")]
#[case("delete-503", "False Warning ServiceUnavailable, tries again")]
#[case("poll-503", "False Warning ServiceUnavailable, tries again")]
#[case("deletion-poll-503", "False Warning ServiceUnavailable, tries again")]
#[case("owner-by-id", "False Info Reconciling, PUT")]
#[case("secret-came", "False Info Reconciling, PUT")]
#[case("policy-changed", "False Info Reconciling, PUT")]
#[case("manage-after-skip", "False Info Reconciling, PUT")]
#[case("put-404", "False Warning ResourceGroupNotFound, tries again")]
#[case("put-429", "False Warning TooManyRequests, tries again")]
#[case("put-202-later", "-, tries again")]
#[case("confirmed-again", "True - Succeeded, tries again")]
#[case("keys", "True - Succeeded, tries again")]
#[case("lingers", "False Warning DeletionNotSupported, tries again")]
#[case("gone", "-, waits")]
fn each_moment_has_its_word_and_its_request(#[case] name: &str, #[case] expected: &str) {
    assert_eq!(line(&decision(name, Edition::Current)), expected);
}

/// What ARM asks to wait is waited at any pace.
#[rstest]
#[case("put-429", 30.0)]
#[case("put-202-later", 30.0)]
#[case("delete-429", 30.0)]
#[case("delete-202-later", 30.0)]
#[case("poll-429", 30.0)]
#[case("put-409", 0.5)]
#[case("put-202", 1.0)]
fn nothing_is_sent_before_it_may(#[case] name: &str, #[case] seconds: f64) {
    let Moment { facts, memory, answer } = moment(name);
    let settings = Settings { time_scale: 0.5, ..Settings::default() };
    let answer = answer.as_ref().map(|(request, outcome)| (request, outcome));
    let decision =
        decide(Seen { facts: &facts, memory: &memory, answer, now: Timestamp::UNIX_EPOCH, settings: &settings });
    assert_eq!(decision.again, Again::After(Duration::from_secs_f64(seconds)));
}

#[rstest]
#[case("owner-unready", "False Info Reconciling, PUT")]
#[case("unowned", "False Info Reconciling, PUT")]
#[case("resync", "-, PUT")]
#[case("confirmed", "True - Succeeded, waits")]
fn the_design_differs(#[case] name: &str, #[case] expected: &str) {
    let decision = decision(name, Edition::Design);
    assert_eq!(line(&decision), expected);
    assert!(decision.status.ready.is_none_or(|ready| ready.observed_generation.is_none()));
}

#[rstest]
#[case("delete-skip", Some(false))]
#[case("delete-detach", Some(false))]
#[case("gone", Some(false))]
#[case("delete", None)]
#[case("delete-202", None)]
#[case("owner-missing", None)]
fn the_finalizer_goes_when_nothing_is_left_to_do(#[case] name: &str, #[case] expected: Option<bool>) {
    assert_eq!(decision(name, Edition::Current).finalizer, expected);
}

fn condition() -> impl Strategy<Value = Ready> {
    let kinds = prop_oneof![
        Just((Truth::True, None)),
        Just((Truth::Unknown, None)),
        Just((Truth::False, Some(Severity::Info))),
        Just((Truth::False, Some(Severity::Warning))),
        Just((Truth::False, Some(Severity::Error))),
    ];
    let reasons = prop_oneof![Just("WaitingForOwner"), Just("Reconciling"), Just("Other")];
    (kinds, reasons, 1..4_i64, any::<bool>()).prop_map(|((status, severity), reason, generation, starts)| Ready {
        status,
        severity,
        reason: reason.into(),
        message: String::new(),
        observed_generation: Some(generation),
        starts,
    })
}

fn weight(ready: &Ready) -> u8 {
    match (ready.status, ready.severity) {
        (Truth::Unknown, _) => 3,
        (_, Some(Severity::Info)) => 4,
        _ => 5,
    }
}

proptest! {
    #[test]
    fn newer_generations_win_and_less_does_not_hide_more(new in condition(), old in condition()) {
        let value = old.to_value();
        let wins = should_overwrite(Edition::Current, &new, &value);
        let is_same = new.to_value() == value;
        if is_same {
            prop_assert!(!wins);
        } else if new.observed_generation != old.observed_generation {
            prop_assert_eq!(wins, new.observed_generation > old.observed_generation);
        } else {
            let follows = new.starts && PRECONDITIONS.contains(&old.reason.as_str());
            prop_assert_eq!(wins, follows || weight(&new) >= weight(&old));
        }
        prop_assert_eq!(should_overwrite(Edition::Design, &new, &value), !is_same);
    }
}
