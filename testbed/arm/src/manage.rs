//! What ARM does with a request whose caller is known: rules first, then resources and operations.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{LOCATION, RETRY_AFTER as RETRY_AFTER_HEADER};
use http::{HeaderName, Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Fault, error_body};
use crate::control::only;
use crate::core::{Core, Request};
use crate::id::{self, ResourceId};
use crate::operations::{Left, Operation, RETRY_AFTER, Work, is_followed, running};
use crate::script::{Behind, CheckedRule, End, OperationKind};

const ASYNC_OPERATION: HeaderName = HeaderName::from_static("azure-asyncoperation");

/// What a path is about.
enum Target {
    Resource(ResourceId),
    Action(ResourceId, String),
    Operation(u64),
}

impl Core {
    pub(crate) fn manage(&mut self, now: Timestamp, request: &Request<'_>) -> Answer {
        for (number, operation) in self.operations.due(now) {
            self.settle(number, &operation);
        }
        let segments = match id::segments(request.path) {
            Ok(segments) => segments,
            Err(error) => return Fault::bad("InvalidResourceId", error.to_string()).into(),
        };
        let path = id::joined(&segments);
        let target = self.target(&path, segments);
        let Some(rule) = self.book.take(request.method, &path) else {
            return target.and_then(|target| self.perform(now, request, &target, None)).unwrap_or_else(Answer::from);
        };
        if let (Some(behind), Ok(target)) = (&rule.rule.behind, &target)
            && let Err(fault) = self.behind(target, behind)
        {
            return fault.into();
        }
        let refused = rule.status.filter(|status| status.as_u16() >= 400);
        let mut answer = match refused {
            Some(status) => {
                if rule.rule.accepted
                    && let Ok(target) = target
                {
                    // It is refused to the client's eyes, whatever comes of it.
                    let _ = self.perform(now, request, &target, Some(&rule));
                }
                Answer::error(status, rule.rule.code.as_deref(), rule.rule.message.as_deref())
            }
            None => match target.and_then(|target| self.perform(now, request, &target, Some(&rule))) {
                Ok(mut answer) => {
                    answer.status = rule.status.unwrap_or(answer.status);
                    answer
                }
                Err(fault) => fault.into(),
            },
        };
        if let Some(body) = &rule.rule.body {
            answer.body = Answer::plain(answer.status, body.clone()).body;
        }
        if let Some(seconds) = rule.rule.retry_after {
            answer = answer.retry_after(seconds);
        }
        answer.headers.extend(rule.headers);
        answer.delay = rule.delay;
        answer.at_once = rule.gone;
        answer
    }

    fn target(&self, path: &str, mut segments: Vec<String>) -> Result<Target, Fault> {
        if let Some(number) = self.operations.at(path) {
            return Ok(Target::Operation(number));
        }
        let invalid = |error: id::IdError| Fault::bad("InvalidResourceId", error.to_string());
        // Ids have an even number of parts; an action is one more.
        let action = if segments.len() % 2 == 1 { segments.pop() } else { None };
        let id = ResourceId::new(segments).map_err(invalid)?;
        if !id.subscription().eq_ignore_ascii_case(&self.subscription) {
            let message = format!("There is no subscription `{}` here.", id.subscription());
            return Err(Fault::missing("SubscriptionNotFound", message));
        }
        Ok(match action {
            Some(action) => Target::Action(id, action),
            None => Target::Resource(id),
        })
    }

    fn behind(&mut self, target: &Target, behind: &Behind) -> Result<(), Fault> {
        let id = match target {
            Target::Resource(id) | Target::Action(id, _) => id.clone(),
            Target::Operation(number) => match self.operations.get(*number) {
                Some(operation) => operation.resource.clone(),
                None => return Ok(()),
            },
        };
        match behind {
            Behind::Delete => _ = self.resources.delete(&id),
            Behind::Change(patch) => self.resources.change(&id, patch)?,
        }
        Ok(())
    }

    fn perform(
        &mut self,
        now: Timestamp,
        request: &Request<'_>,
        target: &Target,
        rule: Option<&CheckedRule>,
    ) -> Result<Answer, Fault> {
        if request.parameter("api-version").is_none_or(|version| version.is_empty()) {
            let message = "The query needs the parameter api-version.";
            return Err(Fault::bad("MissingApiVersionParameter", message));
        }
        match target {
            Target::Operation(number) => {
                only(request, &[Method::GET])?;
                self.poll(now, request, *number)
            }
            Target::Action(id, action) => {
                only(request, &[Method::POST])?;
                self.act(id, action)
            }
            Target::Resource(id) => {
                only(request, &[Method::GET, Method::HEAD, Method::PUT, Method::DELETE])?;
                match *request.method {
                    Method::PUT => self.put(now, request, id, rule),
                    Method::DELETE => self.delete(now, request, id, rule),
                    Method::GET => self.get(now, id),
                    _ => self.found(id).map(|()| Answer::empty(StatusCode::NO_CONTENT)),
                }
            }
        }
    }

    fn get(&mut self, now: Timestamp, id: &ResourceId) -> Result<Answer, Fault> {
        let operation = self.resources.get(id).and_then(|resource| resource.operation);
        if let Some(number) = operation
            && self.operations.get(number).is_some_and(|operation| !is_followed(operation.rule.kind))
            && let Some(ended) = self.operations.poll(now, number)
        {
            self.settle(number, &ended);
        }
        self.found(id)?;
        Ok(self.shown(StatusCode::OK, id))
    }

    fn put(
        &mut self,
        now: Timestamp,
        request: &Request<'_>,
        id: &ResourceId,
        rule: Option<&CheckedRule>,
    ) -> Result<Answer, Fault> {
        let body: Map<String, Value> = serde_json::from_slice(request.body()?)
            .map_err(|error| Fault::bad("InvalidRequestContent", format!("The body is no JSON object: {error}")))?;
        if let Some(parent) = id.parent() {
            self.group_found(id)?;
            if self.resources.get(&parent).is_none() {
                let message = format!("The parent `{parent}` of `{id}` does not exist.");
                return Err(Fault::missing("ParentResourceNotFound", message));
            }
        }
        let is_new = self.resources.put(id, body)?;
        let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
        let state = rule.and_then(|rule| rule.rule.provisioning_state.clone()).unwrap_or_else(|| "Succeeded".into());
        let Some(number) = self.begin(now, id, Work::Put(state.clone()), rule) else {
            self.set_state(id, &state, None);
            return Ok(self.shown(status, id));
        };
        self.set_state(id, running(&Work::Put(state), is_new), Some(number));
        Ok(self.accepted(request, self.shown(status, id), number))
    }

    fn delete(
        &mut self,
        now: Timestamp,
        request: &Request<'_>,
        id: &ResourceId,
        rule: Option<&CheckedRule>,
    ) -> Result<Answer, Fault> {
        self.group_found(id)?;
        if self.resources.get(id).is_none() {
            return Ok(Answer::empty(StatusCode::NO_CONTENT));
        }
        let Some(number) = self.begin(now, id, Work::Delete, rule) else {
            self.resources.delete(id);
            return Ok(Answer::empty(StatusCode::OK));
        };
        self.set_state(id, running(&Work::Delete, false), Some(number));
        Ok(self.accepted(request, Answer::empty(StatusCode::ACCEPTED), number))
    }

    fn act(&mut self, id: &ResourceId, action: &str) -> Result<Answer, Fault> {
        self.found(id)?;
        if !action.eq_ignore_ascii_case("listKeys") || !id.innermost_type().eq_ignore_ascii_case("storageAccounts") {
            let message = format!("Resources of {} have no action `{action}`.", id.resource_type());
            return Err(Fault::bad("UnsupportedAction", message));
        }
        let made = self.resources.get(id).map_or(0, |resource| resource.made);
        let key = |name: &str| {
            let halves = ["a", "b"].map(|half| self.secrets.key(&format!("{name}{half} {made} {}", id.key())));
            let value = STANDARD.encode(halves.concat());
            json!({"keyName": name, "value": value, "permissions": "FULL"})
        };
        Ok(Answer::json(StatusCode::OK, &json!({"keys": [key("key1"), key("key2")]})))
    }

    fn begin(&mut self, now: Timestamp, id: &ResourceId, work: Work, rule: Option<&CheckedRule>) -> Option<u64> {
        let rule = rule?;
        let (operation, time) = rule.operation.clone()?;
        let left = match time {
            Some(time) => Left::Until(now.saturating_add(time).unwrap_or(Timestamp::MAX)),
            None => Left::Polls(operation.polls.unwrap_or_default()),
        };
        let how = (operation, left, rule.rule.retry_after.unwrap_or(RETRY_AFTER));
        Some(self.operations.begin(now, id, work, how))
    }

    /// What a request is answered that has begun an operation.
    fn accepted(&self, request: &Request<'_>, mut answer: Answer, number: u64) -> Answer {
        let Some(operation) = self.operations.get(number) else { return answer };
        let url = self.url(request, &operation.path);
        answer = answer.retry_after(operation.retry_after);
        match operation.rule.kind {
            OperationKind::ProvisioningState => return answer,
            OperationKind::AzureAsync => answer = answer.with(ASYNC_OPERATION, &url),
            OperationKind::Location => answer = answer.with(LOCATION, &url),
        }
        answer.status = StatusCode::ACCEPTED;
        answer
    }

    fn poll(&mut self, now: Timestamp, request: &Request<'_>, number: u64) -> Result<Answer, Fault> {
        if let Some(ended) = self.operations.poll(now, number) {
            self.settle(number, &ended);
        }
        let Some(operation) = self.operations.get(number) else {
            return Err(Fault::missing("OperationNotFound", "The operation is forgotten."));
        };
        let (rule, is_over) = (&operation.rule, operation.ended.is_some());
        let (code, message) = (rule.code.as_deref(), rule.message.as_deref());
        let answer = match rule.kind {
            OperationKind::Location if !is_over => {
                Answer::empty(StatusCode::ACCEPTED).with(LOCATION, &self.url(request, &operation.path))
            }
            OperationKind::Location if rule.end != End::Succeeded => {
                let status = rule.status.and_then(|status| StatusCode::from_u16(status).ok());
                return Ok(Answer::error(status.unwrap_or(StatusCode::BAD_REQUEST), code, message));
            }
            OperationKind::Location if operation.work == Work::Delete => Answer::empty(StatusCode::NO_CONTENT),
            OperationKind::Location => {
                self.found(&operation.resource)?;
                self.shown(StatusCode::OK, &operation.resource)
            }
            _ => {
                let status = if is_over { rule.end.word() } else { "InProgress" };
                let mut body = json!({
                    "id": operation.path,
                    "name": number.to_string(),
                    "status": status,
                    "startTime": format!("{:.6}", operation.started),
                });
                if let Some(ended) = operation.ended {
                    body["endTime"] = format!("{ended:.6}").into();
                    if let Some(error) = error_body(code, message) {
                        body["error"] = error.into();
                    }
                }
                Answer::json(StatusCode::OK, &body)
            }
        };
        let running = !is_over && !answer.headers.contains_key(RETRY_AFTER_HEADER);
        Ok(if running { answer.retry_after(operation.retry_after) } else { answer })
    }

    /// What an operation that has ended leaves, unless a later request decides about the resource by now.
    fn settle(&mut self, number: u64, operation: &Operation) {
        let id = &operation.resource;
        if self.resources.get(id).and_then(|resource| resource.operation) != Some(number) {
            return;
        }
        match (&operation.work, operation.rule.end) {
            (Work::Delete, End::Succeeded) => _ = self.resources.delete(id),
            (Work::Put(state), End::Succeeded) => self.set_state(id, state, None),
            (_, end) => self.set_state(id, end.word(), None),
        }
    }

    fn set_state(&mut self, id: &ResourceId, state: &str, operation: Option<u64>) {
        if let Some(resource) = self.resources.get_mut(id) {
            resource.state = state.to_owned();
            resource.operation = operation;
        }
    }

    fn shown(&self, status: StatusCode, id: &ResourceId) -> Answer {
        match self.resources.get(id) {
            Some(resource) => Answer::json(status, &resource.shown()),
            None => Answer::empty(status),
        }
    }

    fn group_found(&self, id: &ResourceId) -> Result<(), Fault> {
        if self.resources.get(&id.group()).is_some() {
            return Ok(());
        }
        let message = format!("There is no resource group `{}`.", id.group_name());
        Err(Fault::missing("ResourceGroupNotFound", message))
    }

    fn found(&self, id: &ResourceId) -> Result<(), Fault> {
        self.group_found(id)?;
        if self.resources.get(id).is_some() {
            return Ok(());
        }
        Err(Fault::missing("ResourceNotFound", format!("There is no resource `{id}`.")))
    }

    /// The URL of a path here, under the api-version of the request.
    fn url(&self, request: &Request<'_>, path: &str) -> String {
        let path = percent_encoding::utf8_percent_encode(path, &PATH);
        let version: String =
            form_urlencoded::byte_serialize(request.parameter("api-version").unwrap_or_default().as_bytes()).collect();
        format!("{}{path}?api-version={version}", self.base)
    }
}

/// What cannot stand in a path as it is.
const PATH: percent_encoding::AsciiSet =
    percent_encoding::CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'`');
