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

use std::fmt;
use std::sync::OnceLock;

use serde_json::Value;

pub use bundle::{Bundle, BundleError, parse_bundle};
pub use canonical::{canonical, digest};
pub use definition::expand_sources;
pub use error::{Problem, SourceError};

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
