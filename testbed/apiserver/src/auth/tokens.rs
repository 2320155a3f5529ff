//! Tokens of ServiceAccounts: JSON web tokens, signed with a key of this server.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use rcgen::{KeyPair, PKCS_ED25519, SigningKey};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{AUDIENCE, User};
use crate::digest;
use crate::meta;
use crate::store::{Key, Store};

/// What beside the account a token is bound to: it ends with that object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// `Pod`, `Secret` or `Node`.
    pub kind: String,
    /// The object's name.
    pub name: String,
    /// The object's uid.
    pub uid: String,
}

/// What a good token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Whose it is.
    pub user: User,
    /// For whom it is meant.
    pub audiences: Vec<String>,
}

/// Issues tokens and knows its own again.
pub struct Issuer {
    key: KeyPair,
}

impl Issuer {
    /// An issuer with a new key.
    ///
    /// # Errors
    /// What the provider of cryptography says.
    pub fn new() -> Result<Self, rcgen::Error> {
        Ok(Self { key: KeyPair::generate_for(&PKCS_ED25519)? })
    }

    /// A token for a ServiceAccount that is good until `end`.
    ///
    /// # Errors
    /// What the provider of cryptography says.
    pub fn issue(
        &self,
        account: &Value,
        audiences: &[String],
        bound: Option<&Bound>,
        end: Timestamp,
    ) -> Result<String, rcgen::Error> {
        let now = Timestamp::now().as_second();
        let (namespace, name) = (meta::namespace(account), meta::name(account));
        let mut kubernetes =
            json!({"namespace": namespace, "serviceaccount": {"name": name, "uid": meta::uid(account)}});
        if let Some(bound) = bound {
            kubernetes[bound.kind.to_lowercase()] = json!({"name": bound.name, "uid": bound.uid});
        }
        let claims = json!({
            "aud": audiences,
            "exp": end.as_second(),
            "iat": now,
            "nbf": now,
            "iss": AUDIENCE,
            "jti": Uuid::new_v4().to_string(),
            "kubernetes.io": kubernetes,
            "sub": format!("system:serviceaccount:{namespace}:{name}"),
        });
        let header = json!({"alg": "EdDSA", "typ": "JWT"});
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let content = format!("{header}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(content.as_bytes())?);
        Ok(format!("{content}.{signature}"))
    }

    /// What a token says, if this server has issued it, its time is not over, and what it is bound to is still there.
    pub fn verify(&self, store: &Store, token: &str) -> Option<Verified> {
        let (content, signature) = token.rsplit_once('.')?;
        // A signature by Ed25519 depends on key and content alone, so signing again tells whether it is ours.
        let own = URL_SAFE_NO_PAD.encode(self.key.sign(content.as_bytes()).ok()?);
        if !digest::same(own.as_bytes(), signature.as_bytes()) {
            return None;
        }
        let claims = URL_SAFE_NO_PAD.decode(content.split_once('.')?.1).ok()?;
        let claims: Value = serde_json::from_slice(&claims).ok()?;
        if claims["exp"].as_i64()? <= Timestamp::now().as_second() {
            return None;
        }
        let kubernetes = &claims["kubernetes.io"];
        let namespace = kubernetes["namespace"].as_str()?;
        let alive = |collection: &str, namespace: &str, claim: &Value| {
            let object = store.get(collection, &Key::new(namespace, claim["name"].as_str()?))?;
            (meta::uid(&object) == claim["uid"]).then_some(())
        };
        let account = &kubernetes["serviceaccount"];
        alive("serviceaccounts", namespace, account)?;
        let mut user = User::service_account(namespace, account["name"].as_str()?, account["uid"].as_str()?);
        user.extra.insert(
            "authentication.kubernetes.io/credential-id".into(),
            json!([format!("JTI={}", claims["jti"].as_str()?)]),
        );
        for (kind, collection, here) in
            [("pod", "pods", namespace), ("secret", "secrets", namespace), ("node", "nodes", "")]
        {
            if let claim @ Value::Object(_) = &kubernetes[kind] {
                alive(collection, here, claim)?;
                for field in ["name", "uid"] {
                    user.extra.insert(format!("authentication.kubernetes.io/{kind}-{field}"), json!([claim[field]]));
                }
            }
        }
        let audiences = claims["aud"].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Some(Verified { user, audiences })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use jiff::ToSpan;

    use super::*;
    use crate::store::{NAMESPACES, namespace_object};

    fn with(collection: &str, uid: &str) -> (Store, Value) {
        let (store, _) = Store::new(16);
        store.insert(&Arc::from(NAMESPACES), namespace_object("n", "u", "2024-01-01T00:00:00Z")).unwrap();
        let object = json!({"metadata": {"namespace": "n", "name": "a", "uid": uid}});
        store.insert(&Arc::from(collection), object.clone()).unwrap();
        (store, object)
    }

    fn soon() -> Timestamp {
        Timestamp::now() + 1.hour()
    }

    #[test]
    fn a_token_is_known_again_and_names_its_account() {
        let (store, account) = with("serviceaccounts", "one");
        let issuer = Issuer::new().unwrap();
        let token = issuer.issue(&account, &["x".to_owned()], None, soon()).unwrap();
        let verified = issuer.verify(&store, &token).unwrap();
        assert_eq!((verified.user.name.as_str(), verified.user.uid.as_str()), ("system:serviceaccount:n:a", "one"));
        assert_eq!(verified.audiences, ["x"]);
    }

    #[test]
    fn what_is_altered_over_or_of_somebody_else_is_not() {
        let (store, account) = with("serviceaccounts", "one");
        let issuer = Issuer::new().unwrap();
        let token = issuer.issue(&account, &[], None, soon()).unwrap();
        assert_eq!(Issuer::new().unwrap().verify(&store, &token), None);
        let (content, signature) = token.rsplit_once('.').unwrap();
        let claims = content.split_once('.').unwrap().1;
        let forged = URL_SAFE_NO_PAD
            .encode(String::from_utf8(URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap().replace(":a\"", ":b\""));
        assert_eq!(
            issuer.verify(&store, &format!("{}.{forged}.{signature}", content.split_once('.').unwrap().0)),
            None
        );
        let over = issuer.issue(&account, &[], None, Timestamp::now() - 1.second()).unwrap();
        assert_eq!(issuer.verify(&store, &over), None);
        for bad in ["", ".", "a.b", "a.b.c"] {
            assert_eq!(issuer.verify(&store, bad), None);
        }
        let (another, _) = with("serviceaccounts", "two");
        assert_eq!(issuer.verify(&another, &token), None, "an account of the same name");
        let bound = Bound { kind: "Pod".into(), name: "p".into(), uid: "three".into() };
        let bound = issuer.issue(&account, &[], Some(&bound), soon()).unwrap();
        assert_eq!(issuer.verify(&store, &bound), None, "the Pod is not there");
    }
}
