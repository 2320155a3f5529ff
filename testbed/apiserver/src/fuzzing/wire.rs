//! Protobuf bodies.

use serde_json::Value;

use crate::wire::decode;

const MAGIC: &[u8] = b"k8s\0";

/// A body is refused with 400 or 415, or names its kind, is no deeper than the decoder allows, and means the same with a
/// field of a newer client at its end. Bytes without the magic at their front are an object of a kind that their first one chooses.
pub fn protobuf(data: &[u8]) {
    let body = if data.starts_with(MAGIC) { data.to_vec() } else { enveloped(data) };
    let decoded = match decode(&body) {
        Ok(decoded) => decoded,
        Err(error) => {
            assert!(error.code == 400 || error.code == 415, "refused with {}", error.code);
            return;
        }
    };
    assert!(decoded["kind"].is_string() && decoded["apiVersion"].is_string(), "{decoded}");
    assert!(depth(&decoded) < 300, "too deep");
    let newer = [&body[..], &[0xF8, 0x07, 1]].concat();
    assert_eq!(decode(&newer).ok().as_ref(), Some(&decoded));
}

fn enveloped(data: &[u8]) -> Vec<u8> {
    const KINDS: [(&str, &str); 6] = [
        ("v1", "Service"),
        ("v1", "Pod"),
        ("v1", "Secret"),
        ("apps/v1", "Deployment"),
        ("discovery.k8s.io/v1", "EndpointSlice"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ];
    let (first, object) = data.split_first().unwrap_or((&0, &[]));
    let (api_version, kind) = KINDS[usize::from(*first) % KINDS.len()];
    let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &meta), field(2, object)].concat()
}

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(content);
    bytes
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
