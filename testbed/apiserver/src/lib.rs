//! A Kubernetes API server within a process, for tests: kube-rs, kubectl and client-go use it unmodified.
//!
//! Objects live in memory, in one ordered store; CustomResourceDefinitions are served as they come. Beside the API
//! there is what a cluster does on its own: owner references, namespaces and definitions are cleaned up, Services get
//! addresses. There are no nodes and nothing runs.
//!
//! Where it differs from a real API server, on purpose:
//! - Who has the server's own token may do everything; tokens of ServiceAccounts may do what roles and bindings grant, and
//!   discovery. Roles are not aggregated, and of the roles that a cluster begins with there is `cluster-admin` alone.
//! - Deletion has no grace period, since there is no kubelet that would end it.
//! - Answers are JSON or YAML, never protobuf; bodies of built-in kinds may be protobuf.
//! - A CustomResourceDefinition's versions are converted by their apiVersion alone; webhooks are refused.
//! - A definition is established when the request that wrote it returns.
//! - ServiceAccounts `default` and `kube-root-ca.crt` are there with [`Options::namespace_companions`] alone.
//! - Of admission policies there are validating ones alone, without parameters and without an authorizer. They hold at once, and of requests
//!   in the version in which those come.
//! - A ClusterTrustBundle of a signer may be written by whoever may write one.
//! - Ports of Pods are forwarded over WebSockets that speak `v4.channel.k8s.io`, and requests passed on to Pods over plain HTTP; the server
//!   connects to the Pod's address itself. SPDY, which kubectl speaks, is not spoken.
//! - With [`Options::admit_loopback_endpoints`], Endpoints and EndpointSlices may hold loopback addresses.

mod auth;
mod cluster;
pub mod crds;
mod digest;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod http;
mod jsonpath;
mod kinds;
mod meta;
pub mod patch;
mod present;
mod resource;
pub mod schema;
mod select;
mod server;
mod store;
mod tls;
mod wire;

pub use error::{ApiError, Details, StatusCause};
pub use http::{Body, Disturbance, InProcess, Refusal, RequestCount, Trouble};
pub use kinds::OPTIONAL;
pub use server::{Options, Server, StartError};
pub use tls::TlsError;
