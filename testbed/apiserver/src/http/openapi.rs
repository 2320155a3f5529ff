//! OpenAPI documents: enough for `kubectl explain`, `apply` and `describe`.

use http::Response;
use serde_json::{Map, Value, json};

use super::answers::json_answer;
use super::body::Body;
use super::messages;
use crate::digest;
use crate::error::ApiError;
use crate::kinds::Registry;
use crate::resource::Resource;
use crate::wire::message_of;

/// The title of the documents.
pub const TITLE: &str = "Gateproof";
/// The version of the API, as the documents tell it.
pub const VERSION: &str = "v1.36.0+gateproof";

/// `/openapi/v3` and the documents below it.
pub fn v3(registry: &Registry, path: &str) -> Result<Response<Body>, ApiError> {
    if path.is_empty() {
        return json_answer(&index(registry));
    }
    let (group, version) = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => (String::new(), (*version).to_owned()),
        ["apis", group, version] => ((*group).to_owned(), (*version).to_owned()),
        _ => return Err(ApiError::no_such_path()),
    };
    json_answer(&document(registry, &group, &version).ok_or_else(ApiError::no_such_path)?)
}

fn index(registry: &Registry) -> Value {
    let core = registry.versions("").into_iter().map(|version| (String::new(), version.to_owned()));
    let named = registry.groups().into_iter().flat_map(|(group, versions)| {
        versions.into_iter().map(|version| (group.to_owned(), version.to_owned())).collect::<Vec<_>>()
    });
    let mut paths = Map::new();
    for (group, version) in core.chain(named) {
        let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        let content = document(registry, &group, &version).unwrap_or(Value::Null);
        let hash = digest::hex(&digest::of_json(&content)).to_uppercase();
        paths.insert(path.clone(), json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}")}));
    }
    json!({"paths": paths})
}

/// The schemas of all kinds, and of what they are made of.
pub fn schemas(registry: &Registry) -> Map<String, Value> {
    let mut all = Map::new();
    for (group, versions) in registry.groups().into_iter().chain([("", registry.versions(""))]) {
        for version in versions {
            let mut document = document(registry, group, version).unwrap_or_default();
            for (name, schema) in std::mem::take(crate::meta::as_map(&mut document["components"]["schemas"])) {
                // A part of a kind in one group may be a kind in another, and only there is it said which.
                if schema.get("x-kubernetes-group-version-kind").is_some() || !all.contains_key(&name) {
                    all.insert(name, schema);
                }
            }
        }
    }
    all
}

fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let (mut schemas, mut paths) = (Map::new(), Map::new());
    for resource in registry.resources(group, version)? {
        let name = match message_of(group, version, &resource.kind) {
            Some(message) if !resource.custom => {
                messages::add(&mut schemas, message.name);
                messages::component(message.name)
            }
            _ => {
                let name = component(resource);
                schemas.insert(name.clone(), schema(resource));
                name
            }
        };
        schemas[&name]["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
        paths.extend(operations(resource, &name));
    }
    messages::add(&mut schemas, "meta.ObjectMeta");
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}

/// The name of a custom kind's schema: the group's labels in reverse order, then version and kind.
fn component(resource: &Resource) -> String {
    let mut labels: Vec<&str> = resource.group.split('.').collect();
    labels.reverse();
    format!("{}.{}.{}", labels.join("."), resource.version, resource.kind)
}

fn schema(resource: &Resource) -> Value {
    let mut schema = match resource.schema.text() {
        Some(text) => text.clone(),
        None => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    };
    let text = |description: &str| json!({"type": "string", "description": description});
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    schema["properties"]["apiVersion"] = text("The version of the schema that this object is written in.");
    schema["properties"]["kind"] = text("The kind of this object.");
    schema["properties"]["metadata"] = json!({
        "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}],
        "default": {},
        "description": "Name, labels and everything else that all objects have.",
    });
    schema
}

fn gvk(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

fn operations(resource: &Resource, component: &str) -> Vec<(String, Value)> {
    let root = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    let scope = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{root}{scope}/{}", resource.plural);
    let reference = json!({"$ref": format!("#/components/schemas/{component}")});
    let responses = json!({"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}});
    let parameters = |names: &[&str]| -> Value {
        let query =
            |name: &&str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
        names.iter().map(query).collect()
    };
    let write = ["dryRun", "fieldManager", "fieldValidation"];
    let operation = |action: &str, names: &[&str]| {
        json!({
            "parameters": parameters(names),
            "responses": responses,
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk(resource),
        })
    };
    let body = |mut operation: Value, media: &[&str]| {
        let content: Map<String, Value> =
            media.iter().map(|media| ((*media).to_owned(), json!({"schema": reference}))).collect();
        operation["requestBody"] = json!({"content": content, "required": true});
        operation
    };
    let post = body(operation("post", &write), &["application/json"]);
    if resource.behaviour.review {
        return vec![(collection, json!({"post": post}))];
    }
    // The schemas carry no merge keys, so clients shall not compute strategic merge patches from them. They do so for
    // built-in kinds by what they know themselves.
    let patches = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    let one = json!({
        "get": operation("get", &[]),
        "put": body(operation("put", &write), &["application/json"]),
        "patch": body(operation("patch", &["dryRun", "fieldManager", "fieldValidation", "force"]), &patches),
        "delete": operation("delete", &["dryRun", "propagationPolicy"]),
    });
    let all = json!({
        "get": operation("list", &["continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "watch"]),
        "post": post,
        "delete": operation("deletecollection", &["dryRun", "fieldSelector", "labelSelector"]),
    });
    vec![(format!("{collection}/{{name}}"), one), (collection, all)]
}
