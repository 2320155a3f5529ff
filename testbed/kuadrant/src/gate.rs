//! The gate in the data path: who may pass, and how often.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gateproof_proxy::compiled::CompiledRoute;
use gateproof_proxy::config::{Backend, BackendTarget, Filter, HeaderModifier, HeaderValue, Route};
use gateproof_proxy::exchange::{Exchange, MatchOutcome, RequestHead};
use gateproof_proxy::routing::Routing;
use serde_json::{Map, Value, json};

use crate::effective::Rule;
use crate::expression;
use crate::object::{items, namespace, text};

/// Address and port of the listener, its name, `namespace/name` of the route, and the place of the rule in it.
pub type GuardKey = (IpAddr, u16, String, String, usize);

/// What is asked of requests on one path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guard {
    /// The rules about who may pass.
    pub auth: Vec<Rule>,
    /// The rules about how often.
    pub limits: Vec<Rule>,
}

/// What the gate does. Holds keys, so it is not to be printed.
#[derive(Clone, Default, PartialEq)]
pub struct GateConfig {
    /// By path; others are free.
    pub guards: BTreeMap<GuardKey, Guard>,
    /// Whether the service that authorizes is there. Without it nobody passes where it would be asked.
    pub auth_up: bool,
    /// Whether the service that counts is there. Without it nobody is stopped.
    pub limits_up: bool,
    /// The Secrets that may hold keys.
    pub secrets: Vec<Value>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passes.
    Pass,
    /// It is answered here.
    Deny {
        /// The status code.
        status: u16,
        /// Why, for people.
        reason: String,
    },
}

impl Verdict {
    fn deny(status: u16, reason: impl Into<String>) -> Self {
        Self::Deny { status, reason: reason.into() }
    }
}

/// Counters of requests in windows of fixed length.
#[derive(Debug, Default)]
pub struct Counters(HashMap<String, (u64, u64)>);

impl Counters {
    /// Counts a request in the window that `now` is in. Returns whether it is within the limit.
    pub fn hit(&mut self, counter: &str, limit: u64, window: Duration, now: Duration) -> bool {
        let window = u64::try_from(now.as_millis() / window.as_millis().max(1)).unwrap_or(u64::MAX);
        let (since, count) = self.0.entry(counter.to_owned()).or_insert((window, 0));
        if *since != window {
            (*since, *count) = (window, 0);
        }
        *count += 1;
        *count <= limit
    }
}

/// Decides about one request. `facts` has `request` as predicates see it; `now` runs from any fixed moment.
pub fn decide(
    config: &GateConfig,
    key: &GuardKey,
    facts: &Map<String, Value>,
    counters: &mut Counters,
    now: Duration,
) -> Verdict {
    let Some(guard) = config.guards.get(key) else { return Verdict::Pass };
    let mut facts = facts.clone();
    match authorize(config, guard, &mut facts) {
        Verdict::Pass => {}
        denied => return denied,
    }
    if config.limits_up { count(key, guard, &facts, counters, now) } else { Verdict::Pass }
}

/// The code that a policy asks for instead of the usual one.
fn code(guard: &Guard, name: &str, usual: u16) -> u16 {
    let asked = guard.auth.iter().find(|rule| rule.id == format!("response/{name}"));
    asked.and_then(|rule| rule.body["code"].as_u64()).and_then(|code| u16::try_from(code).ok()).unwrap_or(usual)
}

fn authorize(config: &GateConfig, guard: &Guard, facts: &mut Map<String, Value>) -> Verdict {
    let mut applying = Vec::new();
    for rule in &guard.auth {
        match under(&rule.when, facts) {
            Ok(true) => applying.push(rule),
            Ok(false) => {}
            Err(reason) => return Verdict::deny(code(guard, "unauthorized", 403), reason),
        }
    }
    if applying.is_empty() {
        return Verdict::Pass;
    }
    if !config.auth_up {
        return Verdict::deny(403, "the service that authorizes is not there");
    }
    let named: Map<String, Value> =
        section(&applying, "patterns").map(|(name, rule)| (name.to_owned(), rule.body.clone())).collect();
    let ways = section(&applying, "authentication");
    let ways = ways.filter(|(_, rule)| conditions(&rule.body, &named, facts).unwrap_or(true));
    let ways: Vec<&Rule> = ways.map(|(_, rule)| rule).collect();
    if ways.is_empty() {
        facts.insert("auth".to_owned(), json!({"identity": {"anonymous": true}}));
    } else {
        let identity = ways.iter().find_map(|rule| identify(config, rule, facts));
        let Some(identity) = identity else {
            return Verdict::deny(code(guard, "unauthenticated", 401), "no credential that counts");
        };
        facts.insert("auth".to_owned(), json!({"identity": identity}));
    }
    for (name, rule) in section(&applying, "authorization") {
        if !conditions(&rule.body, &named, facts).unwrap_or(true) {
            continue;
        }
        let allowed = match rule.body.pointer("/patternMatching/patterns").and_then(Value::as_array) {
            Some(patterns) => expression::all(patterns, &named, facts),
            None => Err("only patterns can be evaluated here".to_owned()),
        };
        if allowed != Ok(true) {
            return Verdict::deny(code(guard, "unauthorized", 403), format!("rule {name} does not allow it"));
        }
    }
    Verdict::Pass
}

fn section<'a>(rules: &'a [&'a Rule], section: &'a str) -> impl Iterator<Item = (&'a str, &'a Rule)> {
    rules.iter().filter_map(move |rule| {
        let (of, name) = rule.id.split_once('/')?;
        (of == section).then_some((name, *rule))
    })
}

fn under(when: &[String], facts: &Map<String, Value>) -> Result<bool, String> {
    when.iter().try_fold(true, |so_far, one| Ok(so_far && expression::holds(one, facts)?))
}

fn conditions(body: &Value, named: &Map<String, Value>, facts: &Map<String, Value>) -> Result<bool, String> {
    expression::all(body["when"].as_array().map_or(&[], Vec::as_slice), named, facts)
}

/// Who the request is from, by one way to tell.
fn identify(config: &GateConfig, rule: &Rule, facts: &Map<String, Value>) -> Option<Value> {
    if rule.body.get("anonymous").is_some() {
        return Some(json!({"anonymous": true}));
    }
    let keys = rule.body.get("apiKey")?;
    let presented = credential(&rule.body["credentials"], facts)?;
    let wanted = keys["selector"]["matchLabels"].as_object();
    let home = rule.source.split_once('/').map_or("", |(namespace, _)| namespace);
    let everywhere = keys["allNamespaces"] == true;
    let fits = |secret: &&Value| {
        (everywhere || namespace(secret) == home)
            && wanted.into_iter().flatten().all(|(name, value)| secret["metadata"]["labels"][name] == *value)
            && STANDARD
                .decode(text(secret, "/data/api_key"))
                .is_ok_and(|key| !key.is_empty() && key == presented.as_bytes())
    };
    config.secrets.iter().find(fits).map(|secret| json!({"metadata": secret["metadata"]}))
}

/// The credential of a request, from where the rule looks for it.
fn credential(place: &Value, facts: &Map<String, Value>) -> Option<String> {
    let request = facts.get("request")?;
    if let Some(name) = place["customHeader"]["name"].as_str() {
        return request["headers"][name.to_ascii_lowercase()].as_str().map(str::to_owned);
    }
    if let Some(name) = place["queryString"]["name"].as_str() {
        let pairs = text(request, "/query").split('&').filter_map(|pair| pair.split_once('='));
        return pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
    }
    if let Some(name) = place["cookie"]["name"].as_str() {
        let cookies = request["headers"]["cookie"].as_str()?.split(';').filter_map(|one| one.trim().split_once('='));
        return cookies.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
    }
    let prefix = place["authorizationHeader"]["prefix"].as_str().unwrap_or("Bearer");
    let given = request["headers"]["authorization"].as_str()?;
    given.strip_prefix(prefix).map(|rest| rest.trim().to_owned())
}

fn count(key: &GuardKey, guard: &Guard, facts: &Map<String, Value>, counters: &mut Counters, now: Duration) -> Verdict {
    let mut verdict = Verdict::Pass;
    for rule in guard.limits.iter().filter(|rule| rule.id.starts_with("limits/")) {
        let predicates = items(&rule.body, "/when").map(|one| expression::holds(text(one, "/predicate"), facts));
        let applies = under(&rule.when, facts)
            .and_then(|when| Ok(when && predicates.collect::<Result<Vec<_>, _>>()?.into_iter().all(|one| one)));
        let by = items(&rule.body, "/counters").map(|one| expression::counter(text(one, "/expression"), facts));
        let by = by.collect::<Result<Vec<String>, String>>();
        // What cannot be evaluated does not count: limits fail open.
        let (Ok(true), Ok(by)) = (applies, by) else { continue };
        for (index, rate) in items(&rule.body, "/rates").enumerate() {
            let Some(window) = duration(text(rate, "/window")) else { continue };
            let counter = format!("{}|{}|{}|{index}|{by:?}", key.3, rule.source, rule.id);
            if !counters.hit(&counter, rate["limit"].as_u64().unwrap_or_default(), window, now) {
                verdict = Verdict::deny(429, "too many requests");
            }
        }
    }
    verdict
}

/// A duration of Gateway API, such as `1m30s`.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        let units = rest[digits..].find(|letter: char| letter.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        total += match &rest[digits..units] {
            "ms" => Duration::from_millis(number),
            "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(number * 60),
            "h" => Duration::from_secs(number * 3600),
            _ => return None,
        };
        rest = &rest[units..];
    }
    Some(total)
}

/// A change of what the gate decides.
pub type Alter = Arc<dyn Fn(&Map<String, Value>, Verdict) -> Verdict + Send + Sync>;

/// The gate, as it stands in a data plane. Clones are the same gate.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    config: RwLock<Arc<GateConfig>>,
    alter: RwLock<Vec<Alter>>,
    counters: Mutex<Counters>,
    opened: Instant,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gate")
    }
}

impl Default for Gate {
    fn default() -> Self {
        let (config, alter, counters) = (RwLock::default(), RwLock::default(), Mutex::default());
        Self(Arc::new(Inner { config, alter, counters, opened: Instant::now() }))
    }
}

impl Gate {
    /// Puts a configuration in force, for the next request on.
    pub fn apply(&self, config: GateConfig) {
        *self.0.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    /// Lets these have the last word, in order.
    pub fn alter(&self, alter: Vec<Alter>) {
        *self.0.alter.write().unwrap_or_else(PoisonError::into_inner) = alter;
    }

    fn verdict(&self, key: &GuardKey, facts: &Map<String, Value>) -> Verdict {
        let config = Arc::clone(&self.0.config.read().unwrap_or_else(PoisonError::into_inner));
        let alter = self.0.alter.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut counters = self.0.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let verdict = decide(&config, key, facts, &mut counters, self.0.opened.elapsed());
        alter.iter().fold(verdict, |verdict, one| one(facts, verdict))
    }
}

fn facts(request: &RequestHead) -> Map<String, Value> {
    let headers: Map<String, Value> = request
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.into())))
        .collect();
    let query = request.query.clone().unwrap_or_default();
    let path = if query.is_empty() { request.path.clone() } else { format!("{}?{query}", request.path) };
    let facts = json!({
        "request": {
            "method": request.method.as_str(), "path": path, "url_path": request.path, "query": query,
            "host": request.host, "scheme": request.scheme, "headers": headers,
        },
        "source": {"address": request.connection.peer.ip().to_string()},
    });
    facts.as_object().cloned().unwrap_or_default()
}

impl Exchange for Gate {
    fn on_route(&self, request: &RequestHead, routing: &Routing<'_>, found: MatchOutcome) -> MatchOutcome {
        let MatchOutcome::Rule { route, predicate } = &found else { return found };
        let listener = routing.virtual_host(&request.host).and_then(|index| routing.hosts.get(index));
        let id = &route.rule.id;
        let place = request.connection.listener;
        let listener = listener.map(|host| host.listener.clone()).unwrap_or_default();
        let key = (place.address, place.port, listener, format!("{}/{}", id.namespace, id.name), id.rule);
        match self.verdict(&key, &facts(request)) {
            Verdict::Pass => found,
            Verdict::Deny { status, reason } => {
                let denied = denied(&route.rule, status, reason);
                MatchOutcome::Rule { route: Arc::new(denied), predicate: Arc::clone(predicate) }
            }
        }
    }
}

/// A rule in place of another, which answers with a code and does nothing else.
fn denied(rule: &Route, status: u16, reason: String) -> CompiledRoute {
    let challenge = HeaderModifier {
        set: vec![HeaderValue { name: "www-authenticate".to_owned(), value: "APIKEY".to_owned() }],
        ..HeaderModifier::default()
    };
    let filters = if status == 401 { vec![Filter::ResponseHeaderModifier(challenge)] } else { Vec::new() };
    let target = BackendTarget::Fail { status, reason };
    let backends = vec![Backend { id: "gate".to_owned(), weight: 1, target, filters: Vec::new() }];
    CompiledRoute::new(&Route { filters, backends, retry: None, ..rule.clone() })
}
