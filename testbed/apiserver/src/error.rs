//! Refusals, as `metav1.Status` says them.

use http::StatusCode;
use serde_json::{Value, json};

use crate::resource::Resource;
use crate::schema::Cause;
use crate::store::StoreError;

/// One refused request: an HTTP code and the fields of a `metav1.Status`.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct ApiError {
    /// The HTTP status code.
    pub code: StatusCode,
    /// The machine-readable reason, a `metav1.StatusReason`.
    pub reason: &'static str,
    /// What to tell a person.
    pub message: String,
    /// What the refusal is about.
    pub details: Option<Box<Details>>,
    /// What else is odd about the request, told beside the refusal.
    pub warnings: Vec<String>,
}

/// `metav1.StatusDetails`.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The kind, or for some reasons the resource.
    pub kind: String,
    /// Why, field by field.
    pub causes: Vec<StatusCause>,
    /// Seconds after which another try makes sense.
    pub retry_after: Option<u32>,
}

/// `metav1.StatusCause`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusCause {
    /// The type of the cause, such as `FieldValueInvalid`.
    pub reason: String,
    /// What to tell a person.
    pub message: String,
    /// The path of the field, or nothing.
    pub field: String,
}

impl From<Cause> for StatusCause {
    fn from(cause: Cause) -> Self {
        Self { reason: cause.reason.to_owned(), message: cause.message, field: cause.field }
    }
}

impl ApiError {
    fn plain(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, warnings: Vec::new() }
    }

    fn about(code: StatusCode, reason: &'static str, resource: &Resource, name: &str, message: String) -> Self {
        let details = Details {
            name: name.to_owned(),
            group: resource.group.clone(),
            kind: resource.plural.clone(),
            ..Details::default()
        };
        Self { code, reason, message, details: Some(Box::new(details)), warnings: Vec::new() }
    }

    /// 400: the request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::plain(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// 401: no or a wrong token.
    pub fn unauthorized() -> Self {
        Self::plain(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    /// 404 for a path that nothing serves.
    pub fn no_such_path() -> Self {
        let mut error =
            Self::plain(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource");
        error.details = Some(Box::default());
        error
    }

    /// Whether this is about a path that nothing serves.
    pub fn is_no_such_path(&self) -> bool {
        self.code == StatusCode::NOT_FOUND && self.details.as_ref().is_some_and(|details| details.kind.is_empty())
    }

    /// 404 for an object.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.group_resource());
        Self::about(StatusCode::NOT_FOUND, "NotFound", resource, name, message)
    }

    /// 404 for the namespace of a new object.
    pub fn namespace_not_found(namespace: &str) -> Self {
        let message = format!("namespaces \"{namespace}\" not found");
        let details = Details { name: namespace.to_owned(), kind: "namespaces".to_owned(), ..Details::default() };
        Self { details: Some(Box::new(details)), ..Self::plain(StatusCode::NOT_FOUND, "NotFound", message) }
    }

    /// 409: the name is taken.
    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.group_resource());
        Self::about(StatusCode::CONFLICT, "AlreadyExists", resource, name, message)
    }

    /// 409: the write was based on another version.
    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.group_resource());
        Self::about(StatusCode::CONFLICT, "Conflict", resource, name, message)
    }

    /// 409 for a precondition of a deletion, which names the kind where others name the resource.
    pub fn precondition(resource: &Resource, name: &str, why: &str) -> Self {
        let mut error = Self::conflict(resource, name, why);
        if let Some(details) = &mut error.details {
            details.kind = resource.kind.clone();
        }
        error
    }

    /// 409 for the usual reason: `metadata.resourceVersion` is not the live one.
    pub fn modified(resource: &Resource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 409 of server-side apply, with one cause a field.
    pub fn apply_conflict(message: String, causes: Vec<StatusCause>) -> Self {
        let details = Details { causes, ..Details::default() };
        Self { details: Some(Box::new(details)), ..Self::plain(StatusCode::CONFLICT, "Conflict", message) }
    }

    /// 403 for one object.
    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", resource.group_resource());
        Self::about(StatusCode::FORBIDDEN, "Forbidden", resource, name, message)
    }

    /// An admission policy refuses it: in the words of a 403, with the code of the policy's reason, which is 422 unless it says another.
    pub fn denied(resource: &Resource, name: &str, reason: &str, why: &str) -> Self {
        let (code, reason) = match reason {
            "Unauthorized" => (StatusCode::UNAUTHORIZED, "Unauthorized"),
            "Forbidden" => (StatusCode::FORBIDDEN, "Forbidden"),
            "RequestEntityTooLarge" => (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge"),
            _ => (StatusCode::UNPROCESSABLE_ENTITY, "Invalid"),
        };
        let mut error = Self { code, reason, ..Self::forbidden(resource, name, why) };
        if let Some(details) = &mut error.details {
            details.causes.push(StatusCause::new("", "", why));
        }
        error
    }

    /// 403: roles and bindings do not allow it.
    pub fn not_permitted(who: &str, what: &str, details: Details) -> Self {
        let message = format!("{what} is forbidden: User \"{who}\" may not");
        Self { details: Some(Box::new(details)), ..Self::plain(StatusCode::FORBIDDEN, "Forbidden", message) }
    }

    /// 403: the namespace is on its way out.
    pub fn namespace_terminating(resource: &Resource, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = Self::forbidden(resource, name, &why);
        if let Some(details) = &mut error.details {
            details.causes.push(StatusCause {
                reason: "NamespaceTerminating".to_owned(),
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".to_owned(),
            });
        }
        error
    }

    /// 405.
    pub fn method_not_allowed() -> Self {
        Self::plain(
            StatusCode::METHOD_NOT_ALLOWED,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    /// 405 for a subresource or collection of a kind.
    pub fn method_not_allowed_for(resource: &Resource) -> Self {
        let refusal = Self::method_not_allowed();
        if !resource.custom {
            return refusal;
        }
        let (group, kind) = (resource.group.clone(), resource.plural.clone());
        Self { details: Some(Box::new(Details { group, kind, ..Details::default() })), ..refusal }
    }

    /// 406.
    pub fn not_acceptable() -> Self {
        Self::plain(
            StatusCode::NOT_ACCEPTABLE,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml",
        )
    }

    /// 422 without a word on which field: the patch cannot be applied to this object.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        let mut error = Self::plain(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        error.details = Some(Box::default());
        error
    }

    /// 500 without a reason, which is how Kubernetes refuses what it had not expected.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::plain(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    /// 500 without a reason for an applied object that does not fit its schema.
    pub fn untyped(why: impl std::fmt::Display) -> Self {
        Self::failed(format!("failed to create typed patch object: {why}"))
    }

    /// 413.
    pub fn too_large() -> Self {
        Self::plain(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", "the request body is larger than 3 MiB")
    }

    /// 415.
    pub fn unsupported_media_type(accepted: &str) -> Self {
        Self::plain(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}"),
        )
    }

    /// 422 with one cause a field.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<StatusCause>) -> Self {
        let each: Vec<String> = causes
            .iter()
            .map(|cause| match cause.field.as_str() {
                "" => cause.message.clone(),
                field => format!("{field}: {}", cause.message),
            })
            .collect();
        let what = match each.as_slice() {
            [one] => one.clone(),
            _ => format!("[{}]", each.join(", ")),
        };
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let details = Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes,
            ..Details::default()
        };
        Self {
            details: Some(Box::new(details)),
            ..Self::plain(
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid",
                format!("{qualified} \"{name}\" is invalid: {what}"),
            )
        }
    }

    /// 410: the revision, or the rest of a list, is gone.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::plain(StatusCode::GONE, "Expired", message)
    }

    /// 504: the revision is yet to come.
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {asked}, current: {current}");
        let cause = StatusCause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        let details = Details { causes: vec![cause], retry_after: Some(1), ..Details::default() };
        Self {
            details: Some(Box::new(details)),
            ..Self::plain(StatusCode::GATEWAY_TIMEOUT, "Timeout", format!("Timeout: {message}"))
        }
    }

    /// 429: the server has too much to do.
    pub fn too_many_requests(retry_after: u32) -> Self {
        let message = "too many requests, please try again later";
        let details = Details { retry_after: Some(retry_after), ..Details::default() };
        Self {
            details: Some(Box::new(details)),
            ..Self::plain(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message)
        }
    }

    /// 409: somebody else was faster than the server itself.
    pub fn overtaken(path: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {path}: it was modified meanwhile; please try again");
        Self::plain(StatusCode::CONFLICT, "Conflict", message)
    }

    /// 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::plain(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// 503: what the server would pass a request on to does not answer.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::plain(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    }

    /// What a failed read or write of the store means to the client.
    pub fn from_store(error: StoreError, resource: &Resource, namespace: &str, name: &str) -> Self {
        match error {
            StoreError::Exists => Self::already_exists(resource, name),
            StoreError::Missing => Self::not_found(resource, name),
            StoreError::Raced => Self::modified(resource, name),
            StoreError::NamespaceMissing => Self::namespace_not_found(namespace),
            StoreError::NamespaceTerminating => Self::namespace_terminating(resource, name, namespace),
            StoreError::Compacted { asked, oldest } => {
                Self::expired(format!("too old resource version: {asked} ({oldest})"))
            }
            StoreError::Future { asked, current } => Self::too_large_resource_version(asked, current),
        }
    }

    /// The `metav1.Status` object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.json();
        }
        status["code"] = self.code.as_u16().into();
        status
    }
}

impl Details {
    fn json(&self) -> Value {
        let mut json = serde_json::Map::new();
        for (field, value) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind)] {
            if !value.is_empty() {
                json.insert(field.to_owned(), Value::String(value.clone()));
            }
        }
        if !self.causes.is_empty() {
            json.insert("causes".to_owned(), self.causes.iter().map(StatusCause::json).collect());
        }
        if let Some(seconds) = self.retry_after {
            json.insert("retryAfterSeconds".to_owned(), seconds.into());
        }
        Value::Object(json)
    }
}

impl StatusCause {
    /// A cause from its three parts.
    pub fn new(reason: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into(), field: field.into() }
    }

    /// `FieldValueInvalid`.
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {why}"))
    }

    /// `FieldValueRequired`.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self::new("FieldValueRequired", field, message)
    }

    /// `FieldValueForbidden`.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }

    /// `FieldValueNotSupported`; `known` are the values that are.
    pub fn not_supported(field: impl Into<String>, value: &Value, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|known| format!("{known:?}")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", known.join(", "));
        Self::new("FieldValueNotSupported", field, message)
    }

    /// `FieldValueDuplicate`.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new("FieldValueDuplicate", field, format!("Duplicate value: {value}"))
    }

    fn json(&self) -> Value {
        let mut json = json!({"message": self.message});
        if !self.reason.is_empty() {
            json["reason"] = Value::String(self.reason.clone());
        }
        if !self.field.is_empty() {
            json["field"] = Value::String(self.field.clone());
        }
        json
    }
}
