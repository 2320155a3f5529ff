// The page: bar, list and detail, keys, and other runs that are dropped in.

let other = null;

function bar() {
  const search = h("input", { type: "search", id: "search", placeholder: "Search names, clauses, objects, steps", "aria-label": "Search", spellcheck: "false", autocomplete: "off", on: { input: (event) => { choose({ q: event.target.value }, true); drawList(); } } });
  const views = Object.entries(VIEWS).map(([view, { words }]) => h("a", { href: address({ v: view }), class: "view", id: `view-${view}`, "data-view": view, on: { click: (event) => look(event, view) } }, words, h("span", { class: "number" }, String(counted(view)))));
  return h("header", { class: "top" },
    h("h1", { class: "brand" }, h("button", { type: "button", id: "home", title: "The whole at a glance", on: { click: () => home() } }, h("span", { class: `dot ${DATA.verdict.tone}`, "aria-hidden": "true" }), " Gateproof"), h("span", { class: "quiet target" }, RECORD.target.name)),
    search,
    h("button", { type: "button", id: "theme", class: "plain", title: "Light or dark", "aria-label": "Light or dark", on: { click: () => theme() } }, "◐"),
    h("nav", { class: "views", "aria-label": "Views" }, views));
}

function page() {
  const outcome = h("select", { id: "outcome", "aria-label": "Outcome", on: { change: (event) => { choose({ o: event.target.value }); drawList(); } } },
    h("option", { value: "" }, "every outcome"), WORST.map((one) => h("option", { value: one }, OUTCOMES[one][1])));
  const list = h("div", { id: "list", role: "tree", tabindex: "0", "aria-label": "Scenarios", on: { scroll: () => requestAnimationFrame(drawRows), keydown: listKeys } }, h("div", { id: "sheet", role: "presentation" }));
  return [bar(),
    h("aside", { class: "side", "aria-label": "List" }, outcome, h("p", { id: "empty", class: "quiet", hidden: true }), list),
    h("main", { id: "detail", tabindex: "-1" }),
    h("p", { id: "said", class: "hidden", role: "status", "aria-live": "polite" }),
    h("div", { id: "drop", hidden: true }, "Compare with this run")];
}

/** Another view beside the same detail; in another tab, by the link. */
function look(event, view) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  choose({ v: view, o: "" });
  draw();
}

function home() {
  choose({ s: "", e: "", t: "", r: "", p: "" });
  draw();
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function drawDetail() {
  const place = document.getElementById("detail");
  const scenario = BY_EXECUTION.get(choice.s);
  const rule = BROKEN.find((one) => one.name === choice.r);
  const compare = choice.p === "diff" && other;
  const back = h("button", { type: "button", class: "back", on: { click: () => home() } }, "← Back to the list");
  place.replaceChildren(back, compare ? h("article", {}, diffBox(other.diff, other.title), h("p", {}, button("Back to the first screen", () => home()))) : scenario ? detail(scenario) : rule ? ruleDetail(rule) : overview());
  document.body.dataset.pane = compare || scenario || rule ? "detail" : "list";
  document.title = printable(`${scenario ? scenario.name : rule ? rule.name : DATA.verdict.text} · Gateproof`);
  const chosen = document.getElementById("chosen");
  if (chosen) chosen.scrollIntoView({ block: "start" });
  else place.scrollTop = 0;
}

function draw() {
  for (const view of document.querySelectorAll(".view")) {
    const isHere = view.dataset.view === choice.v;
    if (isHere) view.setAttribute("aria-current", "page");
    else view.removeAttribute("aria-current");
    view.setAttribute("href", address({ v: view.dataset.view, o: "" }));
  }
  const search = document.getElementById("search");
  if (search.value !== choice.q) search.value = choice.q;
  const outcome = document.getElementById("outcome");
  outcome.value = choice.o;
  outcome.hidden = choice.v !== "all";
  drawList();
  drawDetail();
}

function listKeys(event) {
  const entry = rows[active];
  const folds = entry?.cause && (closed.has(entry.index) ? event.key === "ArrowRight" : event.key === "ArrowLeft");
  const acts = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    Home: () => step(-rows.length),
    End: () => step(rows.length),
    PageDown: () => step(8),
    PageUp: () => step(-8),
  };
  if (folds) open(entry);
  else if (acts[event.key]) acts[event.key]();
  else return;
  event.preventDefault();
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const writes = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "range";
  const list = document.getElementById("list");
  if (event.key === "Escape") {
    if (writes) {
      event.target.blur();
      if (choice.q) { choose({ q: "" }, true); draw(); }
      list.focus();
    } else if (document.activeElement !== list && choice.s + choice.r + choice.p) list.focus();
    else home();
    return;
  }
  if (writes) {
    if (event.key === "Enter" && event.target.id === "search" && rows.length > 0) { list.focus(); step(0); }
    return;
  }
  const acts = {
    j: () => { list.focus({ preventScroll: true }); step(1); },
    k: () => { list.focus({ preventScroll: true }); step(-1); },
    "/": () => document.getElementById("search").select(),
    "[": () => document.getElementById("earlier")?.click(),
    "]": () => document.getElementById("later")?.click(),
  };
  if (event.key === "Enter" && event.target === list && rows[active]) {
    const entry = rows[active];
    open(entry);
    if (!entry.cause) document.getElementById("detail").focus();
    event.preventDefault();
  } else if (acts[event.key]) {
    acts[event.key]();
    event.preventDefault();
  }
}

/** The record of a file: itself, or the one within a page like this. */
function recordOf(text) {
  // In two pieces, because a whole one would end this script.
  const [begin, end] = ["script type=\"application/json\" id=\"data\">", "/script>"].map((rest) => `<${rest}`);
  const at = text.indexOf(begin);
  const json = at < 0 ? JSON.parse(text) : JSON.parse(text.slice(at + begin.length, text.indexOf(end, at))).record;
  const isRecord = json && Array.isArray(json.scenarios) && Array.isArray(json.contract) && json.target && Array.isArray(json.target.features) && typeof json.date === "string";
  if (!isRecord) throw new Error("it is no record of a run");
  if (json.format !== RECORD.format) throw new Error(`it is of format ${json.format}, and this page of format ${RECORD.format}`);
  const isScenario = (one) => one && typeof one.name === "string" && Object.hasOwn(OUTCOMES, one.outcome);
  const isRule = (one) => one && typeof one.name === "string" && Array.isArray(one.clauses);
  if (!json.scenarios.every(isScenario) || !json.contract.every(isRule)) throw new Error("a scenario or rule in it is none, or of another version");
  if (new Set(json.scenarios.map((one) => one.name)).size < json.scenarios.length) throw new Error("a scenario is there twice");
  if (json.target.dialect !== undefined && json.target.dialect !== RECORD.target.dialect) throw new Error(`it is of another dialect, ${json.target.dialect}`);
  return json;
}

/** Says why a file cannot be compared, on the page as it was. */
function refuse(name, error) {
  other = null;
  document.getElementById("detail").prepend(h("p", { class: "alert", role: "alert" }, `${name}: ${error.message}`));
}

/** Compares with the runs of these files. */
async function take(files) {
  const records = [];
  for (const file of files) {
    try {
      records.push(recordOf(await file.text()));
    } catch (error) {
      return refuse(file.name, error);
    }
  }
  if (records.length === 0) return;
  // The older is the one before, whichever was dropped.
  const isBefore = records.every((one) => order(one.date, RECORD.date) <= 0);
  const names = [...files].map((file) => file.name).join(", ");
  const title = isBefore ? `This run against ${names}` : `${names} against this run`;
  try {
    const found = isBefore ? diff(records, [RECORD]) : diff([RECORD], records);
    // What is deeper in a record, and of another form, is found as it is compared or shown.
    diffBox(found, title);
    other = { diff: found, title };
  } catch (error) {
    return refuse(names, new Error(`it cannot be compared: ${error.message}`));
  }
  choose({ p: "diff", s: "", e: "", t: "", r: "" });
  draw();
}

function drops() {
  const sign = document.getElementById("drop");
  const carries = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    sign.hidden = false;
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) sign.hidden = true; });
  addEventListener("drop", (event) => {
    sign.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    take(event.dataTransfer.files);
  });
}

/** One step in the history tells of itself twice. */
function moved() {
  if (location.hash === address({})) return;
  readAddress();
  draw();
}

readAddress();
put(document.getElementById("app"), page());
drops();
addEventListener("keydown", keys);
addEventListener("hashchange", moved);
addEventListener("popstate", moved);
new ResizeObserver(() => drawRows()).observe(document.getElementById("list"));
draw();
// For whoever compares by hand, and for the test that holds it against `report diff`.
globalThis.gateproof = { diff, record: RECORD };
