//! A server under comparison.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateproof_apiserver::{Options, Server};
use http::{Request, header};
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::Setting;

/// How long a single answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(70);

/// One of the two servers.
#[derive(Clone)]
pub struct Subject {
    /// What to call it in reports.
    pub name: String,
    client: Client,
    embedded: Option<Arc<Server>>,
}

/// Why a server could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// There is no client for it.
    #[error("cannot connect by {name}: {message}")]
    Connect {
        /// Which server.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A request got no answer.
    #[error("{name}: no answer to {request}: {message}")]
    NoAnswer {
        /// Which server.
        name: String,
        /// The request.
        request: String,
        /// What is wrong.
        message: String,
    },
}

impl SubjectError {
    /// Whether this server gave no answer.
    pub fn is_silence_of(&self, subject: &Subject) -> bool {
        matches!(self, Self::NoAnswer { name, .. } if *name == subject.name)
    }
}

/// An answer as it came.
#[derive(Debug, Clone)]
pub struct Raw {
    /// The HTTP code.
    pub code: u16,
    /// The media type, without parameters.
    pub media: String,
    /// How many warnings came with it.
    pub warnings: usize,
    /// The body: JSON, or else its text.
    pub body: Value,
}

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The method.
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// The headers.
    pub headers: Vec<(header::HeaderName, String)>,
    /// The body.
    pub body: String,
}

impl Subject {
    /// The embedded server, started within this process.
    ///
    /// # Errors
    /// [`SubjectError::Connect`] if it does not start.
    pub async fn embedded(setting: Setting) -> Result<Self, SubjectError> {
        let name = "embedded".to_owned();
        let options = Options { dual_stack: setting == Setting::DualStack, ..Options::default() };
        let started = Server::start(options).await;
        let server =
            started.map_err(|error| SubjectError::Connect { name: name.clone(), message: error.to_string() })?;
        Ok(Self { name, client: Client::new(server.service(), "default"), embedded: Some(Arc::new(server)) })
    }

    /// The server that a kubeconfig names.
    ///
    /// # Errors
    /// [`SubjectError::Connect`] if the file is no kubeconfig.
    pub async fn of_kubeconfig(path: &Path) -> Result<Self, SubjectError> {
        let name = path.display().to_string();
        let failed = |message: String| SubjectError::Connect { name: name.clone(), message };
        let file = Kubeconfig::read_from(path).map_err(|error| failed(error.to_string()))?;
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        let mut config = config.map_err(|error| failed(error.to_string()))?;
        // Every answer is to be seen, those that ask for another try too.
        config.default_retry = false;
        let client = Client::try_from(config).map_err(|error| failed(error.to_string()))?;
        Ok(Self { name, client, embedded: None })
    }

    /// Whether it is the embedded one.
    pub fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// [`SubjectError::NoAnswer`] if there is none, or it ends early.
    pub async fn ask(&self, ask: &Ask) -> Result<Raw, SubjectError> {
        let answer = async {
            let response = self.send(ask).await?;
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await.map_err(|error| self.no_answer(ask, error.to_string()))?.to_bytes();
            Ok(raw(&parts, &bytes))
        };
        let in_time = tokio::time::timeout(ANSWER_LIMIT, answer).await;
        in_time.unwrap_or_else(|_| Err(self.no_answer(ask, format!("it did not end within {ANSWER_LIMIT:?}"))))
    }

    /// Opens a watch: its events, or the answer if it was refused.
    ///
    /// # Errors
    /// [`SubjectError::NoAnswer`] if there is none.
    pub async fn watch(&self, ask: &Ask) -> Result<Result<mpsc::UnboundedReceiver<Value>, Raw>, SubjectError> {
        let response = self.send(ask).await?;
        let (parts, mut body) = response.into_parts();
        if parts.status != http::StatusCode::OK {
            let bytes = body.collect().await.map_err(|error| self.no_answer(ask, error.to_string()))?.to_bytes();
            return Ok(Err(raw(&parts, &bytes)));
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut pending = Vec::new();
            while let Some(Ok(frame)) = body.frame().await {
                pending.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
                while let Some(end) = pending.iter().position(|&byte| byte == b'\n') {
                    let line: Vec<u8> = pending.drain(..=end).collect();
                    if sender.send(json_or_text(&line)).is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Ok(receiver))
    }

    async fn send(&self, ask: &Ask) -> Result<http::Response<Body>, SubjectError> {
        let mut request = Request::builder().method(ask.method.as_str()).uri(&ask.uri);
        for (name, value) in &ask.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(ask.body.clone().into_bytes()));
        let request = request.map_err(|error| self.no_answer(ask, error.to_string()))?;
        self.client.send(request).await.map_err(|error| self.no_answer(ask, error.to_string()))
    }

    fn no_answer(&self, ask: &Ask, message: String) -> SubjectError {
        SubjectError::NoAnswer { name: self.name.clone(), request: format!("{} {}", ask.method, ask.uri), message }
    }
}

fn raw(parts: &http::response::Parts, bytes: &Bytes) -> Raw {
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    Raw {
        code: parts.status.as_u16(),
        media: media.split(';').next().unwrap_or("").trim().to_owned(),
        warnings: parts.headers.get_all(header::WARNING).iter().count(),
        body: json_or_text(bytes),
    }
}

fn json_or_text(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into_owned().into())
}
