//! Roots: which there are, and what each of them serves.

use std::collections::BTreeMap;

use gateproof_proxy::config::{Admits, Certificate, ClientValidation, Refuses};

use super::config::{Host, Secure};
use super::lookup::{self, Unusable};
use super::{Proxy, Round, access, policies, routes, tcpproxy};
use crate::api::{Tls, VirtualHost};

/// The roots whose host nobody else claims, by namespace and name. The others are told.
pub(super) fn unique<'p>(round: &mut Round<'p>) -> Vec<&'p Proxy> {
    let mut claims: BTreeMap<String, Vec<&Proxy>> = BTreeMap::new();
    for proxy in round.proxies.values() {
        if let Some(host) = &proxy.spec.virtualhost {
            claims.entry(host.fqdn.to_lowercase()).or_default().push(proxy);
        }
    }
    let mut roots = Vec::new();
    for (fqdn, proxies) in claims {
        if let [only] = proxies[..] {
            roots.push(only);
            continue;
        }
        let all: Vec<String> = proxies.iter().map(|proxy| proxy.id()).collect();
        for proxy in proxies {
            let message = format!("{fqdn} is the host of several HTTPProxies: {}", all.join(", "));
            round.verdict(proxy).error("VirtualHostError", "DuplicateVhost", message);
        }
    }
    roots.sort_by_key(|proxy| (&proxy.namespace, &proxy.name));
    roots
}

/// What a root serves; nothing if something stops it. Whether extensions are valid is known by namespace and name.
pub(super) fn host<'p>(
    round: &mut Round<'p>,
    proxy: &'p Proxy,
    extensions: &BTreeMap<(String, String), bool>,
) -> Option<Host> {
    round.verdict(proxy);
    let spec = &proxy.spec;
    let virtualhost = spec.virtualhost.as_ref()?;
    if round.settings.rootless.as_ref().is_some_and(|end| proxy.namespace.ends_with(end)) {
        let message = format!("{} is no namespace for roots", proxy.namespace);
        round.verdict(proxy).error("RootNamespaceError", "RootProxyNotAllowedInNamespace", message);
        return None;
    }
    if round.is_design() && virtualhost.fqdn.contains('*') {
        let message = format!("the host {} cannot be a wildcard", virtualhost.fqdn);
        round.verdict(proxy).error("VirtualHostError", "FQDNNotValid", message);
        return None;
    }
    if spec.routes.is_empty() && spec.includes.is_empty() && spec.tcpproxy.is_none() {
        round.verdict(proxy).error("SpecError", "NothingDefined", "a root needs routes, includes or a tcpproxy");
        return None;
    }
    permitted(round, proxy, virtualhost)?;
    let mut host = Host { fqdn: virtualhost.fqdn.to_lowercase(), ..Host::default() };
    let mut stops = false;
    if let Some(tls) = &virtualhost.tls {
        match secure(round, proxy, tls, virtualhost, extensions) {
            Ok(secure) => host.secure = Some(secure),
            // The design has everything told at once.
            Err(()) if round.is_design() => stops = true,
            Err(()) => return None,
        }
    }
    if spec.tcpproxy.is_some() {
        if virtualhost.tls.is_none() {
            let message = "a tcpproxy needs a Secret of tls, or passthrough";
            round.verdict(proxy).error("TCPProxyError", "TLSMustBeConfigured", message);
            return None;
        }
        let backends = tcpproxy::backends(round, proxy)?;
        if let Some(secure) = &mut host.secure {
            secure.streams = Some(backends);
        }
    }
    let default = virtualhost.jwt_providers.iter().find(|provider| provider.default).map(|provider| &*provider.name);
    host.routes = routes::of(round, proxy, &routes::Above::root(proxy, default));
    if let Some(policy) = &virtualhost.cors_policy {
        match policies::cors(policy) {
            Ok(cors) => host.cors = Some(cors),
            Err(why) => {
                round.verdict(proxy).error("CORSError", "PolicyDidNotParse", format!("corsPolicy: {why}"));
                return None;
            }
        }
    }
    if let Err(why) = policies::rates(virtualhost.rate_limit_policy.as_ref()) {
        let message = format!("rateLimitPolicy: {why}");
        round.verdict(proxy).error("VirtualHostError", "RateLimitPolicyNotValid", message);
        return None;
    }
    let Ok(addresses) = access::addresses(round, proxy, &virtualhost.ip_allow_policy, &virtualhost.ip_deny_policy)
    else {
        let message = "ipAllowPolicy or ipDenyPolicy of the host is of no use";
        round.verdict(proxy).error("IPFilterError", "IPFilterPolicyNotValid", message);
        return None;
    };
    let limit = policies::local_limit(virtualhost.rate_limit_policy.as_ref(), &host.fqdn);
    for route in &mut host.routes {
        // What a route says of itself holds in place of what its host does.
        route.guard.addresses = route.guard.addresses.take().or_else(|| addresses.clone());
        route.guard.limit = route.guard.limit.take().or_else(|| limit.clone());
    }
    let undeclared = host.routes.iter().find_map(|route| {
        let named = route.jwt.as_ref()?;
        virtualhost.jwt_providers.iter().all(|provider| provider.name != *named).then(|| named.clone())
    });
    if let Some(named) = undeclared {
        let message = format!("a route asks for the provider {named}, which nobody declares");
        round.verdict(proxy).error("JWTVerificationError", "JWTProviderNotDefined", message);
    }
    (!stops).then_some(host)
}

/// Whether the features of the host go together.
fn permitted(round: &mut Round<'_>, proxy: &Proxy, host: &VirtualHost) -> Option<()> {
    let terminates = host.tls.as_ref().is_some_and(|tls| !tls.secret_name.is_empty());
    let verdict = round.verdict(proxy);
    if !host.jwt_providers.is_empty() && !terminates {
        let message = "jwtProviders need a root at which TLS ends";
        verdict.error("JWTVerificationError", "JWTVerificationNotPermitted", message);
        return None;
    }
    let authorizes = host.authorization.as_ref().is_some_and(|one| !one.extension_ref.name.is_empty());
    if authorizes && host.tls.is_none() {
        verdict.error("AuthError", "AuthNotPermitted", "authorization needs a root at which TLS ends");
        return None;
    }
    if !host.ip_allow_policy.is_empty() && !host.ip_deny_policy.is_empty() {
        let message = "the host has ipAllowPolicy and ipDenyPolicy";
        verdict.error("IPFilterError", "IncompatibleIPAddressFilters", message);
        return None;
    }
    Some(())
}

/// What is served over TLS; an error if something stops the root.
fn secure(
    round: &mut Round<'_>,
    proxy: &Proxy,
    tls: &Tls,
    host: &VirtualHost,
    extensions: &BTreeMap<(String, String), bool>,
) -> Result<Secure, ()> {
    let refused = |round: &mut Round<'_>, reason: &str, message: String| {
        round.verdict(proxy).error("TLSError", reason, message);
        Err(())
    };
    let has_secret = !tls.secret_name.trim().is_empty();
    if tls.passthrough && tls.enable_fallback_certificate {
        let message = "passthrough and enableFallbackCertificate exclude each other";
        round.verdict(proxy).error("TLSError", "TLSIncompatibleFeatures", message);
    }
    if has_secret && tls.passthrough {
        return refused(round, "TLSConfigNotValid", "passthrough and secretName exclude each other".to_owned());
    }
    if !has_secret && !tls.passthrough {
        return refused(round, "TLSConfigNotValid", "tls needs passthrough or secretName".to_owned());
    }
    if tls.passthrough {
        if tls.client_validation.is_some() {
            let message = "passthrough and clientValidation exclude each other";
            return refused(round, "TLSIncompatibleFeatures", message.to_owned());
        }
        return Ok(Secure::default());
    }
    let certificate = certificate(round, proxy, tls)?;
    if lowest(&tls.minimum_protocol_version) > highest(&tls.maximum_protocol_version) {
        let message = "minimumProtocolVersion is above maximumProtocolVersion";
        return refused(round, "TLSConfigNotValid", message.to_owned());
    }
    let fallback = fallback(round, proxy, tls, host)?;
    let clients = clients(round, proxy, tls)?;
    let authorizes = access::authorized(round, proxy, host, extensions)?;
    access::providers(round, proxy, host)?;
    Ok(Secure { certificate: Some(certificate), fallback, clients, authorizes, streams: None })
}

/// What those are shown who say no name, where the root asks for it.
fn fallback(round: &mut Round<'_>, proxy: &Proxy, tls: &Tls, host: &VirtualHost) -> Result<Option<Certificate>, ()> {
    if !tls.enable_fallback_certificate {
        return Ok(None);
    }
    let refused = |round: &mut Round<'_>, reason: &str, message: String| {
        round.verdict(proxy).error("TLSError", reason, message);
        Err(())
    };
    for (is_there, what) in [
        (tls.client_validation.is_some(), "clientValidation"),
        (host.authorization.is_some(), "authorization"),
        (!host.jwt_providers.is_empty(), "jwtProviders"),
    ] {
        if is_there {
            let message = format!("enableFallbackCertificate and {what} exclude each other");
            return refused(round, "TLSIncompatibleFeatures", message);
        }
    }
    let Some(secret) = round.settings.fallback(&proxy.namespace) else {
        let message = "enableFallbackCertificate is set, and the implementation has no such certificate";
        return refused(round, "FallbackNotPresent", message.to_owned());
    };
    let unusable = |why: &str| format!("the Secret {secret} of enableFallbackCertificate cannot be used: {why}");
    match lookup::certificate(round.snapshot, &proxy.namespace, secret) {
        Ok(certificate) => Ok(Some(certificate)),
        Err(Unusable::NotDelegated) => {
            refused(round, "FallbackNotDelegated", unusable("its namespace does not delegate it"))
        }
        Err(Unusable::Invalid(why)) => refused(round, "FallbackNotValid", unusable(&why)),
    }
}

fn certificate(round: &mut Round<'_>, proxy: &Proxy, tls: &Tls) -> Result<Certificate, ()> {
    lookup::certificate(round.snapshot, &proxy.namespace, &tls.secret_name).map_err(|why| {
        let (reason, why) = match why {
            Unusable::NotDelegated => ("DelegationNotPermitted", "its namespace does not delegate it".to_owned()),
            Unusable::Invalid(why) => ("SecretNotValid", why),
        };
        let message = format!("the Secret {} of tls cannot be used: {why}", tls.secret_name);
        round.verdict(proxy).error("TLSError", reason, message);
    })
}

fn lowest(version: &str) -> u8 {
    if version == "1.3" { 3 } else { 2 }
}

fn highest(version: &str) -> u8 {
    if version == "1.2" { 2 } else { 3 }
}

/// What clients have to show. Without an authority that is an error which does not stop the root: certificates are asked for then, and
/// none that is shown counts. Where they are left unchecked it is none, and nobody has to show one.
fn clients(round: &mut Round<'_>, proxy: &Proxy, tls: &Tls) -> Result<Option<ClientValidation>, ()> {
    let Some(validation) = &tls.client_validation else { return Ok(None) };
    let refused = |round: &mut Round<'_>, what: &str, secret: &str, why: Unusable| {
        let (reason, why) = match why {
            Unusable::NotDelegated => ("DelegationNotPermitted", "its namespace does not delegate it".to_owned()),
            Unusable::Invalid(why) => ("ClientValidationInvalid", why),
        };
        let message = format!("the Secret {secret} with the {what} of clientValidation cannot be used: {why}");
        round.verdict(proxy).error("TLSError", reason, message);
    };
    let mut authorities = None;
    if !validation.ca_secret.is_empty() {
        let found = lookup::authorities(round.snapshot, &proxy.namespace, &validation.ca_secret);
        authorities = Some(found.map_err(|why| refused(round, "authority", &validation.ca_secret, why))?);
    }
    if !validation.crl_secret.is_empty() {
        let found = lookup::revocations(round.snapshot, &proxy.namespace, &validation.crl_secret);
        found.map_err(|why| refused(round, "revoked certificates", &validation.crl_secret, why))?;
    }
    if authorities.is_none() && !validation.skip_client_cert_validation {
        let message = "clientValidation needs caSecret";
        round.verdict(proxy).error("TLSError", "ClientValidationInvalid", message);
    }
    let admits = match (validation.skip_client_cert_validation, validation.optional_client_certificate) {
        (true, true) => Admits::Everybody,
        (true, false) => Admits::Shown,
        (false, true) => Admits::ValidOrNone,
        (false, false) => Admits::Valid,
    };
    if authorities.is_none() && validation.skip_client_cert_validation {
        return Ok(None);
    }
    let authorities = authorities.unwrap_or_default();
    Ok(Some(ClientValidation { authorities, admits, refuses: Refuses::InHandshake }))
}
