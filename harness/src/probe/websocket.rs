//! The part of an attempt that goes on as a WebSocket.

use futures::{SinkExt, StreamExt};
use gateproof_echo::GREETING;
use http::header::{CONNECTION, HeaderMap, HeaderValue, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message as Wire};

use crate::log::{Message, Reply};

/// The size of a large message: its length takes 64 bits of a frame.
const LARGE: usize = 100_000;
/// What is read of a message of the target.
const LARGEST: usize = 1024 * 1024;
/// A code that is for applications to use.
const CODE: u16 = 4001;

type Stream = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// Asks for a WebSocket in the headers of a request.
pub(super) fn ask(headers: &mut HeaderMap) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    if let Ok(key) = HeaderValue::from_str(&generate_key()) {
        headers.insert(SEC_WEBSOCKET_KEY, key);
    }
}

/// Sends the messages one after the other and waits for the answer to each, up to the first that gets no right one.
pub(super) async fn converse(response: http::Response<Incoming>, messages: &[Message], end: Instant) -> Vec<Reply> {
    let mut replies = Vec::new();
    let upgraded = match tokio::time::timeout_at(end, hyper::upgrade::on(response)).await {
        Ok(Ok(upgraded)) => upgraded,
        Ok(Err(error)) => return failed(messages, &error.to_string()),
        Err(_) => return failed(messages, "the connection was not handed over in time"),
    };
    let config = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
    let mut stream = Stream::from_raw_socket(TokioIo::new(upgraded), Role::Client, Some(config)).await;
    for message in messages {
        let wrong = match tokio::time::timeout_at(end, exchange(&mut stream, *message)).await {
            Ok(Ok(wrong)) => wrong,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("nothing came".to_owned()),
        };
        let is_over = wrong.is_some();
        replies.push(Reply { to: *message, wrong });
        if is_over {
            break;
        }
    }
    replies
}

fn failed(messages: &[Message], why: &str) -> Vec<Reply> {
    messages.first().map(|first| Reply { to: *first, wrong: Some(why.to_owned()) }).into_iter().collect()
}

/// Sends one message; what came back instead of the right answer.
async fn exchange(stream: &mut Stream, message: Message) -> Result<Option<String>, Error> {
    let large = || Bytes::from(vec![b'x'; LARGE]);
    let close = || CloseFrame { code: CloseCode::from(CODE), reason: "done".into() };
    let (sent, right) = match message {
        Message::Greeting => (Vec::new(), Wire::text(GREETING)),
        Message::Text => (vec![Wire::text("hello, gateway")], Wire::text("hello, gateway")),
        Message::Binary => {
            let bytes = Bytes::from_static(&[0, 1, 127, 128, 253, 254, 255]);
            (vec![Wire::Binary(bytes.clone())], Wire::Binary(bytes))
        }
        Message::Fragments => {
            let part = |text: &'static str, code, last| Wire::Frame(Frame::message(text, OpCode::Data(code), last));
            let parts = vec![
                part("one, ", Data::Text, false),
                part("two, ", Data::Continue, false),
                part("three", Data::Continue, true),
            ];
            (parts, Wire::text("one, two, three"))
        }
        Message::Large => (vec![Wire::Binary(large())], Wire::Binary(large())),
        Message::Ping => {
            let payload = Bytes::from_static(b"are you there");
            (vec![Wire::Ping(payload.clone())], Wire::Pong(payload))
        }
        Message::Close => (vec![Wire::Close(Some(close()))], Wire::Close(Some(close()))),
    };
    for one in sent {
        stream.send(one).await?;
    }
    Ok(match stream.next().await {
        // What a close says beside its code is for people.
        Some(Ok(Wire::Close(Some(frame)))) if message == Message::Close && u16::from(frame.code) == CODE => None,
        Some(Ok(came)) if came == right => None,
        Some(Ok(came)) => Some(in_words(&came)),
        Some(Err(error)) => return Err(error),
        None => Some("the connection ended".to_owned()),
    })
}

fn in_words(message: &Wire) -> String {
    match message {
        Wire::Text(text) => format!("the text {:?}", text.chars().take(80).collect::<String>()),
        Wire::Binary(bytes) => format!("{} bytes", bytes.len()),
        Wire::Ping(_) => "a ping".to_owned(),
        Wire::Pong(bytes) => format!("a pong of {} bytes", bytes.len()),
        Wire::Close(Some(frame)) => format!("a close with code {}", u16::from(frame.code)),
        Wire::Close(None) => "a close without a code".to_owned(),
        Wire::Frame(_) => "a frame".to_owned(),
    }
}
