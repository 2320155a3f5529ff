//! Kinds whose objects are made at random, some of them wrong.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::corpus::Step;

/// A kind of which objects are made.
pub(super) struct Kind {
    path: &'static str,
    api_version: &'static str,
    name: &'static str,
    /// The resource's name in paths.
    pub(super) plural: &'static str,
    /// Values of fields below the root, some of them wrong.
    content: fn(&mut ChaCha8Rng) -> Value,
    strategic: bool,
}

/// The kinds.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        path: "/api/v1",
        api_version: "v1",
        name: "ConfigMap",
        plural: "configmaps",
        content: config_map,
        strategic: true,
    },
    Kind {
        path: "/apis/differential.gateproof.dev/v1",
        api_version: "differential.gateproof.dev/v1",
        name: "Widget",
        plural: "widgets",
        content: widget,
        strategic: false,
    },
    Kind {
        path: "/apis/gateway.networking.k8s.io/v1",
        api_version: "gateway.networking.k8s.io/v1",
        name: "HTTPRoute",
        plural: "httproutes",
        content: route,
        strategic: false,
    },
    Kind {
        path: "/apis/gateway.networking.k8s.io/v1",
        api_version: "gateway.networking.k8s.io/v1",
        name: "Gateway",
        plural: "gateways",
        content: gateway,
        strategic: false,
    },
    Kind { path: "/api/v1", api_version: "v1", name: "Service", plural: "services", content: service, strategic: true },
];

impl Kind {
    fn collection(&self) -> String {
        format!("{}/namespaces/${{ns}}/{}", self.path, self.plural)
    }

    fn object(&self, random: &mut ChaCha8Rng) -> Value {
        let mut object = (self.content)(random);
        object["apiVersion"] = self.api_version.into();
        object["kind"] = self.name.into();
        object["metadata"] = json!({"name": "x"});
        if random.random_bool(0.4) {
            let labels = [json!({"a": "1"}), json!({"a": "2"}), json!({})];
            object["metadata"]["labels"] = labels.choose(random).cloned().unwrap_or_default();
        }
        if random.random_bool(0.1) {
            object["metadata"]["annotations"] = json!({"example.dev/a": one_of(random, &["1", ""])});
        }
        object
    }

    /// The creation of an object.
    pub(super) fn create(&self, random: &mut ChaCha8Rng) -> Step {
        Step { request: format!("POST {}", self.collection()), body: Some(self.object(random)), ..Step::default() }
    }

    /// A request about the object, with what it needs before it.
    pub(super) fn step(&self, random: &mut ChaCha8Rng) -> Vec<Step> {
        let at = format!("{}/x", self.collection());
        let manager = one_of(random, &["one", "two"]);
        let plain = |request: String| Step { request, ..Step::default() };
        match random.random_range(0..10) {
            0 => vec![self.create(random)],
            1 => vec![plain(format!("GET {at}"))],
            2 => vec![plain(format!("DELETE {at}"))],
            3 | 4 => {
                let media = if self.strategic && random.random_bool(0.5) { "strategic" } else { "merge" };
                let request = format!("PATCH {at}?fieldManager={manager}");
                let body = Some((self.content)(random));
                vec![Step { request, media: media.to_owned(), body, ..Step::default() }]
            }
            5 => {
                let save = [("rv".to_owned(), "metadata.resourceVersion".to_owned())].into();
                let read = Step { save, ..plain(format!("GET {at}")) };
                let mut object = self.object(random);
                object["metadata"]["resourceVersion"] = "${rv}".into();
                vec![read, Step { body: Some(object), ..plain(format!("PUT {at}?fieldManager={manager}")) }]
            }
            _ => {
                let force = if random.random_bool(0.3) { "&force=true" } else { "" };
                let request = format!("PATCH {at}?fieldManager={manager}{force}");
                vec![Step { request, media: "apply".to_owned(), body: Some(self.object(random)), ..Step::default() }]
            }
        }
    }
}

fn one_of(random: &mut ChaCha8Rng, values: &[&str]) -> String {
    (*values.choose(random).unwrap_or(&"")).to_owned()
}

fn some(random: &mut ChaCha8Rng, fields: &[(&str, Value)]) -> Value {
    let mut object = json!({});
    for (name, value) in fields {
        if random.random_bool(0.35) {
            object[*name] = value.clone();
        }
    }
    object
}

fn config_map(random: &mut ChaCha8Rng) -> Value {
    let (a, b) = (one_of(random, &["1", "2"]), one_of(random, &["1", "2", ""]));
    let data = some(random, &[("a", json!(a)), ("b", json!(b)), ("c.d", json!("x"))]);
    some(random, &[("data", data), ("binaryData", json!({"e": "eA=="}))])
}

fn widget(random: &mut ChaCha8Rng) -> Value {
    let parts = [
        json!([]),
        json!([{"name": "x", "note": "n1"}]),
        json!([{"name": "x"}, {"name": "x", "zone": "b", "count": 3}]),
        json!([{"name": "z", "note": "n2"}, {"name": "x"}]),
    ];
    let parts = parts.choose(random).cloned().unwrap_or_default();
    let tags = [json!(["a"]), json!(["b", "a"]), json!([])].choose(random).cloned().unwrap_or_default();
    let (low, high) = (random.random_range(0..4), random.random_range(0..4));
    let color = one_of(random, &["red", "blue", "Red"]);
    let size = random.random_range(-5..40);
    let spec = some(
        random,
        &[
            ("color", json!(color)),
            ("size", json!(size)),
            ("low", json!(low)),
            ("high", json!(high)),
            ("parts", parts),
            ("tags", tags),
            ("atoms", json!(["p", "q"])),
            ("nested", json!({})),
            ("raw", json!({"any": {"thing": [1, 2]}})),
            ("map", json!({"a": low})),
            ("labels", json!({"k": color})),
            ("flag", json!(null)),
        ],
    );
    json!({"spec": spec})
}

fn route(random: &mut ChaCha8Rng) -> Value {
    let hostname = one_of(random, &["a.example", "*.b.example", "UPPER", "1.2.3.4"]);
    let path = one_of(random, &["/", "/a", "a", "/a//b"]);
    let kind = one_of(random, &["PathPrefix", "Exact", "RegularExpression", "Nonsense"]);
    let port = random.random_range(-1..3) * 40_000;
    let redirect = json!({"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}});
    let backend = some(random, &[("name", json!("s")), ("port", json!(port)), ("weight", json!(port / 10))]);
    let rule = some(
        random,
        &[
            ("matches", json!([{"path": {"type": kind, "value": path}}])),
            ("filters", json!([redirect])),
            ("backendRefs", json!([backend])),
            ("timeouts", json!({"request": "1s", "backendRequest": one_of(&mut random.clone(), &["1s", "2s", "x"])})),
        ],
    );
    let parent = some(random, &[("name", json!("g")), ("sectionName", json!("l")), ("port", json!(80))]);
    let spec =
        some(random, &[("hostnames", json!([hostname])), ("rules", json!([rule])), ("parentRefs", json!([parent]))]);
    json!({"spec": spec})
}

fn gateway(random: &mut ChaCha8Rng) -> Value {
    let listener = |random: &mut ChaCha8Rng| {
        let name = one_of(random, &["a", "b"]);
        let protocol = one_of(random, &["HTTP", "HTTPS", "TCP", "example.dev/x"]);
        let port = random.random_range(0..3) * 80;
        let mut listener = some(random, &[("hostname", json!("a.example")), ("allowedRoutes", json!({}))]);
        listener["name"] = name.into();
        listener["protocol"] = protocol.into();
        listener["port"] = port.into();
        listener
    };
    let listeners: Vec<Value> = (0..random.random_range(0..3)).map(|_| listener(random)).collect();
    let class = one_of(random, &["c", "C D"]);
    let address = one_of(random, &["192.0.2.1", "nonsense", ""]);
    let spec = some(random, &[("addresses", json!([{"type": "IPAddress", "value": address}]))]);
    let mut object = json!({"spec": spec});
    object["spec"]["gatewayClassName"] = class.into();
    object["spec"]["listeners"] = listeners.into();
    object
}

fn service(random: &mut ChaCha8Rng) -> Value {
    let port = |random: &mut ChaCha8Rng| {
        let (number, name) = (random.random_range(0..3) * 40, one_of(random, &["a", "b", "", "A"]));
        let target = [json!(8080), json!("web"), json!("bad name!"), json!(0)].choose(random).cloned();
        let protocol = one_of(random, &["TCP", "UDP", "ICMP"]);
        let mut port = some(
            random,
            &[("name", json!(name)), ("targetPort", target.unwrap_or_default()), ("protocol", json!(protocol))],
        );
        port["port"] = (number + 1).into();
        port
    };
    let ports: Vec<Value> = (0..random.random_range(0..3)).map(|_| port(random)).collect();
    let kind = one_of(random, &["ClusterIP", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "Nonsense"]);
    let selector = [json!({"app": "a"}), json!({"a b": "c"}), json!({})].choose(random).cloned().unwrap_or_default();
    let affinity = one_of(random, &["None", "ClientIP", "Sometimes"]);
    let policy = one_of(random, &["Cluster", "Local", "Nowhere"]);
    let stacks = one_of(random, &["SingleStack", "PreferDualStack", "RequireDualStack"]);
    let families: &[_] = &[&["IPv4"][..], &["IPv6"], &["IPv4", "IPv6"], &["IPv6", "IPv4"], &[]];
    let families = families.choose(random).copied().unwrap_or_default();
    let mut spec = some(
        random,
        &[
            ("type", json!(kind)),
            ("selector", selector),
            ("sessionAffinity", json!(affinity)),
            ("clusterIP", json!("None")),
            ("externalName", json!("x.example")),
            ("internalTrafficPolicy", json!(policy)),
            ("ipFamilyPolicy", json!(stacks)),
            ("ipFamilies", json!(families)),
            ("publishNotReadyAddresses", json!(true)),
        ],
    );
    spec["ports"] = ports.into();
    json!({"spec": spec})
}
