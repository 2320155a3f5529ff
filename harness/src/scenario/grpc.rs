//! Status codes of gRPC.

use std::fmt;

/// The names of the codes, in the order of their numbers (gRPC's `statuscodes`).
pub(in crate::scenario) const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// How a call ended, as a number; what a target sends may be one without a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GrpcCode(pub u32);

impl GrpcCode {
    /// It ended well.
    pub const OK: GrpcCode = GrpcCode(0);
    /// A client does not find this method.
    pub const UNIMPLEMENTED: GrpcCode = GrpcCode(12);
    /// Data are lost for good: nothing in a proxy ends like this.
    pub const DATA_LOSS: GrpcCode = GrpcCode(15);

    /// The code of this name.
    pub fn named(name: &str) -> Option<GrpcCode> {
        NAMES.iter().position(|known| *known == name).and_then(|index| u32::try_from(index).ok()).map(GrpcCode)
    }

    /// What a client takes an HTTP status for, if an answer has no code of its own (gRPC's
    /// `http-grpc-status-mapping`).
    pub fn of_http(status: u16) -> GrpcCode {
        GrpcCode(match status {
            400 => 13,
            401 => 16,
            403 => 7,
            404 => 12,
            429 | 502..=504 => 14,
            _ => 2,
        })
    }
}

impl fmt::Display for GrpcCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = usize::try_from(self.0).ok().and_then(|index| NAMES.get(index));
        match name {
            Some(name) => f.write_str(name),
            None => write!(f, "code {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("OK", 0)]
    #[case("UNAVAILABLE", 14)]
    #[case("UNAUTHENTICATED", 16)]
    fn names_and_numbers_belong_together(#[case] name: &str, #[case] number: u32) {
        assert_eq!(GrpcCode::named(name), Some(GrpcCode(number)));
        assert_eq!(GrpcCode(number).to_string(), name);
    }

    #[test]
    fn a_number_without_a_name_stays_one() {
        assert_eq!((GrpcCode::named("ok"), GrpcCode(99).to_string()), (None, "code 99".to_owned()));
    }
}
