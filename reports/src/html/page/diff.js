// A run beside an earlier one: the same JSON as `gateproof report diff BEFORE HERE --format json`.

/** In the order of bytes, as Rust has it, and not of UTF-16. */
function order(a, b) {
  const [left, right] = [Array.from(a), Array.from(b)];
  const at = left.findIndex((c, index) => c !== right[index]);
  if (at < 0) return left.length - right.length;
  return at >= right.length ? 1 : left[at].codePointAt(0) - right[at].codePointAt(0);
}

/** Name and number of an execution. */
function repeatOf(name) {
  const at = name.lastIndexOf("#");
  const number = name.slice(at + 1);
  const counts = at >= 0 && /^\+?[0-9]+$/.test(number) && Number(number) <= 4294967295;
  return counts ? [name.slice(0, at), Number(number)] : [name, 1];
}

const PASSED = { passed: true, failed: false, late: false, knownFailure: false };

/** The runs of one side. */
function side(records) {
  const runs = [...records].sort((a, b) => order(a.date, b.date));
  const executions = new Map();
  for (const scenario of runs.flatMap((run) => run.scenarios)) {
    const [name] = repeatOf(scenario.name);
    if (!executions.has(name)) executions.set(name, []);
    executions.get(name).push(scenario);
  }
  const of = (name) => executions.get(name) || [];
  const verdicts = (name) => of(name).map((one) => PASSED[one.outcome]).filter((one) => one !== undefined);
  const tested = (name) => {
    const judged = of(name).filter((one) => PASSED[one.outcome] !== undefined);
    return judged.reduce((sum, one) => sum + 1 + (one.alike || 0), 0);
  };
  const onlyKnown = (name) => {
    const failures = of(name).filter((one) => PASSED[one.outcome] === false);
    return failures.length > 0 && failures.every((one) => one.outcome === "knownFailure");
  };
  const state = (name) => {
    const all = verdicts(name);
    if (all.includes(true)) return all.includes(false) ? "flaky" : "passed";
    if (!all.includes(false)) return "untested";
    return onlyKnown(name) ? "known" : "failed";
  };
  const misses = (name) =>
    of(name).flatMap((one) => one.findings || []).filter((one) => one.severity === "failure" && !one.consequence);
  const whyUntested = (name) => {
    const last = of(name).at(-1);
    if (!last) return "it was not selected";
    const how = { skipped: "skipped", notSupported: "not supported" }[last.outcome] || "inconclusive";
    return last.reason === undefined ? how : `${how}: ${last.reason}`;
  };
  const names = [...executions.keys()].sort(order);
  return { runs, latest: runs.at(-1), names, of, tested, onlyKnown, state, misses, whyUntested };
}

/** How a state changed; nothing if it did not, or not so that it matters. */
function change(before, here) {
  if (before === here && (here === "passed" || here === "untested")) return null;
  if (here === "untested") return "noLongerTested";
  if (before === "flaky") return "wasFlaky";
  if (here === "flaky") return "newlyFlaky";
  const failed = (state) => state === "failed" || state === "known";
  if (failed(here)) return failed(before) ? "stillFailing" : "newlyFailing";
  return failed(before) ? "newlyPassing" : "newlyTested";
}

const RANKS = Object.keys(CHANGES);

/** By change, then by name. */
function ranked(all, name) {
  return all.sort((a, b) => RANKS.indexOf(a.change) - RANKS.indexOf(b.change) || order(a[name], b[name]));
}

function circumstances(before, here) {
  const said = (value) => (value === undefined || value === null ? "none" : value);
  const of = ({ producer, target, arguments: words }) => [
    ["harness", producer],
    ["target", target.name],
    ["edition", said(target.edition)],
    ["class", said(target.gatewayClass)],
    ["controller", said(target.controllerName)],
    ["release", said(target.gatewayApiVersion)],
    ["channel", said(target.gatewayApiChannel)],
    ["definitions", said(target.definitions)],
    ["options", words && words.length > 0 ? words.join(" ") : "none"],
  ];
  const now = of(here);
  return of(before)
    .map(([what, value], index) => ({ what, before: value, here: now[index][1] }))
    .filter((one) => one.before !== one.here);
}

function changedScenarios(before, here) {
  const names = [...new Set([...before.names, ...here.names])].sort(order);
  const changed = names.flatMap((name) => {
    const [was, is] = [before.state(name), here.state(name)];
    const how = change(was, is);
    if (how === null) return [];
    const told = new Set(before.misses(name).map((one) => one.expectation));
    const findings = here.misses(name).filter((one) => !told.has(one.expectation) && told.add(one.expectation));
    const one = {
      scenario: name,
      change: how,
      before: was,
      here: is,
      known: here.onlyKnown(name),
      executions: [before.tested(name), here.tested(name)],
      findings,
    };
    if (is === "untested") one.reason = here.whyUntested(name);
    return [one];
  });
  return ranked(changed, "scenario");
}

function changedRules(before, here) {
  const rules = (of) => {
    const found = new Map();
    for (const rule of of.runs.flatMap((run) => run.contract)) {
      if (rule.severity !== "failure") continue;
      if (!found.has(rule.name)) found.set(rule.name, { rule: rule.name, known: true, clauses: rule.clauses, seen: null });
      const [kept, breach] = [found.get(rule.name), (rule.breaches || [])[0]];
      if (breach) {
        kept.known = kept.known && rule.known !== undefined;
        if (kept.seen === null) kept.seen = `${breach.object} ${breach.path}: ${breach.seen}`;
      }
    }
    return found;
  };
  const state = (rule) => (!rule ? "untested" : rule.seen === null ? "passed" : "failed");
  const [was, is] = [rules(before), rules(here)];
  const changed = [...new Set([...was.keys(), ...is.keys()])].sort(order).flatMap((name) => {
    const [old, now] = [was.get(name), is.get(name)];
    const how = change(state(old), state(now));
    // Which kinds are watched follows from what was selected: that a rule held for one more is no news.
    if (how === null || how === "newlyTested") return [];
    const rule = now || old;
    const one = { rule: name, change: how, known: rule.seen !== null && rule.known, clauses: rule.clauses };
    if (now && now.seen !== null) one.seen = now.seen;
    return [one];
  });
  return ranked(changed, "rule");
}

function amount(count, one, several) {
  return `${count} ${count === 1 ? one : several}`;
}

/** How many of a group are scenarios and how many are rules, where both are in it. */
function ofBoth(scenarios, rules) {
  const told = amount(rules, "rule of the status contract", "rules of the status contract");
  if (rules === 0) return String(scenarios);
  return scenarios === 0 ? told : `${amount(scenarios, "scenario", "scenarios")}, ${told}`;
}

/** What a comparison comes to, in sentences whose numbers add up. */
function summary({ tested: [before, here], scenarios, contract }) {
  const count = (all, change) => all.filter((one) => one.change === change).length;
  const listed = (all) => Object.entries(CHANGES).filter(([change]) => change !== "noLongerTested" && count(all, change) > 0)
    .map(([change, words]) => `${count(all, change)} ${words}`);
  const lost = count(scenarios, "noLongerTested");
  const changed = scenarios.length - lost;
  const cameTo = listed(scenarios);
  if (changed === 0) cameTo.push("all passing as before");
  else if (here > changed) cameTo.push(`${here - changed} passing as before`);
  const now = here === 0 ? "No scenario tested." : `${amount(here, "scenario tested", "scenarios tested")}: ${cameTo.join(", ")}.`;
  const were = amount(before, "was tested before", "were tested before");
  const missing = lost === 0 ? "none of them is missing" : amount(lost, "of them is no longer tested", "of them are no longer tested");
  const then = before === 0 ? "None was tested before." : `${were}; ${missing}.`;
  const rules = listed(contract);
  const unchecked = count(contract, "noLongerTested");
  if (unchecked > 0) rules.push(`${unchecked} no longer checked, for want of objects to check`);
  return [now, then, ...(rules.length > 0 ? [`Rules of the status contract: ${rules.join(", ")}.`] : [])];
}

/** Two sides beside each other. */
function diff(recordsBefore, recordsHere) {
  const [before, here] = [side(recordsBefore), side(recordsHere)];
  const tested = (of) => of.names.filter((name) => of.state(name) !== "untested").length;
  const features = (record) => [...new Set(record.target.features)].sort(order);
  const [had, has] = [features(before.latest), features(here.latest)];
  const found = {
    runs: [before.runs.length, here.runs.length],
    dates: [before.latest.date, here.latest.date],
    tested: [tested(before), tested(here)],
    summary: [],
    circumstances: circumstances(before.latest, here.latest),
    scenarios: changedScenarios(before, here),
    contract: changedRules(before, here),
    featuresClaimed: has.filter((feature) => !had.includes(feature)),
    featuresDropped: had.filter((feature) => !has.includes(feature)),
    slower: slower(before, here),
    interrupted: here.runs.some((run) => run.interrupted),
    gate: [],
  };
  found.summary = summary(found);
  return found;
}
