//! An upgraded connection, frame by frame (RFC 6455, section 5.2).

use gateproof_proxy::stream::Upgraded;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};

/// The largest payload that is looked at; the connection ends at a larger one.
const LARGEST: u64 = 1024 * 1024;

/// One frame from a client to a backend.
#[derive(Debug)]
pub(super) struct Frame {
    /// The two bytes that begin it, and the length and mask behind them.
    head: Vec<u8>,
    /// The payload as it is on the wire, which is masked.
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// What it is: 0 for a continuation, 1 for text, 2 for bytes, 8 for the end, 9 for a ping, 10 for a pong.
    pub(super) fn code(&self) -> u8 {
        self.head.first().map_or(0, |byte| byte & 0x0f)
    }

    /// Whether it ends a message.
    pub(super) fn is_last(&self) -> bool {
        self.head.first().is_some_and(|byte| byte & 0x80 != 0)
    }

    /// Changes what it says: of a close, the code.
    pub(super) fn spoil(&mut self) {
        if let Some(byte) = self.payload.get_mut(1) {
            *byte ^= 1;
        }
    }

    async fn read(from: &mut (impl AsyncRead + Unpin)) -> std::io::Result<Self> {
        let mut head = vec![0; 2];
        from.read_exact(&mut head).await?;
        let [_, second] = [head[0], head[1]];
        let further = match second & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        let mut rest = vec![0; further + mask];
        from.read_exact(&mut rest).await?;
        let length = match further {
            0 => u64::from(second & 0x7f),
            _ => rest[..further].iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        if length > LARGEST {
            return Err(std::io::Error::other("a frame is too large to be looked at"));
        }
        head.extend(rest);
        let mut payload = vec![0; usize::try_from(length).unwrap_or_default()];
        from.read_exact(&mut payload).await?;
        Ok(Self { head, payload })
    }

    async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
        to.write_all(&self.head).await?;
        to.write_all(&self.payload).await?;
        to.flush().await
    }
}

/// Carries a connection; `pass` may change what the client sends, or say that it goes no further.
pub(super) async fn carry(client: Upgraded, backend: Upgraded, pass: impl Fn(&mut Frame) -> bool) {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_backend, mut to_backend) = tokio::io::split(backend);
    let there = async {
        loop {
            let mut frame = Frame::read(&mut from_client).await?;
            if pass(&mut frame) {
                frame.write(&mut to_backend).await?;
            }
        }
    };
    let ended: std::io::Result<()> = tokio::select! {
        ended = there => ended,
        ended = copy(&mut from_backend, &mut to_client) => ended.map(|_| ()),
    };
    tracing::debug!(?ended, "tunnel ended");
}
