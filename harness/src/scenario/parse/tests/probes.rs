//! Probes as they are written.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::log::{Chain, ClientCertificate, Extension, Message, TlsVersion};

#[test]
fn calls_are_read() {
    let Verb::Probe(probe) = step(
        "probe: {grpc: \"https://${host}/a.B/C\", headers: {a: b}, sends: [x, \"\"], among: [/a.B/D], expect: {code: [UNAVAILABLE, NOT_FOUND], \
         trailers: {x: late}, messages: 2, backend: echo, seen: {messages: [x, \"\"]}}}",
    )
    .verb
    else {
        panic!("not a probe")
    };
    assert_eq!((probe.method.as_deref(), probe.path.as_str()), (Some("POST"), "/a.B/C"));
    assert!(probe.grpc && probe.http2 && probe.tls);
    assert_eq!((probe.sends.join(","), probe.among.join(",")), ("x,".to_owned(), "/a.B/D".to_owned()));
    let Answer::Http(seen) = &probe.answer else { panic!("not HTTP") };
    assert_eq!((seen.code.as_slice(), seen.messages), (&[GrpcCode(14), GrpcCode(5)][..], Some(2)));
    assert_eq!(seen.seen_messages.as_deref(), Some(&["x".to_owned(), String::new()][..]));
    assert!(seen.status.is_empty() && seen.trailers["x"] == HeaderTest::Equals("late".to_owned()));
    let Verb::Probe(probe) =
        step("probe: {grpc: \"http://${host}/a.B/C\", expect: {shares: {echo: 3, UNAVAILABLE: 1}}}").verb
    else {
        panic!("not a probe")
    };
    let parts = vec![(Share::Backend("echo".to_owned()), 3), (Share::Code(GrpcCode(14)), 1)];
    assert_eq!(probe.answer, Answer::Shares { parts, margin: 10.0 });
}

#[test]
fn each_of_several_requests_is_sent_once() {
    let Verb::Probe(probe) = step("probe: {get: \"http://${host}/\", each: 8, expect: {backend: echo}}").verb else {
        panic!("not a probe")
    };
    assert_eq!((probe.once, probe.each), (true, 8));
}

#[test]
fn probes_are_read() {
    let Verb::Probe(probe) = step(
        "probe: {post: \"http://a.${host}/x?y=%2F\", headers: {A: b}, body: c, contrast: false, once: true, level: SHOULD, expect: {backend: echo, \
         status: [200, 201], prefer: 201, seen: {path: /x, headers: {A: b, B: absent}}, headers: {Location: {equals: absent}}, mirrored: [echo]}}",
    )
    .verb
    else {
        panic!("not a probe")
    };
    assert_eq!(
        (probe.method.as_deref(), probe.host.as_deref(), probe.path.as_str()),
        (Some("POST"), Some("a.${host}"), "/x?y=%2F")
    );
    assert!(!probe.tls && !probe.contrast && probe.once && probe.level == Level::Should);
    let Answer::Http(seen) = &probe.answer else { panic!("not HTTP") };
    assert_eq!((seen.status.as_slice(), seen.preferred.as_slice()), (&[200, 201][..], &[201][..]));
    assert_eq!(seen.seen_headers["B"], HeaderTest::Absent);
    assert_eq!(seen.headers["Location"], HeaderTest::Equals("absent".into()));
    assert_eq!(seen.mirrored_to, ["echo"]);
}

#[test]
fn bodies_are_given_or_made_up() {
    let body = |text: &str| {
        let Verb::Probe(probe) =
            step(&format!("probe: {{put: \"http://${{host}}/\", {text}, expect: {{backend: echo}}}}")).verb
        else {
            panic!("not a probe")
        };
        probe.body
    };
    assert_eq!(body("body: all of it"), "all of it");
    let made = body("bodyBytes: 50");
    assert_eq!((made.len(), made.lines().next()), (50, Some("000000000000000")));
    assert_eq!(made.lines().last(), Some(".."));
    let both = with("probe: {put: \"http://${host}/\", body: a, bodyBytes: 1, expect: {backend: echo}}");
    assert_eq!(problems(&both)[0].1, "`bodyBytes` beside `body`");
}

#[test]
fn shares_are_read() {
    let Verb::Probe(probe) =
        step("probe: {get: \"http://${host}/\", expect: {shares: {echo: 3, \"500\": 1}, margin: 5}}").verb
    else {
        panic!("not a probe")
    };
    let Answer::Shares { parts, margin } = &probe.answer else { panic!("not shares") };
    assert_eq!(parts, &[(Share::Backend("echo".into()), 3), (Share::Status(500), 1)]);
    assert!((margin - 5.0).abs() < f64::EPSILON);
}

#[rstest]
#[case::statuses("get: \"http://${host}/\"", "500|503", Share::Either(vec![Share::Status(500), Share::Status(503)]))]
#[case::codes(
    "grpc: \"http://${host}/a.B/C\"",
    "UNAVAILABLE|UNKNOWN",
    Share::Either(vec![Share::Code(GrpcCode(14)), Share::Code(GrpcCode(2))])
)]
#[case::connections("tcp: gw", "refused", Share::Refused)]
#[case::datagrams("udp: gw", "noAnswer", Share::NoAnswer)]
fn shares_of_nobody_are_read(#[case] of: &str, #[case] name: &str, #[case] share: Share) {
    let Verb::Probe(probe) = step(&format!("probe: {{{of}, expect: {{shares: {{echo: 3, \"{name}\": 1}}}}}}")).verb
    else {
        panic!("not a probe")
    };
    let parts = vec![(Share::Backend("echo".to_owned()), 3), (share, 1)];
    assert_eq!(probe.answer, Answer::Shares { parts, margin: 10.0 });
}

#[test]
fn copies_are_shares_of_the_requests() {
    let Verb::Probe(probe) = step("probe: {get: \"http://${host}/\", expect: {copies: {echo: 20}}}").verb else {
        panic!("not a probe")
    };
    let parts = vec![(Share::Copied("echo".into()), 20), (Share::NotCopied, 80)];
    assert_eq!(probe.answer, Answer::Shares { parts, margin: 10.0 });
}

#[test]
fn tcp_probes_are_read() {
    let Verb::Probe(probe) = step("probe: {tcp: gw, listener: tcp, expect: refused}").verb else {
        panic!("not a probe")
    };
    assert_eq!((probe.method, probe.answer), (None, Answer::TcpRefused));
    assert_eq!(probe.target.listener.as_deref(), Some("tcp"));
}

#[test]
fn udp_probes_are_read() {
    let Verb::Probe(probe) = step("probe: {udp: gw, listener: udp, send: x, expect: noAnswer}").verb else {
        panic!("not a probe")
    };
    assert_eq!((probe.datagrams, probe.method, probe.path.as_str()), (true, None, "x"));
    assert_eq!((probe.answer, probe.target.listener.as_deref()), (Answer::NoAnswer, Some("udp")));
}

proptest::proptest! {
    /// Whatever the text, there is an answer and no panic.
    #[test]
    fn no_text_breaks_the_parser(text in "[ -~\n]{0,200}") {
        let _ = parse("a.yaml", &text, &vocabulary());
    }

    /// Any change of a line of a good manifest is answered without panic, too.
    #[test]
    fn no_change_breaks_the_parser(line in 0usize..14, with in "[ -~]{0,40}") {
        let mut lines = HEAD.lines().map(str::to_owned).collect::<Vec<_>>();
        lines[line] = with;
        let _ = parse("a.yaml", &lines.join("\n"), &Vocabulary::builtin());
    }
}

#[test]
fn clients_have_certificates_over_https() {
    let of = |client: &str| {
        let probe = step(&format!("probe: {{get: \"https://${{host}}/\", {client}expect: {{backend: echo}}}}"));
        let Verb::Probe(probe) = probe.verb else { panic!("not a probe") };
        probe.client
    };
    let certificate = |authority: &str, expired, chain| {
        Some(ClientCertificate { authority: authority.to_owned(), expired, future: false, asked: false, chain })
    };
    assert_eq!(of(""), None);
    assert_eq!(of("client: {}, "), certificate("ca", false, Chain::Direct));
    assert_eq!(of("client: {authority: stranger, expired: true}, "), certificate("stranger", true, Chain::Direct));
    let to_come = certificate("ca", false, Chain::Direct).map(|one| ClientCertificate { future: true, ..one });
    assert_eq!(of("client: {future: true}, "), to_come);
    let asked = certificate("ca", false, Chain::Direct).map(|one| ClientCertificate { asked: true, ..one });
    assert_eq!(of("client: {asked: true}, "), asked);
    assert_eq!(of("client: {chain: whole}, "), certificate("ca", false, Chain::Whole));
    assert_eq!(of("client: {chain: cut}, "), certificate("ca", false, Chain::Cut));
}

#[test]
fn certificates_cannot_be_over_and_to_come() {
    let probe = "probe: {get: \"https://${host}/\", client: {expired: true, future: true}, expect: {backend: echo}}";
    let found = problems(&with(probe));
    assert!(found.iter().any(|(_, found, _)| found == "`expired` beside `future`"), "{found:#?}");
}

#[rstest]
#[case("get: \"http://${host}/\"", "nobody asks for a certificate over plain HTTP")]
#[case("get: \"https://${host}/\", over: kept", "`over` beside `client`")]
#[case("tls: gw", "`client` has no meaning over TLS")]
fn clients_have_no_certificates_elsewhere(#[case] probe: &str, #[case] message: &str) {
    let found = problems(&with(&format!("probe: {{{probe}, client: {{}}, expect: {{backend: echo}}}}")));
    assert!(found.iter().any(|(_, found, _)| found == message), "{found:#?}");
}

#[test]
fn turns_and_what_a_handshake_lacks_are_read() {
    let read = |text: &str| match step(text).verb {
        Verb::Probe(probe) => probe,
        _ => panic!("not a probe"),
    };
    let ended = read("probe: {tcp: gw, halfClose: true, expect: {backend: echo}}");
    assert_eq!((ended.half_close, ended.idle), (true, None));
    let idle = read("probe: {tcp: gw, idle: 2s, bodyBytes: 9, expect: {backend: echo}}");
    assert_eq!((idle.half_close, idle.idle, idle.body.len()), (false, Some(2000), 9));
    let halved = read("probe: {tls: gw, sni: a.test, inTwo: true, expect: {backend: echo}}");
    assert_eq!((idle.in_two, halved.in_two), (false, true));
    let split = read("probe: {tls: gw, sni: a.test, twoRecords: true, expect: {backend: echo}}");
    assert_eq!((halved.two_records, split.two_records, split.in_two), (false, true, false));
    let bare = read("probe: {get: \"https://${host}/\", without: [alpn, sni], expect: {backend: echo}}");
    assert_eq!(bare.without, [Extension::Sni, Extension::Alpn]);
    let whole = read("probe: {get: \"http://${host}/\", absolute: true, expect: {backend: echo}}");
    assert_eq!((bare.absolute, whole.absolute), (false, true));
    let by_header = read("probe: {grpc: \"http://${host}/a.B/C\", hostHeader: true, expect: {backend: echo}}");
    assert_eq!((whole.host_header, by_header.host_header), (false, true));
    let many = read("probe: {udp: gw, flows: 3, expect: {backend: echo}}");
    assert_eq!((many.flows, by_header.flows), (Some(3), None));
    let nothing = read("probe: {udp: gw, empty: true, expect: {backend: echo}}");
    assert_eq!((many.empty, nothing.empty), (false, true));
    let greeted =
        "probe: {websocket: \"http://${host}/ws?greets=1\", expect: {status: 101, replies: [greeting, text]}}";
    assert_eq!(read(greeted).messages, Some(vec![Message::Greeting, Message::Text]));
    let noted = "probe: {get: \"http://${host}/\", expect: {backend: echo, noted: {echo: {proto: HTTP/2.0}}}}";
    let Answer::Http(seen) = read(noted).answer else { panic!("not an answer of HTTP") };
    assert_eq!(seen.noted["echo"].proto.as_deref(), Some("HTTP/2.0"));
}

#[test]
fn what_handshakes_agree_on_is_read() {
    let read = |text: &str| match step(text).verb {
        Verb::Probe(probe) => probe,
        _ => panic!("not a probe"),
    };
    let request = read("probe: {get: \"https://${host}/\", alpn: [h2, http/1.1], expect: {backend: echo, alpn: h2}}");
    let Answer::Http(seen) = &request.answer else { panic!("not HTTP") };
    assert_eq!((request.alpn.join(","), seen.alpn.join(",")), ("h2,http/1.1".to_owned(), "h2".to_owned()));
    let stream = read("probe: {tls: gw, alpn: [a, b], expect: {backend: echo, alpn: [b, none]}}");
    let Answer::TlsBackend { alpn, .. } = &stream.answer else { panic!("not TLS") };
    assert_eq!((stream.alpn.join(","), alpn.join(",")), ("a,b".to_owned(), "b,none".to_owned()));
    let seen = read("probe: {tls: gw, sni: a.test, expect: {backend: echo, seen: {tls: b.test}}}");
    let Answer::TlsBackend { server_name, .. } = &seen.answer else { panic!("not TLS") };
    assert_eq!(server_name.as_deref(), Some("b.test"));
    let shaken = read("probe: {tls: gw, sni: a.test, expect: {certificate: a.test}}");
    let Answer::TlsBackend { backend, certificate, .. } = &shaken.answer else { panic!("not TLS") };
    assert_eq!((backend, certificate.as_deref()), (&None, Some("a.test")));
    let own = read("probe: {get: \"https://${host}/\", http2: true, expect: {backend: echo, alpn: h2}}");
    assert_eq!(own.alpn, [""; 0]);
    assert_eq!((own.tls_version, own.session), (None, None));
    let old = read("probe: {tls: gw, sni: a.test, tlsVersion: \"1.2\", expect: {backend: echo}}");
    assert_eq!((old.tls_version, old.session), (Some(TlsVersion::V1_2), None));
    let again = read("probe: {get: \"https://${host}/\", session: first, tlsVersion: \"1.3\", expect: noAnswer}");
    assert_eq!((again.tls_version, again.session.as_deref()), (Some(TlsVersion::V1_3), Some("first")));
}

#[rstest]
#[case("get: \"http://${host}/\", alpn: [h2]", "{backend: echo}", "there is no handshake over plain HTTP")]
#[case("get: \"http://${host}/\"", "{backend: echo, alpn: h2}", "nothing is agreed on over plain HTTP")]
#[case("get: \"https://${host}/\", alpn: []", "{backend: echo}", "no protocol is named")]
#[case("get: \"https://${host}/\", alpn: [\"\"]", "{backend: echo}", "has 1 to 255 bytes, and this one 0")]
#[case("get: \"https://${host}/\", alpn: [h2], without: [alpn]", "{backend: echo}", "`alpn` beside `without: [alpn]`")]
#[case("get: \"https://${host}/\", alpn: [h2], over: kept", "{backend: echo}", "`alpn` beside `over`")]
#[case(
    "get: \"https://${host}/\", alpn: [http/1.1], http2: true",
    "{backend: echo}",
    "by ALPN that HTTP/2 is agreed on"
)]
#[case("get: \"https://${host}/\", alpn: [none, h2]", "{backend: echo}", "`none` is no protocol")]
#[case("get: \"https://${host}/\", alpn: [h2, http/1.1, h2]", "{backend: echo}", "`h2` is named twice")]
#[case("websocket: \"https://${host}/ws\", alpn: [h2]", "{status: 101}", "a WebSocket begins over HTTP/1.1")]
#[case("get: \"https://${host}/\"", "{backend: echo, alpn: h2}", "`h2` cannot be agreed on")]
#[case("get: \"https://${host}/\"", "{backend: echo, alpn: []}", "no protocol is named")]
#[case("get: \"https://${host}/\"", "{backend: echo, alpn: [none, http/1.1]}", "whatever is agreed on")]
#[case("tls: gw", "{backend: echo, alpn: imap}", "`imap` cannot be agreed on")]
#[case("tls: gw", "{backend: echo, trusted: ca}", "a matter of the name that is asked for")]
#[case("get: \"https://${host}/\", over: kept", "{backend: echo, trusted: ca}", "`over` beside `trusted`")]
#[case("get: \"http://${host}/\"", "{backend: echo, trusted: ca}", "no certificate is presented over plain HTTP")]
#[case("tcp: gw", "{backend: echo, trusted: ca}", "`trusted` has no meaning over TCP")]
#[case("tcp: gw", "{backend: echo, seen: {tls: a.test}}", "`seen` has no meaning over TCP")]
#[case("tls: gw", "{backend: echo, seen: {path: /}}", "`path` is not seen of a stream")]
#[case("tls: gw", "{backend: echo, seen: {client: a.test}}", "`client` is not seen of a stream")]
#[case("tls: gw", "{trusted: ca}", "nothing says who answers")]
#[case("tls: gw", "{certificate: a.test, seen: {tls: a.test}}", "what no backend has answered")]
#[case("tcp: gw", "{}", "nothing says which backend answers")]
#[case("udp: gw", "{}", "nothing says which backend answers")]
#[case("tls: gw", "{backend: echo, seen: {tls: none}}", "no backend tells of a stream in clear text")]
#[case("tcp: gw, alpn: [h2]", "{backend: echo}", "`alpn` has no meaning over TCP")]
#[case("tcp: gw", "{backend: echo, alpn: h2}", "`alpn` has no meaning over TCP")]
#[case("udp: gw, alpn: [h2]", "noAnswer", "`alpn` has no meaning over UDP")]
#[case("get: \"http://${host}/\", tlsVersion: \"1.2\"", "{backend: echo}", "`tlsVersion` is for TLS")]
#[case("tcp: gw, session: first", "{backend: echo}", "`session` is for TLS")]
#[case("udp: gw, tlsVersion: \"1.3\"", "noAnswer", "`tlsVersion` is for TLS")]
#[case("get: \"https://${host}/\", session: first, over: kept", "{backend: echo}", "`session` beside `over`")]
#[case(
    "get: \"https://${host}/\", session: first, client: {asked: true}",
    "{backend: echo}",
    "`asked` beside `session`"
)]
#[case("tls: gw, sni: \"exa mple\"", "refused", "no client asks for \"exa mple\"")]
#[case("tls: gw, sni: \"\"", "refused", "no client asks for \"\"")]
#[case("tls: gw, sni: \"*.${host}\"", "refused", "no client asks for \"*.${host}\"")]
#[case("tls: gw, sni: \"10.0.0.1\"", "refused", "no client asks for \"10.0.0.1\"")]
fn handshakes_that_cannot_be_are_refused(#[case] probe: &str, #[case] expect: &str, #[case] message: &str) {
    let found = problems(&with(&format!("probe: {{{probe}, expect: {expect}}}")));
    assert!(found.iter().any(|(_, problem, _)| problem.contains(message)), "{found:?}");
}

#[rstest]
#[case::host("backend.example", true)]
#[case::wildcard("*.backend.example", true)]
#[case::uri("spiffe://backend.example/part", true)]
#[case::words("not a host", false)]
#[case::words_of_a_uri("spiffe:// bad", false)]
#[case::other_letters("é.example", false)]
#[case::address("10.0.0.1", false)]
#[case::wildcard_below("a.*.example", false)]
fn certificates_are_for_hosts_and_uris(#[case] name: &str, #[case] is_right: bool) {
    let backend = format!("backends: [{{name: echo, tls: {{names: [{name:?}]}}}}]");
    let text = with("delete: [HTTPRoute/route]").replacen("backends: [echo]", &backend, 1);
    assert!(text.contains(&backend), "{text}");
    let found = problems(&text);
    assert_eq!(found.iter().any(|(_, problem, _)| problem.contains("no certificate is for")), !is_right, "{found:?}");
}

#[test]
fn names_of_protocols_are_as_long_as_a_handshake_has_room_for() {
    for (length, is_right) in [(255, true), (256, false)] {
        let name = "a".repeat(length);
        let text = format!("probe: {{get: \"https://${{host}}/\", alpn: [{name}], expect: {{backend: echo}}}}");
        let is_reported = problems(&with(&text)).iter().any(|(_, problem, _)| problem.contains("1 to 255 bytes"));
        assert_eq!(is_reported, !is_right, "{length}");
    }
}

#[rstest]
#[case("probe: {udp: gw, halfClose: true, expect: noAnswer}", "`halfClose` is for TCP and TLS")]
#[case("probe: {get: \"http://${host}/\", idle: 2s, expect: {backend: echo}}", "`idle` is for TCP and TLS")]
#[case(
    "probe: {tcp: gw, listens: true, idle: 2s, bodyBytes: 9, expect: refused}",
    "`idle` has no meaning for who listens"
)]
#[case("probe: {tcp: gw, idle: 2s, expect: {backend: echo}}", "nothing is sent behind `idle`")]
#[case("probe: {tcp: gw, idle: soon, bodyBytes: 9, expect: {backend: echo}}", "not a time")]
#[case(
    "probe: {tcp: gw, halfClose: true, idle: 2s, bodyBytes: 9, expect: {backend: echo}}",
    "`idle` beside `halfClose`"
)]
#[case("probe: {tcp: gw, halfClose: true, send: a, expect: {backend: echo}}", "`send` beside `halfClose`")]
#[case("probe: {tcp: gw, without: [sni], expect: {backend: echo}}", "`without` has no meaning over TCP")]
#[case("probe: {tcp: gw, inTwo: true, expect: {backend: echo}}", "`inTwo` is for streams within TLS")]
#[case("probe: {get: \"https://${host}/\", inTwo: true, expect: {backend: echo}}", "`inTwo` is for streams within TLS")]
#[case("probe: {tcp: gw, twoRecords: true, expect: {backend: echo}}", "`twoRecords` is for streams within TLS")]
#[case(
    "probe: {get: \"http://${host}/\", without: [sni], expect: {backend: echo}}",
    "there is no handshake over plain HTTP"
)]
#[case(
    "probe: {get: \"https://${host}/\", http2: true, without: [alpn], expect: {backend: echo}}",
    "it is by ALPN that HTTP/2 is agreed on"
)]
#[case("probe: {tcp: gw, absolute: true, expect: {backend: echo}}", "`absolute` has no meaning over TCP")]
#[case(
    "probe: {get: \"http://${host}/\", http2: true, absolute: true, expect: {backend: echo}}",
    "`absolute` has no meaning over HTTP/2"
)]
#[case(
    "probe: {put: \"http://${host}/\", headers: {expect: 100-Continue}, body: a, over: kept, expect: {backend: echo}}",
    "`over` beside a body that waits"
)]
#[case(
    "probe: {put: \"http://${host}/\", headers: {Expect: 100-continue}, bodyBytes: 9, http2: true, expect: {backend: echo}}",
    "over HTTP/2 a body waits for nobody"
)]
#[case("probe: {tcp: gw, hostHeader: true, expect: {backend: echo}}", "`hostHeader` has no meaning over TCP")]
#[case("probe: {get: \"http://${host}/\", hostHeader: true, expect: {backend: echo}}", "`hostHeader` is for HTTP/2")]
#[case(
    "probe: {get: \"https://${host}/\", http2: true, hostHeader: true, expect: {backend: echo}}",
    "`hostHeader` is for requests in clear text"
)]
#[case(
    "probe: {grpc: \"http://${host}/a.B/C\", headers: {host: a.test}, hostHeader: true, expect: {backend: echo}}",
    "a header `Host` beside `hostHeader`"
)]
#[case("probe: {tcp: gw, flows: 2, expect: {backend: echo}}", "`flows` is for UDP")]
#[case("probe: {get: \"http://${host}/\", flows: 2, expect: {backend: echo}}", "`flows` is for UDP")]
#[case("probe: {udp: gw, flows: 2, expect: noAnswer}", "`flows` without a backend that answers them")]
#[case("probe: {udp: gw, flows: 2, expect: {shares: {echo: 1}}}", "`flows` without a backend that answers them")]
#[case(
    "probe: {put: \"http://${host}/\", headers: {content-length: \"3\"}, http2: true, expect: {status: 400}}",
    "`Content-Length` over HTTP/2"
)]
#[case(
    "probe: {grpc: \"http://${host}/a.B/C\", headers: {Content-Length: \"3\"}, expect: {backend: echo}}",
    "`Content-Length` over HTTP/2"
)]
#[case(
    "probe: {put: \"http://${host}/\", headers: {Content-Length: [\"3\", \"4\"]}, over: kept, expect: {status: 400}}",
    "`over` beside `Content-Length`"
)]
#[case(
    "probe: {put: \"https://${host}/\", headers: {Content-Length: \"\"}, alpn: [h2, http/1.1], expect: {status: 400}}",
    "`alpn` beside `Content-Length`"
)]
#[case(
    "probe: {put: \"http://${host}/\", headers: {Content-Length: \"3\", Transfer-Encoding: chunked}, trailers: {a: b}, expect: {status: 400}}",
    "`trailers` beside `Content-Length`"
)]
#[case(
    "probe: {websocket: \"http://${host}/ws\", headers: {Content-Length: \"3\"}, expect: {status: 400}}",
    "`websocket` beside `Content-Length`"
)]
#[case(
    "probe: {put: \"http://${host}/\", headers: {Content-Length: \"3\", Expect: 100-continue}, body: abc, expect: {status: 400}}",
    "`Expect` beside `Content-Length`"
)]
#[case("probe: {tcp: gw, empty: true, expect: {backend: echo}}", "`empty` is for UDP")]
#[case("probe: {get: \"http://${host}/\", empty: true, expect: {backend: echo}}", "`empty` is for UDP")]
#[case("probe: {udp: gw, empty: true, expect: noAnswer}", "`empty` without a backend that answers")]
#[case("probe: {udp: gw, empty: true, expect: {shares: {echo: 1}}}", "`empty` without a backend that answers")]
#[case("probe: {udp: gw, empty: true, send: a, expect: {backend: echo}}", "`send` beside `empty`")]
#[case("probe: {udp: gw, empty: true, bodyBytes: 9, expect: {backend: echo}}", "`bodyBytes` beside `empty`")]
#[case("probe: {udp: gw, empty: true, flows: 2, expect: {backend: echo}}", "`flows` beside `empty`")]
#[case(
    "probe: {websocket: \"http://${host}/ws\", expect: {status: 101, replies: [greeting]}}",
    "nothing has the backend greet"
)]
#[case(
    "probe: {websocket: \"http://${host}/ws?greets=1\", expect: {status: 101, replies: [text]}}",
    "the backend greets first"
)]
#[case(
    "probe: {websocket: \"http://${host}/ws?greets=1\", expect: {status: 101, replies: [text, greeting]}}",
    "a greeting comes before anything is sent"
)]
#[case("probe: {tcp: gw, trailers: {a: b}, expect: {backend: echo}}", "`trailers` has no meaning over TCP")]
#[case(
    "probe: {put: \"http://${host}/\", trailers: {a: b}, body: c, expect: {backend: echo}}",
    "`trailers` behind a body whose length is told"
)]
#[case(
    "probe: {grpc: \"http://${host}/a.B/C\", headers: {Transfer-Encoding: chunked}, trailers: {a: b}, expect: {backend: echo}}",
    "`trailers` beside messages"
)]
fn turns_that_cannot_be_taken_are_refused(#[case] text: &str, #[case] message: &str) {
    let found = problems(&with(text));
    assert!(found.iter().any(|(_, problem, _)| problem.contains(message)), "{found:?}");
}

#[test]
fn trailers_have_a_line_for_each_value() {
    let probe = "probe: {put: \"http://${host}/\", headers: {transfer-encoding: chunked}, trailers: {X-Late: [a, b], x-more: c}, expect: {backend: echo}}";
    let Verb::Probe(probe) = step(probe).verb else { panic!("not a probe") };
    let trailers: Vec<_> = probe.trailers.iter().map(|(name, values)| format!("{name}={}", values.join("+"))).collect();
    assert_eq!(trailers, ["X-Late=a+b", "x-more=c"]);
}
