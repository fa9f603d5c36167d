"use strict";
// Starts the page and follows its address: `#run=KEY` is the page of a run, `#run=KEY,KEY` sets runs side by side.

async function start() {
  try {
    await loadData();
    for (const [key, text] of THEMES) {
      document.getElementById("theme").append(h("button", {
        type: "button", "aria-pressed": String(storedTheme() === key), "data-theme-choice": key,
        onclick: (event) => {
          setTheme(key);
          for (const button of event.target.parentElement.children) button.setAttribute("aria-pressed", String(button === event.target));
          redraw();
        },
      }, text));
    }
    drawSettings();
    await follow();
    window.addEventListener("hashchange", follow);
    systemDark.addEventListener("change", () => redraw());
  } catch (error) {
    document.getElementById("panels").replaceChildren(h("p", { class: "note distrust" }, `This page could not be built: ${error.message}. It needs a browser from 2023 or later; results.json has all figures.`));
    throw error;
  }
}

let leftAt = 0;

async function follow() {
  const words = new URLSearchParams(location.hash.slice(1));
  delete document.body.dataset.drawn;
  const overview = document.getElementById("overview");
  // A single run is told by its own page; there is nothing to compare it with.
  if (words.has("run") || data.count === 1) {
    const asked = (words.get("run") ?? data.keys[0]).split(",").filter(Boolean);
    const runs = [...new Set(asked.map(findRun).filter((run) => run !== undefined))].slice(0, MOST_PICKED);
    if (state.across === null) readState(new URLSearchParams());
    if (!overview.hidden) leftAt = window.scrollY;
    overview.hidden = true;
    if (runs.length) await drawRuns(runs);
    else drawUnknown(asked);
    window.scrollTo(0, 0);
    document.querySelector("#runs .title").focus({ preventScroll: true });
  } else {
    const cameBack = overview.hidden;
    const runsPlace = document.getElementById("runs");
    dropPlots(runsPlace);
    runsPlace.hidden = true;
    runsPlace.replaceChildren();
    overview.hidden = false;
    document.title = `${data.name} · eraseblock`;
    if (overviewDrawnFor !== words.toString() || !cameBack) {
      readState(words);
      drawOverview();
      overviewDrawnFor = words.toString();
    }
    if (cameBack) window.scrollTo(0, leftAt);
  }
  // The plots near the window are known one frame later.
  requestAnimationFrame(() => setTimeout(async () => {
    await settled();
    document.body.dataset.drawn = "yes";
    document.body.dataset.drawnAfterMs ??= Math.round(performance.now());
    whenIdle(drawAhead);
  }));
}

/// By the name that the page gives it, or by the whole key of its record.
const findRun = (key) => data.runByKey.get(key) ?? data.runs.find((run) => key.startsWith(data.keys[run]));

function backToOverview(event) {
  event.preventDefault();
  const address = stateAddress();
  if (address) location.hash = address;
  else {
    history.pushState(null, "", location.pathname + location.search);
    follow();
  }
}

function drawUnknown(keys) {
  const place = document.getElementById("runs");
  place.replaceChildren(h("nav", { class: "row crumbs" }, h("a", { href: "#", onclick: backToOverview }, "← All runs")), h("h2", { class: "title", tabindex: -1 }, "No such run"),
    h("p", { class: "empty" }, `This set has no run ${keys.join(", ") || "without a key"}. The address may be of another report.`));
  place.hidden = false;
}

/// Configuration of the whole set: what differs, what the workloads are, what is the same.
function drawSettings() {
  const differs = (column) => column.values.length > 1;
  const list = (columns) => h("dl", { class: "keys" }, columns.map((column) => [h("dt", {}, column.key), h("dd", {}, column.values.slice(0, 40).join(" · "), column.values.length > 40 ? ` and ${column.values.length - 40} more` : "")]));
  const differing = data.config.filter(differs);
  document.getElementById("settings").replaceChildren(...[
    differing.length ? h("details", { open: true }, h("summary", {}, "Differs between runs"), list(differing)) : null,
    ...tracesOf().map((columns, place) => h("details", { open: place === 0 }, h("summary", {}, `Workload ${columns.find((column) => column.key === "name")?.values[0] ?? place + 1}`), list(columns))),
    h("details", {}, h("summary", {}, "The same in all runs"), list(data.config.filter((column) => !differs(column)))),
  ].filter(Boolean));
}

/// For each workload its identity, from the first run that has it.
function tracesOf() {
  const axis = data.axisById.get("trace");
  return axis.labels.map((_, place) => {
    const run = axis.of.indexOf(place);
    return data.traces.map((column) => ({ key: column.key, values: [settingOf(column, run)] })).filter((column) => column.values[0] !== null && column.values[0] !== "0");
  });
}

start();
