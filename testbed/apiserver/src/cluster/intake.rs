//! From a request's body to an object that may be stored.

use serde_json::Value;

use super::{Cluster, FieldValidation, Target, WriteOptions};
use crate::error::{ApiError, StatusCause};
use crate::kinds::{crd, defaults, empty, events, families, network, services, validation};
use crate::meta;
use crate::resource::Resource;
use crate::schema::Cause;
use crate::store::NAMESPACES;

/// An object as it was read from a request.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The object.
    pub object: Value,
    /// The paths of fields that stood there more than once.
    pub duplicates: Vec<String>,
}

impl From<Value> for Draft {
    fn from(object: Value) -> Self {
        Self { object, duplicates: Vec::new() }
    }
}

impl Cluster {
    /// Checks apiVersion, kind, namespace and name against the path, and fills in what the path says.
    pub(super) fn address(&self, target: Target<'_>, object: &mut Value) -> Result<(), ApiError> {
        let resource = target.resource;
        if object.is_null() && !resource.custom {
            *object = Value::Object(serde_json::Map::new());
        }
        if !object.is_object() {
            return Err(ApiError::bad_request("the body of the request is not an object"));
        }
        let (api_version, kind) = (resource.api_version(), &resource.kind);
        let given = (meta::api_version(object), meta::kind(object));
        if ![("", ""), (api_version.as_str(), kind.as_str())].contains(&given) && given != ("", kind.as_str()) {
            let what = format!("{} {} is not {api_version} {kind}, which the path names", given.0, given.1);
            return Err(ApiError::bad_request(format!("the object provided is unrecognized: {what}")));
        }
        if object.get("metadata").is_some_and(|metadata| !metadata.is_object() && !metadata.is_null()) {
            return Err(ApiError::bad_request("metadata is not an object"));
        }
        let namespace = meta::namespace(object);
        if resource.namespaced && !namespace.is_empty() && namespace != target.namespace {
            return Err(ApiError::bad_request(format!(
                "the namespace of the provided object ({namespace}) does not match the namespace sent on the request ({})",
                target.namespace
            )));
        }
        let name = meta::name(object);
        if !target.name.is_empty() && !name.is_empty() && name != target.name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                target.name
            )));
        }
        // apiVersion and kind come first, as every encoder of Kubernetes writes them.
        let map = meta::as_map(object);
        map.shift_remove("apiVersion");
        map.shift_remove("kind");
        map.shift_insert(0, "apiVersion".into(), api_version.into());
        map.shift_insert(1, "kind".into(), kind.clone().into());
        let metadata = meta::entry(object);
        if !target.name.is_empty() {
            metadata.insert("name".into(), target.name.into());
        }
        if resource.namespaced {
            metadata.insert("namespace".into(), target.namespace.into());
        } else {
            metadata.shift_remove("namespace");
        }
        Ok(())
    }

    /// Drops unknown fields, as strictly as asked, and fills in defaults. Returns what to warn of.
    pub(super) fn shape(
        &self,
        resource: &Resource,
        draft: &mut Draft,
        options: &WriteOptions,
    ) -> Result<Vec<String>, ApiError> {
        let schema = resource.schema.get();
        let unknown = schema.prune(&mut draft.object);
        let mut findings: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        findings.extend(draft.duplicates.iter().map(|path| format!("duplicate field \"{path}\"")));
        if options.validation == FieldValidation::Strict && !findings.is_empty() {
            let refused = format!("strict decoding error: {}", findings.join(", "));
            return Err(ApiError::bad_request(if resource.custom {
                refused
            } else {
                let kind = &resource.kind;
                format!("{kind} in version \"{}\" cannot be handled as a {kind}: {refused}", resource.version)
            }));
        }
        if options.validation == FieldValidation::Ignore {
            findings.clear();
        }
        self.fill(resource, &mut draft.object);
        Ok(findings)
    }

    /// Whether an object can be read at all: a value of another type than its field has is malformed, not invalid, in
    /// metadata and everywhere in built-in kinds.
    pub(super) fn decodable(&self, resource: &Resource, draft: &Draft) -> Result<(), ApiError> {
        let mistyped = if resource.custom { None } else { self.mistyped(resource, &draft.object) };
        match mistyped {
            Some(why) => {
                let kind = &resource.kind;
                Err(ApiError::bad_request(format!(
                    "{kind} in version \"{}\" cannot be handled as a {kind}: {why}",
                    resource.version
                )))
            }
            None if resource.custom => match resource.schema.get().malformed_metadata(&draft.object) {
                Some(cause) => Err(ApiError::bad_request(format!("{}: {}", cause.field, cause.message))),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The first value of another type than its field has.
    pub(super) fn mistyped(&self, resource: &Resource, object: &Value) -> Option<String> {
        let causes = resource.schema.get().validate(object, None);
        let typed = |cause: &Cause| cause.reason == "FieldValueTypeInvalid" && !is_null(cause);
        let wrong = causes.into_iter().find(typed)?;
        Some(format!("{}: {}", wrong.field, wrong.message))
    }

    /// The first value of another JSON type than its field has. A format that is not kept is invalid, but has a type.
    pub(super) fn untyped(&self, resource: &Resource, object: &Value) -> Option<String> {
        const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "object", "array"];
        let causes = resource.schema.get().validate(object, None);
        let wrong = causes.into_iter().find(|cause| {
            let named = |kind: &&str| cause.message.contains(&format!("must be of type {kind}: "));
            cause.reason == "FieldValueTypeInvalid" && TYPES.iter().any(named) && !is_null(cause)
        })?;
        Some(format!("{}: {}", wrong.field, wrong.message))
    }

    /// Fills in defaults.
    pub(super) fn fill(&self, resource: &Resource, object: &mut Value) {
        resource.schema.get().apply_defaults(object);
        match resource.custom {
            true => empty::leave_out_of_metadata(object),
            false => defaults::apply(resource, object),
        }
    }

    /// Brings a Service into the form in which it is checked.
    pub(super) fn normalise(
        &self,
        resource: &Resource,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        if &*resource.collection != "services" {
            return Ok(());
        }
        network::normalise_service(object, old);
        families::settle(object, old, self.addresses.dual_stack)
            .map_err(|causes| ApiError::invalid("", "Service", meta::name(object), causes))
    }

    /// Gives a Service its address and ports.
    pub(super) fn allocate(
        &self,
        resource: &Resource,
        object: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), ApiError> {
        if &*resource.collection != "services" {
            return Ok(());
        }
        let others = self.store.all("services");
        network::allocate(&mut self.allocator(), object, old, &others)
            .map_err(|cause| ApiError::invalid("", "Service", meta::name(object), vec![cause]))
    }

    /// What to warn of in an object that is stored all the same.
    pub(super) fn oddities(&self, resource: &Resource, object: &Value) -> Vec<String> {
        if &*resource.collection == "services" { services::warnings(object) } else { Vec::new() }
    }

    /// All that is wrong with an object, whose old version is `old`.
    pub(super) fn validate(&self, resource: &Resource, object: &Value, old: Option<&Value>) -> Result<(), ApiError> {
        let mut causes = validation::metadata(resource, object);
        // The checks of Services are complete, and find other things at fault where something is missing.
        if &*resource.collection != "services" {
            causes.extend(resource.schema.get().validate(object, old).into_iter().map(StatusCause::from));
        }
        if !resource.custom {
            causes.retain(|cause| !cause.message.ends_with(IS_NULL));
            let found = validation::check(resource, object, old, self.addresses);
            // What the schema finds too is told once.
            causes.retain(|cause| !found.iter().any(|own| own.field == cause.field && own.reason == cause.reason));
            causes.extend(found);
        }
        match causes.is_empty() {
            true => Ok(()),
            // Both forms of events are checked as those of the core group.
            false if &*resource.collection == "events" => {
                Err(ApiError::invalid("", &resource.kind, meta::name(object), causes))
            }
            false => Err(ApiError::invalid(&resource.group, &resource.kind, meta::name(object), causes)),
        }
    }
}

/// How a cause ends that is about a null.
const IS_NULL: &str = "\"null\"";

/// Whether it is about a null, which decodes as nothing whatever the type.
fn is_null(cause: &Cause) -> bool {
    cause.message.ends_with(IS_NULL)
}

/// The object in the form in which the store keeps it.
pub(super) fn stored_form(resource: &Resource, mut object: Value) -> Value {
    if &*resource.collection == "events" {
        return events::convert(object, &resource.stored_as);
    }
    if meta::api_version(&object) != resource.stored_as {
        meta::as_map(&mut object).insert("apiVersion".into(), resource.stored_as.clone().into());
    }
    object
}

/// What only the server decides about a new object of some kinds.
pub(super) fn initialise(resource: &Resource, object: &mut Value) {
    if &*resource.collection == NAMESPACES {
        let spec = meta::child(object, "spec");
        let finalizers = spec.entry("finalizers").or_insert_with(|| serde_json::json!([]));
        if let Value::Array(finalizers) = finalizers
            && !finalizers.iter().any(|finalizer| finalizer == "kubernetes")
        {
            finalizers.push("kubernetes".into());
        }
        meta::child(object, "status").insert("phase".into(), "Active".into());
    }
}

/// Whether the definition itself is concerned.
pub(super) fn is_definition(resource: &Resource) -> bool {
    &*resource.collection == crd::COLLECTION
}
