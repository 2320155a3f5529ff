//! Samples on both sides of what the definitions ask for.

use serde_json::{Value, json};

use super::beside;

/// What is written of an object, and whether that is admitted.
pub struct Sample {
    pub kind: &'static str,
    /// `spec` or `status`.
    pub part: &'static str,
    /// Null for none.
    pub value: Value,
    pub admitted: bool,
}

pub const DELEGATION: &str = "TLSCertificateDelegation";
pub const EXTENSION: &str = "ExtensionService";
pub const PROXY: &str = "HTTPProxy";

/// The least that the specification of a kind has to say.
pub fn least(kind: &str) -> Value {
    match kind {
        DELEGATION => json!({"delegations": []}),
        EXTENSION => json!({"services": [{"name": "s", "port": 80}]}),
        _ => json!({}),
    }
}

/// An object with more fields.
pub fn with(mut value: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("not an object: {more}") };
    value.as_object_mut().unwrap().extend(more);
    value
}

/// An object without one of its fields.
fn without(mut value: Value, field: &str) -> Value {
    value.as_object_mut().unwrap().remove(field).unwrap();
    value
}

/// From a value to the specification or the status around it.
type Place = fn(Value) -> Value;

/// Samples as they are gathered.
pub struct Samples(Vec<Sample>);

impl Samples {
    /// Values of one place, of which some are admitted there and the others are not.
    pub fn at<const YES: usize, const NO: usize>(
        &mut self,
        (kind, part): (&'static str, &'static str),
        place: impl Fn(Value) -> Value,
        admitted: [Value; YES],
        refused: [Value; NO],
    ) {
        let sample = |admitted: bool| {
            let place = &place;
            move |value: Value| Sample { kind, part, value: place(value), admitted }
        };
        self.0.extend(admitted.into_iter().map(sample(true)));
        self.0.extend(refused.into_iter().map(sample(false)));
    }

    /// The same of a proxy's specification.
    fn proxy<const YES: usize, const NO: usize>(
        &mut self,
        place: impl Fn(Value) -> Value,
        admitted: [Value; YES],
        refused: [Value; NO],
    ) {
        self.at((PROXY, "spec"), place, admitted, refused);
    }

    /// An object is admitted, and without any one of these fields it is not.
    pub fn needs(
        &mut self,
        at: (&'static str, &'static str),
        place: impl Fn(Value) -> Value,
        whole: &Value,
        fields: &[&str],
    ) {
        self.at(at, &place, [whole.clone()], []);
        for field in fields {
            self.at(at, &place, [], [without(whole.clone(), field)]);
        }
    }
}

fn host(more: Value) -> Value {
    json!({"virtualhost": with(json!({"fqdn": "a.example.com"}), more)})
}

fn route(more: Value) -> Value {
    json!({"routes": [more]})
}

pub fn service(more: Value) -> Value {
    with(json!({"name": "s", "port": 80}), more)
}

pub fn all() -> Vec<Sample> {
    let mut all = Samples(Vec::new());
    names(&mut all);
    services(&mut all);
    times(&mut all);
    headers_and_cookies(&mut all);
    answers(&mut all);
    health(&mut all);
    access(&mut all);
    origins(&mut all);
    tokens(&mut all);
    limits(&mut all);
    beside::extensions(&mut all);
    beside::delegations(&mut all);
    beside::statuses(&mut all);
    all.0
}

/// Names, and whom a proxy includes.
fn names(all: &mut Samples) {
    all.proxy(
        |name| json!({"virtualhost": {"fqdn": name}}),
        [json!("a.example.com"), json!("*.example.com"), json!("a"), json!("a".repeat(300))],
        [json!(""), json!("A.example.com"), json!("*"), json!("a.*.com"), json!("a_b.com"), json!("a.example.com.")],
    );
    all.proxy(|value| json!({"virtualhost": value}), [], [json!({})]);
    all.proxy(|value| value, [json!({})], [Value::Null]);
    let include = json!({"name": "n", "namespace": "default", "conditions": [{"prefix": "/"}]});
    all.needs((PROXY, "spec"), |value| json!({"includes": [value]}), &include, &["name"]);
    for field in ["include", "includes"] {
        all.needs((PROXY, "spec"), |value| json!({"tcpproxy": {field: value}}), &json!({"name": "n"}), &["name"]);
    }
    for part in ["header", "queryParameter"] {
        let whole = json!({"name": "n", "present": true, "ignoreCase": true});
        all.needs((PROXY, "spec"), |value| route(json!({"conditions": [{part: value}]})), &whole, &["name"]);
        let included = |value| json!({"includes": [{"name": "n", "conditions": [{part: value}]}]});
        all.needs((PROXY, "spec"), included, &whole, &["name"]);
    }
}

/// What requests and connections are sent to.
fn services(all: &mut Samples) {
    let places: [Place; 2] =
        [|value| route(json!({"services": [value]})), |value| json!({"tcpproxy": {"services": [value]}})];
    for place in places {
        all.needs((PROXY, "spec"), place, &service(json!({})), &["name", "port"]);
        let with_field = |field: &'static str| move |value: Value| place(service(json!({field: value})));
        all.proxy(with_field("port"), [json!(1), json!(65535)], [json!(0), json!(65536), json!("80")]);
        all.proxy(with_field("healthPort"), [json!(1), json!(65535)], [json!(0), json!(65536)]);
        all.proxy(with_field("weight"), [json!(0), json!(1_000_000)], [json!(-1)]);
        all.proxy(with_field("protocol"), [json!("h2"), json!("h2c"), json!("tls")], [json!(""), json!("http")]);
        let start = |more: Value| place(service(json!({"slowStartPolicy": more})));
        all.needs((PROXY, "spec"), start, &json!({"window": "3s"}), &["window"]);
        let start_with = |field: &'static str| {
            move |value: Value| {
                place(service(json!({"slowStartPolicy": with(json!({"window": "3s"}), json!({field: value}))})))
            }
        };
        all.proxy(start_with("window"), [json!("1m30s"), json!("1.5h")], [json!(""), json!("10"), json!("infinity")]);
        all.proxy(
            start_with("aggression"),
            [json!("1"), json!("1.0"), json!(".5")],
            [json!(""), json!("1."), json!("-1")],
        );
        all.proxy(start_with("minWeightPercent"), [json!(0), json!(100)], [json!(-1), json!(101)]);
        verification(all, (PROXY, "spec"), |value| place(service(json!({"validation": value}))));
    }
}

/// What the certificate of an upstream is held to.
pub fn verification(all: &mut Samples, at: (&'static str, &'static str), place: impl Fn(Value) -> Value) {
    let whole = json!({"caSecret": "ca", "subjectName": "a"});
    all.needs(at, &place, &whole, &["caSecret", "subjectName"]);
    let field = |field: &'static str| {
        let (place, whole) = (&place, &whole);
        move |value: Value| place(with(whole.clone(), json!({field: value})))
    };
    all.at(at, field("caSecret"), [json!("n/s"), json!("c".repeat(317))], [json!(""), json!("c".repeat(318))]);
    all.at(at, field("subjectName"), [json!("b"), json!("c".repeat(250))], [json!(""), json!("c".repeat(251))]);
    // The older field has to say the same as the first of the newer one.
    all.at(
        at,
        field("subjectNames"),
        [json!(["a"]), json!(["a", "b"]), json!(["a", "b", "c", "d", "e", "f", "g", "h"])],
        [json!([]), json!(["b"]), json!(["b", "a"]), json!(["a", "b", "c", "d", "e", "f", "g", "h", "i"])],
    );
}

/// Times, of which some may be endless, and one may be nought.
fn times(all: &mut Samples) {
    let finite = || [json!("1s"), json!("1h1m1s1ms1us1µs1ns"), json!("1.5s"), json!(".5s"), json!("0s"), json!("s")];
    let never = || [json!(""), json!("1"), json!("1 s"), json!("-1s"), json!("1d"), json!("forever")];
    let endless = || [json!("infinity"), json!("infinite")];
    let nought = || [json!("0")];
    let timeouts: [Place; 5] = [
        |value| route(json!({"timeoutPolicy": {"response": value}})),
        |value| route(json!({"timeoutPolicy": {"idle": value}})),
        |value| route(json!({"timeoutPolicy": {"idleConnection": value}})),
        |value| route(json!({"retryPolicy": {"perTryTimeout": value}})),
        |value| host(json!({"authorization": {"responseTimeout": value}})),
    ];
    for place in timeouts {
        all.proxy(place, finite(), never());
        all.proxy(place, endless(), nought());
    }
    for field in ["timeout", "cacheDuration"] {
        let place = |value: Value| {
            let keys = with(json!({"uri": "https://a"}), json!({field: value}));
            host(json!({"jwtProviders": [{"name": "p", "remoteJWKS": keys}]}))
        };
        all.proxy(place, finite(), never());
        all.proxy(place, [], endless());
        all.proxy(place, [], nought());
    }
    let age =
        |value: Value| host(json!({"corsPolicy": {"allowOrigin": ["*"], "allowMethods": ["GET"], "maxAge": value}}));
    all.proxy(age, finite(), never());
    all.proxy(age, nought(), endless());
}

/// What is changed of requests and responses.
fn headers_and_cookies(all: &mut Samples) {
    let places: [Place; 6] = [
        |value| route(json!({"requestHeadersPolicy": value})),
        |value| route(json!({"responseHeadersPolicy": value})),
        |value| route(json!({"services": [service(json!({"requestHeadersPolicy": value}))]})),
        |value| route(json!({"services": [service(json!({"responseHeadersPolicy": value}))]})),
        |value| json!({"tcpproxy": {"services": [service(json!({"requestHeadersPolicy": value}))]}}),
        |value| json!({"tcpproxy": {"services": [service(json!({"responseHeadersPolicy": value}))]}}),
    ];
    for place in places {
        let set = |value: Value| place(json!({"set": [value], "remove": ["x"]}));
        all.needs((PROXY, "spec"), set, &json!({"name": "n", "value": "v"}), &["name", "value"]);
        all.proxy(set, [], [json!({"name": "", "value": "v"}), json!({"name": "n", "value": ""})]);
    }
    let places: [Place; 3] = [
        |value| route(json!({"cookieRewritePolicies": [value]})),
        |value| route(json!({"services": [service(json!({"cookieRewritePolicies": [value]}))]})),
        |value| json!({"tcpproxy": {"services": [service(json!({"cookieRewritePolicies": [value]}))]}}),
    ];
    for place in places {
        all.needs((PROXY, "spec"), place, &json!({"name": "n", "secure": true}), &["name"]);
        let with_field =
            |field: &'static str| move |value: Value| place(with(json!({"name": "n"}), json!({field: value})));
        all.proxy(
            with_field("name"),
            [json!("session_id"), json!("é"), json!("c".repeat(4096))],
            ["", "a b", "a;b", "a[", "a]", "a=b", "a/b", "a\\b", "a\"", "a\tb", "a\u{1}b", "a\u{1f}", "a\u{7f}"]
                .map(Value::from),
        );
        all.proxy(with_field("name"), [], [json!("c".repeat(4097))]);
        all.proxy(
            |value| with_field("pathRewrite")(json!({"value": value})),
            [json!("/"), json!("any text"), json!("c".repeat(4096))],
            [json!(""), json!("a;b"), json!("a\tb"), json!("a\u{7f}"), json!("c".repeat(4097))],
        );
        all.proxy(
            |value| with_field("domainRewrite")(json!({"value": value})),
            [json!("example.com"), json!("a".repeat(4096))],
            [json!(""), json!("Example.com"), json!("*.example.com"), json!(".example.com"), json!("a".repeat(4097))],
        );
        all.proxy(with_field("pathRewrite"), [], [json!({})]);
        all.proxy(with_field("domainRewrite"), [], [json!({})]);
        all.proxy(with_field("sameSite"), ["Strict", "Lax", "None"].map(Value::from), [json!("strict"), json!("")]);
    }
    let rewrite = |value: Value| route(json!({"pathRewritePolicy": {"replacePrefix": [value]}}));
    all.needs((PROXY, "spec"), rewrite, &json!({"prefix": "/a", "replacement": "/b"}), &["replacement"]);
    all.proxy(
        rewrite,
        [json!({"replacement": "/b"})],
        [json!({"prefix": "", "replacement": "/b"}), json!({"replacement": ""})],
    );
}

/// Redirects, answers without an upstream, and second attempts.
fn answers(all: &mut Samples) {
    let redirect = |field: &'static str| move |value: Value| route(json!({"requestRedirectPolicy": {field: value}}));
    all.proxy(redirect("scheme"), [json!("http"), json!("https")], [json!("HTTP"), json!("ftp"), json!("")]);
    all.proxy(
        redirect("hostname"),
        [json!("a.example.com")],
        [json!(""), json!("*.example.com"), json!("A"), json!("a".repeat(254))],
    );
    all.proxy(redirect("port"), [json!(1), json!(65535)], [json!(0), json!(65536)]);
    all.proxy(
        redirect("statusCode"),
        [301, 302, 303, 307, 308].map(Value::from),
        [json!(300), json!(304), json!("302")],
    );
    for field in ["path", "prefix"] {
        all.proxy(redirect(field), [json!("/"), json!("/a b")], [json!(""), json!("a")]);
    }
    let direct = |value: Value| route(json!({"directResponsePolicy": value}));
    all.needs((PROXY, "spec"), direct, &json!({"statusCode": 200, "body": ""}), &["statusCode"]);
    all.proxy(|value| direct(json!({"statusCode": value})), [json!(599)], [json!(199), json!(600)]);
    let inner = |field: &'static str| move |value: Value| route(json!({"internalRedirectPolicy": {field: value}}));
    all.proxy(
        inner("redirectResponseCodes"),
        [json!([]), json!([301, 302, 303, 307, 308])],
        [json!([300]), json!([302, 200])],
    );
    all.proxy(
        inner("allowCrossSchemeRedirect"),
        ["Always", "Never", "SafeOnly"].map(Value::from),
        [json!("never"), json!("")],
    );
    let retry = |field: &'static str| move |value: Value| route(json!({"retryPolicy": {field: value}}));
    all.proxy(retry("count"), [json!(-1), json!(0), json!(9)], [json!(-2), json!("1")]);
    all.proxy(
        retry("retryOn"),
        [
            json!(["5xx", "gateway-error", "reset", "reset-before-request", "connect-failure", "envoy-ratelimited"]),
            json!([
                "retriable-4xx",
                "refused-stream",
                "retriable-status-codes",
                "retriable-headers",
                "http3-post-connect-failure"
            ]),
            json!(["cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable", "unavailable"]),
        ],
        [json!(["4xx"]), json!([""]), json!(["5xx", "never"]), json!("5xx")],
    );
    all.proxy(retry("retriableStatusCodes"), [json!([503, -1])], [json!(["503"])]);
}

/// Whether upstreams are well, and how one of them is chosen.
fn health(all: &mut Samples) {
    let check = |value: Value| route(json!({"healthCheckPolicy": value}));
    all.needs((PROXY, "spec"), check, &json!({"path": "", "host": "h"}), &["path"]);
    let field = |field: &'static str| move |value: Value| check(json!({"path": "/", field: value}));
    for name in ["healthyThresholdCount", "unhealthyThresholdCount"] {
        all.proxy(field(name), [json!(0)], [json!(-1)]);
        // That of connections has no limit.
        all.proxy(|value| json!({"tcpproxy": {"healthCheckPolicy": {name: value}}}), [json!(0), json!(-1)], []);
    }
    for name in ["intervalSeconds", "timeoutSeconds"] {
        all.proxy(field(name), [json!(0), json!(-1)], [json!("1s")]);
    }
    let range = |start: i64, end: i64| json!([{"start": start, "end": end}]);
    all.proxy(
        field("expectedStatuses"),
        [json!([]), range(100, 101), range(599, 600), range(300, 200)],
        [
            range(99, 200),
            range(600, 600),
            range(100, 100),
            range(100, 601),
            json!([{"start": 200}]),
            json!([{"end": 300}]),
        ],
    );
    let places: [(&'static str, Place); 3] = [
        (PROXY, |value| route(json!({"loadBalancerPolicy": value}))),
        (PROXY, |value| json!({"tcpproxy": {"loadBalancerPolicy": value}})),
        (EXTENSION, |value| with(least(EXTENSION), json!({"loadBalancerPolicy": value}))),
    ];
    for (kind, place) in places {
        let at = (kind, "spec");
        all.at(at, |value| place(json!({"strategy": value})), [json!("Random"), json!("anything")], [json!(1)]);
        for (options, field) in [("headerHashOptions", "headerName"), ("queryParameterHashOptions", "parameterName")] {
            let hash = |value: Value| place(json!({"requestHashPolicies": [{options: value}]}));
            all.needs(at, hash, &json!({field: "x"}), &[field]);
            all.at(at, hash, [], [json!({field: ""})]);
        }
    }
}

/// Who is let in, by address and by a service that is asked.
fn access(all: &mut Samples) {
    let places: [Place; 4] = [
        |value| host(json!({"ipAllowPolicy": [value]})),
        |value| host(json!({"ipDenyPolicy": [value]})),
        |value| route(json!({"ipAllowPolicy": [value]})),
        |value| route(json!({"ipDenyPolicy": [value]})),
    ];
    for place in places {
        all.needs((PROXY, "spec"), place, &json!({"source": "Peer", "cidr": "not a range"}), &["source", "cidr"]);
        let source = |value: Value| place(json!({"source": value, "cidr": "10.0.0.0/8"}));
        all.proxy(source, [json!("Remote")], [json!("remote"), json!("")]);
    }
    for field in ["apiVersion", "namespace", "name"] {
        let reference = |value: Value| host(json!({"authorization": {"extensionRef": {field: value}}}));
        all.proxy(reference, [json!("x")], [json!("")]);
    }
    all.proxy(|value| host(json!({"authorization": value})), [json!({}), json!({"extensionRef": {}})], []);
    let bytes = |value: Value| host(json!({"authorization": {"withRequestBody": {"maxRequestBytes": value}}}));
    all.proxy(bytes, [json!(1)], [json!(0), json!(-1)]);
    let context = |value: Value| route(json!({"authPolicy": {"context": value}}));
    all.proxy(context, [json!({"a": "b"})], [json!({"a": 1})]);
    for field in ["caSecret", "crlSecret"] {
        let client = |value: Value| host(json!({"tls": {"clientValidation": {field: value}}}));
        all.proxy(client, [json!("s")], [json!("")]);
    }
    // Without rules over these, what contradicts itself is admitted, and for the controller to speak of.
    all.proxy(|value| host(json!({"tls": value})), [json!({}), json!({"passthrough": true, "secretName": "s"})], []);
}

/// Origins that scripts may come from.
fn origins(all: &mut Samples) {
    let cors = |value: Value| host(json!({"corsPolicy": value}));
    let whole = json!({"allowOrigin": ["*"], "allowMethods": ["GET"]});
    all.needs((PROXY, "spec"), cors, &whole, &["allowOrigin", "allowMethods"]);
    let field = |field: &'static str| {
        let whole = whole.clone();
        move |value: Value| cors(with(whole.clone(), json!({field: value})))
    };
    all.proxy(field("allowOrigin"), [json!(["https://a", ""])], [json!([])]);
    for name in ["allowMethods", "allowHeaders", "exposeHeaders"] {
        all.proxy(
            field(name),
            [json!(["*"]), json!(["x-a", "!#$%&'*+.^_`|~-"])],
            [json!([]), json!([""]), json!(["a b"]), json!(["x", "a:"]), json!(["é"])],
        );
    }
}

/// Who gives tokens out.
fn tokens(all: &mut Samples) {
    let keys = json!({"uri": "https://a"});
    let provider = |value: Value| host(json!({"jwtProviders": [value]}));
    let whole = json!({"name": "p", "remoteJWKS": keys, "default": true, "forwardJWT": true});
    all.needs((PROXY, "spec"), provider, &whole, &["name", "remoteJWKS"]);
    all.proxy(|value| provider(with(whole.clone(), json!({"name": value}))), [json!("q")], [json!("")]);
    let remote = |value: Value| provider(json!({"name": "p", "remoteJWKS": value}));
    all.needs((PROXY, "spec"), remote, &keys, &["uri"]);
    let field =
        |field: &'static str| move |value: Value| remote(with(json!({"uri": "https://a"}), json!({field: value})));
    all.proxy(field("uri"), [json!("any text")], [json!("")]);
    all.proxy(field("dnsLookupFamily"), ["auto", "v4", "v6"].map(Value::from), [json!("all"), json!("")]);
    verification(all, (PROXY, "spec"), field("validation"));
    // Nothing says that names differ, nor that one provider is the default: the controller does.
    let twice = json!([whole, whole]);
    all.proxy(|value| host(json!({"jwtProviders": value})), [json!([]), twice], []);
}

/// How often requests are let in.
fn limits(all: &mut Samples) {
    let places: [Place; 2] =
        [|value| host(json!({"rateLimitPolicy": value})), |value| route(json!({"rateLimitPolicy": value}))];
    for place in places {
        let local = |value: Value| place(json!({"local": value}));
        let whole = json!({"requests": 1, "unit": "second"});
        all.needs((PROXY, "spec"), local, &whole, &["requests", "unit"]);
        let field = |field: &'static str| {
            let whole = whole.clone();
            move |value: Value| local(with(whole.clone(), json!({field: value})))
        };
        all.proxy(field("requests"), [json!(2)], [json!(0), json!(-1)]);
        all.proxy(field("unit"), [json!("minute"), json!("hour")], [json!("day"), json!("Second"), json!("")]);
        all.proxy(field("burst"), [json!(0), json!(-1)], [json!("1")]);
        all.proxy(field("responseStatusCode"), [json!(400), json!(599)], [json!(399), json!(600)]);
        let header = json!({"name": "n", "value": "v"});
        let add = |value: Value| field("responseHeadersToAdd")(json!([value]));
        all.needs((PROXY, "spec"), add, &header, &["name", "value"]);
        all.proxy(add, [], [json!({"name": "", "value": "v"}), json!({"name": "n", "value": ""})]);
        let global = |value: Value| place(json!({"global": {"descriptors": value}}));
        all.proxy(global, [json!([{"entries": [{}]}])], [json!([]), json!([{}]), json!([{"entries": []}])]);
        all.proxy(|value| place(json!({"global": value})), [json!({}), json!({"disabled": true})], []);
        let entry = |value: Value| global(json!([{"entries": [value]}]));
        for (kind, whole, fields) in [
            ("genericKey", json!({"value": "v"}), vec!["value"]),
            ("requestHeader", json!({"headerName": "h", "descriptorKey": "k"}), vec!["headerName", "descriptorKey"]),
            ("requestHeaderValueMatch", json!({"value": "v"}), vec!["value"]),
        ] {
            all.needs((PROXY, "spec"), |value| entry(json!({kind: value})), &whole, &fields);
            for field in fields {
                all.proxy(|value| entry(json!({kind: with(whole.clone(), json!({field: value}))})), [], [json!("")]);
            }
        }
        let matched = |value: Value| entry(json!({"requestHeaderValueMatch": {"value": "v", "headers": value}}));
        all.proxy(matched, [json!([{"name": "n"}])], [json!([]), json!([{}])]);
        // What one entry describes is not limited to one thing.
        all.proxy(entry, [json!({"remoteAddress": {}, "genericKey": {"value": "v"}})], []);
    }
}
