// One axis of time: what was written, seen and asked, what was due, and each object as it was at a moment.

/** Everything that happened, in order: when, in which lane, in words. */
function moments(evidence, scenario) {
  const all = [];
  for (const write of evidence.writes) {
    all.push({ at: write.at, lane: "write", bad: !write.taken, step: write.step, text: `${write.verb} ${write.object}: ${write.answer}` });
  }
  for (const object of evidence.objects) {
    object.versions.forEach((version, index) => {
      const what = version.gone ? "is gone" : index === 0 ? "is there" : `changed in ${Object.keys(version.parts).join(", ")}`;
      if (version.at > 0 || index > 0) all.push({ at: version.at, lane: "object", text: `${object.name} ${what}` });
    });
  }
  for (const row of evidence.rows) {
    row.at.forEach((at, index) => {
      const role = row.role === "main" ? "" : `${row.role} `;
      all.push({ at, lane: "probe", step: row.step, many: index > 0, kind: row.ended, text: `${role}probe of steps[${row.step}]: ${row.ended}` });
    });
  }
  for (const note of evidence.notes) all.push({ at: note.at, lane: "note", text: note.text });
  for (const found of scenario.findings || []) {
    if (found.consequence) continue;
    all.push({ at: found.atMs * 1000, lane: "miss", bad: true, text: `${found.expectation} was given up: ${found.seen}` });
  }
  return all.sort((a, b) => a.at - b.at);
}

/** When steps began, by what was done in them or else by what the step before took; and what was due when. */
function steps(evidence, scenario) {
  const done = new Map(evidence.steps.map((step) => [step.step, step]));
  const stages = new Map();
  for (const stage of scenario.stages || []) stages.set(stage.step, [...(stages.get(stage.step) || []), stage]);
  const missed = (scenario.findings || []).map((one) => Number(/^steps\[(\d+)\]/.exec(one.expectation)?.[1])).filter(Number.isFinite);
  const all = [...new Set([...done.keys(), ...stages.keys(), ...missed])].sort((a, b) => a - b);
  const [begun, due] = [[], []];
  let end = 0;
  for (const step of all) {
    const own = stages.get(step) || [];
    // Nothing is done in a step that waits for statuses.
    const from = done.get(step)?.from ?? end;
    begun.push({ step, from });
    for (const stage of own) due.push({ at: from + stage.limitMs * 1000, step, stage: stage.stage });
    end = Math.max(end, done.get(step)?.to ?? 0, ...own.map((stage) => from + stage.settledMs * 1000));
  }
  return { begun: begun.sort((a, b) => a.from - b.from), due };
}

const LANES = [["write", "writes"], ["object", "statuses"], ["probe", "probes"], ["note", "notes"]];
const LANE = 20;
const TOP = 18;

/** The axis as a picture. Marks that fall on one pixel are one. */
function axis(begun, all, due, width, length) {
  const x = (at) => Math.round((at / length) * width * 2) / 2;
  const height = TOP + LANES.length * LANE + 16;
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "axis", "aria-hidden": "true" });
  begun.slice(0, 60).forEach((step, index) => {
    const next = begun[index + 1];
    const [from, to] = [x(step.from), next ? x(next.from) : width];
    if (index % 2 === 0) picture.append(svg("rect", { x: from, y: 0, width: Math.max(0, to - from), height: height - 16, class: "band" }));
    if (to - from > 16) picture.append(svg("text", { x: from + 4, y: 12, class: "step" }, String(step.step)));
  });
  LANES.forEach(([lane], index) => {
    const y = TOP + index * LANE + LANE / 2;
    picture.append(svg("line", { x1: 0, x2: width, y1: y, y2: y, class: "rail" }));
    const kinds = new Map();
    for (const one of all.filter((each) => each.lane === lane)) {
      const kind = one.bad ? "bad" : lane === "probe" && !/^2\d\d|^a line|^datagrams/.test(one.kind) ? "other" : lane;
      if (!kinds.has(kind)) kinds.set(kind, new Set());
      kinds.get(kind).add(x(one.at));
    }
    for (const [kind, places] of kinds) {
      const path = [...places].map((at) => `M${at} ${y - 6}v12`).join("");
      picture.append(svg("path", { d: path, class: `tick ${kind}` }));
    }
  });
  const shown = due.filter((one) => one.at <= length);
  const marks = [...new Set(shown.map((one) => x(one.at)))].map((at) => `M${at} ${TOP}v${LANES.length * LANE}`);
  picture.append(svg("path", { d: marks.join(""), class: "due" }));
  for (const miss of all.filter((one) => one.lane === "miss").slice(0, 20)) {
    const at = Math.min(width - 5, Math.max(5, x(miss.at)));
    picture.append(svg("path", { d: `M${at} ${TOP}v${LANES.length * LANE}`, class: "miss" }));
    picture.append(svg("text", { x: at, y: TOP - 3, class: "missed", "text-anchor": "middle" }, "✗"));
  }
  const end = height - 3;
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const anchor = part === 0 ? "start" : part === 1 ? "end" : "middle";
    picture.append(svg("text", { x: part * width, y: end, class: "label", "text-anchor": anchor }, time(part * length)));
  }
  picture.append(svg("line", { x1: 0, x2: 0, y1: 0, y2: height - 16, class: "cursor" }));
  return picture;
}

/** An object as it was: its fields, the version before them, and which version that is. */
function versionAt(object, at) {
  let index = -1;
  let [before, here] = [{}, {}];
  object.versions.forEach((version, number) => {
    if (version.at > at) return;
    index = number;
    before = here;
    here = { ...here };
    for (const [name, part] of Object.entries(version.parts)) {
      if (part === null) delete here[name];
      else here[name] = part;
    }
  });
  return { index, before, here, gone: index >= 0 && object.versions[index].gone === true };
}

/** Lines of an object with what its last version changed. */
function objectLines(before, here, isFirst) {
  const linesOf = (fields) => (Object.keys(fields).length === 0 ? [] : yaml(fields));
  const now = linesOf(here);
  const marked = isFirst ? now.map((text) => [" ", text]) : compared(linesOf(before), now);
  const shown = marked.slice(0, 300);
  const words = { " ": "", "+": "new: ", "-": "gone: " };
  const lines = shown.map(([sign, text]) => {
    const name = sign === "+" ? "plus" : sign === "-" ? "minus" : null;
    const told = words[sign] ? h("span", { class: "hidden" }, words[sign]) : null;
    return h("span", { class: name ? `line ${name}` : "line" }, told, `${sign} ${text}\n`);
  });
  const rest = marked.length - shown.length;
  return h("pre", { class: "yaml", tabindex: "0" }, lines, rest > 0 ? `… ${rest} lines more` : null);
}

/** Scrolls the lines of an object to the first that changed. */
function reach(box) {
  const [lines, changed] = [box.querySelector(".yaml"), box.querySelector(".plus, .minus")];
  if (lines && changed) lines.scrollTop = changed.offsetTop - lines.offsetTop - 60;
}

/** The axis, the slider under it, and what there was at its moment. */
function scrubber(scenario, evidence) {
  const all = moments(evidence, scenario);
  const { begun, due } = steps(evidence, scenario);
  const length = Math.max(1, evidence.ended, all.at(-1)?.at ?? 0);
  const first = (scenario.findings || []).find((one) => one.expectation === choice.e) || (scenario.findings || [])[0];
  const given = choice.t === "" ? NaN : Number(choice.t);
  let at = Number.isFinite(given) ? Math.min(length, Math.max(0, given)) : first ? Math.min(length, first.atMs * 1000 + 999) : length;
  let whole = false;
  const range = h("input", { type: "range", min: "0", max: String(length), step: "1", "aria-label": "Moment", class: "moment" });
  const told = h("output", { class: "told" });
  const state = h("div", { class: "state" });
  const near = h("ol", { class: "near" });
  const drawing = h("div", { class: "drawing" });
  const [, kind, name] = /\.([A-Za-z]+)\/([^.]+)/.exec(first?.expectation || "") || [];
  const meant = (object) => kind !== undefined && object.startsWith(`${kind}/`) && object.endsWith(`/${name}`);
  const stops = [...new Set(all.map((one) => one.at))];
  let picture = null;

  function draw() {
    const width = Math.max(200, drawing.clientWidth || 600);
    picture = axis(begun, all, due, width, length);
    drawing.replaceChildren(picture);
    cursor();
  }
  function cursor() {
    const place = String((at / length) * Number(picture.getAttribute("width")));
    const line = picture.querySelector(".cursor");
    line.setAttribute("x1", place);
    line.setAttribute("x2", place);
  }
  function show() {
    range.value = String(at);
    range.setAttribute("aria-valuetext", time(at));
    const until = all.filter((one) => one.at <= at);
    const step = begun.findLast((one) => one.from <= at)?.step;
    told.textContent = `${time(at)} of ${time(length)}${step === undefined ? "" : `, steps[${step}]`}`;
    if (picture) cursor();
    near.replaceChildren(...until.slice(-5).map((one) => h("li", { class: one.bad ? "bad" : null }, h("time", {}, time(one.at)), " ", one.text)));
    const objects = evidence.objects.map((object) => ({ object, ...versionAt(object, at) }));
    // What one looks for is what an expectation failed of, then what changed last.
    const rank = (one) => (meant(one.object.name) ? Infinity : one.object.versions[one.index]?.at ?? -1);
    objects.sort((a, b) => (rank(a) === rank(b) ? 0 : rank(b) - rank(a)));
    const kept = some(objects, 24, objectBox, "objects");
    state.replaceChildren(kept);
  }
  function objectBox({ object, index, before, here, gone }, number) {
    const version = object.versions[index];
    const when = index < 0 ? "not there yet" : gone ? `gone since ${time(version.at)}` : `version ${index + 1} of ${object.versions.length}, since ${time(version.at)}`;
    const summary = h("summary", {}, h("b", {}, object.name), " ", h("span", { class: "quiet" }, when));
    const hasStatus = "status" in here || "status" in before;
    const only = (fields) => (whole || !hasStatus ? fields : "status" in fields ? { status: fields.status } : {});
    const box = h("details", { class: index < 0 || gone ? "object absent" : "object", open: number < 4 && index >= 0 }, summary);
    const fill = () => {
      if (box.open && box.children.length === 1 && index >= 0) box.append(objectLines(only(before), only(here), index === 0));
      requestAnimationFrame(() => reach(box));
    };
    box.addEventListener("toggle", fill);
    fill();
    return box;
  }
  function move(to) {
    at = Math.min(length, Math.max(0, to));
    choose({ t: String(at) }, true);
    show();
  }
  const next = () => move(stops.find((stop) => stop > at) ?? length);
  const previous = () => move(stops.findLast((stop) => stop < at) ?? 0);
  range.addEventListener("input", () => move(Number(range.value)));
  range.addEventListener("keydown", (event) => {
    const act = { ArrowRight: next, ArrowUp: next, ArrowLeft: previous, ArrowDown: previous }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  drawing.addEventListener("click", (event) => {
    const box = drawing.getBoundingClientRect();
    move(Math.round(((event.clientX - box.left) / box.width) * length));
  });
  const entire = h("label", { class: "check" }, h("input", { type: "checkbox", on: { change: (event) => { whole = event.target.checked; show(); } } }), " whole objects");
  const names = h("div", { class: "lanes", "aria-hidden": "true" }, LANES.map(([, words]) => h("span", {}, words)));
  const legend = h("p", { class: "legend quiet" }, "Dashed: a deadline. ✗: given up. Shaded: every other step. Arrow keys go from event to event.");
  show();
  // Its width is known once it is on the page.
  new ResizeObserver(draw).observe(drawing);
  return h("section", { class: "scrubber", "aria-label": "What happened when" },
    h("h3", {}, "What happened when"),
    h("div", { class: "chart" }, names, h("div", { class: "track" }, drawing, range)),
    h("div", { class: "controls" }, button("◀", previous, { "aria-label": "Event before", title: "Event before ([)", id: "earlier" }), button("▶", next, { "aria-label": "Next event", title: "Next event (])", id: "later" }), told, entire),
    legend, near, state);
}
