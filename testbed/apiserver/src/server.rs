//! A running server.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use rand::Rng;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::auth::Issuer;
use crate::cluster::{Cluster, Housekeeper};
use crate::error::ApiError;
use crate::http::{App, InProcess, Listener, RequestCount, Trouble};
use crate::kinds::validation::Addresses;
use crate::tls::{self, TlsError};

/// How a server starts.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address of the listener; port 0 takes a free one.
    pub bind: SocketAddr,
    /// The CustomResourceDefinitions that are there from the start, and admission policies that hold of what comes later.
    pub crds: Vec<Value>,
    /// What of Kubernetes is not served, as `RESOURCE.GROUP`, of what [`OPTIONAL`](crate::OPTIONAL) has.
    pub without: Vec<String>,
    /// The bearer token that clients show; a random one where there is none.
    pub token: Option<String>,
    /// Take loopback addresses in Endpoints and EndpointSlices. A real API server refuses them; a test bed whose
    /// backends have no other address needs them. This is a divergence from Kubernetes.
    pub admit_loopback_endpoints: bool,
    /// Have cluster addresses of IPv4 and IPv6, so that Services may be of either family or of both.
    pub dual_stack: bool,
    /// Put a ServiceAccount `default` and a ConfigMap `kube-root-ca.crt` into every namespace, as controllers of a real
    /// cluster do. Whoever counts what is in a namespace does without.
    pub namespace_companions: bool,
    /// How many events each collection keeps for watches that resume; older ones are answered with 410.
    pub event_capacity: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            crds: Vec::new(),
            without: Vec::new(),
            token: None,
            admit_loopback_endpoints: false,
            dual_stack: false,
            namespace_companions: false,
            event_capacity: 4096,
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A CustomResourceDefinition does not stand.
    #[error("cannot install a custom resource definition: {0}")]
    Definition(#[from] ApiError),
    /// There is no certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
}

/// A Kubernetes API server within this process. It ends with [`Server::shutdown`] or when it is dropped.
pub struct Server {
    app: Arc<App>,
    address: SocketAddr,
    ca_pem: String,
    listener: Option<JoinHandle<()>>,
    housekeeper: JoinHandle<()>,
}

impl Server {
    /// Starts a server.
    ///
    /// # Errors
    /// [`StartError`]: a definition, the certificate or the address is at fault.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let addresses =
            Addresses { loopback_endpoints: options.admit_loopback_endpoints, dual_stack: options.dual_stack };
        let (cluster, changes) = Cluster::new(options.crds, options.without, options.event_capacity, addresses)?;
        let cluster = Arc::new(cluster);
        let token = options.token.unwrap_or_else(random_token);
        let app = Arc::new(App {
            cluster: cluster.clone(),
            counters: Default::default(),
            closing: CancellationToken::new(),
            trouble: Trouble::default(),
            token,
            issuer: Issuer::new().map_err(TlsError::Certificate)?,
        });
        let identity = tls::identity(options.bind)?;
        let failed = |source| StartError::Listen { address: options.bind, source };
        let listener = Listener::bind(options.bind, identity.config, app.clone()).await.map_err(failed)?;
        let address = listener.address().map_err(failed)?;
        let companions = options.namespace_companions.then(|| identity.ca_pem.clone());
        let housekeeper = tokio::spawn(Housekeeper::new(cluster, changes, companions).run());
        let listener = Some(tokio::spawn(listener.run()));
        Ok(Self { app, address, ca_pem: identity.ca_pem, listener, housekeeper })
    }

    /// `https://ADDRESS:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The address that the server listens on.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The bearer token that clients show.
    pub fn token(&self) -> &str {
        &self.app.token
    }

    /// The certificate of the authority that signed the server's, in PEM.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// A kubeconfig with one context, `gateproof`.
    pub fn kubeconfig(&self) -> String {
        let ca = base64::engine::general_purpose::STANDARD.encode(&self.ca_pem);
        let token = Value::String(self.app.token.clone());
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: gateproof\n  cluster:\n    server: {}\n    certificate-authority-data: {ca}\n\
             users:\n\
             - name: gateproof\n  user:\n    token: {token}\n\
             contexts:\n\
             - name: gateproof\n  context:\n    cluster: gateproof\n    user: gateproof\n\
             current-context: gateproof\n",
            self.url()
        )
    }

    /// Writes the kubeconfig to a file that only its owner may read.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn write_kubeconfig(&self, path: &Path) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        file.write_all(self.kubeconfig().as_bytes())
    }

    /// The server as a service within the process, without socket, TLS or token.
    pub fn service(&self) -> InProcess {
        InProcess::new(self.app.clone())
    }

    /// How often who asked for what so far.
    pub fn requests(&self) -> Vec<RequestCount> {
        self.app.counters.all()
    }

    /// Forgets all past events, as etcd's compaction does: earlier versions are answered with 410.
    pub fn compact(&self) {
        self.app.cluster.store.compact();
    }

    /// What goes wrong between the server and all its clients, for those who want to see them cope.
    pub fn trouble(&self) -> &Trouble {
        &self.app.trouble
    }

    /// Ends all watches, lets requests finish, and stops.
    pub async fn shutdown(mut self) {
        self.app.closing.cancel();
        if let Some(listener) = self.listener.take()
            && let Err(error) = listener.await
        {
            tracing::warn!(%error, "the listener did not end well");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.app.closing.cancel();
        self.housekeeper.abort();
    }
}

fn random_token() -> String {
    let mut bytes = [0u8; 24];
    rand::rng().fill(&mut bytes[..]);
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}
