//! TokenReview, SelfSubjectReview and the access reviews.

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::answers::answer_with;
use super::app::{App, Call};
use super::body::Body;
use super::decode::Encoding;
use crate::auth::{self, AUDIENCE, Attributes, User};
use crate::cluster::Target;
use crate::error::ApiError;
use crate::meta;

/// Answers a review.
pub fn answer(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    if call.method != Method::POST || !target.name.is_empty() {
        return Err(ApiError::method_not_allowed());
    }
    let resource = target.resource;
    let mut review = Encoding::of(call.media())?.decode(&call.body)?.object;
    if !review.is_object() || !["", resource.kind.as_str()].contains(&meta::kind(&review)) {
        return Err(ApiError::bad_request(format!("the body of the request is not a {}", resource.kind)));
    }
    let status = match resource.kind.as_str() {
        "TokenReview" => token_review(app, &review),
        "SelfSubjectReview" => json!({"userInfo": call.user.info()}),
        "SelfSubjectRulesReview" => rules_review(app, call.user, &review),
        "SelfSubjectAccessReview" => access_review(app, call.user, &review["spec"])?,
        _ => access_review(app, &subject(&review["spec"])?, &review["spec"])?,
    };
    let members = meta::as_map(&mut review);
    members.insert("apiVersion".into(), resource.api_version().into());
    members.insert("kind".into(), resource.kind.clone().into());
    members.entry("metadata").or_insert_with(|| json!({}));
    members.insert("status".into(), status);
    Ok(answer_with(StatusCode::CREATED, "application/json", &[], review.to_string()))
}

fn token_review(app: &App, review: &Value) -> Value {
    let token = review.pointer("/spec/token").and_then(Value::as_str).unwrap_or("");
    let asked = review.pointer("/spec/audiences").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let asked: Vec<&str> = asked.iter().filter_map(Value::as_str).collect();
    let Some((user, meant)) = app.identify_token(token) else {
        return json!({"authenticated": false, "user": {}, "error": "the token is not this server's"});
    };
    let asked = if asked.is_empty() { vec![AUDIENCE] } else { asked };
    // The administrator's token names no audience: it is meant for whoever asks.
    let fits: Vec<&str> =
        asked.into_iter().filter(|one| meant.is_empty() || meant.iter().any(|meant| meant == one)).collect();
    match fits.as_slice() {
        [] => json!({"authenticated": false, "user": {}, "error": "the token is meant for others"}),
        fits => json!({"authenticated": true, "user": user.info(), "audiences": fits}),
    }
}

fn rules_review(app: &App, user: &User, review: &Value) -> Value {
    let namespace = review.pointer("/spec/namespace").and_then(Value::as_str).unwrap_or("");
    let rules = auth::rules(&app.cluster.store, user, namespace);
    let (paths, resources): (Vec<Value>, Vec<Value>) =
        rules.into_iter().partition(|rule| rule.get("nonResourceURLs").is_some());
    json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
}

/// Whom a review asks about.
fn subject(spec: &Value) -> Result<User, ApiError> {
    let groups: Vec<String> = meta::texts(&spec["groups"]).into_iter().map(str::to_owned).collect();
    let name = spec["user"].as_str().unwrap_or("");
    if name.is_empty() && groups.is_empty() {
        return Err(ApiError::bad_request("at least one of spec.user and spec.groups has to be given"));
    }
    // What the review does not say is not assumed: no group follows from the name.
    Ok(User { groups, ..User::impersonated(name, Vec::new()) })
}

fn access_review(app: &App, user: &User, spec: &Value) -> Result<Value, ApiError> {
    let text = |of: &'static str, field: &str| spec[of][field].as_str().unwrap_or("");
    let (resource, path) = ("resourceAttributes", "nonResourceAttributes");
    if spec[resource].is_object() == spec[path].is_object() {
        return Err(ApiError::bad_request(format!("exactly one of spec.{resource} and spec.{path} has to be given")));
    }
    let asked = match spec[resource].is_object() {
        true => Attributes {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
            path: "",
        },
        false => Attributes { verb: text(path, "verb"), path: text(path, "path"), ..Attributes::default() },
    };
    let decision = auth::authorize(&app.cluster.store, user, &asked);
    Ok(match decision.reason.is_empty() {
        true => json!({"allowed": decision.allowed}),
        false => json!({"allowed": decision.allowed, "reason": decision.reason}),
    })
}
