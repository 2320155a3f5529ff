//! The kinds that the reference reads.

gateproof_runtime::kinds! {
    HttpProxy, "HTTPProxy", "projectcontour.io", "v1", "httpproxies";
    Delegation, "TLSCertificateDelegation", "projectcontour.io", "v1", "tlscertificatedelegations";
    ExtensionService, "ExtensionService", "projectcontour.io", "v1alpha1", "extensionservices";
    Service, "Service", "", "v1", "services";
    EndpointSlice, "EndpointSlice", "discovery.k8s.io", "v1", "endpointslices";
    Secret, "Secret", "", "v1", "secrets";
}

/// What is known of the cluster.
pub type Snapshot = gateproof_runtime::object::Snapshot<Kind>;
/// Kind, namespace and name.
pub type Key = gateproof_runtime::object::Key<Kind>;
