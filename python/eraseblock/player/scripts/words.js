"use strict";
// Pages, requests and decisions in words; and how parts of the page are filled.

/// Puts children into a part of the page, in place of what was there; nothing for what is null.
function put(id, ...children) {
  document.getElementById(id).replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
}

/// Text in which `names` stand between backticks.
const withCode = (text) => text.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));

const A_RUN = 3;
// More runs of pages than these are counted.
const MOST_RUNS = 12;

/// `0–3, 7, 9`: longer runs as first and last.
function pagesTold(pages) {
  const runs = [];
  for (const page of pages) {
    const last = runs.at(-1);
    if (last && page === last.at(-1) + 1) last.push(page);
    else runs.push([page]);
  }
  const told = runs.slice(0, MOST_RUNS).map((run) => (run.length >= A_RUN ? `${run[0]}–${run.at(-1)}` : run.join(", "))).join(", ");
  return runs.length > MOST_RUNS ? `${told} and others, ${pages.length.toLocaleString("en")} in all` : told;
}

const named = (pages) => `${pages.length === 1 ? "page" : "pages"} ${pagesTold(pages)}`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

const OPERATIONS = { read: "Read", write: "Write", force: "Store at once", trim: "Forget", flush: "Store everything", end: "The run ends" };
const LETTERS = { read: "R", write: "W", force: "FUA", trim: "T", flush: "F", end: "end" };

const isOfPages = ([, , count]) => count !== null && count !== undefined;

/// What the host asked: its lines, those of neighbouring blocks as one.
function requestTold(step) {
  return spansOf(step).map(([op, first, count]) => (first === null ? OPERATIONS[op] : `${OPERATIONS[op]} ${spanTold(first, count)}`)).join(", then ").replace(/, then ./g, (text) => text.toLowerCase());
}

const spanTold = (first, count) => (count === 1 ? `page ${first}` : `pages ${first}–${first + count - 1}`);

/// The same shortly: `W 0–2`.
function requestShort(step) {
  return spansOf(step).map(([op, first, count]) => (first === null ? LETTERS[op] : `${LETTERS[op]} ${count === 1 ? first : `${first}–${first + count - 1}`}`)).join(" ");
}

function spansOf(step) {
  const spans = [];
  for (const line of step.lines) {
    const [op, first, count] = isOfPages(line) ? line : [line[0], null, 0];
    const last = spans.at(-1);
    if (last && last[0] === op && first !== null && last[1] + last[2] === first) last[2] += count;
    else spans.push([op, first, count]);
  }
  return spans;
}

const DONE = {
  hit: (one, op) => ["hit", op === "write" ? `${capital(named(one.pages))}: in the buffer, written anew there` : `${capital(named(one.pages))}: in the buffer`],
  insert: (one) => ["miss", `${capital(named(one.pages))}: taken into the buffer`],
  fill: (one) => ["miss", `${capital(named(one.pages))}: read from flash, into the buffer`],
  bypass: (one, op) => ["past", `${capital(named(one.pages))}: past the buffer, ${op === "write" ? "to" : "from"} flash`],
  forget: (one) => ["trim", `${capital(named(one.pages))}: forgotten`],
  battery: () => ["said", "Nothing to do: a battery holds the buffer up"],
};
const TAGS = { hit: "hit", miss: "miss", past: "miss", trim: "gone", said: "note", leave: "leaves", stored: "stored" };

/// What becomes of pages that leave.
function fateTold({ action, pages, dirty, padding = [], channel, times = 1 }) {
  const clean = pages.filter((page) => !dirty.includes(page));
  const where = channel === undefined ? "" : `, on channel ${channel}`;
  const along = clean.length && dirty.length ? `; ${named(clean)} ${clean.length === 1 ? "is" : "are"} clean and written along` : "";
  switch (action) {
    case "drop": return "dropped: flash holds the same, nothing is written";
    case "write-back": return `${plural(pages.length, "page")} written to flash${where}, and kept as clean`;
    case "flush-padded": return `${padding.length ? `${named(padding)} read from flash first, then ` : ""}${plural(pages.length + padding.length, "page")} written in order as a whole block${where}`;
    default: return `${plural(pages.length, "page")} written to flash${where}${pages.length > 1 && times === 1 ? ", in this order" : ""}${along}`;
  }
}

function noteTold({ what, value, pages }) {
  return `${what}${value === undefined || value === null ? "" : pages?.length ? ` (${value})` : ` ${value}`}${pages?.length ? `: ${named(pages)}` : ""}`;
}
