//! Whether what the watches show may be believed: a read is asked for before the target is blamed, and before anything is
//! concluded from watches that are not open or were found wrong before.
//!
//! If the read shows what the watches show, they are believed at that moment. If not, they get a quiet window to show it
//! after all, and then begin anew, and the step is judged again with what that brings.

use super::action::{Action, Next};
use super::env::{Env, perform, wait};
use crate::log::{Elapsed, Sight};
use crate::scenario::ObjectRef;

/// How often the watches of a step begin anew before nothing can be said.
const RENEWALS: u32 = 2;

/// The doubts of a step.
#[derive(Debug, Clone, Default)]
pub(super) struct Doubt {
    state: State,
    renewals: u32,
    /// When the watches last were believed.
    believed: Option<Elapsed>,
}

#[derive(Debug, Clone, Default)]
enum State {
    #[default]
    None,
    Look {
        asked: Elapsed,
    },
    /// Something was found, and the watches may show it until then.
    Found {
        found: Vec<Sight>,
        asked: Elapsed,
        until: Elapsed,
    },
    Renew,
    Renewed,
    Unknown(String),
}

/// What a step has to do about its doubts.
pub(super) enum Turn {
    /// Nothing.
    Idle,
    /// Wait for an answer.
    Waiting,
    /// The watches are believed, by a read that was asked for then.
    Believed { asked: Elapsed },
    /// The watches have begun anew.
    Renewed,
    /// Nothing can be said.
    Unknown(String),
}

impl Doubt {
    /// A read is to be asked for.
    pub(super) fn look(&mut self, now: Elapsed) {
        if matches!(self.state, State::None) {
            self.state = State::Look { asked: now };
        }
    }

    /// Whether what is seen at this moment is what is there. Logs without the limit are of runs that did not ask.
    pub(super) fn believes(&self, now: Elapsed, env: &Env<'_>) -> bool {
        self.believed == Some(now) || env.context.timing.gaps.is_zero()
    }

    /// Whether even what is as expected is to be doubted.
    pub(super) fn is_due<'o>(&self, objects: impl Iterator<Item = &'o ObjectRef> + Clone, env: &Env<'_>) -> bool {
        env.history.blind(objects.clone()).is_some() || env.history.is_doubted(objects)
    }

    /// What has to be done about these objects, if anything.
    pub(super) fn next<'o>(&self, objects: impl Iterator<Item = &'o ObjectRef>, env: &Env<'_>) -> Option<Next> {
        let objects = || {
            let mut named: Vec<ObjectRef> = Vec::new();
            for object in objects {
                if !named.contains(object) {
                    named.push(object.clone());
                }
            }
            named
        };
        match self.state {
            State::None | State::Renewed | State::Unknown(_) => None,
            State::Look { .. } => Some(perform(Action::Look { step: env.step.index, objects: objects() })),
            State::Found { until, .. } => Some(wait(until)),
            State::Renew => Some(perform(Action::Renew { step: env.step.index, objects: objects() })),
        }
    }

    /// The read was answered.
    pub(super) fn looked(&mut self, found: &[Sight], error: Option<&str>, now: Elapsed, env: &Env<'_>) {
        let State::Look { asked } = self.state else { return };
        let until = now + env.context.timing.quiet;
        self.state = match error {
            None => State::Found { found: found.to_vec(), asked, until },
            Some(error) => State::Unknown(format!("whether the watch was right cannot be read: {error}")),
        };
    }

    /// The watches have begun anew, or not.
    pub(super) fn renewed(&mut self, error: Option<&str>) {
        if matches!(self.state, State::Renew) {
            self.state = error.map_or(State::Renewed, |error| State::Unknown(error.to_owned()));
        }
    }

    /// What is to be done now; `shown` says whether the watches show what was found of an object.
    pub(super) fn turn(&mut self, now: Elapsed, env: &Env<'_>, shown: impl Fn(&Sight) -> bool) -> Turn {
        match &self.state {
            State::None => return Turn::Idle,
            State::Look { .. } | State::Renew => return Turn::Waiting,
            State::Found { found, asked, until } => {
                if found.iter().all(shown) {
                    let asked = *asked;
                    self.believed = Some(now);
                    self.state = State::None;
                    return Turn::Believed { asked };
                }
                if now < *until {
                    return Turn::Waiting;
                }
            }
            State::Renewed => {
                self.state = State::None;
                return Turn::Renewed;
            }
            State::Unknown(why) => return Turn::Unknown(format!("steps[{}]: {why}", env.step.index)),
        }
        if self.renewals == RENEWALS {
            return Turn::Unknown(format!(
                "steps[{}]: the watch does not show what a read shows, however often it begins anew",
                env.step.index
            ));
        }
        self.renewals += 1;
        self.state = State::Renew;
        Turn::Waiting
    }
}
