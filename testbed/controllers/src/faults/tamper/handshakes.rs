use std::sync::Arc;

use gateproof_proxy::{
    compiled::Compiled,
    config::{Certificate, Hostname, Protocol, Sensitive, TlsListener, VirtualHost},
};
use rcgen::{CertifiedKey, KeyPair};
use rustls_pki_types::{CertificateDer, pem::PemObject};

/// What goes wrong with handshakes, and the configuration that was made for it last.
#[derive(Default)]
pub(super) struct Handshakes {
    /// A certificate that nobody asked for.
    certificate: Option<Certificate>,
    /// Whether nobody has signed what is presented.
    forged: bool,
    /// Names for which TLS ends wherever it ends for others, with the certificates for that.
    welcome: Vec<(String, Certificate)>,
    /// Whether clients are asked for nothing.
    admits_clients: bool,
    keeps_strangers: bool,
    made: Option<Arc<Compiled>>,
}

impl Handshakes {
    /// Presents a certificate that nobody asked for.
    pub(super) fn present_another(&mut self) -> Result<(), rcgen::Error> {
        self.certificate = Some(certificate("tampered.invalid")?);
        self.made = None;
        Ok(())
    }

    /// Presents certificates with the same names that nobody signed.
    pub(super) fn forge(&mut self) {
        self.forged = true;
        self.made = None;
    }

    /// Lets TLS end for a name wherever it ends for others.
    pub(super) fn welcome(&mut self, name: &str) -> Result<(), rcgen::Error> {
        self.welcome.push((name.to_owned(), certificate(name)?));
        self.made = None;
        Ok(())
    }

    /// Asks clients for nothing.
    pub(super) fn keep_strangers(&mut self) {
        self.keeps_strangers = true;
    }

    pub(super) fn keeps_strangers(&self) -> bool {
        self.keeps_strangers
    }

    pub(super) fn admit_clients(&mut self) {
        self.admits_clients = true;
        self.made = None;
    }

    pub(super) fn instead_of(&mut self, current: &Arc<Compiled>) -> Arc<Compiled> {
        if self.certificate.is_none() && !self.forged && self.welcome.is_empty() && !self.admits_clients {
            return Arc::clone(current);
        }
        if let Some(made) = self.made.as_ref().filter(|made| made.generation == current.generation) {
            return Arc::clone(made);
        }
        let mut config = current.config.clone();
        for listener in &mut config.listeners {
            let (https, streams) = match &mut listener.protocol {
                Protocol::Https(listeners) => (listeners, [].as_mut_slice()),
                Protocol::Tls(port) => (&mut port.https, port.streams.as_mut_slice()),
                _ => continue,
            };
            for (name, certificate) in &self.welcome {
                let own = Hostname::Exact(name.clone());
                let is_known = https.iter().any(|one| one.virtual_host.hostname == own)
                    || streams.iter().any(|one| one.hostname == own);
                if !is_known {
                    let virtual_host = VirtualHost {
                        listener: "tampered".to_owned(),
                        hostname: own,
                        routes: Vec::new(),
                        before: Vec::new(),
                    };
                    https.push(TlsListener { virtual_host, certificates: vec![certificate.clone()], clients: None });
                }
            }
            if self.admits_clients {
                https.iter_mut().for_each(|one| one.clients = None);
            }
            if self.forged {
                let streams = streams.iter_mut().filter_map(|one| one.certificates.as_mut());
                let all = https.iter_mut().map(|one| &mut one.certificates).chain(streams).flatten();
                all.for_each(forge);
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

/// A certificate with the names of this one that nobody signed. What cannot be read has no names.
pub(super) fn unsigned(leaf: Option<&CertificateDer<'_>>) -> Result<CertifiedKey<KeyPair>, rcgen::Error> {
    let leaf = leaf.and_then(|leaf| webpki::EndEntityCert::try_from(leaf).ok());
    let names: Vec<String> = leaf.iter().flat_map(|leaf| leaf.valid_dns_names().map(str::to_owned)).collect();
    rcgen::generate_simple_self_signed(names)
}

/// Puts an unsigned certificate in the place of one that can be read.
fn forge(certificate: &mut Certificate) {
    let leaf = CertificateDer::from_pem_slice(certificate.chain_pem.as_bytes()).ok();
    if let Some(Ok(CertifiedKey { cert, signing_key })) = leaf.map(|leaf| unsigned(Some(&leaf))) {
        certificate.chain_pem = cert.pem();
        certificate.key_pem = Sensitive::new(signing_key.serialize_pem());
    }
}

fn certificate(name: &str) -> Result<Certificate, rcgen::Error> {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([name.to_owned()])?;
    Ok(Certificate { chain_pem: cert.pem(), key_pem: Sensitive::new(signing_key.serialize_pem()) })
}
