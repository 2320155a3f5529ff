//! How the ports that listeners declare become ports that can be bound.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};

/// Added to a declared port where low ones may not be bound.
const OFFSET: u16 = 20_000;

/// How declared ports become bound ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PortMapping {
    /// As declared where the operating system permits port 80, else mapped.
    #[default]
    Auto,
    /// As declared.
    Declared,
    /// At 20,000 above the declared one, as for a user without privileges.
    Mapped,
}

impl PortMapping {
    /// What to add to a declared port on addresses of this network.
    pub(crate) fn offset(self, [a, b, c]: [u8; 3]) -> Option<u16> {
        match self {
            PortMapping::Declared => None,
            PortMapping::Mapped => Some(OFFSET),
            PortMapping::Auto => {
                let refused = TcpListener::bind((Ipv4Addr::new(a, b, c, 255), 80))
                    .is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
                refused.then_some(OFFSET)
            }
        }
    }
}
