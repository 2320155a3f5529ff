//! Requests that go on to what runs in a Pod: its log, its ports, its HTTP server.

use http::request::Parts;
use http::{Method, Response};

use super::app::App;
use super::body::Body;
use super::route::{ObjectPath, Route};
use super::{forward, logs, proxy};
use crate::auth::User;
use crate::error::ApiError;

/// A request that is not answered from the store.
#[derive(Debug, PartialEq, Eq)]
pub enum Onward {
    /// For a Pod's log.
    Log(ObjectPath),
    /// For bytes of its ports.
    Forward(ObjectPath),
    /// For an answer of its HTTP server.
    Proxy(proxy::Place),
}

impl Onward {
    /// What a request asks of a Pod, if it asks anything.
    pub fn asked_for(parts: &Parts) -> Option<Self> {
        if let Some(place) = proxy::Place::parse(parts.uri.path()) {
            return Some(Self::Proxy(place));
        }
        let Route::Object(path) = Route::parse(parts.uri.path()) else { return None };
        let of_pod = path.group.is_empty() && path.plural == "pods" && !path.namespace.is_empty();
        match path.subresource.as_str() {
            "log" if of_pod && parts.method == Method::GET => Some(Self::Log(path)),
            "portforward" if of_pod => Some(Self::Forward(path)),
            _ => None,
        }
    }

    /// Answers it.
    ///
    /// # Errors
    /// 403 unless the user may, 404 where there is no such Pod, and what the Pod's own side says.
    pub async fn answer<B>(&self, app: &App, user: &User, parts: &Parts, body: B) -> Result<Response<Body>, ApiError>
    where
        B: http_body::Body<Data = bytes::Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match self {
            Self::Log(path) => logs::read(app, user, parts, path).await,
            Self::Forward(path) => forward::begin(app, user, parts, path),
            Self::Proxy(place) => proxy::pass(app, user, parts, place, body).await,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use http::Request;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/api/v1/namespaces/n/pods/p/log", "log")]
    #[case("/api/v1/namespaces/n/pods/p/portforward?ports=80", "portforward")]
    #[case("/api/v1/namespaces/n/pods/p:80/proxy/journal", "proxy")]
    #[case("/api/v1/namespaces/n/pods/p/status", "")]
    #[case("/api/v1/pods/p/log", "")]
    #[case("/apis/apps/v1/namespaces/n/pods/p/log", "")]
    #[case("/apis/apps/v1/namespaces/n/pods/p/portforward", "")]
    fn paths(#[case] path: &str, #[case] expected: &str) {
        let (parts, ()) = Request::get(path).body(()).unwrap().into_parts();
        let found = match Onward::asked_for(&parts) {
            Some(Onward::Log(_)) => "log",
            Some(Onward::Forward(_)) => "portforward",
            Some(Onward::Proxy(_)) => "proxy",
            None => "",
        };
        assert_eq!(found, expected);
    }
}
