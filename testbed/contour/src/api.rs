//! `HTTPProxy.spec` and what else is read of the API, as far as the reference acts on it.

use serde::Deserialize;

macro_rules! api {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[allow(missing_docs, reason = "the names are those of the API")]
        pub struct $name { $($(#[$field_meta])* pub $field: $type,)* })*
    };
}

api! {
    /// `HTTPProxy.spec`.
    ProxySpec {
        virtualhost: Option<VirtualHost>,
        routes: Vec<Route>,
        includes: Vec<Include>,
        tcpproxy: Option<TcpProxy>,
        ingress_class_name: String,
    }
    /// `spec.virtualhost`.
    VirtualHost {
        fqdn: String,
        tls: Option<Tls>,
        authorization: Option<Authorization>,
        cors_policy: Option<CorsPolicy>,
        ip_allow_policy: Vec<IpFilter>,
        ip_deny_policy: Vec<IpFilter>,
        rate_limit_policy: Option<serde_json::Value>,
        jwt_providers: Vec<JwtProvider>,
    }
    /// `tls`.
    Tls {
        secret_name: String,
        minimum_protocol_version: String,
        maximum_protocol_version: String,
        passthrough: bool,
        client_validation: Option<ClientValidation>,
        enable_fallback_certificate: bool,
    }
    /// `clientValidation`.
    ClientValidation {
        ca_secret: String,
        skip_client_cert_validation: bool,
        optional_client_certificate: bool,
        crl_secret: String,
    }
    /// `authorization`.
    Authorization {
        extension_ref: ExtensionRef,
        auth_policy: Option<AuthorizationPolicy>,
        response_timeout: String,
        fail_open: bool,
    }
    /// `authPolicy`, of a root and of a route.
    AuthorizationPolicy { disabled: bool, }
    /// `extensionRef`.
    ExtensionRef { api_version: String, namespace: String, name: String, }
    /// `jwtProviders[]`.
    JwtProvider {
        name: String,
        default: bool,
        #[serde(rename = "localJWKS")] local: Option<LocalKeys>,
        #[serde(rename = "remoteJWKS")] remote: Option<RemoteKeys>,
    }
    /// `remoteJWKS`.
    RemoteKeys {
        uri: String,
        validation: Option<UpstreamValidation>,
        timeout: String,
        cache_duration: String,
    }
    /// `localJWKS`.
    LocalKeys { secret_name: String, key: String, }
    /// `corsPolicy`.
    CorsPolicy {
        allow_credentials: bool,
        allow_origin: Vec<String>,
        allow_methods: Vec<String>,
        allow_headers: Vec<String>,
        expose_headers: Vec<String>,
        max_age: String,
    }
    /// `ipAllowPolicy[]`, `ipDenyPolicy[]`.
    IpFilter { cidr: String, source: String, }
    /// `includes[]`.
    Include { name: String, namespace: String, conditions: Vec<Condition>, }
    /// `conditions[]` of an include or a route.
    Condition {
        prefix: String,
        exact: String,
        regex: String,
        header: Option<HeaderCondition>,
        query_parameter: Option<QueryCondition>,
    }
    /// `header`.
    HeaderCondition {
        name: String,
        present: bool,
        #[serde(rename = "notpresent")] notpresent: bool,
        contains: String,
        #[serde(rename = "notcontains")] notcontains: String,
        ignore_case: bool,
        exact: String,
        #[serde(rename = "notexact")] notexact: String,
        regex: String,
        treat_missing_as_empty: bool,
    }
    /// `queryParameter`.
    QueryCondition {
        name: String,
        exact: String,
        prefix: String,
        suffix: String,
        regex: String,
        contains: String,
        ignore_case: bool,
        present: bool,
    }
    /// `routes[]`.
    Route {
        conditions: Vec<Condition>,
        services: Vec<Service>,
        enable_websockets: bool,
        permit_insecure: bool,
        auth_policy: Option<AuthorizationPolicy>,
        timeout_policy: Option<TimeoutPolicy>,
        retry_policy: Option<RetryPolicy>,
        rate_limit_policy: Option<serde_json::Value>,
        health_check_policy: Option<HealthCheckPolicy>,
        load_balancer_policy: Option<LoadBalancerPolicy>,
        path_rewrite_policy: Option<PathRewritePolicy>,
        request_headers_policy: Option<HeadersPolicy>,
        response_headers_policy: Option<HeadersPolicy>,
        cookie_rewrite_policies: Vec<CookieRewrite>,
        request_redirect_policy: Option<RedirectPolicy>,
        direct_response_policy: Option<DirectResponse>,
        jwt_verification_policy: Option<JwtVerification>,
        ip_allow_policy: Vec<IpFilter>,
        ip_deny_policy: Vec<IpFilter>,
    }
    /// `jwtVerificationPolicy`.
    JwtVerification { require: String, disabled: bool, }
    /// `directResponsePolicy`.
    DirectResponse { status_code: u16, body: String, }
    /// `requestRedirectPolicy`.
    RedirectPolicy {
        scheme: Option<String>,
        hostname: Option<String>,
        port: Option<u16>,
        status_code: Option<u16>,
        path: Option<String>,
        prefix: Option<String>,
    }
    /// `timeoutPolicy`.
    TimeoutPolicy { response: String, idle: String, idle_connection: String, }
    /// `retryPolicy`.
    RetryPolicy { count: i64, per_try_timeout: String, retry_on: Vec<String>, retriable_status_codes: Vec<u16>, }
    /// `healthCheckPolicy`.
    HealthCheckPolicy { path: String, host: String, expected_statuses: Vec<StatusRange>, }
    /// `expectedStatuses[]`.
    StatusRange { start: i64, end: i64, }
    /// `loadBalancerPolicy`.
    LoadBalancerPolicy { strategy: String, request_hash_policies: Vec<HashPolicy>, }
    /// `requestHashPolicies[]`.
    HashPolicy {
        header_hash_options: Option<HashName>,
        query_parameter_hash_options: Option<HashParameter>,
        #[serde(rename = "hashSourceIP")] hash_source_ip: bool,
    }
    /// `headerHashOptions`.
    HashName { header_name: String, }
    /// `queryParameterHashOptions`.
    HashParameter { parameter_name: String, }
    /// `pathRewritePolicy`.
    PathRewritePolicy { replace_prefix: Vec<ReplacePrefix>, }
    /// `replacePrefix[]`.
    ReplacePrefix { prefix: String, replacement: String, }
    /// Of requests or responses.
    HeadersPolicy { set: Vec<HeaderValue>, remove: Vec<String>, }
    /// A header.
    HeaderValue { name: String, value: String, }
    /// `cookieRewritePolicies[]`.
    CookieRewrite {
        name: String,
        path_rewrite: Option<serde_json::Value>,
        domain_rewrite: Option<serde_json::Value>,
        secure: Option<bool>,
        same_site: Option<String>,
    }
    /// `services[]`.
    Service {
        name: String,
        port: u16,
        protocol: Option<String>,
        weight: u32,
        mirror: bool,
        validation: Option<UpstreamValidation>,
        request_headers_policy: Option<HeadersPolicy>,
        response_headers_policy: Option<HeadersPolicy>,
        cookie_rewrite_policies: Vec<CookieRewrite>,
        slow_start_policy: Option<SlowStart>,
    }
    /// `slowStartPolicy`.
    SlowStart { window: String, aggression: String, }
    /// `validation`.
    UpstreamValidation { ca_secret: String, subject_name: String, subject_names: Vec<String>, }
    /// `tcpproxy`.
    TcpProxy {
        services: Vec<Service>,
        include: Option<TcpInclude>,
        includes: Option<TcpInclude>,
        load_balancer_policy: Option<LoadBalancerPolicy>,
    }
    /// `include`.
    TcpInclude { name: String, namespace: String, }
    /// `TLSCertificateDelegation.spec`.
    DelegationSpec { delegations: Vec<Delegation>, }
    /// `delegations[]`.
    Delegation { secret_name: String, target_namespaces: Vec<String>, }
    /// `ExtensionService.spec`.
    ExtensionSpec {
        services: Vec<ExtensionTarget>,
        validation: Option<UpstreamValidation>,
        protocol: Option<String>,
        load_balancer_policy: Option<LoadBalancerPolicy>,
        timeout_policy: Option<TimeoutPolicy>,
    }
    /// `services[]` of an ExtensionService.
    ExtensionTarget { name: String, port: u16, }
}
