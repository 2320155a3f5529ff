// The first screen: what it came to, of what, what is news, and why.

function tally({ passed, failed, open }) {
  const all = passed + failed + open;
  if (all === 0) return h("span", { class: "quiet" }, "none");
  const part = (count, kind) => (count > 0 ? h("span", { class: `part ${kind}` }, `${count} ${kind === "open" ? "untested" : kind}`) : null);
  const bar = svg("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" });
  let x = 0;
  for (const [count, kind] of [[passed, "passed"], [failed, "failed"], [open, "open"]]) {
    const width = (count / all) * 100;
    bar.append(svg("rect", { x, y: 0, width, height: 6, class: kind }));
    x += width;
  }
  return h("div", { class: "tally" }, bar, h("span", {}, part(failed, "failed"), part(open, "open"), part(passed, "passed")));
}

function facts() {
  const { target } = RECORD;
  const release = target.gatewayApiVersion ? `Gateway API ${target.gatewayApiVersion} ${target.gatewayApiChannel || ""}` : `${target.dialect}${target.edition ? `, edition ${target.edition}` : ""}`;
  const all = [
    ["Target", `${target.name}${target.embedded ? " (the embedded reference, no real implementation)" : ""}`],
    ["Class", target.gatewayClass],
    ["Controller", target.controllerName],
    ["Judged by", release],
    ["Definitions", target.definitions],
    ["Run", `${RECORD.date}, ${span(RECORD.durationMs)}, ${RECORD.producer}`],
    ["Features", `${target.features.length} claimed`],
  ];
  return h("dl", { class: "facts" }, all.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function causeBox(cause) {
  const names = [...new Set(cause.scenarios.map((name) => repeatOf(name)[0]))];
  const view = Object.keys(VIEWS).find((one) => VIEWS[one].outcomes?.includes(cause.outcome)) || "all";
  return h("li", { class: `cause ${cause.outcome}` },
    h("a", { href: address({ v: view, s: cause.scenarios[0], e: "", t: "", p: "", q: "" }), class: "count", "aria-label": amount(names.length, "scenario", "scenarios") }, String(names.length)),
    h("div", {},
      h("h4", {}, cause.kind || cause.seen, cause.stage ? h("span", { class: "level" }, cause.stage) : null),
      cause.expected ? h("p", { class: "quiet" }, "expected ", h("span", {}, cause.expected)) : null,
      cause.kind ? h("p", {}, "seen ", h("b", {}, cause.seen)) : null,
      h("p", { class: "chips" }, cause.clauses.slice(0, 6).map((id) => h("a", { class: "chip", href: address({ v: "all", q: `c:${id}`, p: "" }), title: CLAUSES.get(id)?.text || "" }, id)),
        names.slice(0, 3).map((name) => h("a", { class: "chip plain", href: address({ v: view, s: SCENARIOS.get(name).worst.name, e: "", t: "", p: "", q: "" }) }, name)),
        names.length > 3 ? h("span", { class: "quiet" }, `and ${names.length - 3} more`) : null)));
}

function causesBox() {
  const all = DATA.causes.filter((cause) => ["failed", "late"].includes(cause.outcome));
  const open = DATA.causes.filter((cause) => cause.outcome === "inconclusive");
  return [
    all.length > 0 ? h("section", { class: "why-failed" }, h("h3", {}, "Why it failed"), some(all, 25, causeBox, "reasons", h("ol", { class: "causes" }))) : null,
    DATA.diagnosis.length > 0 ? h("section", { class: "diagnosis" }, h("h3", {}, "What it looks like"), h("pre", {}, DATA.diagnosis.join("\n"))) : null,
    open.length > 0 ? h("section", {}, h("h3", {}, "What could not be tested"), some(open, 8, causeBox, "reasons", h("ol", { class: "causes" }))) : null,
  ];
}

/** Days from one day to another, both as RFC 3339 has them. */
function daysLeft(from, to) {
  const day = (text) => Date.parse(`${text.slice(0, 10)}T00:00:00Z`);
  return Math.round((day(to) - day(from)) / 86400000);
}

function knownBox() {
  const all = RECORD.knownFailures || [];
  if (all.length === 0) return null;
  const words = { seen: "failed as it says", unexpectedPass: "passed: take it out", expired: "its time is over", notTried: "not tried" };
  return h("section", {}, h("h3", {}, "Known failures"),
    h("table", {}, h("thead", {}, h("tr", {}, ["what", "why", "state", "days left"].map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", {}, all.slice(0, 60).map(({ entry, state }) => {
        const left = daysLeft(RECORD.date, entry.expires);
        const what = [entry.scenario, entry.contract, entry.expectation].filter(Boolean).join(" ");
        return h("tr", {}, h("td", {}, what), h("td", {}, entry.reason), h("td", { class: ["seen", "notTried"].includes(state) ? "" : "bad" }, words[state] || state), h("td", { class: left < 8 ? "figure bad" : "figure" }, String(left)));
      }))),
    all.length > 60 ? h("p", { class: "quiet" }, `and ${all.length - 60} more`) : null,
    h("p", { class: "quiet" }, "Days are counted from the day of the run."));
}

function cutsBox() {
  const { whole, shortened, passed, passedWithout, texts } = DATA.cuts;
  if (Object.keys(EVIDENCE).length === 0) return null;
  const parts = [];
  if (shortened > 0) parts.push(`of those that did not pass, for ${shortened} there is an outline or less, for want of room, and for ${whole} there is all`);
  if (passedWithout > 0) parts.push(`of those that passed, for ${passed} there is an outline, and for ${passedWithout} there is none`);
  if (texts > 0) parts.push(amount(texts, "text of the record is cut", "texts of the record are cut"));
  if (parts.length === 0) return null;
  return h("p", { class: "quiet note" }, `What this page holds is bounded: ${parts.join("; ")}. The log has all of it.`);
}

/** A comparison, as `report diff` has it. */
function diffBox(found, title) {
  const row = (shared) => (one) => {
    const scenario = SCENARIOS.get(one.scenario);
    const name = one.scenario === undefined ? h("span", {}, one.rule) : scenario ? h("a", { href: address({ s: scenario.worst.name, e: "", t: "", p: "" }) }, one.scenario) : h("span", {}, one.scenario);
    const first = (one.findings || [])[0];
    return h("li", {}, name, one.known ? h("span", { class: "quiet" }, ", as is known") : null,
      one.executions && Math.max(...one.executions) > 1 ? h("span", { class: "quiet" }, ` (${amount(one.executions[1], "execution", "executions")}, ${one.executions[0]} before)`) : null,
      one.reason && one.reason !== shared ? h("p", { class: "quiet" }, one.reason) : null,
      one.seen ? h("p", { class: "quiet" }, one.seen) : null,
      first ? h("p", { class: "quiet" }, `${first.expectation}: expected ${first.expected}, seen ${first.seen}`) : null);
  };
  const groups = Object.entries(CHANGES).map(([change, words]) => {
    const all = [...found.scenarios, ...found.contract].filter((one) => one.change === change);
    if (all.length === 0) return null;
    // A selection that is another one is said once, and stands in the way of nothing.
    const unselected = "it was not selected";
    const shared = all.length > 1 && all.every((one) => one.reason === unselected) ? unselected : null;
    const list = some(all, 60, row(shared), words, h("ul", { class: "changes" }));
    const open = change.startsWith("newly") || (change === "noLongerTested" && shared === null);
    const count = ofBoth(...[found.scenarios, found.contract].map((some) => some.filter((one) => one.change === change).length));
    return h("details", { class: `change ${change}`, open }, h("summary", {}, `${words} (${count})${shared ? `: ${shared}` : ""}`), list);
  });
  const slow = found.slower.map((one) => {
    const what = one.step ? `${one.step[0]} steps[${one.step[1]}] ${one.stage}, ${one.compared} executions` : `${one.stage} of ${one.compared} steps`;
    return h("li", {}, `${what}: ${Math.round(one.beforeMs)} ms before, ${Math.round(one.hereMs)} ms now (by chance: ${one.chance.toExponential(1)})`);
  });
  return h("section", { class: "news" }, h("h3", {}, title),
    h("p", { class: "quiet" }, `${found.dates[1]} against ${found.runs[0] === 1 ? "the run of" : `${found.runs[0]} runs, the last of`} ${found.dates[0]}`),
    h("p", { class: "headline" }, h("b", {}, found.summary[0]), h("span", { class: "quiet" }, ` ${found.summary.slice(1).join(" ")}`)),
    found.circumstances.length > 0 ? h("ul", { class: "quiet" }, found.circumstances.map((one) => h("li", {}, `${one.what}: was ${one.before}, is ${one.here}`))) : null,
    found.featuresClaimed.length > 0 ? h("p", { class: "quiet" }, `claimed newly: ${found.featuresClaimed.join(", ")}`) : null,
    found.featuresDropped.length > 0 ? h("p", { class: "quiet" }, `claimed no longer: ${found.featuresDropped.join(", ")}`) : null,
    found.interrupted ? h("p", { class: "bad" }, "A run of now was broken off: what it lacks says nothing.") : null,
    groups,
    slow.length > 0 ? h("details", { open: true }, h("summary", {}, `slower to settle (${slow.length})`), h("ul", {}, slow.slice(0, 60))) : null);
}

function overview() {
  const input = h("input", { type: "file", id: "file", multiple: true, accept: ".json,.html", on: { change: (event) => take(event.target.files) } });
  return h("article", { class: "overview" },
    h("p", { class: `verdict ${DATA.verdict.tone}` }, DATA.verdict.text),
    DATA.news ? diffBox(DATA.news, "News against the baseline") : null,
    h("div", { class: "cards" },
      h("section", { class: "card" }, h("h3", {}, "What was tested"), facts()),
      DATA.profiles.length > 0 ? h("section", { class: "card" }, h("h3", {}, "Profiles"),
        h("table", { class: "profiles" }, h("thead", {}, h("tr", {}, ["profile", "core", "extended"].map((one) => h("th", { scope: "col" }, one)))),
          h("tbody", {}, DATA.profiles.map((profile) => h("tr", {}, h("th", { scope: "row" }, profile.name), h("td", {}, tally(profile.core)), h("td", {}, tally(profile.extended))))))) : null),
    causesBox(),
    knownBox(),
    (RECORD.leftovers || []).length > 0 ? h("section", {}, h("h3", {}, "Left behind"), h("ul", {}, RECORD.leftovers.slice(0, 50).map((one) => h("li", {}, h("code", {}, one.object), ` ${one.diagnosis}`)))) : null,
    h("section", { class: "compare" }, h("h3", {}, "Compare"),
      h("p", { class: "quiet" }, "Drop the record.json or report.html of another run anywhere on this page, or choose it. Nothing is sent anywhere."), h("label", { class: "file" }, "Another run ", input)),
    cutsBox(),
    h("p", { class: "quiet note" }, h("kbd", {}, "j"), " ", h("kbd", {}, "k"), " up and down, ", h("kbd", {}, "Enter"), " open, ", h("kbd", {}, "/"), " search, ", h("kbd", {}, "["), " ", h("kbd", {}, "]"), " through time, ", h("kbd", {}, "Esc"), " back"));
}
