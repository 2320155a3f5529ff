//! What a route or a service says of headers, cookies, times and the like, checked and put into filters.

use std::time::Duration;

use gateproof_proxy::config::{
    Cors, Filter, HeaderModifier, HeaderValue, PathModifier, RequestRedirect, Retry, UrlRewrite,
};
use gateproof_runtime::object::{items, text};
use regex::Regex;
use serde_json::Value;

use super::config::Retries;
use crate::api::{
    CookieRewrite, CorsPolicy, HeadersPolicy, HealthCheckPolicy, LoadBalancerPolicy, RedirectPolicy, ReplacePrefix,
    RetryPolicy, SlowStart, TimeoutPolicy,
};
use crate::gate::Limit;
use crate::status::Verdict;

/// Whether a name may be a header's. That is less than HTTP has (RFC 9110 section 5.1): what ships takes what Kubernetes takes in probes.
fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The changes to headers, and the host that a request is to have; `hosts` says whether one may be set.
pub(super) fn headers(policy: Option<&HeadersPolicy>, hosts: bool) -> Result<(HeaderModifier, Option<String>), String> {
    let mut modifier = HeaderModifier::default();
    let mut host = None;
    let Some(policy) = policy else { return Ok((modifier, host)) };
    for crate::api::HeaderValue { name, value } in &policy.set {
        if modifier.set.iter().any(|other| other.name.eq_ignore_ascii_case(name)) {
            return Err(format!("header {name} is set twice"));
        }
        if name.eq_ignore_ascii_case("host") {
            if !hosts {
                return Err("Host cannot be rewritten".to_owned());
            }
            host = Some(value.clone());
            continue;
        }
        if !is_header_name(name) {
            return Err(format!("header {name} cannot be set: that is no name"));
        }
        modifier.set.push(HeaderValue { name: name.clone(), value: value.clone() });
    }
    for name in &policy.remove {
        if modifier.remove.iter().any(|other| other.eq_ignore_ascii_case(name)) {
            return Err(format!("header {name} is removed twice"));
        }
        if !is_header_name(name) {
            return Err(format!("header {name} cannot be removed: that is no name"));
        }
        modifier.remove.push(name.clone());
    }
    Ok((modifier, host))
}

/// The filters that the changes of requests and responses come to.
pub(super) fn filters(request: (HeaderModifier, Option<String>), response: HeaderModifier) -> Vec<Filter> {
    let (request, host) = request;
    let mut filters = Vec::new();
    if request != HeaderModifier::default() {
        filters.push(Filter::RequestHeaderModifier(request));
    }
    if host.is_some() {
        filters.push(Filter::UrlRewrite(UrlRewrite { hostname: host, path: None }));
    }
    if response != HeaderModifier::default() {
        filters.push(Filter::ResponseHeaderModifier(response));
    }
    filters
}

/// What is wrong with rewrites of cookies.
pub(super) fn cookies(rewrites: &[CookieRewrite]) -> Result<(), String> {
    for (index, rewrite) in rewrites.iter().enumerate() {
        if rewrites[..index].iter().any(|other| other.name == rewrite.name) {
            return Err(format!("cookie {} is rewritten twice", rewrite.name));
        }
        if rewrite.path_rewrite.is_none()
            && rewrite.domain_rewrite.is_none()
            && rewrite.secure.is_none()
            && rewrite.same_site.is_none()
        {
            return Err(format!("nothing of cookie {} is rewritten", rewrite.name));
        }
    }
    Ok(())
}

/// A duration as Go writes it; nothing for one that is not given.
pub(super) fn duration(text: &str) -> Result<Option<Duration>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = || format!("{text} is no duration");
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let units = rest[digits..].find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len() - digits);
        let scale = match &rest[digits..digits + units] {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        sum += number * scale;
        rest = &rest[digits + units..];
    }
    Duration::try_from_secs_f64(sum).map(Some).map_err(|_| wrong())
}

/// How long a response may take; nothing: for ever.
pub(super) fn timeout(policy: Option<&TimeoutPolicy>) -> Result<Option<Duration>, String> {
    let Some(policy) = policy else { return Ok(None) };
    span(&policy.idle)?;
    span(&policy.idle_connection)?;
    span(&policy.response)
}

/// A duration that may be endless.
pub(super) fn span(text: &str) -> Result<Option<Duration>, String> {
    if text == "infinity" || text == "infinite" { Ok(None) } else { duration(text) }
}

/// How often a service is asked again. A time that cannot be read is none, as everything else is that means nothing there.
pub(super) fn retry(policy: Option<&RetryPolicy>) -> Option<Retries> {
    let policy = policy?;
    let has = |reason: &str| policy.retry_on.iter().any(|one| one == reason);
    let mut codes = Vec::new();
    if policy.retry_on.is_empty() || has("5xx") {
        codes.extend(500..=599);
    }
    if has("gateway-error") {
        codes.extend(502..=504);
    }
    if has("retriable-status-codes") {
        codes.extend(&policy.retriable_status_codes);
    }
    let breaks = policy.retry_on.is_empty() || ["5xx", "gateway-error", "reset"].into_iter().any(has);
    let how = Retry {
        attempts: u32::try_from(policy.count).unwrap_or_default(),
        codes,
        backoff: Duration::from_millis(25),
        on_refused_connections: breaks || has("connect-failure"),
        on_failed_handshakes: breaks || has("connect-failure"),
        on_broken_connections: breaks,
        on_timeouts: breaks,
    };
    Some(Retries { how, each: span(&policy.per_try_timeout).ok().flatten() })
}

/// What is wrong with limits of rates.
pub(super) fn rates(policy: Option<&Value>) -> Result<(), String> {
    let Some(policy) = policy else { return Ok(()) };
    if let Some(local) = policy.get("local").filter(|local| local.is_object()) {
        if local["requests"].as_i64().is_none_or(|requests| requests <= 0) {
            return Err("a local limit needs a number of requests".to_owned());
        }
        if !["second", "minute", "hour"].contains(&text(local, "/unit")) {
            return Err(format!("{} is no unit of a local limit", local["unit"]));
        }
        let mut set: Vec<&str> = Vec::new();
        for name in items(local, "/responseHeadersToAdd").map(|header| text(header, "/name")) {
            if !is_header_name(name) || set.iter().any(|other| other.eq_ignore_ascii_case(name)) {
                return Err(format!("header {name} cannot be added"));
            }
            set.push(name);
        }
    }
    let kinds = ["genericKey", "requestHeader", "requestHeaderValueMatch", "remoteAddress"];
    let entries = items(policy, "/global/descriptors").flat_map(|descriptor| items(descriptor, "/entries"));
    for entry in entries {
        if kinds.iter().filter(|kind| entry.get(**kind).is_some_and(|one| !one.is_null())).count() != 1 {
            return Err("an entry of a descriptor has exactly one thing that is counted by".to_owned());
        }
    }
    Ok(())
}

/// The limit that each data path counts for itself, for what is called so.
pub(super) fn local_limit(policy: Option<&Value>, of: &str) -> Option<Limit> {
    let local = policy?.get("local").filter(|local| local.is_object())?;
    let number = |name: &str| local[name].as_u64().and_then(|number| u32::try_from(number).ok());
    let window = match text(local, "/unit") {
        "second" => 1,
        "minute" => 60,
        _ => 3600,
    };
    Some(Limit {
        of: of.to_owned(),
        requests: number("requests")?,
        burst: number("burst").unwrap_or_default(),
        window: Duration::from_secs(window),
        status: local["responseStatusCode"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(429),
    })
}

/// What is wrong with checks of health.
pub(super) fn health(policy: Option<&HealthCheckPolicy>) -> Result<(), String> {
    for range in policy.into_iter().flat_map(|policy| &policy.expected_statuses) {
        if !(100..=599).contains(&range.start) || !(101..=600).contains(&range.end) {
            return Err(format!("{} to {} are no status codes", range.start, range.end));
        }
    }
    Ok(())
}

/// What is wrong with a slow start, where the endpoint is drawn by this strategy.
pub(super) fn slow_start(policy: &SlowStart, strategy: &str) -> Result<(), String> {
    if !["", "RoundRobin", "WeightedLeastRequest"].contains(&strategy) {
        return Err(format!("{strategy} has no slow start"));
    }
    duration(&policy.window)?.ok_or("a slow start needs a window")?;
    if !policy.aggression.is_empty() && policy.aggression.parse::<f64>().is_err() {
        return Err(format!("{} is no number", policy.aggression));
    }
    Ok(())
}

/// The strategies that the reference knows; everything else counts as the default.
pub(super) fn strategy(policy: Option<&LoadBalancerPolicy>) -> &str {
    let named = policy.map_or("", |policy| policy.strategy.as_str());
    if ["WeightedLeastRequest", "Random", "Cookie", "RequestHash"].contains(&named) { named } else { "" }
}

/// Warns of entries of a hash policy that are ignored.
pub(super) fn hashes(policy: Option<&LoadBalancerPolicy>, verdict: &mut Verdict) {
    let Some(policy) = policy.filter(|_| strategy(policy) == "RequestHash") else { return };
    const FAMILY: &str = "SpecError";
    let (mut headers, mut parameters, mut source) = (Vec::new(), Vec::new(), false);
    let mut left = policy.request_hash_policies.len();
    for entry in &policy.request_hash_policies {
        let header = entry.header_hash_options.as_ref();
        let parameter = entry.query_parameter_hash_options.as_ref();
        let count = usize::from(entry.hash_source_ip) + header.iter().count() + parameter.iter().count();
        let why = if count != 1 {
            Some("an entry hashes exactly one thing".to_owned())
        } else if entry.hash_source_ip && std::mem::replace(&mut source, true) {
            Some("the source address is hashed already".to_owned())
        } else {
            let taken = |known: &mut Vec<String>, name: &str, what: &str, is_name: bool| {
                let name = name.to_lowercase();
                let why = if !is_name {
                    Some(format!("{name:?} is no name of a {what}"))
                } else {
                    known.contains(&name).then(|| format!("{what} {name} is hashed already"))
                };
                known.push(name);
                why
            };
            match (header, parameter) {
                (Some(one), _) => taken(&mut headers, &one.header_name, "header", is_header_name(&one.header_name)),
                (_, Some(one)) => {
                    taken(&mut parameters, &one.parameter_name, "query parameter", !one.parameter_name.is_empty())
                }
                _ => None,
            }
        };
        if let Some(why) = why {
            left -= 1;
            verdict.warn(FAMILY, format!("an entry of requestHashPolicies is ignored: {why}"));
        }
    }
    if left == 0 {
        verdict.warn(FAMILY, "the strategy RequestHash is ignored, since nothing of it can be hashed");
    }
}

/// A redirect.
pub(super) fn redirect(policy: &RedirectPolicy) -> Result<RequestRedirect, String> {
    let path = match (&policy.path, &policy.prefix) {
        (Some(_), Some(_)) => return Err("a redirect has a path or a prefix, and not both".to_owned()),
        (Some(path), None) => Some(PathModifier::ReplaceFullPath(path.clone())),
        (None, Some(prefix)) => Some(PathModifier::ReplacePrefixMatch(prefix.clone())),
        (None, None) => None,
    };
    Ok(RequestRedirect {
        scheme: policy.scheme.clone(),
        hostname: policy.hostname.clone(),
        path,
        port: policy.port,
        status: policy.status_code.unwrap_or(302),
    })
}

/// Why replacements of prefixes cannot be carried out: reason and message.
pub(super) fn replacements(all: &[ReplacePrefix]) -> Result<(), (&'static str, String)> {
    for (index, one) in all.iter().enumerate() {
        if all[..index].iter().any(|other| other.prefix == one.prefix) {
            return Err(match one.prefix.as_str() {
                "" => ("AmbiguousReplacement", "two replacements are for whatever prefix there is".to_owned()),
                prefix => ("DuplicateReplacement", format!("prefix {prefix} has two replacements")),
            });
        }
    }
    Ok(())
}

/// What is allowed across origins.
pub(super) fn cors(policy: &CorsPolicy) -> Result<Cors, String> {
    if policy.allow_origin.is_empty() || policy.allow_methods.is_empty() {
        return Err("allowOrigin and allowMethods cannot be empty".to_owned());
    }
    for origin in &policy.allow_origin {
        let is_exact = origin == "*"
            || origin.split_once("://").is_some_and(|(scheme, host)| {
                !scheme.is_empty() && !host.is_empty() && !host.contains(['/', '*', '?', '[', '('])
            });
        if !is_exact && Regex::new(origin).is_err() {
            return Err(format!("{origin} is neither an origin nor a regular expression"));
        }
    }
    let max_age = match policy.max_age.as_str() {
        "" | "0" => 0,
        text => duration(text)?.map_or(0, |age| u32::try_from(age.as_secs()).unwrap_or(u32::MAX)),
    };
    Ok(Cors {
        allow_origins: policy.allow_origin.clone(),
        allow_methods: policy.allow_methods.clone(),
        allow_headers: policy.allow_headers.clone(),
        expose_headers: policy.expose_headers.clone(),
        allow_credentials: policy.allow_credentials,
        max_age,
    })
}
