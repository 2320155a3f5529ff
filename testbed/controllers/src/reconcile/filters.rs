use gateproof_proxy::config::{
    Cors, Filter, Fraction, HeaderModifier, HeaderValue, PathModifier, RequestMirror, RequestRedirect, UrlRewrite,
};

use super::{backends, verdict::Problem};
use crate::{
    model::{self, HttpFilter},
    snapshot::{Kind, Object, Snapshot},
};

/// The filters of one list, translated.
#[derive(Debug, Default)]
pub(crate) struct Translated {
    pub(crate) filters: Vec<Filter>,
    /// References in the list that cannot be followed.
    pub(crate) problems: Vec<Problem>,
    /// A filter that must not be skipped cannot be carried out: what it belongs to answers 500, and why.
    pub(crate) failure: Option<String>,
}

/// Translates a list of filters of a route of this kind. An error means that the rule cannot be carried out as it is written.
pub(crate) fn translate(
    snapshot: &Snapshot,
    kind: Kind,
    route: &Object,
    filters: &[HttpFilter],
) -> Result<Translated, String> {
    let mut translated = Translated::default();
    for filter in filters {
        match one(snapshot, kind, route, filter)? {
            Ok(filter) => translated.filters.push(filter),
            Err(problem) => {
                // A mirror that cannot be followed costs the copies only; an extension may be what protects the backend.
                if filter.extension_ref.is_some() {
                    translated.failure = Some(problem.message.clone());
                }
                translated.problems.push(problem);
            }
        }
    }
    Ok(translated)
}

/// Whether the list, or the two lists that apply to one request, ask for a redirect and a rewrite at once.
pub(crate) fn incompatible<'a>(filters: impl Iterator<Item = &'a HttpFilter> + Clone) -> bool {
    let has = |r#type: &str| filters.clone().any(|filter| filter.r#type == r#type);
    has("RequestRedirect") && has("URLRewrite")
}

/// Whether a path modifier of the list replaces the matched prefix.
pub(crate) fn replaces_prefix(filters: &[HttpFilter]) -> bool {
    filters.iter().any(|filter| {
        let rewrite = filter.url_rewrite.as_ref().and_then(|rewrite| rewrite.path.as_ref());
        let redirect = filter.request_redirect.as_ref().and_then(|redirect| redirect.path.as_ref());
        rewrite.or(redirect).is_some_and(|path| path.r#type == "ReplacePrefixMatch")
    })
}

fn one(
    snapshot: &Snapshot,
    kind: Kind,
    route: &Object,
    filter: &HttpFilter,
) -> Result<Result<Filter, Problem>, String> {
    let missing = || format!("filter {} lacks its settings", filter.r#type);
    Ok(Ok(match filter.r#type.as_str() {
        "RequestHeaderModifier" => {
            Filter::RequestHeaderModifier(headers(filter.request_header_modifier.as_ref().ok_or_else(missing)?))
        }
        "ResponseHeaderModifier" => {
            Filter::ResponseHeaderModifier(headers(filter.response_header_modifier.as_ref().ok_or_else(missing)?))
        }
        "RequestRedirect" => Filter::RequestRedirect(redirect(filter.request_redirect.as_ref().ok_or_else(missing)?)?),
        "URLRewrite" => {
            let rewrite = filter.url_rewrite.as_ref().ok_or_else(missing)?;
            let path = rewrite.path.as_ref().map(path).transpose()?;
            Filter::UrlRewrite(UrlRewrite { hostname: rewrite.hostname.clone(), path })
        }
        "RequestMirror" => {
            return mirror(snapshot, kind, route, filter.request_mirror.as_ref().ok_or_else(missing)?);
        }
        "CORS" => Filter::Cors(cors(filter.cors.as_ref().ok_or_else(missing)?)),
        "ExtensionRef" => {
            let to = filter.extension_ref.as_ref().ok_or_else(missing)?;
            let message = format!("extensionRef {} {} of group {} is not supported", to.kind, to.name, to.group);
            return Ok(Err(Problem::new("InvalidKind", message)));
        }
        other => return Err(format!("filter {other} is not supported")),
    }))
}

fn cors(cors: &model::Cors) -> Cors {
    Cors {
        allow_origins: cors.allow_origins.clone(),
        allow_methods: cors.allow_methods.clone(),
        allow_headers: cors.allow_headers.clone(),
        expose_headers: cors.expose_headers.clone(),
        allow_credentials: cors.allow_credentials,
        max_age: cors.max_age.unwrap_or(5),
    }
}

fn headers(modifier: &model::HeaderModifier) -> HeaderModifier {
    let values = |of: &[model::NameValue]| {
        of.iter().map(|one| HeaderValue { name: one.name.clone(), value: one.value.clone() }).collect()
    };
    HeaderModifier { set: values(&modifier.set), add: values(&modifier.add), remove: modifier.remove.clone() }
}

fn redirect(redirect: &model::Redirect) -> Result<RequestRedirect, String> {
    let status = redirect.status_code.unwrap_or(302);
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Err(format!("redirect with status {status} is not supported"));
    }
    Ok(RequestRedirect {
        scheme: redirect.scheme.clone(),
        hostname: redirect.hostname.clone(),
        path: redirect.path.as_ref().map(path).transpose()?,
        port: redirect.port,
        status,
    })
}

fn path(path: &model::PathModifier) -> Result<PathModifier, String> {
    match path.r#type.as_str() {
        "ReplaceFullPath" => Ok(PathModifier::ReplaceFullPath(path.replace_full_path.clone().unwrap_or_default())),
        "ReplacePrefixMatch" => {
            Ok(PathModifier::ReplacePrefixMatch(path.replace_prefix_match.clone().unwrap_or_default()))
        }
        other => Err(format!("path modifier {other} is not supported")),
    }
}

fn mirror(
    snapshot: &Snapshot,
    kind: Kind,
    route: &Object,
    mirror: &model::RequestMirror,
) -> Result<Result<Filter, Problem>, String> {
    let fraction = match (mirror.percent, mirror.fraction) {
        (Some(percent), _) => Some(Fraction { numerator: percent, denominator: 100 }),
        (None, Some(model::Fraction { numerator, denominator })) => {
            Some(Fraction { numerator, denominator: denominator.unwrap_or(100) })
        }
        (None, None) => None,
    };
    if fraction.is_some_and(|fraction| fraction.denominator == 0 || fraction.numerator > fraction.denominator) {
        return Err("mirror fraction is above 1".into());
    }
    let resolved = backends::resolve(snapshot, kind, route, &mirror.backend_ref);
    Ok(resolved.map(|destination| {
        let target = destination.target(500);
        let id = backends::describe(route, &mirror.backend_ref);
        Filter::RequestMirror(RequestMirror { id, target, fraction })
    }))
}
