//! What an error of ARM means: whether to try again, and how soon.

use std::time::Duration;

use crate::arm::ArmError;

/// How soon a failed attempt is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// At most half a minute later.
    Fast,
    /// At most three minutes later.
    Slow,
    /// At most an hour later.
    VerySlow,
    /// Not before the spec, the credential or the policy changes.
    Never,
}

impl Retry {
    /// The delay after that many attempts in a row, before scaling: twice as long each time, from a second up to the cap. Nothing
    /// for [`Retry::Never`].
    pub fn delay(self, attempts: u32) -> Option<Duration> {
        let cap = match self {
            Self::Fast => 30,
            Self::Slow => 180,
            Self::VerySlow => 3600,
            Self::Never => return None,
        };
        Some(Duration::from_secs(1_u64.checked_shl(attempts.min(32)).unwrap_or(cap).min(cap)))
    }
}

/// Codes that no repetition cures.
const FATAL: &[&str] = &[
    "BadRequest",
    "BadRequestFormat",
    "InvalidParameter",
    "InvalidParameterValue",
    "InvalidRequestContent",
    "InvalidResourceGroupLocation",
    "InvalidTemplate",
    "InvalidValuesForRequestParameters",
    "LocationRequired",
    "MissingRequiredParameter",
    "RequestDisallowedByPolicy",
    "SkuNotAvailable",
];

/// Codes that go away by themselves or by what somebody else does, whatever the status.
const PASSING: &[&str] = &[
    "AnotherOperationInProgress",
    "AuthorizationFailed",
    "Conflict",
    "InternalServerError",
    "NotFound",
    "OperationNotAllowed",
    "ParentResourceNotFound",
    "ResourceGroupNotFound",
    "ResourceNotFound",
    "ServiceUnavailable",
    "TooManyRequests",
];

/// When to try again. A code that is not known is judged by the status: 400 is for ever. An error without any status, as that of an
/// operation, is for ever only where its code is known to be.
pub fn classify(error: &ArmError) -> Retry {
    match error.code.as_str() {
        "ScopeLocked" => Retry::VerySlow,
        code if PASSING.contains(&code) => Retry::Slow,
        code if FATAL.contains(&code) => Retry::Never,
        _ if error.is_coded && error.status == Some(400) => Retry::Never,
        _ => Retry::Slow,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("Conflict", Some(409), Retry::Slow)]
    #[case("Conflict", Some(400), Retry::Slow)]
    #[case("InvalidParameter", Some(409), Retry::Never)]
    #[case("InvalidParameter", None, Retry::Never)]
    #[case("Whatever", Some(400), Retry::Never)]
    #[case("Whatever", Some(500), Retry::Slow)]
    #[case("Whatever", None, Retry::Slow)]
    #[case("ScopeLocked", Some(409), Retry::VerySlow)]
    fn codes_come_before_statuses(#[case] code: &str, #[case] status: Option<u16>, #[case] expected: Retry) {
        let error = ArmError { status, code: code.into(), message: String::new(), is_coded: true };
        assert_eq!(classify(&error), expected);
    }

    #[test]
    fn without_a_code_it_is_tried_again() {
        let error =
            ArmError { status: Some(400), code: "UnknownError".into(), message: String::new(), is_coded: false };
        assert_eq!(classify(&error), Retry::Slow);
    }

    #[rstest]
    #[case(Retry::Fast, &[1, 2, 4, 8, 16, 30, 30])]
    #[case(Retry::Slow, &[1, 2, 4, 8, 16, 32, 64, 128, 180])]
    fn delays_double_up_to_the_cap(#[case] retry: Retry, #[case] seconds: &[u64]) {
        let delays: Vec<_> = (0..).take(seconds.len()).filter_map(|attempts| retry.delay(attempts)).collect();
        assert_eq!(delays, seconds.iter().map(|one| Duration::from_secs(*one)).collect::<Vec<_>>());
        assert_eq!(retry.delay(u32::MAX), delays.last().copied());
        assert_eq!(Retry::Never.delay(0), None);
    }
}
