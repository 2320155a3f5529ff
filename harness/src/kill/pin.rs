//! What has to go wrong for one expectation to fail, and nothing else.

mod field;
mod made;
mod requests;
mod status;

use std::io::ErrorKind;

use gateproof_controllers::faults::tamper::{
    FrameSort, ObjectEdit, Spot, StatusEdit, TamperError, WrongAnswer, WrongConnection,
};
use gateproof_controllers::snapshot::ObjectKey;
use gateproof_echo::grpc::message::{frame, text_message};
use gateproof_testbed::Tampering;
use serde_json::Value;

pub(super) use self::requests::LogPin;
use crate::dialects::Dialect;
use crate::log::Message;
use crate::scenario::expectations::{Asserted, NotedPart, SeenPart};
use crate::scenario::scope::DEFINITION;
use crate::scenario::{Answer, FieldExpectation, GrpcCode, HeaderTest, ObjectRef, Probe, Scenario, Seen, Verb};

/// A text that nobody else writes.
const OTHER: &str = "tampered";

/// A status code that nobody else sends.
const OTHER_STATUS: u16 = 418;

/// A code that no call ends with: data loss.
const OTHER_CODE: u32 = 15;

/// One wrong value.
pub(super) enum Pin {
    /// A status stays wrong.
    Status(String, ObjectKey, StatusEdit),
    /// A status is written once.
    Rewrite(String, ObjectKey, StatusEdit),
    /// Something else of an object stays wrong.
    Object(String, ObjectKey, ObjectEdit),
    /// Answers for a host are wrong.
    Answer(String, WrongAnswer),
    /// TCP connections go wrong.
    Connection(WrongConnection),
    /// Handshakes present another certificate.
    Certificate,
    /// Handshakes present certificates with the same names that nobody signed.
    Forged,
    /// Handshakes agree on this protocol, or on none.
    Protocol(Option<String>),
    /// Connections to backends of streams ask for this server name, where they are within TLS.
    StreamName(String),
    /// Something answers at a Gateway's listener for this host.
    Occupy(Spot, String),
    /// Connections to a Gateway's listener are held or answered, whether or not the data plane listens there.
    Take(Spot, WrongConnection),
    /// Datagrams to a Gateway's listener are answered, whether or not the data plane takes them there.
    TakeDatagrams(Spot),
    /// TLS ends for this name wherever it ends for others, whatever clients show; streams are held.
    Welcome(String),
    /// The API server takes anything for the objects of these CRDs.
    Admit(Vec<String>),
    /// The API server refuses every object of these CRDs.
    Refuse(Vec<String>),
    /// A CRD lacks this annotation.
    Unannotate(String, String),
    /// What is made for an object carries something else.
    Made(ObjectKey, ObjectEdit),
    /// The log of a scripted service tells of other requests.
    Requests(LogPin),
}

impl Pin {
    /// Makes a running target go wrong.
    pub(super) async fn put(self, tampering: &Tampering) -> Result<(), TamperError> {
        let tamper = &tampering.target;
        match self {
            // An object that is not there yet is written by the implementation, wrongly.
            Pin::Status(kind, key, edit) => passing(tamper.status(&kind, key, edit).await),
            Pin::Object(kind, key, edit) => passing(tamper.object(&kind, key, edit).await),
            Pin::Rewrite(kind, key, edit) => tamper.rewrite_status(&kind, &key, edit).await,
            Pin::Made(key, edit) => passing(tamper.made(&key, edit).await),
            Pin::Requests(pin) => {
                pin.put(&tampering.requests);
                Ok(())
            }
            Pin::Answer(host, wrong) => {
                tamper.answers(&host, wrong);
                Ok(())
            }
            Pin::Connection(wrong) => {
                tamper.connections(wrong);
                Ok(())
            }
            Pin::Certificate => tamper.certificate(),
            Pin::Forged => {
                tamper.forge_certificates();
                Ok(())
            }
            Pin::Protocol(protocol) => {
                tamper.protocol(protocol.as_deref());
                Ok(())
            }
            Pin::StreamName(name) => {
                tamper.stream_name(&name);
                Ok(())
            }
            Pin::Occupy(spot, host) => {
                match tamper.occupy(&spot, b"").await {
                    // The data plane itself listens there, and says that it has no such route.
                    Err(TamperError::Listen { error, .. }) if error.kind() == ErrorKind::AddrInUse => {
                        tamper.answers(&host, WrongAnswer::Status(OTHER_STATUS));
                        // Perhaps only to clients with a certificate, or only to those who speak as the port does.
                        tamper.admit_clients();
                        tamper.keep_strangers();
                        Ok(())
                    }
                    put => put,
                }
            }
            Pin::Take(spot, wrong) => {
                let says: &[u8] = if wrong == WrongConnection::Answered { b"tampered\n" } else { b"" };
                match tamper.occupy(&spot, says).await {
                    Err(TamperError::Listen { error, .. }) if error.kind() == ErrorKind::AddrInUse => {
                        tamper.connections(wrong);
                        if wrong == WrongConnection::Answered {
                            tamper.keep_strangers();
                        }
                        Ok(())
                    }
                    put => put,
                }
            }
            Pin::TakeDatagrams(spot) => match tamper.occupy_datagrams(&spot, b"tampered\n").await {
                Err(TamperError::Listen { error, .. }) if error.kind() == ErrorKind::AddrInUse => {
                    tamper.connections(WrongConnection::Answered);
                    Ok(())
                }
                put => put,
            },
            Pin::Welcome(name) => {
                tamper.connections(WrongConnection::Held);
                tamper.answers(&name, WrongAnswer::Status(OTHER_STATUS));
                tamper.admit_clients();
                tamper.welcome(&name)
            }
            Pin::Admit(crds) => {
                for crd in crds {
                    tamper.admit_anything(&crd).await?;
                }
                Ok(())
            }
            Pin::Refuse(crds) => {
                for crd in crds {
                    tamper.refuse_everything(&crd).await?;
                }
                Ok(())
            }
            Pin::Unannotate(crd, annotation) => tamper.unannotate_crd(&crd, &annotation).await,
        }
    }
}

fn passing(put: Result<(), TamperError>) -> Result<(), TamperError> {
    match put {
        Err(TamperError::Api(error)) if matches!(&*error, kube::Error::Api(status) if status.is_not_found()) => Ok(()),
        put => put,
    }
}

/// What makes what a scenario asserts fail. `None` where nothing is known that does.
pub(super) fn pin(scenario: &Scenario, asserted: &Asserted) -> Option<Pin> {
    let on = |object: &ObjectRef, edit: StatusEdit| Some(Pin::Status(object.kind.clone(), key(object), edit));
    let crds = |objects: &[Value]| objects.iter().filter_map(|object| crd(object, &scenario.dialect)).collect();
    match asserted {
        Asserted::Refused(objects) => Some(Pin::Admit(crds(objects))),
        Asserted::Admitted(objects) => Some(Pin::Refuse(crds(objects))),
        Asserted::Condition { object, holder, r#type, expected, aspect } => {
            on(object, status::condition(holder, r#type, expected, aspect.clone()))
        }
        Asserted::Parents(object, parents) => on(object, status::parents(parents)),
        Asserted::Parent(object, parent_ref, controller, absent) => {
            on(object, status::parent(parent_ref, controller.as_deref(), *absent))
        }
        Asserted::AttachedRoutes(object, listener) => on(object, status::attached_routes(listener)),
        Asserted::SupportedKinds(object, listener) => on(object, status::supported_kinds(listener)),
        Asserted::Field(object, field) => self::field(object, field),
        Asserted::Never(subject, _) => on(&subject.subject, status::never(subject)),
        Asserted::Unchanged(object) => Some(Pin::Rewrite(object.kind.clone(), key(object), status::touched())),
        Asserted::Answer(probe) => answer(scenario, probe),
        Asserted::Made(made, part) => Some(Pin::Made(key(&made.object), made::carries(made, part)?)),
        Asserted::Requests(requests, part) => LogPin::of(requests, *part).map(Pin::Requests),
        Asserted::Seen(_, SeenPart::Certificate) => Some(Pin::Certificate),
        Asserted::Seen(_, SeenPart::Trusted) => Some(Pin::Forged),
        Asserted::Seen(probe, SeenPart::Alpn) => Some(Pin::Protocol(protocol(probe))),
        Asserted::Seen(probe, SeenPart::ServerName) if matches!(probe.answer, Answer::TlsBackend { .. }) => {
            Some(Pin::StreamName(format!("{OTHER}.invalid")))
        }
        Asserted::Seen(probe, part) => Some(Pin::Answer(host(probe)?, seen(probe, part)?)),
    }
}

fn field(object: &ObjectRef, field: &FieldExpectation) -> Option<Pin> {
    if let (DEFINITION, Some(annotation)) = (&*object.kind, field.pointer.strip_prefix("/metadata/annotations/")) {
        return Some(Pin::Unannotate(object.name.clone(), annotation.replace("~1", "/")));
    }
    Some(match field.pointer.strip_prefix("/status") {
        Some(pointer) => Pin::Status(object.kind.clone(), key(object), field::of_status(pointer, &field.test)),
        None => Pin::Object(object.kind.clone(), key(object), field::of_object(&field.pointer, &field.test)),
    })
}

/// The port that the manifest gave a listener last, since it may be gone when it is asked for.
fn port_that_was(scenario: &Scenario, of: &ObjectRef, listener: &str) -> Option<u16> {
    let applied = scenario.steps.iter().filter_map(|step| match &step.verb {
        Verb::Apply(apply) => Some(&apply.objects),
        _ => None,
    });
    let is_it = |object: &&Value| object["kind"] == of.kind.as_str() && object["metadata"]["name"] == of.name.as_str();
    let listeners = applied.flatten().filter(is_it).filter_map(|object| object["spec"]["listeners"].as_array());
    let mut ports = listeners.flatten().filter(|one| one["name"] == listener).filter_map(|one| one["port"].as_u64());
    ports.next_back().and_then(|port| u16::try_from(port).ok())
}

fn spot(scenario: &Scenario, probe: &Probe) -> Option<Spot> {
    let target = &probe.target;
    let listener = target.listener.clone()?;
    Some(Spot {
        gateway: key(&target.gateway),
        of: target.of.as_ref().map(|of| (of.kind.clone(), key(of))),
        had: port_that_was(scenario, target.of.as_ref().unwrap_or(&target.gateway), &listener),
        listener,
    })
}

fn answer(scenario: &Scenario, probe: &Probe) -> Option<Pin> {
    let taken = |wrong| match spot(scenario, probe) {
        Some(spot) if !probe.datagrams => Pin::Take(spot, wrong),
        Some(spot) if wrong == WrongConnection::Answered => Pin::TakeDatagrams(spot),
        _ => Pin::Connection(wrong),
    };
    // Of a stream the host is no more than its server name.
    Some(match (&probe.answer, probe.host.as_ref().filter(|_| probe.method.is_some())) {
        (Answer::TcpBackend(_) | Answer::TlsBackend { .. }, _) => Pin::Connection(WrongConnection::Refused),
        (Answer::TcpRefused, _) => match &probe.host {
            Some(name) if probe.tls && probe.target.listener.is_none() => Pin::Welcome(name.clone()),
            _ => taken(WrongConnection::Held),
        },
        (Answer::NoAnswer | Answer::NoCertificate, None) => taken(WrongConnection::Answered),
        (Answer::NoAnswer | Answer::NoCertificate, Some(_)) if probe.tls && probe.target.listener.is_none() => {
            Pin::Welcome(host(probe)?)
        }
        (Answer::NoAnswer | Answer::NoCertificate, Some(_)) => Pin::Occupy(spot(scenario, probe)?, host(probe)?),
        (Answer::CutOff, _) => Pin::Answer(host(probe)?, WrongAnswer::NoBody),
        (Answer::Shares { .. }, None) => Pin::Connection(WrongConnection::EverySecondRefused),
        (Answer::Shares { .. }, Some(_)) => Pin::Answer(host(probe)?, WrongAnswer::EverySecondFails),
        (Answer::Http(_), _) => return None,
    })
}

fn seen(probe: &Probe, part: &SeenPart) -> Option<WrongAnswer> {
    let Answer::Http(seen) = &probe.answer else { return None };
    let other = |test: Option<&HeaderTest>| match test {
        Some(HeaderTest::Present) => None,
        Some(HeaderTest::Without(member)) => Some(member.clone()),
        _ => Some(OTHER.to_owned()),
    };
    Some(match part {
        SeenPart::Status => WrongAnswer::Status(OTHER_STATUS),
        SeenPart::Code if seen.code.contains(&GrpcCode(OTHER_CODE)) => WrongAnswer::Code(GrpcCode::OK.0),
        SeenPart::Code => WrongAnswer::Code(OTHER_CODE),
        SeenPart::Trailer(name) => WrongAnswer::Trailer(name.to_lowercase(), other(seen.trailers.get(name))),
        SeenPart::Messages => WrongAnswer::MessagesTwice,
        SeenPart::Proto => WrongAnswer::ForwardedProtocol,
        // Only a SHOULD, and what is presented before any answer.
        SeenPart::Preferred | SeenPart::Certificate | SeenPart::Trusted | SeenPart::Alpn => return None,
        SeenPart::Backend | SeenPart::Body => WrongAnswer::NoBody,
        SeenPart::Header(name) => WrongAnswer::ResponseHeader(name.to_lowercase(), other(seen.headers.get(name))),
        SeenPart::Path => WrongAnswer::ForwardedPath(format!("/{OTHER}")),
        SeenPart::Host => WrongAnswer::ForwardedHost(format!("{OTHER}.invalid")),
        SeenPart::ServerName => WrongAnswer::ForwardedServerName(format!("{OTHER}.invalid")),
        SeenPart::ClientName => WrongAnswer::ToldClient(format!("{OTHER}.invalid")),
        SeenPart::SeenMessages => WrongAnswer::ForwardedBody(message(OTHER)),
        SeenPart::SeenHeader(name) => {
            WrongAnswer::ForwardedHeader(name.to_lowercase(), other(seen.seen_headers.get(name)))
        }
        SeenPart::Mirrored(index) => WrongAnswer::NoMirror(seen.mirrored_to.get(*index)?.clone()),
        SeenPart::Reply(index) => WrongAnswer::ChangedFrame(match seen.replies.get(*index)?.0 {
            Message::Greeting => FrameSort::Greeting,
            Message::Text => FrameSort::Text,
            Message::Binary => FrameSort::ShortBinary,
            Message::Fragments => FrameSort::Fragment,
            Message::Large => FrameSort::LongBinary,
            Message::Ping => FrameSort::Ping,
            Message::Close => FrameSort::Close,
        }),
        SeenPart::Noted(backend, part) => {
            let wrong = match part {
                NotedPart::Times | NotedPart::Apart => {
                    let most = seen.noted.get(backend)?.times.and_then(|times| times.at_most);
                    return Some(WrongAnswer::CalledAgain(backend.clone(), most.unwrap_or_default().max(1)));
                }
                NotedPart::Method => WrongAnswer::ForwardedMethod(OTHER.to_uppercase()),
                NotedPart::Path => WrongAnswer::ForwardedPath(format!("/{OTHER}")),
                NotedPart::Proto if seen.backend.as_ref() == Some(backend) => {
                    return Some(WrongAnswer::ForwardedProtocol);
                }
                NotedPart::Proto => WrongAnswer::ForwardedProtocol,
                NotedPart::Body => WrongAnswer::ForwardedBody(OTHER.to_owned()),
                NotedPart::Header(name) => {
                    WrongAnswer::ForwardedHeader(name.to_lowercase(), other(seen.noted.get(backend)?.headers.get(name)))
                }
            };
            noted(seen, backend, wrong)
        }
    })
}

/// Where what a backend notes has to go wrong, so that the one that answers gets its request as it should.
fn noted(seen: &Seen, backend: &str, wrong: WrongAnswer) -> WrongAnswer {
    match seen.backend.as_deref() {
        Some(answers) if answers == backend => WrongAnswer::FirstTry(Box::new(wrong)),
        Some(_) => WrongAnswer::Aside(backend.to_owned(), Box::new(wrong)),
        None => wrong,
    }
}

/// The body of a call with a message of this text.
fn message(text: &str) -> String {
    String::from_utf8_lossy(&frame(&text_message(text))).into_owned()
}

/// What a client offers and is not to agree on; nothing: it is not to agree on none.
fn protocol(probe: &Probe) -> Option<String> {
    let legal = match &probe.answer {
        Answer::Http(seen) => &seen.alpn,
        Answer::TlsBackend { alpn, .. } => alpn,
        _ => return None,
    };
    probe.alpn.iter().find(|offered| !legal.contains(offered)).cloned()
}

/// The host of a probe as the data plane compares it.
fn host(probe: &Probe) -> Option<String> {
    let given = probe.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).and_then(|(_, v)| v.first());
    let host = given.map(String::as_str).or(probe.host.as_deref())?.to_lowercase();
    Some(host.rsplit_once(':').map_or(host.as_str(), |(host, _)| host).to_owned())
}

fn key(object: &ObjectRef) -> ObjectKey {
    ObjectKey::new(object.namespace.clone().unwrap_or_default(), object.name.clone())
}

/// The CRD of an object of a dialect.
fn crd(object: &Value, dialect: &Dialect) -> Option<String> {
    let kind = dialect.kind(object.get("kind")?.as_str()?)?;
    Some(format!("{}.{}", kind.plural, dialect.group_of(&kind.kind)))
}
