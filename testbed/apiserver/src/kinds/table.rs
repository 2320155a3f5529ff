//! The table of built-in kinds.

use std::sync::Arc;

use crate::jsonpath::JsonPath;
use crate::resource::{Behaviour, Column, ColumnKind, NameRule, Resource, ScalePaths, SchemaSource};

/// What most kinds do.
const PLAIN: Behaviour = Behaviour {
    generation: false,
    unconditional_update: true,
    create_on_update: false,
    status_on_create: false,
    returns_deleted: false,
    review: false,
    name: NameRule::Subdomain,
};
const COUNTED: Behaviour = Behaviour { generation: true, ..PLAIN };
const REVIEW: Behaviour = Behaviour { review: true, ..PLAIN };
const UPSERT: Behaviour = Behaviour { create_on_update: true, ..PLAIN };

/// One row: where the kind stands and what it does.
struct Row {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    namespaced: bool,
    status: bool,
    behaviour: Behaviour,
    /// Heading, type, path; a path with a slash in it is a ratio, one that starts with `#` a count.
    columns: &'static [(&'static str, &'static str, &'static str)],
    selectable: &'static [&'static str],
}

const fn row(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
    behaviour: Behaviour,
) -> Row {
    Row {
        group,
        version,
        kind,
        plural,
        short: &[],
        namespaced,
        status: false,
        behaviour,
        columns: &[],
        selectable: &[],
    }
}

const ENDPOINTS_DEPRECATED: &str = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
const RBAC: &str = "rbac.authorization.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

const EVENT_FIELDS: &[&str] = &[
    ".involvedObject.kind",
    ".involvedObject.namespace",
    ".involvedObject.name",
    ".involvedObject.uid",
    ".involvedObject.apiVersion",
    ".involvedObject.resourceVersion",
    ".involvedObject.fieldPath",
    ".reason",
    ".reportingComponent",
    ".source",
    ".type",
];

const ROWS: &[Row] = &[
    Row {
        short: &["ns"],
        status: true,
        columns: &[("Status", "string", ".status.phase")],
        selectable: &[".status.phase"],
        ..row(
            "",
            "v1",
            "Namespace",
            "namespaces",
            false,
            Behaviour { name: NameRule::Label, returns_deleted: true, ..PLAIN },
        )
    },
    Row {
        short: &["svc"],
        status: true,
        columns: &[
            ("Type", "string", ".spec.type"),
            ("Cluster-IP", "string", ".spec.clusterIP"),
            ("External-IP", "string", ".status.loadBalancer.ingress[*].ip"),
            ("Port(s)", "string", ".spec.ports[*].port"),
        ],
        selectable: &[".spec.clusterIP", ".spec.type"],
        ..row(
            "",
            "v1",
            "Service",
            "services",
            true,
            Behaviour { name: NameRule::Label, returns_deleted: true, ..UPSERT },
        )
    },
    Row {
        short: &["ep"],
        columns: &[("Endpoints", "string", ".subsets[*].addresses[*].ip")],
        ..row("", "v1", "Endpoints", "endpoints", true, UPSERT)
    },
    Row {
        columns: &[("Type", "string", ".type"), ("Data", "string", "#.data")],
        selectable: &[".type"],
        ..row("", "v1", "Secret", "secrets", true, PLAIN)
    },
    Row {
        short: &["cm"],
        columns: &[("Data", "string", "#.data")],
        ..row("", "v1", "ConfigMap", "configmaps", true, PLAIN)
    },
    Row {
        short: &["po"],
        status: true,
        columns: &[("Status", "string", ".status.phase"), ("IP", "string", ".status.podIP")],
        selectable: &[
            ".spec.nodeName",
            ".spec.restartPolicy",
            ".spec.schedulerName",
            ".spec.serviceAccountName",
            ".spec.hostNetwork",
            ".status.phase",
            ".status.podIP",
            ".status.nominatedNodeName",
        ],
        ..row("", "v1", "Pod", "pods", true, Behaviour { returns_deleted: true, ..COUNTED })
    },
    Row {
        short: &["ev"],
        columns: &[
            ("Type", "string", ".type"),
            ("Reason", "string", ".reason"),
            ("Object", "string", ".involvedObject.name"),
            ("Message", "string", ".message"),
        ],
        selectable: EVENT_FIELDS,
        ..row("", "v1", "Event", "events", true, UPSERT)
    },
    Row {
        short: &["no"],
        status: true,
        columns: &[("Version", "string", ".status.nodeInfo.kubeletVersion")],
        selectable: &[".spec.unschedulable"],
        ..row("", "v1", "Node", "nodes", false, Behaviour { status_on_create: true, ..PLAIN })
    },
    Row {
        short: &["sa"],
        ..row("", "v1", "ServiceAccount", "serviceaccounts", true, Behaviour { returns_deleted: true, ..PLAIN })
    },
    Row {
        short: &["deploy"],
        status: true,
        columns: &[
            ("Ready", "string", ".status.readyReplicas/.spec.replicas"),
            ("Up-to-date", "integer", ".status.updatedReplicas"),
            ("Available", "integer", ".status.availableReplicas"),
        ],
        ..row("apps", "v1", "Deployment", "deployments", true, COUNTED)
    },
    Row {
        short: &["ds"],
        status: true,
        columns: &[
            ("Desired", "integer", ".status.desiredNumberScheduled"),
            ("Current", "integer", ".status.currentNumberScheduled"),
            ("Ready", "integer", ".status.numberReady"),
            ("Available", "integer", ".status.numberAvailable"),
        ],
        ..row("apps", "v1", "DaemonSet", "daemonsets", true, COUNTED)
    },
    Row {
        short: &["rs"],
        status: true,
        columns: &[
            ("Desired", "integer", ".spec.replicas"),
            ("Current", "integer", ".status.replicas"),
            ("Ready", "integer", ".status.readyReplicas"),
        ],
        selectable: &[".status.replicas"],
        ..row("apps", "v1", "ReplicaSet", "replicasets", true, COUNTED)
    },
    Row {
        columns: &[
            ("AddressType", "string", ".addressType"),
            ("Ports", "string", ".ports[*].port"),
            ("Endpoints", "string", ".endpoints[*].addresses[*]"),
        ],
        ..row("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", true, COUNTED)
    },
    Row {
        short: &["ev"],
        columns: &[
            ("Type", "string", ".type"),
            ("Reason", "string", ".reason"),
            ("Object", "string", ".regarding.name"),
            ("Note", "string", ".note"),
        ],
        selectable: EVENT_FIELDS,
        ..row("events.k8s.io", "v1", "Event", "events", true, UPSERT)
    },
    Row {
        columns: &[("Holder", "string", ".spec.holderIdentity")],
        ..row("coordination.k8s.io", "v1", "Lease", "leases", true, Behaviour { unconditional_update: false, ..UPSERT })
    },
    Row {
        short: &["crd", "crds"],
        status: true,
        columns: &[("Created At", "date", ".metadata.creationTimestamp")],
        ..row("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", false, COUNTED)
    },
    Row {
        status: true,
        columns: &[("Validations", "integer", "#.spec.validations"), ("ParamKind", "string", ".spec.paramKind.kind")],
        ..row(ADMISSION, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", false, COUNTED)
    },
    Row {
        columns: &[("PolicyName", "string", ".spec.policyName"), ("ParamRef", "string", ".spec.paramRef.name")],
        ..row(ADMISSION, "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", false, COUNTED)
    },
    Row {
        columns: &[("SignerName", "string", ".spec.signerName")],
        selectable: &[".spec.signerName"],
        ..row(
            "certificates.k8s.io",
            "v1",
            "ClusterTrustBundle",
            "clustertrustbundles",
            false,
            // Which names there may be depends on the signer.
            Behaviour { unconditional_update: false, name: NameRule::PathSegment, ..PLAIN },
        )
    },
    row(RBAC, "v1", "Role", "roles", true, Behaviour { name: NameRule::PathSegment, ..UPSERT }),
    row(RBAC, "v1", "RoleBinding", "rolebindings", true, Behaviour { name: NameRule::PathSegment, ..UPSERT }),
    row(RBAC, "v1", "ClusterRole", "clusterroles", false, Behaviour { name: NameRule::PathSegment, ..UPSERT }),
    row(
        RBAC,
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        false,
        Behaviour { name: NameRule::PathSegment, ..UPSERT },
    ),
    row("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", false, REVIEW),
    row("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", false, REVIEW),
    row(AUTHORIZATION, "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", false, REVIEW),
    row(AUTHORIZATION, "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", false, REVIEW),
    row(AUTHORIZATION, "v1", "SubjectAccessReview", "subjectaccessreviews", false, REVIEW),
    row(AUTHORIZATION, "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", true, REVIEW),
];

/// All built-in kinds.
pub fn resources() -> Vec<Resource> {
    ROWS.iter().map(Row::resource).collect()
}

impl Row {
    fn resource(&self) -> Resource {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        // The two Event kinds are two views of one collection, kept in the form of the core group.
        let (stored_group, stored_as) = match self.group {
            "events.k8s.io" => ("", "v1".to_owned()),
            "" => ("", self.version.to_owned()),
            group => (group, format!("{group}/{}", self.version)),
        };
        let collection = match stored_group {
            "" => self.plural.to_owned(),
            group => format!("{}.{group}", self.plural),
        };
        let mut columns = vec![Column::object_name()];
        columns.extend(self.columns.iter().map(|(name, kind, path)| {
            let absent = if *kind == "integer" { 0.into() } else { "<none>".into() };
            Column { absent, ..Column::new(name, kind, cell(path)) }
        }));
        if self.columns.iter().all(|(_, kind, _)| *kind != "date") {
            columns.push(Column::age());
        }
        let all = ["pods", "services", "deployments", "daemonsets", "replicasets"].contains(&self.plural);
        Resource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            plural: self.plural.to_owned(),
            singular: self.kind.to_lowercase(),
            short_names: texts(self.short),
            categories: if all { texts(&["all"]) } else { Vec::new() },
            namespaced: self.namespaced,
            collection: Arc::from(collection),
            stored_as,
            status_subresource: self.status,
            scale: ["deployments", "replicasets"].contains(&self.plural).then(|| ScalePaths {
                spec: ".spec.replicas".to_owned(),
                status: ".status.replicas".to_owned(),
                selector: ".spec.selector".to_owned(),
            }),
            behaviour: self.behaviour,
            custom: false,
            columns,
            selectable: texts(self.selectable),
            deprecation: (self.kind == "Endpoints").then(|| ENDPOINTS_DEPRECATED.to_owned()),
            schema: SchemaSource::Builtin { group: self.group.to_owned(), kind: self.kind.to_owned() },
        }
    }
}

fn cell(path: &str) -> ColumnKind {
    let parse = |text: &str| JsonPath::parse(text).unwrap_or_else(|_| JsonPath::of(text));
    match (path.strip_prefix('#'), path.split_once('/')) {
        (Some(path), _) => ColumnKind::Count(parse(path)),
        (None, Some((left, right))) => ColumnKind::Ratio(parse(left), parse(right)),
        (None, None) => ColumnKind::Path(parse(path)),
    }
}
