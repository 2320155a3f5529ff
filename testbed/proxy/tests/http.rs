//! HTTP through the proxy: which backend answers, and what the proxy answers by itself.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::*;
use gateproof_echo::Protocol as EchoProtocol;
use gateproof_proxy::config::*;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn routes_by_host_and_path() {
    let bed = Bed::new(&["one", "two", "three"]).await;
    let mut second = route("second", vec![bed.backend(1)]);
    second.matches = vec![prefix("/v2")];
    let mut only_host = route("only-host", vec![bed.backend(2)]);
    only_host.hostnames = vec![Hostname::parse("*.example.com")];
    let first = route("first", vec![bed.backend(0)]);
    let address = bed
        .apply(http(vec![
            host("*.example.com", vec![only_host, second.clone()]),
            host("foo.example.com", vec![first, second]),
        ]))
        .await;
    for (host, path, pod) in [
        ("foo.example.com", "/", "one"),
        ("foo.example.com:8080", "/v2/x?y=z", "two"),
        ("FOO.example.com", "/v2x", "one"),
        ("a.b.example.com", "/v2", "three"),
    ] {
        let answer = get(address, host, path).await.json();
        assert_eq!(
            (answer["pod"].as_str(), answer["path"].as_str(), answer["host"].as_str()),
            (Some(pod), Some(path), Some(host))
        );
    }
    for host in ["example.com", "other.org"] {
        assert_eq!(get(address, host, "/").await.status, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn a_listener_does_not_borrow_rules_of_a_less_specific_one() {
    let bed = Bed::new(&["one"]).await;
    let mut narrow = route("narrow", vec![bed.backend(0)]);
    narrow.matches = vec![prefix("/only")];
    let address = bed
        .apply(http(vec![host("", vec![route("wide", vec![bed.backend(0)])]), host("foo.example.com", vec![narrow])]))
        .await;
    assert_eq!(get(address, "foo.example.com", "/only").await.pod(), "one");
    assert_eq!(get(address, "foo.example.com", "/else").await.status, StatusCode::NOT_FOUND);
    assert_eq!(get(address, "bar.example.com", "/else").await.pod(), "one");
}

#[tokio::test]
async fn an_answer_says_what_it_was_told_and_no_more() {
    let bed = Bed::new(&[]).await;
    for (status, body) in [(410, "gone for good"), (201, "")] {
        let target = BackendTarget::Answer { status, body: body.to_owned() };
        let backend = Backend { target, ..failing(500, "never") };
        let address = bed.apply(http(vec![host("", vec![route("rule", vec![backend])])])).await;
        let answer = get(address, "foo.example.com", "/").await;
        assert_eq!((answer.status.as_u16(), answer.body.as_str()), (status, body));
    }
}

#[tokio::test]
async fn failures_say_which_rule_and_why() {
    let bed = Bed::new(&["one"]).await;
    let weightless = Backend { weight: 0, ..bed.backend(0) };
    let empty = Backend { target: BackendTarget::Endpoints(vec![]), ..bed.backend(0) };
    // Port 1 of the loopback address is reserved and never bound.
    let dead = Backend { target: BackendTarget::Endpoints(vec![([127, 0, 0, 1], 1).into()]), ..bed.backend(0) };
    for (backends, status, mention) in [
        (vec![failing(500, "no such Service")], 500, "test/gone: no such Service"),
        (vec![failing(503, "nobody is ready")], 503, "nobody is ready"),
        (vec![], 500, "no backend"),
        (vec![weightless], 500, "weight"),
        (vec![empty], 503, "no ready endpoints"),
        (vec![dead], 502, "refused"),
    ] {
        let address = bed.apply(rules(vec![route("rule", backends)])).await;
        let answer = get(address, "example.com", "/").await;
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        assert!(answer.body.contains("test/rule rule 0") && answer.body.contains(mention), "{}", answer.body);
    }
}

#[tokio::test]
async fn weights_decide_shares_even_where_a_backend_fails() {
    let bed = Bed::new(&["one", "two"]).await;
    let weighted = |backend, weight| Backend { weight, ..backend };
    let backends =
        vec![weighted(bed.backend(0), 7), weighted(bed.backend(1), 0), weighted(failing(500, "not granted"), 3)];
    let address = bed.apply(rules(vec![route("rule", backends)])).await;
    let mut client = Client::connect(address).await;
    let (mut ok, mut failed) = (0, 0);
    for _ in 0..200 {
        let answer = client.get("example.com", "/").await.unwrap();
        match answer.status.as_u16() {
            200 if answer.pod() == "one" => ok += 1,
            500 => failed += 1,
            _ => panic!("{answer:?}"),
        }
    }
    assert!((135..=145).contains(&ok) && ok + failed == 200, "{ok} answered, {failed} failed");
}

#[tokio::test]
async fn endpoints_of_a_backend_take_turns() {
    let bed = Bed::new(&["one", "two"]).await;
    let target = BackendTarget::Endpoints(bed.echoes.iter().map(|echo| echo.addr()).collect());
    let address = bed.apply(rules(vec![route("rule", vec![Backend { target, ..bed.backend(0) }])])).await;
    let first = get(address, "example.com", "/").await.pod();
    let second = get(address, "example.com", "/").await.pod();
    assert_ne!(first, second);
}

#[tokio::test]
async fn bodies_and_heads_pass_unaltered() {
    let bed = Bed::new(&["one"]).await;
    let address = bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    let body = Bytes::from(vec![b'x'; 300_000]);
    let request = Request::post("/up%20load//x?q=%2F&r")
        .header("Host", "example.com")
        .header("X-Gateproof-Request", "upload")
        .header("X-Forwarded-For", "10.0.0.1")
        .header("Connection", "close, X-Private")
        .header("X-Private", "secret")
        .header("X-Two", "a")
        .header("X-Two", "b")
        .header("X-Echo-Set-Header", "X-Back:1,X-Back:2,Keep-Alive:5")
        .body(Full::new(body.clone()))
        .unwrap();
    let answer = send(address, request).await;
    assert_eq!(answer.header("x-back"), ["1,2"]);
    assert_eq!(answer.header("keep-alive"), [""; 0]);
    let json = answer.json();
    assert_eq!(json["path"], "/up%20load//x?q=%2F&r");
    assert_eq!(json["method"], "POST");
    assert_eq!(json["headers"]["X-Two"], serde_json::json!(["a", "b"]));
    assert_eq!(json["headers"]["X-Forwarded-For"], serde_json::json!(["10.0.0.1, 127.0.0.1"]));
    assert_eq!(json["headers"]["X-Forwarded-Proto"], serde_json::json!(["http"]));
    assert!(json["headers"].get("X-Private").is_none() && json["headers"].get("Connection").is_none(), "{json}");
    let records = bed.journal.of_request("upload");
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].body_length, 300_000);
}

#[tokio::test]
async fn both_versions_of_http_on_both_sides() {
    let bed = Bed::new(&["one"]).await;
    let h2c = Backend { target: BackendTarget::H2cEndpoints(vec![bed.echoes[0].addr()]), ..bed.backend(0) };
    let mut over_h2c = route("h2c", vec![h2c]);
    over_h2c.matches = vec![prefix("/h2c")];
    let address = bed.apply(rules(vec![over_h2c, route("http1", vec![bed.backend(0)])])).await;
    for (path, proto) in [("/h2c?x=y", "HTTP/2.0"), ("/http1?x=y", "HTTP/1.1")] {
        let stream = TcpStream::connect(address).await.unwrap();
        let by_h2 = h2_get(stream, &format!("http://example.com{path}")).await.json();
        let by_http1 = get(address, "example.com", path).await.json();
        for json in [by_h2, by_http1] {
            assert_eq!((json["proto"].as_str(), json["host"].as_str()), (Some(proto), Some("example.com")));
            assert_eq!(json["path"], path);
        }
    }
}

#[tokio::test]
async fn a_request_without_a_clear_host_is_refused() {
    let bed = Bed::new(&["one"]).await;
    let address = bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    for head in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 400");
    }
}

#[tokio::test]
async fn a_slow_backend_meets_the_timeout() {
    let bed = Bed::new(&["one"]).await;
    let mut rule = route("rule", vec![bed.backend(0)]);
    rule.timeouts =
        Timeouts { request: Some(Duration::from_secs(30)), backend_request: Some(Duration::from_millis(50)) };
    let address = bed.apply(rules(vec![rule])).await;
    assert_eq!(get(address, "example.com", "/?delay=30s").await.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(get(address, "example.com", "/").await.status, StatusCode::OK);
}

#[tokio::test]
async fn an_upgrade_becomes_a_tunnel() {
    let bed = Bed::new(&[]).await;
    let listener = tokio::net::TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let target = BackendTarget::Endpoints(vec![listener.local_addr().unwrap()]);
    let backend = Backend { id: "test/ws".to_owned(), weight: 1, target, filters: vec![] };
    let address = bed.apply(rules(vec![route("rule", vec![backend])])).await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let switch = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
        stream.write_all(switch.as_bytes()).await.unwrap();
        let mut ping = [0; 4];
        stream.read_exact(&mut ping).await.unwrap();
        stream.write_all(b"pong").await.unwrap();
        (String::from_utf8(head).unwrap().to_ascii_lowercase(), ping)
    });
    let upgrade = request("example.com", "/ws", &[("Connection", "Upgrade"), ("Upgrade", "websocket")]);
    let response = Client::connect(address).await.send(upgrade).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    assert_eq!(response.headers()["upgrade"], "websocket");
    let mut tunnel = hyper_util::rt::TokioIo::new(hyper::upgrade::on(response).await.unwrap());
    tunnel.write_all(b"ping").await.unwrap();
    let mut pong = [0; 4];
    tunnel.read_exact(&mut pong).await.unwrap();
    let (head, ping) = server.await.unwrap();
    assert_eq!((&ping, &pong), (b"ping", b"pong"));
    assert!(head.contains("upgrade: websocket"), "{head}");
}

#[tokio::test]
async fn a_response_is_streamed_as_it_comes() {
    let bed = Bed::new(&[]).await;
    let listener = tokio::net::TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let target = BackendTarget::Endpoints(vec![listener.local_addr().unwrap()]);
    let backend = Backend { id: "test/slow".to_owned(), weight: 1, target, filters: vec![] };
    let address = bed.apply(rules(vec![route("rule", vec![backend])])).await;
    let (finish, finished) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n").await.unwrap();
        finished.await.unwrap();
        stream.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
    });
    let response = Client::connect(address).await.send(request("example.com", "/", &[])).await.unwrap();
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    finish.send(()).unwrap();
    let rest = body.collect().await.unwrap().to_bytes();
    assert_eq!((first.as_ref(), rest.as_ref()), (&b"one"[..], &b"two"[..]));
    server.await.unwrap();
}

#[tokio::test]
async fn a_backend_that_moves_is_followed() {
    let mut bed = Bed::new(&["one"]).await;
    let address = bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    let mut client = Client::connect(address).await;
    assert_eq!(client.get("example.com", "/").await.unwrap().pod(), "one");
    let moved = start("moved", EchoProtocol::Http, &bed.journal).await;
    bed.echoes.remove(0).shutdown().await;
    bed.echoes.push(moved);
    bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    assert_eq!(client.get("example.com", "/").await.unwrap().pod(), "moved");
}

/// Trailers get to who has said that they are taken, and to nobody else.
#[tokio::test]
async fn what_stands_around_an_answer_does_not_break_it() {
    let bed = Bed::new(&["one"]).await;
    let address = bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    let mut client = Client::connect(address).await;
    for (headers, late) in [(&[][..], None), (&[("te", "trailers")][..], Some("1"))] {
        let asks = request("example.com", "/?hints=1&chunked=1&trailer=x-late:1", headers);
        let response = client.send(asks).await.unwrap();
        assert_eq!(response.status(), 200);
        let body = response.into_body().collect().await.unwrap();
        let found = body.trailers().and_then(|trailers| trailers.get("x-late")).map(|value| value.to_str().unwrap());
        assert_eq!(found, late);
        assert!(String::from_utf8(body.to_bytes().to_vec()).unwrap().contains("\"pod\":\"one\""));
    }
}

#[tokio::test]
async fn a_request_follows_the_trailers_of_another() {
    let bed = Bed::new(&["one"]).await;
    let address = bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let put = "PUT / HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n3\r\none\r\n0\r\nX-Late: 1\r\n\r\n";
    let get = "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";
    stream.write_all(format!("{put}{get}").as_bytes()).await.unwrap();
    let mut came = String::new();
    stream.read_to_string(&mut came).await.unwrap();
    let told = ["HTTP/1.1 200 OK", "\"bodyLength\":3,", "\"bodyLength\":0,"].map(|text| came.matches(text).count());
    assert_eq!(told, [2, 1, 1], "{came}");
}

/// The server that reads it would refuse it, too, and not say why; of a length beside chunks it would say nothing.
#[tokio::test]
async fn who_contradicts_himself_is_told_so_in_whichever_pieces_it_comes() {
    let bed = Bed::new(&["one"]).await;
    let address = bed.apply(rules(vec![route("rule", vec![bed.backend(0)])])).await;
    let get = "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n";
    let differ = "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhello";
    let beside = "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    for (before, sent, told) in [
        ("", differ, "HTTP/1.1 400 Bad Request"),
        (get, differ, "the request has lengths that differ"),
        ("", beside, "HTTP/1.1 200 OK"),
        (get, beside, "\"bodyLength\":5,"),
    ] {
        // Not within the body: who is refused need not wait for that.
        for at in 1..sent.find("\r\n\r\n").unwrap() + 4 {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            for piece in [&[before, &sent[..at]].concat(), &sent[at..]] {
                stream.write_all(piece.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
            let mut came = String::new();
            stream.read_to_string(&mut came).await.unwrap();
            let answers = came.matches("HTTP/1.1 ").count();
            assert!(came.contains(told) && answers == 1 + usize::from(!before.is_empty()), "cut at {at}: {came}");
        }
    }
}
