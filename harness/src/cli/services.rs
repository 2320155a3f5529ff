//! `--service NAME=URL`, `--service-token NAME=FILE` and `--service-ca NAME=FILE`: the scripted services of a target.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use url::Url;

use super::Failure;
use crate::cluster::control::{ServiceAddress, ServiceError, Services, address};
use crate::scenario::suggest;
use crate::suite::Suite;

/// The scripted services of a target.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ServiceArgs {
    /// A scripted service of the target that scenarios tell what to do, by the name that the dialect gives it; may be repeated
    #[arg(long, value_name = "NAME=URL")]
    pub(crate) service: Vec<Named<Url>>,

    /// The file with the token that a service asks for; may be repeated
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) service_token: Vec<Named<PathBuf>>,

    /// The file with the certificate of the authority that a service's own is signed by, in PEM, if the system knows it not; may be repeated
    #[arg(long, value_name = "NAME=FILE")]
    pub(crate) service_ca: Vec<Named<PathBuf>>,
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
    /// Leaves out what is of other services.
    pub(crate) fn retain(&mut self, is_ours: impl Fn(&str) -> bool) {
        self.service.retain(|one| is_ours(&one.name));
        self.service_token.retain(|one| is_ours(&one.name));
        self.service_ca.retain(|one| is_ours(&one.name));
    }

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
        for (option, files) in [("--service-token", &self.service_token), ("--service-ca", &self.service_ca)] {
            once(option, files.iter().map(|one| one.name.as_str()))?;
            let unknown = |file: &&Named<PathBuf>| self.service.iter().all(|service| service.name != file.name);
            if let Some(Named { name, .. }) = files.iter().find(unknown) {
                let message = format!("{option}: nothing says where the service `{name}` is");
                return Err(Failure::usage(message, format!("add --service {name}=URL")));
            }
        }
        let addresses = self.service.iter().map(|Named { name, what: url }| {
            let of = |files: &[Named<PathBuf>], what| {
                let file = files.iter().find(|file| file.name == *name);
                file.map(|file| read_file(&file.what, what)).transpose()
            };
            let (token, authority) = (of(&self.service_token, "token")?, of(&self.service_ca, "certificate")?);
            Ok(ServiceAddress { name: name.clone(), url: url.clone(), token, authority })
        });
        let addresses: Vec<ServiceAddress> = addresses.collect::<Result<_, Failure>>()?;
        Services::new(addresses).map_err(|error| {
            let help = match &error {
                ServiceError::Plain { .. } => "use https, or an address of this host",
                ServiceError::Authority(..) => "name a file with certificates in PEM",
                _ => "check its address and its files",
            };
            Failure::usage(error, help)
        })
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

fn read_file(file: &PathBuf, what: &str) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display()), "check the path"))?;
    match text.trim() {
        "" => Err(Failure::usage(
            format!("{} holds no {what}", file.display()),
            format!("write the {what} into it, and nothing else"),
        )),
        text => Ok(text.to_owned()),
    }
}
