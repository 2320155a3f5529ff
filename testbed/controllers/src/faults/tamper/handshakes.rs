use std::sync::Arc;

use gateproof_proxy::{
    compiled::Compiled,
    config::{Certificate, Protocol, Sensitive},
};

/// What goes wrong with handshakes, and the configuration that was made for it last.
#[derive(Default)]
pub(super) struct Handshakes {
    /// A certificate that nobody asked for.
    certificate: Option<Certificate>,
    /// Whether clients are asked for nothing.
    admits_clients: bool,
    made: Option<Arc<Compiled>>,
}

impl Handshakes {
    /// Presents a certificate that nobody asked for.
    pub(super) fn present_another(&mut self) -> Result<(), rcgen::Error> {
        let rcgen::CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(["tampered.invalid".to_owned()])?;
        self.certificate =
            Some(Certificate { chain_pem: cert.pem(), key_pem: Sensitive::new(signing_key.serialize_pem()) });
        self.made = None;
        Ok(())
    }

    /// Asks clients for nothing.
    pub(super) fn admit_clients(&mut self) {
        self.admits_clients = true;
        self.made = None;
    }

    pub(super) fn instead_of(&mut self, current: &Arc<Compiled>) -> Arc<Compiled> {
        if self.certificate.is_none() && !self.admits_clients {
            return Arc::clone(current);
        }
        if let Some(made) = self.made.as_ref().filter(|made| made.generation == current.generation) {
            return Arc::clone(made);
        }
        let mut config = current.config.clone();
        for listener in &mut config.listeners {
            let (https, streams) = match &mut listener.protocol {
                Protocol::Https(listeners) => (listeners.as_mut_slice(), [].as_mut_slice()),
                Protocol::Tls(port) => (port.https.as_mut_slice(), port.streams.as_mut_slice()),
                _ => continue,
            };
            if self.admits_clients {
                https.iter_mut().for_each(|one| one.clients = None);
            }
            if let Some(certificate) = &self.certificate {
                https.iter_mut().for_each(|one| one.certificates = vec![certificate.clone()]);
                streams.iter_mut().for_each(|one| one.certificates = Some(vec![certificate.clone()]));
            }
        }
        let made = Arc::new(Compiled::new(config, current.generation));
        self.made = Some(Arc::clone(&made));
        made
    }
}
