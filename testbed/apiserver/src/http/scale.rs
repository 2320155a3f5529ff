//! `/scale`: the replicas of an object, in one form for all kinds.

use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::answers::answer_with;
use super::app::{App, Call};
use super::body::Body;
use super::decode::Encoding;
use super::writes;
use crate::cluster::{Draft, PatchKind, Target};
use crate::error::{ApiError, StatusCause};
use crate::meta;
use crate::patch::{json_patch, merge_patch};
use crate::resource::ScalePaths;

/// Answers GET, PUT and PATCH.
pub fn answer(app: &App, call: &Call<'_>, target: Target<'_>) -> Result<Response<Body>, ApiError> {
    let Some(paths) = &target.resource.scale else { return Err(ApiError::no_such_path()) };
    let live = app.cluster.get(target)?;
    let shown = show(paths, &live);
    let asked = match call.method.as_str() {
        "GET" | "HEAD" => return Ok(answer_with(StatusCode::OK, "application/json", &[], shown.to_string())),
        "PUT" => Encoding::of(call.media())?.decode(&call.body)?.object,
        "PATCH" => {
            let patch = Encoding::Json.decode(&call.body)?.object;
            let patched = match call.media() {
                "application/json-patch+json" => json_patch(&shown, &patch),
                // A Scale holds no lists, so both kinds of merge patches mean the same.
                "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
                    merge_patch(&shown, &patch)
                }
                _ => {
                    return Err(ApiError::unsupported_media_type(
                        "application/json-patch+json, application/merge-patch+json, \
                         application/strategic-merge-patch+json",
                    ));
                }
            };
            patched.map_err(|error| ApiError::bad_request(error.to_string()))?
        }
        _ => return Err(ApiError::method_not_allowed()),
    };
    let options = if call.method == http::Method::PUT { "UpdateOptions" } else { "PatchOptions" };
    let replicas = asked.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    if replicas < 0 {
        let why = "must be greater than or equal to 0";
        let cause = StatusCause::invalid("spec.replicas", &json!(replicas), why);
        return Err(ApiError::invalid("autoscaling", "Scale", target.name, vec![cause]));
    }
    let options = writes::options(call, options, false)?;
    let written = app.cluster.patch(target, PatchKind::Merge, change(paths, &asked, replicas), &options)?;
    let shown = show(paths, &written.object);
    Ok(answer_with(StatusCode::OK, "application/json", &written.warnings, shown.to_string()))
}

/// The merge patch of the object that a Scale asks for, bound to the version that it names.
fn change(paths: &ScalePaths, asked: &Value, replicas: i64) -> Draft {
    let mut patch = Value::Number(replicas.into());
    for name in segments(&paths.spec).rev() {
        patch = Value::Object(Map::from_iter([(name.to_owned(), patch)]));
    }
    for (field, value) in [("resourceVersion", meta::resource_version(asked)), ("uid", meta::uid(asked))] {
        if !value.is_empty() {
            meta::entry(&mut patch).insert(field.to_owned(), value.into());
        }
    }
    Draft::from(patch)
}

fn show(paths: &ScalePaths, object: &Value) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let number = |path: &str| at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut status = json!({"replicas": number(&paths.status)});
    let selector = match at(object, &paths.selector) {
        Some(Value::String(text)) => text.clone(),
        Some(selector) => selector_text(selector),
        None => String::new(),
    };
    if !selector.is_empty() {
        status["selector"] = selector.into();
    }
    let mut spec = json!({});
    if number(&paths.spec) != 0 {
        spec["replicas"] = number(&paths.spec).into();
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
}

fn segments(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('.').filter(|segment| !segment.is_empty())
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return None;
    }
    segments(path).try_fold(object, |value, segment| value.get(segment))
}

/// A LabelSelector as the text that means the same.
fn selector_text(selector: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<String> = labels.map(|(key, value)| format!("{key}={}", text(value))).collect();
    for one in selector["matchExpressions"].as_array().into_iter().flatten() {
        let (key, values) = (text(&one["key"]), meta::texts(&one["values"]).join(","));
        parts.push(match one["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key,
        });
    }
    parts.sort();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_fields_that_the_paths_name() {
        let paths =
            ScalePaths { spec: ".spec.size".into(), status: ".status.size".into(), selector: ".spec.selector".into() };
        let object = json!({
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {"size": 2, "selector": {
                "matchLabels": {"b": "c", "a": "b"},
                "matchExpressions": [
                    {"key": "t", "operator": "In", "values": ["x", "y"]},
                    {"key": "n", "operator": "DoesNotExist"},
                ],
            }},
            "status": {"size": 1},
        });
        let scale = show(&paths, &object);
        assert_eq!(scale["metadata"], json!({"name": "a"}));
        assert_eq!(scale["spec"]["replicas"], 2);
        assert_eq!(scale["status"], json!({"replicas": 1, "selector": "!n,a=b,b=c,t in (x,y)"}));
    }

    #[test]
    fn a_change_touches_nothing_else_and_keeps_the_version() {
        let paths = ScalePaths { spec: ".spec.size".into(), status: String::new(), selector: String::new() };
        let asked = json!({"metadata": {"resourceVersion": "7"}});
        assert_eq!(
            change(&paths, &asked, 3).object,
            json!({"spec": {"size": 3}, "metadata": {"resourceVersion": "7"}})
        );
    }
}
