//! A kind of a dialect, and what a run takes it for.

use serde::Deserialize;

use super::makes::Makes;
use super::releases::{Minor, Span};
use super::standing::Standing;

/// A kind of a dialect.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialectKind {
    /// Its name, such as `HTTPRoute`.
    pub kind: String,
    /// Its API group, unless that is the dialect's first.
    pub group: Option<String>,
    /// The resource, such as `httproutes`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    #[serde(default)]
    pub scope: Scope,
    /// What a run takes it for.
    pub role: Option<Role>,
    /// Where its conditions stand.
    #[serde(default)]
    pub conditions: Standing,
    /// Which limit of time there is for its status to settle.
    #[serde(default)]
    pub settles: Settles,
    /// Where its status says which generation it is about.
    #[serde(default)]
    pub generation: Generation,
    /// What controllers make in its namespace for an object of it.
    pub makes: Option<Makes>,
    /// The releases that have it in their standard channel.
    pub standard: Option<Span>,
    /// Those that have it in their experimental one.
    pub experimental: Option<Span>,
}

impl DialectKind {
    /// Several objects of it in words, such as `HTTPProxies`: spelt as the kind is, with the end of the resource.
    pub fn several(&self) -> String {
        let (kind, plural) = (self.kind.chars(), self.plural.chars());
        let same = kind.zip(plural).take_while(|(one, several)| one.to_ascii_lowercase() == *several).count();
        self.kind.chars().take(same).chain(self.plural.chars().skip(same)).collect()
    }

    /// Whether the definitions of a release and channel have it. A dialect that says nothing of that has it in all.
    pub fn is_served(&self, release: Minor, channel: &str) -> bool {
        let span = if channel == "experimental" { self.experimental } else { self.standard };
        match span {
            Some(span) => span.has(release),
            None => self.standard.is_none() && self.experimental.is_none(),
        }
    }
}

/// Where a status says which generation it is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Generation {
    /// In each condition, as `observedGeneration`.
    #[default]
    Conditions,
    /// In `status.observedGeneration`, for all of the conditions in `status.conditions`.
    Status,
    /// Nowhere: it is taken to be about the newest.
    Unsaid,
    /// Wherever an object says so: of a kind that no dialect knows.
    #[serde(skip)]
    Shown,
}

/// Where objects of a kind live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum Scope {
    /// In namespaces.
    #[default]
    Namespaced,
    /// In none.
    Cluster,
}

/// What a run takes a kind for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Says whose the objects are that name it.
    Class,
    /// Where traffic comes in.
    Entry,
}

/// Which limit of time there is for a status to settle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Settles {
    /// That of a class.
    Class,
    /// That of an entry; of its listeners alone, theirs.
    Entry,
    /// That of listeners.
    Listener,
    /// That of what is attached to others.
    #[default]
    Attached,
}
