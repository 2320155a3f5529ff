//! Data planes that refuse clients in another way.

use gateproof_proxy::{
    Config,
    config::{Protocol, Refuses},
};

use super::{Place, Variant};
use crate::runtime::seams::{ConfigSeam, Seen};

struct Behind;

impl ConfigSeam for Behind {
    fn edit(&mut self, _: Seen<'_>, config: &mut Config) {
        for lane in &mut config.listeners {
            let all = match &mut lane.protocol {
                Protocol::Https(all) => all,
                Protocol::Tls(port) => &mut port.https,
                _ => continue,
            };
            all.iter_mut().filter_map(|one| one.clients.as_mut()).for_each(|of| of.refuses = Refuses::BehindHandshake);
        }
    }
}

pub(super) const VARIANTS: &[Variant] = &[Variant {
    name: "refuses-clients-behind-the-handshake",
    summary: "Ends the connection of a client without a valid certificate when the handshake is through, and sends no alert.",
    source: "GatewayTLSConfig lets a Gateway take connections with a valid certificate only, and does not say how others are ended; under \
             TLS 1.3 (RFC 8446, section 4.4.2.4) a client is done with its part before the server looks at its certificate.",
    place: Place::Runtime(|seams| seams.config.push(Box::new(Behind))),
}];
