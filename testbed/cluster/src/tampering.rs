//! One wrong value at one place of a running target, of whichever dialect.

use gateproof_arm::LogTamper;
use gateproof_controllers::faults::tamper::Tamper;
use serde_json::Value;

/// Handles on what is wrong with a running target. Clones share them, and a target that nobody makes wrong is plain.
#[derive(Debug, Clone, Default)]
pub struct Tampering {
    /// On objects, on what is exchanged, and on the API server.
    pub target: Tamper,
    /// On the log of requests of its scripted service, if it has one that keeps a log.
    pub requests: LogTamper,
}

/// Makes wrong what an implementation beside that of Gateway API writes.
pub(crate) struct Spoils(pub(crate) Tamper);

impl gateproof_runtime::behaviour::Spoiler for Spoils {
    fn spoil(&self, kind: &str, live: &Value, wanted: &mut Value) {
        self.0.spoil(kind, live, wanted);
    }

    fn restore(&self, kind: &str, object: &Value) -> Option<Value> {
        self.0.restore(kind, object)
    }
}
