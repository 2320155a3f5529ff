//! What reaches a backend is what was sent: method, target, host and body, of a call its messages, but for what the manifest
//! says of them.

use percent_encoding::percent_decode_str;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::request::without_port;
use crate::log::HttpRequest;
use crate::scenario::Seen;

/// What the backend saw otherwise than it was sent, in words; by its own account, as far as that goes.
pub(super) fn altered(request: &HttpRequest, expected: &Seen, echo: &Value) -> Vec<String> {
    let text = |field: &str| echo.get(field).and_then(Value::as_str);
    let mut seen = Vec::new();
    let mut hold = |field: &str, sent: &str, same: fn(&str, &str) -> bool| {
        if let Some(got) = text(field).filter(|got| !same(sent, got)) {
            seen.push(format!("{field} {got:?}, for {sent:?}"));
        }
    };
    hold("method", &request.method, |sent, got| sent == got);
    if expected.seen_path.is_none() {
        hold("path", &request.target, |sent, got| unescaped(sent) == unescaped(got));
    }
    if expected.seen_host.is_none() {
        // A header of this name is sent in place of the authority.
        let header = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).map(|(_, host)| host);
        let sent = header.unwrap_or(&request.authority);
        // Whether a port that goes without saying is said, is left to who forwards it.
        hold("host", sent, |sent, got| without_port(sent).eq_ignore_ascii_case(without_port(got)));
    }
    if let Some(got) = echo.get("messages").and_then(Value::as_array) {
        let got: Vec<&str> = got.iter().filter_map(Value::as_str).collect();
        let sent: Vec<&str> = match request.sends.as_slice() {
            // A call carries one empty message unless it is said what it carries.
            [] => vec![""],
            several => several.iter().map(String::as_str).collect(),
        };
        if expected.seen_messages.is_none() && got != sent {
            seen.push(format!("messages {got:?}, for {sent:?}"));
        }
    } else if request.sends.is_empty() {
        let digest = format!("{:x}", Sha256::digest(request.body.as_bytes()));
        if text("bodySha256").is_some_and(|got| got != digest) {
            let got = echo.get("bodyLength").and_then(Value::as_u64).unwrap_or_default();
            let sent = request.body.len() as u64;
            seen.push(match got == sent {
                true => format!("another body of {sent} bytes"),
                false => format!("a body of {got} bytes, for one of {sent}"),
            });
        }
    }
    seen
}

/// The path without its escapes, which are a matter of their own, and the query without those that say no more than what
/// they stand for (RFC 3986, section 2.3): any other tells apart what is within a value from what is between two.
fn unescaped(target: &str) -> (Vec<u8>, Option<String>) {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    (percent_decode_str(path).collect(), query.map(spelt))
}

/// A query as it is spelt most simply.
fn spelt(query: &str) -> String {
    let mut parts = query.split('%');
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                all.push(char::from(byte));
                all.push_str(&part[2..]);
            }
            Some(byte) => all.push_str(&format!("%{byte:02X}{}", &part[2..])),
            None => all.push_str(&format!("%{part}")),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn sent() -> HttpRequest {
        HttpRequest {
            method: "POST".to_owned(),
            target: "/a%2fb?x=1&y=2".to_owned(),
            authority: "a.test".to_owned(),
            body: "four".to_owned(),
            ..HttpRequest::default()
        }
    }

    fn echo(field: &str, value: Value) -> Value {
        let digest = format!("{:x}", Sha256::digest("four"));
        let mut echo = json!({
            "method": "POST", "path": "/a%2fb?x=1&y=2", "host": "a.test", "bodyLength": 4, "bodySha256": digest,
        });
        if !field.is_empty() {
            echo[field] = value;
        }
        echo
    }

    #[rstest]
    #[case::as_sent("", json!(null))]
    #[case::escaped_in_upper_case("path", json!("/a%2Fb?x=1&y=2"))]
    #[case::escaped_otherwise("path", json!("/%61/b?x=1&y=2"))]
    #[case::unreserved_in_the_query("path", json!("/a%2fb?%78=1&y=%32"))]
    #[case::host_in_upper_case("host", json!("A.test"))]
    #[case::port_spelt_out("host", json!("a.test:80"))]
    #[case::no_account_of_bodies("bodySha256", json!(null))]
    fn what_is_the_same(#[case] field: &str, #[case] value: Value) {
        assert_eq!(altered(&sent(), &Seen::default(), &echo(field, value)), Vec::<String>::new());
    }

    #[rstest]
    #[case::method("method", json!("GET"), r#"method "GET", for "POST""#)]
    #[case::another("path", json!("/a?x=1&y=2"), r#"path "/a?x=1&y=2", for "/a%2fb?x=1&y=2""#)]
    #[case::query_in_the_path("path", json!("/a%2fb%3fx=1&y=2"), r#"path "/a%2fb%3fx=1&y=2", for "/a%2fb?x=1&y=2""#)]
    #[case::query_lost("path", json!("/a%2fb"), r#"path "/a%2fb", for "/a%2fb?x=1&y=2""#)]
    #[case::parameters_turned("path", json!("/a%2fb?y=2&x=1"), r#"path "/a%2fb?y=2&x=1", for "/a%2fb?x=1&y=2""#)]
    #[case::delimiter("path", json!("/a%2fb?x=1%26y=2"), r#"path "/a%2fb?x=1%26y=2", for "/a%2fb?x=1&y=2""#)]
    #[case::host("host", json!("backend.svc"), r#"host "backend.svc", for "a.test""#)]
    #[case::other_body("bodySha256", json!("00"), "another body of 4 bytes")]
    fn what_is_not(#[case] field: &str, #[case] value: Value, #[case] words: &str) {
        assert_eq!(altered(&sent(), &Seen::default(), &echo(field, value)), [words]);
    }

    #[test]
    fn a_cut_body_tells_its_length() {
        let mut echo = echo("bodyLength", json!(2));
        echo["bodySha256"] = json!("00");
        assert_eq!(altered(&sent(), &Seen::default(), &echo), ["a body of 2 bytes, for one of 4"]);
    }

    #[test]
    fn what_the_manifest_says_otherwise_is_not_held_to_what_was_sent() {
        let expected =
            Seen { seen_path: Some("/".to_owned()), seen_host: Some("b.test".to_owned()), ..Seen::default() };
        let mut echo = echo("path", json!("/"));
        echo["host"] = json!("b.test");
        assert_eq!(altered(&sent(), &expected, &echo), Vec::<String>::new());
    }

    #[test]
    fn a_host_header_is_what_was_sent() {
        let request = HttpRequest { headers: vec![("Host".to_owned(), "b.test".to_owned())], ..sent() };
        assert_eq!(altered(&request, &Seen::default(), &echo("host", json!("b.test"))), Vec::<String>::new());
        assert_eq!(altered(&request, &Seen::default(), &echo("", json!(null))).len(), 1);
    }

    #[rstest]
    #[case::as_sent(&["one", "two"], json!(["one", "two"]), &[])]
    #[case::one_lost(&["one", "two"], json!(["one"]), &[r#"messages ["one"], for ["one", "two"]"#])]
    #[case::turned(&["one", "two"], json!(["two", "one"]), &[r#"messages ["two", "one"], for ["one", "two"]"#])]
    #[case::an_empty_one(&[], json!([""]), &[])]
    #[case::none(&[], json!([]), &[r#"messages [], for [""]"#])]
    #[case::no_account(&["one"], json!(null), &[])]
    fn messages_of_a_call_are_those_sent(#[case] sends: &[&str], #[case] got: Value, #[case] words: &[&str]) {
        let request = HttpRequest { sends: sends.iter().map(|text| (*text).to_owned()).collect(), ..sent() };
        let mut echo = echo("messages", got);
        // What tells of messages tells of no body.
        echo["bodySha256"] = json!(null);
        assert_eq!(altered(&request, &Seen::default(), &echo), words);
    }

    #[test]
    fn messages_that_the_manifest_names_are_not_held_to_those_sent() {
        let expected = Seen { seen_messages: Some(vec!["one".to_owned()]), ..Seen::default() };
        let request = HttpRequest { sends: vec!["one".to_owned(), "two".to_owned()], ..sent() };
        assert_eq!(altered(&request, &expected, &echo("messages", json!(["one"]))), Vec::<String>::new());
    }
}
