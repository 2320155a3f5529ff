//! Where redirects lead.

use gateproof_proxy::config::{Filter, Protocol};

use super::Bug;
use crate::faults::{
    Fault, Seam,
    tools::{serve, virtual_hosts},
};

pub(super) const BUGS: &[Bug] = &[Bug {
    fault: Fault {
        name: "keeps-listener-ports-under-the-same-scheme",
        summary: "Puts the port of a listener of HTTP into a Location though the filter names the scheme, if that is HTTP too.",
        clauses: &["upstream:HTTPRouteRedirectPortAndScheme"],
        seam: Seam::Config(|| {
            serve(|_, config| {
                for lane in config.listeners.iter_mut().filter(|lane| matches!(lane.protocol, Protocol::Http(_))) {
                    let port = lane.port;
                    let rules = virtual_hosts(lane).into_iter().flat_map(|host| &mut host.routes);
                    for filter in rules.flat_map(|rule| &mut rule.filters) {
                        if let Filter::RequestRedirect(redirect) = filter
                            && redirect.scheme.as_deref() == Some("http")
                        {
                            redirect.port.get_or_insert(port);
                        }
                    }
                }
            })
        }),
    },
    reported: &["varnish/gateway#80"],
}];
