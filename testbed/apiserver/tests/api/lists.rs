//! Lists: pages, selectors, versions and collections deleted at once.
#![allow(clippy::unwrap_used)]

use kube::ResourceExt;
use kube::api::{DeleteParams, DynamicObject, ListParams, ObjectList, VersionMatch};
use rstest::rstest;
use serde_json::json;

use crate::support::*;

fn names(list: &ObjectList<DynamicObject>) -> Vec<String> {
    list.items.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test]
async fn pages_show_one_moment() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    for name in ["a", "b", "c", "d", "e"] {
        create(&api, name, "red").await;
    }
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    create(&api, "bb", "red").await;
    api.delete("c", &DeleteParams::default()).await.unwrap();
    let token = first.metadata.continue_.clone().unwrap();
    let second = api.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(names(&second), ["c", "d"], "the list shows what was there when it began");
    assert_eq!(second.metadata.resource_version, first.metadata.resource_version);
    let token = second.metadata.continue_.clone().unwrap();
    server.compact();
    let late = api.list(&ListParams::default().limit(2).continue_token(&token)).await;
    assert_eq!(refused(late), (410, "Expired".into()));
    assert_eq!(refused(api.list(&ListParams::default().continue_token("x")).await), (400, "BadRequest".into()));
}

#[tokio::test]
async fn versions_of_lists() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let first = create(&api, "a", "red").await.resource_version().unwrap();
    create(&api, "b", "red").await;
    let at = |version: &str, matching| ListParams::default().at(version).matching(matching);
    assert_eq!(names(&api.list(&at(&first, VersionMatch::Exact)).await.unwrap()), ["a"]);
    assert_eq!(names(&api.list(&at(&first, VersionMatch::NotOlderThan)).await.unwrap()), ["a", "b"]);
    let future = api.list(&at("999999", VersionMatch::NotOlderThan)).await;
    assert_eq!(refused(future), (504, "Timeout".into()));
    let path = "/apis/example.dev/v1/widgets?resourceVersionMatch=Exact&resourceVersion=0";
    let (code, _, status) = raw(&server, "GET", path, &[], "").await;
    assert_eq!((code, status["reason"].as_str()), (422, Some("Invalid")));
}

#[rstest]
#[case("app=web", "", &["a", "b"])]
#[case("app in (web,api),!old", "", &["a", "c"])]
#[case("app notin (web)", "", &["c", "d"])]
#[case("", "metadata.name=b", &["b"])]
#[case("", "metadata.name!=b,metadata.namespace=default", &["a", "c", "d"])]
#[case("", "spec.color=blue", &["d"])]
#[case("app", "spec.color=red", &["a", "b", "c"])]
#[tokio::test]
async fn selectors(#[case] labels: &str, #[case] fields: &str, #[case] expected: &[&str]) {
    let server = server().await;
    let api = widget_api(&inside(&server));
    for (name, color, labels) in [
        ("a", "red", json!({"app": "web"})),
        ("b", "red", json!({"app": "web", "old": "yes"})),
        ("c", "red", json!({"app": "api"})),
        ("d", "blue", json!({})),
    ] {
        let mut widget = widget(name, json!({"color": color}));
        widget.metadata.labels = serde_json::from_value(labels).unwrap();
        api.create(&Default::default(), &widget).await.unwrap();
    }
    let list = api.list(&ListParams::default().labels(labels).fields(fields)).await.unwrap();
    assert_eq!(names(&list), expected);
}

#[tokio::test]
async fn selectors_that_are_not_offered_are_refused() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    let asked = api.list(&ListParams::default().fields("spec.size=1")).await;
    assert_eq!(refused(asked), (400, "BadRequest".into()));
    let asked = api.list(&ListParams::default().labels("a in (")).await;
    assert_eq!(refused(asked), (400, "BadRequest".into()));
}

#[tokio::test]
async fn collections_are_deleted_as_selected() {
    let server = server().await;
    let api = widget_api(&inside(&server));
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        create(&api, name, color).await;
    }
    let red = ListParams::default().fields("spec.color=red");
    let deleted = api.delete_collection(&DeleteParams::default(), &red).await.unwrap();
    assert_eq!(names(&deleted.left().unwrap()), ["a", "c"]);
    assert_eq!(names(&api.list(&ListParams::default()).await.unwrap()), ["b"]);
}
