//! Samples for Gateway, ListenerSet, BackendTLSPolicy and XBackend.

use serde_json::{Value, json};

use super::corpus::{lists, maybe, objects, some, strings};

/// The samples of the field at a path.
pub fn values(path: &str) -> Option<Vec<Value>> {
    Some(match path {
        "spec.addresses" => addresses(),
        "spec.addresses[].routability" | "status.addresses[].routability" => strings(&[
            "",
            "Cluster",
            "cluster",
            "a",
            "a/b",
            "a.b/c",
            "a.b/c/d",
            "a//",
            "a/",
            "/a",
            "/",
            "A/b",
            "-a/b",
            "a..b/c",
            "a b/c",
            "a/b c",
            "a/b\n",
            "k8s.io/a",
            "a.k8s.io/b",
            "ak8s.io/b",
            "k8s.io.a/b",
            "k8s.io",
            "a/k8s.io/b",
        ]),
        "spec.addresses[]" | "status.addresses[]" => address(path.starts_with("spec")),
        "spec.infrastructure.labels" | "spec.infrastructure.annotations" => keys(),
        "spec.listeners" => listeners(),
        "spec.listeners[]" => objects(&[
            ("protocol", some(["HTTP", "HTTPS", "TLS", "TCP", "UDP", "example.com/x"])),
            ("filters", maybe([json!({})])),
        ]),
        "spec.listeners[].tls" => objects(&[
            ("mode", maybe(["Terminate", "Passthrough"])),
            ("certificateRefs", maybe([json!([]), json!([{"name": "a"}])])),
            ("options", maybe([json!({}), json!({"a.b/c": "d"})])),
        ]),
        "spec.tls.frontend.default.validation.caCertificateRefs"
        | "spec.tls.frontend.perPort[].tls.validation.caCertificateRefs" => lists(
            &objects(&[
                ("group", some(["", "certificates.k8s.io"])),
                ("kind", some(["ConfigMap", "ClusterTrustBundle"])),
                ("name", some(["a"])),
                ("namespace", maybe(["b"])),
            ]),
            2,
        ),
        "spec.tls.frontend.perPort" => lists(&objects(&[("port", some([1, 2, 3])), ("tls", some([json!({})]))]), 3),
        "spec.targetRefs" => targets(),
        "spec.validation" | "spec.tls.validation" => objects(&[
            ("hostname", some(["a.b"])),
            ("caCertificateRefs", maybe([json!([]), json!([{"group": "", "kind": "ConfigMap", "name": "a"}])])),
            ("wellKnownCACertificates", maybe(["System"])),
        ]),
        "spec.validation.subjectAltNames[]" | "spec.tls.validation.subjectAltNames[]" => objects(&[
            ("type", some(["Hostname", "URI"])),
            ("hostname", maybe(["a.b"])),
            ("uri", maybe(["spiffe://a/b"])),
        ]),
        "spec" => objects(&[
            ("type", some(["ExternalHostname", "EndpointSelector", "Other"])),
            ("externalHostname", maybe([json!({"hostname": "a.b"})])),
            ("endpointSelector", maybe([json!({"matchLabels": {"a": "b"}})])),
            ("protocol", maybe(["TCP", "HTTP", "HTTP2", "HTTP11", "H2C", "MCP", "GRPC", "WSS"])),
            ("tls", maybe(["None", "ServerOnly", "ClientAndServer"].map(|mode| json!({"mode": mode})))),
            ("sessionPersistence", maybe([json!({"type": "Cookie"})])),
            ("port", some([json!({"number": 80})])),
        ]),
        "spec.externalHostname.hostname" => strings(&[
            "a.b",
            "a.cluster.local",
            "cluster.local",
            "a.cluster.locale",
            "a.b.cluster.local",
            "a.clusterxlocal",
            "a-cluster.local",
        ]),
        "spec.endpointSelector.matchLabels" => selected(),
        "spec.tls" => objects(&[
            ("mode", some(["None", "ServerOnly", "ClientAndServer"])),
            ("clientCertificateRef", maybe([json!({"name": "a"})])),
            ("validation", maybe([json!({"hostname": "a.b", "wellKnownCACertificates": "System"})])),
        ]),
        _ => return None,
    })
}

fn addresses() -> Vec<Value> {
    let types = || maybe(["IPAddress", "Hostname", "NamedAddress"]);
    let mut all = lists(&objects(&[("type", types()), ("value", maybe(["10.0.0.1", "a.b"]))]), 2);
    all.extend(lists(&objects(&[("type", some(["IPAddress", "Hostname"])), ("value", maybe(["a", "b"]))]), 3));
    all
}

fn address(optional: bool) -> Vec<Value> {
    let names = ["a", "a.b", "*.a.b", "*", "*a.b", "*.*.a", "A.b", "a..b", "a b", "-a", "a-", "a_b", "10.0.0.1", ""];
    objects(&[
        ("type", maybe(["IPAddress", "Hostname", "NamedAddress"])),
        ("value", if optional { maybe(names) } else { some(names) }),
    ])
}

/// Keys without labels beyond 63 characters: what evaluates the official rule here limits those, and kube-apiserver does not.
fn selected() -> Vec<Value> {
    let long = |last| format!("{}{}/a", format!("{}.", "x".repeat(63)).repeat(3), "x".repeat(last));
    let mut all: Vec<_> = keys().into_iter().filter(|keys| !keys.to_string().contains(&"x".repeat(65))).collect();
    all.extend([60, 61, 62].map(|last| json!({long(last): "v"})));
    all
}

fn keys() -> Vec<Value> {
    let long = |n| "x".repeat(n);
    let mut keys = [
        "a", "A.b_c-d", "a.b/c", "a/b/c", "/a", "a/", "-a", "a-", "a.b/-c", "a..b/c", "A.b/c", "a b", "", "*", "a_b/c",
    ]
    .map(str::to_owned)
    .to_vec();
    keys.extend([63, 64, 252, 253, 254].map(long));
    keys.extend([251, 252, 253, 254].map(|n| format!("{}/a", long(n))));
    let mut all: Vec<_> = keys.iter().map(|key| json!({key: "v"})).collect();
    all.extend(keys.iter().map(|key| json!({"ok": "v", key: "v"})));
    all.push(json!({}));
    all
}

fn listeners() -> Vec<Value> {
    let certificate = json!({"mode": "Terminate", "certificateRefs": [{"name": "a"}]});
    let alone = objects(&[
        ("name", some(["a"])),
        ("port", some([80])),
        ("protocol", some(["HTTP", "HTTPS", "TLS", "TCP", "UDP", "example.com/x"])),
        ("hostname", maybe(["a.b"])),
        ("tls", maybe([json!({}), certificate, json!({"mode": "Passthrough"})])),
    ]);
    let plain = objects(&[
        ("name", some(["a", "b"])),
        ("port", some([80, 81])),
        ("protocol", some(["HTTP", "TCP"])),
        ("hostname", maybe(["a.b", "*.b"])),
    ]);
    let three = objects(&[("name", some(["a", "b", "c"])), ("port", some([80, 81])), ("protocol", some(["HTTP"]))]);
    let mut all: Vec<_> = alone.iter().map(|listener| json!([listener])).collect();
    all.extend(alone.iter().map(|listener| json!([{"name": "x", "port": 1, "protocol": "HTTP"}, listener])));
    all.extend(lists(&plain, 2));
    all.extend(lists(&three, 3));
    all
}

fn targets() -> Vec<Value> {
    let two = objects(&[
        ("group", some(["", "a.b"])),
        ("kind", some(["Service", "Other"])),
        ("name", some(["a", "b"])),
        ("sectionName", maybe(["s", "t"])),
    ]);
    let three = objects(&[
        ("group", some([""])),
        ("kind", some(["Service"])),
        ("name", some(["a", "b"])),
        ("sectionName", maybe(["s", "t"])),
    ]);
    [lists(&two, 2), lists(&three, 3)].concat()
}
