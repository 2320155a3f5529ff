//! Taking connections and serving them.

pub mod accept;
mod heads;
pub mod http;
pub mod tcp;
pub mod tls;
pub mod udp;
