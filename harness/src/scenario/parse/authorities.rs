//! Authorities of certificates: what one signs is there for somebody to trust, and whom somebody trusts signs something.
//!
//! Nothing declares an authority, so that one with a slip in its name would be one more, of which an implementation knows nothing.

use std::collections::BTreeSet;

use super::super::template::{self, Part, SIGNER, STRANGER, Slot};
use super::super::vocabulary::suggest;
use super::check::Checker;
use super::read::text;
use super::tree::{Kind, Mark, Node};

/// What a scenario has to do with authorities, by alias and place.
#[derive(Default)]
struct Authorities {
    /// Those that sign something.
    signers: BTreeSet<String>,
    /// Those that somebody knows.
    known: BTreeSet<String>,
    /// Where a scenario says who signs.
    signed: Vec<(String, Mark)>,
    /// Where it says by whom something has to be signed.
    trusted: Vec<(String, Mark)>,
}

/// Reports aliases that nothing else in the scenario speaks of.
pub(super) fn check(spec: &Node, checker: &mut Checker<'_>) {
    let mut all = Authorities::default();
    for tls in spec.get("backends").map_or(&[][..], Node::list).iter().filter_map(|backend| backend.get("tls")) {
        all.signer(tls);
        // A backend that takes nobody's certificate.
        all.trusts(tls.get("clients").filter(|clients| clients.text() != Some(STRANGER)));
    }
    let steps = spec.get("steps").map_or(&[][..], Node::list);
    steps.iter().for_each(|step| all.placeholders(step));
    all.probes(steps);
    let signers = all.signers.iter().map(String::as_str);
    let of_nobody = all.trusted.iter().filter(|(alias, _)| !all.signers.contains(alias));
    for (alias, mark) in of_nobody.clone() {
        let message = format!("nothing is signed by the authority `{alias}`");
        checker.report(*mark, message, Some(help(alias, signers.clone())));
    }
    let known: BTreeSet<&str> = all.known.iter().map(String::as_str).chain([SIGNER, STRANGER]).collect();
    let is_of_nobody = |known: &str| of_nobody.clone().any(|(alias, _)| alias == known);
    for (alias, mark) in all.signed.iter().filter(|(alias, _)| !known.contains(alias.as_str())) {
        // Of two names that are meant to be one, one report is enough.
        if suggest(alias, of_nobody.clone().map(|(alias, _)| alias.as_str())).is_none() {
            let message = format!("nobody trusts the authority `{alias}`");
            checker.report(*mark, message, Some(help(alias, known.iter().copied().filter(|name| !is_of_nobody(name)))));
        }
    }
}

/// What may have been meant.
fn help<'n>(alias: &str, known: impl Iterator<Item = &'n str> + Clone) -> String {
    if let Some(near) = suggest(alias, known.clone()) {
        return format!("did you mean `{near}`?");
    }
    let of = |name: &'n str| if name == STRANGER { "stranger, whom nobody has to trust" } else { name };
    let all: Vec<&str> = known.map(of).collect();
    if all.is_empty() { "no authority signs anything here".to_owned() } else { format!("there is {}", all.join(", ")) }
}

impl Authorities {
    /// What a certificate that a manifest describes is signed by.
    fn signer(&mut self, certificate: &Node) {
        self.signers.insert(text(certificate, "authority").unwrap_or(SIGNER).to_owned());
        self.signed.extend(certificate.get("authority").and_then(alias));
    }

    fn trusts(&mut self, node: Option<&Node>) {
        if let Some((alias, mark)) = node.and_then(alias) {
            self.known.insert(alias.clone());
            self.trusted.push((alias, mark));
        }
    }

    fn probes(&mut self, steps: &[Node]) {
        for step in steps {
            if let Some(probe) = step.get("probe") {
                if let Some(client) = probe.get("client") {
                    self.signer(client);
                }
                self.trusts(probe.get("expect").and_then(|expect| expect.get("trusted")));
            }
            for end in step.get("either").map_or(&[][..], Node::list) {
                self.probes(end.get("then").map_or(&[][..], Node::list));
            }
        }
    }

    fn placeholders(&mut self, node: &Node) {
        match &node.kind {
            Kind::Text(text) => self.placeholders_of(text, node.mark),
            Kind::List(items) => items.iter().for_each(|item| self.placeholders(item)),
            Kind::Map(entries) => entries.iter().for_each(|(_, value)| self.placeholders(value)),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
        }
    }

    fn placeholders_of(&mut self, text: &str, mark: Mark) {
        // Unreadable placeholders are reported by who checks them.
        for part in template::parts(text).unwrap_or_default() {
            let Part::Slot(inside) = part else { continue };
            match template::slot(inside, |_| false) {
                Ok(Slot::Authority(alias)) => self.known.extend([alias]),
                Ok(Slot::Client { authority, .. }) => {
                    self.signers.insert(authority.clone());
                    self.signed.push((authority, mark));
                }
                Ok(Slot::Tls(tls)) => self.signers.extend(tls.is_signed.then(|| SIGNER.to_owned())),
                _ => {}
            }
        }
    }
}

fn alias(node: &Node) -> Option<(String, Mark)> {
    Some((node.text()?.to_owned(), node.mark))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;

    use crate::scenario::parse::parse;
    use crate::scenario::vocabulary::Vocabulary;

    /// A scenario with this certificate of a backend, data of a Secret, and probe.
    fn scenario(tls: &str, data: &str, probe: &str) -> String {
        format!(
            "\
apiVersion: gateproof.dev/v1alpha1
kind: Scenario
metadata: {{name: sample}}
spec:
  summary: A sentence.
  features: [Gateway, HTTPRoute]
  gateways: {{gw: http}}
  backends: [{{name: echo, tls: {{names: [a.test], {tls}}}}}]
  steps:
    - apply:
        - {{apiVersion: v1, kind: Secret, metadata: {{name: data}}, data: \"{data}\"}}
    - probe: {{get: \"https://${{host}}/\", {probe}}}
"
        )
    }

    const PLAIN: &str = "expect: {backend: echo}";

    #[rstest]
    #[case::default("", "", PLAIN)]
    #[case::said_as_it_is_anyway("authority: ca", "", "client: {authority: ca}, expect: {backend: echo}")]
    #[case::stranger("authority: stranger", "${client:stranger}", "client: {authority: stranger}, expect: noAnswer")]
    #[case::known_to_the_gateway("authority: next", "${ca:next}", PLAIN)]
    #[case::known_to_a_backend("clients: next", "${client:next}", PLAIN)]
    #[case::strange_to_a_backend("clients: stranger", "", "expect: {status: 502}")]
    #[case::of_a_probe_and_known_to_a_backend(
        "clients: next",
        "",
        "client: {authority: next}, expect: {backend: echo}"
    )]
    #[case::known_to_a_client("authority: next", "", "expect: {backend: echo, trusted: next}")]
    #[case::of_the_backend("", "", "expect: {backend: echo, trusted: ca}")]
    #[case::exchanged_for_one_that_signs_nothing("", "${ca:next}", PLAIN)]
    #[case::signs_for_the_gateway("authority: stranger", "${tls:host;chain}", "expect: {backend: echo, trusted: ca}")]
    fn one_signs_and_another_knows(#[case] tls: &str, #[case] data: &str, #[case] probe: &str) {
        let read = parse("a.yaml", &scenario(tls, data, probe), &Vocabulary::builtin());
        assert!(read.is_ok(), "{read:?}");
    }

    #[rstest]
    #[case::backend("authority: nxet", "${ca:next}", PLAIN, (8, 61), "nobody trusts the authority `nxet`", "did you mean `next`?")]
    #[case::backend_alone(
        "authority: mine", "", PLAIN, (8, 61),
        "nobody trusts the authority `mine`", "there is ca, stranger, whom nobody has to trust",
    )]
    #[case::clients(
        "clients: nobody", "${client:stranger}", "client: {}, expect: {backend: echo}", (8, 59),
        "nothing is signed by the authority `nobody`", "there is ca, stranger, whom nobody has to trust",
    )]
    #[case::clients_of_whom_the_gateway_knows(
        "clients: next", "${ca:next}", PLAIN, (8, 59),
        "nothing is signed by the authority `next`", "there is ca",
    )]
    #[case::client(
        "", "${ca:next}", "client: {authority: other}, expect: noAnswer", (12, 60),
        "nobody trusts the authority `other`", "there is ca, next, stranger, whom nobody has to trust",
    )]
    #[case::secret(
        "clients: clients", "${client:cleints}", "client: {authority: clients}, expect: {backend: echo}", (11, 72),
        "nobody trusts the authority `cleints`", "did you mean `clients`?",
    )]
    #[case::of_two_names_for_one(
        "clients: cleints", "${client:clients}", PLAIN, (8, 59),
        "nothing is signed by the authority `cleints`", "did you mean `clients`?",
    )]
    #[case::trusted(
        "", "", "expect: {backend: echo, trusted: nobody}", (12, 73),
        "nothing is signed by the authority `nobody`", "there is ca",
    )]
    #[case::trusted_where_the_gateway_has_a_certificate_of_nobody(
        "authority: stranger", "${tls:host}", "expect: {backend: echo, trusted: ca}", (12, 73),
        "nothing is signed by the authority `ca`", "there is stranger, whom nobody has to trust",
    )]
    fn who_is_spoken_of_once_is_unknown(
        #[case] tls: &str,
        #[case] data: &str,
        #[case] probe: &str,
        #[case] place: (usize, usize),
        #[case] message: &str,
        #[case] help: &str,
    ) {
        let found = parse("a.yaml", &scenario(tls, data, probe), &Vocabulary::builtin()).unwrap_err();
        let told: Vec<_> =
            found.iter().map(|one| ((one.line, one.column), one.message.as_str(), one.help.as_deref())).collect();
        assert_eq!(told, [(place, message, Some(help))]);
    }

    /// Neither is what the other may have meant.
    #[test]
    fn two_that_are_unknown_are_told_both() {
        let text = scenario("clients: somebody", "", "client: {authority: other}, expect: noAnswer");
        let found = parse("a.yaml", &text, &Vocabulary::builtin()).unwrap_err();
        let told: Vec<_> = found.iter().map(|one| (one.message.as_str(), one.help.as_deref())).collect();
        let expected = [
            ("nothing is signed by the authority `somebody`", "there is ca, other"),
            ("nobody trusts the authority `other`", "there is ca, stranger, whom nobody has to trust"),
        ];
        assert_eq!(told, expected.map(|(message, help)| (message, Some(help))));
    }

    #[test]
    fn nothing_signs_where_there_is_no_certificate() {
        let text = scenario("", "", "expect: {backend: echo, trusted: ca}");
        let text = text.replace("{name: echo, tls: {names: [a.test], }}", "echo");
        let found = parse("a.yaml", &text, &Vocabulary::builtin()).unwrap_err();
        assert_eq!(found[0].help.as_deref(), Some("no authority signs anything here"));
    }

    #[test]
    fn what_is_done_behind_an_end_is_looked_at_too() {
        let end = "      either:\n        - refused: {}\n          then:\n            - probe";
        let text = scenario("", "", PLAIN).replace("    - probe", end);
        let text = text.replace("expect: {backend", "expect: {trusted: nobody, backend");
        let found = parse("a.yaml", &text, &Vocabulary::builtin()).unwrap_err();
        assert!(found.iter().any(|one| one.message.contains("`nobody`")), "{found:?}");
    }
}
