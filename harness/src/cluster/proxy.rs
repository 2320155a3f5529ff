//! The way through an HTTP proxy, by its method CONNECT.

use std::fmt;
use std::str::FromStr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::way::{DialError, halves};

/// The longest head of an answer that is read, in bytes.
const LONGEST_HEAD: usize = 8 * 1024;

/// An HTTP proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Host name or IP address.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// Not a proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a proxy such as http://HOST:PORT: {problem}")]
pub struct ProxyError {
    /// The text.
    pub text: String,
    /// What is wrong.
    pub problem: String,
}

impl FromStr for Proxy {
    type Err = ProxyError;

    fn from_str(text: &str) -> Result<Proxy, ProxyError> {
        let wrong = |problem: String| ProxyError { text: text.to_owned(), problem };
        let place = text.strip_prefix("http://").unwrap_or(text).trim_end_matches('/');
        if place.contains("://") {
            return Err(wrong("only plain HTTP is spoken to a proxy".to_owned()));
        }
        if place.contains('@') {
            return Err(wrong("credentials are not sent".to_owned()));
        }
        let (host, port) = halves(place).map_err(wrong)?;
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let number = port.parse().ok().filter(|port| digits && *port != 0);
        let port = number.ok_or_else(|| wrong(format!("`{port}` is not a port")))?;
        Ok(Proxy { host: host.to_owned(), port })
    }
}

/// As it is read back.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", place(&self.host, self.port))
    }
}

fn place(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

impl Proxy {
    /// A connection to `host` by way of the proxy, to which `stream` is open. No answer of a proxy tells whether it was the
    /// target that refused, so every refusal is held against nobody.
    ///
    /// # Errors
    /// [`DialError::Unreachable`] with what the proxy said, and [`DialError::Hindered`] if it said nothing that is an answer, or asks who
    /// we are.
    pub async fn tunnel(&self, mut stream: TcpStream, host: &str, port: u16) -> Result<TcpStream, DialError> {
        let to = place(host, port);
        let told = |why: String| format!("{to} by way of the proxy {self}: {why}");
        let failed = |why: String| DialError::Hindered(told(why));
        let request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.map_err(|error| failed(error.to_string()))?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            // One by one, since whatever follows is for the probe.
            let byte = stream.read_u8().await.map_err(|error| failed(format!("no answer: {error}")))?;
            head.push(byte);
            if head.len() > LONGEST_HEAD {
                return Err(failed("the answer has no end".to_owned()));
            }
        }
        let head = String::from_utf8_lossy(&head);
        let status = head.lines().next().unwrap_or_default();
        match status.split(' ').nth(1) {
            Some(code) if status.starts_with("HTTP/1.") && code.len() == 3 && code.starts_with('2') => Ok(stream),
            Some(code) if status.starts_with("HTTP/1.") && code != "407" => {
                Err(DialError::Unreachable(told(format!("it answers `{status}`"))))
            }
            _ => Err(failed(format!("it answers `{status}`"))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use std::time::Duration;

    use tokio::net::{TcpListener, TcpSocket};
    use tokio::time::Instant;

    use super::super::clock;
    use super::super::dial::{Dialer, StaticDialer};
    use super::*;

    #[rstest]
    #[case("proxy.test:3128", "http://proxy.test:3128")]
    #[case("http://10.0.0.1:8080/", "http://10.0.0.1:8080")]
    #[case("http://[::1]:8080", "http://[::1]:8080")]
    fn proxies_are_read_and_written(#[case] text: &str, #[case] written: &str) {
        assert_eq!(text.parse::<Proxy>().unwrap().to_string(), written);
    }

    #[rstest]
    #[case("proxy.test", "`proxy.test` has no port")]
    #[case("https://proxy.test:3128", "only plain HTTP is spoken to a proxy")]
    #[case("me:secret@proxy.test:3128", "credentials are not sent")]
    #[case("proxy.test:0", "`0` is not a port")]
    #[case("proxy.test:+1", "`+1` is not a port")]
    fn other_texts_are_none(#[case] text: &str, #[case] problem: &str) {
        assert_eq!(text.parse::<Proxy>().unwrap_err().problem, problem);
    }

    fn soon() -> Instant {
        clock::now() + Duration::from_secs(30)
    }

    /// A proxy that answers so, and what it was asked.
    async fn answering(answer: &'static [u8]) -> (Proxy, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer).await.unwrap();
            String::from_utf8(request).unwrap()
        });
        (Proxy { host: "127.0.0.1".to_owned(), port }, asked)
    }

    #[tokio::test]
    async fn the_connection_begins_behind_the_answer() {
        let (proxy, asked) = answering(b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\nhello\n").await;
        let dialer = StaticDialer::new(vec!["*:80=gw.test:81".parse().unwrap()]).through(Some(proxy));
        let mut stream = dialer.dial("10.0.0.1", 80, soon()).await.unwrap().stream;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello\n");
        // The name is for the proxy to look up.
        assert!(asked.await.unwrap().starts_with("CONNECT gw.test:81 HTTP/1.1\r\nHost: gw.test:81\r\n"));
    }

    #[rstest]
    #[case::refused(
        b"HTTP/1.1 503 Service Unavailable\r\n\r\n",
        false,
        "it answers `HTTP/1.1 503 Service Unavailable`"
    )]
    #[case::wants_credentials(b"HTTP/1.1 407 Who\r\n\r\n", true, "it answers `HTTP/1.1 407 Who`")]
    #[case::no_http(b"SSH-2.0-x\r\n\r\n", true, "it answers `SSH-2.0-x`")]
    #[case::cut_off(b"HTTP/1.1 200", true, "no answer")]
    #[tokio::test]
    async fn a_refusal_is_held_against_nobody(#[case] answer: &'static [u8], #[case] ours: bool, #[case] told: &str) {
        let (proxy, _asked) = answering(answer).await;
        let dialer = StaticDialer::default().through(Some(proxy));
        match dialer.dial("10.0.0.1", 80, soon()).await.err().unwrap() {
            DialError::Hindered(why) if ours => assert!(why.contains(told), "{why}"),
            DialError::Unreachable(why) if !ours => assert!(why.contains(told), "{why}"),
            other => panic!("{other}"),
        }
    }

    #[tokio::test]
    async fn a_proxy_that_says_nothing_is_held_against_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
        let dialer = StaticDialer::default().through(Some(proxy));
        match dialer.dial("10.0.0.1", 80, clock::now() + Duration::from_millis(20)).await.err().unwrap() {
            DialError::Hindered(why) => assert!(why.contains("in time"), "{why}"),
            other => panic!("{other}"),
        }
    }

    #[tokio::test]
    async fn a_proxy_that_is_not_there_is_held_against_nobody() {
        // Bound and never listening: refused, and nobody else's meanwhile.
        let refusing = TcpSocket::new_v4().unwrap();
        refusing.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = refusing.local_addr().unwrap().port();
        let dialer = StaticDialer::default().through(Some(Proxy { host: "127.0.0.1".to_owned(), port }));
        assert!(matches!(dialer.dial("10.0.0.1", 80, soon()).await.err().unwrap(), DialError::Hindered(_)));
    }
}
