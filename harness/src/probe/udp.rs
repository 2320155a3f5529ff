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
use tokio::time::Instant;

use super::Prober;
use super::attempt::undialled;
use super::tcp::LONGEST_LINE;
use crate::cluster::clock;
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

/// Without a text to `send` datagrams have not a byte. A `single` one is waited for as the last one of several is; that a network has
/// lost it cannot be told from silence.
pub(super) async fn attempt(
    prober: &Prober,
    mut exchange: Exchange,
    (host, port): (&str, u16),
    send: Option<&str>,
    (single, flows): (bool, u32),
) -> Exchange {
    let end = clock::now() + prober.budget;
    let sockets = match future::try_join_all((0..flows).map(|_| open(prober, host, port, end))).await {
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
        async move {
            let holds = send.map_or(Holds::Nothing, |send| Holds::Text { id: &id, send });
            converse(socket, holds, prober.budget / PART, single).await
        }
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
                unanswered = Some(UdpEnd::TooFew { answered: few });
            }
            end => unanswered = unanswered.or(Some(end)),
        }
    }
    Ok(match unanswered {
        None => UdpEnd::Answered { lines: all.lines, echo: all.echo },
        Some(UdpEnd::Silent | UdpEnd::Refused) if answered > 0 => UdpEnd::TooFew { answered },
        Some(UdpEnd::TooFew { .. }) => UdpEnd::TooFew { answered },
        Some(end) => end,
    })
}

/// A socket that hears nobody but whom it sends to: answers from elsewhere are none.
async fn open(prober: &Prober, host: &str, port: u16, end: Instant) -> Result<(UdpSocket, SocketAddr), ProbeError> {
    let to = prober.dialer.datagrams(host, port, end).await.map_err(undialled)?;
    let ours = |error: io::Error| ProbeError::Unreachable(format!("{to}: {error}"));
    let any = match to {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any).await.map_err(ours)?;
    socket.connect(to).await.map_err(ours)?;
    Ok((socket, to))
}

/// What datagrams hold, by which answers to them are known.
#[derive(Clone, Copy)]
enum Holds<'a> {
    /// Whose it is, which one it is, and a text. The answer is a line, and behind it what was sent.
    Text { id: &'a str, send: &'a str },
    /// Not a byte. The answer is the line alone, and a datagram that has not a byte either: which of those sent they are for nobody
    /// can say, so that they are counted.
    Nothing,
}

impl Holds<'_> {
    fn datagram(&self, number: usize) -> Vec<u8> {
        match self {
            Holds::Text { id, send } => format!("{id} {number}\n{send}").into_bytes(),
            Holds::Nothing => Vec::new(),
        }
    }
}

/// What the datagrams came to so far.
#[derive(Default)]
struct Heard {
    answered: BTreeSet<usize>,
    /// How many came without a byte.
    empty: usize,
    is_refused: bool,
    lines: Vec<String>,
    echo: Vec<EchoText>,
}

async fn converse(socket: &UdpSocket, holds: Holds<'_>, wait: Duration, single: bool) -> Result<UdpEnd, ProbeError> {
    let (most, enough) = if single { (1, 1) } else { (MOST, ENOUGH) };
    let mut heard = Heard::default();
    let mut answer = vec![0; LONGEST];
    for number in 0..most {
        // What the last one came to may be told now: that nobody listens there.
        for _ in 0..2 {
            match socket.send(&holds.datagram(number)).await {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => heard.is_refused = true,
                Err(error) => return Err(ProbeError::Unreachable(error.to_string())),
                Ok(_) => break,
            }
        }
        let now = clock::now();
        let (next, last) = (now + wait, now + MISSING * wait);
        loop {
            let is_last = number + 1 == most && (single || heard.is_anything());
            if heard.count(holds) == enough || !is_last && heard.is_answered(number, holds) {
                break;
            }
            match tokio::time::timeout_at(if is_last { last } else { next }, socket.recv(&mut answer)).await {
                Err(_) => break,
                Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => heard.is_refused = true,
                Ok(Err(error)) => return Err(unheard(&error, socket.peer_addr().ok())),
                Ok(Ok(length)) => heard.take(&answer[..length], number, holds)?,
            }
        }
        if heard.count(holds) == enough {
            return Ok(UdpEnd::Answered { lines: heard.lines, echo: heard.echo });
        }
    }
    Ok(match heard.count(holds) {
        0 if heard.is_anything() => UdpEnd::TooFew { answered: 0 },
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
    /// Whether anything came.
    fn is_anything(&self) -> bool {
        !self.answered.is_empty() || self.empty > 0
    }

    /// How many are answered with all that has to come for them.
    fn count(&self, holds: Holds<'_>) -> usize {
        match holds {
            Holds::Text { .. } => self.answered.len(),
            Holds::Nothing => self.answered.len().min(self.empty),
        }
    }

    fn is_answered(&self, number: usize, holds: Holds<'_>) -> bool {
        match holds {
            Holds::Text { .. } => self.answered.contains(&number),
            Holds::Nothing => self.count(holds) > number,
        }
    }

    /// An answer: one line, and behind it the bytes of one of the datagrams that have been sent; or nothing at all.
    fn take(&mut self, answer: &[u8], sent: usize, holds: Holds<'_>) -> Result<(), ProbeError> {
        if answer.is_empty() && matches!(holds, Holds::Nothing) {
            self.empty = (sent + 1).min(self.empty + 1);
            return Ok(());
        }
        let end = answer.iter().position(|byte| *byte == b'\n');
        let (line, rest) = answer.split_at(end.map_or(answer.len(), |end| end + 1));
        if line.len() as u64 > LONGEST_LINE {
            return Err(ProbeError::Malformed(format!("the line is longer than {LONGEST_LINE} bytes")));
        }
        let first = match holds {
            Holds::Text { .. } => 0,
            Holds::Nothing => self.answered.len().min(sent),
        };
        let Some(number) = (first..=sent).find(|number| holds.datagram(*number) == rest) else {
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
#[path = "udp_tests.rs"]
mod tests;
