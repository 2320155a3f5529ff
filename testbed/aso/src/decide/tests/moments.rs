//! Moments in the life of an object, by name.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::*;
use crate::{
    arm::Response,
    kinds::{self, Source},
    world::{FINALIZER, Input, LATEST_GENERATION, Owner, RECONCILE_POLICY, RESOURCE_ID},
};

const SUBSCRIPTION: &str = "00000000-0000-0000-0000-000000000001";

/// What is known at some moment in the life of an object.
pub(crate) struct Moment {
    pub(crate) facts: Facts,
    pub(crate) memory: Memory,
    pub(crate) answer: Option<(Request, Outcome)>,
}

fn id() -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/a")
}

fn object(facts: &mut Facts, change: impl FnOnce(&mut Value)) {
    change(Arc::make_mut(&mut facts.object));
}

fn annotate(facts: &mut Facts, name: &str, value: &str) {
    object(facts, |object| object["metadata"]["annotations"][name] = value.into());
}

fn ready(status: &str, severity: &str, reason: &str) -> Value {
    let mut one = json!({"type": "Ready", "status": status, "reason": reason, "observedGeneration": 2,
        "lastTransitionTime": "2020-01-01T00:00:00Z"});
    if !severity.is_empty() {
        one["severity"] = severity.into();
    }
    json!({"conditions": [one]})
}

fn account() -> Facts {
    let object = json!({
        "metadata": {"namespace": "demo", "name": "a", "uid": "u", "generation": 2, "finalizers": [FINALIZER],
            "annotations": {OPERATOR_NAMESPACE: "azureserviceoperator-system", RESOURCE_ID: id()}},
        "spec": {"owner": {"name": "g"}, "location": "x", "kind": "StorageV2", "accessTier": "Hot"},
    });
    Facts {
        kind: kinds::find("storage.azure.com", "StorageAccount").unwrap(),
        object: Arc::new(object),
        namespace_policy: None,
        default_policy: "manage".into(),
        owner: Owner::Found {
            name: "ResourceGroup demo/g".into(),
            is_ready: true,
            id: Some(format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/g")),
            uid: "o".into(),
        },
        inputs: Vec::new(),
        foreign: Vec::new(),
        subscription: Ok(SUBSCRIPTION.into()),
        client: Some("client".into()),
    }
}

/// The moment of that name: what is known, and the answer that has come.
pub(crate) fn moment(name: &str) -> Moment {
    let mut facts = account();
    let mut memory = Memory::default();
    let request = |method, purpose| Request { method, url: id(), body: None, purpose, caller: None };
    let put =
        |status, body| Some((request(Method::Put, Purpose::Put), Ok(Response { status, body, ..Response::default() })));
    let poll = Poll { url: "/operations/1".into(), how: How::Async, deletes: false, generation: 2 };
    let polled = |body| {
        Some((
            request(Method::Get, Purpose::Poll(poll.clone())),
            Ok(Response { status: 200, body, ..Response::default() }),
        ))
    };
    let got = |purpose, status, body| {
        Some((request(Method::Get, purpose), Ok(Response { status, body, ..Response::default() })))
    };
    let state = |state: &str| json!({"id": id(), "properties": {"provisioningState": state}});
    let missing = |source| vec![Input { property: "p", source, value: Err("it does not exist".into()) }];
    let error = |code: &str| json!({"error": {"code": code, "message": "so it is"}});
    let deleting = |facts: &mut Facts| {
        object(facts, |object| object["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z".into())
    };
    let deleted = |status, body| {
        Some((request(Method::Delete, Purpose::Delete), Ok(Response { status, body, ..Response::default() })))
    };
    let later = |mut answer: Option<(Request, Outcome)>| {
        if let Some((_, Ok(response))) = &mut answer {
            response.retry_after = Some(30);
        }
        answer
    };
    let mut answer = None;
    match name {
        "fresh" => {}
        "owner-missing" => {
            facts.owner = Owner::Missing("ResourceGroup demo/g".into());
            object(&mut facts, |object| {
                object["metadata"]["annotations"] = json!({OPERATOR_NAMESPACE: "azureserviceoperator-system"});
                object["metadata"]["finalizers"] = json!([]);
            });
        }
        "owner-still-missing" => {
            facts.owner = Owner::Missing("ResourceGroup demo/g".into());
            object(&mut facts, |object| object["status"] = ready("False", "Warning", "WaitingForOwner"));
        }
        "owner-unready" => {
            if let Owner::Found { is_ready, .. } = &mut facts.owner {
                *is_ready = false;
            }
        }
        "owner-elsewhere" => facts.owner = Owner::Arm("/subscriptions/other/resourceGroups/g".into()),
        "owner-by-id" => facts.owner = Owner::Arm(format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/g")),
        "no-credential" => facts.subscription = Err("there is no credential".into()),
        "no-name" => object(&mut facts, |object| object["spec"]["azureName"] = "".into()),
        "id-broken" => annotate(&mut facts, RESOURCE_ID, "nonsense"),
        "id-elsewhere" => annotate(&mut facts, RESOURCE_ID, "/subscriptions/other/resourceGroups/g"),
        "secret-missing" => facts.inputs = missing(Source::Secret),
        "config-map-missing" => facts.inputs = missing(Source::ConfigMap),
        "reference-missing" => facts.inputs = missing(Source::Resource),
        "key-missing" => {
            facts.inputs = missing(Source::Secret);
            facts.inputs[0].value = Err("Secret demo/s has no key \"k\"".into());
        }
        "key-missing-in-config-map" => {
            facts.inputs = missing(Source::ConfigMap);
            facts.inputs[0].value = Err("ConfigMap demo/c has no key \"k\"".into());
        }
        "id-as-name" => {
            facts.inputs = missing(Source::Resource);
            facts.inputs[0].value = Err("an id in ARM belongs into armId".into());
        }
        "inputs" => {
            facts.kind = kinds::find("authorization.azure.com", "RoleAssignment").unwrap();
            object(&mut facts, |object| object["spec"]["principalIdFromConfig"] = json!({"name": "c", "key": "k"}));
            let all = [
                ("password", Source::Secret, "kettle"),
                ("principalId", Source::ConfigMap, "somebody"),
                ("roleDefinitionId", Source::Resource, "/subscriptions/s/role"),
            ];
            let input = |(property, source, value): (_, _, &str)| Input { property, source, value: Ok(value.into()) };
            facts.inputs = all.map(input).into();
        }
        "tagged" => object(&mut facts, |object| {
            object["spec"]["tags"] = json!({"colour": "red"});
            object["status"] = json!({"tags": {"colour": "green"}});
        }),
        "secret-came" => {
            object(&mut facts, |object| object["status"] = ready("False", "Warning", "SecretNotFound"));
        }
        "manage-after-skip" => {
            object(&mut facts, |object| object["status"] = ready("False", "Warning", "AzureResourceNotFound"));
        }
        "policy-changed" => {
            object(&mut facts, |object| object["status"] = ready("False", "Error", "BadRequest"));
            annotate(&mut facts, LATEST_GENERATION, "2");
            memory.essence = Some(0);
            memory.is_parked = true;
        }
        "elsewhere" => annotate(&mut facts, OPERATOR_NAMESPACE, "other"),
        "unowned" => object(&mut facts, |object| object["metadata"]["annotations"] = json!({})),
        "running" => {
            annotate(&mut facts, POLLER_TOKEN, &serde_json::to_string(&poll).unwrap());
        }
        "running-by-location" => {
            let poll = Poll { how: How::Location, ..poll };
            annotate(&mut facts, POLLER_TOKEN, &serde_json::to_string(&poll).unwrap());
        }
        "deletion-running" => {
            deleting(&mut facts);
            let poll = Poll { deletes: true, ..poll };
            annotate(&mut facts, POLLER_TOKEN, &serde_json::to_string(&poll).unwrap());
        }
        "delete-while-running" => {
            deleting(&mut facts);
            annotate(&mut facts, POLLER_TOKEN, &serde_json::to_string(&poll).unwrap());
        }
        "edited-after-ready" => object(&mut facts, |object| {
            object["status"] = ready("True", "", "Succeeded");
            object["status"]["id"] = id().into();
            object["status"]["conditions"][0]["observedGeneration"] = json!(1);
        }),
        "parked" => {
            object(&mut facts, |object| object["status"] = ready("False", "Error", "BadRequest"));
            annotate(&mut facts, LATEST_GENERATION, "2");
        }
        "edited" => {
            object(&mut facts, |object| {
                object["status"] = ready("False", "Error", "BadRequest");
                object["status"]["conditions"][0]["observedGeneration"] = json!(1);
            });
            annotate(&mut facts, LATEST_GENERATION, "1");
        }
        "resync" => {
            object(&mut facts, |object| object["status"] = ready("True", "", "Succeeded"));
            annotate(&mut facts, LATEST_GENERATION, "2");
        }
        "wiped" => {
            memory.fingerprint = Some(facts.fingerprint());
            memory.essence = Some(facts.essence());
            memory.said.ready = Some(Ready {
                status: Truth::True,
                severity: None,
                reason: "Succeeded".into(),
                message: String::new(),
                observed_generation: Some(2),
                starts: false,
            });
        }
        "skip" => annotate(&mut facts, RECONCILE_POLICY, "skip"),
        "skip-of-namespace" => facts.namespace_policy = Some("skip".into()),
        "skip-of-operator" => facts.default_policy = "skip".into(),
        "manage-over-operator" => {
            facts.default_policy = "skip".into();
            annotate(&mut facts, RECONCILE_POLICY, "manage");
        }
        "manage-over-namespace" => {
            facts.namespace_policy = Some("skip".into());
            annotate(&mut facts, RECONCILE_POLICY, "manage");
        }
        "misspelt" => annotate(&mut facts, RECONCILE_POLICY, "skipp"),
        "skip-404" => answer = got(Purpose::Read, 404, error("ResourceNotFound")),
        "skip-200" => answer = got(Purpose::Read, 200, state("Succeeded")),
        "put-200" => answer = put(200, state("Succeeded")),
        "put-creating" => answer = put(201, state("Creating")),
        "put-202" => {
            let operation = Some("/operations/1".to_owned());
            answer = Some((
                request(Method::Put, Purpose::Put),
                Ok(Response { status: 202, operation, ..Response::default() }),
            ));
        }
        "put-202-after-skip" => {
            object(&mut facts, |object| object["status"] = ready("False", "Warning", "AzureResourceNotFound"));
            let operation = Some("/operations/1".to_owned());
            answer = Some((
                request(Method::Put, Purpose::Put),
                Ok(Response { status: 202, operation, ..Response::default() }),
            ));
        }
        "put-202-later" => {
            let operation = Some("/operations/1".to_owned());
            answer = Some((
                request(Method::Put, Purpose::Put),
                Ok(Response { status: 202, operation, retry_after: Some(30), ..Response::default() }),
            ));
        }
        "put-again-200" => {
            memory.failures = 1;
            answer = put(200, state("Succeeded"));
        }
        "put-404" => answer = put(404, error("ResourceGroupNotFound")),
        "put-429" => answer = later(put(429, error("TooManyRequests"))),
        "put-400-after-ready" => {
            object(&mut facts, |object| object["status"] = ready("True", "", "Succeeded"));
            answer = put(400, error("Whatever"));
        }
        "put-400" => answer = put(400, error("Whatever")),
        "put-409" => answer = put(409, error("Conflict")),
        "put-again-409" => {
            object(&mut facts, |object| object["status"] = ready("False", "Warning", "Busy"));
            answer = put(409, error("Conflict"));
        }
        "put-bare" => answer = put(503, Value::Null),
        "put-bare-500" => answer = put(500, Value::Null),
        "put-lost" => answer = Some((request(Method::Put, Purpose::Put), Err("no answer".into()))),
        "poll-running" => answer = polled(json!({"status": "InProgress"})),
        "poll-failed" => {
            answer = polled(json!({"status": "Failed", "error": {"code": "SkuNotAvailable", "message": "m"}}))
        }
        "poll-canceled" => answer = polled(json!({"status": "Canceled"})),
        "poll-done-before-edit" => {
            let purpose = Purpose::Poll(Poll { generation: 1, ..poll });
            answer = got(purpose, 200, json!({"status": "Succeeded"}));
        }
        "deletion-by-location-202" => {
            deleting(&mut facts);
            answer = got(Purpose::Poll(Poll { how: How::Location, deletes: true, ..poll }), 202, Value::Null);
        }
        "poll-503" => answer = got(Purpose::Poll(poll), 503, error("ServiceUnavailable")),
        "poll-429" => answer = later(got(Purpose::Poll(poll), 429, error("TooManyRequests"))),
        "deletion-poll-503" => {
            deleting(&mut facts);
            answer = got(Purpose::Poll(Poll { deletes: true, ..poll }), 503, error("ServiceUnavailable"));
        }
        "poll-done" => answer = polled(json!({"status": "Succeeded"})),
        "location-400" => {
            let purpose = Purpose::Poll(Poll { how: How::Location, ..poll });
            answer = got(purpose, 400, error("SkuNotAvailable"));
        }
        "state-failed" => {
            let purpose = Purpose::Poll(Poll { how: How::Body, ..poll });
            answer = got(purpose, 200, state("Failed"));
        }
        "deletion-failed" => {
            deleting(&mut facts);
            let purpose = Purpose::Poll(Poll { deletes: true, ..poll });
            let body = json!({"status": "Failed", "error": {"code": "BadRequest", "message": "m"}});
            answer = got(purpose, 200, body);
        }
        "confirmed" => answer = got(Purpose::Confirm, 200, state("Succeeded")),
        "confirmed-before-edit" => {
            memory.fingerprint = Some(0);
            answer = got(Purpose::Confirm, 200, state("Succeeded"));
        }
        "put-400-before-edit" => {
            memory.fingerprint = Some(0);
            answer = put(400, error("Whatever"));
        }
        "confirmed-again" => {
            object(&mut facts, |object| object["status"] = ready("True", "", "Succeeded"));
            answer = got(Purpose::Confirm, 200, state("Succeeded"));
        }
        "keys" => {
            object(&mut facts, |object| {
                object["spec"]["operatorSpec"] = json!({"secrets": {"key1": {"name": "s", "key": "k"}}});
            });
            let keys = json!({"keys": [{"value": "one"}, {"value": "two"}]});
            answer = got(Purpose::Keys(json!({})), 200, keys);
        }
        "endpoints" => {
            object(&mut facts, |object| {
                let to = json!({"name": "c", "key": "k"});
                object["spec"]["operatorSpec"] = json!({"configMaps": {"blobEndpoint": to}});
            });
            let body =
                json!({"properties": {"provisioningState": "Succeeded", "primaryEndpoints": {"blob": "https://b"}}});
            answer = got(Purpose::Confirm, 200, body);
        }
        "normalized" => {
            answer =
                got(Purpose::Confirm, 200, json!({"location": "X", "properties": {"provisioningState": "Succeeded"}}));
        }
        "subnet" => {
            facts.kind = kinds::find("network.azure.com", "VirtualNetworksSubnet").unwrap();
            answer = got(Purpose::Confirm, 200, state("Succeeded"));
        }
        "becomes-true" => {
            let ready = json!({"type": "Ready", "status": "False", "severity": "Info", "reason": "Reconciling"});
            Arc::make_mut(&mut facts.object)["status"] = json!({"conditions": [ready]});
            answer = got(Purpose::Confirm, 200, state("Succeeded"));
        }
        "confirm-failed" => answer = got(Purpose::Confirm, 200, state("Failed")),
        "unfit" => {
            answer = got(Purpose::Confirm, 200, json!({"properties": {"statusOfPrimary": "unavailable"}}));
        }
        "foreign-secret" => {
            facts.foreign = vec!["Secret s".into()];
            answer = got(Purpose::Confirm, 200, state("Succeeded"));
        }
        "foreign-config-map" => {
            facts.foreign = vec!["ConfigMap c".into()];
            answer = got(Purpose::Confirm, 200, state("Succeeded"));
        }
        "blocked" | "blocked-for-long" => {
            memory.failures = if name == "blocked" { 0 } else { 6 };
            facts.kind = kinds::find("dbforpostgresql.azure.com", "FlexibleServer").unwrap();
            answer = got(Purpose::Check, 200, json!({"properties": {"state": "Stopping"}}));
        }
        "delete" => deleting(&mut facts),
        "delete-skip" => {
            deleting(&mut facts);
            annotate(&mut facts, RECONCILE_POLICY, "skip");
        }
        "delete-detach" => {
            deleting(&mut facts);
            annotate(&mut facts, RECONCILE_POLICY, "detach-on-delete");
        }
        "delete-elsewhere" => {
            deleting(&mut facts);
            annotate(&mut facts, RESOURCE_ID, "/subscriptions/other/resourceGroups/g");
        }
        "delete-202" => {
            deleting(&mut facts);
            answer = deleted(202, Value::Null);
        }
        "delete-204" => {
            deleting(&mut facts);
            answer = deleted(204, Value::Null);
        }
        "delete-400" => {
            deleting(&mut facts);
            answer = deleted(400, error("BadRequest"));
        }
        "delete-404" => {
            deleting(&mut facts);
            answer = deleted(404, error("ResourceNotFound"));
        }
        "delete-409" => {
            deleting(&mut facts);
            answer = deleted(409, error("Conflict"));
        }
        "delete-503" => {
            deleting(&mut facts);
            answer = deleted(503, error("ServiceUnavailable"));
        }
        "delete-429" => {
            deleting(&mut facts);
            answer = later(deleted(429, error("TooManyRequests")));
        }
        "delete-202-later" => {
            deleting(&mut facts);
            answer = later(deleted(202, Value::Null));
        }
        "gone" => {
            deleting(&mut facts);
            memory.is_gone = true;
        }
        "lingers" => {
            deleting(&mut facts);
            answer = got(Purpose::Linger, 200, state("Succeeded"));
        }
        other => panic!("no moment {other}"),
    }
    Moment { facts, memory, answer }
}
