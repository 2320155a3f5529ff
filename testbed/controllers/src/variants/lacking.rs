//! Implementations that do without features, and claim none of them, or without what no feature stands for.

use super::{Place, Variant};
use crate::settings::Dispensable;

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "never-ends-tls-for-tlsroutes",
        summary: "Passes all TLS of TLSRoutes on, and refuses listeners of protocol TLS at which it would end.",
        source: "TLSRouteModeTerminate is an extended feature; ListenerReasonUnsupportedValue is for a value that is not supported.",
        place: Place::Settings(|settings| settings.lacks = [Dispensable::TlsTermination].into()),
    },
    Variant {
        name: "keeps-tls-modes-apart",
        summary: "Takes listeners of both TLS modes on one port for a conflict of protocols.",
        source: "TLSRouteModeMixed is an extended feature; ListenerReasonProtocolConflict is for protocols that are incompatible.",
        place: Place::Settings(|settings| settings.lacks = [Dispensable::MixedTls].into()),
    },
    Variant {
        name: "keeps-https-and-tls-apart",
        summary: "Takes listeners of HTTPS and TLS on one port for a conflict of protocols.",
        source: "GatewaySpec.listeners: who cannot mix HTTPS and generic TLS on one port need not consider them compatible.",
        place: Place::Settings(|settings| settings.lacks = [Dispensable::MixedHttps].into()),
    },
    Variant {
        name: "keeps-tcp-and-udp-apart",
        summary: "Takes listeners of TCP and UDP on one port number for a conflict of protocols.",
        source: "GatewaySpec.listeners: who cannot serve TCP and UDP on one address need not consider them compatible.",
        place: Place::Settings(|settings| settings.lacks = [Dispensable::MixedTransports].into()),
    },
    Variant {
        name: "reads-no-trust-bundles",
        summary: "Takes a ClusterTrustBundle for a kind that can be no authority.",
        source: "ClusterTrustBundle is an extended feature; who does not support it says InvalidKind (GEP-5075), and of listeners InvalidCACertificateKind.",
        place: Place::Settings(|settings| settings.lacks = [Dispensable::TrustBundles].into()),
    },
];
