//! The data plane of the embedded target: one configuration type in, traffic out.
//!
//! [`config::Config`] says everything; [`Proxy::apply`] puts it in force as a whole. A request goes the way of
//! [`routing`] (which rule), [`compiled`] (which backend) and [`filters`] (with which changes); [`exchange::Exchange`]
//! is the one seam at which that can be made to differ from the specification.

pub mod answer;
mod authorize;
pub mod body;
mod chain;
mod clients;
pub mod compiled;
pub mod config;
mod draw;
mod error;
pub mod exchange;
pub mod filters;
pub mod grpc;
mod h2c;
pub mod matching;
mod mirror;
pub mod pem;
mod proxy;
pub mod reencrypt;
mod request;
mod retry;
pub mod routing;
pub mod server;
mod shared;
pub mod spread;
pub mod stream;
pub mod streams;
pub mod tls;
pub mod tunnel;
pub mod upstream;

pub use chain::Chain;
pub use compiled::{Compiled, ListenerKey};
pub use config::{Config, Problem};
pub use exchange::{Exchange, Plain};
pub use gateproof_lengths as lengths;
pub use proxy::{ApplyOutcome, BindFailure, ListenerOutcome, Proxy, ProxyOptions};
pub use server::udp::MOST_FLOWS;
