//! Columns of `kubectl get`.

use serde_json::Value;

use crate::jsonpath::JsonPath;

/// One column of a Table.
#[derive(Debug, Clone)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// The cell's type as the Table tells it: `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// The format, such as `name`; often empty.
    pub format: String,
    /// What the column shows.
    pub description: String,
    /// 0 for columns that are always shown.
    pub priority: i64,
    /// Where the cell comes from.
    pub cell: ColumnKind,
    /// What stands there when the object has nothing to show.
    pub absent: Value,
}

/// How a cell is made.
#[derive(Debug, Clone)]
pub enum ColumnKind {
    /// `metadata.name`.
    Name,
    /// The time since the timestamp at this path.
    Age(JsonPath),
    /// The value at this path.
    Path(JsonPath),
    /// The number of members of the object or list at this path.
    Count(JsonPath),
    /// `ready/wanted`, from two paths.
    Ratio(JsonPath, JsonPath),
}

impl Column {
    /// A column of the built-in table.
    pub fn new(name: &str, kind: &str, cell: ColumnKind) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            cell,
            absent: Value::Null,
        }
    }

    /// The first column of every kind.
    pub fn object_name() -> Self {
        let format = "name".to_owned();
        let description = "The object's name, unique within its namespace.".to_owned();
        Self { format, description, ..Self::new("Name", "string", ColumnKind::Name) }
    }

    /// The time since creation.
    pub fn age() -> Self {
        let cell = ColumnKind::Age(JsonPath::of(".metadata.creationTimestamp"));
        let description = "The time since the object's creation.".to_owned();
        Self { description, ..Self::new("Age", "string", cell) }
    }
}
