//! The schemas of the Gateway API releases that are built in, for checking manifests before anything is applied.

use std::collections::HashMap;
use std::sync::OnceLock;

use gateproof_apiserver::crds::{self, BUNDLE_VERSION};
use gateproof_apiserver::schema::CompiledSchema;
use serde_json::Value;

use crate::scenario::lint::ObjectSchemas;
use crate::scenario::{Channel, Version};

/// The built-in release, in both channels.
#[derive(Debug, Clone, Copy, Default)]
pub struct BundledSchemas;

/// By apiVersion and kind, the compiled schema and what it is made of.
type ByKind = HashMap<(String, String), (CompiledSchema, Value)>;

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
            let source = &version["schema"]["openAPIV3Schema"];
            if let Ok(schema) = CompiledSchema::compile(source) {
                by_kind.insert((api_version, text(&spec["names"]["kind"])), (schema, source.clone()));
            }
        }
    }
    by_kind
}

fn of(object: &Value, channel: Channel) -> Option<&'static (CompiledSchema, Value)> {
    let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    schemas(channel).get(&(text("apiVersion"), text("kind")))
}

impl ObjectSchemas for BundledSchemas {
    fn releases(&self) -> Vec<(Version, Channel)> {
        let version = BUNDLE_VERSION.parse().ok();
        [Channel::Standard, Channel::Experimental].into_iter().filter_map(|channel| Some((version?, channel))).collect()
    }

    fn unknown_fields(&self, object: &Value, _: Version, channel: Channel) -> Option<Vec<String>> {
        let (schema, _) = of(object, channel)?;
        Some(schema.prune(&mut object.clone()))
    }

    fn fields_beside(&self, object: &Value, path: &str, _: Version, channel: Channel) -> Vec<String> {
        let Some((_, source)) = of(object, channel) else { return Vec::new() };
        let parent = path.rsplit_once('.').map_or("", |(parent, _)| parent);
        let mut node = source;
        for segment in parent.split('.').filter(|segment| !segment.is_empty()) {
            let (name, indices) =
                segment.split_once('[').map_or((segment, 0), |(n, rest)| (n, 1 + rest.matches('[').count()));
            node = &node["properties"][name];
            for _ in 0..indices {
                node = &node["items"];
            }
        }
        node["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }
}
