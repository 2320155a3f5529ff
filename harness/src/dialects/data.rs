//! Strict reading of `suites/dialects/*/dialect.yaml`.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use super::changes::Change;
use super::entries::Entries;
use super::error::DialectError;
use super::groups::unfit_group;
use super::implied::{Implied, ImpliedClauses};
use super::kind::{DialectKind, Generation, Role, Scope, Settles};
use super::releases::Releases;
use super::standing::Standing;

/// A status language.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    name: String,
    title: String,
    groups: Vec<String>,
    kinds: Vec<DialectKind>,
    releases: Option<Releases>,
    changes: Vec<Change>,
    entries: Option<Entries>,
    conditions: Vec<String>,
    accepted: Option<String>,
    falls_back: Option<FallsBack>,
    services: Vec<String>,
    editions: Vec<String>,
    without_generations: Vec<String>,
    implied: ImpliedClauses,
    class: Option<usize>,
    entry: Option<usize>,
}

/// What a status says while its controller goes on with the last spec that was good.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FallsBack {
    /// The condition that is True meanwhile.
    pub condition: String,
    /// How its message starts.
    pub message: String,
}

impl FallsBack {
    /// The field that lets too much pass, and why: a message that any starts with, or a condition that would excuse itself.
    fn problem(&self, accepted: Option<&str>) -> Option<(&'static str, &'static str)> {
        if self.message.trim().is_empty() {
            return Some(("message", "nothing with which a message has to start: every one does; say how it starts"));
        }
        (accepted == Some(&*self.condition)).then_some((
            "condition",
            "the condition of `accepted`, which cannot say of itself that it may be about an earlier generation; name another one",
        ))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Document {
    api_version: ApiVersion,
    kind: DocumentKind,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
enum ApiVersion {
    #[serde(rename = "gateproof.dev/v1alpha1")]
    V1Alpha1,
}

#[derive(Deserialize)]
enum DocumentKind {
    Dialect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Spec {
    title: String,
    groups: Vec<String>,
    kinds: Vec<DialectKind>,
    releases: Option<Releases>,
    #[serde(default)]
    changes: Vec<Change>,
    entries: Option<Entries>,
    #[serde(default)]
    conditions: Vec<String>,
    accepted: Option<String>,
    falls_back: Option<FallsBack>,
    #[serde(default)]
    services: Vec<String>,
    editions: Option<Vec<String>>,
    #[serde(default)]
    without_generations: Vec<String>,
    #[serde(default)]
    implied: ImpliedClauses,
}

impl Dialect {
    /// Reads a dialect. Anything that it does not know is an error.
    ///
    /// # Errors
    /// It is not of this shape, or contradicts itself.
    pub fn parse(text: &str) -> Result<Dialect, DialectError> {
        let document: Document = serde_yaml::from_str(text)?;
        let Document { api_version: ApiVersion::V1Alpha1, kind: DocumentKind::Dialect, metadata, spec } = document;
        let Spec { title, groups, kinds, releases, entries, conditions, accepted, falls_back, services, .. } = spec;
        let (without_generations, implied, changes) = (spec.without_generations, spec.implied, spec.changes);
        let name = metadata.name;
        if misnamed(std::slice::from_ref(&name)).is_some() {
            return Err(DialectError::Name(name));
        }
        if groups.is_empty() {
            return Err(DialectError::NoGroup(name));
        }
        if let Some((group, problem)) = unfit_group(&groups, &kinds) {
            return Err(DialectError::Group { dialect: name, group: group.clone(), problem });
        }
        for (index, one) in kinds.iter().enumerate() {
            if kinds[..index].iter().any(|other| other.kind == one.kind) {
                return Err(DialectError::Twice { dialect: name, kind: one.kind.clone() });
            }
            if let Some(group) = one.group.as_ref().filter(|group| !groups.contains(group)) {
                let (kind, group) = (one.kind.clone(), group.clone());
                return Err(DialectError::ForeignGroup { dialect: name, kind, group });
            }
        }
        let known = releases.as_ref().map(|releases| &*releases.known).unwrap_or_default();
        if let Some((change, lacked)) = changes.iter().find_map(|change| Some((change, change.lacked(&kinds, known)?)))
        {
            let (kind, release) = (change.kind.clone(), change.release);
            return Err(DialectError::Change { dialect: name, kind, release, lacked });
        }
        if let Some(service) = misnamed(&services) {
            return Err(DialectError::Service { dialect: name, name: service.clone() });
        }
        // Nothing could be asked of a dialect in none of its editions.
        if spec.editions.as_ref().is_some_and(Vec::is_empty) {
            return Err(DialectError::NoEditions(name));
        }
        let editions = spec.editions.unwrap_or_default();
        if let Some((_, type_)) = conditions.iter().enumerate().find(|(at, type_)| conditions[..*at].contains(type_)) {
            return Err(DialectError::ConditionTwice { dialect: name, type_: type_.clone() });
        }
        if let Some(edition) = misnamed(&editions) {
            return Err(DialectError::Edition { dialect: name, name: edition.clone() });
        }
        if let Some(edition) = without_generations.iter().find(|edition| !editions.contains(edition)) {
            let field = "withoutGenerations";
            return Err(DialectError::UnknownEdition { dialect: name, field, name: edition.clone() });
        }
        let only = |role: Role, word: &'static str| {
            let mut found = kinds.iter().enumerate().filter(|(_, kind)| kind.role == Some(role));
            match (found.next(), found.next()) {
                (found, None) => Ok(found.map(|(index, _)| index)),
                _ => Err(DialectError::Role { dialect: name.clone(), role: word }),
            }
        };
        let (class, entry) = (only(Role::Class, "class")?, only(Role::Entry, "entry")?);
        let own =
            |version: &str| version.split_once('/').is_some_and(|(group, _)| groups.iter().any(|own| own == group));
        let kind = entry.map(|index| &*kinds[index].kind);
        let problem = match (&entries, kind) {
            (Some(entries), kind) => entries.problem(kind, own),
            (None, Some(kind)) => Some(format!("there are none, and traffic comes in at {kind}")),
            (None, None) => None,
        };
        if let Some(problem) = problem {
            return Err(DialectError::Entries { dialect: name, problem });
        }
        if falls_back.is_some() && accepted.is_none() {
            return Err(DialectError::FallsBack(name));
        }
        if let Some((field, problem)) = falls_back.as_ref().and_then(|one| one.problem(accepted.as_deref())) {
            return Err(DialectError::FallsBackOn { dialect: name, field, problem });
        }
        let said = [
            ("accepted", accepted.as_ref()),
            ("fallsBack", falls_back.as_ref().map(|falls_back| &falls_back.condition)),
            ("entries", entries.as_ref().map(|entries| &entries.ready)),
        ];
        // Without a list every type is one, and those with a domain need not be in it.
        let is_none = |type_: &String| !conditions.is_empty() && !type_.contains('/') && !conditions.contains(type_);
        if let Some((field, Some(type_))) = said.into_iter().find(|(_, type_)| type_.is_some_and(is_none)) {
            let (type_, known) = (type_.clone(), conditions);
            return Err(DialectError::UnknownType { dialect: name, field, type_, known });
        }
        if class.is_none() {
            let place = |kind: &DialectKind| kind.conditions.entries().map(|place| (kind.kind.clone(), place));
            if let Some((kind, place)) = kinds.iter().find_map(place) {
                return Err(DialectError::NobodysEntries { dialect: name, kind, place });
            }
        }
        Ok(Dialect {
            name,
            title,
            groups,
            kinds,
            releases,
            changes,
            entries,
            conditions,
            accepted,
            falls_back,
            services,
            editions,
            without_generations,
            implied,
            class,
            entry,
        })
    }

    /// As one of its editions has it.
    pub fn in_edition(mut self, edition: Option<&str>) -> Dialect {
        if self.without_generations.iter().any(|without| Some(&**without) == edition) {
            self.kinds.iter_mut().for_each(|kind| kind.generation = Generation::Unsaid);
        }
        if let Some(edition) = edition.filter(|edition| self.editions.first().is_some_and(|first| first != edition)) {
            self.title = format!("{}, edition {edition}", self.title);
        }
        self
    }

    /// Gateway API.
    pub fn gateway_api() -> Arc<Dialect> {
        static GATEWAY_API: LazyLock<Arc<Dialect>> =
            LazyLock::new(|| match Dialect::parse(gateproof_suites::dialects::GATEWAY_API) {
                Ok(dialect) => Arc::new(dialect),
                Err(error) => unreachable!("the embedded dialect is well-formed: {error}"),
            });
        Arc::clone(&GATEWAY_API)
    }

    /// Gateway API, by its name; the other built-in ones are read with their suites.
    pub fn named(name: &str) -> Option<Arc<Dialect>> {
        Some(Dialect::gateway_api()).filter(|dialect| dialect.name == name)
    }

    /// Its name, such as `gateway-api`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its name for people.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The API group that references without one mean.
    pub fn group(&self) -> &str {
        &self.groups[0]
    }

    /// Its API groups.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Whether an API group is one of its own.
    pub fn has_group(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Whether an object of this `apiVersion` is of one of its groups.
    pub fn has_version(&self, api_version: &str) -> bool {
        api_version.split_once('/').is_some_and(|(group, _)| self.has_group(group))
    }

    /// All of its kinds.
    pub fn kinds(&self) -> impl Iterator<Item = &DialectKind> {
        self.kinds.iter()
    }

    /// A kind by its name.
    pub fn kind(&self, kind: &str) -> Option<&DialectKind> {
        self.kinds.iter().find(|own| own.kind == kind)
    }

    /// The API group of a kind of its own; of any other that which references without one mean.
    pub fn group_of(&self, kind: &str) -> &str {
        self.kind(kind).and_then(|kind| kind.group.as_deref()).unwrap_or_else(|| self.group())
    }

    /// The name of one of its definitions, to show what they look like.
    pub fn some_definition(&self) -> String {
        let kind = self.entry().or_else(|| self.kinds.first());
        kind.map_or_else(String::new, |kind| format!("{}.{}", kind.plural, self.group_of(&kind.kind)))
    }

    /// What definitions of one release take otherwise than those of the one before.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Where a target says which release it serves, if the dialect has releases.
    pub fn releases(&self) -> Option<&Releases> {
        self.releases.as_ref()
    }

    /// The kind that says whose the objects are that name it, if there is one.
    pub fn class(&self) -> Option<&DialectKind> {
        self.class.map(|index| &self.kinds[index])
    }

    /// Whether a kind says whose the objects are that name it.
    pub fn is_class(&self, kind: &str) -> bool {
        self.class().is_some_and(|class| class.kind == kind)
    }

    /// The kind where traffic comes in, if there is one.
    pub fn entry(&self) -> Option<&DialectKind> {
        self.entry.map(|index| &self.kinds[index])
    }

    /// Its name; empty, as no kind's is, if there is none.
    pub fn entry_kind(&self) -> &str {
        self.entry().map_or("", |entry| &entry.kind)
    }

    /// What messages call one where traffic comes in.
    pub fn entry_in_words(&self) -> &str {
        self.entry().map_or("entry", |entry| &entry.kind)
    }

    /// The same of several.
    pub fn entries_in_words(&self) -> String {
        self.entry().map_or_else(|| "entries".to_owned(), DialectKind::several)
    }

    /// What messages call a class.
    pub fn class_in_words(&self) -> &str {
        self.class().map_or("class", |class| &class.kind)
    }

    /// What a run makes for its scenarios where traffic comes in, and how that can be reached; none if the dialect says nothing of it.
    pub fn entries(&self) -> Option<&Entries> {
        self.entries.as_ref()
    }

    /// The condition that says that what traffic comes in by serves; empty, as no condition's type is, if there is none.
    pub fn ready(&self) -> &str {
        self.entries.as_ref().map_or("", |entries| &entries.ready)
    }

    /// Whether traffic comes in at a kind.
    pub fn is_entry(&self, kind: &str) -> bool {
        self.entry().is_some_and(|entry| entry.kind == kind)
    }

    /// Where the conditions of a kind stand; of a kind that is none of its own, the objects say.
    pub fn standing(&self, kind: &str) -> Standing {
        self.kind(kind).map_or(Standing::Shown, |kind| kind.conditions)
    }

    /// Which limit of time there is for the status of a kind.
    pub fn settles(&self, kind: &str) -> Settles {
        self.kind(kind).map_or(Settles::Attached, |kind| kind.settles)
    }

    /// Where the status of a kind says which generation it is about.
    pub fn generation(&self, kind: &str) -> Generation {
        self.kind(kind).map_or(Generation::Shown, |kind| kind.generation)
    }

    /// Kinds whose objects live in no namespace.
    pub fn is_cluster_scoped(&self, kind: &str) -> bool {
        self.kind(kind).is_some_and(|kind| kind.scope == Scope::Cluster)
    }

    /// Condition types without a domain that it defines.
    pub fn conditions(&self) -> &[String] {
        &self.conditions
    }

    /// The condition that says that an object is taken on, if there is one.
    pub fn accepted(&self) -> Option<&str> {
        self.accepted.as_deref()
    }

    /// What a status says while its controller goes on with the last spec that was good, if it may do so.
    pub fn falls_back(&self) -> Option<&FallsBack> {
        self.falls_back.as_ref()
    }

    /// Shapes of entries that a run makes for all of its scenarios.
    pub fn shapes(&self) -> &[String] {
        self.entries.as_ref().map_or(&[], |entries| &entries.shapes)
    }

    /// The clauses behind what is demanded of every target though no manifest says it; none if the dialect names none.
    pub fn implied(&self, implied: Implied) -> &[Arc<str>] {
        self.implied.of(implied)
    }

    /// The editions that there are of it, that which is meant unless the user says otherwise first; none if it has but one.
    pub fn editions(&self) -> &[String] {
        &self.editions
    }

    /// Scripted services beside a target that scenarios may name.
    pub fn services(&self) -> &[String] {
        &self.services
    }
}

/// The first that is no name, or is there twice.
fn misnamed(names: &[String]) -> Option<&String> {
    let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_wrong = |(index, name): &(usize, &String)| {
        name.is_empty() || !name.chars().all(legal) || names[..*index].contains(name)
    };
    names.iter().enumerate().find(is_wrong).map(|(_, name)| name)
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
