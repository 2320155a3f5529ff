//! Samples of what stands beside the specification of a proxy: the other kinds, the status of all, and what servers fill in.

use serde_json::{Value, json};

use super::samples::{DELEGATION, EXTENSION, PROXY, Samples, least, service, verification, with};

/// Services that are asked while a request waits.
pub fn extensions(all: &mut Samples) {
    let at = (EXTENSION, "spec");
    let whole = least(EXTENSION);
    // Of the three it alone is taken without a specification.
    all.at(at, |value| value, [Value::Null], []);
    all.needs(at, |value| value, &whole, &["services"]);
    all.at(at, |value| json!({"services": value}), [], [json!([])]);
    let one = |value: Value| json!({"services": [value]});
    all.needs(at, one, &service(json!({"weight": -1})), &["name", "port"]);
    all.at(at, |value| one(json!({"name": "s", "port": value})), [json!(1), json!(65535)], [json!(0), json!(65536)]);
    let field = |field: &'static str| move |value: Value| with(least(EXTENSION), json!({field: value}));
    all.at(at, field("protocol"), [json!("h2"), json!("h2c")], [json!("tls"), json!("")]);
    all.at(at, field("protocolVersion"), [json!("v3")], [json!("v2"), json!("")]);
    for name in ["response", "idle", "idleConnection"] {
        let time = |value: Value| field("timeoutPolicy")(json!({name: value}));
        all.at(at, time, [json!("1s"), json!("infinity")], [json!("0"), json!("")]);
    }
    for name in ["maxConnections", "maxPendingRequests", "maxRequests", "maxRetries", "perHostMaxConnections"] {
        let limit = |value: Value| field("circuitBreakerPolicy")(json!({name: value}));
        all.at(at, limit, [json!(0), json!(-1)], [json!("1")]);
    }
    verification(all, at, field("validation"));
}

/// Certificates that others may use.
pub fn delegations(all: &mut Samples) {
    let at = (DELEGATION, "spec");
    all.needs(at, |value| value, &least(DELEGATION), &["delegations"]);
    all.at(at, |value| value, [], [Value::Null]);
    let one = json!({"secretName": "", "targetNamespaces": []});
    all.needs(at, |value| json!({"delegations": [value]}), &one, &["secretName", "targetNamespaces"]);
    let namespaces = |value: Value| json!({"delegations": [{"secretName": "s", "targetNamespaces": value}]});
    all.at(at, namespaces, [json!(["*"]), json!(["a", "a"])], [json!("*"), json!([1])]);
}

/// What controllers write.
pub fn statuses(all: &mut Samples) {
    let sub = json!({"type": "TLSError", "status": "True", "reason": "SecretNotValid", "message": ""});
    let least = with(sub.clone(), json!({"type": "Valid", "lastTransitionTime": "2026-01-01T00:00:00Z"}));
    for kind in [DELEGATION, EXTENSION, PROXY] {
        let at = (kind, "status");
        let conditions = |value: Value| json!({"conditions": value});
        let one = |value: Value| conditions(json!([value]));
        all.needs(at, one, &least, &["type", "status", "reason", "message", "lastTransitionTime"]);
        let other = with(least.clone(), json!({"type": "Other"}));
        all.at(at, conditions, [json!([]), json!([least, other])], [json!([least, least])]);
        let mut fields = |place: &dyn Fn(Value) -> Value| {
            all.at(
                at,
                |value| place(json!({"status": value})),
                [json!("False"), json!("Unknown")],
                [json!("true"), json!("")],
            );
            let reasons = [json!("A"), json!("a1_,:z"), json!("r".repeat(1024))];
            let none = [json!(""), json!("1A"), json!("a-b"), json!("a b"), json!("a:"), json!("r".repeat(1025))];
            all.at(at, |value| place(json!({"reason": value})), reasons, none);
            let types = [json!("contour.example.com/Valid"), json!("a.b-c_d"), json!("t".repeat(316))];
            let none = [json!(""), json!("A B"), json!("Up.Example/Valid"), json!("a/b/c"), json!("t".repeat(317))];
            all.at(at, |value| place(json!({"type": value})), types, none);
            all.at(
                at,
                |value| place(json!({"message": value})),
                [json!("m".repeat(32768))],
                [json!("m".repeat(32769))],
            );
        };
        fields(&|more| one(with(least.clone(), more)));
        for list in ["errors", "warnings"] {
            fields(&|more| one(with(least.clone(), json!({list: [with(sub.clone(), more)]}))));
        }
        let generation = |value: Value| one(with(least.clone(), json!({"observedGeneration": value})));
        all.at(at, generation, [json!(0), json!(7)], [json!(-1)]);
        for list in ["errors", "warnings"] {
            let place = |value: Value| one(with(least.clone(), json!({list: value})));
            all.needs(at, |value| place(json!([value])), &sub, &["type", "status", "reason", "message"]);
            // They have no key, so one type may come twice.
            all.at(at, place, [json!([]), json!([sub, sub])], []);
        }
    }
    let at = (PROXY, "status");
    all.at(at, |value| json!({"currentStatus": value}), [json!("valid"), json!("any text"), json!("")], [json!(1)]);
    let ports = |value: Value| json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ports": [value]}]}});
    all.needs(at, ports, &json!({"port": 80, "protocol": "TCP", "error": "Failed"}), &["port", "protocol"]);
    all.at(
        at,
        |value| ports(json!({"port": 80, "protocol": "TCP", "error": value})),
        [json!("e".repeat(316))],
        [json!(""), json!("a b"), json!("e".repeat(317))],
    );
}

/// Kind, what is written as its specification, what that becomes, and the status that comes with it.
pub fn filled() -> [(&'static str, Value, Value, Option<Value>); 3] {
    let entry = |value: Value| {
        let matched = with(json!({"value": "v"}), value);
        json!({"global": {"descriptors": [{"entries": [{"requestHeaderValueMatch": matched}]}]}})
    };
    let slow = |value: Value| json!([service(json!({"slowStartPolicy": with(json!({"window": "1s"}), value)}))]);
    let written = json!({
        "virtualhost": {"fqdn": "a.example.com", "authorization": {"withRequestBody": {}}, "rateLimitPolicy": entry(json!({}))},
        "tcpproxy": {"services": slow(json!({}))},
        "routes": [{
            "rateLimitPolicy": entry(json!({})),
            "services": slow(json!({})),
            "retryPolicy": {},
            "requestRedirectPolicy": {},
            "internalRedirectPolicy": {},
            "timeoutPolicy": {},
            "unknown": 1,
        }],
    });
    let becomes = json!({
        "virtualhost": {
            "fqdn": "a.example.com",
            "authorization": {"withRequestBody": {"maxRequestBytes": 1024}},
            "rateLimitPolicy": entry(json!({"expectMatch": true})),
        },
        "tcpproxy": {"services": slow(json!({"aggression": "1.0", "minWeightPercent": 10}))},
        "routes": [{
            "rateLimitPolicy": entry(json!({"expectMatch": true})),
            "services": slow(json!({"aggression": "1.0", "minWeightPercent": 10})),
            "retryPolicy": {"count": 1},
            "requestRedirectPolicy": {"statusCode": 302},
            "internalRedirectPolicy": {"allowCrossSchemeRedirect": "Never"},
            "timeoutPolicy": {},
        }],
    });
    let waiting = json!({"currentStatus": "NotReconciled", "description": "Waiting for controller"});
    [
        (PROXY, written, becomes, Some(waiting)),
        (DELEGATION, least(DELEGATION), least(DELEGATION), None),
        (EXTENSION, least(EXTENSION), least(EXTENSION), None),
    ]
}
