//! What is wrong, and nobody is told.

use gateproof_runtime::object::items;

use super::{edit, forget, forget_reason, verdicts};
use crate::kinds::{Kind, Snapshot};
use crate::reconcile::Outcome;
use crate::seam::Fault;

/// Tells nothing of a reason where an include of the HTTPProxy asks this sort of condition.
fn forget_of_includes(snapshot: &Snapshot, outcome: &mut Outcome, sort: &str, reason: &str) {
    for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
        let Some(proxy) = snapshot.get(*kind, namespace, name) else { continue };
        let mut asked = items(proxy, "/spec/includes").flat_map(|include| items(include, "/conditions"));
        if asked.any(|condition| condition.get(sort).is_some()) {
            verdict.errors.retain(|error| error.reason != reason);
        }
    }
}

/// Tells nothing of a reason where a route of the HTTPProxy has something at this place.
fn forget_of_routes(snapshot: &Snapshot, outcome: &mut Outcome, place: &str, reason: &str) {
    for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
        let Some(proxy) = snapshot.get(*kind, namespace, name) else { continue };
        if items(proxy, "/spec/routes").any(|route| route.pointer(place).is_some()) {
            verdict.errors.retain(|error| error.reason != reason);
        }
    }
}

pub(super) const FAULTS: &[Fault] = &[
    edit!("accepts-orphans", "Calls an HTTPProxy valid that no root leads to.", ["HTTPPROXY-C16"], |_, _, outcome| {
        forget_reason(outcome, "Orphaned");
    }),
    edit!(
        "accepts-missing-services",
        "Says nothing of a Service that a route leads to and that is not there.",
        ["HTTPPROXY-C03"],
        |_, _, outcome| forget(outcome, |error| {
            error.r#type == "ServiceError" && error.reason == "ServiceUnresolvedReference"
        })
    ),
    edit!(
        "accepts-names-of-the-machine",
        "Says nothing of a Service that is another name for the machine itself.",
        ["HTTPPROXY-K27"],
        |_, _, outcome| forget(outcome, |error| error.message.contains("of the machine itself"))
    ),
    edit!(
        "accepts-missing-services-of-streams",
        "Says nothing of a Service that a tcpproxy leads to and that is not there.",
        ["HTTPPROXY-C35", "HTTPPROXY-43"],
        |_, _, outcome| forget(outcome, |error| {
            error.r#type == "TCPProxyError" && error.reason == "ServiceUnresolvedReference"
        })
    ),
    edit!(
        "tells-each-error-once",
        "Tells of one missing Service where several are.",
        ["HTTPPROXY-46"],
        |_, _, outcome| {
            for verdict in verdicts(outcome) {
                verdict.errors.dedup_by(|a, b| (&a.r#type, &a.reason) == (&b.r#type, &b.reason));
            }
        }
    ),
    edit!(
        "accepts-missing-includes",
        "Says nothing of an include of what is not there.",
        ["HTTPPROXY-C18", "HTTPPROXY-37"],
        |_, _, outcome| forget(outcome, |error| error.r#type == "IncludeError" && error.reason == "IncludeNotFound")
    ),
    edit!(
        "accepts-included-roots",
        "Says nothing of an include of a root.",
        ["HTTPPROXY-C20", "HTTPPROXY-37"],
        |_, _, outcome| {
            forget(outcome, |error| error.r#type == "IncludeError" && error.reason == "RootIncludesRoot");
        }
    ),
    edit!(
        "accepts-circles",
        "Says nothing of includes in a circle.",
        ["HTTPPROXY-C21", "HTTPPROXY-37"],
        |_, _, outcome| {
            forget(outcome, |error| error.r#type == "IncludeError" && error.reason == "IncludeCreatesCycle");
        }
    ),
    edit!(
        "accepts-circles-of-streams",
        "Says nothing of includes of a tcpproxy in a circle.",
        ["HTTPPROXY-C35"],
        |_, _, outcome| forget(outcome, |error| error.r#type == "TCPProxyIncludeError")
    ),
    edit!(
        "accepts-duplicate-includes",
        "Says nothing of an include whose conditions another one has.",
        ["HTTPPROXY-C23", "HTTPPROXY-37"],
        |_, _, outcome| forget_reason(outcome, "DuplicateMatchConditions")
    ),
    edit!(
        "accepts-useless-secrets",
        "Calls a root valid whose Secret is no good, and does not serve it.",
        ["HTTPPROXY-C11"],
        |_, _, outcome| forget_reason(outcome, "SecretNotValid")
    ),
    edit!(
        "accepts-undelegated-secrets",
        "Calls a root valid whose Secret is of a namespace that does not delegate it, and does not serve it.",
        ["HTTPPROXY-C13", "HTTPPROXY-34"],
        |_, _, outcome| forget_reason(outcome, "DelegationNotPermitted")
    ),
    edit!(
        "accepts-empty-roots",
        "Calls a root valid that has nothing to serve.",
        ["HTTPPROXY-K02"],
        |_, _, outcome| {
            forget(outcome, |error| error.r#type == "SpecError" && error.reason == "NothingDefined");
        }
    ),
    edit!(
        "accepts-roots-anywhere",
        "Says nothing of a root outside of the namespaces for roots.",
        ["HTTPPROXY-32"],
        |_, _, outcome| forget(outcome, |error| error.r#type == "RootNamespaceError")
    ),
    edit!(
        "accepts-odd-actions",
        "Says nothing of a route with several actions or none.",
        ["HTTPPROXY-C26"],
        |_, _, outcome| {
            forget_reason(outcome, "RouteActionCountNotValid");
        }
    ),
    edit!(
        "accepts-odd-header-conditions",
        "Says nothing of conditions about headers that contradict each other.",
        ["HTTPPROXY-C27", "HTTPPROXY-39"],
        |_, _, outcome| {
            forget_reason(outcome, "HeaderMatchConditionsNotValid");
        }
    ),
    edit!(
        "accepts-odd-query-conditions",
        "Says nothing of conditions about query parameters that contradict each other.",
        ["HTTPPROXY-C27"],
        |_, _, outcome| {
            forget_reason(outcome, "QueryParameterMatchConditionsNotValid");
        }
    ),
    edit!(
        "accepts-odd-paths",
        "Says nothing of a path that cannot be matched.",
        ["HTTPPROXY-C28", "HTTPPROXY-38"],
        |_, _, outcome| {
            forget_reason(outcome, "PathMatchConditionsNotValid");
        }
    ),
    edit!(
        "accepts-patterns-in-includes",
        "Says nothing of a regular expression in an include.",
        ["HTTPPROXY-C28"],
        |snapshot, _, outcome| forget_of_includes(snapshot, outcome, "regex", "PathMatchConditionsNotValid")
    ),
    edit!(
        "accepts-odd-queries-of-includes",
        "Says nothing of conditions of includes about query parameters that contradict each other.",
        ["HTTPPROXY-C27"],
        |snapshot, _, outcome| {
            forget_of_includes(snapshot, outcome, "queryParameter", "QueryParameterMatchConditionsNotValid");
        }
    ),
    edit!(
        "accepts-odd-request-headers",
        "Says nothing of what cannot be done to headers of requests.",
        ["HTTPPROXY-C29", "HTTPPROXY-40", "HTTPPROXY-48"],
        |_, _, outcome| {
            forget_reason(outcome, "RequestHeadersPolicyInvalid");
        }
    ),
    edit!(
        "accepts-odd-response-headers",
        "Says nothing of what cannot be done to headers of responses.",
        ["HTTPPROXY-C29", "HTTPPROXY-40", "HTTPPROXY-48"],
        |_, _, outcome| {
            forget(outcome, |error| {
                ["ResponseHeaderPolicyInvalid", "ResponseHeadersPolicyInvalid"].contains(&&*error.reason)
            });
        }
    ),
    edit!(
        "accepts-odd-headers-of-services",
        "Says nothing of what cannot be done to headers for one service of a route.",
        ["HTTPPROXY-C29", "HTTPPROXY-48"],
        |_, _, outcome| {
            forget(outcome, |error| {
                error.r#type == "ServiceError"
                    && ["RequestHeadersPolicyInvalid", "ResponseHeadersPolicyInvalid"].contains(&&*error.reason)
            });
        }
    ),
    edit!(
        "accepts-odd-replacements",
        "Says nothing of replacements of prefixes that cannot be done.",
        ["HTTPPROXY-C30", "HTTPPROXY-41"],
        |_, _, outcome| {
            forget(outcome, |error| error.r#type == "PrefixReplaceError");
        }
    ),
    edit!(
        "accepts-two-mirrors",
        "Says nothing of a second mirror.",
        ["HTTPPROXY-C31", "HTTPPROXY-42"],
        |_, _, outcome| {
            forget_reason(outcome, "OnlyOneMirror");
        }
    ),
    edit!(
        "accepts-odd-redirects",
        "Says nothing of a redirect to a path and a prefix.",
        ["HTTPPROXY-C32"],
        |_, _, outcome| {
            forget_reason(outcome, "RequestRedirectPolicy");
        }
    ),
    edit!(
        "accepts-odd-origins",
        "Says nothing of an origin that cannot be read.",
        ["HTTPPROXY-C34"],
        |_, _, outcome| {
            forget(outcome, |error| error.r#type == "CORSError");
        }
    ),
    edit!(
        "accepts-odd-ages-of-cors",
        "Says nothing of an age of CORS that cannot be read.",
        ["HTTPPROXY-C34"],
        |_, _, outcome| {
            forget(outcome, |error| error.r#type == "CORSError" && error.message.contains("duration"));
        }
    ),
    edit!(
        "accepts-odd-streams",
        "Says nothing of a tcpproxy with several ends or none.",
        ["HTTPPROXY-C35", "HTTPPROXY-43"],
        |_, _, outcome| {
            forget(outcome, |error| {
                ["NoServicesAndInclude", "NothingDefined"].contains(&&*error.reason) && error.r#type == "TCPProxyError"
            });
        }
    ),
    edit!(
        "accepts-streams-in-clear-text",
        "Says nothing of a tcpproxy without TLS.",
        ["HTTPPROXY-C35", "HTTPPROXY-36"],
        |_, _, outcome| {
            forget_reason(outcome, "TLSMustBeConfigured");
        }
    ),
    edit!(
        "accepts-excluded-tls",
        "Says nothing of features of TLS that exclude each other.",
        ["HTTPPROXY-K03", "HTTPPROXY-35", "HTTPPROXY-36"],
        |_, _, outcome| {
            forget_reason(outcome, "TLSIncompatibleFeatures");
        }
    ),
    edit!(
        "accepts-missing-fallbacks",
        "Says nothing of a root that is to fall back on a certificate which nobody has configured.",
        ["HTTPPROXY-K03", "HTTPPROXY-35"],
        |_, _, outcome| forget_reason(outcome, "FallbackNotPresent")
    ),
    edit!(
        "accepts-undelegated-fallbacks",
        "Says nothing of a fallback certificate whose namespace does not delegate it.",
        ["HTTPPROXY-K21", "HTTPPROXY-35"],
        |_, _, outcome| forget_reason(outcome, "FallbackNotDelegated")
    ),
    edit!(
        "accepts-useless-fallbacks",
        "Says nothing of a fallback certificate that is no good.",
        ["HTTPPROXY-K21", "HTTPPROXY-35"],
        |_, _, outcome| forget_reason(outcome, "FallbackNotValid")
    ),
    edit!(
        "accepts-odd-tls",
        "Says nothing of a configuration of TLS that says nothing or too much.",
        ["HTTPPROXY-K03"],
        |_, _, outcome| {
            forget_reason(outcome, "TLSConfigNotValid");
        }
    ),
    edit!(
        "accepts-useless-authorities",
        "Says nothing of a validation of clients that cannot be done.",
        ["HTTPPROXY-K04", "HTTPPROXY-36"],
        |_, _, outcome| {
            forget_reason(outcome, "ClientValidationInvalid");
        }
    ),
    edit!(
        "accepts-useless-validations",
        "Says nothing of a validation of a Service that cannot be done.",
        ["HTTPPROXY-K06", "HTTPPROXY-42"],
        |_, _, outcome| {
            forget_reason(outcome, "TLSUpstreamValidation");
        }
    ),
    edit!(
        "accepts-addresses-both-ways",
        "Says nothing where addresses are allowed and denied at once.",
        ["HTTPPROXY-K10"],
        |_, _, outcome| {
            forget_reason(outcome, "IncompatibleIPAddressFilters");
        }
    ),
    edit!(
        "accepts-odd-policies",
        "Says nothing of a policy of timeouts or cookies that cannot be read.",
        ["HTTPPROXY-K11"],
        |_, _, outcome| {
            forget(outcome, |error| {
                ["TimeoutPolicyNotValid", "CookieRewritePoliciesInvalid", "RateLimitPolicyNotValid"]
                    .contains(&&*error.reason)
            });
        }
    ),
    edit!(
        "accepts-odd-cookies-of-services",
        "Says nothing of what cannot be done to cookies for one service of a route.",
        ["HTTPPROXY-K11"],
        |snapshot, _, outcome| forget_of_routes(
            snapshot,
            outcome,
            "/services/0/cookieRewritePolicies",
            "CookieRewritePoliciesInvalid"
        )
    ),
    edit!(
        "accepts-odd-local-limits",
        "Says nothing of a limit that the data path counts and that cannot be read.",
        ["HTTPPROXY-K11"],
        |snapshot, _, outcome| forget_of_routes(snapshot, outcome, "/rateLimitPolicy/local", "RateLimitPolicyNotValid")
    ),
    edit!(
        "accepts-authorization-in-clear-text",
        "Says nothing of authorization and tokens where no TLS ends.",
        ["HTTPPROXY-K13"],
        |_, _, outcome| {
            forget(outcome, |error| ["AuthNotPermitted", "JWTVerificationNotPermitted"].contains(&&*error.reason));
        }
    ),
    edit!(
        "tells-extensions-nothing",
        "Gives ExtensionServices no status.",
        ["HTTPPROXY-K12", "HTTPPROXY-44"],
        |_, _, outcome| {
            outcome.verdicts.retain(|key, _| key.0 != Kind::ExtensionService);
        }
    ),
    edit!(
        "accepts-slow-starts-by-chance",
        "Says nothing of a slow start where endpoints are drawn by chance.",
        ["HTTPPROXY-K17"],
        |_, _, outcome| forget_reason(outcome, "SlowStartInvalid")
    ),
    edit!(
        "accepts-odd-limits-of-hosts",
        "Says nothing of a limit of rates of a host that cannot be read.",
        ["HTTPPROXY-K18"],
        |_, _, outcome| forget(outcome, |error| {
            error.r#type == "VirtualHostError" && error.reason == "RateLimitPolicyNotValid"
        })
    ),
    edit!("warns-of-nothing", "Says nothing of what is ignored.", ["HTTPPROXY-C36"], |_, _, outcome| {
        verdicts(outcome).for_each(|verdict| verdict.warnings.clear());
    }),
];
