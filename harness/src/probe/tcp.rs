//! One TCP conversation: the exchange's id and the text go out, or nothing, and one line or the end comes back. What goes out behind
//! the text comes back behind the line. The client may end its half behind all of that, or be idle in between.

use std::future::pending;
use std::io::{Error, ErrorKind, Result as IoResult};
use std::time::Duration;

use gateproof_echo::AT_END;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, split};
use tokio::sync::Notify;

use super::tap::{Seen, Tap};
use super::{Prober, attempt};
use crate::cluster::clock;
use crate::log::{EchoText, Exchange, ProbeError, TcpEnd};

/// The longest line that is read, in bytes.
pub(super) const LONGEST_LINE: u64 = 4 * 1024;

/// What goes out.
pub(super) struct Text {
    /// Lines, to which one line answers.
    pub(super) line: String,
    /// What follows them, and is to come back.
    pub(super) behind: String,
    /// Whether the client's half ends behind that, and the other side's behind its answer.
    pub(super) half_close: bool,
    /// For how long nothing is said between the line that came and what is to come back.
    pub(super) idle: Option<Duration>,
}

/// What goes out first: a line of the id, by which a backend knows the exchange, and one of what is to be sent.
pub(super) fn text(id: &str, send: &str, half_close: bool) -> String {
    let word = if half_close { format!(" {AT_END}") } else { String::new() };
    if send.is_empty() { format!("{id}{word}\n") } else { format!("{id}{word}\n{send}\n") }
}

pub(super) async fn attempt(prober: &Prober, mut exchange: Exchange, host: &str, port: u16, text: &Text) -> Exchange {
    let end = clock::now() + prober.budget + text.idle.unwrap_or_default();
    let seen = Seen::default();
    let stream = match attempt::connect(prober, host, port, end).await {
        Ok(connection) => {
            exchange.connected_to = connection.peer;
            Tap::wire(connection.stream, seen.clone())
        }
        Err(error) => {
            exchange.error = Some(error);
            return exchange;
        }
    };
    let talked = tokio::time::timeout_at(end, converse(stream, text)).await;
    let received = seen.received(None);
    match end_of(talked.ok(), received.is_some()) {
        Ok(end) => exchange.tcp = Some(end),
        Err(error) => {
            exchange.error = Some(error);
            exchange.received = received;
        }
    }
    exchange
}

/// Says the text, reads the line of the answer, and sees what was said behind the text come back behind it.
pub(super) async fn converse(stream: impl AsyncRead + AsyncWrite, text: &Text) -> IoResult<Vec<u8>> {
    let (read, mut write) = split(stream);
    let rested = Notify::new();
    let sending = async {
        write.write_all(text.line.as_bytes()).await?;
        if text.idle.is_some() {
            write.flush().await?;
            rested.notified().await;
        }
        write.write_all(text.behind.as_bytes()).await?;
        write.flush().await?;
        if text.half_close {
            write.shutdown().await?;
        }
        // Only what comes back ends a conversation that could be said.
        pending::<IoResult<Vec<u8>>>().await
    };
    let receiving = async {
        let mut read = BufReader::new(read);
        let mut line = Vec::new();
        (&mut read).take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
        if line.ends_with(b"\n") {
            if let Some(idle) = text.idle {
                rest(&mut read, idle).await?;
                rested.notify_one();
            }
            returned(&mut read, text.behind.as_bytes()).await?;
            if text.half_close && read.read(&mut [0]).await? > 0 {
                return Err(Error::other("more came behind what was sent before the client ended its half"));
            }
        }
        Ok(line)
    };
    tokio::select! {
        // Of a connection that breaks, what came of it says more than what could not go out any more.
        biased;
        received = receiving => received,
        failed = sending => failed,
    }
}

/// Says nothing for a while, in which nothing is to come.
async fn rest(read: &mut (impl AsyncBufRead + Unpin), idle: Duration) -> IoResult<()> {
    tokio::select! {
        came = read.fill_buf() => {
            let what = match came {
                Ok([]) => "the connection ended".to_owned(),
                Ok(_) => "something came".to_owned(),
                Err(error) => error.to_string(),
            };
            Err(Error::other(format!("while nothing was sent for {idle:?}: {what}")))
        }
        () = clock::until(clock::now() + idle) => Ok(()),
    }
}

/// Reads what is to come back.
async fn returned(read: &mut (impl AsyncRead + Unpin), sent: &[u8]) -> IoResult<()> {
    let mut back = vec![0; sent.len()];
    let mut length = 0;
    while length < sent.len() {
        let came = read.read(&mut back[length..]).await;
        match came {
            Ok(more) if more > 0 && back[length..length + more] == sent[length..length + more] => length += more,
            Ok(more) => {
                let what = if more == 0 { "the connection ended" } else { "something else came" };
                return Err(Error::other(format!(
                    "of {} bytes behind the line {length} came back, then {what}",
                    sent.len()
                )));
            }
            Err(error) => {
                return Err(Error::other(format!(
                    "of {} bytes behind the line {length} came back: {error}",
                    sent.len()
                )));
            }
        }
    }
    Ok(())
}

/// What a conversation came to: the line as far as it came, or an error; nothing where time ran out. `is_begun` says whether
/// any byte came, after which a connection is no longer refused, but broken.
pub(super) fn end_of(talked: Option<IoResult<Vec<u8>>>, is_begun: bool) -> Result<TcpEnd, ProbeError> {
    match talked {
        None if is_begun => Err(ProbeError::TimedOut),
        None => Ok(TcpEnd::Hung),
        Some(Ok(line)) if line.is_empty() => Ok(TcpEnd::ClosedBeforeAnyByte),
        Some(Ok(line)) if line.ends_with(b"\n") => {
            let echo = EchoText::read(&line);
            let text = || String::from_utf8_lossy(&line).trim_end().to_owned();
            Ok(TcpEnd::Answered { line: if echo.is_some() { String::new() } else { text() }, echo })
        }
        Some(Ok(line)) if line.len() as u64 == LONGEST_LINE => {
            Err(ProbeError::Malformed(format!("the line is longer than {LONGEST_LINE} bytes")))
        }
        Some(Ok(_)) => Err(ProbeError::Broken("the connection ended within the line".to_owned())),
        Some(Err(error)) => {
            let is_closed = matches!(
                error.kind(),
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
            );
            match attempt::of_connection(&error) {
                Some(error) => Err(error),
                None if is_closed && !is_begun => Ok(TcpEnd::ClosedBeforeAnyByte),
                None => Err(ProbeError::Broken(error.to_string())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    /// How long it takes, in seconds, until what was lost so many times is there: each time is twice as long as the one before.
    fn late(first: f64, lost: i32) -> f64 {
        first * (2_f64.powi(lost) - 1.0)
    }

    /// How likely it is that an attempt is late though nothing is wrong but that each segment is lost with this chance, if all
    /// else takes no time: either of the two that open the connection (RFC 6298, 2.1: a second until it is tried again), the
    /// text, or the line that answers it (200 ms, as Linux has it). What is acknowledged twice delays nothing.
    fn false_alarm(loss: f64, budget: f64) -> f64 {
        const ENOUGH: i32 = 12;
        let exactly = |lost: f64, times: i32| lost.powi(times) * (1.0 - lost);
        let opening = 1.0 - (1.0 - loss).powi(2);
        let mut sum = 0.0;
        for open in 0..ENOUGH {
            for text in 0..ENOUGH {
                for line in 0..ENOUGH {
                    if late(1.0, open) + late(0.2, text) + late(0.2, line) >= budget {
                        sum += exactly(opening, open) * exactly(loss, text) * exactly(loss, line);
                    }
                }
            }
        }
        sum
    }

    /// What `docs/statistics.md` says, for the budgets of a request on the embedded target and on a cluster.
    #[test]
    fn what_networks_lose_makes_few_attempts_late() {
        for (budget, from, to) in [(5.0, 7.8e-6, 7.9e-6), (10.0, 1.5e-7, 1.6e-7)] {
            let rate = false_alarm(0.01, budget);
            assert!((from..to).contains(&rate), "{budget} s: {rate:e}");
        }
    }
}
