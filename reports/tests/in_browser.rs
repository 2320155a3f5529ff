//! The page in a real browser: what a reader does with it, and that nothing in it runs that is not its own.
#![allow(clippy::unwrap_used)]

mod browser;
mod made_up;
mod support;

use browser::Browser;
use gateproof_report::diff::{Gate, Side, diff};
use gateproof_report::html::{About, Evidence, Object, Page};
use gateproof_report::record::{Outcome, RunRecord, Severity, Stage};
use gateproof_report::reproduce;
use gateproof_report::terminal::printable;
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
    known(&mut browser).await;
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
        "it behaves as under one of the known faults",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // From the day of the run to the last day of the entry.
    let days = "[...document.querySelectorAll('td.figure')].map((one) => [one.className, one.textContent])";
    assert_eq!(browser.value(days).await, json!([["figure", "12"]]));
    let views = browser.value("[...document.querySelectorAll('.view')].map((one) => one.innerText)").await;
    assert_eq!(views, json!(["Failing9", "Known2", "Untested1", "Contract2", "All44"]));
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

/// What is known to fail is in one place: scenarios under their reason, and rules of the contract.
async fn known(browser: &mut Browser) {
    let look = |query: &str| {
        format!(
            "(() => {{ document.getElementById('view-known').click(); const box = document.getElementById('search'); \
             box.value = {}; box.dispatchEvent(new Event('input')); \
             return [...document.querySelectorAll('.row .name')].map((one) => one.innerText); }})()",
            json!(query)
        )
    };
    assert_eq!(
        browser.value(&look("")).await,
        json!(["settle HTTPRoute ResolvedRefs.status", "known", "HTTPRoute/always-present"])
    );
    assert_eq!(browser.value(&look("always-present")).await, json!(["HTTPRoute/always-present"]));
    browser.value("document.querySelector('.row').click()").await;
    assert!(browser.text("#detail").await.contains("our #124: written in two steps"));
    assert_eq!(browser.value(&look("")).await.as_array().map(Vec::len), Some(3));
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
    assert_eq!(browser.text(".rest summary").await, "1 more follows from it");
    assert_eq!(browser.value("document.querySelector('.rest').open").await, json!(false));
    browser.value("document.querySelectorAll('.attempt')[2].click()").await;
    browser.until("document.querySelector('#detail h2').textContent === 'repeated#3'").await;
    assert_eq!(browser.text(".command code").await, "gateproof run repeated --target embedded:deaf");
    // A link to what follows opens what it is in.
    browser.open(page, "s=repeated%232&e=steps%5B1%5D.settle.HTTPRoute%2Froute.ResolvedRefs.status").await;
    assert_eq!(browser.value("document.querySelector('.rest').open").await, json!(true));
    browser.value("location.hash = '#s=known'").await;
    browser.until("document.querySelector('#detail h2').textContent === 'known'").await;
    assert!(browser.text(".reason .quiet").await.contains("(until 2026-12-02: 12 days left; known.yaml:4)"));
}

async fn copies(browser: &mut Browser) {
    browser.value("location.hash = '#s=scenario-0000'").await;
    browser.until("document.querySelector('#detail h2').textContent === 'scenario-0000'").await;
    let copied = browser.value(COPY_ISSUE).await;
    browser.until("document.getElementById('issue').textContent === 'Copied'").await;
    for part in [
        "### scenario-0000: failed",
        "expected: condition ResolvedRefs",
        "seen:     ResolvedRefs=True",
        "GEP1364-50 (MUST): A reference into another namespace",
        "Status of HTTPRoute/gp-abc123-ns/route then:",
        "reason: ResolvedRefs",
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

/// What the button for an issue copies.
const COPY_ISSUE: &str = "new Promise((done) => { \
    Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => done(text)}, configurable: true}); \
    document.getElementById('issue').click(); })";

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
        let titles = browser.value("[...document.querySelectorAll('[title]')].map((one) => one.title).join('')").await;
        assert!(!titles.as_str().unwrap().contains(['\u{2028}', '\u{202e}', '\u{1b}', '\0']), "{titles}");
        // A line for a shell is the one of the other reports, letter by letter.
        let line = browser.value("document.querySelector('.command code').textContent").await;
        assert_eq!(line, json!(printable(&reproduce::command(&record.again(), &scenario.name))));
        let copied = browser.value(COPY_ISSUE).await;
        let copied = copied.as_str().unwrap();
        assert!(!copied.contains(['\u{2028}', '\u{202e}', '\u{1b}', '\0']), "{copied}");
        assert_eq!(copied.contains("\n`````\n"), scenario.name.contains("````"), "{copied}");
    }
    assert_eq!(browser.value("document.documentElement.scrollWidth > innerWidth").await, json!(false));
    assert_eq!(browser.value("globalThis.owned").await, Value::Null);
    let foreign =
        "document.querySelectorAll('#app script, #app img, #app iframe, #app object, a[href^=\"javascript\"]').length";
    assert_eq!(browser.value(foreign).await, json!(0));
    content(&browser);
}

/// Each object as it was at a moment, though only what changed stands in the page.
#[tokio::test]
async fn an_object_is_shown_as_it_was() {
    let Some(mut browser) = Browser::start().await else { return };
    let record = run(1);
    let mut seen = Evidence { ended: 100, ..Evidence::default() };
    let mut thing = Object::named("Thing/ns/a".to_owned());
    thing.saw(10, false, &json!({"spec": {"a": 1}, "status": {"b": 1}}));
    thing.saw(20, false, &json!({"spec": {"a": 1}}));
    thing.saw(30, false, &json!({"spec": {"a": 2}}));
    thing.saw(40, true, &json!({"spec": {"a": 2}}));
    let mut long = Object::named("Thing/ns/long".to_owned());
    long.saw(50, false, &json!({"spec": (0..1000).collect::<Vec<_>>()}));
    seen.objects = vec![thing, long];
    let mut page = Page::of(&record, made_up::about()).unwrap();
    page.put("scenario-0000", seen).unwrap();
    let page = page.render().unwrap();
    let shown = "(() => { const box = document.querySelector('details.object'); \
                 return [box.querySelector('.quiet').textContent, box.querySelector('.yaml')?.textContent ?? '']; })()";
    for (at, when, lines) in [
        (5, "not there yet", ""),
        (10, "version 1 of 4, since 0.0 ms", "  status:\n    b: 1\n"),
        (20, "version 2 of 4, since 0.0 ms", "gone: - status:\ngone: -   b: 1\n"),
        (30, "version 3 of 4, since 0.0 ms", "  spec:\ngone: -   a: 1\nnew: +   a: 2\n"),
        // As it was last.
        (40, "gone since 0.0 ms", "  spec:\n    a: 2\n"),
    ] {
        browser.open(&page, &format!("s=scenario-0000&t={at}")).await;
        assert_eq!(browser.value(shown).await, json!([when, lines]), "{at}");
    }
    browser.open(&page, "s=scenario-0000&t=50").await;
    let lines = "document.querySelector('.yaml').children.length";
    assert_eq!(browser.value(lines).await, json!(300));
    assert!(browser.text(".yaml").await.ends_with("… 701 lines more"));
    content(&browser);
}

#[tokio::test]
async fn what_exists_is_bounded() {
    let Some(mut browser) = Browser::start().await else { return };
    browser.screen(1280, 900).await;
    let mut record = run(5000);
    record.contract = varied().contract;
    record.contract[0].severity = Severity::Warning;
    record.contract[0].breaches = vec![record.contract[0].breaches[0].clone(); 300];
    let page = page(&record);
    browser.open(&page, "").await;
    let cuts = browser.value("JSON.parse(document.getElementById('data').textContent).cuts").await;
    let told = format!(
        "of those that did not pass, for {} there is an outline or less, for want of room, and for {} there is all; \
         of those that passed, for {} there is an outline, and for {} there is none.",
        cuts["shortened"], cuts["whole"], cuts["passed"], cuts["passedWithout"]
    );
    assert!(browser.text("#detail").await.contains(&told), "{told}");
    // Of very many the ones before go when the next are asked for.
    browser.value("document.getElementById('view-rules').click()").await;
    assert_eq!(browser.value("document.querySelector('.row .mark').className").await, json!("mark inconclusive"));
    browser.value("document.querySelector('.row').click()").await;
    for breaches in [50, 100, 100, 100, 100, 100] {
        assert_eq!(browser.value("document.querySelectorAll('.finding').length").await, json!(breaches));
        browser.value("document.querySelector('.more')?.click()").await;
    }
    browser.value("document.querySelector('.finding a').click()").await;
    browser.until("document.querySelector('#detail h2').textContent === 'scenario-0000'").await;
    browser.open(&page, "v=all").await;
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

/// What is news against a baseline is on the first screen, and marked in the list.
#[tokio::test]
async fn news_are_told() {
    let Some(mut browser) = Browser::start().await else { return };
    let (mut before, here) = (varied(), varied());
    before.date = "2026-11-19T10:00:00Z".to_owned();
    before.scenarios[0].outcome = Outcome::Passed;
    before.scenarios[0].findings.clear();
    let news = diff(&Side::of([&before]).unwrap(), &Side::of([&here]).unwrap(), &Gate::default());
    let page = Page::of(&here, About { news: Some(news), ..made_up::about() }).unwrap().render().unwrap();
    browser.screen(1280, 900).await;
    browser.open(&page, "").await;
    let told = browser.text(".news").await;
    assert!(told.starts_with("News against the baseline") && told.contains("1 newly failing"), "{told}");
    assert!(told.contains("2026-11-20T10:00:00Z against the run of 2026-11-19T10:00:00Z"), "{told}");
    let marked = "[...document.querySelectorAll('.row:has(.new) .name')].map((one) => one.textContent)";
    assert_eq!(browser.value(marked).await, json!(["scenario-0000"]));
    content(&browser);
}

/// What another selection leaves out stands in the way of nothing, and its reason is said once. Lists hold nothing but their entries.
#[tokio::test]
async fn what_was_not_selected_is_folded() {
    let Some(mut browser) = Browser::start().await else { return };
    let (before, mut here) = (varied(), varied());
    here.scenarios.truncate(3);
    let news = diff(&Side::of([&before]).unwrap(), &Side::of([&here]).unwrap(), &Gate::default());
    let page = Page::of(&here, About { news: Some(news), ..made_up::about() }).unwrap().render().unwrap();
    browser.open(&page, "").await;
    let open = "document.querySelector('.change.noLongerTested').open";
    assert_eq!(browser.value(open).await, json!(false));
    let told = browser.text(".change.noLongerTested > summary").await;
    assert!(told.ends_with(": it was not selected"), "{told}");
    assert_eq!(browser.value("document.querySelectorAll('.change.noLongerTested p').length").await, json!(0));
    let strangers = "[...document.querySelectorAll('ol > *, ul > *')].filter((one) => one.tagName !== 'LI').length";
    assert_eq!(browser.value(strangers).await, json!(0));
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
            let stage = "programmed".into();
            one.stages =
                vec![Stage { step: 1, stage, reached_ms: *time, settled_ms: *time, limit_ms: 9000, waited_ms: 0 }];
            record.scenarios.push(one);
        }
        record
    };
    // As few executions as tell.
    let often = timed(&[100, 101, 102, 102, 104, 105, 106, 107]);
    let slower = timed(&[130, 131, 132, 133, 134, 135, 136, 137]);
    // Not what the letters of UTF-16 say, and no repeats.
    let names = ["\u{10000}", "\u{ff5e}", "b#2", "b#+3", "b#", "c#4294967295", "c#4294967296"];
    let of_names = |outcome| {
        let mut record = run(0);
        record.scenarios = names.map(|name| support::scenario(name, &["Gateway"], outcome)).to_vec();
        record
    };
    // One of two runs breaks a rule in a way that is not known.
    let (news, mut known) = (varied(), varied());
    known.date = "2026-11-21T10:00:00Z".to_owned();
    known.contract[0].known = Some("our #123".to_owned());
    vec![
        (vec![varied()], vec![varied()]),
        (vec![varied()], vec![later.clone()]),
        (vec![later.clone(), varied()], vec![slow.clone()]),
        (vec![run(60)], vec![slow]),
        (vec![often], vec![slower]),
        (vec![of_names(Outcome::Passed)], vec![of_names(Outcome::Failed)]),
        (vec![run(0)], vec![news, known]),
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
    // The later of the two is what is new, whichever is dropped.
    browser.open(&page(&before), "").await;
    browser.value(&drop("later.json", &json!(here).to_string())).await;
    browser.until("document.querySelector('.news') !== null").await;
    let news = browser.text(".news").await;
    assert!(news.starts_with("later.json against this run") && news.contains("1 newly failing"), "{news}");
    // Whatever else it is, it says so, and the page stays.
    let edited = |edit: fn(&mut Value)| {
        let mut record = json!(varied());
        edit(&mut record);
        record.to_string()
    };
    let cut = page(&before);
    for (text, why) in [
        ("{".to_owned(), "JSON"),
        ("{}".to_owned(), "no record of a run"),
        (cut[..cut.floor_char_boundary(cut.len() / 2)].to_owned(), "JSON"),
        (edited(|record| record["target"]["dialect"] = json!("aso")), "of another dialect, aso"),
        (edited(|record| record["format"] = json!(2)), "of format 2, and this page of format 1"),
        (edited(|record| record["scenarios"][3] = Value::Null), "a scenario or rule in it is none"),
        (edited(|record| record["scenarios"][3]["outcome"] = json!("toString")), "a scenario or rule in it is none"),
        (edited(|record| record["scenarios"][3] = record["scenarios"][2].clone()), "a scenario is there twice"),
        (edited(|record| record["scenarios"][0]["findings"] = json!([null])), "it cannot be compared"),
    ] {
        browser.open(&page(&here), "").await;
        browser.value(&drop("x.json", &text)).await;
        browser.until("document.querySelector('[role=alert]') !== null").await;
        let alert = browser.text("[role=alert]").await;
        assert!(alert.starts_with("x.json: ") && alert.contains(why), "{alert}");
        assert!(browser.text("#detail").await.contains("9 of 42 scenarios failed"));
    }
    content(&browser);
}
