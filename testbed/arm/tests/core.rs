//! The state machine as a client sees it, with time as a parameter.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use gateproof_arm::{Answer, ArmOptions, BodyFault, Core, Request, Script, Wanted};
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

const BASE: &str = "http://127.0.0.1:1";
const GROUP: &str = "/subscriptions/00000000-0000-4000-8000-000000000001/resourceGroups/g";

struct Client {
    core: Core,
    now: Timestamp,
    bearer: String,
}

impl Client {
    fn new() -> Self {
        let mut client = Self::without_token(ArmOptions::default());
        client.bearer = client.token("").unwrap();
        client
    }

    fn without_token(options: ArmOptions) -> Self {
        let now = "2024-05-06T07:08:09Z".parse().unwrap();
        Self { core: Core::new(&options, BASE, [7; 32]), now, bearer: String::new() }
    }

    fn raw(&mut self, method: &str, url: &str, bearer: &str, body: &str) -> Answer {
        let method = method.parse().unwrap();
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {bearer}").parse().unwrap());
        headers.insert("x-identity-header", self.core.identity_header().parse().unwrap());
        let body = Ok(body.as_bytes());
        self.core.handle(self.now, &Request { method: &method, path, query, headers: &headers, body })
    }

    fn token(&mut self, more: &str) -> Option<String> {
        let answer = self.raw("GET", &format!("/token?api-version=1&resource={BASE}/{more}"), "", "");
        Some(read(&answer)["access_token"].as_str()?.to_owned())
    }

    /// Asks ARM about a path behind the group.
    fn ask(&mut self, method: &str, path: &str, body: Value) -> Answer {
        let bearer = self.bearer.clone();
        self.raw(method, &format!("{GROUP}{path}?api-version=1"), &bearer, &body.to_string())
    }

    fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, Value::Null)
    }

    fn put(&mut self, path: &str) -> Answer {
        self.ask("PUT", path, json!({"location": "here"}))
    }

    fn script(&mut self, key: &str, rules: Value) -> Answer {
        let bearer = self.core.control_token().to_owned();
        self.raw("PUT", &format!("/control/scripts/{key}"), &bearer, &json!({"rules": rules}).to_string())
    }

    fn follow(&mut self, answer: &Answer, header: &str) -> Answer {
        let url = answer.headers[header].to_str().unwrap().strip_prefix(BASE).unwrap().to_owned();
        let bearer = self.bearer.clone();
        self.raw("GET", &url, &bearer, "")
    }

    fn state(&mut self, path: &str) -> String {
        let answer = self.get(path);
        if answer.status != StatusCode::OK {
            return told(&answer).1;
        }
        read(&answer)["properties"]["provisioningState"].as_str().unwrap().to_owned()
    }
}

fn read(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// Status and code.
fn told(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), read(answer)["error"]["code"].as_str().unwrap_or_default().to_owned())
}

const ACCOUNT: &str = "/providers/Microsoft.Storage/storageAccounts/a";

#[test]
fn resources_are_made_read_replaced_and_deleted() {
    let mut client = Client::new();
    assert_eq!(told(&client.put(ACCOUNT)), (404, "ResourceGroupNotFound".into()));
    assert_eq!(told(&client.get("")), (404, "ResourceGroupNotFound".into()));
    assert_eq!(client.put("").status, 201);
    assert_eq!(told(&client.put(&format!("{ACCOUNT}/blobServices/b"))), (404, "ParentResourceNotFound".into()));
    assert_eq!(told(&client.get(ACCOUNT)), (404, "ResourceNotFound".into()));
    assert_eq!([client.put(ACCOUNT).status, client.put(ACCOUNT).status], [201, 200]);
    assert_eq!(client.put(&format!("{ACCOUNT}/blobServices/b")).status, 201);
    let expected = json!({
        "id": format!("{GROUP}{ACCOUNT}"), "name": "a", "type": "Microsoft.Storage/storageAccounts", "location": "here",
        "properties": {"provisioningState": "Succeeded"},
    });
    assert_eq!(read(&client.get(&ACCOUNT.to_uppercase())), expected);
    let head = client.ask("HEAD", ACCOUNT, Value::Null);
    assert_eq!((head.status.as_u16(), head.body.len()), (204, 0));
    let delete = |client: &mut Client, path: &str| client.ask("DELETE", path, Value::Null).status.as_u16();
    assert_eq!([delete(&mut client, ACCOUNT), delete(&mut client, ACCOUNT)], [200, 204]);
    assert_eq!(client.put(ACCOUNT).status, 201);
    assert_eq!(told(&client.get(&format!("{ACCOUNT}/blobServices/b"))), (404, "ResourceNotFound".into()));
    assert_eq!([delete(&mut client, ""), delete(&mut client, "")], [200, 404]);
}

#[test]
fn accounts_have_keys_of_their_own() {
    let mut client = Client::new();
    client.put("");
    let keys = |client: &mut Client, path: &str| {
        client.put(path);
        read(&client.ask("POST", &format!("{path}/listKeys"), Value::Null))["keys"].clone()
    };
    let first = keys(&mut client, ACCOUNT);
    assert_eq!(first[0]["keyName"], "key1");
    assert_ne!(first[0]["value"], first[1]["value"]);
    assert_eq!(keys(&mut client, ACCOUNT), first, "a PUT leaves the keys");
    client.ask("DELETE", ACCOUNT, Value::Null);
    assert_ne!(keys(&mut client, ACCOUNT), first, "another account of the same name has others");
    client.put("/providers/N/ts/a");
    assert_eq!(told(&client.ask("POST", "/providers/N/ts/a/listKeys", Value::Null)).1, "UnsupportedAction");
}

#[test]
fn the_log_tells_of_bodies_what_the_query_asks_for() {
    let mut client = Client::new();
    client.ask("PUT", "", json!({"location": "here", "password": "kettle"}));
    let control = client.core.control_token().to_owned();
    let page =
        client.raw("GET", "/control/requests?after=0&body=/location&body=%2Fsize&digest=/password", &control, "");
    let body = &read(&page)["requests"][0]["body"];
    assert_eq!((&body["/location"], body.get("/size")), (&json!("here"), Some(&Value::Null)));
    assert!(body["/password"].as_str().is_some_and(|digest| digest.starts_with("sha256:")), "{body}");
    let page = client.raw("GET", "/control/requests", &control, "");
    assert!(read(&page)["requests"][0].get("body").is_none());
    // Of who is not known no body is kept, which is another thing than a body with nothing in it.
    client.bearer = "unknown".to_owned();
    client.ask("PUT", "", json!({"location": "here"}));
    let page = client.raw("GET", "/control/requests?after=1&body=/location", &control, "");
    let request = &read(&page)["requests"][0];
    assert_eq!((&request["status"], request.get("body")), (&json!(401), None));
}

#[test]
fn tokens_are_asked_for_and_end() {
    let mut client = Client::without_token(ArmOptions { token_life: Duration::from_secs(60), ..Default::default() });
    assert_eq!(told(&client.put("")), (401, "InvalidAuthenticationToken".into()));
    client.bearer = client.core.control_token().to_owned();
    assert_eq!(told(&client.put("")).0, 401, "the control token is no token for ARM");
    client.bearer = client.token("other").unwrap();
    assert_eq!(told(&client.put("")), (401, "InvalidAuthenticationTokenAudience".into()));
    client.bearer = client.token("&client_id=me").unwrap();
    assert_eq!(client.put("").status, 201);
    assert_eq!(client.core.requests(3, &Wanted::default()).requests[0].caller, "me");
    let bearer = client.bearer.clone();
    assert_eq!(told(&client.raw("GET", "/control/requests", &bearer, "")).0, 401, "nor the other way around");
    client.now += jiff::SignedDuration::from_secs(60);
    assert_eq!(told(&client.put("")), (401, "ExpiredAuthenticationToken".into()));
    let none = HeaderMap::new();
    let (path, query) = ("/token", "api-version=1&resource=x");
    let request = Request { method: &Method::GET, path, query, headers: &none, body: Ok(b"") };
    assert_eq!(client.core.handle(client.now, &request).status, 401);
}

#[rstest]
#[case(json!({"status": 429, "code": "TooManyRequests", "message": "m"}), r#"{"error":{"code":"TooManyRequests","message":"m"}}"#)]
#[case(json!({"status": 500, "message": "m"}), r#"{"error":{"message":"m"}}"#)]
#[case(json!({"status": 503}), "")]
#[case(json!({"status": 502, "body": "<p>"}), "<p>")]
fn refusals_are_as_the_script_says(#[case] mut rule: Value, #[case] body: &str) {
    let mut client = Client::new();
    client.put("");
    let status = rule["status"].clone();
    rule.as_object_mut().unwrap().extend(
        json!({"method": "PUT", "path": "**/STORAGEaccounts/?", "times": 2, "retryAfter": 7, "delay": 0.5, "headers": {"x-a": "b"}})
            .as_object()
            .unwrap()
            .clone(),
    );
    assert_eq!(client.script("k", json!([rule])).status, 201);
    assert_eq!(told(&client.get(ACCOUNT)).0, 404, "another method");
    for _ in 0..2 {
        let answer = client.put(ACCOUNT);
        assert_eq!((json!(answer.status.as_u16()), answer.body.as_ref()), (status.clone(), body.as_bytes()));
        assert_eq!(
            (&answer.headers["retry-after"], &answer.headers["x-a"]),
            (&"7".parse().unwrap(), &"b".parse().unwrap())
        );
        assert_eq!(answer.delay, Duration::from_millis(500));
    }
    assert_eq!(client.put(ACCOUNT).status, 201, "nothing was made before");
}

#[test]
fn a_refused_request_may_be_done_all_the_same() {
    let mut client = Client::new();
    client.script("k", json!([{"path": "**", "method": "PUT", "status": 500, "accepted": true}]));
    assert_eq!(client.put("").status, 500);
    assert_eq!(client.get("").status, 200);
}

#[rstest]
#[case("Succeeded", "Succeeded")]
#[case("Failed", "Failed")]
#[case("Canceled", "Canceled")]
fn operations_are_polled_to_their_end(#[case] end: &str, #[case] state: &str) {
    let mut client = Client::new();
    client.put("");
    let mut operation = json!({"kind": "azure-async", "polls": 2, "end": end});
    if end != "Succeeded" {
        operation["code"] = json!("Why");
    }
    client.script("k", json!([{"path": "**/a", "method": "PUT", "retryAfter": 3, "operation": operation}]));
    let begun = client.put(ACCOUNT);
    assert_eq!((begun.status.as_u16(), &begun.headers["retry-after"]), (202, &"3".parse().unwrap()));
    for _ in 0..2 {
        let poll = client.follow(&begun, "azure-asyncoperation");
        assert_eq!(
            (&read(&poll)["status"], &poll.headers["retry-after"]),
            (&json!("InProgress"), &"3".parse().unwrap())
        );
        assert_eq!(client.state(ACCOUNT), "Creating");
    }
    let last = client.follow(&begun, "azure-asyncoperation");
    assert_eq!((&read(&last)["status"], last.headers.get("retry-after")), (&json!(end), None));
    assert_eq!(read(&last)["error"]["code"].as_str(), (end != "Succeeded").then_some("Why"));
    assert_eq!(client.state(ACCOUNT), state);
    let polls = client
        .core
        .requests(0, &Wanted::default())
        .requests
        .into_iter()
        .filter(|request| request.path.contains("/a/operations/"));
    assert_eq!(polls.count(), 3);
}

#[rstest]
#[case("Succeeded", 204, "")]
#[case("Failed", 400, "Why")]
fn deletions_by_location_take_time(#[case] end: &str, #[case] status: u16, #[case] code: &str) {
    let mut client = Client::new();
    client.put("");
    client.put(ACCOUNT);
    let mut operation = json!({"kind": "location", "seconds": 5, "end": end});
    if !code.is_empty() {
        operation["code"] = json!(code);
    }
    client.script("k", json!([{"path": "**/a", "method": "DELETE", "operation": operation}]));
    let begun = client.ask("DELETE", ACCOUNT, Value::Null);
    client.now += jiff::SignedDuration::from_millis(4999);
    assert_eq!((begun.status.as_u16(), client.follow(&begun, "location").status.as_u16()), (202, 202));
    assert_eq!(client.state(ACCOUNT), "Deleting");
    client.now += jiff::SignedDuration::from_millis(1);
    assert_eq!(told(&client.follow(&begun, "location")), (status, code.to_owned()));
    assert_eq!(client.state(ACCOUNT), if code.is_empty() { "ResourceNotFound" } else { "Failed" });
}

#[test]
fn a_resource_can_tell_its_operation_itself_and_end_badly() {
    let mut client = Client::new();
    let operation = json!({"kind": "provisioning-state", "polls": 1});
    client.script("k", json!([{"path": "**", "method": "PUT", "operation": operation, "provisioningState": "Failed"}]));
    let begun = client.put("");
    assert_eq!((begun.status.as_u16(), begun.headers.get("location")), (201, None));
    assert_eq!([client.state(""), client.state("")], ["Creating", "Failed"]);
}

#[test]
fn a_later_request_takes_over_from_an_operation() {
    let mut client = Client::new();
    let operation = json!({"kind": "azure-async", "polls": 0, "end": "Failed"});
    client.script("k", json!([{"path": "**", "method": "PUT", "times": 1, "operation": operation}]));
    let begun = client.put("");
    client.put("");
    assert_eq!(read(&client.follow(&begun, "azure-asyncoperation"))["status"], "Failed");
    assert_eq!(client.state(""), "Succeeded");
}

#[test]
fn resources_are_deleted_and_changed_behind_the_back() {
    let mut client = Client::new();
    client.put("");
    client.put(ACCOUNT);
    let change =
        json!({"change": {"tags": {"by": "others"}, "name": "no", "properties": {"provisioningState": "Odd"}}});
    client.script("k", json!([{"path": "**/a", "times": 1, "behind": change}, {"path": "**/a", "behind": "delete"}]));
    let changed = read(&client.get(ACCOUNT));
    assert_eq!((&changed["tags"]["by"], &changed["name"]), (&json!("others"), &json!("a")));
    assert_eq!(changed["properties"]["provisioningState"], "Odd");
    assert_eq!(told(&client.get(ACCOUNT)).1, "ResourceNotFound");
}

#[rstest]
#[case(r#"{"rules": [{"path": "**", "statu": 200}]}"#, "rules[0].statu")]
#[case("{\n\"rules\": [{\"path\": \"**\", \"operation\": {\"kind\": \"x\"}}]}", "line 2 column")]
#[case(r#"{"rules": []} x"#, "script")]
#[case(r#"{"rules": [{"path": "**", "status": 304}]}"#, "rules[0].status")]
#[case(r#"{"rules": [{"path": "**", "code": "X"}]}"#, "rules[0].code")]
#[case(r#"{"rules": [{"path": "**"}, {"path": "["}]}"#, "rules[1].path")]
#[case(r#"{"rules": [{"path": "a"}]}"#, "rules[0].path")]
#[case(r#"{"rules": [{"path": "**", "delay": -1}]}"#, "rules[0].delay")]
#[case(r#"{"rules": [{"path": "**", "delay": 1e9}]}"#, "rules[0].delay")]
#[case(r#"{"rules": [{"path": "**", "headers": {"a b": "c"}}]}"#, "rules[0].headers.a b")]
#[case(r#"{"rules": [{"path": "**", "headers": {"content-length": "1"}}]}"#, "rules[0].headers.content-length")]
#[case(r#"{"rules": [{"path": "**", "method": "PUT", "operation": {"kind": "location"}}]}"#, "rules[0].operation")]
#[case(r#"{"rules": [{"path": "**", "operation": {"kind": "location", "polls": 1}}]}"#, "rules[0].operation")]
#[case(r#"{"rules": [{"path": "**", "provisioningState": "X"}]}"#, "rules[0].provisioningState")]
fn bad_scripts_are_refused_with_their_place(#[case] text: &str, #[case] place: &str) {
    let error = Script::parse(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains(place), "{error}");
}

proptest! {
    #[test]
    fn no_request_panics(
        method in prop::sample::select(vec!["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "ODD"]),
        start in prop::sample::select(vec!["", "/token", "/control/scripts/", "/control/requests", GROUP, "/subscriptions"]),
        rest in "(/[^?#]{0,8}|/providers|/N|/ts|/a|/operations/[0-9]|/listKeys){0,9}",
        query in "(api-version=1)?.{0,20}",
        body in prop_oneof![".{0,40}", Just("{\"properties\":{}}".to_owned()), Just("{\"rules\":[{\"path\":\"**\"}]}".to_owned())],
        fault in prop::option::of(prop::sample::select(vec![BodyFault::TooLarge, BodyFault::BrokenOff])),
        bearer in 0..3_u8,
    ) {
        let mut client = Client::new();
        client.put("");
        let operation = json!({"kind": "location", "polls": 1});
        client.script("k", json!([{"path": "**", "method": "PUT", "operation": operation}]));
        let bearer = [client.bearer.clone(), client.core.control_token().to_owned(), String::new()][usize::from(bearer)].clone();
        let mut headers = HeaderMap::new();
        headers.insert("authorization", format!("Bearer {bearer}").parse().unwrap());
        let (method, path) = (method.parse().unwrap(), format!("{start}{rest}"));
        let before = client.core.requests(0, &Wanted::default()).next;
        let body = match fault { Some(fault) => Err(fault), None => Ok(body.as_bytes()) };
        for _ in 0..2 {
            let request = Request { method: &method, path: &path, query: &query, headers: &headers, body };
            let answer = client.core.handle(client.now, &request);
            prop_assert!(answer.status.as_u16() >= 200);
            prop_assert!(method != Method::HEAD || answer.body.is_empty());
        }
        let is_arm = path != "/token" && path != "/control" && !path.starts_with("/control/");
        prop_assert_eq!(client.core.requests(0, &Wanted::default()).next - before, if is_arm { 2 } else { 0 });
    }
}
