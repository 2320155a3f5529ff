//! ExtensionServices, which others ask: their own verdicts, and which of them can be used.

use std::collections::BTreeMap;

use gateproof_runtime::object::{name, namespace, text};
use serde::Deserialize;

use super::lookup::{self, Unusable};
use super::{Round, policies};
use crate::api::ExtensionSpec;
use crate::kinds::Kind;
use crate::status::Verdict;

/// Gives every ExtensionService its verdict. Returned is which of them are valid, by namespace and name.
pub(super) fn verdicts(round: &mut Round<'_>) -> BTreeMap<(String, String), bool> {
    let mut valid = BTreeMap::new();
    for object in round.snapshot.all(Kind::ExtensionService) {
        let Ok(spec) = ExtensionSpec::deserialize(&object["spec"]) else { continue };
        let (home, own) = (namespace(object).to_owned(), name(object).to_owned());
        let verdict = verdict(round, &home, &spec);
        valid.insert((home.clone(), own.clone()), verdict.errors.is_empty());
        round.verdicts.insert((Kind::ExtensionService, home, own), verdict);
    }
    valid
}

fn verdict(round: &Round<'_>, home: &str, spec: &ExtensionSpec) -> Verdict {
    let mut verdict = Verdict::default();
    if let Err(why) = policies::timeout(spec.timeout_policy.as_ref()) {
        verdict.error("SpecError", "TimeoutPolicyNotValid", format!("timeoutPolicy: {why}"));
    }
    let strategy = policies::strategy(spec.load_balancer_policy.as_ref());
    if ["Cookie", "RequestHash"].contains(&strategy) {
        verdict.warn("SpecError", format!("the strategy {strategy} is ignored here"));
    }
    if spec.timeout_policy.as_ref().is_some_and(|policy| !policy.idle.is_empty()) {
        verdict.warn("SpecError", "the idle time of timeoutPolicy is ignored here");
    }
    if let Some(validation) = &spec.validation {
        match lookup::authorities(round.snapshot, home, &validation.ca_secret) {
            Err(Unusable::NotDelegated) => {
                let message = format!("the namespace of the Secret {} does not delegate it", validation.ca_secret);
                verdict.error("TLSError", "CACertificateNotDelegated", message);
                return verdict;
            }
            Err(Unusable::Invalid(why)) => {
                let message = format!("the Secret {} with the authority cannot be used: {why}", validation.ca_secret);
                verdict.error("SpecError", "TLSUpstreamValidation", message);
                return verdict;
            }
            Ok(_) => {}
        }
        if spec.protocol.as_deref().is_some_and(|protocol| protocol != "h2") {
            verdict.error("SpecError", "InconsistentProtocol", "validation needs TLS, and the protocol has none");
        }
    }
    for target in &spec.services {
        let is_name = round
            .snapshot
            .get(Kind::Service, home, &target.name)
            .is_some_and(|service| text(service, "/spec/type") == "ExternalName");
        match lookup::service(round, home, &target.name, target.port) {
            _ if is_name => {
                let message = format!("the Service {home}/{} is an external name", target.name);
                verdict.error("ServiceError", "UnsupportedServiceType", message);
            }
            Err(why) => verdict.error("ServiceError", "ServiceUnresolvedReference", why),
            Ok(_) => {}
        }
    }
    verdict
}
