//! What goes wrong with sessions of TLS that clients resume, and with the versions of it that they speak.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use gateproof_proxy::{
    ListenerKey,
    exchange::{Connection, Exchange},
};
use rustls::{
    HandshakeKind, ProtocolVersion, ServerConfig, ServerConnection,
    server::{ServerSessionMemoryCache, StoresServerSessions},
};

use super::{Fault, Seam};

/// How many sessions are kept in one place.
const KEPT: usize = 1024;

/// Keeps sessions for as long as it runs, and asks who resumes one for nothing more.
pub(super) struct KeepsSessions {
    /// Of which listener a place for sessions is.
    place: fn(ListenerKey) -> Option<ListenerKey>,
    /// Of the version of which they let their clients in; of any without one.
    version: Option<ProtocolVersion>,
    places: Mutex<BTreeMap<Option<ListenerKey>, Arc<ServerSessionMemoryCache>>>,
}

impl KeepsSessions {
    pub(super) fn at(place: fn(ListenerKey) -> Option<ListenerKey>) -> Arc<dyn Exchange> {
        Arc::new(Self { place, version: None, places: Mutex::default() })
    }

    /// Sessions of this version, from whichever listener.
    fn of(version: ProtocolVersion) -> Arc<dyn Exchange> {
        Arc::new(Self { place: |_| None, version: Some(version), places: Mutex::default() })
    }
}

impl Exchange for KeepsSessions {
    fn on_terms(&self, connection: &Connection, terms: Arc<ServerConfig>) -> Arc<ServerConfig> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let kept =
            places.entry((self.place)(connection.listener)).or_insert_with(|| ServerSessionMemoryCache::new(KEPT));
        let mut terms = ServerConfig::clone(&terms);
        terms.session_storage = Arc::clone(kept) as Arc<dyn StoresServerSessions>;
        Arc::new(terms)
    }

    fn on_shaken(&self, _: &Connection, handshake: &ServerConnection, is_admitted: bool) -> bool {
        is_admitted || (is_resumed(handshake) && self.version.is_none_or(|version| speaks(handshake, version)))
    }
}

fn is_resumed(handshake: &ServerConnection) -> bool {
    handshake.handshake_kind() == Some(HandshakeKind::Resumed)
}

/// Serves nobody whose handshake came to this.
struct Refuses(fn(&ServerConnection) -> bool);

impl Exchange for Refuses {
    fn on_shaken(&self, _: &Connection, handshake: &ServerConnection, is_admitted: bool) -> bool {
        is_admitted && !(self.0)(handshake)
    }
}

fn speaks(handshake: &ServerConnection, version: ProtocolVersion) -> bool {
    handshake.protocol_version() == Some(version)
}

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "resumes-old-sessions-of-other-ports",
        summary: "Lets clients of TLS 1.2 without a certificate in with a session that they began at a port which asks for none.",
        clauses: &["OWN-130"],
        seam: Seam::Exchange(|| KeepsSessions::of(ProtocolVersion::TLSv1_2)),
    },
    Fault {
        name: "resumes-sessions-of-former-authorities",
        summary: "Lets clients in with a session of TLS from before the authority of their certificate was exchanged.",
        clauses: &["OWN-131"],
        seam: Seam::Exchange(|| KeepsSessions::at(Some)),
    },
    Fault {
        name: "refuses-clients-that-resume-sessions",
        summary: "Resumes the session of TLS that a client offers, and closes the connection.",
        clauses: &["OWN-132"],
        seam: Seam::Exchange(|| Arc::new(Refuses(is_resumed))),
    },
    Fault {
        name: "serves-no-clients-of-tls-1-2",
        summary: "Serves no client over HTTPS that speaks nothing newer than TLS 1.2.",
        clauses: &["OWN-133"],
        seam: Seam::Exchange(|| Arc::new(Refuses(|handshake| speaks(handshake, ProtocolVersion::TLSv1_2)))),
    },
];
