use gateproof_proxy::config::{PathMatch, RequestMatch, Route, RouteId, Timeouts, ValueMatch};

use super::{
    filters,
    httproute::{Dropped, Judged, UNAVAILABLE, backend, expression, failing, field},
    verdict::Problem,
};
use crate::{
    model::{GrpcMatch, GrpcRouteSpec, GrpcRule, MethodMatch},
    snapshot::{Kind, Object, Snapshot},
};

/// Judges a GRPCRoute rule by rule. A rule is one of HTTP over calls: the data plane has no others.
pub(crate) fn judge(snapshot: &Snapshot, route: &Object, spec: &GrpcRouteSpec) -> Judged<Route> {
    Judged::of(&spec.rules, |index, from, problems| rule(snapshot, route, index, from, problems))
}

/// References of a rule count even if the rule is dropped for another reason, so problems go out on the side.
fn rule(
    snapshot: &Snapshot,
    route: &Object,
    index: usize,
    rule: &GrpcRule,
    problems: &mut Vec<Problem>,
) -> Result<Route, Dropped> {
    let follow = |reference| backend(snapshot, Kind::GrpcRoute, route, reference, problems);
    let backends: Vec<_> = rule.backend_refs.iter().map(follow).collect();
    let own = filters::translate(snapshot, Kind::GrpcRoute, route, &rule.filters).map_err(Dropped::unsupported)?;
    problems.extend(own.problems);
    let matches = rule.matches.iter().map(request_match).collect::<Result<Vec<_>, _>>()?;
    if rule.session_persistence.is_some() {
        return Err(Dropped::unsupported("sessionPersistence is not supported"));
    }
    let mut backends = backends.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut filters = own.filters;
    if let Some(reason) = own.failure {
        filters.clear();
        backends = vec![failing("rule", 1, UNAVAILABLE, reason)];
    }
    if backends.is_empty() {
        backends = vec![failing("rule", 1, UNAVAILABLE, "it has no backend".to_owned())];
    }
    Ok(Route {
        id: RouteId { namespace: route.meta.namespace.clone(), name: route.meta.name.clone(), rule: index },
        hostnames: Vec::new(),
        matches: if matches.is_empty() { vec![request_match(&GrpcMatch::default())?] } else { matches },
        filters,
        backends,
        timeouts: Timeouts::default(),
        retry: None,
    })
}

fn request_match(from: &GrpcMatch) -> Result<RequestMatch, Dropped> {
    let MethodMatch { r#type, service, method } = from.method.clone().unwrap_or_default();
    let part = |what: &str, text: Option<String>| match text.filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => match r#type.as_deref().unwrap_or("Exact") {
            "Exact" => Ok(Some(ValueMatch::Exact(text))),
            "RegularExpression" => Ok(Some(ValueMatch::Regex(expression(what, text)?))),
            other => Err(Dropped::unsupported(format!("{what} match {other} is not supported"))),
        },
    };
    Ok(RequestMatch {
        path: PathMatch::Rpc { service: part("service", service)?, method: part("method", method)? },
        headers: from.headers.iter().map(|one| field("header", one)).collect::<Result<_, _>>()?,
        ..RequestMatch::default()
    })
}
