//! Structure: equal to the official definitions as data.

use std::time::Instant;

use gateproof_apiserver::crds::{Channel, canonical, digest, gateway_api};
use pretty::first_difference;
use rstest::rstest;
use serde_json::Value;

use super::official;

/// Digests of the canonical forms of the official definitions: digest, channel and name on each line.
const COMMITTED: &str = include_str!("../../crds/digests.txt");

fn lines(definitions: &[Value], channel: Channel) -> Vec<String> {
    definitions.iter().map(|each| format!("{} {channel} {}", digest(each), official::name(each))).collect()
}

fn committed(channel: Channel) -> Vec<&'static str> {
    COMMITTED.lines().filter(|line| line.split(' ').nth(1) == Some(channel.as_str())).collect()
}

#[rstest]
#[case(Channel::Standard, 10)]
#[case(Channel::Experimental, 14)]
fn ours_have_the_committed_digests(#[case] channel: Channel, #[case] count: usize) {
    let ours = lines(&gateway_api(channel), channel);
    assert_eq!(ours.len(), count);
    assert_eq!(ours, committed(channel), "run with the official bundles to see what differs");
}

#[rstest]
fn the_official_ones_have_the_committed_digests(#[values(Channel::Standard, Channel::Experimental)] channel: Channel) {
    let Some(official) = official::definitions(channel) else { return };
    let theirs = lines(&official, channel);
    assert_eq!(theirs, committed(channel), "crds/digests.txt should hold\n{}", theirs.join("\n"));
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
