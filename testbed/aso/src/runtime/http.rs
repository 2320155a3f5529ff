//! The client of ARM over HTTP.

use std::{collections::BTreeMap, time::Duration};

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use reqwest::{Certificate, Client, Url, redirect};
use serde_json::Value;
use tokio::sync::Mutex;

use crate::{
    arm::{ArmClient, Method, Outcome, Request, Response},
    settings::{Identity, Settings},
};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A token is fetched anew so long before its end.
const EARLY: SignedDuration = SignedDuration::from_secs(30);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The URL of ARM does not read.
    #[error("the URL of ARM, {url:?}, cannot be used: {problem}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The rest.
    #[error("the client of ARM cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// Sends requests to ARM, with bearer tokens of managed identities.
pub struct HttpArm {
    client: Client,
    base: Url,
    audience: String,
    identity: Option<Identity>,
    /// Tokens and when they end, by client id; an empty one is the operator's own.
    tokens: Mutex<BTreeMap<String, (String, Timestamp)>>,
}

impl HttpArm {
    /// Makes a client. With TLS, the process needs a default provider of cryptography for rustls.
    ///
    /// # Errors
    /// [`ClientError`]: the URL or the certificate does not read.
    pub fn new(settings: &Settings) -> Result<Self, ClientError> {
        let failed = |problem: String| ClientError::Url { url: settings.arm.clone(), problem };
        let base = Url::parse(&settings.arm).map_err(|error| failed(error.to_string()))?;
        // Whoever has installed one already has installed a provider too, which is all that is needed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder().timeout(TIMEOUT).redirect(redirect::Policy::none()).no_proxy();
        let client = match &settings.ca_pem {
            Some(pem) => builder.tls_certs_only([Certificate::from_pem(pem.as_bytes())?]),
            None => builder.tls_certs_only([]),
        };
        let audience = settings.arm.trim_end_matches('/').to_owned();
        Ok(Self {
            client: client.build()?,
            base,
            audience,
            identity: settings.identity.clone(),
            tokens: Mutex::default(),
        })
    }

    async fn try_send(&self, request: &Request) -> Outcome {
        let url = self.base.join(&request.url).map_err(|error| format!("{:?} is no URL: {error}", request.url))?;
        // The token must not go to whomever an answer names.
        if url.origin() != self.base.origin() {
            return Err(format!("ARM named a URL of another server: {url}"));
        }
        let method = match request.method {
            Method::Get => reqwest::Method::GET,
            Method::Put => reqwest::Method::PUT,
            Method::Post => reqwest::Method::POST,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut builder = self.client.request(method, url);
        if let Some(identity) = &self.identity {
            builder = builder.bearer_auth(self.token(identity, request.caller.as_deref().unwrap_or_default()).await?);
        }
        if let Some(body) = &request.body {
            builder = builder.header("content-type", "application/json").body(body.to_string());
        }
        let failed = |error: reqwest::Error| format!("ARM does not answer: {error}");
        let response = builder.send().await.map_err(failed)?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut answer = Response {
            status: response.status().as_u16(),
            operation: header("azure-asyncoperation"),
            location: header("location"),
            retry_after: header("retry-after").and_then(|text| text.parse().ok()),
            body: Value::Null,
        };
        let body = response.bytes().await.map_err(failed)?;
        answer.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        Ok(answer)
    }

    async fn token(&self, identity: &Identity, client: &str) -> Result<String, String> {
        let mut kept = self.tokens.lock().await;
        if let Some((token, expires)) = kept.get(client)
            && Timestamp::now().saturating_add(EARLY).is_ok_and(|soon| soon < *expires)
        {
            return Ok(token.clone());
        }
        let failed = |error: reqwest::Error| format!("the credential cannot get a token: {}", error.without_url());
        let mut url = Url::parse(&identity.url).map_err(|error| format!("the identity endpoint is no URL: {error}"))?;
        url.query_pairs_mut().append_pair("api-version", "2019-08-01").append_pair("resource", &self.audience);
        if !client.is_empty() {
            url.query_pairs_mut().append_pair("client_id", client);
        }
        let request = self.client.get(url).header("X-IDENTITY-HEADER", &identity.header);
        let response = request.send().await.map_err(failed)?.error_for_status().map_err(failed)?;
        let body = response.bytes().await.map_err(failed)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let token = body["access_token"].as_str().ok_or("the identity endpoint gave no access_token")?.to_owned();
        let seconds =
            body["expires_on"].as_str().and_then(|text| text.parse().ok()).or_else(|| body["expires_on"].as_i64());
        let expires = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).unwrap_or_else(Timestamp::now);
        kept.insert(client.to_owned(), (token.clone(), expires));
        Ok(token)
    }
}

impl ArmClient for HttpArm {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Outcome> {
        Box::pin(self.try_send(request))
    }
}
