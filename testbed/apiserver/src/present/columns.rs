//! Rows of Tables.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::jsonpath::plain;
use crate::meta;
use crate::resource::{Column, ColumnKind};

/// A column as a Table defines it.
pub fn definition(column: &Column) -> Value {
    json!({
        "name": column.name,
        "type": column.kind,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    })
}

/// The cell of an object in a column.
pub fn cell(column: &Column, object: &Value, now: Timestamp) -> Value {
    match &column.cell {
        ColumnKind::Name => Value::String(meta::name(object).to_owned()),
        ColumnKind::Age(path) => match path.first(object).and_then(Value::as_str) {
            None => Value::Null,
            Some(text) => Value::String(match text.parse::<Timestamp>() {
                Ok(then) => duration(now.as_second() - then.as_second()),
                Err(_) => "<invalid>".to_owned(),
            }),
        },
        ColumnKind::Path(path) => {
            let found = path.find(object);
            match (column.kind.as_str(), found.as_slice()) {
                (_, []) => column.absent.clone(),
                ("integer" | "number" | "boolean", [first, ..]) => (*first).clone(),
                (_, found) => Value::String(found.iter().map(|value| plain(value)).collect::<Vec<_>>().join(",")),
            }
        }
        ColumnKind::Count(path) => match path.first(object) {
            Some(Value::Object(members)) => members.len().into(),
            Some(Value::Array(items)) => items.len().into(),
            _ => 0.into(),
        },
        ColumnKind::Ratio(left, right) => {
            let text = |path: &crate::jsonpath::JsonPath| path.first(object).map_or_else(|| "0".to_owned(), plain);
            Value::String(format!("{}/{}", text(left), text(right)))
        }
    }
}

/// A duration as kubectl shows ages: two units while the larger one is small.
fn duration(seconds: i64) -> String {
    let pair = |large: i64, unit: char, small: i64, below: char| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{below}"),
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, 'd', hours % 24, 'h'),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => pair(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(-5, "<invalid>")]
    #[case(5, "5s")]
    #[case(119, "119s")]
    #[case(120, "2m")]
    #[case(125, "2m5s")]
    #[case(1_800, "30m")]
    #[case(10_860, "3h1m")]
    #[case(90_000, "25h")]
    #[case(900_000, "10d")]
    fn ages(#[case] seconds: i64, #[case] expected: &str) {
        assert_eq!(duration(seconds), expected);
    }
}
