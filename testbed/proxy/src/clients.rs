//! Certificates of clients, as listeners ask for them.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};

use crate::config::{Admits, ClientValidation, Refuses};
use crate::pem::bundle;

/// The validation of a listener made ready.
#[derive(Clone)]
pub(crate) struct Validation {
    gate: Arc<Gate>,
    refuses: Refuses,
}

impl Validation {
    /// Reads the authorities.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn new(from: &ClientValidation) -> Result<Self, String> {
        let provider = Arc::new(ring::default_provider());
        let chains: Arc<dyn ClientCertVerifier> = if from.admits == Admits::Shown && from.authorities.is_empty() {
            Arc::new(Unchecked(provider))
        } else {
            let roots = bundle(&from.authorities).map_err(|why| format!("the authority of clients {why}"))?;
            let chains = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            chains.build().map_err(|error| error.to_string())?
        };
        Ok(Self { gate: Arc::new(Gate { chains, admits: from.admits }), refuses: from.refuses })
    }

    /// What looks at certificates within the handshake.
    pub(crate) fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        match self.refuses {
            Refuses::InHandshake => Arc::clone(&self.gate) as Arc<dyn ClientCertVerifier>,
            Refuses::BehindHandshake => {
                Arc::new(Gate { chains: Arc::clone(&self.gate.chains), admits: Admits::Everybody })
            }
        }
    }

    /// Whether a client is admitted whose handshake is through.
    pub(crate) fn admits(&self, shown: Option<&[CertificateDer<'_>]>) -> bool {
        match shown {
            Some([own, rest @ ..]) => self.gate.verify_client_cert(own, rest, UnixTime::now()).is_ok(),
            _ => !self.gate.client_auth_mandatory(),
        }
    }
}

/// Knows no authority: of a certificate nothing counts but that its key is at hand.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ClientCertVerifier for Unchecked {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Looks at chains, and lets in whom it is told to beside the valid ones.
struct Gate {
    chains: Arc<dyn ClientCertVerifier>,
    admits: Admits,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("admits", &self.admits).finish_non_exhaustive()
    }
}

impl ClientCertVerifier for Gate {
    fn client_auth_mandatory(&self) -> bool {
        !matches!(self.admits, Admits::ValidOrNone | Admits::AllButExpired | Admits::AllButToCome | Admits::Everybody)
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chains.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let is_outdated = |error: &Error| {
            matches!(
                error,
                Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. })
            )
        };
        let is_early = |error: &Error| {
            matches!(
                error,
                Error::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. })
            )
        };
        let between = if self.admits == Admits::SignedByThem { &[] } else { intermediates };
        match (self.chains.verify_client_cert(end_entity, between, now), self.admits) {
            (Err(_), Admits::Shown | Admits::Everybody) => Ok(ClientCertVerified::assertion()),
            (Err(error), Admits::ValidOrExpired) if is_outdated(&error) => Ok(ClientCertVerified::assertion()),
            (Err(error), Admits::AllButExpired) if !is_outdated(&error) => Ok(ClientCertVerified::assertion()),
            (Err(error), Admits::ValidOrToCome) if is_early(&error) => Ok(ClientCertVerified::assertion()),
            (Err(error), Admits::AllButToCome) if !is_early(&error) => Ok(ClientCertVerified::assertion()),
            (verified, _) => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chains.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chains.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
    use rstest::rstest;

    use super::*;

    fn authority() -> (String, Issuer<'static, KeyPair>) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        (pem, Issuer::new(params, key))
    }

    /// A certificate, perhaps for a year of its own.
    fn certificate(by: &Issuer<'_, KeyPair>, year: Option<i32>) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        if let Some(year) = year {
            (params.not_before, params.not_after) = (date_time_ymd(year, 1, 1), date_time_ymd(year + 1, 1, 1));
        }
        params.signed_by(&KeyPair::generate().unwrap(), by).unwrap().der().clone()
    }

    /// Whether one is admitted with a valid certificate, with one of a stranger, with one whose time is over, with one whose time
    /// is to come, and with none.
    #[rstest]
    #[case(Admits::Valid, [true, false, false, false, false])]
    #[case(Admits::SignedByThem, [true, false, false, false, false])]
    #[case(Admits::ValidOrNone, [true, false, false, false, true])]
    #[case(Admits::ValidOrExpired, [true, false, true, false, false])]
    #[case(Admits::ValidOrToCome, [true, false, false, true, false])]
    #[case(Admits::Shown, [true, true, true, true, false])]
    #[case(Admits::AllButExpired, [true, true, false, true, true])]
    #[case(Admits::AllButToCome, [true, true, true, false, true])]
    #[case(Admits::Everybody, [true, true, true, true, true])]
    fn certificates_decide_who_is_admitted(#[case] admits: Admits, #[case] expected: [bool; 5]) {
        let ((pem, own), (_, stranger)) = (authority(), authority());
        let shown = [
            Some(certificate(&own, None)),
            Some(certificate(&stranger, None)),
            Some(certificate(&own, Some(2000))),
            Some(certificate(&own, Some(2099))),
            None,
        ];
        for refuses in [Refuses::InHandshake, Refuses::BehindHandshake] {
            let validation = ClientValidation { authorities: pem.clone(), admits, refuses };
            let validation = Validation::new(&validation).unwrap();
            let admitted = shown.each_ref().map(|one| validation.admits(one.as_ref().map(std::slice::from_ref)));
            assert_eq!(admitted, expected);
        }
    }

    #[test]
    fn authorities_have_to_be_some() {
        for authorities in ["", "no certificate"] {
            let (admits, refuses) = (Admits::Everybody, Refuses::InHandshake);
            assert!(
                Validation::new(&ClientValidation { authorities: authorities.to_owned(), admits, refuses }).is_err()
            );
        }
        let unchecked = |authorities: &str| {
            let (admits, refuses) = (Admits::Shown, Refuses::InHandshake);
            Validation::new(&ClientValidation { authorities: authorities.to_owned(), admits, refuses })
        };
        assert!(unchecked("no certificate").is_err());
        let (_, stranger) = authority();
        let admits =
            |shown: Option<&CertificateDer<'static>>| unchecked("").unwrap().admits(shown.map(std::slice::from_ref));
        assert!(admits(Some(&certificate(&stranger, None))) && !admits(None));
    }
}
