//! The page in a real browser: what a reader does with it, and that nothing in it runs that is not its own.
#![allow(clippy::unwrap_used)]

mod browser;
mod made_up;
mod support;

use browser::Browser;
use gateproof_report::diff::{Gate, Side, diff};
use gateproof_report::record::{Outcome, RunRecord, Stage};
use made_up::{page, run, varied, with_hostile_names};
use serde_json::{Value, json};

/// The browser must have had nothing to complain of: no error, no breach of the policy.
#[track_caller]
fn content(browser: &Browser) {
    assert!(browser.complaints.is_empty(), "{:#?}", browser.complaints);
}

#[tokio::test]
async fn is_read_as_a_reader_does() {
    let Some(mut browser) = Browser::start().await else { return };
    let record = varied();
    let page = page(&record);
    browser.screen(1280, 900).await;
    browser.theme("light").await;
    browser.open(&page, "").await;
    first_screen(&mut browser).await;
    themes(&mut browser).await;
    filters(&mut browser).await;
    keyboard(&mut browser).await;
    deep_link(&mut browser, &page).await;
    scrubber(&mut browser).await;
    exchanges(&mut browser).await;
    attempts(&mut browser, &page).await;
    copies(&mut browser).await;
    phone(&mut browser, &page).await;
    content(&browser);
}

async fn first_screen(browser: &mut Browser) {
    let text = browser.text("#detail").await;
    for part in [
        "9 of 42 scenarios failed, for 3 reasons. 1 rule of the status contract is broken.",
        "Gateway API v1.6.1 standard",
        "GATEWAY-HTTP",
        "RefNotPermitted",
        "our #123: mirrors are dropped under load",
        "it behaves as under 1 of the known faults",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // From the day of the run to the last day of the entry.
    let days = browser.value("[...document.querySelectorAll('td.figure')].map((one) => one.textContent)").await;
    assert_eq!(days, json!(["12"]));
    let views = browser.value("[...document.querySelectorAll('.view')].map((one) => one.innerText)").await;
    assert_eq!(views, json!(["Failing9", "Known1", "Untested1", "Contract1", "All44"]));
    // Reasons, and under each the scenarios that failed for it.
    let rows = browser.value("document.querySelectorAll('.row.group').length").await;
    assert_eq!(rows, json!(3));
    browser.picture("overview-light").await;
}

async fn themes(browser: &mut Browser) {
    let light = "(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number); \
                 return r + g + b > 384; })()";
    assert_eq!(browser.value(light).await, json!(true));
    browser.theme("dark").await;
    assert_eq!(browser.value(light).await, json!(false));
    browser.picture("overview-dark").await;
    // A press changes it, whatever the system says, and another one changes it back.
    browser.value("document.getElementById('theme').click()").await;
    assert_eq!(browser.value(light).await, json!(true));
    browser.value("document.getElementById('theme').click()").await;
    assert_eq!(browser.value(light).await, json!(false));
    browser.value("delete document.documentElement.dataset.theme").await;
    browser.theme("light").await;
}

async fn filters(browser: &mut Browser) {
    browser.value("document.getElementById('view-all').click()").await;
    browser.until("rows_shown() === 44".replace("rows_shown()", ROWS).as_str()).await;
    for (query, count) in [
        ("scenario-000", 10),
        ("is:passed", 32),
        ("is:failed", 9),
        ("f:HTTPRouteCORS", 4),
        ("c:gep1364-50", 42),
        ("h7.gateproof.test", 1),
        ("apply HTTPRoute/gp-abc123-ns", 44),
        ("steps[1].programmed", 32),
        ("scenario-0005 entry", 1),
        ("nothing-of-the-kind", 0),
    ] {
        let ask = format!(
            "(() => {{ const box = document.getElementById('search'); box.value = {}; box.dispatchEvent(new Event('input')); \
             return {ROWS}; }})()",
            json!(query)
        );
        assert_eq!(browser.value(&ask).await, json!(count), "{query}");
        let hash = browser.value("new URLSearchParams(location.hash.slice(1)).get('q')").await;
        assert_eq!(hash, json!(query));
    }
    assert!(browser.text("#empty").await.contains("Nothing is found"));
    let pick = "(() => { const box = document.getElementById('search'); box.value = ''; box.dispatchEvent(new Event('input')); \
                const outcome = document.getElementById('outcome'); outcome.value = 'knownFailure'; \
                outcome.dispatchEvent(new Event('change')); return location.hash; })()";
    assert_eq!(browser.value(pick).await, json!("#v=all&o=knownFailure"));
    assert_eq!(browser.value(ROWS).await, json!(1));
}

/// How many rows there are, in sight or not.
const ROWS: &str = "Math.round(parseFloat(document.getElementById('sheet').style.height) / 54)";

async fn keyboard(browser: &mut Browser) {
    browser.value("document.getElementById('view-failing').click()").await;
    browser.value("document.activeElement.blur()").await;
    browser.key("/").await;
    assert_eq!(browser.value("document.activeElement.id").await, json!("search"));
    browser.key("Escape").await;
    assert_eq!(browser.value("document.activeElement.id").await, json!("list"));
    for key in ["j", "j", "j", "k"] {
        browser.key(key).await;
    }
    let active = browser.value("document.getElementById('list').getAttribute('aria-activedescendant')").await;
    assert_eq!(active, json!("row-1"));
    browser.key("Enter").await;
    assert_eq!(browser.value("document.activeElement.id").await, json!("detail"));
    assert_eq!(browser.text("#detail h2").await, "scenario-0005");
    assert_eq!(
        browser.value("document.querySelector('[aria-selected=true] .name').textContent").await,
        json!("scenario-0005")
    );
    // Back to the list, then to the first screen.
    browser.key("Escape").await;
    assert_eq!(browser.value("document.activeElement.id").await, json!("list"));
    browser.key("Escape").await;
    assert!(browser.text("#detail").await.contains("9 of 42 scenarios failed"));
    // A reason is folded and unfolded.
    let before = browser.value(ROWS).await;
    browser.value("document.querySelector('.row.group').click()").await;
    assert_eq!(
        browser.value("document.querySelector('.row.group').getAttribute('aria-expanded')").await,
        json!("false")
    );
    assert!(browser.value(ROWS).await.as_u64() < before.as_u64());
    browser.value("document.querySelector('.row.group').click()").await;
    assert_eq!(browser.value(ROWS).await, before);
}

async fn deep_link(browser: &mut Browser, page: &str) {
    let expectation = "steps[1].settle.HTTPRoute/route.ResolvedRefs.status";
    let hash = format!("s=scenario-0005&e={}", expectation.replace('[', "%5B").replace(']', "%5D").replace('/', "%2F"));
    browser.open(page, &hash).await;
    assert_eq!(browser.text("#detail h2").await, "scenario-0005");
    assert_eq!(browser.value("document.querySelector('#chosen .place').textContent").await, json!(expectation));
    let seen = browser.text("#chosen .seen dd").await;
    assert_eq!(seen, "no entry of our controller");
    let clause = browser.value("document.querySelector('#chosen .clauses a').href").await;
    assert_eq!(clause, json!("https://gateway-api.sigs.k8s.io/geps/gep-1364/"));
    // Its own link leads to it again.
    let own = browser.value("document.querySelector('#chosen .place').hash").await;
    assert!(own.as_str().unwrap().contains("s=scenario-0005"), "{own}");
    // What leads nowhere is the first screen.
    browser.open(page, "s=no-such-scenario&v=nothing&t=x").await;
    assert!(browser.text("#detail").await.contains("9 of 42 scenarios failed"));
}

async fn scrubber(browser: &mut Browser) {
    browser.value("location.hash = '#s=scenario-0000'").await;
    browser
        .until("document.querySelector('.moment') !== null && document.querySelector('svg.axis .tick') !== null")
        .await;
    browser.picture("scenario-light").await;
    let at = |micros: u64| {
        format!(
            "(() => {{ const range = document.querySelector('.moment'); range.value = '{micros}'; \
             range.dispatchEvent(new Event('input')); return document.querySelector('.state .yaml').textContent; }})()"
        )
    };
    let early = browser.value(&at(70_000)).await;
    assert!(early.as_str().unwrap().contains("status: Unknown"), "{early}");
    let later = browser.value(&at(117_000)).await;
    let later = later.as_str().unwrap();
    assert!(later.contains("new: +") && later.contains("status: \"True\""), "{later}");
    let marked =
        browser.value("[...document.querySelectorAll('.state .plus')].map((one) => one.textContent).join('')").await;
    assert!(marked.as_str().unwrap().contains("observedGeneration: 2"), "{marked}");
    assert_eq!(browser.value("new URLSearchParams(location.hash.slice(1)).get('t')").await, json!("117000"));
    // From event to event by the arrows, and by brackets from anywhere.
    browser.value("document.querySelector('.moment').focus()").await;
    browser.key("ArrowRight").await;
    assert_eq!(browser.value("document.querySelector('.moment').value").await, json!("130000"));
    browser.value("document.activeElement.blur()").await;
    browser.key("[").await;
    assert_eq!(browser.value("document.querySelector('.moment').value").await, json!("116000"));
    let lanes =
        browser.value("[...document.querySelectorAll('svg.axis .tick')].map((one) => one.getAttribute('class'))").await;
    for lane in ["tick write", "tick object", "tick probe", "tick other", "tick note"] {
        assert!(lanes.as_array().unwrap().contains(&json!(lane)), "{lanes}");
    }
    assert_eq!(browser.value("document.querySelectorAll('svg.axis .miss').length").await, json!(1));
    // What was due has a line where something settled.
    browser.value("location.hash = '#s=scenario-0001'").await;
    browser.until("document.querySelector('svg.axis .due')?.getAttribute('d').startsWith('M')").await;
    browser.theme("dark").await;
    browser.value("location.hash = '#s=scenario-0000'").await;
    browser.until("document.querySelector('#detail h2')?.textContent === 'scenario-0000'").await;
    browser.until("document.querySelector('svg.axis .tick') !== null").await;
    browser.picture("scenario-dark").await;
    browser.theme("light").await;
}

async fn exchanges(browser: &mut Browser) {
    browser.value("document.querySelector('details.step').open = true").await;
    browser.until("document.querySelector('details.exchange') !== null").await;
    browser.value("document.querySelectorAll('details.exchange')[1].open = true").await;
    browser.until("document.querySelector('details.exchange[open] .bytes') !== null").await;
    let text = browser.text("details.exchange[open]").await;
    for part in ["503", "X-Gateproof-Request: id-3", "server: x", "curl -i --path-as-is http://a.test/"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

async fn attempts(browser: &mut Browser, page: &str) {
    browser.open(page, "s=repeated%232").await;
    let attempts = browser.text(".attempts").await;
    assert!(attempts.starts_with("1 of 3 failed:"), "{attempts}");
    assert_eq!(browser.value("document.querySelectorAll('.attempt').length").await, json!(3));
    assert_eq!(browser.text(".rest summary").await, "1 more follow from it");
    browser.value("document.querySelectorAll('.attempt')[2].click()").await;
    browser.until("document.querySelector('#detail h2').textContent === 'repeated#3'").await;
    assert_eq!(browser.text(".command code").await, "gateproof run repeated --target embedded:deaf");
}

async fn copies(browser: &mut Browser) {
    browser.value("location.hash = '#s=scenario-0000'").await;
    browser.until("document.querySelector('#detail h2').textContent === 'scenario-0000'").await;
    let stand_in = "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { globalThis.copied = text; }}})";
    browser.value(&format!("{stand_in}; document.getElementById('issue').click()")).await;
    browser.until("globalThis.copied !== undefined && document.getElementById('issue').textContent === 'Copied'").await;
    let copied = browser.value("globalThis.copied").await;
    for part in [
        "### scenario-0000: failed",
        "expected: condition ResolvedRefs",
        "seen:     ResolvedRefs=True",
        "GEP1364-50 (MUST): A reference into another namespace",
        "Status of HTTPRoute/gp-abc123-ns/route then:",
        "gateproof run scenario-0000 --target embedded:deaf",
    ] {
        assert!(copied.as_str().unwrap().contains(part), "{part} is not in {copied}");
    }
}

async fn phone(browser: &mut Browser, page: &str) {
    let too_wide = "document.documentElement.scrollWidth > innerWidth";
    browser.screen(390, 844).await;
    browser.open(page, "").await;
    assert_eq!(browser.value(too_wide).await, json!(false));
    browser.picture("phone-overview").await;
    browser.value("document.querySelector('.row.level2').click()").await;
    browser.until("document.querySelector('svg.axis .tick') !== null").await;
    assert_eq!(browser.value(too_wide).await, json!(false));
    assert_eq!(browser.value("getComputedStyle(document.querySelector('.side')).display").await, json!("none"));
    browser.picture("phone-scenario").await;
    browser.value("document.querySelector('.back').click()").await;
    assert_eq!(browser.value("getComputedStyle(document.querySelector('.side')).display").await, json!("flex"));
    browser.screen(1280, 900).await;
}

#[tokio::test]
async fn what_others_wrote_stays_text() {
    let Some(mut browser) = Browser::start().await else { return };
    let record = with_hostile_names();
    browser.screen(1280, 900).await;
    browser.open(&page(&record), "").await;
    for scenario in &record.scenarios {
        let select = format!("location.hash = new URLSearchParams({{s: {}}})", json!(scenario.name));
        browser.value(&select).await;
        browser.until("document.querySelector('svg.axis') !== null").await;
        let shown = browser.value("document.querySelector('#detail h2').textContent").await;
        let shown = shown.as_str().unwrap().to_owned();
        assert!(!shown.contains(['\u{2028}', '\u{202e}', '\u{1b}', '\0']), "{shown}");
        if !scenario.name.contains('\u{2028}') {
            assert_eq!(shown, scenario.name);
        }
        let chosen = browser.value("document.querySelector('.finding .seen dd').textContent.length").await;
        assert!(chosen.as_u64().unwrap() > 5000);
    }
    assert_eq!(browser.value("document.documentElement.scrollWidth > innerWidth").await, json!(false));
    assert_eq!(browser.value("globalThis.owned").await, Value::Null);
    let foreign =
        "document.querySelectorAll('#app script, #app img, #app iframe, #app object, a[href^=\"javascript\"]').length";
    assert_eq!(browser.value(foreign).await, json!(0));
    content(&browser);
}

#[tokio::test]
async fn what_exists_is_bounded() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.screen(1280, 900).await;
    browser.open(&page(&run(5000)), "v=all").await;
    let nodes = "document.querySelectorAll('*').length";
    let scrolled = |part: f64| {
        format!(
            "(() => {{ const list = document.getElementById('list'); list.scrollTop = list.scrollHeight * {part}; }})()"
        )
    };
    for part in [0.0, 0.31, 0.77, 1.0] {
        browser.value(&scrolled(part)).await;
        browser
            .until(
                "document.querySelector('.row').id === \
                 'row-' + Math.max(0, Math.floor(document.getElementById('list').scrollTop / 54) - 4)",
            )
            .await;
        let count = browser.value(nodes).await.as_u64().unwrap();
        assert!((100..1500).contains(&count), "{count} at {part}");
    }
    assert_eq!(
        browser.value("[...document.querySelectorAll('.row')].at(-1).querySelector('.name').textContent").await,
        json!("scenario-4999")
    );
    let last = browser.value("[...document.querySelectorAll('.row')].at(-1).getAttribute('aria-posinset')").await;
    assert_eq!(last, json!("5000"));
    browser.value("[...document.querySelectorAll('.row')].at(-1).click()").await;
    assert_eq!(browser.text("#detail h2").await, "scenario-4999");
    let count = browser.value(nodes).await.as_u64().unwrap();
    assert!(count < 1500, "{count}");
    content(&browser);
}

/// Runs whose differences have everything in them that a comparison can say.
fn pairs() -> Vec<(Vec<RunRecord>, Vec<RunRecord>)> {
    let mut later = varied();
    later.date = "2026-11-21T10:00:00Z".to_owned();
    later.target.gateway_api_version = Some("v1.7.0".to_owned());
    later.target.features = vec!["Gateway".to_owned(), "UDPRoute".to_owned()];
    later.arguments.clear();
    for (number, scenario) in later.scenarios.iter_mut().enumerate() {
        match number % 7 {
            0 => scenario.outcome = Outcome::Failed,
            1 => scenario.outcome = Outcome::Passed,
            2 => (scenario.outcome, scenario.reason) = (Outcome::Inconclusive, Some("late".to_owned())),
            3 => scenario.findings = vec![made_up::finding("something else")],
            _ => {}
        }
    }
    later.scenarios.retain(|scenario| !scenario.name.ends_with("13"));
    later.contract[0].breaches.clear();
    let mut slow = run(60);
    slow.date = "2026-11-22T10:00:00Z".to_owned();
    slow.interrupted = true;
    slow.scenarios.iter_mut().flat_map(|one| &mut one.stages).for_each(|stage| stage.reached_ms *= 3);
    let timed = |times: &[u64]| {
        let mut record = run(0);
        for (number, time) in times.iter().enumerate() {
            let name = if number == 0 { "ü-\u{10000}".to_owned() } else { format!("ü-\u{10000}#{}", number + 1) };
            let mut one = support::scenario(&name, &["Gateway"], Outcome::Passed);
            let stage = "programmed".to_owned();
            one.stages =
                vec![Stage { step: 1, stage, reached_ms: *time, settled_ms: *time, limit_ms: 9000, waited_ms: 0 }];
            record.scenarios.push(one);
        }
        record
    };
    let often = timed(&[100, 101, 102, 102, 104, 105, 106, 107, 108]);
    let slower = timed(&[200, 201, 202, 203, 204, 205, 206, 207, 208]);
    vec![
        (vec![varied()], vec![varied()]),
        (vec![varied()], vec![later.clone()]),
        (vec![later.clone(), varied()], vec![slow.clone()]),
        (vec![run(60)], vec![slow]),
        (vec![often], vec![slower]),
        (vec![run(0)], vec![varied(), later]),
    ]
}

/// The same but for the last digits of a chance, for which the two have other ways.
fn assert_same(path: &str, ours: &Value, theirs: &Value) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{path}");
            a.iter().for_each(|(name, one)| assert_same(&format!("{path}.{name}"), one, &b[name]));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{path}: {ours} {theirs}");
            a.iter().zip(b).enumerate().for_each(|(at, (a, b))| assert_same(&format!("{path}[{at}]"), a, b));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-12 + 1e-9 * a.abs(), "{path}: {a} {b}");
        }
        _ => assert_eq!(ours, theirs, "{path}"),
    }
}

#[tokio::test]
async fn compares_as_report_diff_does() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.open(&page(&run(1)), "").await;
    let mut said = 0;
    for (before, here) in pairs() {
        let ours = diff(&Side::of(&before).unwrap(), &Side::of(&here).unwrap(), &Gate::default());
        let theirs = browser.value(&format!("gateproof.diff({}, {})", json!(before), json!(here))).await;
        said += ours.scenarios.len() + ours.slower.len();
        assert_same("", &serde_json::to_value(&ours).unwrap(), &theirs);
    }
    assert!(said > 60, "{said}");
    content(&browser);
}

#[tokio::test]
async fn another_run_is_dropped_in() {
    let Some(mut browser) = Browser::start().await else { return };
    let (mut before, here) = (varied(), varied());
    before.date = "2026-11-19T10:00:00Z".to_owned();
    before.scenarios[0].outcome = Outcome::Passed;
    before.scenarios[0].findings.clear();
    let drop = |name: &str, text: &str| {
        format!(
            "(() => {{ const carried = new DataTransfer(); carried.items.add(new File([{}], {})); \
             dispatchEvent(new DragEvent('drop', {{dataTransfer: carried, bubbles: true, cancelable: true}})); }})()",
            json!(text),
            json!(name)
        )
    };
    browser.screen(1280, 900).await;
    for (name, text) in [("record.json", json!(before).to_string()), ("report.html", page(&before))] {
        browser.open(&page(&here), "").await;
        browser.value(&drop(name, &text)).await;
        browser.until("document.querySelector('.news') !== null").await;
        let news = browser.text(".news").await;
        assert!(news.starts_with(&format!("This run against {name}")), "{news}");
        assert!(news.contains("1 newly failing") && news.contains("scenario-0000"), "{news}");
        content(&browser);
    }
    browser.picture("compared-light").await;
    // Whatever else it is, it says so, and the page stays.
    let mut other = varied();
    other.target.dialect = "aso".to_owned();
    let other = json!(other).to_string();
    for (text, why) in [("{", "JSON"), ("{}", "no record of a run"), (&*other, "of another dialect, aso")] {
        browser.open(&page(&here), "").await;
        browser.value(&drop("x.json", text)).await;
        browser.until("document.querySelector('[role=alert]') !== null").await;
        let alert = browser.text("[role=alert]").await;
        assert!(alert.starts_with("x.json: ") && alert.contains(why), "{alert}");
        assert!(browser.text("#detail").await.contains("9 of 42 scenarios failed"));
    }
    content(&browser);
}
