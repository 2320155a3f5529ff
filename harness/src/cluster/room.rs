//! How many Pods a cluster has room for, as far as we may know it: where a Gateway costs a Pod, what comes beyond that never gets ready,
//! and no status says why.

use serde_json::Value;

use super::api::{Api, ApiError};

/// Where more Pods than so many fit, room is no question, and all that there are would be much to read.
const LARGE: usize = 2_000;

/// The nodes on which what a controller makes may run, and the Pods there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// How many nodes.
    pub nodes: usize,
    /// How many Pods they take.
    pub fit: usize,
    /// How many are there.
    pub taken: usize,
}

/// Looks. Nothing if no node says how many Pods it takes, or if they take very many.
///
/// # Errors
/// If nodes or Pods cannot be read.
pub async fn look(api: &Api) -> Result<Option<Room>, ApiError> {
    let mut nodes = Vec::new();
    api.pages("/api/v1/nodes", |page| nodes.extend(page)).await?;
    if Room::of(&nodes, &[]).is_none_or(|room| room.fit > LARGE) {
        return Ok(None);
    }
    let mut pods = Vec::new();
    api.pages("/api/v1/pods", |page| pods.extend(page)).await?;
    Ok(Room::of(&nodes, &pods))
}

impl Room {
    /// Of nodes and Pods as they are listed.
    fn of(nodes: &[Value], pods: &[Value]) -> Option<Room> {
        let open: Vec<&Value> = nodes.iter().filter(|node| is_open(node)).collect();
        let fit = open.iter().map(|node| pods_of(node)).sum::<Option<usize>>()?;
        if open.is_empty() {
            return None;
        }
        let is_here = |pod: &&Value| {
            let node = pod.pointer("/spec/nodeName");
            let is_over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
            !is_over && node.is_some() && open.iter().any(|open| open.pointer("/metadata/name") == node)
        };
        Some(Room { nodes: open.len(), fit, taken: pods.iter().filter(is_here).count() })
    }

    /// How many Pods more fit.
    pub fn left(&self) -> usize {
        self.fit.saturating_sub(self.taken)
    }
}

/// Whether a node takes Pods that say nothing of where they want to run.
fn is_open(node: &Value) -> bool {
    let taints = node.pointer("/spec/taints").and_then(Value::as_array);
    let keeps_off = |taint: &Value| matches!(taint["effect"].as_str(), Some("NoSchedule" | "NoExecute"));
    !node["spec"]["unschedulable"].as_bool().unwrap_or_default() && !taints.into_iter().flatten().any(keeps_off)
}

fn pods_of(node: &Value) -> Option<usize> {
    node.pointer("/status/allocatable/pods")?.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn node(name: &str, fit: &str, spec: Value) -> Value {
        json!({"metadata": {"name": name}, "spec": spec, "status": {"allocatable": {"pods": fit}, "capacity": {"pods": "250"}}})
    }

    fn pod(node: &str, phase: &str) -> Value {
        json!({"spec": {"nodeName": node}, "status": {"phase": phase}})
    }

    const KEPT_FREE: &str = "node-role.kubernetes.io/control-plane";

    #[rstest]
    #[case::none(&[], None)]
    #[case::one(&[node("a", "110", json!({}))], Some((1, 110, 2)))]
    #[case::two(&[node("a", "110", json!({})), node("b", "20", json!({"unschedulable": false}))], Some((2, 130, 3)))]
    #[case::cordoned(&[node("a", "110", json!({"unschedulable": true})), node("b", "20", json!({}))], Some((1, 20, 1)))]
    #[case::of_the_control_plane(
        &[node("a", "110", json!({"taints": [{"key": KEPT_FREE, "effect": "NoSchedule"}]})), node("b", "20", json!({}))],
        Some((1, 20, 1))
    )]
    #[case::rather_kept_free(
        &[node("b", "20", json!({"taints": [{"key": KEPT_FREE, "effect": "PreferNoSchedule"}]}))],
        Some((1, 20, 1))
    )]
    #[case::all_are_kept_free(&[node("a", "110", json!({"taints": [{"key": "k", "effect": "NoExecute"}]}))], None)]
    #[case::one_does_not_say(&[node("a", "110", json!({})), json!({"metadata": {"name": "b"}})], None)]
    #[case::in_words(&[node("a", "many", json!({}))], None)]
    fn what_is_open_has_room(#[case] nodes: &[Value], #[case] expected: Option<(usize, usize, usize)>) {
        let pods = [
            pod("a", "Running"),
            pod("a", "Pending"),
            pod("a", "Succeeded"),
            pod("a", "Failed"),
            pod("b", "Running"),
            pod("gone", "Running"),
            json!({"spec": {}, "status": {"phase": "Pending"}}),
        ];
        let room = Room::of(nodes, &pods);
        assert_eq!(room.map(|room| (room.nodes, room.fit, room.taken)), expected);
    }

    #[test]
    fn what_is_more_than_full_has_no_room() {
        assert_eq!(Room { nodes: 1, fit: 2, taken: 3 }.left(), 0);
        assert_eq!(Room { nodes: 1, fit: 9, taken: 3 }.left(), 6);
    }
}
