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

#[rstest]
#[case::some(2)]
#[case::none(0)]
fn too_few_of_one_flow_are_too_few_of_all(#[case] answered: usize) {
    let few = || Ok(UdpEnd::TooFew { answered });
    assert_eq!(together(vec![few()]), few());
    assert_eq!(together(vec![few(), Ok(UdpEnd::Silent)]), few());
    assert_eq!(together(vec![Ok(UdpEnd::Silent), few()]), few());
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

const TEXT: Holds<'static> = Holds::Text { id: "id", send: "x" };

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
    assert_eq!(converse(&socket, TEXT, WAIT, true).await, Ok(expected));
}

#[tokio::test]
async fn half_of_the_datagrams_may_be_lost() {
    let socket = answering(|number, sent| (number % 2 == 1).then(|| line("a", sent)).flatten()).await;
    let end = converse(&socket, TEXT, WAIT, false).await;
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
    let end = converse(&socket, TEXT, WAIT, false).await;
    assert_eq!(end, Ok(UdpEnd::Answered { lines: vec!["a".to_owned()], echo: Vec::new() }));
}

#[tokio::test]
async fn one_answer_is_too_few() {
    let socket = answering(|number, sent| (number == 0).then(|| line("a", sent)).flatten()).await;
    assert_eq!(converse(&socket, TEXT, WAIT, false).await, Ok(UdpEnd::TooFew { answered: 1 }));
}

#[tokio::test]
async fn who_answers_beside_is_told() {
    let socket = answering(|number, sent| line(if number == 2 { "b" } else { "a" }, sent)).await;
    let end = converse(&socket, TEXT, WAIT, false).await;
    assert_eq!(end, Ok(UdpEnd::Answered { lines: vec!["a".to_owned(), "b".to_owned()], echo: Vec::new() }));
}

#[tokio::test]
async fn other_bytes_are_no_answer() {
    let socket = answering(|_, sent| line("a", &sent[..sent.len() - 1])).await;
    assert!(matches!(converse(&socket, TEXT, WAIT, false).await, Err(ProbeError::Malformed(_))));
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
    let end = converse(&socket, TEXT, WAIT, false).await;
    assert_eq!(end, Err(ProbeError::Malformed(told.to_owned())));
}

#[tokio::test]
async fn a_long_line_is_none_though_the_right_bytes_follow() {
    let socket = answering(|_, sent| line(&"a".repeat(60_000), sent)).await;
    let end = converse(&socket, TEXT, WAIT, false).await;
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
    let end = converse(&socket, TEXT, WAIT, false).await;
    let told = "more than 16 different answers came to no more than 8 datagrams";
    assert_eq!(end, Err(ProbeError::Malformed(told.to_owned())));
}

/// A socket that nobody reads is silent; where there is none the system says so.
#[tokio::test]
async fn silence_and_refusal_are_told_apart() {
    let silent = answering(|_, _| None).await;
    assert_eq!(converse(&silent, TEXT, WAIT, false).await, Ok(UdpEnd::Silent));
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let closed = UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    socket.connect(closed).await.unwrap();
    assert_eq!(converse(&socket, TEXT, WAIT, false).await, Ok(UdpEnd::Refused));
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
    assert_eq!(converse(&socket, TEXT, WAIT, false).await, Ok(UdpEnd::Silent));
}

/// What comes back for datagrams without a byte: so many lines, and so many datagrams without a byte.
#[rstest]
#[case::all(MOST, MOST, UdpEnd::Answered { lines: vec!["a".to_owned()], echo: Vec::new() })]
#[case::as_many_as_it_takes(ENOUGH, ENOUGH, UdpEnd::Answered { lines: vec!["a".to_owned()], echo: Vec::new() })]
#[case::lines_alone(MOST, 0, UdpEnd::TooFew { answered: 0 })]
#[case::nothing_but_empty_ones(0, MOST, UdpEnd::TooFew { answered: 0 })]
#[case::too_few_lines(ENOUGH - 1, MOST, UdpEnd::TooFew { answered: ENOUGH - 1 })]
#[case::too_few_empty_ones(MOST, ENOUGH - 1, UdpEnd::TooFew { answered: ENOUGH - 1 })]
#[case::none(0, 0, UdpEnd::Silent)]
#[tokio::test]
async fn datagrams_without_a_byte_are_counted(#[case] lines: usize, #[case] empty: usize, #[case] expected: UdpEnd) {
    let peer = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(peer.local_addr().unwrap()).await.unwrap();
    tokio::spawn(async move {
        let mut datagram = [0; 9];
        for number in 0.. {
            let (length, from) = peer.recv_from(&mut datagram).await.unwrap();
            assert_eq!(length, 0);
            if number < lines {
                peer.send_to(b"a\n", from).await.unwrap();
            }
            if number < empty {
                peer.send_to(b"", from).await.unwrap();
            }
        }
    });
    assert_eq!(converse(&socket, Holds::Nothing, WAIT, false).await, Ok(expected));
}

/// Who sends what no datagram had answers none, and what comes twice is no answer to a second one.
#[rstest]
#[case::line(b"a\n", Ok((1, 0)))]
#[case::nothing(b"", Ok((0, 1)))]
#[case::bytes(b"a\nb", Err("what came back are not the bytes of a datagram that was sent"))]
fn what_comes_for_datagrams_without_a_byte(#[case] answer: &[u8], #[case] expected: Result<(usize, usize), &str>) {
    let mut heard = Heard::default();
    let taken = heard.take(answer, 0, Holds::Nothing).and_then(|()| heard.take(answer, 0, Holds::Nothing));
    let expected = expected.map_err(|why| ProbeError::Malformed(why.to_owned()));
    assert_eq!(taken.map(|()| (heard.answered.len(), heard.empty)), expected);
    assert_eq!(heard.count(Holds::Nothing), 0);
}
