//! What is known of the cluster, and what of it matters to one object.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    kinds::{self, Kind, OwnerRule, Source},
    settings::Settings,
    status,
};

/// The prefix of annotations and labels.
pub const DOMAIN: &str = "serviceoperator.azure.com";
/// The finalizer of objects that may stand for something in Azure.
pub const FINALIZER: &str = "serviceoperator.azure.com/finalizer";
/// Which installation looks after the object.
pub const OPERATOR_NAMESPACE: &str = "serviceoperator.azure.com/operator-namespace";
/// The id in ARM.
pub const RESOURCE_ID: &str = "serviceoperator.azure.com/resource-id";
/// The operation that runs.
pub const POLLER_TOKEN: &str = "serviceoperator.azure.com/poller-resume-token";
/// What kind of operation that is.
pub const POLLER_ID: &str = "serviceoperator.azure.com/poller-resume-id";
/// The generation that was last put in, or refused for good.
pub const LATEST_GENERATION: &str = "serviceoperator.azure.com/latest-reconciled-generation";
/// What may be done in Azure.
pub const RECONCILE_POLICY: &str = "serviceoperator.azure.com/reconcile-policy";
/// The Secret with the credential.
pub const CREDENTIAL_FROM: &str = "serviceoperator.azure.com/credential-from";
/// The Secret with the credential of a namespace, where objects name none.
pub const NAMESPACE_CREDENTIAL: &str = "aso-credential";
/// The key of the subscription in such a Secret.
pub const SUBSCRIPTION_KEY: &str = "AZURE_SUBSCRIPTION_ID";
/// The key of the client id in such a Secret.
pub const CLIENT_KEY: &str = "AZURE_CLIENT_ID";

/// Group and kind, namespace (empty for none), and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// API group, empty for core.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl Key {
    /// Puts the parts together.
    pub fn new(group: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self { group: group.into(), kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }
}

/// Every object that is known.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The objects as they came from the server.
    pub objects: BTreeMap<Key, Arc<Value>>,
}

impl World {
    fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.objects.get(&Key::new(group, kind, namespace, name))
    }
}

/// The owner of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// It needs none.
    Nobody,
    /// Named by its id in ARM.
    Arm(String),
    /// Named, and not there.
    Missing(String),
    /// There.
    Found {
        /// Its kind and name.
        name: String,
        /// Whether it says Ready=True.
        is_ready: bool,
        /// Its id in ARM, as far as that is known.
        id: Option<String>,
        /// Its UID.
        uid: String,
    },
}

/// A value from elsewhere, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Input {
    /// Name among the properties.
    pub property: &'static str,
    /// Where it comes from.
    pub source: Source,
    /// The value, or what is missing.
    pub value: Result<String, String>,
}

/// What matters to one object.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The kind.
    pub kind: &'static Kind,
    /// The object as it came from the server.
    pub object: Arc<Value>,
    /// The annotation `reconcile-policy` of its namespace.
    pub namespace_policy: Option<String>,
    /// What the operator has for it where neither object nor namespace says one.
    pub default_policy: String,
    /// The owner.
    pub owner: Owner,
    /// Values from elsewhere.
    pub inputs: Vec<Input>,
    /// Kind and name of Secrets and ConfigMaps to be written to that somebody else owns.
    pub foreign: Vec<String>,
    /// The credential's subscription, or why there is no credential.
    pub subscription: Result<String, String>,
    /// The credential's client id; nothing for the operator's own.
    pub client: Option<String>,
}

impl Facts {
    /// A field of the metadata as text; empty for none.
    pub fn meta(&self, field: &str) -> &str {
        self.object["metadata"][field].as_str().unwrap_or_default()
    }

    /// The generation.
    pub fn generation(&self) -> i64 {
        self.object["metadata"]["generation"].as_i64().unwrap_or_default()
    }

    /// An annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object["metadata"]["annotations"][name].as_str()
    }

    /// Whether the object is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.object["metadata"]["deletionTimestamp"].is_string()
    }

    /// Whether the object bears our finalizer.
    pub fn has_finalizer(&self) -> bool {
        let finalizers = self.object["metadata"]["finalizers"].as_array().into_iter().flatten();
        finalizers.into_iter().any(|one| one == FINALIZER)
    }

    /// The condition Ready; null for none.
    pub fn ready(&self) -> &Value {
        status::ready_of(&self.object)
    }

    /// What may be done in Azure: the object's word, then that of the namespace, then the default; words that are not known
    /// are not heard.
    pub fn policy(&self) -> Policy {
        let words =
            [self.annotation(RECONCILE_POLICY), self.namespace_policy.as_deref(), Some(self.default_policy.as_str())];
        words.into_iter().flatten().find_map(Policy::parse).unwrap_or(Policy::Manage)
    }

    /// The name in Azure; empty where the spec leaves it so.
    pub fn azure_name(&self) -> &str {
        self.kind.only_name.unwrap_or_else(|| {
            self.object["spec"].get("azureName").map_or(self.meta("name"), |name| name.as_str().unwrap_or_default())
        })
    }

    /// The id in ARM that follows from spec and owner; nothing while the owner's is not known.
    pub fn id(&self) -> Option<String> {
        let owner = match &self.owner {
            Owner::Nobody => format!("/subscriptions/{}", self.subscription.as_ref().ok()?),
            Owner::Arm(id) => id.trim_end_matches('/').to_owned(),
            Owner::Found { id, .. } => id.clone()?,
            Owner::Missing(_) => return None,
        };
        let name = percent_encoding::utf8_percent_encode(self.azure_name(), NAME).to_string();
        Some(format!("{owner}{}/{name}", self.kind.segment))
    }

    /// A fingerprint of what an attempt without success has to wait for, if it is not to be repeated by itself.
    pub fn essence(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.generation(), self.policy(), self.is_deleting(), &self.subscription, &self.client).hash(&mut hasher);
        hasher.finish()
    }

    /// A fingerprint of everything that an attempt was made from.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.essence(), &self.owner, &self.inputs).hash(&mut hasher);
        hasher.finish()
    }
}

/// What in a name has to be written otherwise in a path.
const NAME: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What may be done in Azure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Everything.
    Manage,
    /// Nothing but reading.
    Skip,
    /// Everything but deleting.
    DetachOnDelete,
}

impl Policy {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "manage" => Some(Self::Manage),
            "skip" => Some(Self::Skip),
            "detach-on-delete" => Some(Self::DetachOnDelete),
            _ => None,
        }
    }
}

/// What the world means to one object; nothing if that is not there or of no kind of ours.
pub fn observe(world: &World, key: &Key, settings: &Settings) -> Option<Facts> {
    let kind = kinds::find(&key.group, &key.kind)?;
    let object = Arc::clone(world.objects.get(key)?);
    let namespace = world.get("", "Namespace", "", &key.namespace);
    let namespace_policy = namespace
        .and_then(|namespace| namespace["metadata"]["annotations"][RECONCILE_POLICY].as_str())
        .map(str::to_owned);
    Some(Facts {
        kind,
        namespace_policy,
        default_policy: settings.policy_in(&key.namespace).to_owned(),
        owner: owner(world, kind, &key.namespace, &object["spec"]["owner"]),
        inputs: inputs(world, kind, &key.namespace, &object["spec"]),
        foreign: foreign(world, &key.namespace, &object),
        subscription: subscription(world, &key.namespace, &object, settings),
        client: client(world, &key.namespace, &object),
        object,
    })
}

fn owner(world: &World, kind: &Kind, namespace: &str, owner: &Value) -> Owner {
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    let (group, of) = match kind.owner {
        OwnerRule::Nobody => return Owner::Nobody,
        OwnerRule::Kind(group, of) => (group, of),
        OwnerRule::Anything => (text("group"), text("kind")),
    };
    if let Some(id) = owner["armId"].as_str() {
        return Owner::Arm(id.to_owned());
    }
    let name = format!("{of} {namespace}/{}", text("name"));
    match world.get(group, of, namespace, text("name")) {
        Some(found) if kinds::find(group, of).is_some() => Owner::Found {
            name,
            is_ready: status::ready_of(found)["status"] == "True",
            id: found["metadata"]["annotations"][RESOURCE_ID].as_str().map(str::to_owned),
            uid: found["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
        },
        _ => Owner::Missing(name),
    }
}

fn inputs(world: &World, kind: &Kind, namespace: &str, spec: &Value) -> Vec<Input> {
    let given = kind.inputs.iter().filter(|rule| spec[rule.field].is_object());
    given
        .map(|rule| {
            let given = &spec[rule.field];
            let text = |field: &str| given[field].as_str().unwrap_or_default();
            let value = match rule.source {
                Source::Secret => keyed(world, "Secret", namespace, text("name"), text("key")),
                Source::ConfigMap => keyed(world, "ConfigMap", namespace, text("name"), text("key")),
                Source::Resource => reference(world, namespace, given),
            };
            Input { property: rule.property, source: rule.source, value }
        })
        .collect()
}

/// The value of a key of a Secret or ConfigMap.
fn keyed(world: &World, kind: &str, namespace: &str, name: &str, key: &str) -> Result<String, String> {
    let object =
        world.get("", kind, namespace, name).ok_or_else(|| format!("{kind} {namespace}/{name} does not exist"))?;
    let value =
        if kind == "Secret" { decoded(&object["data"][key]) } else { object["data"][key].as_str().map(str::to_owned) };
    value.ok_or_else(|| format!("{kind} {namespace}/{name} has no key {key:?}"))
}

fn decoded(value: &Value) -> Option<String> {
    String::from_utf8(STANDARD.decode(value.as_str()?).ok()?).ok()
}

fn reference(world: &World, namespace: &str, given: &Value) -> Result<String, String> {
    let text = |field: &str| given[field].as_str().unwrap_or_default();
    if let Some(id) = given["armId"].as_str() {
        return Ok(id.to_owned());
    }
    let (kind, name) = (text("kind"), text("name"));
    if name.starts_with('/') {
        return Err(format!("{name:?} is no name of an object; an id in ARM belongs into armId"));
    }
    let found = world
        .get(text("group"), kind, namespace, name)
        .ok_or_else(|| format!("{kind} {namespace}/{name} does not exist"))?;
    let id = found["metadata"]["annotations"][RESOURCE_ID].as_str();
    id.map(str::to_owned).ok_or_else(|| format!("{kind} {namespace}/{name} has no id in ARM yet"))
}

/// Where a value of the resource is to be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// What the value is called.
    pub value: String,
    /// `Secret` or `ConfigMap`.
    pub kind: &'static str,
    /// The name of that.
    pub name: String,
    /// The key in it.
    pub key: String,
}

/// Everywhere that values of the resource are to be written to.
pub fn destinations(object: &Value) -> Vec<Destination> {
    let lists = [("Secret", "secrets"), ("ConfigMap", "configMaps")].into_iter().filter_map(|(kind, field)| {
        let list = object.pointer(&format!("/spec/operatorSpec/{field}"))?.as_object()?;
        Some(list.iter().map(move |entry| (kind, entry)))
    });
    lists
        .flatten()
        .filter_map(|(kind, (value, to))| {
            let text = |field: &str| to[field].as_str().map(str::to_owned);
            Some(Destination { value: value.clone(), kind, name: text("name")?, key: text("key")? })
        })
        .collect()
}

fn foreign(world: &World, namespace: &str, object: &Value) -> Vec<String> {
    let uid = &object["metadata"]["uid"];
    let is_foreign = |to: &Destination| {
        world.get("", to.kind, namespace, &to.name).is_some_and(|there| {
            !there["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(|one| &one["uid"] == uid)
        })
    };
    let all = destinations(object).into_iter().filter(is_foreign);
    let mut names: Vec<_> = all.map(|to| format!("{} {}", to.kind, to.name)).collect();
    names.dedup();
    names
}

fn subscription(world: &World, namespace: &str, object: &Value, settings: &Settings) -> Result<String, String> {
    let of = |name: &str| keyed(world, "Secret", namespace, name, SUBSCRIPTION_KEY);
    match object["metadata"]["annotations"][CREDENTIAL_FROM].as_str() {
        Some(name) if name.contains('/') => Err(format!(
            "the credential cannot be taken from {name:?}: it has to be a Secret of the object's namespace"
        )),
        Some(name) => of(name).map_err(|missing| format!("there is no credential: {missing}")),
        None if world.get("", "Secret", namespace, NAMESPACE_CREDENTIAL).is_some() => {
            of(NAMESPACE_CREDENTIAL).map_err(|missing| format!("there is no credential: {missing}"))
        }
        None => settings.subscription.clone().ok_or_else(|| {
            "there is no credential: neither for the object, nor for its namespace, nor for all".to_owned()
        }),
    }
}

/// In whose name the credential lets requests be sent.
fn client(world: &World, namespace: &str, object: &Value) -> Option<String> {
    let name = object["metadata"]["annotations"][CREDENTIAL_FROM].as_str().unwrap_or(NAMESPACE_CREDENTIAL);
    keyed(world, "Secret", namespace, name, CLIENT_KEY).ok()
}
