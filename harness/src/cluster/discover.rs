//! What the target is: kinds and versions served, CRD bundle, GatewayClass and its claims.

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use kube::core::WatchEvent;
use serde_json::Value;

use super::api::{Api, ApiError, encode};
use super::clock::{self, Backoff};
use super::kinds::Kinds;
use super::resources::{Wanted, wanted_kinds};
use super::served::{self, Definitions};
use crate::dialects::{Dialect, Releases, is_borrowed};
use crate::scenario::{Basis, Channel, Release, Version};

/// Facts about a target that the plan and the reports need.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The class under test, of a dialect that has classes.
    pub class: Option<Class>,
    /// The release that it is judged by, of a dialect that has releases.
    pub bundle: Option<Bundle>,
    /// Features claimed in `status.supportedFeatures`, sorted.
    pub features: Vec<String>,
    /// Kinds served.
    pub kinds: Kinds,
}

/// A class under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// One of the same controller that takes one entry only, if one is named.
    pub single: Option<String>,
    /// An address that its Gateways may ask for, if one is named.
    pub address: Option<String>,
    /// Its controller.
    pub controller_name: String,
    /// What its controller said of it within the budget.
    pub acceptance: Acceptance,
}

/// The release that a target is judged by.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// As it is annotated, such as `v1.6.1`, unless another is chosen.
    pub name: String,
    /// The same, parsed, and its channel.
    pub release: Release,
    /// The definitions, if they are of another release or channel.
    pub definitions: Option<Arc<Definitions>>,
}

impl Bundle {
    /// Its channel, as people write it.
    pub fn channel(&self) -> &'static str {
        self.release.channel.word()
    }
}

impl Facts {
    /// What it is judged by.
    pub fn basis(&self) -> Basis {
        Basis { release: self.bundle.as_ref().map(|bundle| bundle.release) }
    }

    /// Its definitions, if they are of another release or channel than it is judged by.
    pub fn definitions(&self) -> Option<&Arc<Definitions>> {
        self.bundle.as_ref()?.definitions.as_ref()
    }

    /// A class of the same controller that takes one entry only, if one is named.
    pub fn single_class(&self) -> Option<&str> {
        self.class.as_ref()?.single.as_deref()
    }

    /// An address that Gateways of the class may ask for, if one is named.
    pub fn usable_address(&self) -> Option<&str> {
        self.class.as_ref()?.address.as_deref()
    }

    /// The name of the class under test; empty if there is none.
    pub fn class_name(&self) -> &str {
        self.class.as_ref().map_or("", |class| &class.name)
    }

    /// The controller under test; empty if nobody is named.
    pub fn controller_name(&self) -> &str {
        self.class.as_ref().map_or("", |class| &class.controller_name)
    }

    /// What is tested, in words: the class with its controller, the dialect, and the release with what else the definitions are of.
    pub fn summary(&self) -> String {
        let class = self.class.as_ref().map(|class| format!("class {} ({}), ", class.name, class.controller_name));
        let release = self.bundle.as_ref().map(|bundle| format!(" {}", bundle.summary()));
        format!("{}{}{}", class.unwrap_or_default(), self.kinds.dialect().title(), release.unwrap_or_default())
    }
}

impl Bundle {
    /// The release, and in words what else the definitions are of.
    pub fn summary(&self) -> String {
        let chosen =
            |definitions: &Arc<Definitions>| format!(", chosen; its definitions are of {}", definitions.release);
        format!("{}{}", self.name, self.definitions.as_ref().map(chosen).unwrap_or_default())
    }
}

/// What a controller says of a GatewayClass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// It answers for it, be it of an earlier generation.
    Accepted,
    /// It does not, for this reason.
    Refused(String),
    /// Nothing.
    Silent,
    /// Classes of this dialect say nothing of the kind.
    Unasked,
}

/// Why a target cannot be tested, named for the phase that failed.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// Discovery failed.
    #[error("cannot discover what the target serves: {0}")]
    Discovery(ApiError),
    /// Nothing of the dialect.
    #[error("the target serves no {groups}; install the {title} CRDs first")]
    NotServed {
        /// Its API groups, in words.
        groups: String,
        /// Its name for people.
        title: String,
    },
    /// The CRDs cannot be read.
    #[error("cannot read the CustomResourceDefinition {definition}: {error}")]
    Crd {
        /// Which is read for the release.
        definition: String,
        /// What went wrong.
        error: ApiError,
    },
    /// The CRDs do not say which release they are.
    #[error(
        "the annotation `{annotation}` of the CustomResourceDefinition {definition} is `{value}`, which names no release or channel; name them with --gateway-api-version and --gateway-api-channel"
    )]
    Bundle {
        /// Which definition.
        definition: String,
        /// Which annotation.
        annotation: String,
        /// What it holds.
        value: String,
    },
    /// No such class.
    #[error("the target has no {kind} `{name}`{}", others(known))]
    ClassMissing {
        /// Of which kind it is.
        kind: String,
        /// Asked for.
        name: String,
        /// There.
        known: Vec<String>,
    },
    /// The class for full targets belongs to somebody else.
    #[error("{kind} `{name}` is for controller `{controller}`, not for `{wanted}` as the class under test")]
    ForeignClass {
        /// Of which kind it is.
        kind: String,
        /// The class.
        name: String,
        /// Its controller.
        controller: String,
        /// The controller under test.
        wanted: String,
    },
    /// The class cannot be read.
    #[error("cannot read {kind} `{name}`: {error}")]
    Class {
        /// Of which kind it is.
        kind: String,
        /// Asked for.
        name: String,
        /// What went wrong.
        error: ApiError,
    },
}

fn others(classes: &[String]) -> String {
    if classes.is_empty() {
        return ", and no other either: the controller is not installed, or its class is still to be created"
            .to_owned();
    }
    format!("; it has: {}", classes.join(", "))
}

/// The first pause before a watch of the class is opened again, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));

/// How long to wait for a class, and who is told of it.
pub struct Patience<'p> {
    /// For the class to be accepted.
    pub budget: Duration,
    /// For features to be claimed after that: some controllers write a status in steps, and many claim none.
    pub quiet: Duration,
    /// Is told what is waited for.
    pub tell: &'p mut (dyn FnMut(&str) + Send),
}

/// What the user says of the release to judge by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenBundle {
    /// The release.
    pub version: Version,
    /// The channel; without it that of the definitions.
    pub channel: Option<Channel>,
}

/// A class that the user names.
#[derive(Debug, Clone, Copy)]
pub struct GivenClass<'c> {
    /// The one to test.
    pub name: &'c str,
    /// One that takes one entry only.
    pub single: Option<&'c str>,
    /// An address that its entries may ask for.
    pub address: Option<&'c str>,
}

/// Reads everything. Waits with `patience` for the class to be accepted, because features are claimed in its status.
///
/// # Errors
/// The target serves nothing of the dialect, or does not say what has to be known.
pub async fn discover(
    api: &Api,
    class: Option<GivenClass<'_>>,
    wanted: &Wanted,
    given: Option<GivenBundle>,
    mut patience: Patience<'_>,
) -> Result<Facts, DiscoverError> {
    let kinds = wanted_kinds(api, wanted).await.map_err(DiscoverError::Discovery)?;
    if let [others @ .., last] = &kinds.lacks()[..] {
        return Err(not_served(&wanted.dialect, others, last));
    }
    let bundle = match wanted.dialect.releases() {
        Some(releases) => Some(bundle(api, &kinds, releases, given).await?),
        None => None,
    };
    let (class, features) = match class {
        Some(class) => {
            let (class, features) = classes(api, &kinds, class, &mut patience).await?;
            (Some(class), features)
        }
        None => (None, Vec::new()),
    };
    Ok(Facts { class, bundle, features, kinds })
}

/// What is to be known of the class under test and of the one for full targets, and the features that are claimed.
async fn classes(
    api: &Api,
    kinds: &Kinds,
    given: GivenClass<'_>,
    patience: &mut Patience<'_>,
) -> Result<(Class, Vec<String>), DiscoverError> {
    let GivenClass { name, single, address } = given;
    let object = class_of(api, kinds, name, patience).await?;
    let controller_name = object.pointer("/spec/controllerName").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(single) = single {
        let object = class_of(api, kinds, single, patience).await?;
        let controller = object.pointer("/spec/controllerName").and_then(Value::as_str).unwrap_or_default();
        if controller != controller_name {
            return Err(DiscoverError::ForeignClass {
                kind: kinds.dialect().class_in_words().to_owned(),
                name: single.to_owned(),
                controller: controller.to_owned(),
                wanted: controller_name,
            });
        }
    }
    let class = Class {
        name: name.to_owned(),
        single: single.map(str::to_owned),
        address: address.map(str::to_owned),
        controller_name,
        acceptance: acceptance(&object, kinds.dialect()),
    };
    Ok((class, claimed(&object)))
}

/// What is wrong with a target that serves nothing of these groups.
fn not_served(dialect: &Dialect, others: &[&str], last: &str) -> DiscoverError {
    // Who builds upon another dialect has not its definitions.
    let title = if is_borrowed(last, dialect) { last } else { dialect.title() };
    let groups = if others.is_empty() { last.to_owned() } else { format!("{} or {last}", others.join(", ")) };
    DiscoverError::NotServed { groups, title: title.to_owned() }
}

/// The release to judge by.
#[derive(Debug, PartialEq, Eq)]
struct Chosen {
    name: String,
    release: Release,
    /// What the definitions are of, if that is another.
    other: Option<String>,
}

async fn bundle(
    api: &Api,
    kinds: &Kinds,
    releases: &Releases,
    given: Option<GivenBundle>,
) -> Result<Bundle, DiscoverError> {
    let crd = api.get(&served::path(&releases.definition)).await;
    let Chosen { name, release, other } = match (crd, given) {
        (Ok(crd), given) => choose(&crd, releases, given)?,
        // Whoever says everything need not let it be read.
        (Err(_), Some(GivenBundle { version, channel: Some(channel) })) => {
            Chosen { name: version.to_string(), release: Release { version, channel }, other: None }
        }
        (Err(error), _) => return Err(DiscoverError::Crd { definition: releases.definition.clone(), error }),
    };
    let crds = |error| DiscoverError::Crd { definition: releases.definition.clone(), error };
    let definitions = match other {
        Some(release) => Some(Arc::new(Definitions::read(api, kinds, release).await.map_err(crds)?)),
        None => None,
    };
    Ok(Bundle { name, release, definitions })
}

fn choose(crd: &Value, releases: &Releases, given: Option<GivenBundle>) -> Result<Chosen, DiscoverError> {
    let annotation = |name: &str| {
        let annotations = crd.pointer("/metadata/annotations").and_then(Value::as_object);
        annotations.and_then(|all| all.get(name)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (bundle, channel) = (annotation(&releases.version), annotation(&releases.channel));
    let version = bundle.parse::<Version>().ok();
    let of_channel = match channel.as_str() {
        "standard" => Some(Channel::Standard),
        "experimental" => Some(Channel::Experimental),
        _ => None,
    };
    let unknown = |name: &str, value: &str| DiscoverError::Bundle {
        definition: releases.definition.clone(),
        annotation: name.to_owned(),
        value: value.to_owned(),
    };
    let wanted = given.map(|given| given.version).or(version).ok_or_else(|| unknown(&releases.version, &bundle))?;
    let in_channel =
        given.and_then(|given| given.channel).or(of_channel).ok_or_else(|| unknown(&releases.channel, &channel))?;
    // v1.6 is v1.6.3 where that is installed.
    let is_same = |of: &Version| *of == wanted || (of.major, of.minor, 0) == (wanted.major, wanted.minor, wanted.patch);
    let same = version.filter(is_same);
    let is_other = same.is_none() || of_channel != Some(in_channel);
    let name = if same.is_some() { bundle.clone() } else { wanted.to_string() };
    let release = if bundle.is_empty() { "no release that they name" } else { bundle.as_str() };
    let in_words = if channel.is_empty() { release.to_owned() } else { format!("{release} in the {channel} channel") };
    let other = is_other.then_some(in_words);
    Ok(Chosen { name, release: Release { version: same.unwrap_or(wanted), channel: in_channel }, other })
}

/// The class, once it is accepted or the budget is used up, and if it claims nothing then, a little later.
async fn class_of(api: &Api, kinds: &Kinds, name: &str, patience: &mut Patience<'_>) -> Result<Value, DiscoverError> {
    let kind = kinds.dialect().class_in_words();
    let failed = |error: ApiError| DiscoverError::Class { kind: kind.to_owned(), name: name.to_owned(), error };
    let collection =
        kinds.class().ok_or_else(|| not_served(kinds.dialect(), &[], kinds.dialect().group()))?.collection(None);
    let list = api.get(&collection).await.map_err(failed)?;
    let items = list.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name_of = |item: &Value| item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(mut class) = items.iter().find(|item| name_of(item) == name).cloned() else {
        let known = items.iter().map(name_of).collect();
        return Err(DiscoverError::ClassMissing { kind: kind.to_owned(), name: name.to_owned(), known });
    };
    let is_accepted = |class: &Value| is_accepted(class, kinds.dialect());
    // A class that nobody accepts within the budget is told of as it is.
    if !is_accepted(&class) {
        let accepted = follow(api, &collection, name, &mut class, is_accepted);
        let accepted = tokio::time::timeout(patience.budget, accepted);
        let seconds = patience.budget.as_secs();
        let tell = || (patience.tell)(&format!("{kind} `{name}` to be accepted, up to {seconds} s"));
        clock::patiently(accepted, tell).await.unwrap_or(Ok(())).map_err(failed)?;
    }
    if is_accepted(&class) && claimed(&class).is_empty() {
        let claims = follow(api, &collection, name, &mut class, |class| !claimed(class).is_empty());
        tokio::time::timeout(patience.quiet, claims).await.unwrap_or(Ok(())).map_err(failed)?;
    }
    Ok(class)
}

/// Follows a class until it is as it shall be. Waits for ever if it never is: put a deadline around it.
async fn follow(
    api: &Api,
    collection: &str,
    name: &str,
    class: &mut Value,
    shall: impl Fn(&Value) -> bool,
) -> Result<(), ApiError> {
    let selector = format!("fieldSelector={}", encode(&format!("metadata.name={name}")));
    let mut pause = Backoff::new(PAUSES.0, PAUSES.1);
    loop {
        let list = api.get(&format!("{collection}?{selector}")).await?;
        if let Some(found) = list.pointer("/items/0") {
            *class = found.clone();
        }
        if shall(class) {
            return Ok(());
        }
        let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        // A watch that breaks off or cannot be had is opened again from a fresh list.
        if let Ok(events) = api.watch(&format!("{collection}?watch=true&{selector}&resourceVersion={version}")).await {
            let mut events = std::pin::pin!(events);
            while let Ok(Some(event)) = events.try_next().await {
                if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event {
                    *class = object;
                    if shall(class) {
                        return Ok(());
                    }
                }
            }
        }
        clock::until(clock::now() + pause.step(Duration::ZERO)).await;
    }
}

fn acceptance(class: &Value, dialect: &Dialect) -> Acceptance {
    let Some(type_) = dialect.accepted() else { return Acceptance::Unasked };
    let conditions = class.pointer("/status/conditions").and_then(Value::as_array);
    let accepted = conditions.into_iter().flatten().find(|c| c.get("type").and_then(Value::as_str) == Some(type_));
    let text = |field: &str| accepted.and_then(|c| c.get(field)).and_then(Value::as_str).unwrap_or_default();
    match text("status") {
        "True" => Acceptance::Accepted,
        "False" => Acceptance::Refused(format!("{} (\"{}\")", text("reason"), text("message"))),
        _ => Acceptance::Silent,
    }
}

/// Whether a class is accepted at its generation; in a dialect whose classes do not say so, whichever is there.
fn is_accepted(class: &Value, dialect: &Dialect) -> bool {
    let Some(type_) = dialect.accepted() else { return true };
    let generation = class.pointer("/metadata/generation").and_then(Value::as_i64);
    let conditions = class.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type").and_then(Value::as_str) == Some(type_)
            && condition.get("status").and_then(Value::as_str) == Some("True")
            && condition.get("observedGeneration").and_then(Value::as_i64) == generation
    })
}

/// Names of `status.supportedFeatures`: a list of objects since v1.3, of strings before. A renamed feature has its name of today.
fn claimed(class: &Value) -> Vec<String> {
    let list = class.pointer("/status/supportedFeatures").and_then(Value::as_array);
    let mut features: Vec<String> = list
        .into_iter()
        .flatten()
        .filter_map(|feature| feature.as_str().or_else(|| feature.get("name").and_then(Value::as_str)))
        .map(|name| gateproof_suites::current_name(name).to_owned())
        .collect();
    features.sort();
    features.dedup();
    features
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
