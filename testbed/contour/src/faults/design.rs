//! What is wrong by the design document alone.

use gateproof_runtime::object::text;

use super::{edit, valid, verdicts, write_status};
use crate::seam::Fault;

pub(super) const FAULTS: &[Fault] = &[
    write_status!(
        "says-the-first-of-several-reasons",
        "Has the reason of the first error of several.",
        ["HTTPPROXY-27"],
        |_, status| {
            if let Some(condition) = valid(status).filter(|condition| condition["reason"] == "MultipleReasons") {
                condition["reason"] = text(condition, "/errors/0/reason").into();
            }
        }
    ),
    edit!("accepts-wildcards", "Says nothing of a host that is a wildcard.", ["HTTPPROXY-33"], |_, _, outcome| {
        verdicts(outcome).for_each(|verdict| verdict.errors.retain(|error| error.reason != "FQDNNotValid"));
    }),
    edit!(
        "calls-missing-services-unresolved",
        "Says ServiceUnresolvedReference where the document has ServiceNotFound.",
        ["HTTPPROXY-28"],
        |_, _, outcome| {
            for error in verdicts(outcome).flat_map(|verdict| &mut verdict.errors) {
                if error.reason == "ServiceNotFound" {
                    error.reason = "ServiceUnresolvedReference".into();
                }
            }
        }
    ),
    edit!(
        "calls-missing-secrets-no-good",
        "Says SecretNotValid where the document has TLSSecretNotFound.",
        ["HTTPPROXY-29"],
        |_, _, outcome| {
            for error in verdicts(outcome).flat_map(|verdict| &mut verdict.errors) {
                if error.reason == "TLSSecretNotFound" {
                    error.reason = "SecretNotValid".into();
                }
            }
        }
    ),
    edit!(
        "stops-telling-at-secrets",
        "Says nothing of Services where a Secret is no good.",
        ["HTTPPROXY-29", "HTTPPROXY-46"],
        |_, _, outcome| {
            for verdict in verdicts(outcome).filter(|verdict| verdict.has("TLSError")) {
                verdict.errors.retain(|error| error.r#type != "ServiceError");
            }
        }
    ),
    edit!(
        "accepts-services-that-are-not-found",
        "Says nothing of a Service that the document has not found.",
        ["HTTPPROXY-28", "HTTPPROXY-42"],
        |_, _, outcome| {
            verdicts(outcome).for_each(|verdict| verdict.errors.retain(|error| error.reason != "ServiceNotFound"));
        }
    ),
];
