//! Scripted services beside the target, by way of their control API: what they do is told to them, and what they were asked is
//! read from their log.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use indexmap::IndexMap;
use reqwest::{Certificate, Client, Method, RequestBuilder, StatusCode, redirect};
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Host, Url, form_urlencoded};

use super::api::chain;
use crate::log::ServiceRequest;

/// How long a service may take to answer: a rule of the harness, nobody is judged by it.
const LIMIT: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes.
const LONGEST: usize = 32 << 20;

/// How much of an answer an error shows, in characters.
const SHOWN: usize = 200;

/// A service as the user names it.
#[derive(Clone)]
pub struct ServiceAddress {
    /// Its name in manifests.
    pub name: String,
    /// Where its control API is: `/control/…` is below it.
    pub url: Url,
    /// The token that it asks for.
    pub token: Option<String>,
    /// The authority that signed its certificate, in PEM, if that is none that the system trusts.
    pub authority: Option<String>,
}

impl fmt::Debug for ServiceAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("ServiceAddress")
            .field("name", &self.name)
            .field("url", &self.url.as_str())
            .field("token", &token)
            .finish()
    }
}

/// A place in the bodies of requests that is looked at: a JSON pointer, and whether no more than the digest of what stands there is
/// asked for.
pub type BodyPlace<'a> = (&'a str, bool);

/// Why a service cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Its address.
    #[error("`{0}` is not the address of a service: {1}")]
    Address(String, &'static str),
    /// Its token.
    #[error("the token of the service `{0}` holds characters that no header may have")]
    Token(String),
    /// A token that others could read on its way.
    #[error("the token of the service `{name}` would go to {host} in plain text")]
    Plain {
        /// The service.
        name: String,
        /// Where it would go.
        host: String,
    },
    /// The authority of its certificate.
    #[error("the certificate of the authority of the service `{0}` cannot be read: {1}")]
    Authority(String, String),
    /// No client.
    #[error("cannot make a client for the service `{0}`: {1}")]
    Client(String, String),
}

/// Reads the address of a service: http or https, without credentials, query and fragment.
///
/// # Errors
/// If it is none.
pub fn address(text: &str) -> Result<Url, ServiceError> {
    let wrong = |why| ServiceError::Address(text.to_owned(), why);
    // What is wrong may hold credentials.
    let hidden = |why| ServiceError::Address("…".to_owned(), why);
    let url: Url = text.parse().map_err(|_| wrong("write http://HOST:PORT or https://HOST"))?;
    if !["http", "https"].contains(&url.scheme()) || url.host().is_none() {
        return Err(wrong("write http://HOST:PORT or https://HOST"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(hidden("it holds credentials; give a token in a file"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("it has a query or a fragment"));
    }
    Ok(url)
}

/// The services that a run may use.
#[derive(Clone, Default)]
pub struct Services {
    known: Arc<IndexMap<String, Control>>,
    /// Service and key of each script that is in force.
    scripted: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

struct Control {
    base: Url,
    token: Option<HeaderValue>,
    client: Client,
    /// The position that the next request will have in its log, as far as that is known.
    next: AtomicU64,
}

#[derive(Deserialize)]
struct Page {
    requests: Vec<ServiceRequest>,
    next: u64,
}

impl Services {
    /// Of these, each under its own name. Nothing is asked of them yet.
    ///
    /// # Errors
    /// If one cannot be used.
    pub fn new(addresses: impl IntoIterator<Item = ServiceAddress>) -> Result<Services, ServiceError> {
        let known = addresses.into_iter().map(|address| Ok((address.name.clone(), Control::new(address)?)));
        Ok(Services { known: Arc::new(known.collect::<Result<_, ServiceError>>()?), scripted: Arc::default() })
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }

    /// Tells a service what to do from here on, instead of what it was told under this key before.
    ///
    /// # Errors
    /// If it does not take it, in words.
    pub async fn script(&self, service: &str, key: &str, rules: &[Value]) -> Result<(), String> {
        let control = self.control(service)?;
        // It may have taken it although its answer is lost.
        self.scripted().insert((service.to_owned(), key.to_owned()));
        let body = json!({"rules": rules}).to_string();
        let request = control
            .request(Method::PUT, &["control", "scripts", key], None)
            .map(|request| request.header(CONTENT_TYPE, "application/json").body(body));
        answer(request).await.map(drop).map_err(|why| format!("it could not be told its script: {why}"))
    }

    /// Has the services forget what they were told under this key; of those that cannot be told so, the name and why.
    pub async fn release(&self, key: &str) -> Vec<(String, String)> {
        let of_key: Vec<(String, String)> = self.scripted().iter().filter(|(_, of)| of == key).cloned().collect();
        let mut failed = Vec::new();
        for (service, key) in of_key {
            let forgotten = match self.control(&service) {
                Ok(control) => forget(control.request(Method::DELETE, &["control", "scripts", &key], None)).await,
                Err(why) => Err(why),
            };
            self.scripted().remove(&(service.clone(), key));
            if let Err(why) = forgotten {
                failed.push((service, why));
            }
        }
        failed
    }

    /// The position that the next request will have in the log of a service.
    ///
    /// # Errors
    /// If that cannot be known, in words.
    pub async fn mark(&self, service: &str) -> Result<u64, String> {
        let control = self.control(service)?;
        let page = control.page(control.next.load(Ordering::Relaxed), &[]).await?;
        control.next.fetch_max(page.next, Ordering::Relaxed);
        Ok(page.next)
    }

    /// What the log of a service holds from this position on, with what is looked at of bodies, and the position that comes next.
    ///
    /// # Errors
    /// If it cannot be read, or holds not all of it any more, in words.
    pub async fn requests(
        &self,
        service: &str,
        from: u64,
        body: &[BodyPlace<'_>],
    ) -> Result<(Vec<ServiceRequest>, u64), String> {
        let control = self.control(service)?;
        let Page { requests, next } = control.page(from, body).await?;
        whole(&requests, from, next)?;
        Ok((requests, next))
    }

    fn control(&self, service: &str) -> Result<&Control, String> {
        self.known.get(service).ok_or_else(|| "nobody has named it".to_owned())
    }

    fn scripted(&self) -> MutexGuard<'_, BTreeSet<(String, String)>> {
        self.scripted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Control {
    fn new(address: ServiceAddress) -> Result<Control, ServiceError> {
        let ServiceAddress { name, url, token, authority } = address;
        let is_local = match url.host() {
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        if token.is_some() && url.scheme() == "http" && !is_local {
            let host = url.host_str().unwrap_or_default().to_owned();
            return Err(ServiceError::Plain { name, host });
        }
        let token = token
            .map(|token| {
                let mut value =
                    HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| ServiceError::Token(name.clone()))?;
                value.set_sensitive(true);
                Ok(value)
            })
            .transpose()?;
        let mut client = Client::builder().timeout(LIMIT).redirect(redirect::Policy::none()).no_proxy();
        if let Some(pem) = authority {
            let unread = |why: String| ServiceError::Authority(name.clone(), why);
            let known = Certificate::from_pem_bundle(pem.as_bytes()).map_err(|error| unread(chain(&error)))?;
            if known.is_empty() {
                return Err(unread("it is no certificate in PEM".to_owned()));
            }
            client = client.tls_certs_only(known);
        }
        let client = client.build().map_err(|error| ServiceError::Client(name, chain(&error)))?;
        Ok(Control { base: url, token, client, next: AtomicU64::new(1) })
    }

    fn request(&self, method: Method, path: &[&str], query: Option<&str>) -> Result<RequestBuilder, String> {
        let mut url = self.base.clone();
        url.path_segments_mut().map_err(|()| "its address has no path".to_owned())?.pop_if_empty().extend(path);
        url.set_query(query);
        let request = self.client.request(method, url);
        Ok(match &self.token {
            Some(token) => request.header(AUTHORIZATION, token.clone()),
            None => request,
        })
    }

    async fn page(&self, from: u64, body: &[BodyPlace<'_>]) -> Result<Page, String> {
        let request = self.request(Method::GET, &["control", "requests"], Some(&page(from, body)));
        let read = async {
            let text = answer(request).await?;
            serde_json::from_slice(&text).map_err(|error| format!("its answer is not understood: {error}"))
        };
        read.await.map_err(|why: String| format!("its log cannot be read: {why}"))
    }
}

/// What is asked for in the query.
fn page(from: u64, body: &[BodyPlace<'_>]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("after", &from.saturating_sub(1).to_string());
    query.extend_pairs(body.iter().map(|(pointer, is_secret)| (if *is_secret { "digest" } else { "body" }, pointer)));
    query.finish()
}

/// Whether a part of a log is all that there was from a position on.
fn whole(requests: &[ServiceRequest], from: u64, next: u64) -> Result<(), String> {
    if next < from {
        return Err(format!("its log ends at {next} and was at {from} before: it has begun anew"));
    }
    let first = requests.first().map_or(next, |request| request.seq);
    if first > from {
        return Err(format!("its log begins at {first} only, and {from} is asked for: it has dropped requests"));
    }
    Ok(())
}

async fn answer(request: Result<RequestBuilder, String>) -> Result<Vec<u8>, String> {
    let (status, text) = exchange(request).await?;
    if status.is_success() { Ok(text) } else { Err(refused(status, &text)) }
}

/// The same of a deletion: what is not there is as good as gone, such as a script that was refused.
async fn forget(request: Result<RequestBuilder, String>) -> Result<(), String> {
    let (status, text) = exchange(request).await?;
    if status.is_success() || status == StatusCode::NOT_FOUND { Ok(()) } else { Err(refused(status, &text)) }
}

fn refused(status: StatusCode, text: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(text).chars().take(SHOWN).collect();
    format!("it answered {status}: {shown}")
}

async fn exchange(request: Result<RequestBuilder, String>) -> Result<(StatusCode, Vec<u8>), String> {
    let failed = |error: reqwest::Error| {
        let phase = if error.is_timeout() {
            format!("no answer within {} s", LIMIT.as_secs())
        } else if error.is_connect() {
            "no connection".to_owned()
        } else {
            "the exchange broke off".to_owned()
        };
        format!("{phase}: {}", chain(&error.without_url()))
    };
    let mut answer = request?.send().await.map_err(failed)?;
    let mut text = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(failed)? {
        if text.len() + chunk.len() > LONGEST {
            return Err(format!("it answered more than {LONGEST} bytes"));
        }
        text.extend_from_slice(&chunk);
    }
    Ok((answer.status(), text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn request(seq: u64) -> ServiceRequest {
        ServiceRequest {
            seq,
            time: "2026-01-01T00:00:00.000000Z".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            query: String::new(),
            caller: String::new(),
            status: 200,
            body: None,
        }
    }

    #[rstest]
    #[case::all(&[3, 4], 3, 5, None)]
    #[case::none_since(&[], 3, 3, None)]
    #[case::dropped(&[5], 3, 6, Some("begins at 5 only"))]
    #[case::all_dropped(&[], 3, 6, Some("begins at 6 only"))]
    #[case::begun_anew(&[1], 3, 2, Some("begun anew"))]
    fn a_log_with_a_hole_says_nothing(
        #[case] there: &[u64],
        #[case] from: u64,
        #[case] next: u64,
        #[case] told: Option<&str>,
    ) {
        let there: Vec<ServiceRequest> = there.iter().map(|seq| request(*seq)).collect();
        match (whole(&there, from, next), told) {
            (Ok(()), None) => {}
            (Err(said), Some(told)) => assert!(said.contains(told), "{said}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[rstest]
    #[case::plain("http://127.0.0.1:80", None)]
    #[case::below("https://a.example/x/", None)]
    #[case::no_url("arm", Some("write http://HOST:PORT"))]
    #[case::other_scheme("ftp://a", Some("write http://HOST:PORT"))]
    #[case::credentials("http://me:secret@a", Some("holds credentials"))]
    #[case::query("http://a/?b", Some("a query or a fragment"))]
    fn an_address_is_a_plain_url(#[case] text: &str, #[case] told: Option<&str>) {
        match (address(text), told) {
            (Ok(_), None) => {}
            (Err(error), Some(told)) => {
                assert!(error.to_string().contains(told), "{error}");
                assert!(!error.to_string().contains("secret"), "{error}");
            }
            (found, _) => panic!("{found:?}"),
        }
    }

    #[rstest]
    #[case::local("http://127.0.0.1:80", true)]
    #[case::local_v6("http://[::1]:80", true)]
    #[case::by_name("http://localhost", true)]
    #[case::hidden("https://a.example", true)]
    #[case::open("http://a.example", false)]
    fn a_token_is_sent_to_nobody_in_plain_text(#[case] url: &str, #[case] good: bool) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let of = |token: Option<&str>| ServiceAddress {
            name: "a".to_owned(),
            url: address(url).unwrap(),
            token: token.map(str::to_owned),
            authority: None,
        };
        assert!(Services::new([of(None)]).is_ok());
        assert_eq!(Services::new([of(Some("secret"))]).is_ok(), good);
        assert!(!format!("{:?}", of(Some("secret"))).contains("secret"));
        assert!(Services::new([of(Some("a\nb"))]).is_err());
    }

    /// A service that refused its script has none to forget; one that does not say so may have it still.
    #[rstest]
    #[case::not_there("404 Not Found", 0)]
    #[case::unknown("500 Internal Server Error", 1)]
    #[tokio::test]
    async fn what_a_service_never_took_is_not_left_behind(#[case] status: &'static str, #[case] left: usize) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = address(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let service = ServiceAddress { name: "a".to_owned(), url, token: None, authority: None };
        let services = Services::new([service]).unwrap();
        assert!(services.script("a", "key", &[]).await.unwrap_err().contains(status));
        assert_eq!(services.release("key").await.len(), left);
    }
}
