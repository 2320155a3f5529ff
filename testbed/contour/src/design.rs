//! The words of the design document, where they are others than those that are shipped.

use crate::status::Verdict;

/// A family with a reason.
type Words = (&'static str, &'static str);

/// As shipped, and as the document has them.
const WORDS: [(Words, Words); 15] = [
    (("ServiceError", "ServiceUnresolvedReference"), ("ServiceError", "ServiceNotFound")),
    (("TLSError", "SecretNotValid"), ("TLSError", "TLSSecretNotFound")),
    (("TLSError", "FallbackNotPresent"), ("TLSFallbackError", "FallbackNotPresent")),
    (("TLSError", "FallbackNotDelegated"), ("TLSFallbackError", "FallbackNotDelegated")),
    (("TLSError", "FallbackNotValid"), ("TLSFallbackError", "FallbackNotValid")),
    (("TLSError", "ClientValidationInvalid"), ("TLSClientValidationError", "ClientValidationInvalid")),
    (("RouteError", "PathMatchConditionsNotValid"), ("PathConditionsError", "PathMatchConditionsNotValid")),
    (("RouteError", "HeaderMatchConditionsNotValid"), ("HeaderConditionsError", "HeaderMatchConditionsNotValid")),
    (("RouteError", "RequestHeadersPolicyInvalid"), ("HeadersPolicyError", "RequestHeadersPolicyInvalid")),
    (("RouteError", "ResponseHeaderPolicyInvalid"), ("HeadersPolicyError", "ResponseHeadersPolicyInvalid")),
    (("ServiceError", "RequestHeadersPolicyInvalid"), ("HeadersPolicyError", "RequestHeadersPolicyInvalid")),
    (("ServiceError", "ResponseHeadersPolicyInvalid"), ("HeadersPolicyError", "ResponseHeadersPolicyInvalid")),
    (("TCPProxyIncludeError", "IncludeNotFound"), ("TCPProxyError", "IncludeNotFound")),
    (("TCPProxyIncludeError", "RootIncludesRoot"), ("TCPProxyError", "RootIncludesRoot")),
    (("TCPProxyIncludeError", "IncludeCreatesCycle"), ("TCPProxyError", "IncludeCreatesCycle")),
];

/// Puts a verdict into the words of the document.
pub(crate) fn reword(verdict: &mut Verdict) {
    for error in &mut verdict.errors {
        let shipped = (&*error.r#type, &*error.reason);
        if let Some((_, (family, reason))) = WORDS.iter().find(|(words, _)| *words == shipped) {
            error.r#type = (*family).to_owned();
            error.reason = (*reason).to_owned();
        }
    }
}
