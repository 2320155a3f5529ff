//! HTTP: from requests to the cluster and back.

mod answers;
mod app;
mod body;
mod counters;
mod decode;
mod discovery;
mod dispatch;
mod disturb;
mod forward;
mod identity;
mod listener;
mod logs;
mod messages;
mod openapi;
mod pod;
mod pods;
mod proxy;
mod query;
mod reads;
mod reviews;
mod route;
mod scale;
mod service;
mod swagger;
mod tokens;
mod trouble;
mod watching;
mod writes;

pub use app::App;
pub use body::Body;
pub use counters::RequestCount;
pub use disturb::Disturbance;
pub use listener::Listener;
pub use service::InProcess;
pub use trouble::{Refusal, Trouble};
