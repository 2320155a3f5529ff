use serde::Deserialize;

use super::{BackendRef, ExtensionRef};

/// `listeners[].filters`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ListenerFilters {
    /// What happens to each request before it is matched, in order.
    pub requests: Vec<ListenerFilter>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListenerFilter {
    /// The discriminator.
    pub r#type: String,
    /// With `ExternalAuth`.
    pub external_auth: Option<ExternalAuth>,
    /// With `ExtensionRef`.
    pub extension_ref: Option<ExtensionRef>,
}

/// Somebody who is asked about requests.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalAuth {
    /// `HTTP` or `GRPC`.
    pub protocol: String,
    /// Who is asked.
    pub backend_ref: BackendRef,
    /// How it is asked over HTTP.
    pub http: HttpAuth,
    /// How much of the body is shown.
    pub forward_body: ForwardBody,
}

/// How somebody is asked over HTTP.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpAuth {
    /// What stands before the path.
    pub path: String,
    /// Headers that are shown beside those that always are.
    pub allowed_headers: Vec<String>,
    /// Headers that the request goes on with; all if there are none.
    pub allowed_response_headers: Vec<String>,
}

/// How much of a body is shown.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ForwardBody {
    /// How many bytes; none if 0.
    pub max_size: u32,
}
