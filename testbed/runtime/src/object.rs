//! Objects as they come from the API server, and what is known of them at one moment.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;

/// The kinds that an implementation reads. [`crate::kinds!`] makes one.
pub trait Kind: Copy + Debug + Ord + Hash + Send + Sync + 'static {
    /// Every kind.
    const ALL: &'static [Self];

    /// Name, group, version and plural.
    fn parts(self) -> (&'static str, &'static str, &'static str, &'static str);

    /// The kind's name.
    fn name(self) -> &'static str {
        self.parts().0
    }

    /// `group/version`, or the version alone.
    fn api_version(self) -> String {
        let (_, group, version, _) = self.parts();
        if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
    }

    /// What a client asks for.
    fn resource(self) -> ApiResource {
        let (name, group, version, plural) = self.parts();
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, name), plural)
    }

    /// The objects of a namespace, or those that have none if it is empty.
    fn api(self, client: Client, namespace: &str) -> Api<DynamicObject> {
        if namespace.is_empty() {
            Api::all_with(client, &self.resource())
        } else {
            Api::namespaced_with(client, namespace, &self.resource())
        }
    }
}

/// Declares the kinds that an implementation reads: `kinds! { Service, "Service", "", "v1", "services"; }`.
#[macro_export]
macro_rules! kinds {
    ($($variant:ident, $name:literal, $group:literal, $version:literal, $plural:literal;)*) => {
        /// A kind that the implementation reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the names are the kinds")]
        pub enum Kind { $($variant),* }

        impl $crate::object::Kind for Kind {
            const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            fn parts(self) -> (&'static str, &'static str, &'static str, &'static str) {
                match self { $(Kind::$variant => ($name, $group, $version, $plural)),* }
            }
        }
    };
}

/// Kind, namespace (empty for what has none) and name.
pub type Key<K> = (K, String, String);

/// What is known of the cluster at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot<K> {
    /// The objects.
    pub objects: BTreeMap<Key<K>, Arc<Value>>,
}

impl<K> Default for Snapshot<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new() }
    }
}

impl<K: Kind> Snapshot<K> {
    /// Adds or replaces an object.
    pub fn put(&mut self, kind: K, object: Value) {
        let key = (kind, namespace(&object).to_owned(), name(&object).to_owned());
        self.objects.insert(key, Arc::new(object));
    }

    /// One object.
    #[must_use]
    pub fn get(&self, kind: K, namespace: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind, namespace.to_owned(), name.to_owned())).map(|object| &**object)
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, kind: K) -> impl Iterator<Item = &Value> {
        let from = (kind, String::new(), String::new());
        self.objects.range(from..).take_while(move |(key, _)| key.0 == kind).map(|(_, object)| &**object)
    }

    /// Changes every object of a kind.
    pub fn edit(&mut self, kind: K, mut change: impl FnMut(&mut Value)) {
        for (_, object) in self.objects.iter_mut().filter(|(key, _)| key.0 == kind) {
            change(Arc::make_mut(object));
        }
    }
}

/// The text at a JSON pointer; empty if there is none.
#[must_use]
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The items at a JSON pointer; none if there is no list.
pub fn items<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Namespace of an object.
#[must_use]
pub fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

/// Name of an object.
#[must_use]
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// `namespace/name` of an object.
#[must_use]
pub fn full_name(object: &Value) -> String {
    format!("{}/{}", namespace(object), name(object))
}
