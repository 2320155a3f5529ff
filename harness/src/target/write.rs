//! Writes: server-side apply, patch, delete. Each ends in an answer that the log can hold.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::api::{Api, Reply};
use super::backends::Backends;
use super::clock::{self, Backoff};
use super::kinds::{Kind, Kinds};
use super::names::{FIELD_MANAGER, selector};
use super::redact::{redact, redact_secret};
use crate::log::{Cause, ObjectKey, Write, WriteOutcome, WriteVerb};
use crate::scenario::BackendDecl;

/// Writes to the target.
#[derive(Clone)]
pub struct Writer {
    api: Api,
    kinds: Arc<Kinds>,
    budget: Duration,
    first_pause: Duration,
    longest_pause: Duration,
    gateway_patch: Option<Arc<Value>>,
    backends: ServicesOf,
}

/// How a patch is meant, as its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    /// JSON merge patch.
    Merge,
    /// JSON patch.
    Json,
}

/// Whose the Services without a selector are that are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServicesOf {
    /// Whoever publishes endpoints.
    Anybody,
    /// Hosted backends at an IPv6 address.
    Ipv6,
    /// Hosted backends at an address of each family.
    Both,
    /// Deployed backends.
    Pods,
}

/// One write, ready to be sent.
struct Call {
    verb: WriteVerb,
    method: Method,
    path: String,
    content_type: &'static str,
    body: Vec<u8>,
}

impl Writer {
    /// A writer that tries again on what says nothing of the write (no answer, 429, 5xx, a conflict with somebody who was
    /// faster) until `timing.write` is used up; the time of an outage does not count. `gateway_patch` is merged into every
    /// Gateway that is applied.
    pub fn new(api: Api, kinds: Arc<Kinds>, timing: &crate::log::Timing, gateway_patch: Option<Value>) -> Writer {
        Writer {
            api,
            kinds,
            budget: timing.write,
            first_pause: timing.backoff_min,
            longest_pause: timing.backoff_max,
            gateway_patch: gateway_patch.map(Arc::new),
            backends: ServicesOf::Anybody,
        }
    }

    /// Makes Services whose endpoints are ours fit the backends: of the families of the addresses of hosted ones, because unless they
    /// say so they are of the cluster's first family, and slices of another one are none of theirs; selecting the Pods of deployed ones.
    /// What is changed of a backend's slice is changed of that of the second family too.
    #[must_use]
    pub fn with_backends(self, backends: &Backends) -> Writer {
        let backends = match backends {
            Backends::Hosted(hosting) => match hosting.addresses() {
                [_, _, ..] => ServicesOf::Both,
                [only] if only.is_ipv6() => ServicesOf::Ipv6,
                _ => ServicesOf::Anybody,
            },
            Backends::Deployed(_) => ServicesOf::Pods,
        };
        Writer { backends, ..self }
    }

    /// The kinds that it can write.
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// Server-side apply at the newest served version, `fieldValidation=Strict`, without force.
    pub async fn apply(&self, step: usize, ordinal: usize, object: &Value) -> Write {
        let mut object = object.clone();
        let Some(key) = ObjectKey::of(&object) else {
            let key = ObjectKey { group: String::new(), kind: String::new(), namespace: None, name: String::new() };
            return failed(step, ordinal, WriteVerb::Apply, key, "the object has no apiVersion, kind or name");
        };
        let Some(kind) = self.kinds.of(&key.group, &key.kind) else {
            return self.not_served(step, ordinal, WriteVerb::Apply, key);
        };
        if kind.group.is_empty() && kind.kind == "Service" {
            match self.backends {
                ServicesOf::Anybody => {}
                ServicesOf::Ipv6 => of_ipv6(&mut object),
                ServicesOf::Both => of_both(&mut object),
                ServicesOf::Pods => of_pods(&mut object, &key.name),
            }
        }
        if kind.group == super::kinds::GATEWAY_GROUP {
            object["apiVersion"] = json!(kind.api_version());
            if let (Some(patch), "Gateway") = (&self.gateway_patch, kind.kind.as_str()) {
                json_patch::merge(&mut object, patch);
            }
        }
        let call = Call {
            verb: WriteVerb::Apply,
            method: Method::PATCH,
            path: format!("{}?fieldManager={FIELD_MANAGER}&fieldValidation=Strict&force=false", kind.object(&key)),
            content_type: "application/apply-patch+yaml",
            body: object.to_string().into_bytes(),
        };
        redact(&mut object);
        self.send(step, ordinal, kind, key, Some(object), call).await
    }

    /// A patch of an object or of a subresource.
    pub async fn patch(
        &self,
        step: usize,
        ordinal: usize,
        key: ObjectKey,
        patch_type: PatchType,
        subresource: Option<&str>,
        patch: &Value,
    ) -> Write {
        let Some(kind) = self.kinds.of(&key.group, &key.kind) else {
            return self.not_served(step, ordinal, WriteVerb::Patch, key);
        };
        let suffix = subresource.map(|name| format!("/{name}")).unwrap_or_default();
        let call = |key: &ObjectKey| Call {
            verb: WriteVerb::Patch,
            method: Method::PATCH,
            path: format!("{}{suffix}?fieldManager={FIELD_MANAGER}&fieldValidation=Strict", kind.object(key)),
            content_type: match patch_type {
                PatchType::Merge => "application/merge-patch+json",
                PatchType::Json => "application/json-patch+json",
            },
            body: patch.to_string().into_bytes(),
        };
        let mut sent = patch.clone();
        if kind.kind == "Secret" {
            redact_secret(&mut sent);
        }
        if let (ServicesOf::Both, "EndpointSlice") = (self.backends, key.kind.as_str())
            && let Some(name) = BackendDecl::second_slice(&key.name)
        {
            let second = ObjectKey { name, ..key.clone() };
            let same = call(&second);
            let write = self.send(step, ordinal, kind, second, Some(sent.clone()), same).await;
            if !matches!(write.outcome, WriteOutcome::Admitted { .. }) {
                return write;
            }
        }
        let own = call(&key);
        self.send(step, ordinal, kind, key, Some(sent), own).await
    }

    /// A patch that is not sent, because what it needs before it did not come about.
    pub fn not_patched(&self, step: usize, ordinal: usize, key: ObjectKey, error: &str) -> Write {
        failed(step, ordinal, WriteVerb::Patch, key, error)
    }

    /// Deletion in the background.
    pub async fn delete(&self, step: usize, ordinal: usize, key: ObjectKey) -> Write {
        let Some(kind) = self.kinds.of(&key.group, &key.kind) else {
            return self.not_served(step, ordinal, WriteVerb::Delete, key);
        };
        let call = Call {
            verb: WriteVerb::Delete,
            method: Method::DELETE,
            path: format!("{}?propagationPolicy=Background", kind.object(&key)),
            content_type: "application/json",
            body: Vec::new(),
        };
        self.send(step, ordinal, kind, key, None, call).await
    }

    /// The key of an object that is named by kind alone.
    pub fn key(&self, kind: &str, namespace: Option<&str>, name: &str) -> ObjectKey {
        let served = self.kinds.named(kind);
        ObjectKey {
            group: served.map(|kind| kind.group.clone()).unwrap_or_default(),
            kind: kind.to_owned(),
            namespace: namespace.filter(|_| served.is_none_or(|kind| kind.namespaced)).map(str::to_owned),
            name: name.to_owned(),
        }
    }

    fn not_served(&self, step: usize, ordinal: usize, verb: WriteVerb, key: ObjectKey) -> Write {
        let error = format!("the target does not serve kind {} of group `{}`", key.kind, key.group);
        failed(step, ordinal, verb, key, &error)
    }

    async fn send(
        &self,
        step: usize,
        ordinal: usize,
        kind: &Kind,
        key: ObjectKey,
        sent: Option<Value>,
        call: Call,
    ) -> Write {
        let outcome = self.attempt(&call).await;
        let api_version = kind.api_version();
        Write { step, ordinal, verb: call.verb, key, api_version, sent: sent.map(Arc::new), outcome }
    }

    async fn attempt(&self, call: &Call) -> WriteOutcome {
        let mut end = clock::now() + self.budget;
        let mut backoff = Backoff::new(self.first_pause, self.longest_pause);
        let mut attempts = 0_u32;
        loop {
            attempts += 1;
            let content_type = (!call.body.is_empty()).then_some(call.content_type);
            let sending = self.api.call(call.method.clone(), &call.path, content_type, call.body.clone());
            let (error, asked_pause) = match tokio::time::timeout_at(end, sending).await {
                Ok(Ok(reply)) if reply.is_passing() => (super::api::refusal(&reply).to_string(), reply.pause()),
                Ok(Ok(reply)) if was_overtaken(&reply) && clock::now() + backoff.peek() < end => {
                    (super::api::refusal(&reply).to_string(), Duration::ZERO)
                }
                // A delete that is repeated after a lost answer finds nothing: that is its success.
                Ok(Ok(reply)) if attempts > 1 && reply.code == 404 && call.verb == WriteVerb::Delete => {
                    return admitted(&json!({}));
                }
                Ok(Ok(reply)) => return outcome(&reply),
                Ok(Err(error)) => {
                    end += self.api.back().await.unwrap_or_default();
                    (error.to_string(), Duration::ZERO)
                }
                Err(_) => ("no answer from the API server within the write budget".to_owned(), Duration::ZERO),
            };
            if self.api.reach().is_lost() {
                return WriteOutcome::Failed { error };
            }
            let retry = clock::now() + backoff.step(asked_pause);
            if retry >= end {
                return WriteOutcome::Failed { error: format!("{error} (after {attempts} attempts)") };
            }
            clock::until(retry).await;
        }
    }
}

/// Whether somebody else wrote between the server's reading and writing, which the server could not smooth over by itself.
/// Conflicts of field managers name the fields.
fn was_overtaken(reply: &Reply) -> bool {
    let text = |pointer: &str| reply.body.pointer(pointer).and_then(Value::as_str);
    reply.code == 409 && text("/reason") == Some("Conflict") && reply.body.pointer("/details/causes/0").is_none()
}

/// Asks for IPv6 in a Service without selector that leaves the family open.
fn of_ipv6(service: &mut Value) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if !["selector", "ipFamilies", "externalName"].iter().any(|field| spec.contains_key(*field)) {
        spec.insert("ipFamilies".to_owned(), json!(["IPv6"]));
        spec.insert("ipFamilyPolicy".to_owned(), json!("SingleStack"));
    }
}

/// Asks for both families in a Service without selector that leaves them open. A cluster of one family gives it that one.
fn of_both(service: &mut Value) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if !["selector", "ipFamilies", "ipFamilyPolicy", "externalName"].iter().any(|field| spec.contains_key(*field)) {
        spec.insert("ipFamilyPolicy".to_owned(), json!("PreferDualStack"));
    }
}

/// Selects the Pods of the backend of this name in a Service that leaves its endpoints to us.
fn of_pods(service: &mut Value, name: &str) {
    let Some(spec) = service.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if !["selector", "externalName"].iter().any(|field| spec.contains_key(*field)) {
        spec.insert("selector".to_owned(), selector(name).into());
    }
}

fn failed(step: usize, ordinal: usize, verb: WriteVerb, key: ObjectKey, error: &str) -> Write {
    let outcome = WriteOutcome::Failed { error: error.to_owned() };
    Write { step, ordinal, verb, key, api_version: String::new(), sent: None, outcome }
}

/// What an answer that needs no retry comes to.
fn outcome(reply: &Reply) -> WriteOutcome {
    if reply.code < 300 {
        return admitted(&reply.body);
    }
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let causes = reply.body.pointer("/details/causes").and_then(Value::as_array);
    WriteOutcome::Refused {
        code: reply.code,
        reason: text(&reply.body, "reason"),
        message: text(&reply.body, "message"),
        causes: causes
            .into_iter()
            .flatten()
            .map(|cause| Cause {
                reason: text(cause, "reason"),
                field: text(cause, "field"),
                message: text(cause, "message"),
            })
            .collect(),
    }
}

/// An admitted write answers with the object; a finished deletion with a `Status` that names the uid in its details.
fn admitted(body: &Value) -> WriteOutcome {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    WriteOutcome::Admitted {
        uid: text("/metadata/uid").or_else(|| text("/details/uid")).unwrap_or_default().to_owned(),
        generation: body.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default(),
        resource_version: text("/metadata/resourceVersion").unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_its_causes() {
        let body = json!({
            "kind": "Status", "reason": "Invalid", "message": "no", "code": 422,
            "details": {"causes": [{"reason": "FieldValueInvalid", "field": "spec.rules[0]", "message": "bad"}]},
        });
        let cause = Cause {
            reason: "FieldValueInvalid".to_owned(),
            field: "spec.rules[0]".to_owned(),
            message: "bad".to_owned(),
        };
        let expected = WriteOutcome::Refused {
            code: 422,
            reason: "Invalid".to_owned(),
            message: "no".to_owned(),
            causes: vec![cause],
        };
        assert_eq!(outcome(&Reply { code: 422, body, retry_after: None }), expected);
    }

    #[test]
    fn services_of_ours_are_of_ipv6_unless_they_say_otherwise() {
        let after = |spec: Value| {
            let mut service = json!({"spec": spec});
            of_ipv6(&mut service);
            service["spec"]["ipFamilies"].clone()
        };
        assert_eq!(after(json!({"ports": []})), json!(["IPv6"]));
        assert_eq!(after(json!({"ipFamilies": ["IPv4"]})), json!(["IPv4"]));
        assert_eq!(after(json!({"selector": {"app": "a"}})), Value::Null);
    }

    #[test]
    fn services_of_ours_are_of_both_families_unless_they_say_otherwise() {
        let after = |spec: Value| {
            let mut service = json!({"spec": spec});
            of_both(&mut service);
            service["spec"]["ipFamilyPolicy"].clone()
        };
        assert_eq!(after(json!({"ports": []})), json!("PreferDualStack"));
        assert_eq!(after(json!({"ipFamilies": ["IPv4"]})), Value::Null);
        assert_eq!(after(json!({"ipFamilyPolicy": "SingleStack"})), json!("SingleStack"));
    }

    #[test]
    fn services_of_ours_select_deployed_backends_unless_they_say_otherwise() {
        let after = |spec: Value| {
            let mut service = json!({"spec": spec});
            of_pods(&mut service, "echo");
            service["spec"]["selector"].clone()
        };
        assert_eq!(after(json!({"ports": []})), json!({"gateproof.dev/service": "echo"}));
        assert_eq!(after(json!({"selector": {"app": "a"}})), json!({"app": "a"}));
        assert_eq!(after(json!({"externalName": "a.example"})), Value::Null);
    }

    #[test]
    fn an_admission_names_the_version() {
        let body = json!({"metadata": {"uid": "u", "generation": 3, "resourceVersion": "7"}});
        let expected = WriteOutcome::Admitted { uid: "u".to_owned(), generation: 3, resource_version: "7".to_owned() };
        assert_eq!(outcome(&Reply { code: 200, body, retry_after: None }), expected);
        let deleted = json!({"kind": "Status", "status": "Success", "details": {"uid": "u"}});
        assert!(matches!(outcome(&Reply { code: 200, body: deleted, retry_after: None }),
            WriteOutcome::Admitted { uid, generation: 0, .. } if uid == "u"));
    }
}
