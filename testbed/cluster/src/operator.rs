//! The scripted service `operator`: stops an implementation, and starts it again.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use gateproof_aso::runtime::ClientError;
use gateproof_aso::{Aso, Behaviour, Settings};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How many bytes a script may have.
const LIMIT: usize = 64 * 1024;

/// What a script may say.
const HELP: &str = "the rules are none, or {\"stop\": true}";

/// An implementation that scripts stop, and the service that they are put to. Dropping it stops both.
pub(crate) struct Operator {
    running: Arc<Running>,
    url: String,
    token: String,
    stop: CancellationToken,
    _guard: DropGuard,
}

/// What it takes to start the implementation, and the one that runs.
struct Running {
    client: Client,
    settings: Settings,
    behaviour: Behaviour,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    aso: Option<Aso>,
    /// The keys of the scripts that say stop.
    stopped_by: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    stop: bool,
}

impl Operator {
    /// Starts both.
    pub(crate) async fn start(
        client: Client,
        settings: Settings,
        behaviour: Behaviour,
    ) -> Result<Operator, OperatorError> {
        let state = Mutex::default();
        let running = Arc::new(Running { client, settings, behaviour, state });
        running.turn("", false).await?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (token, stop) = (uuid::Uuid::new_v4().simple().to_string(), CancellationToken::new());
        tokio::spawn(serve(listener, Arc::clone(&running), token.clone(), stop.clone()));
        Ok(Operator { running, url, token, _guard: stop.clone().drop_guard(), stop })
    }

    /// Where scripts are put to.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The bearer token for that.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Stops both; what was begun is brought to an end.
    pub(crate) async fn shutdown(self) {
        self.stop.cancel();
        if let Some(aso) = self.running.state.lock().await.aso.take() {
            aso.shutdown().await;
        }
    }
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The client for Azure.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The socket for scripts.
    #[error("cannot listen for scripts: {0}")]
    Listen(#[from] io::Error),
}

impl Running {
    /// A script says whether the implementation is stopped. It is, or it runs, when this returns.
    async fn turn(&self, key: &str, stops: bool) -> Result<(), ClientError> {
        let mut state = self.state.lock().await;
        if stops {
            state.stopped_by.insert(key.to_owned());
        } else {
            state.stopped_by.remove(key);
        }
        if !state.stopped_by.is_empty() {
            if let Some(aso) = state.aso.take() {
                aso.shutdown().await;
            }
        } else if state.aso.is_none() {
            let (client, settings, behaviour) = (self.client.clone(), self.settings.clone(), self.behaviour.clone());
            state.aso = Some(Aso::start(client, settings, behaviour)?);
        }
        Ok(())
    }
}

async fn serve(listener: TcpListener, running: Arc<Running>, token: String, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        let (running, token, stop) = (Arc::clone(&running), token.clone(), stop.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let (running, token) = (Arc::clone(&running), token.clone());
                async move { Ok::<_, Infallible>(answer(request, &running, &token).await) }
            });
            let serving = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                () = stop.cancelled() => {}
                ended = serving => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection to the operator's service ended abnormally");
                },
            }
        });
    }
}

async fn answer(request: Request<Incoming>, running: &Running, token: &str) -> Response<Full<Bytes>> {
    let (status, text) = match handle(request, running, token).await {
        Ok(()) => (StatusCode::NO_CONTENT, String::new()),
        Err((status, text)) => (status, text),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}

async fn handle(request: Request<Incoming>, running: &Running, token: &str) -> Result<(), (StatusCode, String)> {
    let given = request.headers().get(header::AUTHORIZATION).map(header::HeaderValue::as_bytes);
    if given != Some(format!("Bearer {token}").as_bytes()) {
        return Err((StatusCode::UNAUTHORIZED, "a bearer token is needed".to_owned()));
    }
    let path = request.uri().path();
    let key = path.strip_prefix("/control/scripts/").filter(|key| !key.is_empty() && !key.contains('/'));
    let key = key.ok_or_else(|| (StatusCode::NOT_FOUND, format!("{path} is not /control/scripts/KEY")))?.to_owned();
    let bad = |problem: &dyn std::fmt::Display| (StatusCode::BAD_REQUEST, format!("no script: {problem}; {HELP}"));
    let stops = match request.method().clone() {
        Method::PUT => {
            let body = Limited::new(request.into_body(), LIMIT).collect().await.map_err(|error| bad(&error))?;
            let script: Script = serde_json::from_slice(&body.to_bytes()).map_err(|error| bad(&error))?;
            script.rules.iter().any(|rule| rule.stop)
        }
        Method::DELETE => false,
        other => return Err((StatusCode::METHOD_NOT_ALLOWED, format!("{other}: only PUT and DELETE are known"))),
    };
    running.turn(&key, stops).await.map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}
