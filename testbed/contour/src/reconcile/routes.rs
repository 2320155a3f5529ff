//! Routes of a root and of all that it includes.

use gateproof_proxy::config::{Authorities, Fraction, RequestMirror, UrlRewrite};
use gateproof_proxy::config::{Backend, BackendTarget, BackendTls, Filter, PathMatch, PathModifier, PeerName};

use super::config::{Answer, HostRoute};
use super::lookup::{self, Unusable};
use super::{Proxy, Round, access, conditions, policies};
use crate::api::{Condition, Include, ReplacePrefix, Route, Service};
use crate::gate::Guard;
use crate::status::Verdict;

/// What stands above a proxy on the way from its root.
#[derive(Clone, Default)]
pub(super) struct Above<'a> {
    /// The conditions of the includes that led here.
    conditions: Vec<Condition>,
    /// The proxies on the way.
    visited: Vec<(String, String)>,
    /// Whether clear text is sent to TLS.
    enforces_tls: bool,
    /// The provider of tokens for routes that name none.
    provider: Option<&'a str>,
    /// Whether routes that say nothing of it let in whom a service would have to.
    is_open: bool,
}

impl<'a> Above<'a> {
    /// Nothing stands above a root.
    pub(super) fn root(proxy: &Proxy, provider: Option<&'a str>) -> Self {
        let host = proxy.spec.virtualhost.as_ref();
        let authorization = host.and_then(|host| host.authorization.as_ref()?.auth_policy.as_ref());
        Above {
            enforces_tls: host.is_some_and(|host| host.tls.is_some()),
            provider,
            is_open: authorization.is_some_and(|policy| policy.disabled),
            ..Above::default()
        }
    }
}

/// A proxy whose includes are being followed.
struct Open<'p, 'a> {
    proxy: &'p Proxy,
    below: Above<'a>,
    /// How many of its includes have been looked at.
    followed: usize,
    /// What these were told from each other by.
    seen: Vec<(PathMatch, Vec<String>)>,
    /// The routes that they led to.
    routes: Vec<HostRoute>,
}

/// The routes of a proxy and of what it includes; what is wrong is told of each. Chains of includes may be longer than the stack is deep.
pub(super) fn of<'p>(round: &mut Round<'p>, proxy: &'p Proxy, above: &Above<'_>) -> Vec<HostRoute> {
    let mut open: Vec<Open<'p, '_>> = enter(round, proxy, above.clone()).into_iter().collect();
    while let Some(top) = open.last_mut() {
        if let Some(include) = top.proxy.spec.includes.get(top.followed) {
            top.followed += 1;
            if let Some((found, above)) = follow(round, top, include) {
                open.extend(enter(round, found, above));
            }
            continue;
        }
        let Some(done) = open.pop() else { break };
        let routes = with_its_own(round, done);
        match open.last_mut() {
            Some(parent) => parent.routes.extend(routes),
            None => return routes,
        }
    }
    Vec::new()
}

/// Begins with a proxy, unless that closes a circle.
fn enter<'p, 'a>(round: &mut Round<'p>, proxy: &'p Proxy, above: Above<'a>) -> Option<Open<'p, 'a>> {
    let own = (proxy.namespace.clone(), proxy.name.clone());
    if above.visited.contains(&own) {
        let names = above.visited.iter().chain([&own]).map(|(namespace, name)| format!("{namespace}/{name}"));
        let path = names.collect::<Vec<_>>().join(" -> ");
        round.verdict(proxy).error("IncludeError", "IncludeCreatesCycle", format!("includes go in a circle: {path}"));
        return None;
    }
    let mut below = above;
    below.visited.push(own);
    Some(Open { proxy, below, followed: 0, seen: Vec::new(), routes: Vec::new() })
}

/// The routes of what a proxy includes, and its own behind them.
fn with_its_own(round: &mut Round<'_>, of: Open<'_, '_>) -> Vec<HostRoute> {
    let Open { proxy, below, mut routes, .. } = of;
    for route in &proxy.spec.routes {
        match self::route(round, proxy, route, &below) {
            Some(route) => routes.extend(route),
            // One route that is wrong leaves none of its proxy.
            None if round.is_design() => {}
            None => return Vec::new(),
        }
    }
    routes
}

/// Where an include leads, and what stands above it; nothing if it leads nowhere.
fn follow<'p, 'a>(round: &mut Round<'p>, from: &mut Open<'p, 'a>, include: &Include) -> Option<(&'p Proxy, Above<'a>)> {
    let proxy = from.proxy;
    if let Err((r#type, reason, why)) = well_formed(&include.conditions) {
        round.verdict(proxy).error(r#type, reason, format!("include of {}: {why}", include.name));
        return None;
    }
    let identity = conditions::identity(&include.conditions);
    let is_trivial = identity == (PathMatch::Text("/".to_owned()), Vec::new());
    if !is_trivial && from.seen.contains(&identity) {
        let message = format!("include of {}: an include before it has the same conditions", include.name);
        round.verdict(proxy).error("IncludeError", "DuplicateMatchConditions", message);
        return None;
    }
    from.seen.push(identity);
    let home = if include.namespace.is_empty() { &proxy.namespace } else { &include.namespace };
    let id = (home.clone(), include.name.clone());
    let unusable = match round.proxies.get(&id) {
        None => ("IncludeNotFound", format!("there is no HTTPProxy {}/{}", id.0, id.1)),
        Some(found) if found.spec.virtualhost.is_some() => {
            ("RootIncludesRoot", format!("{} is a root of its own", found.id()))
        }
        Some(found) => {
            round.orphans.remove(&id);
            round.verdict(found);
            let mut above = from.below.clone();
            above.conditions.extend(include.conditions.iter().cloned());
            return Some((found, above));
        }
    };
    round.verdict(proxy).error("IncludeError", unusable.0, unusable.1);
    // What is asked of the part that is missing is answered by the proxy, unless everything is meant.
    if !include.conditions.is_empty() {
        let all: Vec<Condition> = from.below.conditions.iter().chain(&include.conditions).cloned().collect();
        let matches = conditions::merged(&all);
        from.routes.push(HostRoute { of: proxy.id(), matches, answer: Answer::Status(502), ..HostRoute::default() });
    }
    None
}

/// Family, reason and message of what is wrong with the conditions of an include.
fn well_formed(of: &[Condition]) -> Result<(), (&'static str, &'static str, String)> {
    conditions::paths_of_include(of).map_err(|why| ("IncludeError", "PathMatchConditionsNotValid", why))?;
    conditions::headers(of).map_err(|why| ("RouteError", "HeaderMatchConditionsNotValid", why))?;
    conditions::queries(of).map_err(|why| ("RouteError", "QueryParameterMatchConditionsNotValid", why))
}

/// A route, in as many as it takes; nothing if it is wrong.
fn route(round: &mut Round<'_>, proxy: &Proxy, route: &Route, below: &Above<'_>) -> Option<Vec<HostRoute>> {
    let mut verdict = std::mem::take(round.verdict(proxy));
    let made = checked(round, proxy, route, below, &mut verdict);
    *round.verdict(proxy) = verdict;
    let mut made = made?;
    let addresses = access::addresses(round, proxy, &route.ip_allow_policy, &route.ip_deny_policy).ok()?;
    made.iter_mut().for_each(|made| made.guard.addresses.clone_from(&addresses));
    Some(made)
}

fn checked(
    round: &Round<'_>,
    proxy: &Proxy,
    route: &Route,
    below: &Above<'_>,
    verdict: &mut Verdict,
) -> Option<Vec<HostRoute>> {
    let mut refuse = |r#type: &str, reason: &str, why: String| {
        verdict.error(r#type, reason, why);
        None::<Vec<HostRoute>>
    };
    let actions = usize::from(!route.services.is_empty())
        + usize::from(route.request_redirect_policy.is_some())
        + usize::from(route.direct_response_policy.is_some());
    if actions != 1 {
        let message = "a route has services, a redirect or a direct response, and exactly one of them";
        return refuse("RouteError", "RouteActionCountNotValid", message.to_owned());
    }
    if let Err(why) = conditions::paths(&route.conditions) {
        return refuse("RouteError", "PathMatchConditionsNotValid", format!("route: {why}"));
    }
    let all: Vec<Condition> = below.conditions.iter().chain(&route.conditions).cloned().collect();
    if let Err(why) = conditions::headers(&all) {
        return refuse("RouteError", "HeaderMatchConditionsNotValid", why);
    }
    if let Err(why) = conditions::queries(&all) {
        return refuse("RouteError", "QueryParameterMatchConditionsNotValid", why);
    }
    let request = match policies::headers(route.request_headers_policy.as_ref(), true) {
        Ok(request) => request,
        Err(why) => return refuse("RouteError", "RequestHeadersPolicyInvalid", format!("requests: {why}")),
    };
    let response = match policies::headers(route.response_headers_policy.as_ref(), false) {
        Ok((response, _)) => response,
        Err(why) => return refuse("RouteError", "ResponseHeaderPolicyInvalid", format!("responses: {why}")),
    };
    if let Err(why) = policies::cookies(&route.cookie_rewrite_policies) {
        return refuse("RouteError", "CookieRewritePoliciesInvalid", why);
    }
    let timeout = match policies::timeout(route.timeout_policy.as_ref()) {
        Ok(timeout) => timeout,
        Err(why) => return refuse("RouteError", "TimeoutPolicyNotValid", format!("timeoutPolicy: {why}")),
    };
    if let Err(why) = policies::rates(route.rate_limit_policy.as_ref()) {
        return refuse("RouteError", "RateLimitPolicyNotValid", format!("rateLimitPolicy: {why}"));
    }
    policies::hashes(route.load_balancer_policy.as_ref(), verdict);
    let mut refuse = |r#type: &str, reason: &str, why: String| {
        verdict.error(r#type, reason, why);
        None::<Vec<HostRoute>>
    };
    let redirect = match route.request_redirect_policy.as_ref().map(policies::redirect).transpose() {
        Ok(redirect) => redirect,
        Err(why) => return refuse("RouteError", "RequestRedirectPolicy", why),
    };
    let matches = conditions::merged(&all);
    let replacements = route.path_rewrite_policy.as_ref().map_or(&[][..], |policy| &policy.replace_prefix);
    let replacement = match (replacements, &matches.path) {
        ([], _) => None,
        (all, PathMatch::Text(prefix)) => {
            if let Err((reason, why)) = policies::replacements(all) {
                return refuse("PrefixReplaceError", reason, why);
            }
            replacement(all, prefix)
        }
        _ => {
            let message = "prefixes are replaced, and the route has none";
            return refuse("PrefixReplaceError", "MustHavePrefix", message.to_owned());
        }
    };
    if let Err(why) = policies::health(route.health_check_policy.as_ref()) {
        return refuse("RouteError", "HealthCheckPolicyInvalid", why);
    }
    let strategy = policies::strategy(route.load_balancer_policy.as_ref());
    let served = services(round, proxy, &route.services, strategy, verdict)?;
    let jwt = route.jwt_verification_policy.as_ref();
    let provider = match jwt {
        Some(policy) if !policy.require.is_empty() && policy.disabled => {
            let message = "jwtVerificationPolicy asks for a token and is switched off";
            verdict.error("JWTVerificationError", "InvalidJWTVerificationPolicy", message);
            return None;
        }
        Some(policy) if !policy.require.is_empty() => Some(policy.require.clone()),
        Some(policy) if policy.disabled => None,
        _ => below.provider.map(str::to_owned),
    };
    let answer = match (redirect, &route.direct_response_policy) {
        (Some(redirect), _) => Answer::Redirect(redirect),
        (None, Some(direct)) => Answer::Status(direct.status_code),
        (None, None) if served.backends.is_empty() => Answer::Status(503),
        (None, None) => Answer::Backends(served.backends),
    };
    let mut filters = policies::filters(request, response);
    filters.extend(served.mirror.map(Filter::RequestMirror));
    let made = HostRoute {
        of: proxy.id(),
        matches,
        filters,
        answer,
        says: route.direct_response_policy.as_ref().map(|direct| direct.body.clone()),
        timeout,
        retry: policies::retry(route.retry_policy.as_ref()),
        enforces_tls: below.enforces_tls && !route.permit_insecure,
        jwt: provider,
        guard: Guard {
            addresses: None,
            upgrades: route.enable_websockets,
            limit: policies::local_limit(route.rate_limit_policy.as_ref(), &format!("{}{all:?}", proxy.id())),
        },
        is_open: route.auth_policy.as_ref().map_or(below.is_open, |policy| policy.disabled),
    };
    Some(rewritten(made, replacement))
}

/// What the prefix of a route is replaced by: what is said of exactly this one, or of whatever there is.
fn replacement(all: &[ReplacePrefix], prefix: &str) -> Option<String> {
    let exact = all.iter().find(|one| one.prefix == prefix);
    exact.or_else(|| all.iter().find(|one| one.prefix.is_empty())).map(|one| one.replacement.clone())
}

/// A route with its prefix replaced. `/a` and `/a/` are two prefixes to whoever compares texts, and what follows them keeps one slash.
fn rewritten(route: HostRoute, replacement: Option<String>) -> Vec<HostRoute> {
    let (Some(replacement), PathMatch::Text(prefix)) = (replacement, route.matches.path.clone()) else {
        return vec![route];
    };
    let with = |prefix: &str, replacement: &str| {
        let mut route = route.clone();
        route.matches.path = PathMatch::Text(prefix.to_owned());
        let path = Some(PathModifier::ReplacePrefixMatch(replacement.to_owned()));
        route.filters.push(Filter::UrlRewrite(UrlRewrite { hostname: None, path }));
        route
    };
    if prefix == "/" {
        return vec![with("/", &replacement)];
    }
    let (prefix, bare) = (prefix.trim_end_matches('/'), replacement.trim_end_matches('/'));
    let first = with(prefix, if bare.is_empty() { "/" } else { bare });
    vec![first, with(&format!("{prefix}/"), &format!("{bare}/"))]
}

#[derive(Default)]
struct Served {
    backends: Vec<Backend>,
    mirror: Option<RequestMirror>,
}

/// Where a route leads; nothing if that is wrong. A Service that is not there is told of, and left out.
fn services(
    round: &Round<'_>,
    proxy: &Proxy,
    services: &[Service],
    strategy: &str,
    verdict: &mut Verdict,
) -> Option<Served> {
    let mut served = Served::default();
    for service in services {
        let upstream = match lookup::service(round, &proxy.namespace, &service.name, service.port) {
            Ok(upstream) => upstream,
            Err(why) => {
                verdict.error("ServiceError", "ServiceUnresolvedReference", format!("a route leads nowhere: {why}"));
                continue;
            }
        };
        let mut refuse = |reason: &str, why: String| {
            verdict.error("ServiceError", reason, why);
            None::<Served>
        };
        let protocol = service.protocol.as_deref().unwrap_or(upstream.protocol);
        let tls = match encrypted(round, proxy, service, protocol) {
            Ok(tls) => tls,
            Err((r#type, reason, why)) => {
                verdict.error(r#type, reason, why);
                return None;
            }
        };
        let request = match policies::headers(service.request_headers_policy.as_ref(), true) {
            Ok(request) => request,
            Err(why) => return refuse("RequestHeadersPolicyInvalid", format!("requests: {why}")),
        };
        let response = match policies::headers(service.response_headers_policy.as_ref(), false) {
            Ok((response, _)) => response,
            Err(why) => return refuse("ResponseHeadersPolicyInvalid", format!("responses: {why}")),
        };
        if let Err(why) = policies::cookies(&service.cookie_rewrite_policies) {
            verdict.error("RouteError", "CookieRewritePoliciesInvalid", why);
            return None;
        }
        if let Some(policy) = &service.slow_start_policy
            && let Err(why) = policies::slow_start(policy, strategy)
        {
            return refuse("SlowStartInvalid", why);
        }
        let target = match (tls, protocol) {
            (Some(tls), protocol) => {
                BackendTarget::Tls { endpoints: upstream.endpoints.clone(), h2: protocol == "h2", tls }
            }
            (None, "h2c") => BackendTarget::H2cEndpoints(upstream.endpoints.clone()),
            (None, _) => BackendTarget::Endpoints(upstream.endpoints.clone()),
        };
        if service.mirror {
            if served.mirror.is_some() {
                return refuse("OnlyOneMirror", "a route has one mirror".to_owned());
            }
            let fraction = (service.weight > 0).then_some(Fraction { numerator: service.weight, denominator: 100 });
            served.mirror = Some(RequestMirror { id: upstream.id, target, fraction });
            continue;
        }
        served.backends.push(Backend {
            id: upstream.id,
            weight: service.weight,
            target,
            filters: policies::filters(request, response),
        });
    }
    // Only what is there counts: if nobody who is left is to get a share, all get the same.
    if served.backends.iter().all(|backend| backend.weight == 0) {
        served.backends.iter_mut().for_each(|backend| backend.weight = 1);
    }
    Some(served)
}

/// How a service is spoken to over TLS, if it is; or family, reason and message of what is wrong with that.
pub(super) fn encrypted(
    round: &Round<'_>,
    proxy: &Proxy,
    service: &Service,
    protocol: &str,
) -> Result<Option<BackendTls>, (&'static str, &'static str, String)> {
    if !["tls", "h2"].contains(&protocol) {
        return Ok(None);
    }
    let Some(validation) = &service.validation else {
        let tls = BackendTls {
            server_name: service.name.clone(),
            authorities: Authorities::Any,
            names: vec![PeerName::Any],
            client: None,
        };
        return Ok(Some(tls));
    };
    let found = lookup::authorities(round.snapshot, &proxy.namespace, &validation.ca_secret);
    let bundle = found.map_err(|why| match why {
        Unusable::NotDelegated => {
            let why = format!("the namespace of the Secret {} does not delegate it", validation.ca_secret);
            ("TLSError", "CACertificateNotDelegated", why)
        }
        Unusable::Invalid(why) => {
            let why = format!("the Secret {} with the authority cannot be used: {why}", validation.ca_secret);
            ("ServiceError", "TLSUpstreamValidation", why)
        }
    })?;
    let names: Vec<String> = match &validation.subject_names[..] {
        [] => vec![validation.subject_name.clone()],
        names => names.to_vec(),
    };
    if names.iter().any(String::is_empty) {
        return Err(("ServiceError", "TLSUpstreamValidation", "validation needs the name of the subject".to_owned()));
    }
    Ok(Some(BackendTls {
        server_name: names[0].clone(),
        authorities: Authorities::Pem(bundle),
        names: names.into_iter().map(PeerName::Dns).collect(),
        client: None,
    }))
}
