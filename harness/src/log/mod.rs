//! Everything a run has seen, in order: the one source of every verdict and report.
//!
//! Shells append [`Event`]s; the judge folds over them. Nothing here does I/O or reads a clock.

mod authority;
pub mod codec;
mod digest;
mod echo;
mod event;
mod exchange;
mod journal;
mod key;
mod made;
mod service;
mod started;
mod time;
mod timing;
mod tls_version;

pub use authority::Authority;
pub use digest::digest;
pub use echo::EchoText;
pub use event::{
    BackendBinding, Bindings, Body, Cause, Change, Ended, Event, GatewayBinding, KubernetesEvent, Scope, Sight, Write,
    WriteOutcome, WriteVerb,
};
pub use exchange::{
    Chain, ClientCertificate, Exchange, Extension, Hello, HttpAnswer, HttpRequest, Message, NO_PROTOCOL,
    PeerCertificate, ProbeError, ProbeRequest, Received, Reply, Role, TcpEnd, UdpEnd,
};
pub use journal::JournalEntry;
pub use key::ObjectKey;
pub use made::Carrier;
pub use service::ServiceRequest;
pub use started::{NotRun, RunStarted};
pub use time::Elapsed;
pub use timing::{MOST_VERSIONS, Timing, TimingProfile};
pub use tls_version::TlsVersion;
