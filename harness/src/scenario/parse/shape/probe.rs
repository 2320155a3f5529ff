//! What a probe and its answer may hold.

use super::{CODE, COUNT, LEVEL, STATUS, Shape, TEXT_OR_TEXTS, TEXTS, Table, may, must};

/// The longest body that is made up, in bytes: the log has it for every attempt.
const MOST_OF_A_BODY: i64 = 1024 * 1024;

pub(super) static PROBE: Table = Table {
    name: "Probe",
    doc: "A request and the answer that it must get.",
    conditions: false,
    one_of: &["get", "head", "post", "put", "patch", "delete", "options", "grpc", "websocket", "tcp", "tls", "udp"],
    fields: &[
        may("get", Shape::Text, "URL of a GET"),
        may("head", Shape::Text, "URL of a HEAD"),
        may("post", Shape::Text, "URL of a POST"),
        may("put", Shape::Text, "URL of a PUT"),
        may("patch", Shape::Text, "URL of a PATCH"),
        may("delete", Shape::Text, "URL of a DELETE"),
        may("options", Shape::Text, "URL of an OPTIONS"),
        may("grpc", Shape::Text, "URL of a call of gRPC: http://HOST/PACKAGE.SERVICE/METHOD"),
        may("websocket", Shape::Text, "URL (of HTTP) of a WebSocket"),
        may("tcp", Shape::Text, "the entry to connect to over TCP"),
        may("tls", Shape::Text, "the entry to connect to over TLS, for a stream that is no HTTP"),
        may("udp", Shape::Text, "the entry to send datagrams to"),
        may("sni", Shape::Text, "the server name over TLS; none is said unless given"),
        may("send", Shape::Text, "what is sent over TCP or TLS, or in each datagram"),
        may("listens", Shape::Bool, "true: nothing is sent over TCP or TLS, for the backend speaks first"),
        may(
            "halfClose",
            Shape::Bool,
            "true: over TCP or TLS the client ends its half behind what it sends, and the backend answers behind that end, which its own follows",
        ),
        may(
            "idle",
            Shape::Text,
            "a time, such as 2s, in which nothing is sent between the line that came and `bodyBytes`",
        ),
        may(
            "flows",
            Shape::Integer(2, 8),
            "datagrams are sent from so many sockets at the same time, and each has to get its own answers; from one unless given",
        ),
        may(
            "empty",
            Shape::Bool,
            "true: datagrams have not a byte, and each has to get the line of the backend, and a datagram without a byte behind it",
        ),
        may(
            "without",
            Shape::List(&Shape::Word(&["sni", "alpn"])),
            "what a request leaves out of its handshake: the server name, the protocols that it would speak",
        ),
        may(
            "tlsVersion",
            Shape::Word(&["1.2", "1.3"]),
            "the version of TLS that the client speaks alone; whichever the other side takes unless given",
        ),
        may(
            "session",
            Shape::Name,
            "name of a TLS session that the client resumes from probe to probe, where the other side lets it; every handshake is a whole one unless given",
        ),
        may(
            "inTwo",
            Shape::Bool,
            "true: the first message of a handshake for a stream goes out in two pieces, a moment apart",
        ),
        may(
            "twoRecords",
            Shape::Bool,
            "true: the first message of a handshake for a stream is split over two records of TLS",
        ),
        may(
            "alpn",
            TEXTS,
            "the protocols that are offered in a handshake, in this order; over HTTPS the one that is spoken unless given, and the version of HTTP is what was agreed on; for a stream none",
        ),
        may("via", Shape::Text, "the entry where traffic comes in: alias or Kind/name; the only one unless given"),
        may(
            "listener",
            Shape::Text,
            "the listener, with Kind/name/ in front if another object adds it to the entry; the first that fits the protocol unless given",
        ),
        may("method", Shape::Text, "the method as it is sent, if it is not the key in upper case"),
        may(
            "headers",
            Shape::Map(&TEXT_OR_TEXTS),
            "request headers, or metadata of a call; several values are several lines",
        ),
        may(
            "trailers",
            Shape::Map(&TEXT_OR_TEXTS),
            "what follows the request body, as headers come before it; beside the header `Transfer-Encoding: chunked`",
        ),
        may("http2", Shape::Bool, "true: over HTTP/2, with prior knowledge or by ALPN; calls always are"),
        may("absolute", Shape::Bool, "true: over HTTP/1.1 the whole URL is the request target, as it is for a proxy"),
        may(
            "hostHeader",
            Shape::Bool,
            "true: over HTTP/2 in clear text the host stands in a Host header, and there is no `:authority`",
        ),
        may("client", Shape::Table(&CLIENT), "the certificate of the client over TLS; it has none unless given"),
        may("body", Shape::Text, "request body"),
        may(
            "bodyBytes",
            Shape::Integer(1, MOST_OF_A_BODY),
            "a request body of so many bytes, which are made up; over TCP, TLS and UDP what follows the text, and has to come back",
        ),
        may("sends", TEXTS, "texts of the messages of a call, in this order; one empty message unless given"),
        may(
            "among",
            TEXTS,
            "paths on the same host: for each a GET, or a call, is sent before it over the same HTTP/2 connection, and not waited for",
        ),
        must(
            "expect",
            Shape::Either(&[Shape::Word(&["refused", "noAnswer", "noCertificate", "cutOff"]), Shape::Table(&ANSWER)]),
            "the answer",
        ),
        may("over", Shape::Name, "name of a connection that is kept open from probe to probe"),
        may("contrast", Shape::Bool, "false: no control request around a 4xx or 5xx expectation"),
        may("once", Shape::Bool, "true: it is sent once, and the answer to it counts, whatever comes later"),
        may(
            "each",
            Shape::Integer(2, 100),
            "so many are sent, one after the other, and the answer to each of them counts",
        ),
        may(
            "unprogrammed",
            Shape::Bool,
            "true: it is not waited for before it that the entry says it serves, as by Programmed=True",
        ),
        LEVEL,
    ],
};

static CLIENT: Table = Table {
    name: "ClientCertificate",
    doc: "A fresh certificate of a client.",
    conditions: false,
    one_of: &[],
    fields: &[
        may(
            "authority",
            Shape::Name,
            "alias of the authority that signs it, which somebody trusts, or `stranger`; `ca` unless given",
        ),
        may("expired", Shape::Bool, "true: its time is over"),
        may("future", Shape::Bool, "true: its time is to come"),
        may("asked", Shape::Bool, "true: who answers has to have asked for it"),
        may(
            "chain",
            Shape::Word(&["whole", "cut"]),
            "an authority stands between, whose certificate is shown too (whole) or not (cut); none does unless given",
        ),
    ],
};

static ANSWER: Table = Table {
    name: "Answer",
    doc: "What must come back.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("backend", Shape::Name, "the backend that answers"),
        may("status", Shape::Either(&[STATUS, Shape::List(&STATUS)]), "legal status codes; 200 unless given"),
        may("code", Shape::Either(&[CODE, Shape::List(&CODE)]), "legal codes of a call; OK unless given"),
        may("prefer", Shape::Either(&[STATUS, Shape::List(&STATUS)]), "those that a SHOULD prefers"),
        may("headers", Shape::Map(&HEADER), "response headers"),
        may("trailers", Shape::Map(&HEADER), "response trailers"),
        may("messages", Shape::Integer(0, 10_000), "how many messages a call is answered with"),
        may("body", Shape::Text, "the whole body, of no backend, but for white space around it"),
        may("seen", Shape::Table(&SEEN), "what the backend saw"),
        may("certificate", Shape::Text, "a DNS name of the certificate that is presented, as it stands there"),
        may(
            "trusted",
            Shape::Name,
            "alias of the authority; a client that knows it alone trusts what is presented, for the name that it asks for",
        ),
        may(
            "alpn",
            Shape::Either(&[Shape::Text, TEXTS]),
            "the protocol that the handshake agrees on, or legal ones; none: it agrees on none",
        ),
        may("mirrored", Shape::List(&Shape::Name), "backends that got a copy of the very request"),
        may(
            "replies",
            Shape::List(&Shape::Word(&["greeting", "text", "binary", "fragments", "large", "ping", "close"])),
            "messages over the WebSocket, in this order, each of which must get its right answer; of `greeting` the backend's own, for which nothing is sent",
        ),
        may("noted", Shape::Map(&Shape::Table(&NOTED)), "what backends noted of the very request, by backend"),
        may(
            "shares",
            Shape::Map(&Shape::Integer(0, 1_000_000)),
            "weights by backend (`a|b` for what several have together), status code or code of a call (`500|503` likewise), or over TCP and TLS `refused`",
        ),
        may(
            "copies",
            Shape::Map(&Shape::Integer(0, 100)),
            "how many of a hundred requests a mirror gets a copy of, by backend; one",
        ),
        may("margin", Shape::Number, "percentage points below which a deviation is not looked for; 10 unless given"),
    ],
};

/// A header test: a value, `absent` or `present`, or a mapping for values that are such words.
const HEADER: Shape = Shape::Either(&[Shape::Text, Shape::Table(&HEADER_VALUE)]);

static HEADER_VALUE: Table = Table {
    name: "HeaderValue",
    doc: "A test of a header's value.",
    conditions: false,
    one_of: &["equals", "oneOf", "members", "without", "lines"],
    fields: &[
        may("equals", Shape::Text, "the value, for those that would read as a test otherwise"),
        may("oneOf", TEXTS, "legal values"),
        may("members", TEXTS, "the members of the list that it is, in any order and case"),
        may("without", Shape::Text, "a member that the list does not have, nor `*`; it may be absent"),
        may("lines", TEXTS, "its lines, in this order"),
    ],
};

static NOTED: Table = Table {
    name: "Noted",
    doc: "What a backend noted of each request of the probe.",
    conditions: false,
    one_of: &[],
    fields: &[
        may(
            "times",
            Shape::Either(&[Shape::Integer(0, 1000), Shape::Table(&COUNT)]),
            "how often the request reached it",
        ),
        may("apart", Shape::Text, "the time, such as 200ms, that lies between two of these at least"),
        may("method", Shape::Text, "the method, each time"),
        may("path", Shape::Text, "raw path with query, each time"),
        may("proto", Shape::Word(&["HTTP/1.1", "HTTP/2.0"]), "the protocol that it is spoken to in, each time"),
        may("body", Shape::Text, "the body, each time"),
        may("headers", Shape::Map(&HEADER), "request headers, each time"),
    ],
};

static SEEN: Table = Table {
    name: "Seen",
    doc: "What the backend saw of the request.",
    conditions: false,
    one_of: &[],
    fields: &[
        may("path", Shape::Text, "raw path with query"),
        may("host", Shape::Text, "Host header"),
        may("proto", Shape::Word(&["HTTP/1.1", "HTTP/2.0"]), "the protocol that it is spoken to in"),
        may("tls", Shape::Text, "server name of the handshake with the backend; none: it is spoken to in clear text"),
        may(
            "client",
            Shape::Text,
            "a DNS name of the certificate that it was shown in the handshake with it; none: it was shown none",
        ),
        may("messages", TEXTS, "texts of the messages of a call, in this order"),
        may("headers", Shape::Map(&HEADER), "request headers"),
    ],
};
