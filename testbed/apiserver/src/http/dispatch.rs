//! The way of a request through the server.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Value, json};

use super::answers::{json_answer, not_found, refusal, text_answer, warn};
use super::app::{App, Call};
use super::body::Body;
use super::pods::Onward;
use super::query::Query;
use super::route::{ObjectPath, Route};
use super::trouble::Met;
use super::{discovery, openapi, reads, reviews, scale, swagger, tokens, watching, writes};
use crate::auth::User;
use crate::cluster::Target;
use crate::error::ApiError;
use crate::kinds::is_built_in;
use crate::resource::Resource;

/// The largest body that is read, in bytes.
const LARGEST_BODY: usize = 3 * 1024 * 1024;

impl App {
    /// Answers a request of the administrator; refusals are answers too.
    pub async fn respond<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.respond_to(&User::administrator(), request).await
    }

    /// Answers somebody's request.
    pub async fn respond_to<B>(&self, user: &User, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        match self.trouble.meets(&parts) {
            None => self.carry_out(user, parts, body).await,
            Some(Met::Refused(error)) => refusal(&error),
            Some(Met::Lost(error)) => {
                self.carry_out(user, parts, body).await;
                refusal(&error)
            }
        }
    }

    async fn carry_out<B>(&self, user: &User, parts: Parts, body: B) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if let Some(onward) = Onward::asked_for(&parts) {
            return onward.answer(self, user, &parts, body).await.unwrap_or_else(|error| refusal(&error));
        }
        match Limited::new(body, LARGEST_BODY).collect().await {
            Ok(body) => self.answer(user, &parts, body.to_bytes()).unwrap_or_else(|error| refusal(&error)),
            Err(error) if error.is::<LengthLimitError>() => refusal(&ApiError::too_large()),
            Err(error) => refusal(&ApiError::bad_request(format!("the body of the request broke off: {error}"))),
        }
    }

    fn answer(&self, user: &User, parts: &Parts, body: Bytes) -> Result<Response<Body>, ApiError> {
        let query = Query::parse(parts.uri.query().unwrap_or(""));
        let call = Call { user, method: parts.method.clone(), headers: &parts.headers, query, body };
        let path = parts.uri.path();
        let route = Route::parse(path);
        if let Route::Object(object) = &route {
            // A single object is watched by the old form of paths alone.
            let asked = object.name.is_empty() && call.query.flag("watch").unwrap_or(false);
            let watch = object.watch || asked;
            let verb = object.verb(&call.method, watch);
            self.counters.count(verb, &object.counted_as(), call.user_agent());
            self.permit_object(user, verb, object)?;
            return Ok(self.of_objects(&call, object, watch));
        }
        let verb = call.method.as_str().to_lowercase();
        self.counters.count(&verb, path, call.user_agent());
        self.permit_path(user, &verb, path)?;
        match self.about(&call, route) {
            Err(error) if error.is_no_such_path() && !in_built_in_group(path) => Ok(not_found()),
            answer => answer,
        }
    }

    /// Answers requests that are about objects, with a warning where their kind is deprecated.
    fn of_objects(&self, call: &Call<'_>, path: &ObjectPath, watch: bool) -> Response<Body> {
        let registry = self.cluster.registry();
        let resource = registry.resource(&path.group, &path.version, &path.plural);
        let answer = resource.ok_or_else(ApiError::no_such_path);
        let answer = answer.and_then(|resource| self.objects(call, path, resource, watch));
        let mut response = match answer {
            Ok(answer) => answer,
            Err(error) if error.is_no_such_path() && !is_built_in(&path.group) => not_found(),
            Err(error) => refusal(&error),
        };
        if let Some(warning) = resource.and_then(|resource| resource.deprecation.as_deref()) {
            warn(&mut response, warning);
        }
        response
    }

    /// Answers requests that are about no objects.
    fn about(&self, call: &Call<'_>, route: Route) -> Result<Response<Body>, ApiError> {
        if call.method != Method::GET && call.method != Method::HEAD {
            return Err(if route == Route::Unknown {
                ApiError::no_such_path()
            } else {
                ApiError::method_not_allowed()
            });
        }
        let registry = self.cluster.registry();
        match route {
            Route::CoreVersions => discovery::core_versions(call, &registry),
            Route::Groups => discovery::groups(call, &registry),
            Route::Group(group) => discovery::group(&registry, &group),
            Route::Resources(group, version) => discovery::resources(&registry, &group, &version),
            Route::Version => json_answer(&version()),
            Route::Health => Ok(text_answer("ok")),
            Route::OpenApiV2 => swagger::answer(call, &registry),
            Route::OpenApiV3(path) => openapi::v3(&registry, &path),
            Route::Root => json_answer(&discovery::paths(&registry)),
            Route::Object(_) | Route::Unknown => Err(ApiError::no_such_path()),
        }
    }

    /// Whoever applies an object that is not there creates it, and has to be permitted to.
    fn permit_creation(&self, call: &Call<'_>, path: &ObjectPath, target: Target<'_>) -> Result<(), ApiError> {
        let applies = call.media() == "application/apply-patch+yaml" && path.subresource.is_empty();
        if applies && self.cluster.get(target).is_err() {
            self.permit_object(call.user, "create", path)?;
        }
        Ok(())
    }

    fn objects(
        &self,
        call: &Call<'_>,
        path: &ObjectPath,
        resource: &Arc<Resource>,
        watch: bool,
    ) -> Result<Response<Body>, ApiError> {
        admit(resource, path, &call.method)?;
        let target = Target { resource, namespace: &path.namespace, name: &path.name, subresource: &path.subresource };
        if resource.behaviour.review {
            return reviews::answer(self, call, target);
        }
        match path.subresource.as_str() {
            "scale" => return scale::answer(self, call, target),
            "token" => return tokens::answer(self, call, target),
            _ => {}
        }
        match (call.method.as_str(), path.name.is_empty()) {
            ("GET" | "HEAD", _) if watch => watching::start(self, call, target),
            ("GET" | "HEAD", true) => reads::list(self, call, target),
            ("GET" | "HEAD", false) => reads::get(self, call, target),
            ("POST", true) => writes::create(self, call, target),
            ("PUT", false) => writes::update(self, call, target),
            ("PATCH", false) => {
                self.permit_creation(call, path, target)?;
                writes::patch(self, call, target)
            }
            ("DELETE", false) if path.subresource.is_empty() => writes::delete(self, call, target),
            ("DELETE", true) if &*resource.collection != crate::store::NAMESPACES => {
                writes::delete_collection(self, call, target)
            }
            _ => Err(ApiError::method_not_allowed_for(resource)),
        }
    }
}

/// Whether the path fits the kind: scope, subresource, and a namespace where one is needed.
fn admit(resource: &Resource, path: &ObjectPath, method: &Method) -> Result<(), ApiError> {
    let known = match path.subresource.as_str() {
        "" => true,
        "status" => resource.status_subresource,
        "finalize" => &*resource.collection == crate::store::NAMESPACES,
        "scale" => resource.scale.is_some(),
        "token" => &*resource.collection == "serviceaccounts",
        _ => false,
    };
    if !resource.namespaced && !path.namespace.is_empty() {
        return Err(ApiError::no_such_path());
    }
    if !known {
        // What a definition lacks is missing of the object; what a built-in kind lacks is a path that there is not.
        return Err(match resource.custom {
            true => ApiError::not_found(resource, &path.name),
            false => ApiError::no_such_path(),
        });
    }
    let across_namespaces = resource.namespaced && path.namespace.is_empty();
    if across_namespaces && !(path.name.is_empty() && [Method::GET, Method::HEAD].contains(method)) {
        let no_path = resource.custom || !path.name.is_empty();
        return Err(if no_path { ApiError::no_such_path() } else { ApiError::method_not_allowed() });
    }
    Ok(())
}

fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "gitVersion": "v1.36.0+gateproof",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// Whether a path is in a group of built-in kinds, where what is missing is told by a Status.
fn in_built_in_group(path: &str) -> bool {
    let mut segments = path.split('/').filter(|segment| !segment.is_empty());
    match segments.next() {
        Some("api") => true,
        Some("apis") => segments.next().is_some_and(is_built_in),
        _ => false,
    }
}
