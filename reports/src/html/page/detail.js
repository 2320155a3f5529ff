// One execution of a scenario, whole.

function clauseList(ids) {
  if (ids.length === 0) return null;
  return h("ul", { class: "clauses" }, ids.slice(0, 40).map((id) => {
    const clause = CLAUSES.get(id);
    return h("li", {},
      clause?.source ? link(clause.source, id) : h("code", {}, id),
      clause?.level ? h("span", { class: "level" }, clause.level) : null,
      clause ? h("span", { class: "quiet" }, clause.text) : null);
  }));
}

function findingBox(scenario, found) {
  const here = address({ s: scenario.name, e: found.expectation, t: "" });
  const chosen = choice.e === found.expectation;
  const word = { failure: "✗", warning: "!", note: "·" }[found.severity];
  const when = `${found.stage} stage, after ${found.atMs} ms${found.late ? ", came late" : ""}`;
  return h("section", { class: `finding ${found.severity}${chosen ? " chosen" : ""}`, id: chosen ? "chosen" : null, "aria-label": found.expectation },
    h("h3", {}, h("span", { class: "sign" }, word), " ", h("a", { href: here, class: "place", title: "A link to this expectation" }, found.expectation)),
    h("p", { class: "quiet" }, `${scenario.file}:${found.line} · ${when}`),
    h("dl", { class: "beside" },
      h("div", { class: "expected" }, h("dt", {}, "Expected"), h("dd", {}, found.expected)),
      h("div", { class: "seen" }, h("dt", {}, "Seen"), h("dd", {}, found.seen))),
    clauseList(found.clauses));
}

function findings(scenario) {
  const all = scenario.findings || [];
  const first = all.filter((one) => !one.consequence);
  const rest = all.filter((one) => one.consequence);
  const chosen = rest.some((one) => one.expectation === choice.e);
  return [
    first.length > 0 ? some(first, 30, (one) => findingBox(scenario, one), "expectations") : null,
    rest.length > 0 ? h("details", { class: "rest", open: chosen }, h("summary", {}, amount(rest.length, "more follows from it", "more follow from it")), some(rest, 30, (one) => findingBox(scenario, one), "expectations")) : null,
  ];
}

/** The bytes of an attempt, and how to ask the same by hand. */
function exchangeBox(evidence, row) {
  const request = evidence.requests[row.request];
  const times = row.at.length > 1 ? `${time(row.at[0])} to ${time(row.at.at(-1))}` : time(row.at[0]);
  // Several are under way at once, so those behind the first need not have the numbers that follow.
  const number = `#${row.first}`;
  const good = /^2\d\d/.test(row.ended) ? "good" : "bad";
  const box = h("details", { class: "exchange" },
    h("summary", {}, h("span", { class: "number" }, number), " ", h("b", { class: good }, row.ended),
      row.at.length > 1 ? ` × ${row.at.length}` : null, h("span", { class: "quiet" }, ` ${row.role === "main" ? "" : `${row.role}, `}${times}`)));
  box.addEventListener("toggle", () => {
    if (!box.open || box.children.length > 1) return;
    box.append(h("p", {}, request.line, h("span", { class: "quiet" }, ` by way of ${request.to}`)));
    row.came.forEach((came, index) => {
      const which = row.came.length > 1 ? (index === 0 ? "The first of them" : "The last of them") : "It";
      box.append(h("p", { class: "quiet" }, `${which} took ${time(came.took)}.`),
        h("div", { class: "bytes" }, h("pre", { tabindex: "0" }, h("span", { class: "way" }, "sent\n"), request.sent, came.id, request.rest), h("pre", { tabindex: "0" }, h("span", { class: "way" }, "came\n"), came.text)));
    });
    if (request.curl) box.append(commandBox(request.curl));
  });
  return box;
}

function commandBox(line) {
  return h("div", { class: "command" }, h("code", {}, line), button("Copy", (from) => copy(line, from)));
}

function exchanges(evidence) {
  if (evidence.rows.length === 0) return null;
  const steps = [...new Set(evidence.rows.map((row) => row.step))].sort((a, b) => a - b);
  return h("section", { "aria-label": "Exchanges" }, h("h3", {}, "Exchanges"),
    some(steps, 20, (step) => {
      const rows = evidence.rows.filter((row) => row.step === step);
      const ended = new Map();
      for (const row of rows) ended.set(row.ended, (ended.get(row.ended) || 0) + row.at.length);
      const words = [...ended].slice(0, 4).map(([end, count]) => `${end} × ${count}`).join(", ");
      const box = h("details", { class: "step" }, h("summary", {}, h("b", {}, `steps[${step}]`), " ", h("span", { class: "quiet" }, words)));
      box.addEventListener("toggle", () => {
        if (box.open && box.children.length === 1) box.append(some(rows, 40, (row) => exchangeBox(evidence, row), "rows"));
      });
      return box;
    }, "steps"));
}

function writes(evidence) {
  if (evidence.writes.length === 0) return null;
  return h("details", { class: "rest" }, h("summary", {}, amount(evidence.writes.length, "write", "writes")),
    some(evidence.writes, 40, (write) => {
      const head = h("summary", {}, h("span", { class: "number" }, `steps[${write.step}]`), ` ${write.verb} `, h("b", {}, write.object), h("span", { class: write.taken ? "quiet" : "bad" }, ` ${write.answer}`));
      if (!write.sent) return h("p", { class: "written" }, [...head.childNodes]);
      const box = h("details", {}, head);
      box.addEventListener("toggle", () => {
        if (box.open && box.children.length === 1) box.append(objectLines({}, write.sent, true));
      });
      return box;
    }, "writes"));
}

function stages(scenario) {
  const all = scenario.stages || [];
  if (all.length === 0) return null;
  return h("details", { class: "rest" }, h("summary", {}, "How long it took"),
    h("table", {}, h("thead", {}, h("tr", {}, ["step", "stage", "reached", "settled", "limit"].map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", {}, all.slice(0, 100).map((stage) => h("tr", {}, h("td", {}, String(stage.step)), h("td", {}, stage.stage), [stage.reachedMs, stage.settledMs, stage.limitMs].map((ms) => h("td", { class: "figure" }, time(ms * 1000))))))));
}

/** What somebody else has to know, as Markdown. */
function issueText(scenario) {
  const { target } = RECORD;
  const fenced = (text) => {
    const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((run) => run[0].length));
    const fence = "`".repeat(longest + 1);
    return `${fence}\n${text.replace(/\n*$/, "\n")}${fence}\n`;
  };
  const version = [target.dialect, target.edition, target.gatewayApiVersion, target.gatewayApiChannel].filter(Boolean).join(" ");
  const lines = [`### ${scenario.name}: ${OUTCOMES[scenario.outcome][1]}`, "", scenario.summary, "",
    `Target ${target.name}${target.controllerName ? `, controller ${target.controllerName}` : ""}, ${version}, by ${RECORD.producer} on ${RECORD.date}.`, ""];
  if (scenario.reason) lines.push(scenario.reason, "");
  const first = (scenario.findings || []).filter((one) => !one.consequence).slice(0, 5);
  for (const found of first) {
    lines.push(fenced(`${found.expectation} (${scenario.file}:${found.line}, ${found.stage} stage, after ${found.atMs} ms)\nexpected: ${found.expected}\nseen:     ${found.seen}`));
    for (const id of found.clauses) {
      const clause = CLAUSES.get(id);
      if (clause) lines.push(`- ${id}${clause.level ? ` (${clause.level})` : ""}: ${clause.text} ${clause.source || ""}`.trimEnd());
    }
    lines.push("");
  }
  const evidence = EVIDENCE[scenario.name];
  if (evidence && first.length > 0) {
    const at = first[0].atMs * 1000 + 999;
    const [, kind, name] = /([A-Za-z]+)\/([^.]+)/.exec(first[0].expectation) || [];
    const alike = evidence.objects.filter((one) => one.name.startsWith(`${kind}/`));
    // A manifest may call it otherwise than the cluster does; of several of a kind nobody knows then which it is.
    const object = alike.find((one) => one.name.endsWith(`/${name}`)) || (alike.length === 1 ? alike[0] : null);
    const here = object && versionAt(object, at).here;
    if (here && here.status) lines.push(`Status of ${object.name} then:`, fenced(yaml(here.status).slice(0, 120).join("\n")));
    const step = Number(/^steps\[(\d+)\]/.exec(first[0].expectation)?.[1]);
    const row = evidence.rows.find((one) => one.step === step && one.role === "main" && !/^2/.test(one.ended)) || evidence.rows.find((one) => one.step === step);
    if (row) {
      const request = evidence.requests[row.request];
      lines.push(`${request.line} ended with ${row.ended}:`, fenced((row.came[0]?.text || "").slice(0, 2000)));
      if (request.curl) lines.push(fenced(request.curl));
    }
  }
  lines.push("Run just this:", fenced(command(RECORD, scenario.name)));
  return printable(lines.join("\n")).slice(0, 30000);
}

function attempts(scenario) {
  const { executions: all, amount } = SCENARIOS.get(repeatOf(scenario.name)[0]);
  if (amount < 2) return null;
  const failed = all.filter((one) => PASSED[one.outcome] === false).length;
  return h("nav", { class: "attempts", "aria-label": "Executions" }, h("span", { class: "quiet" }, `${failed} of ${amount} failed:`),
    some(all, 40, (one) => h("a", { href: address({ s: one.name, e: "", t: "" }), class: `attempt ${one.outcome}`, "aria-current": one === scenario ? "true" : null }, `${OUTCOMES[one.outcome][0]} ${repeatOf(one.name)[1]}`), "executions"),
    all.filter((one) => one.alike > 0).map((one) => h("span", { class: "quiet" }, ` and ${one.alike} more ${one.outcome === "passed" ? "that passed" : "that never began"}`)));
}

/** Everything of one execution. */
function detail(scenario) {
  const evidence = EVIDENCE[scenario.name];
  const chips = (all, sort) => all.slice(0, 40).map((one) => h("a", { class: "chip", href: address({ v: "all", q: `${sort}:${one}`, o: "" }), title: `Everything with ${one}` }, one));
  const line = command(RECORD, scenario.name);
  return h("article", { class: "detail" },
    h("header", {},
      h("div", { class: "title" }, badge(scenario.outcome), h("h2", {}, scenario.name)),
      h("p", { class: "summary" }, scenario.summary),
      h("p", { class: "quiet" }, `${scenario.file} · ${span(scenario.durationMs)}`),
      scenario.reason ? h("p", { class: "reason" }, scenario.reason, untilWhen(scenario)) : null,
      attempts(scenario)),
    h("div", { class: "command" }, h("code", { title: "Runs just this one" }, line), button("Copy", (from) => copy(line, from)),
      button("Copy for an issue", (from) => copy(issueText(scenario), from), { class: "main", id: "issue" })),
    findings(scenario),
    evidence ? [scrubber(scenario, evidence), exchanges(evidence), writes(evidence)] : h("p", { class: "quiet note" }, noEvidence(scenario)),
    evidence && evidence.cut ? h("p", { class: "quiet note" }, `Left out here, for want of room: ${evidence.cut}. The log has all of it.`) : null,
    stages(scenario),
    h("details", { class: "rest" }, h("summary", {}, `What it proves and needs`), clauseList(scenario.proves), h("p", { class: "chips" }, chips(scenario.features, "f"))));
}

/** How long the file of known failures lets it fail. */
function untilWhen(scenario) {
  const known = (RECORD.knownFailures || []).find((one) => (one.seen || []).includes(scenario.name));
  if (scenario.outcome !== "knownFailure" || !known) return null;
  const left = daysLeft(RECORD.date, known.entry.expires);
  return h("span", { class: left < 8 ? "bad" : "quiet" }, ` (until ${known.entry.expires}: ${amount(left, "day", "days")} left; ${known.entry.place})`);
}

function noEvidence(scenario) {
  if (["skipped", "notSupported"].includes(scenario.outcome)) return "It did not run.";
  if (Object.keys(EVIDENCE).length === 0) return "This page was made without the log; render it beside events.jsonl to see what happened when.";
  return "What was seen of it is not on this page, for want of room. The log has all of it.";
}

/** A rule of the status contract, and where it was broken. */
function ruleDetail(rule) {
  const breaches = rule.breaches || [];
  return h("article", { class: "detail" },
    h("header", {}, h("div", { class: "title" }, h("span", { class: `badge ${rule.known ? "knownFailure" : rule.severity === "failure" ? "failed" : "inconclusive"}` }, rule.known ? "◇ known" : rule.severity === "failure" ? "✗ broken" : "! warning"), h("h2", {}, rule.name)),
      h("p", { class: "summary" }, `Broken ${breaches.length === 1 ? "once" : `${breaches.length} times`} over ${amount(rule.objects, "object", "objects")}.`),
      rule.known ? h("p", { class: "reason" }, rule.known) : null),
    clauseList(rule.clauses),
    some(breaches, 50, (breach) => h("section", { class: "finding failure" },
      h("h3", {}, `${breach.object} ${breach.path}`),
      h("p", {}, breach.seen),
      breach.scenario && BY_EXECUTION.has(breach.scenario) ? h("p", {}, h("a", { href: address({ s: breach.scenario, r: "", e: "", t: "" }) }, breach.scenario)) : null), "breaches"));
}
