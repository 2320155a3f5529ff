//! What pages of HTML share: text of others made harmless, and a frame that loads nothing and runs nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::terminal::printable;

/// A text that others chose, as text of a page or of an attribute in quotes: nothing in it is markup, and nothing turns the direction of
/// what stands around it.
pub(crate) fn text(foreign: &str) -> String {
    let mut out = String::with_capacity(foreign.len());
    for c in printable(foreign).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A link, if the address is one of a page on the web; else the words alone. `words` are markup already.
pub(crate) fn link(address: Option<&str>, words: &str) -> String {
    match address.filter(|address| address.starts_with("https://")) {
        Some(address) => format!("<a href=\"{}\" rel=\"noreferrer\">{words}</a>", text(address)),
        None => words.to_owned(),
    }
}

/// A style or a script as a policy names it.
pub(crate) fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// A whole page. Its policy lets it show itself in its own style and nothing else: no script, no image, no address but those of links.
pub(crate) fn page(title: &str, style: &str, body: &str) -> String {
    let digest = digest(style);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{digest}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        text(title)
    )
}
