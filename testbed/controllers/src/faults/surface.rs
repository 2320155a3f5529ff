use serde_json::{Value, json};

use super::{
    Fault, Seam,
    tools::{drop_at, drop_field, each},
};

/// Runs over every object inside a value.
fn walk(value: &mut Value, change: &mut impl FnMut(&mut Value)) {
    change(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| walk(item, change)),
        _ => {}
    }
}

/// Runs over the schema of every list of conditions.
fn condition_lists(crds: &mut [Value], mut change: impl FnMut(&mut Value)) {
    for schema in crds.iter_mut().flat_map(|crd| each(crd, "/spec/versions")) {
        walk(schema, &mut |value| {
            if let Some(conditions) = value.pointer_mut("/properties/conditions").filter(|list| list["type"] == "array")
            {
                change(conditions);
            }
        });
    }
}

/// Takes an annotation off every CRD but that of Gateway, by which an implementation knows the release.
fn without_annotation(crds: &mut [Value], annotation: &str) {
    for crd in crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] != "Gateway") {
        drop_at(crd, "/metadata/annotations", annotation);
    }
}

/// Takes an annotation off the CRD of a kind.
fn without_annotation_of(crds: &mut [Value], kind: &str, annotation: &str) {
    for crd in crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] == kind) {
        drop_at(crd, "/metadata/annotations", annotation);
    }
}

/// Kinds of the bundle of which this implementation does not ask which release they are of.
const UNREAD: [&str; 4] = ["BackendTLSPolicy", "ListenerSet", "TLSRoute", "UDPRoute"];

/// Makes every Gateway's HTTPS listeners name their `tls`.
fn demand_tls(crds: &mut [Value]) {
    for crd in crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] == "Gateway") {
        for version in each(crd, "/spec/versions") {
            let listener = "/schema/openAPIV3Schema/properties/spec/properties/listeners/items";
            let Some(listener) = version.pointer_mut(listener).and_then(Value::as_object_mut) else { continue };
            let rules = listener.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
            if let Some(rules) = rules.as_array_mut() {
                rules.push(json!({"rule": "self.protocol != 'HTTPS' || has(self.tls)", "message": "tls is missing"}));
            }
        }
    }
}

/// Changes the schema of a version of a kind.
fn at_version(crds: &mut [Value], kind: &str, name: &str, change: impl Fn(&mut Value)) {
    for crd in crds.iter_mut().filter(|crd| crd["spec"]["names"]["kind"] == kind) {
        each(crd, "/spec/versions").filter(|version| version["name"] == name).for_each(&change);
    }
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "crds-with-narrower-old-versions",
        summary: "Serves CRDs that demand matches in every rule of an HTTPRoute of version v1beta1.",
        clauses: &["IMPL-04"],
        seam: Seam::ApiSurface(|crds| {
            at_version(crds, "HTTPRoute", "v1beta1", |version| {
                let rule = "/schema/openAPIV3Schema/properties/spec/properties/rules/items";
                if let Some(rule) = version.pointer_mut(rule) {
                    drop_field(&mut rule["properties"]["matches"], "default");
                    rule["required"] = json!(["matches"]);
                }
            });
        }),
    },
    Fault {
        name: "crds-without-bundle-version",
        summary: "Serves CRDs of which only one says which release they are of.",
        clauses: &["IMPL-01", "IMPL-19"],
        seam: Seam::ApiSurface(|crds| without_annotation(crds, "gateway.networking.k8s.io/bundle-version")),
    },
    Fault {
        name: "crds-without-channel",
        summary: "Serves CRDs of which only one says which channel they are of.",
        clauses: &["IMPL-02"],
        seam: Seam::ApiSurface(|crds| without_annotation(crds, "gateway.networking.k8s.io/channel")),
    },
    Fault {
        name: "one-crd-without-bundle-version",
        summary: "Serves a CRD of ReferenceGrants that does not say which release it is of.",
        clauses: &["IMPL-01", "IMPL-19"],
        seam: Seam::ApiSurface(|crds| {
            without_annotation_of(crds, "ReferenceGrant", "gateway.networking.k8s.io/bundle-version");
        }),
    },
    Fault {
        name: "one-crd-without-channel",
        summary: "Serves a CRD of GRPCRoutes that does not say which channel it is of.",
        clauses: &["IMPL-02"],
        seam: Seam::ApiSurface(|crds| without_annotation_of(crds, "GRPCRoute", "gateway.networking.k8s.io/channel")),
    },
    Fault {
        name: "unread-crds-without-bundle-version",
        summary: "Serves CRDs of kinds that not every implementation reads which do not say which release they are of.",
        clauses: &["IMPL-01", "IMPL-19"],
        seam: Seam::ApiSurface(|crds| {
            for kind in UNREAD {
                without_annotation_of(crds, kind, "gateway.networking.k8s.io/bundle-version");
            }
        }),
    },
    Fault {
        name: "unread-crds-without-channel",
        summary: "Serves CRDs of kinds that not every implementation reads which do not say which channel they are of.",
        clauses: &["IMPL-02"],
        seam: Seam::ApiSurface(|crds| {
            for kind in UNREAD {
                without_annotation_of(crds, kind, "gateway.networking.k8s.io/channel");
            }
        }),
    },
    Fault {
        name: "crds-with-room-for-any-condition",
        summary: "Serves CRDs that take any number of conditions in a list.",
        clauses: &["K8S-16"],
        seam: Seam::ApiSurface(|crds| condition_lists(crds, |list| drop_field(list, "maxItems"))),
    },
    Fault {
        name: "crds-with-any-condition-status",
        summary: "Serves CRDs that store any text as the status of a condition.",
        clauses: &["K8S-02", "GEP1364-04", "GEP1364-06"],
        seam: Seam::ApiSurface(|crds| {
            condition_lists(crds, |list| {
                if let Some(status) = list.pointer_mut("/items/properties/status") {
                    drop_field(status, "enum");
                }
            });
        }),
    },
    Fault {
        name: "crds-with-any-condition-reason",
        summary: "Serves CRDs that store any text, also none, as the reason of a condition.",
        clauses: &["K8S-03", "GEP1364-07"],
        seam: Seam::ApiSurface(|crds| {
            condition_lists(crds, |list| {
                if let Some(reason) = list.pointer_mut("/items/properties/reason") {
                    drop_field(reason, "pattern");
                    drop_field(reason, "minLength");
                }
            });
        }),
    },
    Fault {
        name: "crds-with-any-condition-type",
        summary: "Serves CRDs that store any text as the type of a condition.",
        clauses: &["K8S-04"],
        seam: Seam::ApiSurface(|crds| {
            condition_lists(crds, |list| {
                if let Some(r#type) = list.pointer_mut("/items/properties/type") {
                    drop_field(r#type, "pattern");
                }
            });
        }),
    },
    Fault {
        name: "crds-with-conditions-without-message",
        summary: "Serves CRDs that store a condition without a message.",
        clauses: &["K8S-05"],
        seam: Seam::ApiSurface(|crds| {
            condition_lists(crds, |list| {
                if let Some(required) = list.pointer_mut("/items/required").and_then(Value::as_array_mut) {
                    required.retain(|field| field != "message");
                }
            });
        }),
    },
    Fault {
        name: "crds-with-repeated-condition-types",
        summary: "Serves CRDs that store two conditions of one type in a list.",
        clauses: &["K8S-01", "GEP1364-03"],
        seam: Seam::ApiSurface(|crds| {
            condition_lists(crds, |list| {
                drop_field(list, "x-kubernetes-list-type");
                drop_field(list, "x-kubernetes-list-map-keys");
            });
        }),
    },
    Fault {
        name: "crds-that-demand-tls",
        summary: "Serves CRDs that refuse an HTTPS listener without `tls`, as those of v1.0 did.",
        clauses: &["IMPL-04"],
        seam: Seam::ApiSurface(|crds| demand_tls(crds)),
    },
];
