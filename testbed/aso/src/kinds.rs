//! The kinds that are put into ARM, and what is peculiar to each.

/// What can own an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerRule {
    /// Nothing: the object stands in the subscription.
    Nobody,
    /// Objects of this group and kind.
    Kind(&'static str, &'static str),
    /// Objects of any kind, which the owner names.
    Anything,
}

/// Where the value of an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A key of a Secret.
    Secret,
    /// A key of a ConfigMap.
    ConfigMap,
    /// The id of another resource.
    Resource,
}

/// A field of the spec that stands for a value from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputRule {
    /// Its name in the spec.
    pub field: &'static str,
    /// The name of the value among the properties that ARM gets.
    pub property: &'static str,
    /// Where it comes from.
    pub source: Source,
}

/// A kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group.
    pub group: &'static str,
    /// The one version that is served.
    pub version: &'static str,
    /// The kind as manifests spell it.
    pub kind: &'static str,
    /// The name in URLs.
    pub plural: &'static str,
    /// What stands between the owner's id and the name.
    pub segment: &'static str,
    /// The version of the API of ARM.
    pub api_version: &'static str,
    /// The name in ARM where a resource has exactly one of this kind.
    pub only_name: Option<&'static str>,
    /// What can own it.
    pub owner: OwnerRule,
    /// Values from elsewhere.
    pub inputs: &'static [InputRule],
    /// Whether the type has a DELETE in ARM.
    pub has_delete: bool,
    /// Whether ARM hands out keys by `listKeys`.
    pub has_keys: bool,
    /// Whether `properties` stand in a field of their own in the status, as in ARM, instead of beside `id`.
    pub keeps_properties: bool,
    /// Values of `properties.state` during which the resource is not to be changed; it is read before each change then.
    pub blocking_states: &'static [&'static str],
    /// A field of the status, and the value that says that the resource is not fit for use although it was put in.
    pub unfit: Option<(&'static str, &'static str)>,
}

/// What most kinds are like.
const PLAIN: Kind = Kind {
    group: "",
    version: "",
    kind: "",
    plural: "",
    segment: "",
    api_version: "",
    only_name: None,
    owner: OwnerRule::Kind("resources.azure.com", "ResourceGroup"),
    inputs: &[],
    has_delete: true,
    has_keys: false,
    keeps_properties: false,
    blocking_states: &[],
    unfit: None,
};

/// Every kind.
pub static ALL: [Kind; 7] = [
    Kind {
        group: "resources.azure.com",
        version: "v1api20200601",
        kind: "ResourceGroup",
        plural: "resourcegroups",
        segment: "/resourceGroups",
        api_version: "2020-06-01",
        owner: OwnerRule::Nobody,
        keeps_properties: true,
        ..PLAIN
    },
    Kind {
        group: "storage.azure.com",
        version: "v1api20230101",
        kind: "StorageAccount",
        plural: "storageaccounts",
        segment: "/providers/Microsoft.Storage/storageAccounts",
        api_version: "2023-01-01",
        has_keys: true,
        unfit: Some(("statusOfPrimary", "unavailable")),
        ..PLAIN
    },
    Kind {
        group: "storage.azure.com",
        version: "v1api20230101",
        kind: "StorageAccountsBlobService",
        plural: "storageaccountsblobservices",
        segment: "/blobServices",
        api_version: "2023-01-01",
        only_name: Some("default"),
        owner: OwnerRule::Kind("storage.azure.com", "StorageAccount"),
        has_delete: false,
        ..PLAIN
    },
    Kind {
        group: "network.azure.com",
        version: "v1api20201101",
        kind: "VirtualNetwork",
        plural: "virtualnetworks",
        segment: "/providers/Microsoft.Network/virtualNetworks",
        api_version: "2020-11-01",
        ..PLAIN
    },
    Kind {
        group: "network.azure.com",
        version: "v1api20201101",
        kind: "VirtualNetworksSubnet",
        plural: "virtualnetworkssubnets",
        segment: "/subnets",
        api_version: "2020-11-01",
        owner: OwnerRule::Kind("network.azure.com", "VirtualNetwork"),
        ..PLAIN
    },
    Kind {
        group: "dbforpostgresql.azure.com",
        version: "v1api20221201",
        kind: "FlexibleServer",
        plural: "flexibleservers",
        segment: "/providers/Microsoft.DBforPostgreSQL/flexibleServers",
        api_version: "2022-12-01",
        inputs: &[
            InputRule {
                field: "administratorLoginPassword",
                property: "administratorLoginPassword",
                source: Source::Secret,
            },
            InputRule {
                field: "sourceServerResourceReference",
                property: "sourceServerResourceId",
                source: Source::Resource,
            },
        ],
        blocking_states: &["Dropping", "Starting", "Stopping", "Updating"],
        ..PLAIN
    },
    Kind {
        group: "authorization.azure.com",
        version: "v1api20220401",
        kind: "RoleAssignment",
        plural: "roleassignments",
        segment: "/providers/Microsoft.Authorization/roleAssignments",
        api_version: "2022-04-01",
        owner: OwnerRule::Anything,
        inputs: &[
            InputRule { field: "principalIdFromConfig", property: "principalId", source: Source::ConfigMap },
            InputRule { field: "roleDefinitionReference", property: "roleDefinitionId", source: Source::Resource },
        ],
        ..PLAIN
    },
];

/// The kind of that group and name.
pub fn find(group: &str, kind: &str) -> Option<&'static Kind> {
    ALL.iter().find(|one| one.group == group && one.kind == kind)
}
