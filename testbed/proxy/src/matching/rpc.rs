//! Calls of gRPC: their paths are `/SERVICE/METHOD`.

use super::fields::ValuePredicate;
use crate::config::ValueMatch;

/// A match of service and method, ready to use.
#[derive(Debug, Clone)]
pub struct RpcPredicate {
    service: Option<ValuePredicate>,
    method: Option<ValuePredicate>,
}

impl RpcPredicate {
    /// Compiles both parts; one that is not given matches every name.
    ///
    /// # Errors
    /// A regular expression is none.
    pub fn compile(service: Option<&ValueMatch>, method: Option<&ValueMatch>) -> Result<Self, regex::Error> {
        let part = |of: Option<&ValueMatch>| of.map(ValuePredicate::compile).transpose();
        Ok(Self { service: part(service)?, method: part(method)? })
    }

    /// Whether the raw path is that of a call that matches.
    pub fn holds(&self, path: &str) -> bool {
        let Some((service, method)) = path.strip_prefix('/').and_then(|path| path.rsplit_once('/')) else {
            return false;
        };
        let fits = |part: &Option<ValuePredicate>, name: &str| part.as_ref().is_none_or(|part| part.holds(name));
        fits(&self.service, service) && fits(&self.method, method)
    }

    /// How many characters the service and the method that are asked for have.
    pub fn lengths(&self) -> (usize, usize) {
        let length = |part: &Option<ValuePredicate>| part.as_ref().map_or(0, ValuePredicate::length);
        (length(&self.service), length(&self.method))
    }
}
