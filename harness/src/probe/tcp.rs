//! One TCP conversation: the exchange's id and the text go out, one line or the end comes back.

use std::io::ErrorKind;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use super::{Prober, attempt};
use crate::log::{EchoText, Exchange, ProbeError, TcpEnd};
use crate::target::clock;

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 4 * 1024;

pub(super) async fn attempt(prober: &Prober, mut exchange: Exchange, host: &str, port: u16, send: &str) -> Exchange {
    let end = clock::now() + prober.budget;
    let stream = match attempt::connect(prober, host, port, end).await {
        Ok(connection) => {
            exchange.connected_to = connection.peer;
            connection.stream
        }
        Err(error) => {
            exchange.error = Some(error);
            return exchange;
        }
    };
    let mut text = format!("{}\n", exchange.id);
    if !send.is_empty() {
        text.push_str(send);
        text.push('\n');
    }
    let talking = async {
        let mut stream = BufReader::new(stream);
        stream.write_all(text.as_bytes()).await?;
        let mut line = Vec::new();
        (&mut stream).take(LONGEST_LINE).read_until(b'\n', &mut line).await?;
        Ok::<_, std::io::Error>(line)
    };
    match tokio::time::timeout_at(end, talking).await {
        Err(_) => exchange.tcp = Some(TcpEnd::Hung),
        Ok(Ok(line)) if line.is_empty() => exchange.tcp = Some(TcpEnd::ClosedBeforeAnyByte),
        Ok(Ok(line)) => {
            let echo = EchoText::read(&line);
            let line =
                if echo.is_some() { String::new() } else { String::from_utf8_lossy(&line).trim_end().to_owned() };
            exchange.tcp = Some(TcpEnd::Answered { line, echo });
        }
        Ok(Err(error))
            if matches!(
                error.kind(),
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
            ) =>
        {
            exchange.tcp = Some(TcpEnd::ClosedBeforeAnyByte);
        }
        Ok(Err(error)) => {
            let broken = || ProbeError::Broken(error.to_string());
            exchange.error = Some(attempt::of_connection(&error).unwrap_or_else(broken));
        }
    }
    exchange
}
