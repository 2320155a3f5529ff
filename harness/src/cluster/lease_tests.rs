#![allow(clippy::unwrap_used)]
use std::sync::atomic::{AtomicU32, Ordering};

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;
use kube::client::Body as KubeBody;
use tokio::sync::mpsc;

use super::*;

/// Of the first renewals some get no answer, or a bad one.
#[rstest::rstest]
#[case::no_answer(None)]
#[case::refused(Some(500))]
#[case::overtaken(Some(409))]
#[case::of_somebody_before_it(Some(404))]
#[tokio::test(start_paused = true)]
async fn a_few_lost_renewals_lose_no_lease(#[case] code: Option<u16>) {
    let asked = Arc::new(AtomicU32::new(0));
    let (sender, mut renewed) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |_: Request<KubeBody>| {
        let (n, sender) = (asked.fetch_add(1, Ordering::SeqCst), sender.clone());
        async move {
            let code = match code {
                None if n < 4 => std::future::pending().await,
                Some(code) if n < 4 => code,
                _ => {
                    sender.send(clock::now()).unwrap();
                    200
                }
            };
            let answer = Response::builder().status(code).body(Full::new(Bytes::from_static(b"{}"))).unwrap();
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    let began = clock::now();
    let api = Api::new(kube::Client::new(service, "default"));
    let lost = Lost::default();
    let renewal = renew(api, "/lease".to_owned(), "u".to_owned(), lost.clone());
    let _renewal = AbortOnDropHandle::new(tokio::spawn(renewal));
    let first = renewed.recv().await.unwrap();
    assert!(first - began < LASTS, "{:?}", first - began);
    assert_eq!(renewed.recv().await.unwrap() - first, RENEWED);
    assert!(lost.why.get().is_none() && !lost.told.is_cancelled());
}

/// An API server that takes longer for each than until the next is tried.
#[tokio::test(start_paused = true)]
async fn a_slow_api_server_loses_no_lease() {
    let (sender, mut renewed) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |_: Request<KubeBody>| {
        let sender = sender.clone();
        async move {
            clock::until(clock::now() + Duration::from_secs(12)).await;
            sender.send(clock::now()).unwrap();
            Ok::<_, std::convert::Infallible>(Response::new(Full::new(Bytes::from_static(b"{}"))))
        }
    });
    let began = clock::now();
    let api = Api::new(kube::Client::new(service, "default"));
    let renewal = renew(api, "/lease".to_owned(), "u".to_owned(), Lost::default());
    let _renewal = AbortOnDropHandle::new(tokio::spawn(renewal));
    let first = tokio::time::timeout(LASTS, renewed.recv()).await.unwrap().unwrap();
    assert_eq!(first - began, RENEWED + Duration::from_secs(12));
    let second = tokio::time::timeout(LASTS, renewed.recv()).await.unwrap().unwrap();
    assert_eq!(second - first, RENEWED + Duration::from_secs(12));
}

const NOT_FOUND: &str = r#"{"reason": "NotFound"}"#;
const ANOTHER: &str =
    r#"{"reason": "Conflict", "message": "Precondition failed: UID in precondition: u, UID in object meta: v"}"#;
const OF_ANOTHER_UID: &str = r#"{"reason": "Invalid", "details": {"causes": [{"field": "metadata.uid"}]}}"#;

/// By these an API server says that the object is gone, or another one.
#[rstest::rstest]
#[case::gone(404, NOT_FOUND)]
#[case::another(409, ANOTHER)]
#[case::of_another_uid(422, OF_ANOTHER_UID)]
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_gone_is_lost(#[case] code: u16, #[case] body: &'static str) {
    let service = tower::service_fn(move |_: Request<KubeBody>| async move {
        let answer = Response::builder().status(code).body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap();
        Ok::<_, std::convert::Infallible>(answer)
    });
    let lost = Lost::default();
    let api = Api::new(kube::Client::new(service, "default"));
    let renewing = renew(api, "/leases/lane-1".to_owned(), "u".to_owned(), lost.clone());
    tokio::time::timeout(LASTS, renewing).await.unwrap();
    assert!(lost.told.is_cancelled());
    assert!(lost.why.get().unwrap().starts_with("the Lease lane-1 of this run is gone: "));
}
