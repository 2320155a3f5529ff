// What is shown: the data, and the choice of the reader, which stands in the address.

const DATA = JSON.parse(document.getElementById("data").textContent);
const RECORD = DATA.record;
const EVIDENCE = DATA.evidence;
const CLAUSES = new Map(DATA.clauses.map((clause) => [clause.id, clause]));

/** Scenarios by plain name, each with its executions. */
const SCENARIOS = new Map();
for (const one of RECORD.scenarios) {
  const [name] = repeatOf(one.name);
  if (!SCENARIOS.has(name)) SCENARIOS.set(name, { name, executions: [] });
  SCENARIOS.get(name).executions.push(one);
}
for (const one of SCENARIOS.values()) {
  one.outcome = WORST.find((outcome) => one.executions.some((each) => each.outcome === outcome)) || "passed";
  one.amount = one.executions.reduce((sum, each) => sum + 1 + (each.alike || 0), 0);
  one.worst = one.executions.find((each) => each.outcome === one.outcome);
}
const BY_EXECUTION = new Map(RECORD.scenarios.map((one) => [one.name, one]));
const BROKEN = RECORD.contract.filter((rule) => (rule.breaches || []).length > 0);
const KNOWN_RULES = BROKEN.filter((rule) => rule.known);

const VIEWS = {
  failing: { words: "Failing", outcomes: ["failed", "late"] },
  known: { words: "Known", outcomes: ["knownFailure"] },
  open: { words: "Untested", outcomes: ["inconclusive"] },
  rules: { words: "Contract", outcomes: null },
  all: { words: "All", outcomes: WORST },
};

/** How many entries a view has. */
function counted(view) {
  if (view === "rules") return BROKEN.length;
  const { outcomes } = VIEWS[view];
  const rules = view === "known" ? KNOWN_RULES.length : 0;
  return rules + [...SCENARIOS.values()].filter((one) => outcomes.includes(one.outcome)).length;
}

const FIRST_VIEW = ["failing", "rules", "open", "known"].find((view) => counted(view) > (view === "rules" ? KNOWN_RULES.length : 0)) || "all";
/** The choice: view, search, outcome, execution, expectation, moment, rule; `p` is a page such as the comparison. */
const NOTHING = { v: FIRST_VIEW, q: "", o: "", s: "", e: "", t: "", r: "", p: "" };
const choice = { ...NOTHING };

/** Reads the address. What leads nowhere is left out. */
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(NOTHING)) choice[name] = given.get(name) ?? NOTHING[name];
  if (!VIEWS[choice.v]) choice.v = FIRST_VIEW;
  if (choice.s && !BY_EXECUTION.has(choice.s)) choice.s = "";
}

function address(changed) {
  const all = { ...choice, ...changed };
  const given = Object.entries(all).filter(([name, value]) => value !== NOTHING[name]);
  return `#${new URLSearchParams(given)}`;
}

/** Chooses something else; `quietly` leaves no step to go back to. */
function choose(changed, quietly) {
  const next = address(changed);
  Object.assign(choice, changed);
  if (quietly) history.replaceState(null, "", next);
  else if (next !== location.hash) history.pushState(null, "", next);
}

const texts = new Map();

/** Everything of a scenario that can be searched for, small. */
function searchable(scenario) {
  if (!texts.has(scenario.name)) {
    const parts = [];
    for (const one of scenario.executions) {
      parts.push(one.name, one.suite, one.file, one.summary, one.reason, ...one.proves, ...one.features);
      for (const found of one.findings || []) {
        parts.push(found.expectation, found.stage, found.expected, found.seen, ...found.clauses);
      }
      for (const stage of one.stages || []) parts.push(`steps[${stage.step}].${stage.stage}`);
      const evidence = EVIDENCE[one.name];
      if (evidence) {
        parts.push(...evidence.objects.map((object) => object.name));
        parts.push(...evidence.writes.map((write) => `${write.verb} ${write.object}`));
        parts.push(...evidence.requests.map((request) => request.line));
      }
    }
    texts.set(scenario.name, parts.join("\n").toLowerCase());
  }
  return texts.get(scenario.name);
}

/** Whether a scenario has every word of a search: `c:` a clause, `f:` a feature, `is:` an outcome. */
function finds(scenario, query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean).every((word) => {
    const [, sort, rest] = /^(c|f|is):(.+)$/.exec(word) || [null, "", word];
    const has = (all) => all.some((one) => one.toLowerCase() === rest);
    if (sort === "is") return OUTCOMES[scenario.outcome][1].replace(" ", "").startsWith(rest.replace(" ", ""));
    if (sort === "f") return scenario.executions.some((one) => has(one.features));
    if (sort === "c") {
      return scenario.executions.some((one) => has(one.proves) || (one.findings || []).some((found) => has(found.clauses)));
    }
    return searchable(scenario).includes(word);
  });
}
