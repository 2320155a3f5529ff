//! Who sends a request, and whether it is permitted.

use http::{HeaderMap, header};

use super::app::App;
use super::route::ObjectPath;
use crate::auth::{self, AUDIENCE, Attributes, User};
use crate::digest;
use crate::error::{ApiError, Details};

impl App {
    /// Whose token it is, and for whom it is meant; the administrator's is meant for all.
    pub fn identify_token(&self, token: &str) -> Option<(User, Vec<String>)> {
        if digest::same(token.as_bytes(), self.token.as_bytes()) {
            return Some((User::administrator(), Vec::new()));
        }
        let verified = self.issuer.verify(&self.cluster.store, token)?;
        Some((verified.user, verified.audiences))
    }

    /// Who sends a request with these headers, or whom that user plays.
    ///
    /// # Errors
    /// 401 without a good token, 403 if somebody is played who may not be.
    pub fn identify(&self, headers: &HeaderMap) -> Result<User, ApiError> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        let given = text(header::AUTHORIZATION.as_str());
        let token =
            given.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map_or("", |(_, t)| t);
        let (user, meant) = self.identify_token(token.trim()).ok_or_else(ApiError::unauthorized)?;
        if !meant.is_empty() && !meant.iter().any(|one| one == AUDIENCE) {
            return Err(ApiError::unauthorized());
        }
        let played = text("impersonate-user");
        if played.is_empty() {
            return Ok(user);
        }
        let groups: Vec<String> = headers
            .get_all("impersonate-group")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .map(str::to_owned)
            .collect();
        let asked = |resource: &'static str, name: &str| {
            let one = Attributes { verb: "impersonate", resource, name, ..Attributes::default() };
            self.permit(&user, &one, Details { kind: resource.to_owned(), name: name.to_owned(), ..Details::default() })
        };
        asked("users", played)?;
        groups.iter().try_for_each(|group| asked("groups", group))?;
        Ok(User::impersonated(played, groups))
    }

    /// Whether a user may do something to objects.
    ///
    /// # Errors
    /// 403 if not.
    pub fn permit_object(&self, user: &User, verb: &str, path: &ObjectPath) -> Result<(), ApiError> {
        // A namespace is an object in itself, as far as roles are concerned.
        let own = path.group.is_empty() && path.plural == "namespaces";
        let asked = Attributes {
            verb,
            group: &path.group,
            resource: &path.plural,
            subresource: &path.subresource,
            namespace: if own { &path.name } else { &path.namespace },
            name: &path.name,
            path: "",
        };
        let details = Details {
            name: path.name.clone(),
            group: path.group.clone(),
            kind: path.plural.clone(),
            ..Details::default()
        };
        self.permit(user, &asked, details)
    }

    /// Whether a user may ask for a path that names no object.
    ///
    /// # Errors
    /// 403 if not.
    pub fn permit_path(&self, user: &User, verb: &str, path: &str) -> Result<(), ApiError> {
        self.permit(user, &Attributes { verb, path, ..Attributes::default() }, Details::default())
    }

    fn permit(&self, user: &User, asked: &Attributes<'_>, details: Details) -> Result<(), ApiError> {
        if auth::authorize(&self.cluster.store, user, asked).allowed {
            return Ok(());
        }
        let what = match (asked.path, asked.namespace) {
            ("", "") => format!("{} {}", asked.verb, asked.resource),
            ("", namespace) => format!("{} {} in the namespace {namespace:?}", asked.verb, asked.resource),
            (path, _) => format!("{} {path}", asked.verb),
        };
        Err(ApiError::not_permitted(&user.name, &what, details))
    }
}
