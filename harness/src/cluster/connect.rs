//! From what the user named to a connected client.

use std::path::PathBuf;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::api::{Api, ApiError};
use super::clock;

/// Where the cluster's address and credentials come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The text of a kubeconfig.
    Text(String),
    /// A kubeconfig file and a context of it; the current one unless given.
    File {
        /// Path.
        path: PathBuf,
        /// Context.
        context: Option<String>,
    },
    /// The usual rules: `$KUBECONFIG`, `~/.kube/config`, then the Pod's service account.
    Usual {
        /// Context; the current one unless given.
        context: Option<String>,
    },
}

/// Why there is no connection, named for the phase that failed.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No readable kubeconfig.
    #[error("cannot read the kubeconfig: {0}; name one with --kubeconfig or $KUBECONFIG")]
    Kubeconfig(String),
    /// The context isn't one of the file's.
    #[error("the kubeconfig has no context `{context}`; it has: {}", known.join(", "))]
    ContextMissing {
        /// Asked for.
        context: String,
        /// In the file.
        known: Vec<String>,
    },
    /// Unusable credentials or TLS material.
    #[error("cannot use the kubeconfig's credentials: {0}")]
    Credentials(String),
    /// Nobody answers.
    #[error("the API server {server} cannot be reached: {error}; check that the cluster runs and the address is right")]
    Unreachable {
        /// URL.
        server: String,
        /// What went wrong.
        error: String,
    },
    /// It answers, but not us.
    #[error("the API server {server} refused permission ({code}): {message}; check the user of the context")]
    Forbidden {
        /// URL.
        server: String,
        /// HTTP code.
        code: u16,
        /// Its text.
        message: String,
    },
    /// It answers, but not as an API server.
    #[error("{server} does not answer as a Kubernetes API server: {error}")]
    NotAnApiServer {
        /// URL.
        server: String,
        /// What it said.
        error: String,
    },
}

/// How often the version is asked for again if no answer comes: one lost connection is no reason to give up a run.
const TRIED_AGAIN: usize = 2;
/// The pause before it is asked for again; the next one is twice as long.
const PAUSE: Duration = Duration::from_millis(200);

/// Connects, and asks for the version to know that it works.
pub async fn connect(source: &Source) -> Result<Api, ConnectError> {
    let mut config = configuration(source).await?;
    // Retries are the writer's, which must see and bound every attempt.
    config.default_retry = false;
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| ConnectError::Credentials(super::api::chain(&error)))?;
    let api = Api::new(client);
    let mut pauses = ExponentialBuilder::new().with_min_delay(PAUSE).with_max_times(TRIED_AGAIN).build();
    let answer = loop {
        let answer = api.get("/version").await;
        let is_lost = matches!(answer, Err(ApiError::Transport(_)));
        match pauses.next().filter(|_| is_lost) {
            Some(pause) => clock::until(clock::now() + pause).await,
            None => break answer,
        }
    };
    match answer {
        Ok(version) if version.get("gitVersion").is_some() => Ok(api),
        Ok(_) => Err(ConnectError::NotAnApiServer { server, error: "/version holds no gitVersion".to_owned() }),
        Err(ApiError::Transport(error)) => Err(ConnectError::Unreachable { server, error }),
        Err(ApiError::Refused { code: code @ (401 | 403), message, .. }) => {
            Err(ConnectError::Forbidden { server, code, message })
        }
        Err(error) => Err(ConnectError::NotAnApiServer { server, error: error.to_string() }),
    }
}

async fn configuration(source: &Source) -> Result<Config, ConnectError> {
    let unreadable = |error: &dyn std::error::Error| ConnectError::Kubeconfig(super::api::chain(error));
    let (kubeconfig, context) = match source {
        Source::Text(text) => (Kubeconfig::from_yaml(text).map_err(|e| unreadable(&e))?, None),
        Source::File { path, context } => {
            let named = |error: String| ConnectError::Kubeconfig(format!("{}: {error}", path.display()));
            // Read here first for the operating system's own words.
            std::fs::read(path).map_err(|error| named(error.to_string()))?;
            (Kubeconfig::read_from(path).map_err(|error| named(super::api::chain(&error)))?, context.clone())
        }
        Source::Usual { context } => match (Kubeconfig::read(), context) {
            (Ok(kubeconfig), context) => (kubeconfig, context.clone()),
            (Err(error), Some(_)) => return Err(unreadable(&error)),
            (Err(error), None) => return Config::incluster().map_err(|_| unreadable(&error)),
        },
    };
    let known: Vec<String> = kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    if let Some(context) = &context
        && !known.contains(context)
    {
        return Err(ConnectError::ContextMissing { context: context.clone(), known });
    }
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|e| unreadable(&e))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const KUBECONFIG: &str = r"
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {}}]
contexts: [{name: one, context: {cluster: c, user: u}}, {name: two, context: {cluster: c, user: u}}]
";

    #[tokio::test]
    async fn a_missing_context_lists_those_there_are() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), KUBECONFIG).unwrap();
        let source = Source::File { path: file.path().to_owned(), context: Some("tow".to_owned()) };
        let error = connect(&source).await.err().unwrap();
        assert_eq!(error.to_string(), "the kubeconfig has no context `tow`; it has: one, two");
    }

    #[tokio::test]
    async fn nobody_at_the_address_is_unreachable() {
        let error = connect(&Source::Text(KUBECONFIG.to_owned())).await.err().unwrap();
        assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    }

    /// A server that closes so many connections before it answers.
    #[rstest]
    #[case::it_answers_at_last(TRIED_AGAIN, true)]
    #[case::it_never_does(TRIED_AGAIN + 1, false)]
    #[tokio::test]
    async fn a_lost_connection_is_made_again(#[case] lost: usize, #[case] connects: bool) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            for _ in 0..lost {
                drop(listener.accept().await.unwrap());
            }
            let (mut stream, _) = listener.accept().await.unwrap();
            // What nobody has read would reset the connection.
            let mut asked = [0; 1024];
            assert!(stream.read(&mut asked).await.unwrap() > 0);
            let body = r#"{"gitVersion": "v1.34.0"}"#;
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        let kubeconfig = KUBECONFIG.replace("127.0.0.1:1", &address.to_string());
        let connected = connect(&Source::Text(kubeconfig)).await;
        assert_eq!(connected.is_ok(), connects, "{:?}", connected.err());
    }
}
