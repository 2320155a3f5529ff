//! Where a kind's compiled schema comes from, and the cache that all servers of a process share.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};

use crate::digest;
use crate::schema::{CompiledSchema, SchemaError, builtin};

/// A schema that is compiled at its first use.
#[derive(Clone)]
pub enum SchemaSource {
    /// The schema of a built-in kind.
    Builtin {
        /// The API group.
        group: String,
        /// The kind.
        kind: String,
    },
    /// The schema of one version of a CustomResourceDefinition.
    Custom(Arc<Lazy>),
}

/// The text of a schema and, once it was needed, what it compiled to.
pub struct Lazy {
    definition: Arc<Value>,
    index: usize,
    compiled: OnceLock<Arc<CompiledSchema>>,
}

impl fmt::Debug for SchemaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin { group, kind } => write!(f, "Builtin({kind}.{group})"),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

impl SchemaSource {
    /// The schema of the version at `index` of a CustomResourceDefinition.
    pub fn custom(definition: Arc<Value>, index: usize) -> Self {
        Self::Custom(Arc::new(Lazy { definition, index, compiled: OnceLock::new() }))
    }

    /// The compiled schema, from the cache where another server has compiled the same text.
    pub fn get(&self) -> Arc<CompiledSchema> {
        match self {
            Self::Builtin { group, kind } => builtin::schema(group, kind).unwrap_or_else(open),
            // The definition was compiled when it was admitted; what does not compile cannot be stored.
            Self::Custom(lazy) => lazy.compiled.get_or_init(|| compile(lazy.text()).unwrap_or_else(|_| open())).clone(),
        }
    }

    /// The schema as the CustomResourceDefinition spells it; nothing for built-in kinds.
    pub fn text(&self) -> Option<&Value> {
        match self {
            Self::Builtin { .. } => None,
            Self::Custom(lazy) => Some(lazy.text()),
        }
    }
}

impl Lazy {
    fn text(&self) -> &Value {
        let version = self.definition.pointer("/spec/versions").and_then(|versions| versions.get(self.index));
        version.and_then(|version| version.pointer("/schema/openAPIV3Schema")).unwrap_or(&Value::Null)
    }
}

/// A schema that admits everything, for kinds that have none.
pub fn open() -> Arc<CompiledSchema> {
    static OPEN: OnceLock<Arc<CompiledSchema>> = OnceLock::new();
    let text = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    OPEN.get_or_init(|| {
        Arc::new(CompiledSchema::compile(&text).unwrap_or_else(|_| unreachable!("the schema is fixed")))
    })
    .clone()
}

type Slot = Arc<OnceLock<Result<Arc<CompiledSchema>, Arc<SchemaError>>>>;

/// Compiles a schema once per process, whatever number of servers ask for it, and from however many threads.
///
/// # Errors
/// [`SchemaError`] if the text is no structural schema.
pub fn compile(text: &Value) -> Result<Arc<CompiledSchema>, Arc<SchemaError>> {
    static CACHE: OnceLock<Mutex<HashMap<digest::Sha256, Slot>>> = OnceLock::new();
    let key = digest::of_json(text);
    let slot: Slot = {
        let mut cache = CACHE.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        cache.entry(key).or_default().clone()
    };
    slot.get_or_init(|| CompiledSchema::compile(text).map(Arc::new).map_err(Arc::new)).clone()
}
