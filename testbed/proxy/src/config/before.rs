use serde::Serialize;

use super::BackendTarget;

/// Asks somebody about a request before it is matched. Only who gets 200 goes on; anything else is the answer, and what fails is one
/// with 500.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Authorization {
    /// A name for logs, such as `namespace/service:port`.
    pub id: String,
    /// Who is asked.
    pub target: BackendTarget,
    /// What stands before the path of the request.
    pub prefix: String,
    /// The headers of the request that are shown, beside those that always are.
    pub shown: Vec<String>,
    /// The headers of the answer that the request goes on with; all if there is none.
    pub taken: Vec<String>,
    /// Whether an answer may change the host, which it must not.
    pub may_change_host: bool,
    /// Whether rules see the headers that the request goes on with, which they must.
    pub is_seen_by_rules: bool,
}
