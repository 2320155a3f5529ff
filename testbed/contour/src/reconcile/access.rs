//! Who is let in: services that authorize, providers of tokens, and addresses.

use std::collections::BTreeMap;

use url::{ParseError, Url};

use super::lookup::{self, Unusable};
use super::{Proxy, Round, policies};
use crate::api::{IpFilter, RemoteKeys, VirtualHost};
use crate::gate::{Addresses, Range};

/// Whether a service is asked who may come in. An error if it cannot be.
pub(super) fn authorized(
    round: &mut Round<'_>,
    proxy: &Proxy,
    host: &VirtualHost,
    extensions: &BTreeMap<(String, String), bool>,
) -> Result<bool, ()> {
    let Some(authorization) = &host.authorization else { return Ok(false) };
    let reference = &authorization.extension_ref;
    if reference.name.is_empty() {
        return Ok(false);
    }
    if !["", "projectcontour.io/v1alpha1"].contains(&&*reference.api_version) {
        let message = format!("{} is no version of ExtensionServices", reference.api_version);
        round.verdict(proxy).error("AuthError", "AuthBadResourceVersion", message);
        return Err(());
    }
    let home = if reference.namespace.is_empty() { &proxy.namespace } else { &reference.namespace };
    if extensions.get(&(home.clone(), reference.name.clone())) != Some(&true) {
        let message = format!("there is no valid ExtensionService {home}/{}", reference.name);
        round.verdict(proxy).error("AuthError", "ExtensionServiceNotFound", message);
        return Err(());
    }
    if let Err(why) = policies::span(&authorization.response_timeout) {
        let message = format!("responseTimeout of authorization: {why}");
        round.verdict(proxy).error("AuthError", "AuthResponseTimeoutInvalid", message);
        return Err(());
    }
    Ok(!authorization.fail_open)
}

/// Whether the providers of tokens are told apart, and their keys can be had.
pub(super) fn providers(round: &mut Round<'_>, proxy: &Proxy, host: &VirtualHost) -> Result<(), ()> {
    for (index, provider) in host.jwt_providers.iter().enumerate() {
        let before = &host.jwt_providers[..index];
        let name = &provider.name;
        let wrong = if before.iter().any(|other| other.name == *name) {
            Err(("DuplicateProviderName", format!("two providers of tokens are called {name}")))
        } else if provider.default && before.iter().any(|other| other.default) {
            Err(("MultipleDefaultProvidersSpecified", "two providers of tokens are the default".to_owned()))
        } else {
            let local = provider.local.as_ref().filter(|local| !local.secret_name.is_empty());
            let local = local.map_or(Ok(()), |local| {
                lookup::keys(round.snapshot, &proxy.namespace, &local.secret_name, &local.key)
                    .map_err(|why| ("LocalJWKSInvalid", why))
            });
            local.and_then(|()| provider.remote.as_ref().map_or(Ok(()), |remote| remote_keys(round, proxy, remote)))
        };
        if let Err((reason, why)) = wrong {
            let message = format!("the provider {name} of tokens cannot be used: {why}");
            round.verdict(proxy).error("JWTVerificationError", reason, message);
            return Err(());
        }
    }
    Ok(())
}

/// Whether keys can be had from elsewhere: reason and message if not.
fn remote_keys(round: &Round<'_>, proxy: &Proxy, remote: &RemoteKeys) -> Result<(), (&'static str, String)> {
    let no_scheme = |scheme: &str| ("RemoteJWKSSchemeInvalid", format!("{scheme:?} is neither http nor https"));
    let address = Url::parse(&remote.uri).map_err(|why| match why {
        ParseError::RelativeUrlWithoutBase => no_scheme(""),
        // A port of digits is one, unless no number can be made of it.
        ParseError::InvalidPort if has_long_port(&remote.uri) => {
            ("RemoteJWKSPortInvalid", format!("{}: its port is no number", remote.uri))
        }
        why => ("RemoteJWKSURIInvalid", format!("{}: {why}", remote.uri)),
    })?;
    if !["http", "https"].contains(&address.scheme()) {
        return Err(no_scheme(address.scheme()));
    }
    if let Some(validation) = &remote.validation {
        const REASON: &str = "RemoteJWKSUpstreamValidationInvalid";
        if address.scheme() == "http" {
            return Err((REASON, "there is nothing to validate over http".to_owned()));
        }
        lookup::authorities(round.snapshot, &proxy.namespace, &validation.ca_secret).map_err(|why| match why {
            Unusable::NotDelegated => (
                "RemoteJWKSCACertificateNotDelegated",
                format!("the namespace of the Secret {} does not delegate it", validation.ca_secret),
            ),
            Unusable::Invalid(why) => (REASON, format!("the Secret {}: {why}", validation.ca_secret)),
        })?;
    }
    policies::duration(&remote.timeout).map_err(|why| ("RemoteJWKSTimeoutInvalid", why))?;
    policies::duration(&remote.cache_duration).map_err(|why| ("RemoteJWKSCacheDurationInvalid", why))?;
    Ok(())
}

/// Whether an address has a port of digits that is beyond all numbers.
fn has_long_port(address: &str) -> bool {
    let authority = address.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
    let port = authority.and_then(|authority| authority.rsplit_once(':')).map_or("", |(_, port)| port);
    !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()) && port.parse::<i64>().is_err()
}

/// What filters by address come to; nothing where there are none. Each that is no range of addresses is told.
pub(super) fn addresses(
    round: &mut Round<'_>,
    proxy: &Proxy,
    allow: &[IpFilter],
    deny: &[IpFilter],
) -> Result<Option<Addresses>, ()> {
    if !allow.is_empty() && !deny.is_empty() {
        let message = "ipAllowPolicy and ipDenyPolicy exclude each other";
        round.verdict(proxy).error("IPFilterError", "IncompatibleIPAddressFilters", message);
        return Err(());
    }
    let mut last_is_good = true;
    let mut ranges = Vec::new();
    for filter in allow.iter().chain(deny) {
        let range = Range::parse(&filter.cidr);
        last_is_good = range.is_some();
        if !last_is_good {
            let message = format!("{} is no range of addresses", filter.cidr);
            round.verdict(proxy).error("IPFilterError", "InvalidCIDR", message);
        }
        ranges.extend(range);
    }
    // That only the last one decides is how it is shipped.
    if !last_is_good {
        return Err(());
    }
    Ok((!ranges.is_empty()).then_some(Addresses { allows: !allow.is_empty(), ranges }))
}
