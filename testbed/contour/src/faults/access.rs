//! What is wrong with who is let in.

use gateproof_proxy::config::Protocol;
use gateproof_runtime::object::{items, text};
use serde_json::Value;

use super::{edit, forget, forget_reason, routes};
use crate::gate::{Addresses, Limit, Range};
use crate::kinds::Kind;
use crate::reconcile::{Host, config, reconcile};
use crate::seam::Fault;

pub(super) const FAULTS: &[Fault] = &[
    edit!(
        "accepts-providers-of-one-name",
        "Says nothing of two providers of tokens with one name.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "DuplicateProviderName")
    ),
    edit!(
        "accepts-two-default-providers",
        "Says nothing of two providers of tokens that are both the default.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "MultipleDefaultProvidersSpecified")
    ),
    edit!(
        "accepts-odd-schemes-of-keys",
        "Says nothing of keys that neither HTTP nor HTTPS leads to.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "RemoteJWKSSchemeInvalid")
    ),
    edit!(
        "accepts-odd-addresses-of-keys",
        "Says nothing of keys at an address that cannot be read.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "RemoteJWKSURIInvalid")
    ),
    edit!(
        "accepts-useless-validations-of-keys",
        "Says nothing of a validation of who has the keys that cannot be done.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "RemoteJWKSUpstreamValidationInvalid")
    ),
    edit!(
        "accepts-undelegated-authorities-of-keys",
        "Says nothing where the authority of who has the keys is of a namespace that does not delegate it.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "RemoteJWKSCACertificateNotDelegated")
    ),
    edit!(
        "accepts-odd-ports-of-keys",
        "Says nothing of keys at a port that is beyond all numbers.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "RemoteJWKSPortInvalid")
    ),
    edit!(
        "accepts-odd-times-of-keys",
        "Says nothing of a time for keys to come in that cannot be read.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "RemoteJWKSTimeoutInvalid")
    ),
    edit!(
        "accepts-odd-ages-of-keys",
        "Says nothing of a time to keep keys for that cannot be read.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "RemoteJWKSCacheDurationInvalid")
    ),
    edit!(
        "accepts-unknown-providers",
        "Says nothing of a route that asks for a provider of tokens which nobody declares.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "JWTProviderNotDefined")
    ),
    edit!(
        "accepts-tokens-both-ways",
        "Says nothing of a route that asks for a token and is switched off.",
        ["HTTPPROXY-K15"],
        |_, _, outcome| forget_reason(outcome, "InvalidJWTVerificationPolicy")
    ),
    edit!(
        "accepts-odd-versions-of-authorizers",
        "Says nothing of an authorization by what is no ExtensionService.",
        ["HTTPPROXY-C38"],
        |_, _, outcome| forget_reason(outcome, "AuthBadResourceVersion")
    ),
    edit!(
        "accepts-missing-authorizers",
        "Says nothing of an authorization by an ExtensionService that is not there.",
        ["HTTPPROXY-C38"],
        |_, _, outcome| forget_reason(outcome, "ExtensionServiceNotFound")
    ),
    edit!(
        "accepts-odd-times-of-authorizers",
        "Says nothing of a time for an authorization to come in that cannot be read.",
        ["HTTPPROXY-C38"],
        |_, _, outcome| forget_reason(outcome, "AuthResponseTimeoutInvalid")
    ),
    edit!(
        "accepts-fallbacks-beside-authorization",
        "Says nothing of a fallback certificate beside an authorization or tokens.",
        ["HTTPPROXY-K03"],
        |snapshot, _, outcome| {
            for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
                let host = snapshot.get(*kind, namespace, name).map(|proxy| &proxy["spec"]["virtualhost"]);
                if host.is_some_and(|host| host["authorization"].is_object() || host["jwtProviders"].is_array()) {
                    verdict.errors.retain(|error| error.reason != "TLSIncompatibleFeatures");
                }
            }
        }
    ),
    edit!(
        "accepts-undelegated-authorities-of-clients",
        "Says nothing where the authority of clients is of a namespace that does not delegate it.",
        ["HTTPPROXY-K04", "HTTPPROXY-C13"],
        |snapshot, _, outcome| {
            for ((kind, namespace, name), verdict) in &mut outcome.verdicts {
                let proxy = snapshot.get(*kind, namespace, name);
                let authority = "/spec/virtualhost/tls/clientValidation/caSecret";
                if proxy.is_some_and(|proxy| text(proxy, authority).contains('/')) {
                    verdict.errors.retain(|error| error.reason != "DelegationNotPermitted");
                }
            }
        }
    ),
    edit!("serves-without-tokens", "Serves whoever shows no token.", ["HTTPPROXY-K16"], |_, _, outcome| {
        routes(outcome).for_each(|route| route.jwt = None);
    }),
    edit!(
        "asks-for-tokens-by-default-alone",
        "Asks for no token where a route names the provider.",
        ["HTTPPROXY-K16"],
        |snapshot, _, outcome| {
            let is_default = |name: &str| {
                let proxies = snapshot.all(Kind::HttpProxy);
                proxies
                    .flat_map(|proxy| items(proxy, "/spec/virtualhost/jwtProviders"))
                    .any(|provider| provider["name"] == name && provider["default"] == true)
            };
            routes(outcome).for_each(|route| route.jwt = route.jwt.take().filter(|name| is_default(name)));
        }
    ),
    edit!(
        "asks-everybody-for-tokens",
        "Asks for the default token where that is switched off.",
        ["HTTPPROXY-K16"],
        |_, _, outcome| {
            for host in &mut outcome.hosts {
                let asked = host.routes.iter().find_map(|route| route.jwt.clone());
                host.routes.iter_mut().for_each(|route| route.jwt = route.jwt.take().or_else(|| asked.clone()));
            }
        }
    ),
    edit!("serves-the-unauthorized", "Serves whom nobody has authorized.", ["HTTPPROXY-C38"], |_, _, outcome| {
        for secure in outcome.hosts.iter_mut().filter_map(|host| host.secure.as_mut()) {
            secure.authorizes = false;
        }
    }),
    edit!(
        "fails-closed-alone",
        "Serves nobody while nobody authorizes, where everybody is to be let in then.",
        ["HTTPPROXY-C38"],
        |snapshot, _, outcome| {
            for host in &mut outcome.hosts {
                let mut proxies = snapshot.all(Kind::HttpProxy);
                let asks = proxies.any(|proxy| {
                    text(proxy, "/spec/virtualhost/fqdn") == host.fqdn
                        && !text(proxy, "/spec/virtualhost/authorization/extensionRef/name").is_empty()
                });
                if let Some(secure) = host.secure.as_mut().filter(|_| asks) {
                    secure.authorizes = true;
                }
            }
        }
    ),
    edit!(
        "authorizes-what-is-open",
        "Asks for an authorization on a route that has it switched off.",
        ["HTTPPROXY-C38"],
        |_, _, outcome| routes(outcome).for_each(|route| route.is_open = false)
    ),
    edit!(
        "stops-in-clear-text-alone",
        "Serves a root over TLS which tokens, an authorization or a list of revoked certificates stop, as if it asked for none.",
        ["HTTPPROXY-49"],
        |snapshot, settings, outcome| {
            let mut unguarded = snapshot.clone();
            unguarded.edit(Kind::HttpProxy, |proxy| {
                let mut part = |pointer, name| {
                    proxy.pointer_mut(pointer).and_then(Value::as_object_mut).map(|part| part.remove(name))
                };
                part("/spec/virtualhost", "jwtProviders");
                part("/spec/virtualhost", "authorization");
                part("/spec/virtualhost/tls/clientValidation", "crlSecret");
            });
            let terminates = |host: &Host| host.secure.as_ref().is_some_and(|secure| secure.certificate.is_some());
            let is_stopped = |fqdn: &str| outcome.hosts.iter().all(|host| host.fqdn != fqdn);
            let mut hosts = reconcile(&unguarded, settings).hosts;
            hosts.retain(|host| terminates(host) && is_stopped(&host.fqdn));
            if hosts.is_empty() {
                return;
            }
            hosts.extend_from_slice(&outcome.hosts);
            let mut config = config(&hosts, settings);
            for listener in &mut config.listeners {
                if let Protocol::Http(http) = &mut listener.protocol {
                    http.virtual_hosts.retain(|host| !is_stopped(&host.listener));
                }
            }
            outcome.config = Some(config);
        }
    ),
    edit!(
        "accepts-odd-times-of-extensions",
        "Says nothing of a time of an ExtensionService that cannot be read.",
        ["HTTPPROXY-K12"],
        |_, _, outcome| forget(outcome, |error| {
            error.r#type == "SpecError" && error.reason == "TimeoutPolicyNotValid"
        })
    ),
    edit!(
        "accepts-useless-authorities-of-extensions",
        "Says nothing of an ExtensionService whose authority cannot be used.",
        ["HTTPPROXY-K12"],
        |_, _, outcome| forget(outcome, |error| {
            error.r#type == "SpecError" && error.reason == "TLSUpstreamValidation"
        })
    ),
    edit!(
        "accepts-undelegated-authorities-of-extensions",
        "Says nothing of an ExtensionService whose authority is of a namespace that does not delegate it.",
        ["HTTPPROXY-K12"],
        |_, _, outcome| {
            for (_, verdict) in outcome.verdicts.iter_mut().filter(|(key, _)| key.0 == Kind::ExtensionService) {
                verdict.errors.retain(|error| error.reason != "CACertificateNotDelegated");
            }
        }
    ),
    edit!(
        "accepts-mixed-protocols-of-extensions",
        "Says nothing of an ExtensionService that validates what is not encrypted.",
        ["HTTPPROXY-K12"],
        |_, _, outcome| forget_reason(outcome, "InconsistentProtocol")
    ),
    edit!(
        "warns-of-nothing-in-extensions",
        "Says nothing of what is ignored in an ExtensionService.",
        ["HTTPPROXY-K12"],
        |_, _, outcome| {
            for (_, verdict) in outcome.verdicts.iter_mut().filter(|(key, _)| key.0 == Kind::ExtensionService) {
                verdict.warnings.clear();
            }
        }
    ),
    edit!("filters-no-addresses", "Lets requests in from everywhere.", ["HTTPPROXY-C37"], |_, _, outcome| {
        routes(outcome).for_each(|route| route.guard.addresses = None);
    }),
    edit!(
        "takes-denied-addresses-for-allowed",
        "Lets requests in from the addresses that are denied, and from no others.",
        ["HTTPPROXY-C37"],
        |_, _, outcome| {
            for addresses in routes(outcome).filter_map(|route| route.guard.addresses.as_mut()) {
                addresses.allows = true;
            }
        }
    ),
    edit!(
        "filters-addresses-of-hosts-alone",
        "Does not look at the addresses that a route allows or denies.",
        ["HTTPPROXY-C37"],
        |snapshot, _, outcome| {
            for host in &mut outcome.hosts {
                let mut proxies = snapshot.all(Kind::HttpProxy);
                let own = proxies.find(|proxy| text(proxy, "/spec/virtualhost/fqdn") == host.fqdn);
                let ranges = |list| {
                    items(own.unwrap_or(&Value::Null), list)
                        .filter_map(|one| Range::parse(text(one, "/cidr")))
                        .collect()
                };
                let allowed: Vec<Range> = ranges("/spec/virtualhost/ipAllowPolicy");
                let denied: Vec<Range> = ranges("/spec/virtualhost/ipDenyPolicy");
                let allows = denied.is_empty();
                let ranges = if allows { allowed } else { denied };
                let addresses = (!ranges.is_empty()).then_some(Addresses { allows, ranges });
                host.routes.iter_mut().for_each(|route| route.guard.addresses.clone_from(&addresses));
            }
        }
    ),
    edit!("limits-nothing", "Lets as many requests in as like.", ["HTTPPROXY-K20"], |_, _, outcome| {
        routes(outcome).for_each(|route| route.guard.limit = None);
    }),
    edit!("limits-hosts-alone", "Does not look at the limit of a route.", ["HTTPPROXY-K20"], |_, _, outcome| {
        let hosts: Vec<String> = outcome.hosts.iter().map(|host| host.fqdn.clone()).collect();
        let is_of_route = |limit: &Limit| !hosts.contains(&limit.of);
        routes(outcome).for_each(|route| route.guard.limit = route.guard.limit.take().filter(|one| !is_of_route(one)));
    }),
    edit!(
        "refuses-all-that-is-limited",
        "Lets nobody in where there is a limit, from the first request on.",
        ["HTTPPROXY-K20"],
        |_, _, outcome| {
            for limit in routes(outcome).filter_map(|route| route.guard.limit.as_mut()) {
                (limit.requests, limit.burst) = (0, 0);
            }
        }
    ),
    edit!(
        "answers-429-to-all-that-is-limited",
        "Answers 429 to what is limited where another code is asked for.",
        ["HTTPPROXY-K20"],
        |_, _, outcome| {
            for limit in routes(outcome).filter_map(|route| route.guard.limit.as_mut()) {
                limit.status = 429;
            }
        }
    ),
];
