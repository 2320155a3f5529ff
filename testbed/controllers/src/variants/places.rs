//! Gateways that are elsewhere: at an address of several, at several addresses, or at a name.

use super::{Place, Variant};

pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "merges-gateways",
        summary: "Gives Gateways one address, and one data plane, where the listeners of all of them are compatible.",
        source: "Gateway.spec.listeners: \"Implementations MAY merge separate Gateways onto a single set of Addresses if all Listeners \
                 across all Gateways are compatible\".",
        place: Place::Settings(|settings| settings.merges = true),
    },
    Variant {
        name: "assigns-two-addresses",
        summary: "Gives a Gateway that asks for no address two, and serves it on both.",
        source: "Gateway.spec.addresses: if none are specified, an implementation may assign \"an appropriate set of Addresses\"; status has \
                 room for sixteen.",
        place: Place::Settings(|settings| settings.addresses = 2),
    },
    Variant {
        name: "gives-all-addresses-or-none",
        summary: "Gives a Gateway no address where one of them cannot be reached as it asks, and says NotAssigned.",
        source: "GEP-5093: those that \"opt to reject partially satisfied address entries MUST follow the same semantics as the 'no entries \
                 can be satisfied' behavior\".",
        place: Place::Settings(|settings| settings.all_or_none = true),
    },
    Variant {
        name: "publishes-names",
        summary: "Says the name of a Gateway that asks for no address, as an address of type Hostname, instead of an IP address.",
        source: "GatewayStatusAddress.type: Hostname is one of the types, as load balancers of clouds have it.",
        place: Place::Settings(|settings| settings.names = true),
    },
];
