// The list: reasons and their scenarios, of which only those in sight exist.

const ROW = 54;
const closed = new Set();
let rows = [];
let active = -1;

/** The entries of a view, with what is searched for. */
function entries() {
  const { v, q, o } = choice;
  const ofRules = (some) => some.filter((rule) => JSON.stringify(rule).toLowerCase().includes(q.toLowerCase())).map((rule) => ({ rule, level: 1 }));
  if (v === "rules") return ofRules(BROKEN);
  const fits = (one) => VIEWS[v].outcomes.includes(one.outcome) && (!o || one.outcome === o) && finds(one, q);
  const all = [...SCENARIOS.values()].filter(fits);
  if (v === "all") return all.map((scenario) => ({ scenario, level: 1 }));
  const left = new Map(all.map((one) => [one.name, one]));
  const out = [];
  DATA.causes.forEach((cause, index) => {
    if (!VIEWS[v].outcomes.includes(cause.outcome)) return;
    const names = [...new Set(cause.scenarios.map((name) => repeatOf(name)[0]))].filter((name) => left.has(name));
    if (names.length === 0) return;
    out.push({ cause, index, count: names.length, level: 1 });
    for (const name of names) {
      if (!closed.has(index)) out.push({ scenario: left.get(name), level: 2 });
      left.delete(name);
    }
  });
  return out.concat([...left.values()].map((scenario) => ({ scenario, level: 1 })), v === "known" && !o ? ofRules(KNOWN_RULES) : []);
}

function isChosen(entry) {
  if (entry.scenario) return choice.s !== "" && entry.scenario.name === repeatOf(choice.s)[0];
  return entry.rule !== undefined && entry.rule.name === choice.r;
}

function rowOf(entry, index) {
  const chosen = isChosen(entry);
  const place = { id: `row-${index}`, role: "treeitem", "aria-level": entry.level, "aria-setsize": rows.length, "aria-posinset": index + 1, "aria-selected": String(chosen) };
  const classes = `row level${entry.level}${chosen ? " chosen" : ""}${index === active ? " active" : ""}`;
  const at = { on: { click: () => { active = index; open(entry); } } };
  let element;
  if (entry.cause) {
    const { cause } = entry;
    const isOpen = !closed.has(entry.index);
    element = h("div", { ...place, ...at, class: `${classes} group`, "aria-expanded": String(isOpen) },
      h("span", { class: "fold", "aria-hidden": "true" }, isOpen ? "▾" : "▸"),
      h("span", { class: "words" }, h("span", { class: "name" }, cause.kind || cause.seen), h("span", { class: "why" }, cause.kind ? cause.seen : "")),
      h("span", { class: "number" }, String(entry.count)));
  } else if (entry.rule) {
    const { rule } = entry;
    element = h("div", { ...place, ...at, class: classes }, mark(rule.known ? "knownFailure" : rule.severity === "failure" ? "failed" : "inconclusive"),
      h("span", { class: "words" }, h("span", { class: "name" }, rule.name.replace(/^contract\//, "")), h("span", { class: "why" }, rule.breaches[0].seen)),
      h("span", { class: "number" }, String(rule.breaches.length)));
  } else {
    const { scenario } = entry;
    const first = (scenario.worst.findings || []).find((one) => !one.consequence);
    const failed = scenario.executions.filter((one) => PASSED[one.outcome] === false).length;
    // Under its reason a scenario need not say that again.
    const told = entry.level === 2 || scenario.outcome === "passed";
    const why = told ? scenario.worst.summary : first?.seen || scenario.worst.reason || scenario.worst.summary;
    const isNew = (DATA.news?.scenarios || []).some((one) => one.scenario === scenario.name && one.change.startsWith("newlyF"));
    element = h("div", { ...place, ...at, class: classes }, mark(scenario.outcome),
      h("span", { class: "words" }, h("span", { class: "name" }, scenario.name), h("span", { class: "why" }, why.slice(0, 200))),
      isNew ? h("span", { class: "new" }, "new") : null,
      scenario.amount > 1 ? h("span", { class: "number", title: "executions that failed" }, `${failed}/${scenario.amount}`) : null);
  }
  element.style.top = `${index * ROW}px`;
  return element;
}

/** Opens what an entry stands for. */
function open(entry) {
  if (entry.cause) {
    if (!closed.delete(entry.index)) closed.add(entry.index);
    rows = entries();
    return drawRows();
  }
  if (entry.rule) choose({ r: entry.rule.name, s: "", e: "", t: "", p: "" });
  else choose({ s: entry.scenario.worst.name, r: "", e: "", t: "", p: "" });
  drawDetail();
  return drawRows();
}

/** Makes what is in sight. */
function drawRows() {
  const box = document.getElementById("list");
  const sheet = document.getElementById("sheet");
  sheet.style.height = `${rows.length * ROW}px`;
  const from = Math.max(0, Math.floor(box.scrollTop / ROW) - 4);
  const until = Math.min(rows.length, Math.ceil((box.scrollTop + (box.clientHeight || 600)) / ROW) + 4);
  sheet.replaceChildren(...rows.slice(from, until).map((entry, index) => rowOf(entry, from + index)));
  if (active >= from && active < until) box.setAttribute("aria-activedescendant", `row-${active}`);
  else box.removeAttribute("aria-activedescendant");
}

/** Reads the entries anew. */
function drawList() {
  rows = entries();
  active = rows.findIndex(isChosen);
  const box = document.getElementById("list");
  const empty = document.getElementById("empty");
  const shown = rows.filter((entry) => !entry.cause).length;
  const elsewhere = shown === 0 && choice.q !== "" && choice.v !== "all" ? [...SCENARIOS.values()].filter((one) => finds(one, choice.q)).length : 0;
  empty.replaceChildren();
  if (shown === 0) put(empty, choice.q ? "Nothing is found here. " : "Nothing is here. ", elsewhere > 0 ? h("a", { href: address({ v: "all", o: "" }) }, `${elsewhere} in all`) : null);
  empty.hidden = shown > 0;
  say(`${shown} shown`);
  if (active >= 0) reveal();
  else box.scrollTop = 0;
  drawRows();
}

/** Scrolls as little as it takes to see the active row. */
function reveal() {
  const box = document.getElementById("list");
  const top = active * ROW;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
}

/** Goes up or down. */
function step(by) {
  if (rows.length === 0) return;
  active = active < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, active + by));
  reveal();
  drawRows();
}
