//! Placeholders to values.

use serde_json::{Map, Value};

use super::super::template::{self, Part, Slot, TlsName};
use super::{BindError, parent_ref, secret};
use crate::dialects::Dialect;
use crate::log::{Bindings, GatewayBinding};

pub(super) struct Resolver<'b> {
    pub(super) dialect: &'b Dialect,
    pub(super) bindings: &'b Bindings,
}

impl<'b> Resolver<'b> {
    /// A value with every placeholder in it replaced. A string that is one placeholder becomes what that stands for.
    pub(super) fn value(&self, value: &Value) -> Result<Value, BindError> {
        match value {
            Value::String(text) => self.scalar(text),
            Value::Array(items) => Ok(Value::Array(items.iter().map(|i| self.value(i)).collect::<Result<_, _>>()?)),
            Value::Object(fields) => {
                let bound = fields.iter().map(|(key, value)| Ok((self.text(key)?, self.value(value)?)));
                Ok(Value::Object(bound.collect::<Result<Map<_, _>, BindError>>()?))
            }
            other => Ok(other.clone()),
        }
    }

    /// A string with every placeholder in it replaced.
    pub(super) fn text(&self, text: &str) -> Result<String, BindError> {
        let mut out = String::new();
        for part in template::parts(text)? {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Slot(inside) => match self.slot(inside)? {
                    Value::String(text) => out.push_str(&text),
                    Value::Number(number) => out.push_str(&number.to_string()),
                    _ => return Err(BindError::Inside(format!("${{{inside}}}"))),
                },
            }
        }
        Ok(out)
    }

    fn scalar(&self, text: &str) -> Result<Value, BindError> {
        match template::parts(text)?.as_slice() {
            [Part::Slot(inside)] => self.slot(inside),
            _ => self.text(text).map(Value::String),
        }
    }

    fn slot(&self, inside: &str) -> Result<Value, BindError> {
        let bindings = self.bindings;
        let missing = |what, alias: &str| BindError::Missing { what, alias: alias.to_owned() };
        let slot = template::slot(inside, |alias| bindings.gateways.contains_key(alias))?;
        Ok(match slot {
            Slot::Gateway(alias) => {
                let gateway = self.gateway(&alias)?;
                parent_ref(self.dialect, &gateway.namespace, &gateway.name)
            }
            Slot::GatewayName(alias) => Value::from(self.gateway(&alias)?.name.as_str()),
            Slot::GatewayNamespace(alias) => Value::from(self.gateway(&alias)?.namespace.as_str()),
            Slot::Host(alias) => {
                Value::from(bindings.hosts.get(&alias).ok_or_else(|| missing("host", &alias))?.as_str())
            }
            Slot::Namespace(alias) => Value::from(self.namespace(&alias)?),
            Slot::Name(alias) => {
                Value::from(bindings.names.get(&alias).ok_or_else(|| missing("name", &alias))?.as_str())
            }
            Slot::Port(alias) => Value::from(*bindings.ports.get(&alias).ok_or_else(|| missing("port", &alias))?),
            Slot::Class => Value::from(bindings.gateway_class.as_deref().ok_or_else(|| missing("class", "class"))?),
            Slot::SingleClass => {
                let single = bindings.single_gateway_class.as_deref();
                Value::from(single.ok_or_else(|| missing("class", "single"))?)
            }
            Slot::Address => {
                let address = bindings.usable_address.as_deref();
                Value::from(address.ok_or_else(|| missing("address", "usable"))?)
            }
            Slot::Controller => {
                Value::from(bindings.controller_name.as_deref().ok_or_else(|| missing("controller", "controller"))?)
            }
            Slot::Authority(alias) => {
                let authority = bindings.authorities.get(&alias).ok_or_else(|| missing("authority", &alias))?;
                Value::from(authority.certificate.as_str())
            }
            Slot::Client { authority, name } => {
                let by = bindings.authorities.get(&authority).ok_or_else(|| missing("authority", &authority))?;
                secret::of_client(by, name.as_deref())?
            }
            Slot::Token => Value::from(bindings.token.as_str()),
            // What it is made of has a length that is always the same before the hyphen, so it stays unique.
            Slot::PlainToken => Value::from(bindings.token.replace('-', "")),
            Slot::Tls(tls) => {
                let host = |name: &TlsName| {
                    let host = bindings.hosts.get(&name.alias).ok_or_else(|| missing("host", &name.alias))?;
                    Ok(format!("{}{host}", name.prefix))
                };
                let names = tls.names.iter().map(host).collect::<Result<_, BindError>>()?;
                let known = || bindings.authorities.get(template::SIGNER);
                let signer = tls.is_signed.then(|| known().ok_or_else(|| missing("authority", template::SIGNER)));
                let signer = signer.transpose()?;
                secret::tls(names, &tls, signer)?
            }
        })
    }

    /// A namespace by alias.
    pub(super) fn namespace(&self, alias: &str) -> Result<&'b str, BindError> {
        let found = self.bindings.namespaces.get(alias).map(String::as_str);
        found.ok_or_else(|| BindError::Missing { what: "namespace", alias: alias.to_owned() })
    }

    /// A pool Gateway by alias.
    pub(super) fn gateway(&self, alias: &str) -> Result<&'b GatewayBinding, BindError> {
        let found = self.bindings.gateways.get(alias);
        found.ok_or_else(|| BindError::Missing { what: "entry", alias: alias.to_owned() })
    }
}
