//! One attempt over UDP: datagrams from one socket, one after the other, and what comes back for them. Several sockets do so at the
//! same time.
//!
//! Networks lose datagrams, so no single one counts: [`ENOUGH`] of up to [`MOST`] have to be answered.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures::future;
use tokio::net::UdpSocket;

use super::Prober;
use super::tcp::LONGEST_LINE;
use crate::cluster::clock;
use crate::cluster::dial::DialError;
use crate::log::{EchoText, Exchange, ProbeError, UdpEnd};

/// How many datagrams go out at most.
pub const MOST: usize = 8;

/// How many answers it takes. Then no more are sent.
pub const ENOUGH: usize = 4;

/// The next datagram goes out when the last is answered, or after this part of the budget. Answers that come later count too: where
/// somebody answers at all, more is waited for what is missing, so that slow is not taken for lost.
const PART: u32 = 50;

/// For how many such parts. Whoever was asked while a change arrived, and answered before it alone, must not use up what a data path
/// has to converge in, which may be as little as the budget of one request.
const MISSING: u32 = 12;
const _: () = assert!(2 * (MOST as u32 + MISSING) < PART);

/// How many different answers are kept. Each datagram has one, and some that come twice may have two; whoever sends more floods.
const DIFFERENT: usize = 2 * MOST;

/// The longest datagram there is.
const LONGEST: usize = 65_535;

/// A `single` datagram is waited for as the last one of several is; that a network has lost it cannot be told from silence.
pub(super) async fn attempt(
    prober: &Prober,
    mut exchange: Exchange,
    (host, port): (&str, u16),
    send: &str,
    (single, flows): (bool, u32),
) -> Exchange {
    let end = clock::now() + prober.budget;
    let opening = future::try_join_all((0..flows).map(|_| open(prober, host, port)));
    let opened = match tokio::time::timeout_at(end, opening).await {
        Ok(opened) => opened,
        Err(_) => Err(ProbeError::ConnectTimedOut),
    };
    let sockets = match opened {
        Ok(opened) => opened,
        Err(error) => {
            exchange.error = Some(error);
            return exchange;
        }
    };
    exchange.connected_to = sockets.first().map(|(_, to)| *to);
    // Each has texts of its own, so that an answer to another is none.
    let id = |flow: usize| if flows > 1 { format!("{} {flow}", exchange.id) } else { exchange.id.clone() };
    let talks = sockets.iter().enumerate().map(|(flow, (socket, _))| {
        let id = id(flow);
        async move { converse(socket, &id, send, prober.budget / PART, single).await }
    });
    match together(future::join_all(talks).await) {
        Ok(end) => exchange.udp = Some(end),
        Err(error) => exchange.error = Some(error),
    }
    exchange
}

/// What all flows came to: answers, if each was answered.
fn together(ends: Vec<Result<UdpEnd, ProbeError>>) -> Result<UdpEnd, ProbeError> {
    let ends = ends.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (mut all, mut unanswered, mut answered) = (Heard::default(), None, 0);
    for end in ends {
        match end {
            UdpEnd::Answered { lines, echo } => {
                answered += ENOUGH;
                lines.into_iter().for_each(|line| all.add_line(line));
                echo.into_iter().for_each(|echo| all.add_echo(echo));
            }
            UdpEnd::TooFew { answered: few } => {
                answered += few;
                unanswered = Some(UdpEnd::Silent);
            }
            end => unanswered = unanswered.or(Some(end)),
        }
    }
    Ok(match unanswered {
        None => UdpEnd::Answered { lines: all.lines, echo: all.echo },
        Some(end) if answered == 0 => end,
        Some(_) => UdpEnd::TooFew { answered },
    })
}

/// A socket that hears nobody but whom it sends to: answers from elsewhere are none.
async fn open(prober: &Prober, host: &str, port: u16) -> Result<(UdpSocket, SocketAddr), ProbeError> {
    let to = prober.dialer.datagrams(host, port).await.map_err(|error| match error {
        DialError::Unreachable(why) => ProbeError::Unreachable(why),
        DialError::NoRoute { to, why } => ProbeError::NoRoute { to, why: why.to_string() },
        DialError::Refused(why) => ProbeError::ConnectRefused(why.to_string()),
    })?;
    let ours = |error: io::Error| ProbeError::Unreachable(format!("{to}: {error}"));
    let any = match to {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any).await.map_err(ours)?;
    socket.connect(to).await.map_err(ours)?;
    Ok((socket, to))
}

/// What the datagrams came to so far.
#[derive(Default)]
struct Heard {
    answered: BTreeSet<usize>,
    is_refused: bool,
    lines: Vec<String>,
    echo: Vec<EchoText>,
}

async fn converse(
    socket: &UdpSocket,
    id: &str,
    send: &str,
    wait: Duration,
    single: bool,
) -> Result<UdpEnd, ProbeError> {
    let (most, enough) = if single { (1, 1) } else { (MOST, ENOUGH) };
    let datagram = |number: usize| format!("{id} {number}\n{send}").into_bytes();
    let mut heard = Heard::default();
    let mut answer = vec![0; LONGEST];
    for number in 0..most {
        // What the last one came to may be told now: that nobody listens there.
        for _ in 0..2 {
            match socket.send(&datagram(number)).await {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => heard.is_refused = true,
                Err(error) => return Err(ProbeError::Unreachable(error.to_string())),
                Ok(_) => break,
            }
        }
        let now = clock::now();
        let (next, last) = (now + wait, now + MISSING * wait);
        loop {
            let is_last = number + 1 == most && (single || !heard.answered.is_empty());
            if heard.answered.len() == enough || !is_last && heard.answered.contains(&number) {
                break;
            }
            match tokio::time::timeout_at(if is_last { last } else { next }, socket.recv(&mut answer)).await {
                Err(_) => break,
                Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => heard.is_refused = true,
                Ok(Err(error)) => return Err(unheard(&error, socket.peer_addr().ok())),
                Ok(Ok(length)) => heard.take(&answer[..length], number, &datagram)?,
            }
        }
        if heard.answered.len() == enough {
            return Ok(UdpEnd::Answered { lines: heard.lines, echo: heard.echo });
        }
    }
    Ok(match heard.answered.len() {
        0 if heard.is_refused => UdpEnd::Refused,
        0 => UdpEnd::Silent,
        answered => UdpEnd::TooFew { answered },
    })
}

/// What an error in place of an answer is. A firewall may say of a port that nobody listens at that the host cannot be reached.
fn unheard(error: &io::Error, to: Option<SocketAddr>) -> ProbeError {
    match (error.kind(), to) {
        (ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable, Some(to)) => {
            ProbeError::NoRoute { to, why: error.to_string() }
        }
        _ => ProbeError::Broken(error.to_string()),
    }
}

impl Heard {
    /// An answer: one line, and behind it the bytes of one of the datagrams that have been sent.
    fn take(&mut self, answer: &[u8], sent: usize, datagram: &impl Fn(usize) -> Vec<u8>) -> Result<(), ProbeError> {
        let end = answer.iter().position(|byte| *byte == b'\n');
        let (line, rest) = answer.split_at(end.map_or(answer.len(), |end| end + 1));
        if line.len() as u64 > LONGEST_LINE {
            return Err(ProbeError::Malformed(format!("the line is longer than {LONGEST_LINE} bytes")));
        }
        let Some(number) = (0..=sent).find(|number| datagram(*number) == rest) else {
            return Err(ProbeError::Malformed(
                "what came back are not the bytes of a datagram that was sent".to_owned(),
            ));
        };
        self.answered.insert(number);
        match EchoText::read(line) {
            Some(echo) => self.add_echo(echo),
            None => self.add_line(String::from_utf8_lossy(line).trim_end().to_owned()),
        }
        if self.lines.len() + self.echo.len() > DIFFERENT {
            return Err(ProbeError::Malformed(format!(
                "more than {DIFFERENT} different answers came to no more than {MOST} datagrams"
            )));
        }
        Ok(())
    }

    fn add_echo(&mut self, echo: EchoText) {
        if !self.echo.contains(&echo) {
            self.echo.push(echo);
        }
    }

    fn add_line(&mut self, line: String) {
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[test]
    fn who_cannot_be_reached_has_not_answered_wrongly() {
        let to = SocketAddr::from(([192, 0, 2, 1], 9000));
        for kind in [ErrorKind::HostUnreachable, ErrorKind::NetworkUnreachable] {
            let heard = unheard(&kind.into(), Some(to));
            assert!(matches!(heard, ProbeError::NoRoute { to: found, .. } if found == to), "{heard:?}");
        }
        let heard = unheard(&ErrorKind::PermissionDenied.into(), Some(to));
        assert!(matches!(heard, ProbeError::Broken(_)), "{heard:?}");
    }

    /// Who waits for answers that went to another is not answered, whatever that one says.
    #[rstest]
    #[case::all(&["a", "a"], UdpEnd::Answered { lines: vec!["a".to_owned()], echo: Vec::new() })]
    #[case::one(&["a", ""], UdpEnd::TooFew { answered: ENOUGH })]
    #[case::none(&["", ""], UdpEnd::Silent)]
    fn every_flow_has_to_be_answered(#[case] flows: &[&str], #[case] expected: UdpEnd) {
        let end = |line: &&str| match *line {
            "" => Ok(UdpEnd::Silent),
            line => Ok(UdpEnd::Answered { lines: vec![line.to_owned()], echo: Vec::new() }),
        };
        assert_eq!(together(flows.iter().map(end).collect()), Ok(expected));
        let wrong = || Err(ProbeError::Malformed("not mine".to_owned()));
        assert_eq!(together(flows.iter().map(end).chain([wrong()]).collect()), wrong());
    }

    #[test]
    fn too_few_of_one_flow_are_too_few_of_all() {
        assert_eq!(together(vec![Ok(UdpEnd::TooFew { answered: 2 })]), Ok(UdpEnd::TooFew { answered: 2 }));
    }

    /// How likely it is that an attempt fails though nothing is wrong but that each datagram and each answer is lost with this
    /// chance.
    fn false_alarm(loss: f64) -> f64 {
        let lost = 1.0 - (1.0 - loss).powi(2);
        let choose = |n: usize, k: usize| (0..k).fold(1.0, |all, i| all * (n - i) as f64 / (i + 1) as f64);
        let exactly = |k: usize| choose(MOST, k) * lost.powi(k as i32) * (1.0 - lost).powi((MOST - k) as i32);
        (MOST - ENOUGH + 1..=MOST).map(exactly).sum()
    }

    #[test]
    fn what_networks_lose_fails_no_attempt() {
        let rate = false_alarm(0.01);
        assert!((1.6e-7..1.7e-7).contains(&rate), "{rate:e}");
    }

    /// A peer that answers what it is told to, out of the datagrams as they come.
    async fn answering(answers: impl Fn(usize, &[u8]) -> Option<Vec<u8>> + Send + 'static) -> UdpSocket {
        let peer = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(peer.local_addr().unwrap()).await.unwrap();
        tokio::spawn(async move {
            let mut datagram = vec![0; LONGEST];
            for number in 0.. {
                let Ok((length, from)) = peer.recv_from(&mut datagram).await else { return };
                if let Some(answer) = answers(number, &datagram[..length]) {
                    peer.send_to(&answer, from).await.unwrap();
                }
            }
        });
        socket
    }

    const WAIT: Duration = Duration::from_millis(20);

    fn line(who: &str, datagram: &[u8]) -> Option<Vec<u8>> {
        Some([who.as_bytes(), b"\n", datagram].concat())
    }

    #[rstest]
    #[case::answered(true, UdpEnd::Answered { lines: vec!["a".to_owned()], echo: Vec::new() })]
    #[case::unanswered(false, UdpEnd::Silent)]
    #[tokio::test]
    async fn a_single_datagram_is_the_only_one(#[case] answers: bool, #[case] expected: UdpEnd) {
        let socket = answering(move |number, sent| {
            assert_eq!(number, 0, "one is sent");
            answers.then(|| line("a", sent)).flatten()
        })
        .await;
        assert_eq!(converse(&socket, "id", "x", WAIT, true).await, Ok(expected));
    }

    #[tokio::test]
    async fn half_of_the_datagrams_may_be_lost() {
        let socket = answering(|number, sent| (number % 2 == 1).then(|| line("a", sent)).flatten()).await;
        let end = converse(&socket, "id", "x", WAIT, false).await;
        assert_eq!(end, Ok(UdpEnd::Answered { lines: vec!["a".to_owned()], echo: Vec::new() }));
    }

    /// All come when the last datagram has been sent for a while.
    #[tokio::test]
    async fn slow_answers_count() {
        let peer = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(peer.local_addr().unwrap()).await.unwrap();
        tokio::spawn(async move {
            let (mut datagram, mut held) = (vec![0; LONGEST], Vec::new());
            while let Ok((length, from)) = peer.recv_from(&mut datagram).await {
                held.push(line("a", &datagram[..length]).unwrap());
                // The first answer shows that there is somebody.
                if held.len() == MOST {
                    peer.send_to(&held[0], from).await.unwrap();
                    // Nothing more comes, so that this only waits.
                    assert!(tokio::time::timeout(2 * WAIT, peer.recv_from(&mut datagram)).await.is_err());
                    for answer in &held[1..] {
                        peer.send_to(answer, from).await.unwrap();
                    }
                }
            }
        });
        let end = converse(&socket, "id", "x", WAIT, false).await;
        assert_eq!(end, Ok(UdpEnd::Answered { lines: vec!["a".to_owned()], echo: Vec::new() }));
    }

    #[tokio::test]
    async fn one_answer_is_too_few() {
        let socket = answering(|number, sent| (number == 0).then(|| line("a", sent)).flatten()).await;
        assert_eq!(converse(&socket, "id", "x", WAIT, false).await, Ok(UdpEnd::TooFew { answered: 1 }));
    }

    #[tokio::test]
    async fn who_answers_beside_is_told() {
        let socket = answering(|number, sent| line(if number == 2 { "b" } else { "a" }, sent)).await;
        let end = converse(&socket, "id", "x", WAIT, false).await;
        assert_eq!(end, Ok(UdpEnd::Answered { lines: vec!["a".to_owned(), "b".to_owned()], echo: Vec::new() }));
    }

    #[tokio::test]
    async fn other_bytes_are_no_answer() {
        let socket = answering(|_, sent| line("a", &sent[..sent.len() - 1])).await;
        assert!(matches!(converse(&socket, "id", "x", WAIT, false).await, Err(ProbeError::Malformed(_))));
    }

    /// Whatever the size of a datagram, it is told what it is, and the log stays small.
    #[rstest]
    #[case::empty(Vec::new, "what came back are not the bytes of a datagram that was sent")]
    #[case::line_alone(|| b"a\n".to_vec(), "what came back are not the bytes of a datagram that was sent")]
    #[case::longest(|| vec![0; 65_507], "the line is longer than 4096 bytes")]
    #[case::long_behind_a_line(|| [b"a\n", &[0; 65_505][..]].concat(), "what came back are not the bytes of a datagram that was sent")]
    #[tokio::test]
    async fn a_datagram_of_any_size_is_told(#[case] answer: fn() -> Vec<u8>, #[case] told: &str) {
        let socket = answering(move |_, _| Some(answer())).await;
        let end = converse(&socket, "id", "x", WAIT, false).await;
        assert_eq!(end, Err(ProbeError::Malformed(told.to_owned())));
    }

    #[tokio::test]
    async fn a_long_line_is_none_though_the_right_bytes_follow() {
        let socket = answering(|_, sent| line(&"a".repeat(60_000), sent)).await;
        let end = converse(&socket, "id", "x", WAIT, false).await;
        assert_eq!(end, Err(ProbeError::Malformed("the line is longer than 4096 bytes".to_owned())));
    }

    /// Whoever answers one datagram without end, each time otherwise, takes no more memory than others.
    #[tokio::test]
    async fn a_flood_of_answers_is_told() {
        let peer = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(peer.local_addr().unwrap()).await.unwrap();
        tokio::spawn(async move {
            let mut datagram = vec![0; LONGEST];
            let (length, from) = peer.recv_from(&mut datagram).await.unwrap();
            for number in 0_u64.. {
                peer.send_to(&line(&number.to_string(), &datagram[..length]).unwrap(), from).await.unwrap();
                tokio::task::yield_now().await;
            }
        });
        let end = converse(&socket, "id", "x", WAIT, false).await;
        let told = "more than 16 different answers came to no more than 8 datagrams";
        assert_eq!(end, Err(ProbeError::Malformed(told.to_owned())));
    }

    /// A socket that nobody reads is silent; where there is none the system says so.
    #[tokio::test]
    async fn silence_and_refusal_are_told_apart() {
        let silent = answering(|_, _| None).await;
        assert_eq!(converse(&silent, "id", "x", WAIT, false).await, Ok(UdpEnd::Silent));
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let closed = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        socket.connect(closed).await.unwrap();
        assert_eq!(converse(&socket, "id", "x", WAIT, false).await, Ok(UdpEnd::Refused));
    }

    #[tokio::test]
    async fn an_answer_from_elsewhere_is_not_heard() {
        let peer = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        socket.connect(peer.local_addr().unwrap()).await.unwrap();
        tokio::spawn(async move {
            let elsewhere = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let mut datagram = vec![0; LONGEST];
            while let Ok((length, from)) = peer.recv_from(&mut datagram).await {
                elsewhere.send_to(&line("a", &datagram[..length]).unwrap(), from).await.unwrap();
            }
        });
        assert_eq!(converse(&socket, "id", "x", WAIT, false).await, Ok(UdpEnd::Silent));
    }
}
