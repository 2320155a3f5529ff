//! The one table of time limits. A run stores the table that it used in its log.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which column of the table a run starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimingProfile {
    /// The embedded target, which answers within milliseconds.
    Embedded,
    /// A real cluster; budgets are those of upstream's timeout configuration.
    Real,
}

/// Budgets, windows and counts that decide when something is settled, late or over. All durations in milliseconds
/// when serialised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Timing {
    /// The profile that the table started from.
    pub profile: TimingProfile,
    /// Budget for conditions of a GatewayClass (upstream: GWCMustBeAccepted).
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub gateway_class: Duration,
    /// Budget for conditions and the address of a Gateway (upstream: GatewayMustHaveCondition).
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub gateway: Duration,
    /// Budget for conditions of a listener (upstream: GatewayListenersMustHaveConditions).
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub listener: Duration,
    /// Budget for conditions of a route or policy (upstream: RouteMustHaveParents).
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub route: Duration,
    /// Budget for the data path to agree (upstream: MaxTimeToConsistency, which may not exceed 30 s).
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub converge: Duration,
    /// Budget of one request (upstream: Request).
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub request: Duration,
    /// Budget of one write to the API server (upstream: Create).
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub write: Duration,
    /// Budget for a deleted object to be gone (upstream: Delete).
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub delete: Duration,
    /// The same for an object by which traffic comes in, such as a Gateway: who has a finalizer there takes down what stands for it.
    /// Zero in logs that were written before that had more time, which is `delete` then.
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub entry_gone: Duration,
    /// The most that ports have to agree which a scenario has just opened, where something of the run took long to settle: they come in
    /// turn. Zero in logs that were written before they had more than `converge`.
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub opened: Duration,
    /// How many times as long as the slowest settle so far they have: that is one of what has ended, and they wait for what has not. Zero
    /// in logs that were written when it was once, the wait for a Gateway before its first probe was no settle, and listeners of a
    /// Gateway that was only made had no more time than any.
    #[serde(default)]
    pub openings: u32,
    /// How often what is sent once is sent again at a Gateway that several scenarios share, where the connection broke before there was a
    /// whole answer. Zero in logs that were written before it was.
    #[serde(default)]
    pub resent: u32,
    /// The most that copies of requests are waited for at mirrors, while each is counted after the last one that came: nobody waits for
    /// copies, and a target that is busy may be behind with them. Zero in logs that were written before they were waited for.
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub copies: Duration,
    /// How long the asked state must stay unchanged to be settled.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub quiet: Duration,
    /// Consecutive agreeing answers over fresh connections that make the data path converged.
    pub consecutive: u32,
    /// A hold lasts this many times the slowest settle of its stage so far …
    pub hold_factor: u32,
    /// … but at least this …
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub hold_min: Duration,
    /// … and at most this.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub hold_max: Duration,
    /// The most that a hold about what traffic comes in by lasts, where something of the run took as long to settle: what must not come
    /// may take as long as what must. Zero in logs that were written before they lasted longer than `hold_max`.
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub hold_entries: Duration,
    /// What is watched until the rest of the run is over is watched for at least so long, however soon that is …
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub rest_min: Duration,
    /// … and at most for so long. Zero in logs that were written before anything was watched for the rest of a run: there it was
    /// watched as long as a hold.
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub rest_max: Duration,
    /// What only should be so is waited for no longer than this, or than what was waited for before took if that was longer. Zero in logs
    /// that were written when it was waited for as what must be so.
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub optional: Duration,
    /// Whether a status that is wrong is judged once it stands still, for a quick look, and not when its budget has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub impatient: bool,
    /// How long to watch on after a missed deadline, to tell late from wrong.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub grace: Duration,
    /// A data path that agreed is tested further, so that one that disagrees in this many of a hundred answers is noticed. Zero in
    /// logs that were written before that was tested.
    #[serde(default)]
    pub flaps: u32,
    /// How long after the last change of what it depends on a target may still be at work: what it does meanwhile breaks no promise
    /// to stay as it is. Zero in logs that were written before that was asked.
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub calm: Duration,
    /// How much time lost watches may cost a step before it is inconclusive. Nothing in logs that were written before watches
    /// were doubted: there what a watch showed is believed.
    #[serde(with = "millis", default)]
    #[schemars(with = "u64")]
    pub gaps: Duration,
    /// How many versions of one of its objects an execution takes in, beside those that come of the run's own writes: a target that
    /// writes more has no end. Zero in logs that were written before that was asked.
    #[serde(default)]
    pub versions: u32,
    /// First pause after a probe that did not agree; doubles up to `backoff_max`.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub backoff_min: Duration,
    /// Longest pause after a probe that did not agree.
    #[serde(with = "millis")]
    #[schemars(with = "u64")]
    pub backoff_max: Duration,
}

/// What one object of an execution may have ([`Timing::versions`]).
const VERSIONS: u32 = 5000;

/// How many times as many all of them may have together, so that no run grows without end. Nobody is failed by it.
const TIMES_FOR_ALL: u32 = 10;

/// How many versions of all objects of an execution are logged.
pub const MOST_VERSIONS: u32 = TIMES_FOR_ALL * VERSIONS;

impl Timing {
    /// How long deployed backends may take to become ready. Nobody is judged by it, and how fast the target is says nothing of
    /// how fast Pods are.
    pub fn backends(&self) -> Duration {
        match self.profile {
            TimingProfile::Embedded => self.gateway * 6,
            TimingProfile::Real => self.gateway,
        }
    }

    /// The defaults of a profile.
    pub fn of(profile: TimingProfile) -> Timing {
        let ms = Duration::from_millis;
        let s = Duration::from_secs;
        match profile {
            TimingProfile::Embedded => Timing {
                profile,
                gateway_class: s(5),
                gateway: s(5),
                listener: s(5),
                route: s(5),
                converge: s(5),
                request: s(5),
                write: s(5),
                delete: s(5),
                entry_gone: s(5),
                opened: s(5),
                openings: 3,
                resent: 2,
                copies: s(1),
                quiet: ms(150),
                consecutive: 3,
                hold_factor: 3,
                hold_min: ms(150),
                hold_max: s(1),
                hold_entries: s(1),
                rest_min: s(5),
                rest_max: s(30),
                optional: s(5),
                impatient: false,
                grace: Duration::ZERO,
                gaps: s(15),
                flaps: 25,
                calm: s(1),
                versions: VERSIONS,
                backoff_min: ms(5),
                backoff_max: ms(100),
            },
            TimingProfile::Real => Timing {
                profile,
                gateway_class: s(180),
                gateway: s(180),
                listener: s(60),
                route: s(60),
                converge: s(30),
                request: s(10),
                write: s(60),
                delete: s(10),
                entry_gone: s(180),
                opened: s(180),
                openings: 3,
                resent: 2,
                copies: s(10),
                quiet: s(1),
                consecutive: 10,
                hold_factor: 3,
                hold_min: s(1),
                hold_max: s(10),
                hold_entries: s(60),
                rest_min: s(60),
                rest_max: s(600),
                optional: s(10),
                impatient: false,
                grace: s(30),
                gaps: s(120),
                flaps: 10,
                calm: s(10),
                versions: VERSIONS,
                backoff_min: ms(50),
                backoff_max: s(1),
            },
        }
    }

    /// How many versions of all its objects an execution takes in.
    pub fn versions_of_all(&self) -> u32 {
        self.versions.saturating_mul(TIMES_FOR_ALL)
    }

    /// Every budget multiplied by `factor`; quiet windows, holds and counts stay as they are, and so does what lost watches and others may
    /// cost if it would be less: they cost no less where the target is held to less time.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Timing {
        for budget in [
            &mut self.gateway_class,
            &mut self.gateway,
            &mut self.listener,
            &mut self.route,
            &mut self.converge,
            &mut self.request,
            &mut self.write,
            &mut self.delete,
            &mut self.entry_gone,
            &mut self.opened,
        ] {
            *budget = budget.mul_f64(factor);
        }
        self.gaps = self.gaps.mul_f64(factor.max(1.0));
        self
    }
}

mod millis {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log has no more than a judge takes in, whatever the profile; neither knows of the other.
    #[test]
    fn what_is_logged_of_all_objects_is_what_a_judge_takes_in() {
        for profile in [TimingProfile::Embedded, TimingProfile::Real] {
            let timing = Timing::of(profile);
            assert_eq!((timing.versions, timing.versions_of_all()), (5000, MOST_VERSIONS));
        }
    }
}
