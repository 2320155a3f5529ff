//! Frames of an upgraded connection that say something else.

use gateproof_proxy::stream::Upgraded;

use super::{
    super::frames::{self, Frame},
    WrongAnswer,
};

/// A sort of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSort {
    /// Whatever the backend sends.
    Greeting,
    /// A whole text.
    Text,
    /// Fewer bytes than 126.
    ShortBinary,
    /// More bytes than that.
    LongBinary,
    /// The beginning of a text.
    Fragment,
    /// A ping.
    Ping,
    /// The end.
    Close,
}

impl FrameSort {
    fn of(frame: &Frame) -> Option<Self> {
        match (frame.code(), frame.is_last()) {
            (1, true) => Some(Self::Text),
            (1, false) => Some(Self::Fragment),
            (2, _) if frame.payload.len() < 126 => Some(Self::ShortBinary),
            (2, _) => Some(Self::LongBinary),
            (8, _) => Some(Self::Close),
            (9, _) => Some(Self::Ping),
            _ => None,
        }
    }
}

/// Carries an upgraded connection with what is wrong with its frames.
pub(super) async fn carry(wrong: &[WrongAnswer], client: Upgraded, backend: Upgraded) {
    let is_wrong = |sort| wrong.contains(&WrongAnswer::ChangedFrame(sort));
    if is_wrong(FrameSort::Greeting) {
        return frames::carry(backend, client, |frame| {
            frame.spoil();
            true
        })
        .await;
    }
    frames::carry(client, backend, |frame| {
        if FrameSort::of(frame).is_some_and(is_wrong) {
            frame.spoil();
        }
        true
    })
    .await;
}
