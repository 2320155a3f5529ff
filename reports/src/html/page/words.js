// Words for what the record holds.

const OUTCOMES = {
  failed: ["✗", "failed"],
  late: ["✗", "late"],
  knownFailure: ["◇", "known failure"],
  inconclusive: ["?", "inconclusive"],
  passed: ["✓", "passed"],
  skipped: ["–", "skipped"],
  notSupported: ["·", "not supported"],
};
const WORST = Object.keys(OUTCOMES);
const CHANGES = {
  newlyFailing: "newly failing",
  newlyFlaky: "newly flaky",
  noLongerTested: "no longer tested",
  stillFailing: "still failing",
  wasFlaky: "flaky before",
  newlyPassing: "newly passing",
  newlyTested: "newly tested",
};

/** The sign of an outcome, which is no colour alone. */
function mark(outcome) {
  const [sign, word] = OUTCOMES[outcome] || ["?", String(outcome)];
  return h("span", { class: `mark ${outcome}`, role: "img", "aria-label": word, title: word }, sign);
}

function badge(outcome) {
  const [sign, word] = OUTCOMES[outcome] || ["?", String(outcome)];
  return h("span", { class: `badge ${outcome}` }, `${sign} ${word}`);
}

/** Microseconds in words. */
function time(micros) {
  const ms = micros / 1000;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 10000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toFixed(1)} s`;
}

/** Milliseconds of a whole run. */
function span(ms) {
  if (ms < 10000) return time(ms * 1000);
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** A word as a POSIX shell reads it back, as `reproduce` writes it. */
function quoted(word) {
  return /^[A-Za-z0-9\-_./:=,@%+]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The line that runs just this one again. */
function command(record, name) {
  const again = record.optionsFile ? ["--options-from", record.optionsFile] : record.arguments || [];
  return ["gateproof", "run", name.split("#")[0], ...again].map(quoted).join(" ");
}

/** JSON as YAML, in lines. */
function yaml(value, indent = "", out = []) {
  const scalar = (one) => {
    if (typeof one !== "string") return JSON.stringify(one);
    const plain = /^[A-Za-z_/][A-Za-z0-9_./ -]*$/.test(one) && !/ $|^(true|false|null|yes|no|on|off|y|n)$/i.test(one);
    return plain ? one : JSON.stringify(one);
  };
  const isEmpty = (one) => one === null || typeof one !== "object" || Object.keys(one).length === 0;
  if (isEmpty(value)) {
    out.push(indent + scalar(value));
  } else if (Array.isArray(value)) {
    for (const one of value) {
      if (isEmpty(one)) {
        out.push(`${indent}- ${scalar(one)}`);
        continue;
      }
      const inner = yaml(one, `${indent}  `);
      out.push(`${indent}- ${inner[0].slice(indent.length + 2)}`, ...inner.slice(1));
    }
  } else {
    for (const [name, one] of Object.entries(value)) {
      if (isEmpty(one)) out.push(`${indent}${scalar(name)}: ${scalar(one)}`);
      else {
        out.push(`${indent}${scalar(name)}:`);
        yaml(one, Array.isArray(one) ? indent : `${indent}  `, out);
      }
    }
  }
  return out;
}

/** Lines now beside lines before: which are new, which are gone. */
function compared(before, here) {
  const [n, m] = [before.length, here.length];
  if (n * m > 400000) {
    const had = new Set(before);
    return here.map((text) => [had.has(text) ? " " : "+", text]);
  }
  const table = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let j = m - 1; j >= 0; j -= 1) {
      table[i][j] = before[i] === here[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const out = [];
  let [i, j] = [0, 0];
  while (i < n || j < m) {
    if (i < n && j < m && before[i] === here[j]) {
      out.push([" ", here[j]]);
      [i, j] = [i + 1, j + 1];
    } else if (j >= m || (i < n && table[i + 1][j] >= table[i][j + 1])) {
      out.push(["-", before[i]]);
      i += 1;
    } else {
      out.push(["+", here[j]]);
      j += 1;
    }
  }
  return out;
}
