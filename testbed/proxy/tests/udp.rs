//! Datagrams through the proxy.
#![allow(clippy::unwrap_used)]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use common::*;
use gateproof_echo::Protocol as EchoProtocol;
use gateproof_proxy::Chain;
use gateproof_proxy::config::*;
use gateproof_proxy::exchange::{Connection, Exchange, Passage, TcpChoice, Way};
use tokio::net::{TcpStream, UdpSocket};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

fn udp(targets: &[(u32, TcpTarget)]) -> Config {
    let backends = targets
        .iter()
        .map(|(weight, target)| TcpBackend { id: "test/udp".to_owned(), weight: *weight, target: target.clone() })
        .collect();
    Config { listeners: vec![listener(Protocol::Udp(UdpListener { backends }))], ..Config::default() }
}

fn to(addresses: &[SocketAddr]) -> TcpTarget {
    TcpTarget::Endpoints(addresses.to_vec())
}

async fn client(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(address).await.unwrap();
    socket
}

/// Sends a datagram and returns what comes back, without the line of the backend, and who that is. A connected socket hears
/// nobody but whom it is connected to.
async fn ask(socket: &UdpSocket, sent: &[u8]) -> (String, Vec<u8>) {
    socket.send(sent).await.unwrap();
    let mut answer = vec![0; 65_535];
    let length = socket.recv(&mut answer).await.unwrap();
    let end = answer.iter().position(|byte| *byte == b'\n').unwrap();
    let line: serde_json::Value = serde_json::from_slice(&answer[..end]).unwrap();
    (line["pod"].as_str().unwrap().to_owned(), answer[end + 1..length].to_vec())
}

#[tokio::test]
async fn every_datagram_of_a_flow_goes_to_one_backend_and_its_answer_back() {
    let bed = Bed::new(&[]).await;
    let one = start("one", EchoProtocol::Udp, &bed.journal).await;
    let two = start("two", EchoProtocol::Udp, &bed.journal).await;
    let address = bed.apply(udp(&[(1, to(&[one.addr(), two.addr()]))])).await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..4 {
        let socket = client(address).await;
        let (first, _) = ask(&socket, b"id 0").await;
        for datagram in [&b""[..], b"id 1\n\xff\0", &[b"id 2\n", &[b'z'; 60_000][..]].concat()] {
            assert_eq!(ask(&socket, datagram).await, (first.clone(), datagram.to_vec()));
            if datagram.is_empty() {
                assert_eq!(socket.recv(&mut [0; 9]).await.unwrap(), 0, "it is answered as it came, too");
            }
        }
        seen.insert(first);
    }
    assert_eq!(seen.len(), 2, "endpoints take turns");
}

/// Tells of every flow that is drawn a backend for, or none.
struct Tells(UnboundedSender<TcpChoice>);

impl Exchange for Tells {
    fn on_udp(&self, _: &Connection, drawn: TcpChoice) -> TcpChoice {
        self.0.send(drawn.clone()).unwrap();
        drawn
    }
}

#[tokio::test]
async fn what_has_no_backend_is_dropped_and_a_new_configuration_counts_for_flows_that_are_there() {
    let (tells, mut told) = unbounded_channel();
    let bed = Bed::with_exchange(&[], Arc::new(Chain(vec![Arc::new(Tells(tells))]))).await;
    let one = start("one", EchoProtocol::Udp, &bed.journal).await;
    let two = start("two", EchoProtocol::Udp, &bed.journal).await;
    let refuse = TcpTarget::Refuse { reason: "no such Service".to_owned() };
    let dead = to(&[([127, 0, 0, 1], 1).into()]);
    for nothing in [vec![(1, refuse)], vec![], vec![(0, to(&[one.addr()]))], vec![(1, to(&[]))], vec![(1, dead)]] {
        let address = bed.apply(udp(&nothing)).await;
        let socket = client(address).await;
        while told.try_recv().is_ok() {}
        socket.send(b"lost").await.unwrap();
        told.recv().await.unwrap();
        // That it was dropped shows in that the answer to the next one, sent when there is a backend, comes first.
        bed.apply(udp(&[(1, to(&[two.addr()]))])).await;
        assert_eq!(ask(&socket, b"heard").await, ("two".to_owned(), b"heard".to_vec()));
        bed.apply(udp(&[(1, to(&[one.addr()]))])).await;
        assert_eq!(ask(&socket, b"moved").await, ("one".to_owned(), b"moved".to_vec()));
        bed.proxy.apply(Config::default()).await;
        assert!(std::net::UdpSocket::bind(address).is_ok(), "the port is free");
    }
    assert!(!bed.journal.of_request("heard").is_empty());
}

/// Puts a byte behind what backends get.
struct Adds(u8);

impl Exchange for Adds {
    fn on_datagram(&self, _: &Connection, way: Way, datagram: &[u8]) -> Passage {
        if way == Way::There { Passage::As([datagram, &[self.0]].concat()) } else { Passage::Pass }
    }
}

#[tokio::test]
async fn each_behaviour_works_on_what_the_one_before_it_made() {
    let bed = Bed::with_exchange(&[], Arc::new(Chain(vec![Arc::new(Adds(b'1')), Arc::new(Adds(b'2'))]))).await;
    let one = start("one", EchoProtocol::Udp, &bed.journal).await;
    let address = bed.apply(udp(&[(1, to(&[one.addr()]))])).await;
    assert_eq!(ask(&client(address).await, b"id").await.1, b"id12");
}

#[tokio::test]
async fn weights_decide_shares_of_flows() {
    let bed = Bed::new(&[]).await;
    let one = start("one", EchoProtocol::Udp, &bed.journal).await;
    let two = start("two", EchoProtocol::Udp, &bed.journal).await;
    let address = bed.apply(udp(&[(3, to(&[one.addr()])), (1, to(&[two.addr()]))])).await;
    let mut answered = 0;
    for _ in 0..80 {
        answered += usize::from(ask(&client(address).await, b"id").await.0 == "one");
    }
    assert!((56..=64).contains(&answered), "{answered} of 80");
}

#[tokio::test]
async fn the_same_port_of_tcp_is_another() {
    let bed = Bed::new(&[]).await;
    let one = start("one", EchoProtocol::Udp, &bed.journal).await;
    let mut config = udp(&[(1, to(&[one.addr()]))]);
    let beside = Listener { protocol: Protocol::Tcp(TcpListener::default()), ..config.listeners[0].clone() };
    config.listeners.push(beside);
    let outcome = bed.proxy.apply(config).await;
    assert_eq!((outcome.failures().count(), outcome.problems.len()), (0, 0), "{outcome:?}");
    let [stream, datagrams] = [0, 1].map(|index| *outcome.listeners[index].bound.as_ref().unwrap());
    assert!(TcpStream::connect(stream).await.is_ok());
    assert_eq!(ask(&client(datagrams).await, b"id").await.0, "one");
}

/// More clients than there is room for: the flow that was silent the longest makes way, and begins anew when it speaks again.
#[tokio::test]
async fn flows_are_bounded() {
    let bed = Bed::new(&[]).await;
    let one = start("one", EchoProtocol::Udp, &bed.journal).await;
    let address = bed.apply(udp(&[(1, to(&[one.addr()]))])).await;
    let first = client(address).await;
    ask(&first, b"first").await;
    // They stay, or a later one might have the address of an earlier one.
    let mut others = Vec::new();
    for _ in 0..gateproof_proxy::MOST_FLOWS {
        let other = client(address).await;
        ask(&other, b"id").await;
        others.push(other);
    }
    assert_eq!(ask(&first, b"first").await.0, "one");
    let peers: Vec<_> = bed.journal.of_request("first").iter().map(|record| record.peer).collect();
    assert_ne!(peers[0], peers[1], "the flow was ended between them");
}

#[tokio::test]
async fn what_changes_elsewhere_leaves_flows_alone() {
    let bed = Bed::new(&[]).await;
    let one = start("one", EchoProtocol::Udp, &bed.journal).await;
    let two = start("two", EchoProtocol::Udp, &bed.journal).await;
    let config = udp(&[(1, to(&[one.addr(), two.addr()]))]);
    let socket = client(bed.apply(config.clone()).await).await;
    let (first, _) = ask(&socket, b"id 0").await;
    for port in 1..4 {
        bed.apply(Config { silent: [("127.0.0.2".parse().unwrap(), port)].into(), ..config.clone() }).await;
        assert_eq!(ask(&socket, b"id 1").await.0, first, "endpoints would have taken turns");
    }
}
