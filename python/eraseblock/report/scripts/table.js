"use strict";
// The table of runs: sorted by any column, filtered with the plots, the best values marked; runs picked in it are compared.

const FIRST_ROWS = 60;
const MORE_ROWS = 240;
// A picture of a longer table serves nobody.
const PICTURE_ROWS = 200;
let tableRuns = [];

const tableAxes = () => (data.varying.length ? data.varying : [data.axisById.get("scheme"), data.axisById.get("size")]);
const tableFigures = () => data.figures.filter((figure) => state.columns.has(figure.path));

function drawTable(runs) {
  tableRuns = sorted(runs);
  const best = bestOf(runs);
  const body = h("tbody", {});
  const headings = [["pick", null], ["Run", "run"], ...tableAxes().map((axis) => [axis.title, axis.id]), ...tableFigures().map((figure) => [figure.title, figure.path])];
  const table = h("table", { "aria-label": "Runs" }, h("thead", {}, h("tr", {}, headings.map(heading))), body);
  document.getElementById("table").replaceChildren(table);
  addRows(body, best, FIRST_ROWS);
  drawTableTools();
}

function heading([title, key]) {
  if (!key) return h("th", { scope: "col" }, h("span", { class: "unseen" }, "Pick to compare"));
  const down = state.sort?.key === key ? state.sort.down : null;
  const direction = down === null ? null : down ? "descending" : "ascending";
  return h("th", { scope: "col", "aria-sort": direction, class: isText(key) ? "text" : null }, h("button", { type: "button", "data-sort": key, onclick: () => sortBy(key) }, title,
    h("span", { class: "arrow", "aria-hidden": "true" }, down === null ? "" : down ? " ▼" : " ▲")));
}

const isText = (key) => data.axisById.has(key) && !data.axisById.get(key).numbers;

/// First in the direction that puts good values on top, then the other, then the order of the results.
function sortBy(key) {
  const firstDown = data.figureByPath.get(key)?.good === "high";
  if (state.sort?.key !== key) state.sort = { key, down: firstDown };
  else if (state.sort.down === firstDown) state.sort = { key, down: !firstDown };
  else state.sort = null;
  noteAddress();
  drawTable(shownRuns());
  document.querySelector(`#table [data-sort="${CSS.escape(key)}"]`)?.focus();
}

/// Runs without the figure come last in either direction.
function sorted(runs) {
  if (!state.sort) return runs;
  const { key, down } = state.sort;
  const axis = data.axisById.get(key);
  const value = (run) => (key === "run" ? run : axis ? axis.of[run] : figureOf(run, key));
  return [...runs].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === null || b === null) return (a === null) - (b === null);
    return (a - b) * (down ? -1 : 1) || one - other;
  });
}

/// For each figure the best among runs that compete and differ in colour only; what all share is nobody's merit.
function bestOf(runs) {
  const axes = data.varying.filter((axis) => axis.id !== state.colour);
  const groups = grouped(runs.filter(competes), (run) => axes.map((axis) => axis.of[run]).join(","));
  const best = new Map();
  for (const figure of data.figures.filter((one) => one.good)) {
    const winners = new Set();
    for (const members of groups.values()) {
      const able = ableToWin(members, figure);
      const values = able.map((run) => figureOf(run, figure.path)).filter((value) => value !== null);
      if (new Set(values).size < 2) continue;
      const first = figure.good === "low" ? Math.min(...values) : Math.max(...values);
      for (const run of able) if (figureOf(run, figure.path) === first) winners.add(run);
    }
    best.set(figure.path, winners);
  }
  return best;
}

function addRows(body, best, count) {
  const from = body.querySelectorAll("tr[data-run]").length;
  const next = tableRuns.slice(from, from + count);
  body.querySelector(".more")?.remove();
  // In the order of the results a rule parts what differs in more than colour.
  const axes = state.sort ? [] : tableAxes().filter((axis) => axis.id !== state.colour);
  body.append(...next.map((run, place) => {
    const row = tableRow(run, best);
    const before = tableRuns[from + place - 1];
    row.classList.toggle("rule", before !== undefined && axes.some((axis) => axis.of[run] !== axis.of[before]));
    return row;
  }));
  const left = tableRuns.length - from - next.length;
  if (!left) return;
  const more = h("tr", { class: "more" }, h("td", { colspan: 99 }, h("button", { type: "button", onclick: () => addRows(body, best, MORE_ROWS) }, `${left} more`)));
  body.append(more);
  const seen = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    seen.disconnect();
    if (more.isConnected) addRows(body, best, MORE_ROWS);
  }, { root: document.getElementById("table"), rootMargin: "600px" });
  seen.observe(more);
}

function tableRow(run, best) {
  const styles = stylesOf(colourAxis());
  const name = runName(run);
  const cells = tableAxes().map((axis) => {
    const mark = axis.id === state.colour ? swatch(styles[axis.of[run]]) : null;
    return h("td", { class: axis.numbers ? null : "text" }, mark, labelOf(run, axis));
  });
  const figures = tableFigures().map((figure) => {
    const value = figureOf(run, figure.path);
    const won = best.get(figure.path)?.has(run);
    return h("td", { class: won ? "best" : null, title: value === null ? null : `${figure.path} = ${value}` }, show(value, figure.unit), won ? h("span", { class: "unseen" }, " (best)") : null);
  });
  const why = sentencesOf(run, "reasons").join("\n");
  return h("tr", { "data-run": run, onpointerenter: () => liftRun(run), onpointerleave: () => lift(), class: isTrusted(run) ? null : "doubtful" },
    h("td", {}, h("input", {
      type: "checkbox", "aria-label": `Pick ${name} to compare`, checked: state.picked.has(run),
      onchange: (event) => pick(run, event.target),
    })),
    h("th", { scope: "row" }, h("a", { href: runAddress(run), "aria-label": `Run ${run + 1}: ${name}` }, run + 1),
      isTrusted(run) ? null : h("span", { class: "flag", title: why, "aria-label": `not trusted: ${why}` }, "not trusted")),
    cells, figures);
}

function pick(run, box) {
  if (box.checked && state.picked.size >= MOST_PICKED) box.checked = false;
  else if (box.checked) state.picked.add(run);
  else state.picked.delete(run);
  drawTableTools();
  redraw((plot) => document.getElementById("panels").contains(plot.element));
}

function drawTableTools() {
  const picked = [...state.picked].sort((one, other) => one - other);
  document.getElementById("compare").replaceChildren(picked.length > 1
    ? h("a", { class: "button", href: runAddress(...picked) }, `Compare ${picked.length} runs`)
    : h("span", { class: "hint" }, `Pick two or more runs to set them side by side${picked.length ? "; one is picked" : ""}.`));
  const columns = menu({ class: "tools" }, h("span", {}, "Columns"), data.figures.map((figure) => h("label", {}, h("input", {
    type: "checkbox", checked: state.columns.has(figure.path),
    onchange: (event) => {
      if (event.target.checked) state.columns.add(figure.path);
      else state.columns.delete(figure.path);
      const { scrollTop } = columns.querySelector(".sheet");
      drawTable(shownRuns());
      // The list stays open for the next choice.
      const again = document.querySelector("#table-tools .menu");
      again.open = true;
      again.querySelector(".sheet").scrollTop = scrollTop;
      [...again.querySelectorAll("input")][data.figures.indexOf(figure)].focus();
    },
  }), " ", figure.title)));
  document.getElementById("table-tools").replaceChildren(columns, saveMenu("the table", [
    ["CSV", () => save(`${fileName(data.name)}-runs.csv`, csv(...tableText()), "text/csv")],
    ["SVG", () => save(`${fileName(data.name)}-runs.svg`, tablePicture(), "image/svg+xml")],
    ["PNG", async () => save(`${fileName(data.name)}-runs.png`, await pngOf(tablePicture()), "image/png")],
    ["Command", () => showCommand("The command that makes these runs", tableRuns)],
  ]));
}

/// The shown runs with raw values, all axes, and the names that results.json has for figures.
function tableText() {
  const header = ["run", ...data.axes.map((axis) => axis.id), ...tableFigures().map((figure) => figure.path), "trusted", "reasons"];
  return [header, tableRuns.map((run) => [data.keys[run], ...data.axes.map((axis) => labelOf(run, axis)), ...tableFigures().map((figure) => figureOf(run, figure.path)),
    isTrusted(run) ? "yes" : "no", sentencesOf(run, "reasons").join("; ")])];
}

function tablePicture() {
  const best = bestOf(tableRuns);
  const rows = tableRuns.slice(0, PICTURE_ROWS).map((run) => [
    ...tableAxes().map((axis) => ({ text: labelOf(run, axis) + (isTrusted(run) || axis !== tableAxes()[0] ? "" : " (not trusted)"), left: !axis.numbers })),
    ...tableFigures().map((figure) => ({ text: show(figureOf(run, figure.path), figure.unit), bold: best.get(figure.path)?.has(run) })),
  ]);
  const title = `${data.name}${tableRuns.length > PICTURE_ROWS ? ` (first ${PICTURE_ROWS} of ${tableRuns.length} runs)` : ""}`;
  return tableSvg(title, [...tableAxes().map((axis) => axis.title), ...tableFigures().map((figure) => figure.title)], rows);
}
