//! What a network makes of segments that get lost: they come later.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

/// How long a sender waits at least until it sends a segment again; twice as long each further time (RFC 6298, 5.5). Linux
/// waits so long, where the document has a second (2.4).
const AGAIN: Duration = Duration::from_millis(200);

/// Whether a segment is lost.
type Draw = fn() -> bool;

/// One way of a connection.
#[derive(Debug)]
pub(super) struct Losses {
    is_lost: Draw,
    next: Next,
}

/// What the next segment is at.
#[derive(Debug)]
enum Next {
    /// It is on its way, for the first time or once more.
    Sent { again: Duration },
    /// It was lost, and is sent again when this is over.
    Lost { over: Pin<Box<Sleep>>, again: Duration },
    /// It is there.
    Arrived,
}

impl Losses {
    pub(super) fn new(is_lost: Draw) -> Self {
        Self { is_lost, next: Next::Sent { again: AGAIN } }
    }

    /// Waits until the next segment is there.
    pub(super) fn poll_arrived(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.next = match &mut self.next {
                Next::Arrived => return Poll::Ready(()),
                Next::Sent { again } if (self.is_lost)() => {
                    Next::Lost { over: Box::pin(tokio::time::sleep(*again)), again: 2 * *again }
                }
                Next::Sent { .. } => Next::Arrived,
                Next::Lost { over, again } => {
                    ready!(over.as_mut().poll(cx));
                    Next::Sent { again: *again }
                }
            };
        }
    }

    /// The next segment is another one.
    pub(super) fn passed(&mut self) {
        self.next = Next::Sent { again: AGAIN };
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::Instant;

    use super::*;
    use crate::stream::Stream;

    thread_local! {
        static LEFT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }

    fn thrice() -> bool {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        left > 0
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_lost_again_waits_twice_as_long() {
        LEFT.set(3);
        let mut losses = Losses::new(thrice);
        let begun = Instant::now();
        poll_fn(|cx| losses.poll_arrived(cx)).await;
        assert_eq!(begun.elapsed(), 7 * AGAIN);
        // It is there now, and whether another is lost is another question.
        LEFT.set(1);
        poll_fn(|cx| losses.poll_arrived(cx)).await;
        assert_eq!(begun.elapsed(), 7 * AGAIN);
        losses.passed();
        poll_fn(|cx| losses.poll_arrived(cx)).await;
        assert_eq!(begun.elapsed(), 8 * AGAIN);
    }

    #[tokio::test(start_paused = true)]
    async fn both_ways_of_a_stream_wait_for_what_is_lost() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut stream = Stream::from(listener.accept().await.unwrap().0).losing(thrice);
        client.write_all(b"x").await.unwrap();
        LEFT.set(1);
        let begun = Instant::now();
        assert_eq!(stream.read_u8().await.unwrap(), b'x');
        assert_eq!(begun.elapsed(), AGAIN);
        LEFT.set(2);
        stream.write_all(b"y").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'y');
        assert_eq!(begun.elapsed(), 4 * AGAIN);
    }
}
