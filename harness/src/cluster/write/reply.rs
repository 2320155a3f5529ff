//! What the API server's answers to writes say.

use serde_json::Value;

use crate::cluster::api::Reply;
use crate::log::{Cause, WriteOutcome};

/// Whether the name of an object to be created is taken.
pub(super) fn is_taken(reply: &Reply) -> bool {
    reply.code == 409 && reason(reply) == "AlreadyExists"
}

/// Whether the object of this name has another uid than the one that was meant.
pub(in crate::cluster) fn is_another(reply: &Reply) -> bool {
    let message = reply.body.get("message").and_then(Value::as_str).unwrap_or_default();
    let causes = reply.body.pointer("/details/causes").and_then(Value::as_array);
    let mut fields = causes.into_iter().flatten().filter_map(|cause| cause.get("field").and_then(Value::as_str));
    (reply.code == 409 && message.contains("UID in precondition"))
        || (reply.code == 422 && fields.any(|field| field == "metadata.uid"))
}

/// The reason of a `Status`.
pub(super) fn reason(reply: &Reply) -> &str {
    reply.body.get("reason").and_then(Value::as_str).unwrap_or_default()
}

/// Whether somebody else wrote between the server's reading and writing, which the server could not smooth over by itself.
/// Conflicts of field managers name the fields.
pub(super) fn was_overtaken(reply: &Reply) -> bool {
    reply.code == 409 && reason(reply) == "Conflict" && reply.body.pointer("/details/causes/0").is_none()
}

/// What an answer that needs no retry comes to.
pub(super) fn outcome(reply: &Reply) -> WriteOutcome {
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
pub(super) fn admitted(body: &Value) -> WriteOutcome {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str);
    WriteOutcome::Admitted {
        uid: text("/metadata/uid").or_else(|| text("/details/uid")).unwrap_or_default().to_owned(),
        generation: body.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default(),
        resource_version: text("/metadata/resourceVersion").unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn an_admission_names_the_version() {
        let body = json!({"metadata": {"uid": "u", "generation": 3, "resourceVersion": "7"}});
        let expected = WriteOutcome::Admitted { uid: "u".to_owned(), generation: 3, resource_version: "7".to_owned() };
        assert_eq!(outcome(&Reply { code: 200, body, retry_after: None }), expected);
        let deleted = json!({"kind": "Status", "status": "Success", "details": {"uid": "u"}});
        assert!(matches!(outcome(&Reply { code: 200, body: deleted, retry_after: None }),
            WriteOutcome::Admitted { uid, generation: 0, .. } if uid == "u"));
    }
}
