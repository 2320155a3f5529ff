//! Random sequences of requests on a few kinds, from a seed.

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::compare::{Divergence, compare};
use crate::corpus::{Sequence, Step};
use crate::run::{Recorded, run_sequence};
use crate::server::{Subject, SubjectError};

/// How many requests a sequence has at most.
const LONGEST: usize = 8;

/// A case that two servers answer differently.
pub struct Finding {
    /// The number of the case; with the seed, it makes the same sequence again.
    pub case: u64,
    /// The requests, as few as still diverge.
    pub sequence: Sequence,
    /// Where the answers diverge.
    pub divergences: Vec<Divergence>,
}

/// Sends `cases` random sequences to both servers.
///
/// # Errors
/// [`SubjectError`]: a server cannot be asked.
pub async fn search(left: &Subject, right: &Subject, seed: u64, cases: u64) -> Result<Vec<Finding>, SubjectError> {
    let mut found = Vec::new();
    for case in 0..cases {
        let sequence = sequence(seed, case);
        if !diverge(left, right, &sequence).await?.is_empty() {
            let sequence = shrink(left, right, sequence).await?;
            let divergences = diverge(left, right, &sequence).await?;
            found.push(Finding { case, sequence, divergences });
        }
    }
    Ok(found)
}

async fn diverge(left: &Subject, right: &Subject, sequence: &Sequence) -> Result<Vec<Divergence>, SubjectError> {
    let (left, right) = tokio::join!(run_sequence(left, sequence), run_sequence(right, sequence));
    let one = |answers| Recorded::from([("generated".to_owned(), [(sequence.name.clone(), answers)].into())]);
    Ok(compare(&one(left?), &one(right?)))
}

/// Leaves out requests as long as the servers still diverge.
async fn shrink(left: &Subject, right: &Subject, mut sequence: Sequence) -> Result<Sequence, SubjectError> {
    let mut at = sequence.steps.len();
    while at > 0 {
        at -= 1;
        let mut fewer = sequence.clone();
        fewer.steps.remove(at);
        if !fewer.steps.is_empty() && !diverge(left, right, &fewer).await?.is_empty() {
            sequence = fewer;
        }
    }
    Ok(sequence)
}

/// The sequence of a seed and a number.
pub fn sequence(seed: u64, case: u64) -> Sequence {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let kind = *KINDS.choose(&mut random).unwrap_or(&KINDS[0]);
    let length = random.random_range(2..=LONGEST);
    let mut steps = vec![kind.create(&mut random)];
    steps.extend((1..length).map(|_| kind.step(&mut random)));
    Sequence { name: format!("{}-{case}", kind.plural), steps }
}

#[derive(Clone, Copy)]
struct Kind {
    path: &'static str,
    api_version: &'static str,
    name: &'static str,
    plural: &'static str,
    /// Values of fields below the root, some of them wrong.
    content: fn(&mut ChaCha8Rng) -> Value,
    strategic: bool,
}

const KINDS: &[Kind] = &[
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
            object["metadata"]["labels"] = json!({"a": one_of(random, &["1", "2"])});
        }
        object
    }

    fn create(&self, random: &mut ChaCha8Rng) -> Step {
        Step { request: format!("POST {}", self.collection()), body: Some(self.object(random)), ..Step::default() }
    }

    fn step(&self, random: &mut ChaCha8Rng) -> Step {
        let at = format!("{}/x", self.collection());
        let manager = one_of(random, &["one", "two"]);
        match random.random_range(0..8) {
            0 => self.create(random),
            1 => Step { request: format!("GET {at}"), ..Step::default() },
            2 => Step { request: format!("DELETE {at}"), ..Step::default() },
            3 | 4 => {
                let media = if self.strategic && random.random_bool(0.5) { "strategic" } else { "merge" };
                let request = format!("PATCH {at}?fieldManager={manager}");
                Step { request, media: media.to_owned(), body: Some((self.content)(random)), ..Step::default() }
            }
            _ => {
                let force = if random.random_bool(0.3) { "&force=true" } else { "" };
                let request = format!("PATCH {at}?fieldManager={manager}{force}");
                Step { request, media: "apply".to_owned(), body: Some(self.object(random)), ..Step::default() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_again() {
        for case in 0..20 {
            assert_eq!(format!("{:?}", sequence(7, case)), format!("{:?}", sequence(7, case)));
        }
        assert_ne!(format!("{:?}", sequence(7, 0).steps), format!("{:?}", sequence(8, 0).steps));
    }
}
