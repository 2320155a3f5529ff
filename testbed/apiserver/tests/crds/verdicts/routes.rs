//! Samples for the routes and XBackendTrafficPolicy.

use serde_json::{Value, json};

use super::corpus::{lists, maybe, objects, some, strings};

/// The samples of the field at a path of a kind.
pub fn values(plural: &str, path: &str) -> Option<Vec<Value>> {
    let last = path.rsplit('.').next()?;
    Some(match last {
        "parentRefs" => parents(),
        "hostnames" => hostnames(),
        "rules" => match plural {
            "httproutes" | "grpcroutes" => [names(json!({})), matches(plural == "httproutes")].concat(),
            _ => names(json!({"backendRefs": [{"name": "a", "port": 80}]})),
        },
        "rules[]" => rule(),
        "backendRefs[]" | "backendRef" => objects(&[
            ("group", maybe(["", "a.b", "gateway.networking.x-k8s.io"])),
            ("kind", maybe(["Service", "Other", "XBackend"])),
            ("name", some(["a"])),
            ("port", maybe([80])),
        ]),
        "filters" => lists(&filter_types().iter().map(|name| json!({"type": name})).collect::<Vec<_>>(), 3),
        "filters[]" | "requests[]" => filter(),
        "requestMirror" => objects(&[
            ("backendRef", some([json!({"name": "a", "port": 80})])),
            ("percent", maybe([0, 50])),
            ("fraction", maybe([json!({"numerator": 1}), json!({"numerator": 2, "denominator": 1})])),
        ]),
        "fraction" | "samplingRate" => {
            objects(&[("numerator", some([0, 1, 4, 5, 100, 101])), ("denominator", maybe([1, 4, 5, 100, 101]))])
        }
        "method" => objects(&[
            ("type", maybe(["Exact", "RegularExpression"])),
            (
                "service",
                maybe(["a.b", "A.B_c1", ".a", "..a", "a..b", "a.", "1a", "a b", "a-b", "", "\u{212a}.\u{17f}", "a\n"]),
            ),
            ("method", maybe(["M", "m_1", "1m", "a.b", "", "\u{212a}", "m\n"])),
        ]),
        "path" if path.ends_with("matches[].path") => path_match(),
        "path" => objects(&[
            ("type", some(["ReplaceFullPath", "ReplacePrefixMatch"])),
            ("replaceFullPath", maybe(["", "/a"])),
            ("replacePrefixMatch", maybe(["", "/a"])),
        ]),
        "allowHeaders" => lists(&strings(&["*", "a", "b", "a*"]), 3),
        "allowMethods" => lists(&strings(&["*", "GET", "POST"]), 3),
        "allowOrigins" => lists(&strings(&["*", "http://a", "https://*.b"]), 3),
        "timeouts" => objects(&[
            ("request", maybe(["0s", "0h0ms", "1s", "10s", "1000ms", "1h"])),
            ("backendRequest", maybe(["0s", "1s", "999ms", "1001ms", "10s", "59m59s", "61m"])),
        ]),
        "sessionPersistence" => objects(&[
            ("type", maybe(["Cookie", "Header"])),
            ("absoluteTimeout", maybe(["1h"])),
            ("cookie", maybe([json!({}), json!({"lifetimeType": "Session"}), json!({"lifetimeType": "Permanent"})])),
            ("header", maybe([json!({"name": "a"})])),
        ]),
        "externalAuth" => objects(&[
            ("protocol", some(["HTTP", "GRPC"])),
            ("backendRef", some([json!({"name": "a", "port": 80})])),
            ("http", maybe([json!({})])),
            ("grpc", maybe([json!({})])),
        ]),
        "interval" => strings(&[
            "0s", "0h", "1ms", "999ms", "1s", "1000ms", "10s", "59m", "60m", "1h", "3600s", "3601s", "1h1ms", "61m",
            "2h",
        ]),
        _ => return None,
    })
}

fn parents() -> Vec<Value> {
    let places = || ("sectionName", maybe(["s", "t"]));
    let pairs = objects(&[("name", some(["a", "b"])), ("namespace", maybe(["x"])), places(), ("port", maybe([1, 2]))]);
    let kinds = objects(&[
        ("group", maybe(["", "a.b"])),
        ("kind", maybe(["Service"])),
        ("name", some(["a"])),
        ("namespace", maybe(["x", "y"])),
    ]);
    let triples = objects(&[("name", some(["a"])), places(), ("port", maybe([1]))]);
    [lists(&pairs, 2), lists(&kinds, 2), lists(&triples, 3)].concat()
}

fn hostnames() -> Vec<Value> {
    let names = strings(&[
        "a.b",
        "a",
        "*.a",
        "*.a.b",
        "*",
        "*.",
        "*a.b",
        "a.*",
        "a.*.b",
        "*.*.a",
        "A.b",
        "*.A",
        "a..b",
        "*.a..b",
        "-a",
        "a-",
        "a_b",
        "*.-a",
        "1.2.3.4",
        "1.2.3.4.5",
        "256.1.1.1",
        "*.1.2.3.4",
        "::1",
        "1.2.3",
    ]);
    lists(&names, 2)
}

/// Lists of rules with and without names.
fn names(mut rule: Value) -> Vec<Value> {
    let mut rules = vec![rule.clone()];
    for name in ["a", "b"] {
        rule["name"] = json!(name);
        rules.push(rule.clone());
    }
    lists(&rules, 4)
}

/// Lists of rules around the limit of matches.
fn matches(default_matches: bool) -> Vec<Value> {
    let of =
        |sizes: &[usize]| -> Value { sizes.iter().map(|size| json!({"matches": vec![json!({}); *size]})).collect() };
    let mut all: Vec<_> = [
        &[64, 64][..],
        &[64, 64, 1],
        &[64, 63, 1],
        &[64, 63, 2],
        &[0, 64, 64],
        &[8; 16],
        &[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 9],
    ]
    .map(of)
    .to_vec();
    // A rule that says nothing counts as one match where that is the default, and as none elsewhere.
    for silent in [0, 1, 2] {
        let mut rules = of(&[64, if default_matches { 63 } else { 64 }]);
        rules.as_array_mut().unwrap().extend(vec![json!({}); silent]);
        all.push(rules);
    }
    all
}

fn rule() -> Vec<Value> {
    let modifier = |name: &str, path: Value| {
        let kind = if name == "urlRewrite" { "URLRewrite" } else { "RequestRedirect" };
        json!({"type": kind, name: {"path": path}})
    };
    let prefix = || json!({"type": "ReplacePrefixMatch", "replacePrefixMatch": "/a"});
    let full = || json!({"type": "ReplaceFullPath", "replaceFullPath": "/a"});
    let (redirect, rewrite) = (|path| modifier("requestRedirect", path), |path| modifier("urlRewrite", path));
    let filters = [
        json!([]),
        json!([{"type": "RequestRedirect", "requestRedirect": {}}]),
        json!([{"type": "URLRewrite", "urlRewrite": {}}]),
        json!([redirect(full())]),
        json!([redirect(prefix())]),
        json!([redirect(prefix()), redirect(prefix())]),
        json!([redirect(prefix()), redirect(full())]),
        json!([redirect(json!({"type": "ReplacePrefixMatch"}))]),
        json!([redirect(json!({"type": "ReplaceFullPath", "replacePrefixMatch": "/"}))]),
        json!([rewrite(full())]),
        json!([rewrite(prefix())]),
        json!([rewrite(prefix()), rewrite(prefix())]),
        json!([rewrite(prefix()), redirect(prefix())]),
    ];
    let backend = |filters: &Value| json!({"name": "a", "port": 80, "filters": filters});
    let mut backends = vec![json!([]), json!([{"name": "a", "port": 80}])];
    backends.extend(filters.iter().map(|filters| json!([backend(filters)])));
    backends.push(json!([backend(&filters[4]), backend(&filters[4])]));
    backends.push(json!([backend(&filters[4]), backend(&filters[10])]));
    backends.push(json!([backend(&filters[10]), backend(&filters[0])]));
    backends.push(json!([backend(&filters[10]), backend(&filters[10])]));
    let path = |kind: &str| json!({"path": {"type": kind, "value": "/"}});
    let matches = [
        json!([]),
        json!([path("PathPrefix")]),
        json!([path("Exact")]),
        json!([path("RegularExpression")]),
        json!([path("PathPrefix"), path("PathPrefix")]),
        json!([{"method": "GET"}]),
        json!([{"path": {"value": "/b"}}]),
    ];
    objects(&[("filters", maybe(filters)), ("backendRefs", maybe(backends)), ("matches", maybe(matches))])
}

fn filter_types() -> [&'static str; 8] {
    [
        "RequestHeaderModifier",
        "ResponseHeaderModifier",
        "RequestMirror",
        "RequestRedirect",
        "URLRewrite",
        "ExtensionRef",
        "CORS",
        "ExternalAuth",
    ]
}

/// Every type of filter with none, each, and each two of the fields that types have.
fn filter() -> Vec<Value> {
    let backend = json!({"name": "a", "port": 80});
    let fields = [
        ("requestHeaderModifier", json!({})),
        ("responseHeaderModifier", json!({})),
        ("requestMirror", json!({"backendRef": backend})),
        ("requestRedirect", json!({})),
        ("urlRewrite", json!({})),
        ("extensionRef", json!({"group": "a.b", "kind": "A", "name": "a"})),
        ("cors", json!({})),
        ("externalAuth", json!({"protocol": "HTTP", "http": {}, "backendRef": backend})),
    ];
    let mut all = Vec::new();
    for kind in filter_types() {
        all.push(json!({"type": kind}));
        for (i, (first, value)) in fields.iter().enumerate() {
            all.push(json!({"type": kind, *first: value}));
            all.extend(
                fields[i + 1..].iter().map(|(second, other)| json!({"type": kind, *first: value, *second: other})),
            );
        }
    }
    all
}

fn path_match() -> Vec<Value> {
    objects(&[
        ("type", maybe(["Exact", "PathPrefix", "RegularExpression", "Other"])),
        (
            "value",
            maybe([
                "/",
                "",
                "a",
                "a/",
                "//",
                "/a//b",
                "/a/",
                "/.",
                "/..",
                "/./",
                "/../",
                "/a/./b",
                "/a/../b",
                "/a/.",
                "/a/..",
                "/...",
                "/.a",
                "/a.",
                "/a/.b/",
                "/a/..b",
                "/a%2fb",
                "/a%2Fb",
                "/a%2gb",
                "/%20",
                "/a%",
                "/#",
                "/a#b",
                "/a?b",
                "/a b",
                "/é",
                "/a\n",
                "/..\n",
                "/-._~!$&'()*+,;=:@",
                "/a\\b",
                "*",
                "/[a]",
                "/{a}",
                "/a|b",
                "/a\"b",
            ]),
        ),
    ])
}
