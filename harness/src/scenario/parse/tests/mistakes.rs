//! Mistakes that are told, with a place and with help.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn all_problems_are_told_at_once() {
    let text = HEAD.replace("HTTPRoute]", "HTTPRoot]").replace("gw: http", "gw: htpt");
    let text = format!("{text}    - delete: [Service/a, Service/b]\n      proves: [x]\n  steps: []\n");
    let messages = problems(&text).into_iter().map(|(_, m, _)| m).collect::<Vec<_>>();
    for wanted in
        ["feature `HTTPRoot`", "shape `htpt`", "`Service/a`", "`Service/b`", "clause `x`", "`steps` is given twice"]
    {
        assert!(messages.iter().any(|m| m.contains(wanted)), "{wanted}: {messages:#?}");
    }
}

#[test]
fn broken_yaml_has_a_place() {
    let found = problems("a: [1,\nb: }");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.starts_with("not YAML: "), "{found:?}");
}

#[test]
fn a_name_is_given_once() {
    let text = format!("{HEAD}---\n{HEAD}");
    let found = problems(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].0, found[0].1.as_str()), (18, "there are two scenarios `sample`"));
    assert_eq!(problems(""), [(1, "the file holds no scenario".to_owned(), None)]);
}

/// Messages about where traffic comes in have the dialect's word for it.
#[rstest]
#[case("gateway-api", ["unknown Gateway alias `edge`", "there is no Gateway to probe"])]
#[case("kuadrant", ["unknown Gateway alias `edge`", "there is no Gateway to probe"])]
#[case("contour", ["unknown HTTPProxy alias `edge`", "there is no HTTPProxy to probe"])]
fn an_entry_is_called_as_its_dialect_calls_it(#[case] dialect: &str, #[case] expected: [&str; 2]) {
    let dialect = crate::suite::Suite::named(dialect).unwrap().unwrap().dialect;
    let vocabulary = Vocabulary::of(dialect, Default::default(), Default::default());
    let head = HEAD.split("  features").next().unwrap();
    let text = format!(
        "{head}  features: []\n  backends: [echo]\n  steps:\n    - probe: {{get: \"http://a.test/\", via: edge, expect: {{status: 200}}}}\n    \
         - probe: {{get: \"http://a.test/\", expect: {{status: 200}}}}\n"
    );
    let found = parse("a.yaml", &text, &vocabulary).unwrap_err();
    let said: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
    assert!(expected.iter().all(|message| said.contains(message)), "{said:?}");
}

#[rstest]
#[case("setle: {}", "unknown field of a Step `setle`", Some("did you mean `settle`?"))]
#[case(
    "settle: {HTTPRoute/route: {accepted: \"True\"}}",
    "unknown field of a Subject `accepted`",
    Some("did you mean `Accepted`?")
)]
#[case(
    "settle: {HTTPRoute/route: {Acceptd: \"True\"}}",
    "unknown condition type `Acceptd`",
    Some("did you mean `Accepted`?")
)]
#[case(
    "settle: {HTTPRoute/route: {Accepted: \"Tru\"}}",
    "unknown condition status `Tru`",
    Some("did you mean `True`?")
)]
#[case(
    "settle: {HTTPRoute/route: {Accepted: true}}",
    "expected a string such as \"True/Accepted\" or a mapping, found a boolean",
    Some("quote it")
)]
#[case(
    "settle: {HTTPRoute/rout: {Accepted: \"True\"}}",
    "unknown object `HTTPRoute/rout`",
    Some("did you mean `HTTPRoute/route`?")
)]
#[case("settle: {\"${gv}\": {Programmed: \"True\"}}", "unknown Gateway alias `gv`", Some("did you mean `gw`?"))]
#[case("settle: {HTTPRoute/b/route: {Accepted: \"True\"}}", "unknown namespace `b`", None)]
#[case("delete: [Service/ecko]", "unknown object `Service/ecko`", Some("did you mean `Service/echo`?"))]
#[case("{delete: [Service/echo], proves: [GEP1364-99]}", "unknown clause `GEP1364-99`", Some(""))]
#[case(
    "{delete: [Service/echo], since: 1.4}",
    "expected a version as a string, found a number",
    Some("quote it, such as \"1.4\"")
)]
#[case("{delete: [Service/echo], since: \"new\"}", "`new` is not a version such as 1.4 or v1.4.1", None)]
#[case("{delete: [Service/echo], hold: {never: {}}}", "Step has both `delete` and `hold`", Some("make two of it"))]
#[case(
    "proves: [GEP1364-01]",
    "Step needs one of apply, patch, delete, settle, hold, probe, script, requests, made",
    None
)]
#[case(
    "probe: {get: \"http://${host}/\", expect: {backend: ecco}}",
    "unknown backend `ecco`",
    Some("did you mean `echo`?")
)]
#[case(
    "probe: {get: \"http://${hots}/\", expect: {backend: echo}}",
    "unknown placeholder `${hots}`",
    Some("did you mean `host`?")
)]
#[case(
    "probe: {get: \"${host}/\", expect: {backend: echo}}",
    "not a URL that can be probed",
    Some("such as http://${host}/path")
)]
#[case(
    "probe: {grpc: \"http://${host}/a.B\", expect: {backend: echo}}",
    "not the URL of a call",
    Some("such as http://${host}/package.Service/Method")
)]
#[case(
    "probe: {grpc: \"http://${host}/a.B/C\", expect: {status: 503}}",
    "`status` has no meaning for a call; it ends with a `code`",
    None
)]
#[case(
    "probe: {get: \"http://${host}/\", expect: {code: OK}}",
    "`code` has no meaning for HTTP; it is for calls",
    None
)]
#[case(
    "probe: {grpc: \"http://${host}/a.B/C\", expect: noAnswer}",
    "`noAnswer` is not for a call; say the `code`",
    None
)]
#[case(
    "probe: {grpc: \"http://${host}/a.B/C\", body: x, expect: {backend: echo}}",
    "`body` has no meaning for a call",
    Some("a call carries messages; say them with `sends`")
)]
#[case(
    "probe: {get: \"http://${host}/\", sends: [a], expect: {backend: echo}}",
    "`sends` is for calls",
    Some("did you mean `body`?")
)]
#[case(
    &format!("probe: {{grpc: \"http://${{host}}/a.B/C\", sends: [a, {}], expect: {{backend: echo}}}}", "x".repeat(101)),
    "a message of 101 bytes; 100 may be sent",
    None
)]
#[case(
    "probe: {get: \"http://${host}/\", expect: {backend: echo, seen: {messages: [a]}}}",
    "`messages` are seen of calls only",
    None
)]
#[case(
    "probe: {get: \"http://${host}/\", among: [/a], expect: {backend: echo}}",
    "over HTTP/1.1 requests follow each other",
    Some("add `http2: true`")
)]
#[case(
    "probe: {get: \"http://${host}/\", http2: true, among: [/a, b], expect: {backend: echo}}",
    "`b` is no path",
    Some("such as /slow?delay=100ms")
)]
#[case(
    "probe: {get: \"http://${host}/\", once: true, expect: {shares: {echo: 1, \"503\": 1}}}",
    "`once` beside `shares`, which take many requests",
    None
)]
#[case(
    "probe: {get: \"http://${host}/\", each: 2, once: true, expect: {backend: echo}}",
    "`each` beside `once`",
    Some("leave out one of them")
)]
#[case("probe: {tcp: gw, among: [/a], expect: refused}", "`among` has no meaning over TCP", None)]
#[case("probe: {udp: gw, expect: refused}", "`refused` is not for UDP; `noAnswer` is", None)]
#[case("probe: {udp: gw, listens: true, expect: noAnswer}", "`listens` is for TCP and TLS", None)]
#[case("probe: {udp: gw, bodyBytes: 40000, expect: noAnswer}", "a datagram may hold 32768 bytes behind its text", None)]
#[case(
    "probe: {tcp: gw, listens: true, bodyBytes: 9, expect: refused}",
    "`bodyBytes` has no meaning for who listens",
    Some("it is sent behind the line of a stream")
)]
#[case("probe: {udp: gw, body: a, expect: noAnswer}", "`body` has no meaning over UDP", None)]
#[case("probe: {tcp: gw, send: a, listens: true, expect: refused}", "who listens sends nothing", None)]
#[case(
    "probe: {tcp: gw, expect: {shares: {refused: 1}}}",
    "nobody else has a share beside `refused`",
    Some("write `expect: refused`")
)]
#[case(
    "probe: {udp: gw, expect: {shares: {noAnswer: 1}}}",
    "nobody else has a share beside `noAnswer`",
    Some("write `expect: noAnswer`")
)]
#[case(
    "probe: {get: \"http://${host}/\", listens: true, expect: {backend: echo}}",
    "`listens` is for TCP and TLS",
    None
)]
#[case(
    "probe: {get: \"http://${host}/\", expect: refused}",
    "`refused` is not for HTTP; `noAnswer`, `noCertificate` and `cutOff` are",
    None
)]
#[case("probe: {get: \"http://${host}/\", expect: noCertificate}", "no certificate is presented over plain HTTP", None)]
#[case(
    "probe: {tcp: gw, expect: noCertificate}",
    "`noCertificate` is not for TCP and TLS; `refused` and `noAnswer` are",
    None
)]
#[case(
    "probe: {get: \"http://${host}/\", via: gw2, expect: {status: 404}}",
    "unknown Gateway alias `gw2`",
    Some("did you mean `gw`?")
)]
#[case("probe: {get: \"http://${host}/\", expect: {status: 42}}", "expected a whole number from 100 to 599", None)]
#[case(
    "{settle: {HTTPRoute/route: {Accepted: \"True\"}}, refused: {}}",
    "`refused` without a write",
    Some("only apply, patch and delete can be refused")
)]
#[case(
    "{delete: [Service/echo], admitted: true}",
    "`admitted` without a write of content",
    Some("only apply and patch can be admitted")
)]
#[case(
    "{apply: [{apiVersion: v1, kind: Secret, metadata: {name: a}}], refused: {}, either: [{refused: {code: 409}}]}",
    "`refused` beside `either`",
    Some("make it one of the ends")
)]
#[case(
    "{delete: [Service/echo], either: [{refused: {}, then: []}]}",
    "nothing is done in `then`",
    Some("leave it out")
)]
#[case(
    "hold: {never: {HTTPRoute/route: {Accepted: \"True\"}}, level: SHOULD}",
    "`level` without `unchanged`",
    Some("it is about what is `unchanged`")
)]
#[case(
    "{apply: [{apiVersion: v1, kind: Secret, metadata: {name: a}}], admitted: true, refused: {}}",
    "`admitted` beside another end of the write",
    Some("it is the only legal end, or none")
)]
#[case(
    "{apply: [{apiVersion: v1, kind: Secret, metadata: {name: a}}], admitted: false}",
    "`admitted: false` expects nothing",
    Some("write `refused: {}` if the write must be refused")
)]
#[case(
    "{delete: [Secret/a], asWritten: true}",
    "`asWritten` without `apply`",
    Some("only what is applied has an apiVersion of its own")
)]
#[case(
    "{delete: [Secret/a], atOnce: true}",
    "`atOnce` without `settle`",
    Some("only a state that is settled stands still first")
)]
#[case(
    "{settle: {Service/echo: {Ready: absent}}, awaited: false}",
    "`awaited` without `delete`",
    Some("only what is deleted goes in its own time")
)]
#[case(
    "apply: [{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}}]",
    "a fixed namespace would be shared with others",
    Some("")
)]
#[case(
    "apply: [{apiVersion: g/v1, kind: GatewayClass, metadata: {name: a}}]",
    "the name of a GatewayClass must be unique to run and scenario",
    Some("name it ${name:alias}")
)]
#[case(
    "apply: [{apiVersion: v1, kind: Secret, metadata: {name: \"${ns:x}\"}}]",
    "unknown namespace `x`",
    Some("there is ns")
)]
#[case(
    "hold: {for: long, never: {HTTPRoute/route: {Accepted: \"True\"}}}",
    "not a time",
    Some("`quiet`, `rest`, or a time such as 500ms or 2s")
)]
#[case(
    "settle: {HTTPRoute/route: {fields: [{at: /status, notEmpty: true}, {at: /status, equals: 1}]}}",
    "`/status` is tested twice",
    Some("")
)]
#[case(
    "settle: {HTTPRoute/route: {Accepted: {message: {lacks: a, level: MUST}}}}",
    "a message needs `mentions` or `starts`",
    None
)]
#[case("hold: {for: quiet}", "the hold watches nothing", None)]
#[case("settle: {HTTPRoute/route: {Accepted: on}}", "`on` means different things to different YAML readers", Some(""))]
fn mistakes_are_told(#[case] text: &str, #[case] message: &str, #[case] help: Option<&str>) {
    let found = problems(&with(text));
    let Some(hit) = found.iter().find(|(_, m, _)| m == message) else { panic!("{found:#?}") };
    assert_eq!(hit.0, HEAD.lines().count() + 1);
    match help {
        Some("") => assert!(hit.2.is_some()),
        Some(help) => assert_eq!(hit.2.as_deref(), Some(help)),
        None => {}
    }
}
