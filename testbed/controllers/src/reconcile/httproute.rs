use std::time::Duration;

use gateproof_proxy::config::{
    Backend, BackendTarget, FieldMatch, PathMatch, RequestMatch, Retry, Route, RouteId, Timeouts, ValueMatch,
};
use regex::Regex;

use super::{
    backends, filters, installed,
    verdict::{Problem, Verdict},
};
use crate::{
    model::{BackendRef, HttpMatch, HttpRouteSpec, HttpRule, NameMatch},
    snapshot::{Kind, Object, Snapshot},
};

/// What a call is answered with, as HTTP says it, where its backend or filter cannot be followed: clients take it for
/// `UNAVAILABLE`.
pub(super) const UNAVAILABLE: u16 = 503;

/// What a route's own spec and references come to, whatever its parents are.
#[derive(Debug)]
pub(crate) struct Judged<R> {
    /// What the data plane can carry out of it.
    pub(crate) rules: Vec<R>,
    /// The rules that were left out, by index, and why.
    pub(crate) dropped: Vec<(usize, Dropped)>,
    /// References that cannot be followed.
    pub(crate) problems: Vec<Problem>,
}

/// Why a rule cannot be carried out as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

impl Dropped {
    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self { reason: "UnsupportedValue", message: message.into() }
    }
}

impl<R> Judged<R> {
    /// Judges rules one by one, each with its index and a place for its problems.
    pub(super) fn of<Rule>(
        rules: &[Rule],
        mut judge: impl FnMut(usize, &Rule, &mut Vec<Problem>) -> Result<R, Dropped>,
    ) -> Judged<R> {
        let mut judged = Judged { rules: Vec::new(), dropped: Vec::new(), problems: Vec::new() };
        for (index, rule) in rules.iter().enumerate() {
            match judge(index, rule, &mut judged.problems) {
                Ok(rule) => judged.rules.push(rule),
                Err(dropped) => judged.dropped.push((index, dropped)),
            }
        }
        judged
    }

    /// `Accepted`, as far as the spec itself decides it: a route with nothing left is refused.
    pub(crate) fn accepted(&self) -> Verdict {
        match self.dropped.as_slice() {
            [(_, first), ..] if self.rules.is_empty() => {
                let alike = self.dropped.iter().all(|(_, dropped)| dropped.reason == first.reason);
                let reason = if alike { first.reason } else { "UnsupportedValue" };
                Verdict::no(reason, self.dropped_message("No rule can be carried out: rule"))
            }
            _ => Verdict::yes("Accepted", "The route is attached"),
        }
    }

    /// `PartiallyInvalid`, if some rules were dropped and others remain.
    pub(crate) fn partially_invalid(&self) -> Option<Verdict> {
        let some = !self.dropped.is_empty() && !self.rules.is_empty();
        some.then(|| Verdict::yes("UnsupportedValue", self.dropped_message("Dropped Rule")))
    }

    fn dropped_message(&self, prefix: &str) -> String {
        let one = |(index, dropped): &(usize, Dropped)| format!("{index} ({})", dropped.message);
        format!("{prefix} {}", self.dropped.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

/// Judges an HTTPRoute rule by rule.
pub(crate) fn judge(snapshot: &Snapshot, route: &Object, spec: &HttpRouteSpec) -> Judged<Route> {
    Judged::of(&spec.rules, |index, from, problems| rule(snapshot, route, index, from, problems))
}

/// References of a rule count even if the rule is dropped for another reason, so problems go out on the side.
fn rule(
    snapshot: &Snapshot,
    route: &Object,
    index: usize,
    rule: &HttpRule,
    problems: &mut Vec<Problem>,
) -> Result<Route, Dropped> {
    let backends =
        rule.backend_refs.iter().map(|reference| backend(snapshot, Kind::HttpRoute, route, reference, problems));
    let backends: Vec<_> = backends.collect();
    let own = filters::translate(snapshot, Kind::HttpRoute, route, &rule.filters);
    if let Ok(own) = &own {
        problems.extend(own.problems.iter().cloned());
    }

    let matches = rule.matches.iter().map(request_match).collect::<Result<_, _>>()?;
    check_filters(rule)?;
    if rule.session_persistence.is_some() {
        return Err(Dropped::unsupported("sessionPersistence is not supported"));
    }
    let own = own.map_err(Dropped::unsupported)?;
    let mut backends = backends.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut filters = own.filters;
    if let Some(reason) = own.failure {
        filters.clear();
        backends = vec![failing("rule", 1, 500, reason)];
    }
    Ok(Route {
        id: RouteId { namespace: route.meta.namespace.clone(), name: route.meta.name.clone(), rule: index },
        hostnames: Vec::new(),
        matches,
        filters,
        backends,
        timeouts: timeouts(rule)?,
        retry: retry(rule, installed::is_since(snapshot, 7))?,
    })
}

fn check_filters(rule: &HttpRule) -> Result<(), Dropped> {
    let mut lists = rule.backend_refs.iter().map(|backend| &backend.filters);
    let clash = filters::incompatible(rule.filters.iter())
        || lists.any(|list| filters::incompatible(rule.filters.iter().chain(list)));
    if clash {
        let message = "RequestRedirect and URLRewrite cannot be applied to one request".into();
        return Err(Dropped { reason: "IncompatibleFilters", message });
    }
    let replaces = filters::replaces_prefix(&rule.filters)
        || rule.backend_refs.iter().any(|backend| filters::replaces_prefix(&backend.filters));
    let is_prefix = |one: &HttpMatch| {
        one.path.as_ref().is_none_or(|path| path.r#type.as_deref().is_none_or(|r#type| r#type == "PathPrefix"))
    };
    if replaces && (rule.matches.len() > 1 || !rule.matches.iter().all(is_prefix)) {
        return Err(Dropped::unsupported("ReplacePrefixMatch needs exactly one match, of type PathPrefix"));
    }
    Ok(())
}

/// A backend of a route of this kind. One that cannot be followed fails its share.
pub(super) fn backend(
    snapshot: &Snapshot,
    kind: Kind,
    route: &Object,
    reference: &BackendRef,
    problems: &mut Vec<Problem>,
) -> Result<Backend, Dropped> {
    let id = backends::describe(route, reference);
    let weight = reference.weight.unwrap_or(1);
    let broken = if kind == Kind::GrpcRoute { UNAVAILABLE } else { 500 };
    let translated = filters::translate(snapshot, kind, route, &reference.filters);
    let target = match backends::resolve(snapshot, kind, route, reference) {
        Ok(to) if to.endpoints.is_empty() => {
            // Before v1.2 there was one code for every backend that cannot be had.
            let status = if installed::is_since(snapshot, 2) { 503 } else { broken };
            BackendTarget::Fail { status, reason: format!("{id} has no ready endpoints") }
        }
        Ok(to) => to.target(broken),
        Err(problem) => {
            let reason = problem.message.clone();
            problems.push(problem);
            BackendTarget::Fail { status: broken, reason }
        }
    };
    let translated = translated.map_err(Dropped::unsupported)?;
    problems.extend(translated.problems);
    Ok(match translated.failure {
        Some(reason) => failing(&id, weight, broken, reason),
        None => Backend { id, weight, target, filters: translated.filters },
    })
}

pub(super) fn failing(id: &str, weight: u32, status: u16, reason: String) -> Backend {
    Backend { id: id.to_owned(), weight, target: BackendTarget::Fail { status, reason }, filters: Vec::new() }
}

fn request_match(from: &HttpMatch) -> Result<RequestMatch, Dropped> {
    let path = match &from.path {
        None => PathMatch::default(),
        Some(path) => {
            let value = path.value.clone().unwrap_or_else(|| "/".into());
            match path.r#type.as_deref().unwrap_or("PathPrefix") {
                "Exact" => PathMatch::Exact(value),
                "PathPrefix" => PathMatch::Prefix(value),
                "RegularExpression" => PathMatch::Regex(expression("path", value)?),
                other => return Err(Dropped::unsupported(format!("path match {other} is not supported"))),
            }
        }
    };
    let fields = |what: &'static str, of: &[NameMatch]| of.iter().map(|one| field(what, one)).collect::<Result<_, _>>();
    Ok(RequestMatch {
        path,
        headers: fields("header", &from.headers)?,
        query: fields("query parameter", &from.query_params)?,
        method: from.method.clone(),
    })
}

pub(super) fn field(what: &str, from: &NameMatch) -> Result<FieldMatch, Dropped> {
    let value = match from.r#type.as_deref().unwrap_or("Exact") {
        "Exact" => ValueMatch::Exact(from.value.clone()),
        "RegularExpression" => ValueMatch::Regex(expression(what, from.value.clone())?),
        other => return Err(Dropped::unsupported(format!("{what} match {other} is not supported"))),
    };
    Ok(FieldMatch { name: from.name.clone(), value })
}

pub(super) fn expression(what: &str, text: String) -> Result<String, Dropped> {
    match Regex::new(&text) {
        Ok(_) => Ok(text),
        Err(_) => Err(Dropped::unsupported(format!("{what} match {text:?} is not a regular expression"))),
    }
}

fn timeouts(rule: &HttpRule) -> Result<Timeouts, Dropped> {
    let Some(asked) = &rule.timeouts else { return Ok(Timeouts::default()) };
    let read = |text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => match duration(text) {
            Some(duration) => Ok((!duration.is_zero()).then_some(duration)),
            None => Err(Dropped::unsupported(format!("timeout {text:?} is not a duration"))),
        },
    };
    Ok(Timeouts { request: read(&asked.request)?, backend_request: read(&asked.backend_request)? })
}

/// The pause before a further try, and how many of those there are, where the route does not say.
const BACKOFF: Duration = Duration::from_millis(25);
const ATTEMPTS: u32 = 1;

fn retry(rule: &HttpRule, is_since_v1_7: bool) -> Result<Option<Retry>, Dropped> {
    let Some(asked) = &rule.retry else { return Ok(None) };
    let backoff = match &asked.backoff {
        None => BACKOFF,
        Some(text) => {
            duration(text).ok_or_else(|| Dropped::unsupported(format!("backoff {text:?} is not a duration")))?
        }
    };
    Ok(Some(Retry {
        attempts: asked.attempts.unwrap_or(ATTEMPTS),
        codes: asked.codes.clone(),
        backoff,
        on_refused_connections: true,
        on_failed_handshakes: true,
        // From v1.7 on, what the backend may have worked on already is not asked of it again.
        on_broken_connections: !is_since_v1_7,
        on_timeouts: !is_since_v1_7,
    }))
}

/// Reads a Gateway API duration (GEP-2257): numbers with the units `h`, `m`, `s` and `ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0)?;
        let (number, tail) = rest.split_at(digits);
        let number: u64 = number.parse().ok()?;
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        total += match unit {
            "h" => Duration::from_secs(number.checked_mul(3600)?),
            "m" => Duration::from_secs(number.checked_mul(60)?),
            "s" => Duration::from_secs(number),
            "ms" => Duration::from_millis(number),
            _ => return None,
        };
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1h", Some(3_600_000))]
    #[case("1m30s", Some(90_000))]
    #[case("250ms", Some(250))]
    #[case("1s5ms", Some(1_005))]
    #[case("0s", Some(0))]
    #[case("", None)]
    #[case("5", None)]
    #[case("s", None)]
    #[case("1d", None)]
    #[case("1.5s", None)]
    fn durations(#[case] text: &str, #[case] millis: Option<u64>) {
        assert_eq!(duration(text), millis.map(Duration::from_millis));
    }
}
