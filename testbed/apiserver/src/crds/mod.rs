//! The CustomResourceDefinitions of Gateway API: our own, expanded from the compact sources in `crds/`, or an official bundle.
//!
//! The notation of the sources is described in `crds/README.md`. [`gateway_api`] expands them, [`parse_bundle`] reads what
//! `--crds FILE|URL` names, and [`canonical`] is the form in which two definitions are compared.

mod bundle;
mod canonical;
mod definition;
mod error;
mod expression;
mod mark;
mod rules;
mod schema;
mod source;
mod upgrades;

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

pub use bundle::{Bundle, BundleError, parse_bundle};
pub use canonical::{canonical, digest};
pub use upgrades::safe_upgrades;

pub use crate::kinds::policies::is_one as is_policy;

/// The release of Gateway API that the embedded definitions equal.
pub const BUNDLE_VERSION: &str = "v1.7.0";

/// The annotation that names the release a definition comes from.
pub const BUNDLE_VERSION_ANNOTATION: &str = "gateway.networking.k8s.io/bundle-version";

/// The annotation that names the release channel a definition comes from.
pub const CHANNEL_ANNOTATION: &str = "gateway.networking.k8s.io/channel";

/// A release channel of Gateway API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Channel {
    /// Kinds and fields that have graduated.
    #[default]
    Standard,
    /// Everything in Standard, and what may still change or go.
    Experimental,
}

impl Channel {
    /// Both channels.
    pub const ALL: [Self; 2] = [Self::Standard, Self::Experimental];

    /// The channel's name as the annotation [`CHANNEL_ANNOTATION`] has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Experimental => "experimental",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The CustomResourceDefinitions of Gateway API [`BUNDLE_VERSION`] in a channel, ordered by name.
///
/// They are expanded once a process. Use [`gateway_api_ref`] where a borrow is enough.
#[must_use]
pub fn gateway_api(channel: Channel) -> Vec<Value> {
    gateway_api_ref(channel).to_vec()
}

/// What [`gateway_api`] returns, borrowed.
///
/// # Panics
///
/// Never with the sources that are compiled in: the tests expand them in both channels.
#[must_use]
pub fn gateway_api_ref(channel: Channel) -> &'static [Value] {
    static STANDARD: OnceLock<Vec<Value>> = OnceLock::new();
    static EXPERIMENTAL: OnceLock<Vec<Value>> = OnceLock::new();
    let cell = match channel {
        Channel::Standard => &STANDARD,
        Channel::Experimental => &EXPERIMENTAL,
    };
    cell.get_or_init(|| definition::expand_all(channel).unwrap_or_else(|error| panic!("embedded definitions: {error}")))
}

/// A source of definitions that does not read or expand, with what is wrong and where.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(transparent)]
pub struct DefinitionError(#[from] error::SourceError);

/// Expands definitions of other groups, written in the same notation: `shared` is a text like `shared.yaml`, each of `kinds` the
/// file of a kind. They may use what Gateway API's kinds share, unless `shared` names it anew. They come in the order of the
/// files.
///
/// # Errors
/// [`DefinitionError`]: a text does not read, or says what the notation does not know.
pub fn expand(shared: &str, kinds: &[&str]) -> Result<Vec<Value>, DefinitionError> {
    Ok(definition::expand_sources(shared, kinds)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SHARED: &str = "fragments: {}\n$defs: {word: string 1..9}";

    #[test]
    fn definitions_of_other_groups_are_expanded_alike_and_bear_no_mark_of_gateway_api() {
        let lamp = "kind: Lamp\nplural: lamps\ngroup: a.test\nversions: {v1api20230101: served storage}\nspec!: {socket!: word}";
        let [lamp] = &expand(SHARED, &[lamp]).unwrap()[..] else { panic!("one definition") };
        assert_eq!(lamp["metadata"], serde_json::json!({"name": "lamps.a.test"}));
        assert_eq!(lamp["spec"]["names"].get("categories"), None);
        assert_eq!(lamp["spec"]["versions"][0]["name"], "v1api20230101");
        let spec = lamp.pointer("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
        assert_eq!(spec["properties"]["socket"], serde_json::json!({"type": "string", "minLength": 1, "maxLength": 9}));
    }

    #[test]
    fn categories_and_selectable_fields_are_where_api_servers_look_for_them() {
        let lamp = "kind: Lamp\nplural: lamps\ncategories: [light]\ngroup: a.test\nversions: {v1: served storage}\nselectable: [.spec.socket]\nspec!: {socket!: word}";
        let [lamp] = &expand(SHARED, &[lamp]).unwrap()[..] else { panic!("one definition") };
        assert_eq!(lamp["spec"]["names"]["categories"], serde_json::json!(["light"]));
        let fields = serde_json::json!([{"jsonPath": ".spec.socket"}]);
        assert_eq!(lamp["spec"]["versions"][0]["selectableFields"], fields);
    }

    #[test]
    fn a_mistake_says_where_it_stands() {
        let lamp = "kind: Lamp\nplural: lamps\ngroup: a.test\nversions: {v1: served storage}\nspec!: {socket!: wort}";
        let error = expand(SHARED, &[lamp]).unwrap_err().to_string();
        assert!(error.contains("Lamp/v1.spec.socket") && error.contains("wort"), "{error}");
    }
}
