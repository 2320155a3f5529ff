// What takes longer to settle, by the tests and limits of `report diff`.

const FALSE_ALARM = 0.001;
const RATIO = 1.25;
const MARGIN_MS = 20;
const EXECUTIONS = 5;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
}

function matters(before, here) {
  return here >= before * RATIO && here - before >= MARGIN_MS;
}

/** How long each stage took in each execution that passed, by scenario, step and stage. */
function times(of) {
  const found = new Map();
  for (const name of of.names) {
    for (const stage of of.of(name).filter((one) => one.outcome === "passed").flatMap((one) => one.stages || [])) {
      const key = JSON.stringify([name, stage.step, stage.stage]);
      if (!found.has(key)) found.set(key, { name, step: stage.step, stage: stage.stage, times: [] });
      found.get(key).times.push(stage.reachedMs);
    }
  }
  return found;
}

/** The chance of so many heads of n tosses, or more. */
function heads(least, n) {
  const logs = [0];
  for (let i = 1; i <= n; i += 1) logs.push(logs[i - 1] + Math.log(i));
  let sum = 0;
  // The small ones first, so that none is lost beside a large one.
  for (let k = n; k >= least; k -= 1) sum += Math.exp(logs[n] - logs[k] - logs[n - k] - n * Math.LN2);
  return Math.min(1, sum);
}

/** The chance that a normal value is above z. */
function above(z) {
  if (z < 0) return 1 - above(-z);
  if (z > 38) return 0;
  if (z < 3) {
    // Phi by its series.
    let [term, sum] = [z, z];
    for (let k = 1; k < 200; k += 1) {
      term *= (z * z) / (2 * k + 1);
      sum += term;
    }
    return 0.5 - (sum * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
  }
  let fraction = 0;
  for (let k = 200; k > 0; k -= 1) fraction = k / (z + fraction);
  return Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI) / (z + fraction);
}

/** The chance that the first are above the second as much as they are; ranks of Mann and Whitney. */
function higher(first, second) {
  const all = [...first.map((value) => [value, true]), ...second.map((value) => [value, false])];
  all.sort((a, b) => a[0] - b[0]);
  let [sum, ties] = [0, 0];
  for (let from = 0; from < all.length;) {
    let to = from;
    while (to < all.length && all[to][0] === all[from][0]) to += 1;
    const count = to - from;
    sum += all.slice(from, to).filter((one) => one[1]).length * (from + (count + 1) / 2);
    ties += count ** 3 - count;
    from = to;
  }
  const [n, m] = [first.length, second.length];
  const u = sum - (n * (n + 1)) / 2;
  const deviation = Math.sqrt(((n * m) / 12) * (n + m + 1 - ties / ((n + m) * (n + m - 1))));
  return above((u - (n * m) / 2 - 0.5) / deviation);
}

/** Everything that takes longer; first what is said of all scenarios. */
function slower(before, here) {
  const [was, is] = [times(before), times(here)];
  const both = [...is].filter(([key]) => was.has(key)).map(([key, now]) => ({ ...now, was: was.get(key).times }));
  both.sort((a, b) => order(a.name, b.name) || a.step - b.step || order(a.stage, b.stage));
  const stages = new Map();
  for (const one of both) {
    if (!stages.has(one.stage)) stages.set(one.stage, []);
    stages.get(one.stage).push([median(one.was), median(one.times)]);
  }
  const often = both.filter((one) => Math.min(one.was.length, one.times.length) >= EXECUTIONS);
  const allowed = FALSE_ALARM / Math.max(1, stages.size + often.length);
  const found = [];
  const judge = (one) => {
    if (one.chance <= allowed && matters(one.beforeMs, one.hereMs)) found.push(one);
  };
  for (const [stage, pairs] of [...stages].sort((a, b) => order(a[0], b[0]))) {
    const longer = pairs.filter(([a, b]) => b > a).length;
    const shorter = pairs.filter(([a, b]) => b < a).length;
    judge({
      stage,
      beforeMs: median(pairs.map(([a]) => a)),
      hereMs: median(pairs.map(([, b]) => b)),
      compared: pairs.length,
      chance: longer === 0 ? 1 : heads(longer, longer + shorter),
    });
  }
  for (const { name, step, stage, times: now, was: then } of often) {
    judge({
      stage,
      step: [name, step],
      beforeMs: median(then),
      hereMs: median(now),
      compared: then.length + now.length,
      chance: higher(now, then),
    });
  }
  return found;
}
