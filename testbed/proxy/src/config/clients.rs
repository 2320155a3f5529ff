//! What clients have to show.

use serde::Serialize;

/// How the certificates of a listener's clients are looked at. Whoever is not admitted gets no answer to any request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientValidation {
    /// Who must have signed the certificate, as a bundle in PEM. Nobody where [`Admits::Shown`] is all that is asked.
    pub authorities: String,
    /// Who is admitted.
    pub admits: Admits,
    /// When a client learns that it is not admitted.
    pub refuses: Refuses,
}

/// Who is admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Admits {
    /// Who shows a valid certificate.
    Valid,
    /// Who shows a valid certificate that one of the authorities signed itself.
    SignedByThem,
    /// Who shows a valid certificate, and who shows none.
    ValidOrNone,
    /// Who shows a certificate that is valid, or was once.
    ValidOrExpired,
    /// Who shows a certificate that is valid, or will be.
    ValidOrToCome,
    /// Who shows any certificate.
    Shown,
    /// Everybody but who shows a certificate whose time is over.
    AllButExpired,
    /// Everybody but who shows a certificate whose time is to come.
    AllButToCome,
    /// Everybody, although a certificate is asked for.
    Everybody,
}

/// When a client learns that it is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Refuses {
    /// By an alert that ends the handshake. With TLS 1.3 the client may be done with its part of it by then.
    InHandshake,
    /// By the end of the connection, when the handshake is through on both sides.
    BehindHandshake,
}
