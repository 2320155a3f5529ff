//! The schemas of the Gateway API releases that are built in, and of the kinds of Kubernetes itself, for checking manifests
//! before anything is applied.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gateproof_apiserver::crds::{self, BUNDLE_VERSION};
use gateproof_apiserver::schema::{CompiledSchema, builtin};
use serde_json::Value;

use crate::scenario::lint::ObjectSchemas;
use crate::scenario::{Channel, Version};

/// The built-in release, in both channels.
#[derive(Debug, Clone, Copy, Default)]
pub struct BundledSchemas;

/// The compiled schema by apiVersion and kind.
type ByKind = HashMap<(String, String), CompiledSchema>;

fn schemas(channel: Channel) -> &'static ByKind {
    static STANDARD: OnceLock<ByKind> = OnceLock::new();
    static EXPERIMENTAL: OnceLock<ByKind> = OnceLock::new();
    match channel {
        Channel::Standard => STANDARD.get_or_init(|| compile(crds::Channel::Standard)),
        Channel::Experimental => EXPERIMENTAL.get_or_init(|| compile(crds::Channel::Experimental)),
    }
}

fn compile(channel: crds::Channel) -> ByKind {
    let mut by_kind = ByKind::new();
    for definition in crds::gateway_api_ref(channel) {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for version in spec["versions"].as_array().into_iter().flatten() {
            let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            // The built-in definitions compile, which their own tests prove.
            if let Ok(schema) = CompiledSchema::compile(&version["schema"]["openAPIV3Schema"]) {
                by_kind.insert((api_version, text(&spec["names"]["kind"])), schema);
            }
        }
    }
    by_kind
}

fn of(object: &Value, channel: Channel) -> Option<&'static CompiledSchema> {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    schemas(channel).get(&(text("apiVersion"), text("kind")))
}

fn of_kubernetes(object: &Value) -> Option<Arc<CompiledSchema>> {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    builtin::schema(group, text("kind"))
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

impl ObjectSchemas for BundledSchemas {
    fn releases(&self) -> Vec<(Version, Channel)> {
        let version = BUNDLE_VERSION.parse().ok();
        [Channel::Standard, Channel::Experimental].into_iter().filter_map(|channel| Some((version?, channel))).collect()
    }

    fn unknown_fields(&self, object: &Value, _: Version, channel: Channel) -> Option<Vec<String>> {
        Some(of(object, channel)?.prune(&mut object.clone()))
    }

    fn fields_beside(&self, object: &Value, path: &str, _: Version, channel: Channel) -> Vec<String> {
        of(object, channel).map(|schema| owned(schema.fields_beside(path))).unwrap_or_default()
    }

    fn unknown_to_kubernetes(&self, object: &Value) -> Vec<(String, Vec<String>)> {
        let Some(schema) = of_kubernetes(object) else { return Vec::new() };
        let unknown = schema.prune(&mut object.clone());
        unknown.into_iter().map(|path| (path.clone(), owned(schema.fields_beside(&path)))).collect()
    }
}
