//! Implementations that do without features, and claim none of them.

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
];
