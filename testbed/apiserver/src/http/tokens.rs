//! `/token` of a ServiceAccount.

use http::{Method, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::answers::answer_with;
use super::app::{App, Call};
use super::body::Body;
use super::decode::Encoding;
use crate::auth::{AUDIENCE, Bound};
use crate::cluster::Target;
use crate::error::{ApiError, StatusCause};
use crate::meta;
use crate::store::Key;

const API_VERSION: &str = "authentication.k8s.io/v1";
/// How long a token is good where nothing is said, in seconds.
const USUAL: i64 = 3600;
/// The shortest life of a token, in seconds.
const SHORTEST: i64 = 600;
/// The longest, in seconds.
const LONGEST: i64 = 1 << 32;

/// Answers a TokenRequest.
pub fn answer(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    if call.method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    let account = app.cluster.get(target)?;
    let mut request = Encoding::of(call.media())?.decode(&call.body)?.object;
    if !request.is_object() || !["", "TokenRequest"].contains(&meta::kind(&request)) {
        return Err(ApiError::bad_request("the body of the request is not a TokenRequest"));
    }
    let spec = &request["spec"];
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(USUAL);
    let limit = |bound: i64, why: &str| {
        let cause = StatusCause::invalid("spec.expirationSeconds", &json!(seconds), &format!("{why} {bound} seconds"));
        Err(ApiError::invalid("authentication.k8s.io", "TokenRequest", "", vec![cause]))
    };
    if seconds < SHORTEST {
        return limit(SHORTEST, "a token is good for at least");
    }
    if seconds > LONGEST {
        return limit(LONGEST, "a token is good for at most");
    }
    let mut audiences: Vec<String> = meta::texts(&spec["audiences"]).into_iter().map(str::to_owned).collect();
    if audiences.is_empty() {
        audiences.push(AUDIENCE.to_owned());
    }
    let bound = bound(app, target, &spec["boundObjectRef"])?;
    let end = Timestamp::now().saturating_add(SignedDuration::from_secs(seconds));
    let end = end.map_err(|error| ApiError::internal(error.to_string()))?;
    let token = app.issuer.issue(&account, &audiences, bound.as_ref(), end);
    let token = token.map_err(|error| ApiError::internal(error.to_string()))?;

    let members = meta::as_map(&mut request);
    members.insert("apiVersion".into(), API_VERSION.into());
    members.insert("kind".into(), "TokenRequest".into());
    let metadata = json!({"name": target.name, "namespace": target.namespace, "creationTimestamp": meta::now()});
    members.insert("metadata".into(), metadata);
    let spec = meta::as_map(members.entry("spec").or_insert_with(|| json!({})));
    spec.insert("audiences".into(), audiences.into());
    spec.insert("expirationSeconds".into(), seconds.into());
    spec.entry("boundObjectRef").or_insert(Value::Null);
    let status = json!({"token": token, "expirationTimestamp": meta::whole_seconds(end)});
    members.insert("status".into(), status);
    Ok(answer_with(StatusCode::CREATED, "application/json", &[], request.to_string()))
}

/// The object that a token shall end with.
fn bound(app: &App, target: Target<'_>, reference: &Value) -> Result<Option<Bound>, ApiError> {
    if !reference.is_object() {
        return Ok(None);
    }
    let text = |field: &str| reference[field].as_str().unwrap_or("");
    let (kind, name) = (text("kind"), text("name"));
    let namespace = match kind {
        "Pod" | "Secret" => target.namespace,
        "Node" => "",
        _ => {
            let why = format!("cannot bind token to object of type {} {kind}", text("apiVersion"));
            return Err(ApiError::bad_request(why));
        }
    };
    let registry = app.cluster.registry();
    let found = registry.by_kind("v1", kind).map(|resource| {
        let object = app.cluster.store.get(&resource.collection, &Key::new(namespace, name));
        (resource, object)
    });
    let Some((resource, Some(object))) = found else {
        return Err(match found {
            Some((resource, _)) => ApiError::not_found(resource, name),
            None => ApiError::internal(format!("{kind} is not served")),
        });
    };
    let uid = meta::uid(&object);
    if !["", uid].contains(&text("uid")) {
        let why = format!("the UID in the bound object reference ({}) does not match the UID in record", text("uid"));
        return Err(ApiError::conflict(resource, name, &why));
    }
    Ok(Some(Bound { kind: kind.to_owned(), name: name.to_owned(), uid: uid.to_owned() }))
}
