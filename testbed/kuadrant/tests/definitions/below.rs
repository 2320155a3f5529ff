//! Samples on both sides of the rules of what the policies depend on: services, records, certificates and issuers.

use serde_json::{Value, json};

use super::{Sample, with};

/// Kind and plural, what was there before, what is written, and whether that is admitted.
type Add<'a> = &'a mut dyn FnMut((&'static str, &'static str), Option<Value>, Value, bool);

pub fn samples() -> Vec<Sample> {
    let mut all = Vec::new();
    let mut add = |(kind, plural): (&'static str, &'static str), old: Option<Value>, new: Value, admitted: bool| {
        all.push(Sample { kind, plural, old, new, admitted });
    };
    rules(&mut add);
    requests(&mut add);
    services(&mut add);
    records(&mut add);
    certificates(&mut add);
    all
}

const RULES: (&str, &str) = ("AuthConfig", "authconfigs");

/// Each rule is done in one way.
fn rules(add: Add<'_>) {
    let with_rules = |more: Value| with(json!({"hosts": ["a.example.com"]}), more);
    add(RULES, None, with_rules(json!({})), true);
    add(RULES, None, json!({}), false);
    for (rule, admitted) in [
        (json!({"anonymous": {}}), true),
        (json!({"anonymous": {}, "credentials": {"cookie": {"name": "c"}}}), true),
        (json!({"anonymous": {}, "credentials": {"cookie": {"name": "c"}, "queryString": {"name": "q"}}}), false),
        (json!({}), false),
        (json!({"anonymous": {}, "kubernetesTokenReview": {}}), false),
        (json!({"anonymous": {}, "when": [{"predicate": "true"}]}), true),
        (json!({"anonymous": {}, "when": [{"patternRef": "p", "predicate": "true"}]}), false),
        (json!({"anonymous": {}, "when": [{}]}), false),
        (json!({"jwt": {"issuerUrl": "https://a"}}), true),
        (json!({"jwt": {"jwksUrl": "https://a", "timeout": 5}}), true),
        (json!({"jwt": {"jwksUrl": "https://a", "timeout": -1}}), false),
        (json!({"jwt": {"jwksUrl": "https://a", "issuerUrl": "https://b"}}), false),
        (json!({"jwt": {}}), false),
        (json!({"plain": {"selector": "a"}}), true),
        (json!({"plain": {"expression": "a"}}), true),
        (json!({"plain": {"expression": "a", "selector": "a"}}), false),
        (json!({"plain": {}}), false),
        (json!({"x509": {"selector": {}, "source": {"xfccHeader": "x"}}}), true),
        (json!({"x509": {"selector": {}, "source": {"xfccHeader": "x", "expression": "y"}}}), false),
    ] {
        add(RULES, None, with_rules(json!({"authentication": {"a": rule}})), admitted);
    }
    let patterns = json!({"patterns": [{"selector": "a", "operator": "eq", "value": "b"}]});
    for (rule, admitted) in [
        (json!({"patternMatching": patterns}), true),
        (json!({"patternMatching": {"patterns": [{"selector": "a"}]}}), false),
        (json!({"opa": {"rego": "allow = true"}}), true),
        (json!({"opa": {"rego": "allow = true", "version": "v1"}}), true),
        (json!({"opa": {"rego": "allow = true", "version": "v2"}}), false),
        (json!({"opa": {"externalPolicy": {"url": "https://a"}}}), true),
        (json!({"opa": {"rego": "allow = true", "externalPolicy": {"url": "https://a"}}}), false),
        (json!({"opa": {}}), false),
        (json!({"spicedb": {"endpoint": "a"}}), true),
        (json!({"kubernetesSubjectAccessReview": {"user": {"value": "u"}}}), true),
        (json!({"kubernetesSubjectAccessReview": {"authorizationGroups": {"value": "g"}}}), true),
        (json!({"kubernetesSubjectAccessReview": {"groups": ["g"]}}), true),
        (json!({"kubernetesSubjectAccessReview": {"groups": [], "user": {"value": "u"}}}), false),
        (json!({"kubernetesSubjectAccessReview": {}}), false),
        (json!({"patternMatching": patterns, "spicedb": {"endpoint": "a"}}), false),
        (json!({"opa": {"rego": "allow = true"}, "kubernetesSubjectAccessReview": {"groups": ["g"]}}), false),
        (json!({"opa": {"rego": "a"}, "patternMatching": patterns, "spicedb": {"endpoint": "a"}}), false),
        (json!({}), false),
    ] {
        add(RULES, None, with_rules(json!({"authorization": {"a": rule}})), admitted);
    }
    for (item, admitted) in [
        (json!({"plain": {"value": "v"}}), true),
        (json!({"json": {"properties": {}}}), true),
        (json!({"plain": {"value": "v"}, "json": {"properties": {}}}), false),
        (json!({}), false),
    ] {
        for section in ["headers", "dynamicMetadata"] {
            add(RULES, None, with_rules(json!({"response": {"success": {section: {"h": item}}}})), admitted);
        }
    }
    add(RULES, None, with_rules(json!({"response": {"unauthorized": {"code": 200}}})), false);
}

/// What is asked of others.
fn requests(add: Add<'_>) {
    for (request, admitted) in [
        (json!({"url": "https://a"}), true),
        (json!({"urlExpression": "'https://a'"}), true),
        (json!({"url": "https://a", "urlExpression": "'https://a'"}), false),
        (json!({}), false),
        (json!({"url": "https://a", "body": {"value": "b"}}), true),
        (json!({"url": "https://a", "bodyParameters": {"p": {"value": "b"}}}), true),
        (json!({"url": "https://a", "body": {"value": "b"}, "bodyParameters": {"p": {"value": "b"}}}), false),
        (json!({"url": "https://a", "timeout": -1}), false),
    ] {
        let rules = json!({"hosts": [], "callbacks": {"c": {"http": request}}, "metadata": {"m": {"http": request}}});
        add(RULES, None, rules, admitted);
        let policy = json!({"opa": {"externalPolicy": request}});
        add(RULES, None, json!({"hosts": [], "authorization": {"a": policy}}), admitted);
    }
    let uma = json!({"endpoint": "https://a", "credentialsRef": {"name": "s"}});
    for (metadata, admitted) in [
        (json!({"uma": uma}), true),
        (json!({"userInfo": {"identitySource": "i"}}), true),
        (json!({"userInfo": {"userInfoUrl": "https://a"}}), true),
        (json!({"userInfo": {"identitySource": "i", "userInfoUrl": "https://a"}}), false),
        (json!({"userInfo": {}}), false),
        (json!({"userInfo": {"identitySource": "i"}, "uma": uma}), false),
        (json!({"userInfo": {"identitySource": "i"}, "uma": uma, "http": {"url": "https://a"}}), false),
        (json!({}), false),
    ] {
        add(RULES, None, json!({"hosts": [], "metadata": {"m": metadata}}), admitted);
    }
}

/// The objects that have the services installed.
fn services(add: Add<'_>) {
    let authorino = ("Authorino", "authorinos");
    let plain = json!({"tls": {"enabled": false}});
    add(authorino, None, json!({"listener": plain, "oidcServer": plain}), true);
    add(authorino, None, json!({"listener": plain}), false);
    add(authorino, None, json!({"listener": {}, "oidcServer": plain}), false);
    add(authorino, None, json!({"listener": {"tls": {"minVersion": "1.3"}}, "oidcServer": plain}), true);
    add(authorino, None, json!({"listener": {"tls": {"minVersion": "1.4"}}, "oidcServer": plain}), false);
    let limitador = ("Limitador", "limitadors");
    let limit = json!({"namespace": "n", "max_value": 1, "seconds": 1, "conditions": [], "variables": []});
    add(limitador, None, json!({"limits": [limit]}), true);
    add(
        limitador,
        None,
        json!({"limits": [{"namespace": "n", "max_value": 1, "seconds": 1, "conditions": []}]}),
        false,
    );
    for (value, admitted) in [
        (json!({"minAvailable": 1}), true),
        (json!({"maxUnavailable": "50%"}), true),
        (json!({"maxUnavailable": true}), false),
        (json!({"minAvailable": 1, "maxUnavailable": 1}), false),
    ] {
        add(limitador, None, json!({"pdb": value}), admitted);
    }
    for (storage, replicas, admitted) in [
        (json!({"disk": {}}), 1, true),
        (json!({"disk": {}}), 2, false),
        (json!({"redis": {}}), 2, true),
        (json!({"disk": {"optimize": "disk"}}), 0, true),
        (json!({"disk": {"optimize": "neither"}}), 0, false),
    ] {
        add(limitador, None, json!({"storage": storage, "replicas": replicas}), admitted);
    }
    add(limitador, None, json!({"storage": {"disk": {}}}), true);
    for (quantity, admitted) in [(json!("1Gi"), true), (json!(1), true), (json!("much"), false)] {
        add(limitador, None, json!({"resourceRequirements": {"limits": {"memory": quantity}}}), admitted);
    }
    add(limitador, None, json!({"verbosity": 5}), false);
    add(limitador, None, json!({"telemetry": "loud"}), false);
}

fn records(add: Add<'_>) {
    let record = ("DNSRecord", "dnsrecords");
    let of = |more: Value| with(json!({"rootHost": "a.example.com"}), more);
    add(record, None, json!({}), false);
    for (host, admitted) in [("*.example.com", true), ("localhost", false), ("", false)] {
        add(record, None, json!({"rootHost": host}), admitted);
    }
    add(record, Some(of(json!({}))), json!({"rootHost": "b.example.com"}), false);
    let endpoint = json!({"dnsName": "a.example.com", "targets": ["192.0.2.1"], "recordType": "A", "recordTTL": 60});
    add(record, Some(of(json!({}))), of(json!({"endpoints": [endpoint]})), true);
    add(record, None, of(json!({"endpoints": ["a"]})), false);
    let owner = |id: &str| of(json!({"ownerID": id}));
    for (old, new, admitted) in [
        (None, owner("owner1"), true),
        (None, owner("own"), false),
        (Some(owner("owner1")), owner("owner1"), true),
        (Some(owner("owner1")), owner("owner2"), false),
        (Some(owner("owner1")), of(json!({})), false),
        (Some(of(json!({}))), owner("owner1"), false),
    ] {
        add(record, old, new, admitted);
    }
    let delegates = |value: bool| of(json!({"delegate": value}));
    for (old, new, admitted) in [
        (None, delegates(true), true),
        (Some(delegates(true)), delegates(false), false),
        (Some(delegates(true)), of(json!({})), false),
        (Some(delegates(false)), of(json!({})), true),
        (Some(of(json!({}))), delegates(true), false),
        (Some(of(json!({}))), delegates(false), true),
    ] {
        add(record, old, new, admitted);
    }
    let provider = json!({"name": "p"});
    add(record, None, of(json!({"providerRef": provider})), true);
    add(record, None, of(json!({"providerRef": provider, "delegate": false})), true);
    add(record, None, of(json!({"providerRef": provider, "delegate": true})), false);
    for (field, value, admitted) in [
        ("port", json!(80), true),
        ("port", json!(81), false),
        ("protocol", json!("TCP"), false),
        ("failureThreshold", json!(0), false),
    ] {
        add(record, None, of(json!({"healthCheck": {field: value}})), admitted);
    }
}

fn certificates(add: Add<'_>) {
    let certificate = ("Certificate", "certificates");
    let of = |more: Value| with(json!({"secretName": "s", "issuerRef": {"name": "i"}}), more);
    add(certificate, None, of(json!({})), true);
    add(certificate, None, json!({"secretName": "s"}), false);
    add(certificate, None, of(json!({"usages": ["server auth"]})), true);
    add(certificate, None, of(json!({"usages": ["cooking"]})), false);
    add(certificate, None, of(json!({"privateKey": {"algorithm": "DSA"}})), false);
    let window = |length: &str| of(json!({"renewal": {"windows": [{"cron": "0 0 * * *", "windowDuration": length}]}}));
    add(certificate, None, window("1h30m"), true);
    add(certificate, None, window("long"), false);
    let key = json!({"name": "k"});
    for kind in [("Issuer", "issuers"), ("ClusterIssuer", "clusterissuers")] {
        add(kind, None, json!({"selfSigned": {}}), true);
        add(kind, None, json!({"ca": {}}), false);
        add(kind, None, json!({"acme": {"server": "https://a", "privateKeySecretRef": key}}), true);
        add(kind, None, json!({"acme": {"server": "https://a"}}), false);
        let solver = json!({"dns01": {"webhook": {"groupName": "g", "solverName": "s", "config": {"any": [1]}}}});
        add(
            kind,
            None,
            json!({"acme": {"server": "https://a", "privateKeySecretRef": key, "solvers": [solver]}}),
            true,
        );
        let (cloud, tpp) = (json!({"apiTokenSecretRef": key}), json!({"url": "https://a", "credentialsRef": key}));
        add(kind, None, json!({"venafi": {"zone": "z", "cloud": cloud}}), true);
        add(kind, None, json!({"venafi": {"zone": "z", "tpp": tpp}}), true);
        add(kind, None, json!({"venafi": {"zone": "z", "cloud": cloud, "tpp": tpp}}), false);
        add(kind, None, json!({"venafi": {"zone": "z"}}), false);
    }
}
