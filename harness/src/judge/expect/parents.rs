//! The entries that a route, or a policy, has in its status.

use serde_json::{Value, json};

use super::{Check, conditions_in_words};
use crate::dialects::Implied;
use crate::judge::conditions::{Condition, ParentEntry, ParentRef, namespace, parent_entries, parent_refs};
use crate::judge::miss::{Miss, severity};
use crate::judge::words::any_of;
use crate::scenario::{Level, ParentExpectation, Parents, SubjectExpectation};

impl Check<'_> {
    pub(super) fn parents(&mut self, expected: &SubjectExpectation, object: &Value) {
        let entries = parent_entries(object, &self.rules.scenario.dialect);
        let ours = self.rules.context.controller_name.clone();
        let of = |controller: &str| -> Vec<&ParentEntry<'_>> {
            entries.iter().filter(|e| e.controller_name == controller).collect()
        };
        let own = of(&ours);
        self.view.push(json!(own.iter().map(|e| e.parent.to_string()).collect::<Vec<_>>()));
        let specified = parent_refs(object, &self.rules.scenario.dialect);
        match &expected.parents {
            Parents::Absent => {
                self.checked += 1;
                for entry in &own {
                    let expected = format!("{} has no status.parents entry of our controller", self.name);
                    let seen = format!("an entry for {} with {}", entry.parent, conditions_in_words(&entry.conditions));
                    self.entries_miss(".parents", expected, seen);
                }
            }
            Parents::Every => {
                if specified.is_empty() {
                    self.looks_at_nothing(expected);
                }
                for parent in &specified {
                    if let Some((entry, subject)) = self.entry(".parents", parent, &own, None) {
                        self.conditions(&expected.conditions, &entry.conditions, "", &subject);
                    }
                }
                self.surplus(&own, &specified);
            }
            Parents::Selected(selected) => {
                let mut spoken_of = specified;
                for (index, one) in selected.iter().enumerate() {
                    let parent = ParentRef::of(&one.parent_ref, namespace(object), &self.rules.scenario.dialect);
                    let part = format!(".parents[{index}]");
                    if let Some(controller) = &one.controller {
                        let theirs = of(controller);
                        self.view.push(json!(theirs.iter().map(|e| e.parent.to_string()).collect::<Vec<_>>()));
                        self.entry_of_another(one, &part, &parent, &theirs, controller);
                        continue;
                    }
                    let is_named = spoken_of.contains(&parent);
                    spoken_of.push(parent.clone());
                    if one.absent {
                        self.checked += 1;
                        if let Some(entry) = own.iter().find(|e| e.parent == parent) {
                            let expected = format!("{} has no status.parents entry for {parent}", self.name);
                            let seen = format!("an entry with {}", conditions_in_words(&entry.conditions));
                            let part = format!("{part}.absent");
                            match is_named {
                                true => drop(self.entries_miss(&part, expected, seen)),
                                false => self.entry_too_many(&part, entry, expected, seen),
                            }
                        }
                    } else if let Some((entry, subject)) = self.entry(&format!("{part}.present"), &parent, &own, None) {
                        let mut common = expected.conditions.clone();
                        common.retain(|type_, _| !one.conditions.contains_key(type_));
                        self.conditions(&common, &entry.conditions, "", &subject);
                        self.conditions(&one.conditions, &entry.conditions, &part, &subject);
                    }
                }
                self.surplus(&own, &spoken_of);
            }
        }
    }

    /// Conditions are asked of every parent, and there is none: whatever the status says, nothing of it would be looked at.
    fn looks_at_nothing(&mut self, expected: &SubjectExpectation) {
        let Some(level) = self.strongest(expected) else { return };
        self.checked += 1;
        let binding = expected.conditions.iter().filter(|(_, condition)| self.binding(condition));
        let types = binding.map(|(type_, _)| type_.as_str()).collect::<Vec<_>>().join(", ");
        let expected = format!("{} names the parents of which {types} is asked, in spec.parentRefs", self.name);
        let seen =
            "spec.parentRefs names none; entries that are there without it are named with `parents` in the manifest";
        self.miss(".parents", level, expected, seen.to_owned());
    }

    /// The level of the most binding of the conditions that are asked for here.
    fn strongest(&self, expected: &SubjectExpectation) -> Option<Level> {
        expected.conditions.values().filter(|condition| self.binding(condition)).map(|one| one.level).max()
    }

    /// An entry that another controller has beside ours, or has not.
    fn entry_of_another(
        &mut self,
        one: &ParentExpectation,
        part: &str,
        parent: &ParentRef,
        theirs: &[&ParentEntry<'_>],
        controller: &str,
    ) {
        if !one.absent {
            if let Some((entry, subject)) = self.entry(&format!("{part}.present"), parent, theirs, Some(controller)) {
                self.conditions(&one.conditions, &entry.conditions, part, &subject);
            }
            return;
        }
        self.checked += 1;
        if let Some(entry) = theirs.iter().find(|e| e.parent == *parent) {
            let expected = format!("{} has no status.parents entry of {controller} for {parent}", self.name);
            let seen = format!("an entry with {}", conditions_in_words(&entry.conditions));
            self.miss(&format!("{part}.absent"), Level::Must, expected, seen);
        }
    }

    /// Policies: the conditions are asked of every ancestor entry of our controller, and there has to be one as strongly as the
    /// strongest of them: what should be said of a policy may as well be said by no entry.
    pub(super) fn ancestors(&mut self, expected: &SubjectExpectation, object: &Value) {
        let entries = parent_entries(object, &self.rules.scenario.dialect);
        let own: Vec<_> = entries.iter().filter(|e| e.controller_name == self.rules.context.controller_name).collect();
        self.checked += 1;
        if own.is_empty() {
            let expected_entry = format!("{} has a status.ancestors entry of our controller", self.name);
            let level = self.strongest(expected).unwrap_or(Level::Must);
            let miss = self.miss(".ancestors", level, expected_entry, "no such entry".to_owned());
            (miss.implied, miss.stale) = (Some(Implied::Entries), true);
        }
        for entry in &own {
            let subject = format!("{} for {}", self.name, entry.parent);
            self.conditions(&expected.conditions, &entry.conditions, "", &subject);
        }
    }

    fn entries_miss(&mut self, part: &str, expected: String, seen: String) -> &mut Miss {
        let miss = self.miss(part, Level::Must, expected, seen);
        miss.implied = Some(Implied::Entries);
        miss
    }

    /// The one entry for a parentRef, with how to speak of it.
    fn entry<'e>(
        &mut self,
        part: &str,
        parent: &ParentRef,
        own: &[&'e ParentEntry<'e>],
        controller: Option<&str>,
    ) -> Option<(&'e ParentEntry<'e>, String)> {
        let whose = controller.unwrap_or("our controller");
        let matching: Vec<_> = own.iter().filter(|e| e.parent == *parent).collect();
        self.checked += 1;
        match matching.as_slice() {
            [entry] => return Some((entry, format!("{} for {parent}", self.name))),
            [] => {
                let expected = format!("{} has a status.parents entry of {whose} for {parent}", self.name);
                let seen = match own {
                    [] => format!("no entry of {whose}"),
                    own => format!("only {}", any_of(&own.iter().map(|e| &e.parent).collect::<Vec<_>>())),
                };
                self.entries_miss(part, expected, seen).stale = own.is_empty();
            }
            several => {
                let expected = format!("{} has exactly one entry of {whose} for {parent}", self.name);
                self.entries_miss(part, expected, format!("{} entries", several.len()));
            }
        }
        None
    }

    /// Entries for parents that neither the route nor the manifest speaks of.
    fn surplus(&mut self, own: &[&ParentEntry<'_>], spoken_of: &[ParentRef]) {
        if !self.rules.implies {
            return;
        }
        self.checked += 1;
        for entry in own.iter().filter(|e| !spoken_of.contains(&e.parent)) {
            let expected = format!("{} has no status.parents entry beside those of its parentRefs", self.name);
            let seen = format!("an entry of our controller for {}", entry.parent);
            self.entry_too_many(".parents", entry, expected, seen);
        }
    }

    /// An entry that stays as it was of an earlier spec is out of date; one that is written for this spec is wrong.
    fn entry_too_many(&mut self, part: &str, entry: &ParentEntry<'_>, expected: String, seen: String) {
        let is_earlier =
            |condition: &Condition<'_>| condition.observed_generation.is_some_and(|of| of < self.generation);
        let is_left_over = !entry.conditions.is_empty() && entry.conditions.iter().all(is_earlier);
        let miss = self.entries_miss(part, expected, seen);
        if is_left_over {
            miss.severity = severity(Level::Should);
            miss.implied = Some(Implied::LeftOver);
        }
    }
}
