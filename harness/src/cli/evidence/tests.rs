#![allow(clippy::unwrap_used)]
use gateproof_report::html::Evidence;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::log::codec::Decoder;

/// What is shown of `a`, of a log that has these events between its start and its end.
fn shown(events: &[Value]) -> Evidence {
    let gateways = json!({"gw": {"namespace": "gp-1-pool", "name": "http", "shape": "http"}});
    let bindings = json!({"scenario": "a", "runId": "1", "token": "1-1", "namespaces": {}, "hosts": {}, "gateways": gateways,
        "backends": {}, "names": {}, "ports": {}});
    let own = |body: Value| json!({"scope": {"scenario": "a"}, "body": body});
    let mut all = vec![json!({"scope": {"pool": "http"}, "body": gateway("Gateway", "before")})];
    all.push(json!({"scope": {"pool": "other"}, "body": gateway("Gateway", "other")}));
    all.push(own(json!({"scenarioStarted": bindings})));
    all.extend_from_slice(events);
    all.push(own(json!({"scenarioEnded": "completed"})));
    let (mut decoder, mut collector) = (Decoder::default(), Collector::default());
    let mut ended = Vec::new();
    for (seq, mut event) in all.into_iter().enumerate() {
        event["seq"] = json!(seq);
        event["at"] = json!(1000 * (seq as u64 + 1));
        ended.extend(collector.event(decoder.event(&event.to_string()).unwrap()));
    }
    let [(name, evidence)] = <[_; 1]>::try_from(ended).unwrap();
    assert_eq!(&*name, "a");
    evidence
}

fn gateway(kind: &str, name: &str) -> Value {
    let object = json!({"apiVersion": "g/v1", "kind": kind, "metadata": {"name": name, "resourceVersion": "1"}});
    json!({"observed": {"key": {"group": "g", "kind": kind, "name": name}, "change": "added", "object": object}})
}

fn own(body: Value) -> Value {
    json!({"scope": {"scenario": "a"}, "body": body})
}

fn http() -> Value {
    json!({"host": "10.0.0.1", "port": 80, "method": "GET", "target": "/a?b='c'", "authority": "x.test",
        "headers": [["X-A", "1"]]})
}

fn probed(attempt: u32, request: &Value, end: &Value) -> Value {
    let mut exchange = json!({"id": format!("id-{attempt}"), "request": {"http": request}, "started": 3500});
    exchange.as_object_mut().unwrap().extend(end.as_object().unwrap().clone());
    own(json!({"probed": {"step": 2, "attempt": attempt, "role": "main", "exchange": exchange}}))
}

#[test]
fn a_scenario_sees_its_objects_and_the_gateways_that_it_shares() {
    let evidence = shown(&[
        own(gateway("HTTPRoute", "route")),
        json!({"scope": {"pool": "other"}, "body": gateway("Gateway", "later")}),
        json!({"scope": {"scenario": "b"}, "body": gateway("HTTPRoute", "of-another")}),
        json!({"scope": {"pool": "http"}, "body": gateway("Gateway", "new")}),
    ]);
    let objects: Vec<(&str, u64)> =
        evidence.objects.iter().map(|object| (&*object.name, object.versions[0].at)).collect();
    assert_eq!(objects, [("Gateway/before", 0), ("HTTPRoute/route", 1000), ("Gateway/new", 4000)]);
    assert_eq!((evidence.began, evidence.ended), (3000, 5000));
}

#[test]
fn a_write_has_its_answer() {
    let key = json!({"group": "", "kind": "Service", "namespace": "ns", "name": "s"});
    let wrote = |outcome: Value| {
        own(
            json!({"wrote": {"step": 1, "ordinal": 0, "verb": "apply", "key": key, "apiVersion": "v1", "sent": {"a": 1},
            "outcome": outcome}}),
        )
    };
    let refused = json!({"refused": {"code": 422, "reason": "Invalid", "message": "no", "causes": []}});
    let admitted = json!({"admitted": {"uid": "u", "generation": 3, "resource_version": "7"}});
    let evidence = shown(&[wrote(refused), wrote(admitted)]);
    let said: Vec<(&str, bool)> = evidence.writes.iter().map(|write| (&*write.answer, write.taken)).collect();
    assert_eq!(said, [("refused, 422 Invalid: no", false), ("taken, generation 3", true)]);
    assert_eq!(
        evidence.steps.iter().map(|step| (step.step, step.from, step.to)).collect::<Vec<_>>(),
        [(1, 1000, 2000)]
    );
}

#[rstest]
#[case::answer(json!({"http": {"status": 200, "headers": [], "echo": {"pod": "echo-1"}}}), "200 from echo-1")]
#[case::other_answer(json!({"http": {"status": 404, "headers": [["a", "b"]], "body": "gone"}}), "404")]
#[case::refused(json!({"error": {"connectRefused": "no"}}), "refused")]
#[case::late(json!({"error": "timedOut"}), "no answer in time")]
fn an_attempt_is_told_by_its_end(#[case] end: Value, #[case] expected: &str) {
    let evidence = shown(&[probed(0, &http(), &end), probed(1, &http(), &end)]);
    assert_eq!(evidence.rows.len(), 1);
    let row = &evidence.rows[0];
    assert_eq!((&*row.ended, row.at.len(), row.came[0].took), (expected, 2, 500));
    let request = &evidence.requests[0];
    assert_eq!(request.line, "GET http://x.test/a?b='c'");
    assert_eq!(request.sent, "GET /a?b='c' HTTP/1.1\nHost: x.test\nX-A: 1\nX-Gateproof-Request: ");
}

#[rstest]
#[case::plain(
    json!({}),
    Some(r"curl -i --path-as-is --http1.1 -H 'X-A: 1' --connect-to x.test:80:10.0.0.1:80 'http://x.test:80/a?b='\''c'\'''")
)]
#[case::tls(
    json!({"tls_server_name": "y.test", "http2": true, "target": "/", "headers": [], "method": "POST", "body": "$x"}),
    Some("curl -i --path-as-is --http2 -X POST -H 'Host: x.test' --data-raw '$x' -k --connect-to y.test:80:10.0.0.1:80 https://y.test:80/")
)]
#[case::of_any(
    json!({"target": "*", "method": "OPTIONS", "headers": []}),
    Some("curl -i --path-as-is --http1.1 -X OPTIONS --connect-to x.test:80:10.0.0.1:80 --request-target '*' http://x.test:80")
)]
#[case::call(json!({"sends": ["a"]}), None)]
#[case::websocket(json!({"messages": ["text"]}), None)]
fn curl_asks_the_same(#[case] fields: Value, #[case] expected: Option<&str>) {
    let mut request = http();
    request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let evidence = shown(&[probed(0, &request, &json!({"error": "timedOut"}))]);
    assert_eq!(evidence.requests[0].curl.as_deref(), expected);
}

#[test]
fn what_explains_a_delay_is_noted_of_all() {
    let evidence = shown(&[
        json!({"scope": "run", "body": {"lagged": {"by": 70_000}}}),
        own(json!({"waited": {"by": 2000}})),
        own(json!({"journal": {"step": 3, "entries": []}})),
    ]);
    let notes: Vec<(u64, &str)> = evidence.notes.iter().map(|note| (note.at, &*note.text)).collect();
    assert_eq!(
        notes,
        [
            (1000, "the harness was late by 70 ms"),
            (2000, "it waited 2 ms for what another run had to itself"),
            (3000, "requests that reached a backend: nobody"),
        ]
    );
}
