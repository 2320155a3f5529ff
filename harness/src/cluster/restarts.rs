//! The controller's Pods, followed by a watch: that one began anew, be it another Pod or a container that was started again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::api::{Api, ApiError, encode};
use super::clock;
use super::pod_logs::LogSource;
use super::watching::{Followed, Renewal, follow};

/// For how long after a run a container that ends may have done so during it: a kubelet tells it a moment later.
const LATE: Duration = Duration::from_secs(3);

/// Follows the Pods of a source until it is dropped.
pub struct Restarts {
    heard: UnboundedReceiver<Result<Told, String>>,
    runs: Arc<Mutex<Runs>>,
    /// As it was before what may become a run.
    before: Runs,
    /// What was told behind something else.
    ended: Option<String>,
    /// Ends with this.
    _watch: JoinSet<()>,
}

/// The names of Pods that began anew and are ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Began {
    /// Those that did while nothing ran, and those that were deployed, whenever that was: no run does that.
    pub between: Vec<String>,
    /// Those that ended, or appeared, while a run was under way, which may have been the cause.
    pub meanwhile: Vec<String>,
}

/// A Pod that began anew, and whether a run that was under way may have been the cause.
type Told = (String, bool);

/// Whether there is a run.
#[derive(Debug, Clone, Copy)]
enum Runs {
    UnderWay,
    EndedAt(Instant),
    None,
}

impl Restarts {
    /// Follows them from now on. The Pods that are there have not begun anew, whether they are ready or not.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn follow(api: &Api, source: &LogSource) -> Result<Restarts, ApiError> {
        let (tell, heard) = unbounded_channel();
        let runs = Arc::new(Mutex::new(Runs::None));
        let lives = Lives::default();
        let mut pods = Pods { api: api.clone(), source: source.clone(), lives, runs: Arc::clone(&runs), tell };
        let (version, there) = pods.list().await?;
        pods.lives.are(&there);
        let mut watch = JoinSet::new();
        watch.spawn(follow(pods, api.clone(), version, Renewal::new()));
        Ok(Restarts { heard, runs, before: Runs::None, ended: None, _watch: watch })
    }

    /// From now on a run is under way.
    pub fn run_begins(&mut self) {
        self.before = self.set(Runs::UnderWay);
    }

    /// From now on none is. `ran` if there really was one.
    pub fn run_ends(&self, ran: bool) {
        self.set(if ran { Runs::EndedAt(clock::now()) } else { self.before });
    }

    fn set(&self, runs: Runs) -> Runs {
        std::mem::replace(&mut *self.runs.lock().unwrap_or_else(PoisonError::into_inner), runs)
    }

    /// The Pods that began anew and are ready, once there is one.
    ///
    /// # Errors
    /// They cannot be followed any longer, for this reason. That is told once; from then on nothing comes.
    pub async fn next(&mut self) -> Result<Began, String> {
        if let Some(why) = self.ended.take() {
            return Err(why);
        }
        let Some(first) = self.heard.recv().await else { return std::future::pending().await };
        let mut all = vec![first?];
        while let Ok(more) = self.heard.try_recv() {
            match more {
                Ok(one) => all.push(one),
                Err(why) => self.ended = Some(why),
            }
        }
        all.sort();
        all.dedup();
        let names = |during: bool| {
            all.iter().filter(move |one| one.1 == during).map(|one| one.0.clone()).collect::<Vec<String>>()
        };
        Ok(Began { between: names(false), meanwhile: names(true) })
    }
}

/// The watch of Pods.
struct Pods {
    api: Api,
    source: LogSource,
    lives: Lives,
    runs: Arc<Mutex<Runs>>,
    tell: UnboundedSender<Result<Told, String>>,
}

impl Pods {
    async fn list(&self) -> Result<(String, Vec<Value>), ApiError> {
        let mut list = self.api.get(&self.path()).await?;
        let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        let items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        Ok((version, items))
    }
}

impl Followed for Pods {
    fn path(&self) -> String {
        let LogSource { namespace, selector } = &self.source;
        format!("/api/v1/namespaces/{namespace}/pods?labelSelector={}&", encode(selector))
    }

    fn changed(&mut self, object: Value) {
        let moment = self.runs.lock().unwrap_or_else(PoisonError::into_inner).moment(clock::now());
        if let Some(told) = self.lives.changed(&object, moment) {
            // Whoever does not listen any more ends this, too.
            let _ = self.tell.send(Ok(told));
        }
    }

    fn gone(&mut self, object: Value) {
        self.lives.gone(&object);
    }

    fn blind(&mut self, reason: &str, _: bool) {
        tracing::debug!(reason, "watch of the controller's Pods lost");
    }

    fn sighted(&mut self) {}

    async fn relist(&mut self, _: &str) -> Result<String, ApiError> {
        let (version, there) = self.list().await?;
        self.lives.keep(&there);
        there.into_iter().for_each(|pod| self.changed(pod));
        Ok(version)
    }

    fn is_over(&self, error: &ApiError) -> bool {
        let over = error.is_refusal();
        if over {
            let _ = self.tell.send(Err(error.to_string()));
        }
        over
    }
}

/// A moment, by the runs around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// A run is under way.
    During,
    /// One has just ended.
    Behind,
    /// Nothing runs.
    Between,
}

impl Runs {
    fn moment(self, now: Instant) -> Moment {
        match self {
            Runs::UnderWay => Moment::During,
            Runs::EndedAt(at) if now < at + LATE => Moment::Behind,
            Runs::EndedAt(_) | Runs::None => Moment::Between,
        }
    }
}

/// Which Pods there are, and how often each was started.
#[derive(Debug, Default)]
struct Lives {
    /// As each was when it was ready last, by name.
    ready: HashMap<String, Life>,
    /// Those that are not ready, and whether they became so in a run.
    down: HashMap<String, bool>,
    /// What those that were ready once are made from.
    templates: HashSet<(String, String)>,
}

#[derive(Debug, Clone)]
struct Life {
    uid: String,
    /// How often its containers were started again.
    restarts: u64,
    /// The template, by the label that its controller gives it, or else the images.
    template: String,
    /// Of whose Pods it is one: the name that these begin with, without the hash of the template.
    workload: String,
}

impl Life {
    fn made_from(&self) -> (String, String) {
        (self.workload.clone(), self.template.clone())
    }

    fn is(&self, other: &Life) -> bool {
        self.uid == other.uid && self.restarts == other.restarts
    }
}

impl Lives {
    /// These are there, and are nothing new.
    fn are(&mut self, pods: &[Value]) {
        self.ready = pods.iter().filter_map(life).collect();
        self.templates.extend(self.ready.values().map(Life::made_from));
    }

    /// No others are there any more.
    fn keep(&mut self, pods: &[Value]) {
        let is_there = |name: &String| pods.iter().any(|pod| text(pod, "/metadata/name") == name);
        self.ready.retain(|name, _| is_there(name));
        self.down.retain(|name, _| is_there(name));
    }

    /// The name of a Pod that is as it was not before, if it is ready, and whether that began in a run. One that is on its way out is
    /// none.
    fn changed(&mut self, pod: &Value, moment: Moment) -> Option<Told> {
        let (name, life) = life(pod)?;
        if pod.pointer("/metadata/deletionTimestamp").is_some() {
            return None;
        }
        let before = self.ready.get(&name);
        let deployed = self.is_deployed(&life, before);
        let in_run = match moment {
            _ if deployed => false,
            Moment::During => true,
            // Another Pod is nothing that a kubelet tells late.
            Moment::Behind => before.is_some_and(|before| before.uid == life.uid),
            Moment::Between => false,
        };
        if !is_ready(pod) {
            self.down.entry(name).or_insert(in_run);
            return None;
        }
        let in_run = self.down.remove(&name).unwrap_or(in_run) && !deployed;
        if before.is_some_and(|before| before.is(&life)) {
            return None;
        }
        self.templates.insert(life.made_from());
        self.ready.insert(name.clone(), life);
        Some((name, in_run))
    }

    /// Whether it is there because somebody deployed it: what comes back by itself, or as one of more, is made from what was there.
    fn is_deployed(&self, life: &Life, before: Option<&Life>) -> bool {
        let is_another = before.is_none_or(|before| before.uid != life.uid || before.template != life.template);
        // One selector may find the Pods of several workloads, which have templates of their own.
        let is_other = |one: &Life| one.workload == life.workload && one.template != life.template;
        is_another && (!self.templates.contains(&life.made_from()) || self.ready.values().any(is_other))
    }

    fn gone(&mut self, pod: &Value) {
        let name = text(pod, "/metadata/name");
        self.ready.remove(name);
        self.down.remove(name);
    }
}

fn life(pod: &Value) -> Option<(String, Life)> {
    let (name, uid) = (text(pod, "/metadata/name"), text(pod, "/metadata/uid"));
    let restarts = containers(pod).iter().filter_map(|one| one.get("restartCount")?.as_u64()).sum();
    let template = template(pod);
    let begins = text(pod, "/metadata/generateName");
    let workload = begins.strip_suffix(&format!("{template}-")).unwrap_or(begins).to_owned();
    (!name.is_empty()).then(|| (name.to_owned(), Life { uid: uid.to_owned(), restarts, template, workload }))
}

fn template(pod: &Value) -> String {
    let labels = ["/metadata/labels/pod-template-hash", "/metadata/labels/controller-revision-hash"];
    if let Some(hash) = labels.iter().find_map(|label| pod.pointer(label)?.as_str()) {
        return hash.to_owned();
    }
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    containers.iter().map(|one| text(one, "/image")).collect::<Vec<_>>().join(" ")
}

fn is_ready(pod: &Value) -> bool {
    let containers = containers(pod);
    !containers.is_empty() && containers.iter().all(|one| one.get("ready") == Some(&Value::Bool(true)))
}

fn containers(pod: &Value) -> &[Value] {
    pod.pointer("/status/containerStatuses").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    /// A Pod by its name, uid, restarts and whether it is ready, and what it is made from, and how its name begins: `a one 0 ready`,
    /// `a one 0 ready v2`, `x-1-a one 0 ready pod-template-hash=1 x-1-`.
    fn pod(words: &str) -> Value {
        let words: Vec<&str> = words.split(' ').collect();
        let (ready, restarts) = (words[3] != "begins", words[2].parse::<u64>().unwrap_or_default());
        let mut pod = json!({
            "metadata": {"name": words[0], "uid": words[1]},
            "status": {"containerStatuses": [
                {"restartCount": 0, "ready": true},
                {"restartCount": restarts, "ready": ready},
            ]},
        });
        match words.get(4).copied().unwrap_or("v1").split_once('=') {
            Some((label, hash)) => pod["metadata"]["labels"] = json!({ label: hash }),
            None => pod["spec"] = json!({"containers": [{"image": words.get(4).unwrap_or(&"v1")}, {"image": "side"}]}),
        }
        if let Some(begins) = words.get(5) {
            pod["metadata"]["generateName"] = (*begins).into();
        }
        if words[3] == "leaves" {
            pod["metadata"]["deletionTimestamp"] = "2026-11-27T00:00:00Z".into();
        }
        pod
    }

    #[rstest]
    #[case::as_it_was(&["a one 0 ready"], &["a one 0 ready"], &[])]
    #[case::ready_late(&["a one 0 begins"], &["a one 0 ready"], &[])]
    #[case::unready_for_a_while(&["a one 0 ready"], &["a one 0 begins", "a one 0 ready"], &[])]
    #[case::container_started_again(&["a one 0 ready"], &["a one 1 begins", "a one 1 ready", "a one 1 ready"], &["a"])]
    #[case::again_and_again(&["a one 0 ready"], &["a one 1 ready", "a one 2 ready"], &["a", "a"])]
    #[case::another_pod(&["a one 0 ready"], &["b two 0 begins", "a one 0 leaves", "b two 0 ready"], &["b"])]
    #[case::another_of_the_name(&["a one 0 ready"], &["a two 0 begins", "a two 0 ready"], &["a"])]
    #[case::one_of_two(&["a one 0 ready", "b two 3 ready"], &["b two 3 ready", "a one 1 ready"], &["a"])]
    #[case::none_before(&[], &["a one 0 begins", "a one 0 ready"], &["a"])]
    #[case::never_ready(&["a one 0 ready"], &["a one 1 begins", "a one 2 begins"], &[])]
    #[case::on_its_way_out(&["a one 0 ready"], &["a one 1 leaves"], &[])]
    fn what_begins_anew_is_told_once_it_is_ready(
        #[case] there: &[&str],
        #[case] seen: &[&str],
        #[case] expected: &[&str],
    ) {
        let mut lives = Lives::default();
        lives.are(&there.iter().map(|words| pod(words)).collect::<Vec<_>>());
        let told: Vec<String> = seen
            .iter()
            .filter_map(|words| lives.changed(&pod(words), Moment::Between))
            .map(|(name, in_run)| {
                assert!(!in_run);
                name
            })
            .collect();
        assert_eq!(told, expected);
    }

    /// Each Pod with the moment in which it is seen: `During: a one 1 ready`.
    #[rstest]
    #[case::within_the_run(&["During: a one 1 begins", "During: a one 1 ready"], Some(true))]
    #[case::ready_after_it(&["During: a one 0 begins", "Behind: a one 1 begins", "Between: a one 1 ready"], Some(true))]
    #[case::told_late(&["Behind: a one 0 begins", "Between: a one 1 begins", "Between: a one 1 ready"], Some(true))]
    #[case::seen_when_it_is_ready(&["During: a one 1 ready"], Some(true))]
    #[case::after_it(&["Between: a one 1 begins", "Between: a one 1 ready"], Some(false))]
    #[case::before_it(&["Between: a one 1 begins", "During: a one 1 begins", "Behind: a one 1 ready"], Some(false))]
    #[case::replaced_in_it(&["During: a two 0 begins", "Between: a two 0 ready"], Some(true))]
    #[case::replaced_behind_it(&["Behind: a two 0 begins", "Between: a two 0 ready"], Some(false))]
    #[case::unready_in_it(&["During: a one 0 begins", "Between: a one 0 ready"], None)]
    #[case::and_again_after_it(
        &["During: a one 0 begins", "During: a one 0 ready", "Between: a one 1 begins", "Between: a one 1 ready"],
        Some(false)
    )]
    fn what_a_run_may_have_caused_is_told_apart(#[case] seen: &[&str], #[case] in_run: Option<bool>) {
        let mut lives = Lives::default();
        lives.are(&[pod("a one 0 ready")]);
        let moments = [Moment::During, Moment::Behind, Moment::Between];
        let told = seen.iter().filter_map(|one| {
            let (moment, words) = one.split_once(": ").unwrap();
            lives.changed(&pod(words), *moments.iter().find(|one| format!("{one:?}") == moment).unwrap())
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told, Vec::from_iter(in_run.map(|in_run| ("a".to_owned(), in_run))));
    }

    /// In a run, of a Pod made from `v1`, or from what is said of the Pod that is there.
    #[rstest]
    #[case::another_image("a one 0 ready", &["b two 0 ready v2"], "b")]
    #[case::its_own_image("a one 0 ready", &["a one 0 begins v2", "a one 1 ready v2"], "a")]
    #[case::of_a_stateful_set(
        "a one 0 ready controller-revision-hash=1",
        &["a two 0 begins controller-revision-hash=2", "a two 0 ready controller-revision-hash=2"],
        "a"
    )]
    #[case::replicas("a one 0 ready", &["b two 0 begins v2", "c three 0 begins v2", "c three 0 ready v2", "b two 0 ready v2"], "c b")]
    #[case::one_after_the_other("a one 0 ready", &["b two 0 ready v2", "c three 0 begins v2", "c three 0 ready v2"], "b c")]
    #[case::rolled_back("a one 0 ready", &["b two 0 ready v2", "c three 0 ready v1"], "b c")]
    #[case::down_before("a one 0 ready", &["a one 1 begins", "a two 0 begins v2", "a two 0 ready v2"], "a")]
    #[case::down_before_and_seen_late("a one 0 ready", &["a one 1 begins", "a two 0 ready v2"], "a")]
    #[case::down_afterwards("a one 0 ready", &["b two 0 ready v2", "b two 1 ready v2"], "b !b")]
    #[case::scaled("a one 0 ready", &["b two 0 begins", "b two 0 ready"], "!b")]
    #[case::scaled_by_its_label("a one 0 ready pod-template-hash=1", &["b two 0 ready pod-template-hash=1"], "!b")]
    fn what_is_deployed_in_a_run_is_not_its_doing(#[case] there: &str, #[case] seen: &[&str], #[case] expected: &str) {
        let mut lives = Lives::default();
        lives.are(&[pod(there)]);
        let told = seen.iter().filter_map(|words| lives.changed(&pod(words), Moment::During));
        let told: Vec<String> = told.map(|(name, in_run)| format!("{}{name}", if in_run { "!" } else { "" })).collect();
        assert_eq!(told.join(" "), expected);
    }

    /// One of two workloads that one selector finds.
    #[rstest]
    #[case::scaled("y-2-b three 0 ready pod-template-hash=2 y-2-", true)]
    #[case::deployed("y-3-b three 0 ready pod-template-hash=3 y-3-", false)]
    #[case::made_from_what_the_other_is("y-1-b three 0 ready pod-template-hash=1 y-1-", false)]
    fn what_others_are_made_from_says_nothing(#[case] seen: &str, #[case] in_run: bool) {
        let mut lives = Lives::default();
        lives.are(&[
            pod("x-1-a one 0 ready pod-template-hash=1 x-1-"),
            pod("y-2-a two 0 ready pod-template-hash=2 y-2-"),
        ]);
        let name = seen.split(' ').next().unwrap().to_owned();
        assert_eq!(lives.changed(&pod(seen), Moment::During), Some((name, in_run)));
    }

    #[test]
    fn what_was_deployed_is_what_is_there_from_then_on() {
        let mut lives = Lives::default();
        lives.are(&[pod("a one 0 ready")]);
        assert_eq!(lives.changed(&pod("b two 0 ready v2"), Moment::During), Some(("b".to_owned(), false)));
        lives.gone(&pod("a one 0 leaves"));
        assert_eq!(lives.changed(&pod("c three 0 ready v2"), Moment::During), Some(("c".to_owned(), true)));
    }

    #[test]
    fn the_moment_behind_a_run_is_short() {
        let ended = clock::now();
        for (runs, after, expected) in [
            (Runs::UnderWay, Duration::ZERO, Moment::During),
            (Runs::EndedAt(ended), Duration::ZERO, Moment::Behind),
            (Runs::EndedAt(ended), LATE, Moment::Between),
            (Runs::None, Duration::ZERO, Moment::Between),
        ] {
            assert_eq!(runs.moment(ended + after), expected);
        }
    }

    #[tokio::test]
    async fn names_are_told_before_the_end() {
        let (tell, heard) = unbounded_channel();
        let runs = Arc::new(Mutex::new(Runs::None));
        let mut restarts = Restarts { heard, runs, before: Runs::None, ended: None, _watch: JoinSet::new() };
        for one in ["b", "a", "b"] {
            tell.send(Ok((one.to_owned(), one == "a"))).unwrap();
        }
        tell.send(Err("forbidden".to_owned())).unwrap();
        let expected = Began { between: vec!["b".to_owned()], meanwhile: vec!["a".to_owned()] };
        assert_eq!(restarts.next().await, Ok(expected));
        assert_eq!(restarts.next().await, Err("forbidden".to_owned()));
    }

    #[test]
    fn who_was_gone_meanwhile_is_another_one() {
        let mut lives = Lives::default();
        lives.are(&[pod("a one 0 ready"), pod("b two 0 ready")]);
        lives.keep(&[pod("b two 0 ready")]);
        assert_eq!(lives.changed(&pod("b two 0 ready"), Moment::Between), None);
        assert_eq!(lives.changed(&pod("a one 0 ready"), Moment::Between), Some(("a".to_owned(), false)));
        lives.gone(&pod("b two 0 ready"));
        assert_eq!(lives.changed(&pod("b two 0 ready"), Moment::Between), Some(("b".to_owned(), false)));
    }
}
