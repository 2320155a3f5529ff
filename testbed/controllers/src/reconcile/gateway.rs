use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
};

use super::{
    addresses::{self, SUPPORTED_TYPE},
    clients, installed,
    listener::{self, Listener},
    scope::Scoped,
    sets::{self, Set},
    verdict::{Problem, Verdict},
};
use crate::{
    model::{Certificate, FrontendTls, GatewaySpec},
    settings::Settings,
    snapshot::{Addresses, Assigned, Bind, Object, Snapshot},
    status::GatewayAddress,
};

/// A Gateway in scope with everything that its own spec decides.
pub(crate) struct Gateway<'a> {
    pub(crate) object: &'a Object,
    /// Its own, and behind them those of its ListenerSets.
    pub(crate) listeners: Vec<Listener<'a>>,
    /// The ListenerSets that refer to it, let in or not, in the order in which conflicts are decided.
    pub(crate) sets: Vec<Set<'a>>,
    pub(crate) accepted: Verdict,
    /// Whether there are addresses and room for it.
    pub(super) placed: Verdict,
    /// Whether it has the addresses that it asks for, or one if it asks for none.
    pub(super) assigned: Verdict,
    /// The addresses that the data plane serves it on; none if it is refused or not placed.
    pub(crate) addresses: Vec<Ipv4Addr>,
    /// Whether it asks for addresses.
    asks: bool,
    /// From where each of them is reached; nothing where the definitions have no place for that.
    routability: Option<BTreeMap<Ipv4Addr, String>>,
    /// Whether clients without a valid certificate get through, where one is asked for.
    pub(super) falls_back: bool,
    /// What it shows to backends that ask for a certificate, or why it has nothing to show; nothing where it is to show none.
    pub(super) client: Option<Result<Certificate, Problem>>,
}

impl Gateway<'_> {
    /// What it shows to backends that ask for a certificate.
    pub(crate) fn client(&self) -> Option<&Certificate> {
        self.client.as_ref()?.as_ref().ok()
    }

    /// An address as the status has it.
    pub(super) fn published(&self, address: Ipv4Addr, settings: &Settings) -> GatewayAddress {
        let routability = self.routability.as_ref().map(|of| of.get(&address).cloned().unwrap_or_default());
        match settings.names && !self.asks {
            true => GatewayAddress { r#type: "Hostname".into(), value: settings.name(address), routability },
            false => GatewayAddress { r#type: SUPPORTED_TYPE.into(), value: address.to_string(), routability },
        }
    }
}

/// Reviews every Gateway in scope.
pub(crate) fn review<'a>(
    in_scope: &[Scoped<'a>],
    snapshot: &'a Snapshot,
    settings: &Settings,
    addresses: &Addresses,
) -> Vec<Gateway<'a>> {
    let mut room = settings.max_gateways.clone();
    let says_routability = installed::is_experimental(snapshot) && installed::is_since(snapshot, 7);
    let mut gateways = Vec::new();
    for scoped in in_scope {
        let Scoped { object, spec } = scoped;
        let assigned = addresses.given.get(&object.meta.uid).map_or(&[][..], Vec::as_slice);
        let held: Vec<Ipv4Addr> = assigned.iter().filter_map(Assigned::address).collect();
        let binds: Vec<IpAddr> = held.iter().copied().map(IpAddr::V4).collect();
        let mut listeners = listener::review(object, spec, snapshot, settings, &binds);
        let admitted = accepted(spec, &listeners, |listener| &listener.admitted).is_true();
        let accepted = accepted(spec, &listeners, |listener| &listener.accepted);
        // Those of others have no say in what becomes of the Gateway itself.
        let (sets, added) = sets::review(scoped, snapshot, settings, &binds);
        listeners.extend(added);
        let mut placed = placed(assigned, settings);
        if admitted
            && placed.is_true()
            && let Some(room) = room.get_mut(&spec.gateway_class_name)
        {
            match room.checked_sub(1) {
                Some(left) => *room = left,
                None => {
                    let class = &spec.gateway_class_name;
                    placed =
                        Verdict::no("NoResources", format!("there is no room for another Gateway of class {class}"));
                }
            }
        }
        let addresses = if admitted && placed.is_true() { held } else { Vec::new() };
        let routability = says_routability.then(|| addresses::routability(spec, assigned));
        let assigned = addresses_assigned(assigned, settings);
        let asks = !spec.addresses.is_empty();
        let frontend = spec.tls.as_ref().and_then(|tls| tls.frontend.as_ref());
        let falls_back = frontend.is_some_and(FrontendTls::falls_back);
        let client = clients::own(snapshot, object, spec);
        gateways.push(Gateway {
            object,
            listeners,
            sets,
            accepted,
            placed,
            assigned,
            addresses,
            asks,
            routability,
            falls_back,
            client,
        });
    }
    gateways
}

fn accepted<'a>(
    spec: &GatewaySpec,
    listeners: &'a [Listener<'a>],
    verdict: impl Fn(&'a Listener<'a>) -> &'a Verdict,
) -> Verdict {
    if let Some(parameters) = spec.infrastructure.as_ref().and_then(|of| of.parameters_ref.as_ref()) {
        return Verdict::no(
            "InvalidParameters",
            format!("infrastructure.parametersRef {} {} is not supported", parameters.kind, parameters.name),
        );
    }
    if let Some(request) = spec.addresses.iter().find(|request| request.r#type != SUPPORTED_TYPE) {
        return Verdict::no("UnsupportedAddress", format!("address type {} is not supported", request.r#type));
    }
    let bad: Vec<&str> = listeners.iter().filter(|listener| !listener.is_valid()).map(Listener::name).collect();
    let message = || format!("listeners not valid: {}", bad.join(", "));
    if listeners.iter().all(|listener| verdict(listener).is_false()) {
        Verdict::no("ListenersNotValid", message())
    } else if bad.is_empty() {
        Verdict::yes("Accepted", "The Gateway is served")
    } else {
        Verdict::yes("ListenersNotValid", message())
    }
}

/// Who has an address that is reached as it asks does without others that are not, unless it is to have all or none.
fn placed(assigned: &[Assigned], settings: &Settings) -> Verdict {
    let has_one = !settings.all_or_none && assigned.iter().any(|one| one.address().is_some());
    let refused = assigned.iter().find_map(|one| match one {
        Assigned::NotUsable(why) => Some(Verdict::no("AddressNotUsable", why)),
        Assigned::Exhausted => Some(Verdict::no("AddressNotAssigned", "no address is left to assign")),
        Assigned::Unreachable(why) if !has_one => Some(Verdict::no("AddressNotAssigned", why)),
        Assigned::Unreachable(_) | Assigned::Address(_) => None,
    });
    refused.unwrap_or_else(|| Verdict::yes("Programmed", "Addresses are assigned"))
}

/// `AddressesAssigned`, whatever else keeps the Gateway from being served.
fn addresses_assigned(assigned: &[Assigned], settings: &Settings) -> Verdict {
    let missing = assigned.iter().filter_map(|one| match one {
        Assigned::Address(_) => None,
        Assigned::NotUsable(why) | Assigned::Unreachable(why) => Some(why.as_str()),
        Assigned::Exhausted => Some("no address is left to assign"),
    });
    let missing: Vec<&str> = missing.collect();
    let is_unreachable = |one: &Assigned| matches!(one, Assigned::Unreachable(_));
    let has_none = settings.all_or_none && assigned.iter().any(is_unreachable);
    match assigned.len() - missing.len() {
        _ if has_none => Verdict::no("NotAssigned", format!("not all, and so no address: {}", missing.join(", "))),
        0 => Verdict::no("NotAssigned", format!("no address: {}", missing.join(", "))),
        _ if missing.is_empty() => Verdict::yes("AddressesAssigned", "Every address that was asked for is assigned"),
        _ => Verdict::no("PartiallyAssigned", format!("not all addresses: {}", missing.join(", "))),
    }
}

/// What the data plane has reached so far for one listener.
pub(super) fn programmed_listener(gateway: &Gateway<'_>, listener: &Listener<'_>, snapshot: &Snapshot) -> Verdict {
    if let Some(refused) = listener.unservable() {
        return refused;
    }
    if !gateway.accepted.is_true() {
        return Verdict::no("Invalid", "The Gateway is not accepted");
    }
    if !gateway.placed.is_true() {
        return Verdict::no("Pending", &gateway.placed.message);
    }
    let bound = |address: &Ipv4Addr| {
        snapshot.binds.get(&(IpAddr::V4(*address), listener.spec.port, listener.transport())) == Some(&Bind::Bound)
    };
    if gateway.addresses.iter().all(bound) {
        Verdict::yes("Programmed", "Connections are taken")
    } else {
        Verdict::unknown("Pending", "Waiting for the data plane")
    }
}
