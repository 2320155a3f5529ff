use std::sync::Arc;

use tokio_rustls::TlsConnector;

use super::{Sessions, connectors};

fn is_one(one: &TlsConnector, other: &TlsConnector) -> bool {
    Arc::ptr_eq(one.config(), other.config())
}

/// Whatever a later attempt would have, the session has what it began with, and each name is a session of its own.
#[test]
fn a_session_goes_on_with_its_first_client() {
    let (sessions, first, then) = (Sessions::default(), connectors().http1, connectors().http2);
    let began = sessions.of("one/a", &first);
    assert_eq!(began.config().alpn_protocols, first.config().alpn_protocols);
    assert!(is_one(&sessions.of("one/a", &then), &began));
    assert!(!is_one(&sessions.of("one/b", &first), &began));
    assert!(!is_one(&sessions.of("two/a", &first), &began));
}

/// The sessions of a scenario are those of its token, and not of one that begins alike.
#[test]
fn sessions_end_with_their_scenario() {
    let (sessions, connector) = (Sessions::default(), connectors().http1);
    let [own, other, longer] = ["one/a", "two/a", "one-more/a"].map(|name| sessions.of(name, &connector));
    sessions.release("one");
    assert!(is_one(&sessions.of("two/a", &connector), &other));
    assert!(is_one(&sessions.of("one-more/a", &connector), &longer));
    assert!(!is_one(&sessions.of("one/a", &connector), &own));
}
