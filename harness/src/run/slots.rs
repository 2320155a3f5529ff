//! What a run executes.

use std::sync::Arc;

use gateproof_report::record::repeat;

use crate::cluster::executions::Executions;
use crate::scenario::Scenario;

/// The executions that a plan asks for, by number: each of these scenarios as many times, one after the other. What is here of each is here
/// of its scenario: there may be hundreds of thousands.
#[derive(Debug)]
pub struct Slots {
    scenarios: Vec<Arc<Scenario>>,
    times: usize,
}

impl Slots {
    /// Each of these, so many times.
    pub fn of(scenarios: Vec<Arc<Scenario>>, times: usize) -> Slots {
        Slots { scenarios, times: times.max(1) }
    }

    /// The scenarios.
    pub fn scenarios(&self) -> &[Arc<Scenario>] {
        &self.scenarios
    }

    /// How often each of them is executed.
    pub fn times(&self) -> usize {
        self.times
    }

    /// How many executions there are.
    pub fn len(&self) -> usize {
        self.scenarios.len() * self.times
    }

    /// What the execution executes that has this number.
    ///
    /// # Panics
    /// If none has it.
    pub fn scenario(&self, index: usize) -> &Arc<Scenario> {
        &self.scenarios[index / self.times]
    }

    /// Its name in the log.
    ///
    /// # Panics
    /// If none has the number.
    pub fn name(&self, index: usize) -> Arc<str> {
        Arc::from(repeat(&self.scenario(index).name, index % self.times + 1))
    }

    /// Whose the objects of a run are that executes these, and once `behind` them.
    pub fn executions(&self, run_id: &str, behind: Vec<Arc<str>>) -> Executions {
        let scenarios = self.scenarios.iter().map(|scenario| Arc::from(scenario.name.as_str())).collect();
        Executions::of(run_id, scenarios, self.times, behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::names::token;
    use crate::scenario::load;

    #[test]
    fn an_execution_is_called_as_its_objects_say() {
        let scenarios: Vec<Arc<Scenario>> = load::builtin_once().iter().take(3).cloned().map(Arc::new).collect();
        let slots = Slots::of(scenarios, 2);
        let executions = slots.executions("abcdef", vec![Arc::from("behind")]);
        let names: Vec<Arc<str>> = (0..slots.len()).map(|index| slots.name(index)).collect();
        for (index, name) in names.iter().enumerate() {
            assert_eq!(executions.named(&token("abcdef", index)).as_ref(), Some(name));
        }
        assert_eq!(executions.named(&token("abcdef", slots.len())).as_deref(), Some("behind"));
        assert_eq!(*names[3], format!("{}#2", slots.scenario(2).name));
    }
}
