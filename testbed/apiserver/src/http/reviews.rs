//! TokenReview, SelfSubjectReview and the access reviews: everybody with the token may do everything.

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::body::Body;
use super::decode::Encoding;
use super::dispatch::{App, Call, answer_with};
use super::listener::same_token;
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
    let user = json!({"username": "gateproof:admin", "groups": ["system:masters", "system:authenticated"]});
    let status = match resource.kind.as_str() {
        "TokenReview" => token_review(app, &review, user),
        "SelfSubjectReview" => json!({"userInfo": user}),
        "SelfSubjectRulesReview" => json!({
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            "incomplete": false,
        }),
        _ => json!({"allowed": true, "reason": "everybody with the token may do everything"}),
    };
    let members = meta::as_map(&mut review);
    members.insert("apiVersion".into(), resource.api_version().into());
    members.insert("kind".into(), resource.kind.clone().into());
    members.entry("metadata").or_insert_with(|| json!({}));
    members.insert("status".into(), status);
    Ok(answer_with(StatusCode::CREATED, "application/json", &[], review.to_string()))
}

fn token_review(app: &App, review: &Value, user: Value) -> Value {
    let token = review.pointer("/spec/token").and_then(Value::as_str).unwrap_or("");
    match same_token(token, &app.token) {
        true => json!({"authenticated": true, "user": user, "audiences": review["spec"]["audiences"]}),
        false => json!({"authenticated": false, "error": "the token is not this server's"}),
    }
}
