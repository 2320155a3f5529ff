//! What happens to the requests of a listener before they are matched.

use gateproof_proxy::config::{Authorization, BackendTarget};

use super::{backends, verdict::Problem};
use crate::{
    model,
    snapshot::{Kind, Object, Snapshot},
};

/// The filters of a listener, judged.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Who is asked, in order. What cannot be followed lets nothing through.
    pub(super) asked: Vec<Authorization>,
    /// References that cannot be followed.
    pub(super) problems: Vec<Problem>,
    /// The first filter that is not supported, and why.
    pub(super) unsupported: Option<String>,
}

/// Judges the filters of a listener that an object of this kind has.
pub(super) fn judge(
    snapshot: &Snapshot,
    authorizes: bool,
    (of, kind): (&Object, Kind),
    listener: &model::Listener,
) -> Before {
    let mut before = Before::default();
    for (index, filter) in listener.filters.requests.iter().enumerate() {
        let place = format!("filters.requests[{index}]");
        let broken = |why: &str| Authorization {
            target: BackendTarget::Fail { status: 500, reason: format!("{place}: {why}") },
            ..authorization(place.clone(), &model::ExternalAuth::default())
        };
        match (filter.r#type.as_str(), &filter.external_auth, &filter.extension_ref) {
            ("ExternalAuth", Some(auth), _)
                if authorizes && auth.protocol == "HTTP" && auth.forward_body.max_size == 0 =>
            {
                match backends::resolve(snapshot, kind, of, &auth.backend_ref) {
                    Ok(to) => {
                        let id = backends::describe(of, &auth.backend_ref);
                        before.asked.push(Authorization { target: to.target(500), ..authorization(id, auth) });
                    }
                    Err(problem) => {
                        let reason = if problem.reason == "RefNotPermitted" {
                            problem.reason
                        } else {
                            "InvalidListenerFilterRef"
                        };
                        before.asked.push(broken(&problem.message));
                        before.problems.push(Problem::new(reason, format!("{place}: {}", problem.message)));
                    }
                }
            }
            ("ExtensionRef", _, Some(to)) => {
                let why = format!("extensionRef {} {} of group {} is not supported", to.kind, to.name, to.group);
                before.asked.push(broken(&why));
                before.problems.push(Problem::new("InvalidListenerFilterRef", format!("{place}: {why}")));
            }
            (other, ..) => {
                let why = format!("{place}: this use of {other} is not supported");
                before.unsupported.get_or_insert(why);
            }
        }
    }
    before
}

fn authorization(id: String, auth: &model::ExternalAuth) -> Authorization {
    Authorization {
        id,
        target: BackendTarget::Endpoints(Vec::new()),
        prefix: auth.http.path.clone(),
        shown: auth.http.allowed_headers.clone(),
        taken: auth.http.allowed_response_headers.clone(),
        may_change_host: false,
        is_seen_by_rules: true,
    }
}
