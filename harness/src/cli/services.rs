//! `--service NAME=URL` and `--service-token NAME=FILE`: the scripted services of a target.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use url::Url;

use super::Failure;
use crate::cluster::control::{ServiceAddress, Services, address};
use crate::scenario::suggest;
use crate::suite::Suite;

/// The scripted services of a target.
#[derive(Debug, clap::Args)]
pub(crate) struct ServiceArgs {
    /// A scripted service of the target that scenarios tell what to do, by the name that the dialect gives it; may be repeated
    #[arg(long, value_name = "NAME=URL")]
    pub(crate) service: Vec<Named<Url>>,

    /// The file with the token that a service asks for; may be repeated
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) service_token: Vec<Named<PathBuf>>,
}

/// Something of a service.
#[derive(Debug, Clone)]
pub(crate) struct Named<T> {
    name: String,
    what: T,
}

fn split(text: &str) -> Result<(String, &str), String> {
    let (name, what) = text.split_once('=').ok_or("write NAME=…")?;
    if name.is_empty() || what.is_empty() {
        return Err("write NAME=…".to_owned());
    }
    Ok((name.to_owned(), what))
}

impl FromStr for Named<Url> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, url) = split(text)?;
        Ok(Named { name, what: address(url).map_err(|error| error.to_string())? })
    }
}

impl FromStr for Named<PathBuf> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = split(text)?;
        Ok(Named { name, what: PathBuf::from(file) })
    }
}

impl fmt::Display for Named<Url> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.what)
    }
}

impl fmt::Display for Named<PathBuf> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.what.display())
    }
}

impl ServiceArgs {
    /// The services that they name, each of which the suite's dialect must have.
    pub(crate) fn read(&self, suite: &Suite) -> Result<Services, Failure> {
        let known = suite.dialect.services();
        for Named { name, .. } in &self.service {
            if !known.contains(name) {
                let near =
                    suggest(name, known.iter().map(String::as_str)).map(|near| format!("did you mean `{near}`?"));
                let help = near.unwrap_or_else(|| match known {
                    [] => "it has none at all".to_owned(),
                    known => format!("there is {}", known.join(", ")),
                });
                let dialect = suite.dialect.name();
                return Err(Failure::usage(
                    format!("--service: the dialect `{dialect}` has no service `{name}`"),
                    help,
                ));
            }
        }
        once("--service", self.service.iter().map(|one| one.name.as_str()))?;
        once("--service-token", self.service_token.iter().map(|one| one.name.as_str()))?;
        let unknown = |token: &&Named<PathBuf>| self.service.iter().all(|service| service.name != token.name);
        if let Some(Named { name, .. }) = self.service_token.iter().find(unknown) {
            let message = format!("--service-token: nothing says where the service `{name}` is");
            return Err(Failure::usage(message, format!("add --service {name}=URL")));
        }
        let addresses = self.service.iter().map(|Named { name, what: url }| {
            let token = self.service_token.iter().find(|token| token.name == *name);
            let token = token.map(|token| read_token(&token.what)).transpose()?;
            Ok(ServiceAddress { name: name.clone(), url: url.clone(), token })
        });
        let addresses: Vec<ServiceAddress> = addresses.collect::<Result<_, Failure>>()?;
        Services::new(addresses).map_err(|error| Failure::usage(error, "use https, or an address of this host"))
    }
}

fn once<'n>(option: &str, names: impl Iterator<Item = &'n str>) -> Result<(), Failure> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Failure::usage(format!("{option} names `{name}` twice"), "name it once"));
        }
    }
    Ok(())
}

fn read_token(file: &PathBuf) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display()), "check the path"))?;
    match text.trim() {
        "" => Err(Failure::usage(
            format!("{} holds no token", file.display()),
            "write the token into it, and nothing else",
        )),
        token => Ok(token.to_owned()),
    }
}
