//! Conditions and entries that the harness put into a status in another's name: a controller must leave them alone.

use std::collections::HashSet;

use serde_json::Value;

use super::finding::{Finding, held};
use super::rule::Rule;
use crate::dialects::Dialect;
use crate::judge::conditions::{array, conditions_in};

/// The marks on one object.
#[derive(Debug, Clone, Default)]
pub(super) struct Marks {
    types: HashSet<String>,
    controllers: HashSet<String>,
    /// The marks as they stood in the version before: path, condition type or entry, content.
    standing: Vec<Mark>,
    /// The marked types of each list in the version before, in order.
    orders: Vec<(String, Vec<String>)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Mark {
    rule: Rule,
    path: String,
    content: Value,
}

impl Marks {
    /// The harness patched a status: what it put there under a prefixed type, or under another controller's name, is a
    /// mark from now on, as it stands in the latest version if that came first. What the patch took away is none.
    pub(super) fn written(&mut self, sent: &Value, controller: &str, latest: Option<&Value>, dialect: &Dialect) {
        self.learn(sent, controller);
        self.standing.clear();
        self.orders.clear();
        if let Some(latest) = latest {
            self.remember(latest, dialect);
        }
    }

    fn learn(&mut self, sent: &Value, controller: &str) {
        match sent {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item, controller)),
            Value::Object(fields) => {
                let text = |field: &str| fields.get(field).and_then(Value::as_str);
                if let (Some(type_), Some(_)) = (text("type"), text("status"))
                    && type_.contains('/')
                {
                    self.types.insert(type_.to_owned());
                }
                if let Some(name) = text("controllerName").filter(|name| *name != controller) {
                    self.controllers.insert(name.to_owned());
                }
                fields.values().for_each(|value| self.learn(value, controller));
            }
            _ => {}
        }
    }

    /// Holds a version against what stood there before. A version that the harness wrote only moves the marks.
    pub(super) fn check(&mut self, object: &Value, ours: bool, dialect: &Dialect) -> Vec<Finding> {
        if self.types.is_empty() && self.controllers.is_empty() {
            return Vec::new();
        }
        let (before, orders) = (std::mem::take(&mut self.standing), std::mem::take(&mut self.orders));
        self.remember(object, dialect);
        if ours {
            return Vec::new();
        }
        let lists: HashSet<String> = conditions_in(object, dialect).into_iter().map(|(path, _)| path).collect();
        let marks = before.iter().filter(|mark| {
            // A mark goes with the entry that it stands in, once that entry's listener or parent is gone.
            mark.rule == Rule::ForeignEntriesPreserved
                || lists.contains(mark.path.rsplit_once('[').map_or("", |(list, _)| list))
        });
        let mut found: Vec<Finding> = marks
            .map(|mark| {
                let now = self.standing.iter().find(|m| m.path == mark.path && m.rule == mark.rule);
                let good = now.is_some_and(|now| now.content == mark.content);
                held(mark.rule, mark.path.clone(), good, || match now {
                    Some(now) => format!("changed to {}", now.content),
                    None => "gone".to_owned(),
                })
            })
            .collect();
        for (path, old) in orders {
            let Some((_, new)) = self.orders.iter().find(|(p, _)| *p == path) else { continue };
            let common = |types: &[String], other: &[String]| -> Vec<String> {
                types.iter().filter(|t| other.contains(t)).cloned().collect()
            };
            let (was, is) = (common(&old, new), common(new, &old));
            found.push(held(Rule::ForeignOrder, path, was == is, || {
                format!("{} after {}", is.join(", "), was.join(", "))
            }));
        }
        found
    }

    fn remember(&mut self, object: &Value, dialect: &Dialect) {
        for (path, conditions) in conditions_in(object, dialect) {
            // Where a controller's own conditions stand between them is its own affair.
            let mut order = Vec::new();
            for condition in conditions.iter().filter(|c| self.types.contains(c.type_)) {
                order.push(condition.type_.to_owned());
                let path = format!("{path}[{}]", condition.type_);
                self.standing.push(Mark { rule: Rule::ForeignPreserved, path, content: condition.raw.clone() });
            }
            if !order.is_empty() {
                self.orders.push((path, order));
            }
        }
        for part in ["parents", "ancestors"] {
            let entries = array(object.get("status").and_then(|s| s.get(part)));
            for entry in entries {
                let name = entry.get("controllerName").and_then(Value::as_str).unwrap_or_default();
                if self.controllers.contains(name) {
                    let about = entry.get("parentRef").or_else(|| entry.get("ancestorRef"));
                    let about = about.map(Value::to_string).unwrap_or_default();
                    let path = format!("status.{part}[{name} {about}]");
                    let content = entry.clone();
                    self.standing.push(Mark { rule: Rule::ForeignEntriesPreserved, path, content });
                }
            }
        }
    }
}
