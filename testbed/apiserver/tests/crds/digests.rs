//! Structure: equal to the official definitions as data.

use std::time::Instant;

use gateproof_apiserver::crds::{BUNDLE_VERSION, Channel, canonical, digest, gateway_api, parse_bundle};
use gateproof_apiserver::{Options, Server};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use pretty::first_difference;
use rstest::rstest;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::official::{self, RELEASES};

/// Digests of the canonical forms of the official definitions: digest, release, channel and name on each line.
const COMMITTED: &str = include_str!("../../crds/digests.txt");

/// SHA-256 of what the official definitions of a bundle say, rules and descriptions included: digest, release and channel on each line.
const WHOLE: &str = include_str!("../../crds/bundles.txt");

fn lines(definitions: &[Value], release: &str, channel: Channel) -> Vec<String> {
    definitions.iter().map(|each| format!("{} {release} {channel} {}", digest(each), official::name(each))).collect()
}

fn committed(release: &str, channel: Channel) -> Vec<&'static str> {
    let is_of = |line: &&str| {
        let mut columns = line.split(' ').skip(1);
        (columns.next(), columns.next()) == (Some(release), Some(channel.as_str()))
    };
    COMMITTED.lines().filter(is_of).collect()
}

fn by_name(mut definitions: Vec<Value>) -> Vec<Value> {
    definitions.sort_by(|a, b| official::name(a).cmp(official::name(b)));
    definitions
}

#[rstest]
#[case(Channel::Standard, 10)]
#[case(Channel::Experimental, 14)]
fn ours_have_the_committed_digests(#[case] channel: Channel, #[case] count: usize) {
    let ours = lines(&gateway_api(channel), BUNDLE_VERSION, channel);
    assert_eq!(ours.len(), count);
    assert_eq!(ours, committed(BUNDLE_VERSION, channel), "run with the official bundles to see what differs");
}

#[test]
fn digests_of_every_release_are_committed() {
    let expected: Vec<(&str, &str)> =
        RELEASES.iter().flat_map(|release| Channel::ALL.map(|channel| (*release, channel.as_str()))).collect();
    let mut found: Vec<(&str, &str)> = COMMITTED
        .lines()
        .map(|line| {
            let columns: Vec<&str> = line.split(' ').collect();
            assert!(columns.len() == 4 && columns[0].len() == 64, "{line}");
            (columns[1], columns[2])
        })
        .collect();
    found.dedup();
    assert_eq!(found, expected);
    let bundles = WHOLE.lines().map(|line| line.split_once(' ').unwrap().1.to_owned());
    let named = expected.iter().map(|(release, channel)| format!("{release} {channel}"));
    assert_eq!(bundles.collect::<Vec<_>>(), named.collect::<Vec<_>>());
}

#[rstest]
fn the_official_ones_have_the_committed_digests(
    #[values(Channel::Standard, Channel::Experimental)] channel: Channel,
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8)] release: usize,
) {
    let release = RELEASES[release];
    let Some(text) = official::bundle(release, channel) else { return };
    let theirs = by_name(parse_bundle(&text).unwrap().definitions);
    let each = lines(&theirs, release, channel);
    assert_eq!(each, committed(release, channel), "crds/digests.txt should hold\n{}", each.join("\n"));
    let whole = whole(&theirs, release, channel);
    assert!(WHOLE.lines().any(|line| line == whole), "crds/bundles.txt should hold\n{whole}");
}

/// What `--crds` names is what is served, rules and all: older releases are in no source of ours.
#[rstest]
#[tokio::test]
async fn a_server_serves_the_official_ones_as_they_are(
    #[values(Channel::Standard, Channel::Experimental)] channel: Channel,
    #[values(0, 1, 2, 3, 4, 5, 6, 7, 8)] release: usize,
) {
    let release = RELEASES[release];
    let Some(text) = official::bundle(release, channel) else { return };
    let official = by_name(parse_bundle(&text).unwrap().definitions);
    let server = Server::start(Options { crds: official.clone(), ..Options::default() }).await.unwrap();
    let definitions = ApiResource::erase::<CustomResourceDefinition>(&());
    let definitions: Api<DynamicObject> = Api::all_with(Client::new(server.service(), "default"), &definitions);
    let served = definitions.list(&ListParams::default()).await.unwrap().items;
    let served = served.iter().map(|one| {
        let mut one = serde_json::to_value(one).unwrap();
        // Left out of lists, and filled in by servers.
        one["apiVersion"] = official[0]["apiVersion"].clone();
        one["kind"] = official[0]["kind"].clone();
        let filled_in = one["spec"].as_object_mut().unwrap().remove("conversion");
        assert!(filled_in.is_none_or(|of| of == json!({"strategy": "None"})));
        one
    });
    let served = by_name(served.collect());
    assert_eq!(lines(&served, release, channel), committed(release, channel));
    assert!(WHOLE.lines().any(|line| line == whole(&served, release, channel)), "a text or rule is another");
    server.shutdown().await;
}

/// The line of a bundle in the table: names and versions of its definitions with every word, keys sorted. How the file is laid out,
/// and what it says above a document, makes no difference.
fn whole(definitions: &[Value], release: &str, channel: Channel) -> String {
    let parts = definitions.iter().map(|each| sorted(&json!([official::name(each), each["spec"]["versions"]])));
    let hash = Sha256::digest(Value::Array(parts.collect()).to_string());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{hash} {release} {channel}")
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut fields: Vec<_> = object.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            fields.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[rstest]
fn ours_equal_the_official_ones(#[values(Channel::Standard, Channel::Experimental)] channel: Channel) {
    let Some(official) = official::definitions(channel) else { return };
    let ours = gateway_api(channel);
    let names = |all: &[Value]| all.iter().map(|each| official::name(each).to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&official));
    let differences: Vec<_> = ours
        .iter()
        .zip(&official)
        .filter_map(|(ours, theirs)| first_difference(official::name(ours), &canonical(ours), &canonical(theirs)))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn expansion_is_quick_enough_for_every_test_to_start_a_server() {
    let start = Instant::now();
    let all = gateway_api(Channel::Experimental);
    println!("{} definitions in {:?}", all.len(), start.elapsed());
    assert!(all.iter().all(|each| each["spec"]["versions"].is_array()));
}

mod pretty {
    use serde_json::Value;

    /// Where two values first differ, in words.
    pub fn first_difference(at: &str, ours: &Value, theirs: &Value) -> Option<String> {
        match (ours, theirs) {
            (Value::Object(a), Value::Object(b)) => {
                let only = |x: &serde_json::Map<String, Value>, y: &serde_json::Map<String, Value>| {
                    x.iter().find(|(key, _)| !y.contains_key(*key)).map(|(key, value)| format!("{at}.{key}: {value}"))
                };
                if let Some(extra) = only(a, b) {
                    return Some(format!("only ours has {extra}"));
                }
                if let Some(missing) = only(b, a) {
                    return Some(format!("only the official one has {missing}"));
                }
                a.iter().find_map(|(key, value)| first_difference(&format!("{at}.{key}"), value, &b[key]))
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                a.iter().zip(b).enumerate().find_map(|(i, (a, b))| first_difference(&format!("{at}[{i}]"), a, b))
            }
            _ if ours == theirs => None,
            _ => Some(format!("{at}: ours is {ours}, the official one {theirs}")),
        }
    }
}
