//! Every fault of the pure seams makes a difference in some cluster: one that makes none could never be noticed.

use base64::{Engine, engine::general_purpose::STANDARD};
use gateproof_proxy::Config;
use rcgen::{CertificateParams, KeyPair};
use rstest::rstest;
use serde_json::{Value, json};

use super::super::{Fault, Seam, catalogue};
use crate::{
    reconcile::{
        infrastructure::{Made, objects},
        reconcile,
    },
    runtime::seams::{ConfigSeam, ObjectsSeam, Seams, Seen, SnapshotSeam, StatusesSeam},
    settings::{Dispensable, Settings},
    snapshot::{Addresses, Bind, Kind, ObjectKey, Snapshot},
    status::StatusUpdate,
};

/// Puts objects into the cluster, all at one resourceVersion.
fn add(snapshot: &mut Snapshot, objects: &str, version: &str) {
    let objects: Vec<Value> = serde_yaml::from_str(objects).unwrap();
    for mut object in objects {
        object["metadata"]["resourceVersion"] = json!(version);
        let (kind, meta) = (Kind::of(&object).unwrap(), object["metadata"].clone());
        let [namespace, name] = ["namespace", "name"].map(|field| meta[field].as_str().unwrap_or_default());
        // Two of one name at first would be one, and whatever the other is there for would be gone.
        assert!(version != "1" || snapshot.get(kind, namespace, name).is_none(), "{namespace}/{name} is there twice");
        snapshot.put(kind, object).unwrap();
    }
}

fn certificate(snapshot: &mut Snapshot, namespace: &str, name: &str) {
    let pair = rcgen::generate_simple_self_signed(vec![format!("{name}.test")]).unwrap();
    secret(snapshot, (namespace, name), &pair.cert.pem(), &pair.signing_key);
}

fn secret(snapshot: &mut Snapshot, (namespace, name): (&str, &str), chain: &str, key: &KeyPair) {
    let (crt, key) = (STANDARD.encode(chain), STANDARD.encode(key.serialize_pem()));
    let secret = json!({"metadata": {"namespace": namespace, "name": name, "uid": name},
        "data": {"tls.crt": crt, "tls.key": key}});
    snapshot.put(Kind::Secret, secret).unwrap();
}

/// A Secret with two certificates, the first of which has a key of RSA.
fn chain(snapshot: &mut Snapshot, namespace: &str, name: &str) {
    let key = KeyPair::from_pem(include_str!("rsa.pem")).unwrap();
    let first = CertificateParams::new(vec![format!("{name}.test")]).unwrap().self_signed(&key).unwrap();
    let behind = rcgen::generate_simple_self_signed(vec!["behind.test".to_owned()]).unwrap().cert;
    secret(snapshot, (namespace, name), &(first.pem() + &behind.pem()), &key);
}

/// A Secret with a certificate whose time is over.
fn untimely(snapshot: &mut Snapshot, namespace: &str, name: &str) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![format!("{name}.test")]).unwrap();
    params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    secret(snapshot, (namespace, name), &params.self_signed(&key).unwrap().pem(), &key);
}

/// A ConfigMap with an authority, another one each time.
fn authority(snapshot: &mut Snapshot, namespace: &str, name: &str) {
    let pair = rcgen::generate_simple_self_signed(vec!["authority.test".to_owned()]).unwrap();
    let map = json!({"metadata": {"namespace": namespace, "name": name, "uid": name},
        "data": {"ca.crt": pair.cert.pem()}});
    snapshot.put(Kind::ConfigMap, map).unwrap();
}

/// A ConfigMap with two authorities, of which one is there twice.
fn bundle(snapshot: &mut Snapshot, namespace: &str, name: &str) {
    let pem = |of: &str| rcgen::generate_simple_self_signed(vec![of.to_owned()]).unwrap().cert.pem();
    let (one, other) = (pem("one.test"), pem("other.test"));
    let map = json!({"metadata": {"namespace": namespace, "name": name, "uid": name},
        "data": {"ca.crt": format!("{one}{other}{one}")}});
    snapshot.put(Kind::ConfigMap, map).unwrap();
}

/// A ClusterTrustBundle with so many authorities, others each time, of this uid.
fn trust_bundle(snapshot: &mut Snapshot, name: &str, uid: &str, of: usize) {
    let pem = |_| rcgen::generate_simple_self_signed(vec!["authority.test".to_owned()]).unwrap().cert.pem();
    let bundle: String = (0..of).map(pem).collect();
    let bundle = json!({"metadata": {"name": name, "uid": uid}, "spec": {"trustBundle": bundle}});
    snapshot.put(Kind::ClusterTrustBundle, bundle).unwrap();
}

/// More routes, matches and wrong references than one would like to write down.
fn crowd() -> impl Iterator<Item = (String, Value)> {
    let matches = |of: usize| (0..of).map(|at| json!({"headers": [{"name": "n", "value": at.to_string()}]}));
    let missing = |of: usize| (0..of).map(|at| json!({"name": format!("nope-{at}"), "port": 8080}));
    (0..20).map(move |at| {
        let name = format!("crowd-{at}");
        let many = if at == 0 { 64 } else { 1 };
        let rule =
            json!({"matches": matches(many).collect::<Vec<_>>(), "backendRefs": missing(many).collect::<Vec<_>>()});
        let spec = json!({"parentRefs": [{"name": "static"}], "rules": [rule]});
        (
            name.clone(),
            json!({"metadata": {"namespace": "demo", "name": name, "uid": name, "generation": 1}, "spec": spec}),
        )
    })
}

/// Two Gateways whose long names differ at the end, each with a route.
fn long_names() -> impl Iterator<Item = (Kind, Value)> {
    [("a", 93), ("b", 94)].into_iter().flat_map(|(end, port)| {
        let name = "long-name-".repeat(20) + end;
        let meta = |name: &str| json!({"namespace": "demo", "name": name, "uid": name, "generation": 1});
        let listeners = json!([{"name": "http", "port": port, "protocol": "HTTP"}]);
        let rules = json!([{"backendRefs": [{"name": "echo", "port": 8080}]}]);
        [
            (Kind::Gateway, json!({"metadata": meta(&name), "spec": {"gatewayClassName": "ours", "listeners": listeners}})),
            (
                Kind::HttpRoute,
                json!({"metadata": meta(&format!("of-long-{end}")), "spec": {"parentRefs": [{"name": name}], "rules": rules}}),
            ),
        ]
    })
}

/// A cluster at three moments, of which the second is about authorities alone.
fn moments() -> [Snapshot; 3] {
    let mut first = Snapshot::default();
    add(&mut first, include_str!("world.yaml"), "1");
    add(&mut first, include_str!("datagrams.yaml"), "1");
    add(&mut first, include_str!("shared.yaml"), "1");
    certificate(&mut first, "demo", "one");
    certificate(&mut first, "demo", "two");
    certificate(&mut first, "other", "one");
    add(&mut first, include_str!("clients.yaml"), "1");
    add(&mut first, include_str!("made.yaml"), "1");
    add(&mut first, include_str!("chains.yaml"), "1");
    chain(&mut first, "demo", "chained");
    certificate(&mut first, "demo", "untimely");
    add(&mut first, include_str!("moving.yaml"), "1");
    certificate(&mut first, "demo", "lost");
    add(&mut first, include_str!("sets.yaml"), "1");
    add(&mut first, include_str!("layer-4.yaml"), "1");
    add(&mut first, include_str!("away.yaml"), "1");
    add(&mut first, include_str!("endpoints.yaml"), "1");
    add(&mut first, include_str!("bundles.yaml"), "1");
    add(&mut first, include_str!("names.yaml"), "1");
    add(&mut first, include_str!("routes-of-sets.yaml"), "1");
    add(&mut first, include_str!("apart.yaml"), "1");
    add(&mut first, include_str!("merged.yaml"), "1");
    add(&mut first, include_str!("equals.yaml"), "1");
    add(&mut first, include_str!("overlooked.yaml"), "1");
    add(&mut first, include_str!("narrow.yaml"), "1");
    add(&mut first, include_str!("winners.yaml"), "1");
    bundle(&mut first, "demo", "bundle");
    add(&mut first, include_str!("trust-bundles.yaml"), "1");
    for (name, of) in [("rotated", 1), ("gone", 1), ("again", 1), ("several", 2)] {
        trust_bundle(&mut first, name, name, of);
    }
    authority(&mut first, "demo", "authority");
    authority(&mut first, "demo", "ending");
    authority(&mut first, "other", "far");
    for (_, route) in crowd() {
        first.put(Kind::HttpRoute, route).unwrap();
    }
    for (kind, object) in long_names() {
        first.put(kind, object).unwrap();
    }
    certificate(&mut first, "granting", "one");
    certificate(&mut first, "granting", "two");
    certificate(&mut first, "third", "one");
    certificate(&mut first, "demo", "shared");
    certificate(&mut first, "demo", "held");
    certificate(&mut first, "demo", "shown");
    certificate(&mut first, "demo", "renewed-for-both");
    certificate(&mut first, "demo", "gone-for-both");
    let mut between = first.clone();
    trust_bundle(&mut between, "rotated", "rotated", 1);
    trust_bundle(&mut between, "again", "made-again", 1);
    assert!(between.remove(Kind::ClusterTrustBundle, &ObjectKey::new("", "gone")).is_some());
    let mut second = between.clone();
    add(&mut second, include_str!("later.yaml"), "2");
    certificate(&mut second, "demo", "one");
    certificate(&mut second, "demo", "shown");
    certificate(&mut second, "demo", "renewed-for-both");
    certificate(&mut second, "demo", "mended");
    add(&mut second, include_str!("clients-later.yaml"), "2");
    add(&mut second, include_str!("made-later.yaml"), "2");
    add(&mut second, include_str!("moving-later.yaml"), "2");
    add(&mut second, include_str!("away-later.yaml"), "2");
    add(&mut second, include_str!("endpoints-later.yaml"), "2");
    add(&mut second, include_str!("names-later.yaml"), "2");
    add(&mut second, include_str!("routes-of-sets-later.yaml"), "2");
    add(&mut second, include_str!("apart-later.yaml"), "2");
    add(&mut second, include_str!("merged-later.yaml"), "2");
    add(&mut second, include_str!("narrow-later.yaml"), "2");
    add(&mut second, include_str!("winners-later.yaml"), "2");
    untimely(&mut second, "demo", "untimely");
    add(&mut second, include_str!("shared-later.yaml"), "2");
    certificate(&mut second, "demo", "late");
    authority(&mut second, "demo", "authority");
    for (kind, namespace, name) in [
        (Kind::CustomResourceDefinition, "", "tcproutes.gateway.networking.k8s.io"),
        (Kind::Service, "demo", "going"),
        (Kind::ReferenceGrant, "other", "by-name"),
        (Kind::ReferenceGrant, "other", "of-shown"),
        (Kind::ReferenceGrant, "apart", "former"),
        (Kind::Secret, "third", "one"),
        (Kind::Secret, "demo", "shared"),
        (Kind::Secret, "demo", "gone-for-both"),
        (Kind::Secret, "demo", "lost"),
        (Kind::Gateway, "demo", "holds-a"),
        (Kind::Service, "demo", "copied-away"),
        (Kind::EndpointSlice, "demo", "sliced-1"),
        (Kind::Gateway, "demo", "roomy"),
        (Kind::HttpRoute, "demo", "deleted"),
        (Kind::GrpcRoute, "demo", "deleted"),
        (Kind::TcpRoute, "demo", "b"),
        (Kind::ListenerSet, "demo", "set-going"),
        (Kind::TlsRoute, "demo", "tls-gone"),
        (Kind::UdpRoute, "demo", "b"),
        (Kind::BackendTlsPolicy, "demo", "z-early"),
    ] {
        assert!(second.remove(kind, &ObjectKey::new(namespace, name)).is_some(), "{name}");
    }
    for (name, _) in crowd() {
        assert!(second.remove(Kind::HttpRoute, &ObjectKey::new("demo", &name)).is_some(), "{name}");
    }
    [first, between, second]
}

/// Statuses, what is served, and what is made.
type Played = (Vec<StatusUpdate>, Config, Vec<Made>);

/// What the implementation does at each moment, as the runtime would have it, where it does without something.
fn play_without(lacking: Option<Dispensable>, seams: Seams, moments: &[Snapshot]) -> Vec<Played> {
    let Seams { mut snapshot, mut statuses, mut config, objects: mut making, .. } = seams;
    let mut provided = std::collections::BTreeSet::new();
    let max_gateways = [("small".to_owned(), 1)].into();
    let settings = Settings { max_gateways, lacks: lacking.into_iter().collect(), ..Settings::default() };
    let mut addresses = Addresses::default();
    let mut moment = |known: &Snapshot| {
        let mut seen = snapshot.view(known.clone());
        seen.addresses = std::mem::take(&mut addresses);
        let mut outcome = reconcile(&seen, &settings);
        seen.addresses = outcome.addresses.clone();
        config.edit(Seen { snapshot: &seen, settings: &settings }, &mut outcome.config);
        seen.binds = outcome
            .config
            .listeners
            .iter()
            .map(|lane| ((lane.address, lane.port, lane.protocol.transport()), Bind::Bound))
            .collect();
        let mut said = reconcile(&seen, &settings).statuses;
        let mut made = objects(&seen, &said, &mut provided);
        making.edit(Seen { snapshot: &seen, settings: &settings }, &mut made);
        statuses.edit(Seen { snapshot: &seen, settings: &settings }, &mut said);
        addresses = seen.addresses;
        (said, outcome.config, made)
    };
    moments.iter().map(&mut moment).collect()
}

fn seams(fault: &Fault) -> Seams {
    let mut seams = Seams::default();
    fault.enter(&mut seams);
    seams
}

#[rstest]
#[case::snapshot("snapshot")]
#[case::statuses("statuses")]
#[case::config("proxy config")]
#[case::objects("made objects")]
fn every_fault_makes_a_difference_and_leaves_the_rest_alone(#[case] seam: &str) {
    let moments = moments();
    let of_seam: Vec<&Fault> = catalogue().iter().filter(|fault| fault.seam.name() == seam).collect();
    assert!(!of_seam.is_empty());
    let mut idle: Vec<&str> = of_seam.iter().map(|fault| fault.name).collect();
    // Some misbehave only where there is something that they do without.
    let lacking = [Dispensable::TlsTermination, Dispensable::MixedTls, Dispensable::TrustBundles].map(Some);
    for lacking in [None].into_iter().chain(lacking) {
        let plain = play_without(lacking, Seams::default(), &moments);
        let left = of_seam.iter().filter(|fault| idle.contains(&fault.name));
        let same = left.filter(|fault| {
            let played = play_without(lacking, seams(fault), &moments);
            // Without that, what the data plane does may well go with what is said.
            if lacking.is_none() {
                leaves_the_rest_alone(fault, &played, &plain);
            }
            played == plain
        });
        idle = same.map(|fault| fault.name).collect();
    }
    assert_eq!(idle, Vec::<&str>::new());
}

/// A fault in the statuses leaves the data plane alone and the other way round.
fn leaves_the_rest_alone(fault: &Fault, played: &[Played], plain: &[Played]) {
    for ((said, served, made), (should_say, should_serve, should_make)) in played.iter().zip(plain) {
        match fault.seam {
            Seam::Statuses(_) => assert_eq!(served, should_serve, "{}", fault.name),
            Seam::Config(_) => assert!(
                // Whether a port is bound is the one thing that statuses learn from the data plane.
                without_programmed(said) == without_programmed(should_say),
                "{}",
                fault.name
            ),
            Seam::Objects(_) => {
                assert_eq!((said, served), (should_say, should_serve), "{}", fault.name);
                assert_eq!(made.len(), should_make.len(), "{}", fault.name);
            }
            _ => {}
        }
    }
}

fn without_programmed(statuses: &[StatusUpdate]) -> Vec<StatusUpdate> {
    let mut statuses = statuses.to_vec();
    for list in statuses.iter_mut().flat_map(StatusUpdate::condition_lists) {
        list.retain(|condition| condition.r#type != "Programmed");
    }
    statuses
}
