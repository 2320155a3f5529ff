//! One TCP conversation: the exchange's id and the text go out, or nothing, and one line or the end comes back.

use std::io::ErrorKind;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::tap::{Seen, Tap};
use super::{Prober, attempt};
use crate::cluster::clock;
use crate::log::{EchoText, Exchange, ProbeError, TcpEnd};

/// The longest line that is read, in bytes.
pub(super) const LONGEST_LINE: u64 = 4 * 1024;

/// What goes out: a line of the id, by which a backend knows the exchange, and one of what is to be sent.
pub(super) fn text(id: &str, send: &str) -> String {
    if send.is_empty() { format!("{id}\n") } else { format!("{id}\n{send}\n") }
}

pub(super) async fn attempt(prober: &Prober, mut exchange: Exchange, host: &str, port: u16, text: &str) -> Exchange {
    let end = clock::now() + prober.budget;
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
    let talking = async {
        let mut stream = BufReader::new(stream);
        stream.write_all(text.as_bytes()).await?;
        let mut line = Vec::new();
        (&mut stream).take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
        Ok::<_, std::io::Error>(line)
    };
    let talked = tokio::time::timeout_at(end, talking).await;
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

/// What a conversation came to: the line as far as it came, or an error; nothing where time ran out. `is_begun` says whether
/// any byte came, after which a connection is no longer refused, but broken.
pub(super) fn end_of(talked: Option<std::io::Result<Vec<u8>>>, is_begun: bool) -> Result<TcpEnd, ProbeError> {
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
