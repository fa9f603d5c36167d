"use strict";
// The overview's plots: a panel for each combination of what is neither across nor colour, or one figure of all panels.

/// Draws the overview: filters, plots and table, from the runs that are shown.
function drawOverview({ controls = true } = {}) {
  const runs = shownRuns();
  if (controls) drawFilters();
  document.getElementById("shown").textContent = runs.length === data.count ? plural(data.count, "run") : `${runs.length} of ${plural(data.count, "run")}`;
  const place = document.getElementById("panels");
  dropPlots(place);
  const panels = panelsOf(runs);
  if (!runs.length) {
    place.replaceChildren(h("p", { class: "empty" }, "No run is left. ", h("button", { type: "button", onclick: resetFilters }, "Show all runs again")));
  } else {
    place.replaceChildren(...(state.figure === MAIN ? panels.map((panel) => panelSection(panel, panels.length)) : [figureGrid(panels)]));
  }
  drawTable(runs);
}

function resetFilters() {
  state.hidden = new Map(data.axes.map((axis) => [axis.id, new Set()]));
  state.trusted = false;
  changed();
}

function panelSection(panel, count) {
  const figures = [...mainFigures().map((figure) => figure.path), LENGTHS, PROGRAMS].filter((path) => hasFigure(path, panel.runs));
  const title = count > 1 || panelAxes().length ? panel.name : `${labelOf(panel.runs[0], data.axisById.get("trace"))} · ${labelOf(panel.runs[0], data.axisById.get("ftl"))}`;
  return h("section", { class: "panel", "aria-label": title }, h("h2", {}, title), findingsList(panel.runs),
    h("div", { class: "charts" }, figures.map((path) => figureCard(path, panel))));
}

function figureGrid(panels) {
  const wanted = panels.filter((panel) => hasFigure(state.figure, panel.runs));
  const title = figureChoices().find((option) => option.value === state.figure).label;
  const cards = wanted.map((panel) => figureCard(state.figure, panel, panel.name));
  return h("section", { class: "panel", "aria-label": title }, h("h2", {}, title),
    cards.length ? h("div", { class: "charts" }, cards) : h("p", { class: "empty" }, "No run that is shown has this figure."));
}

function hasFigure(path, runs) {
  if (path === LENGTHS) return packedDetails.length > 0 && runs.some((run) => figureOf(run, "flush_pages.after_padding.mean") !== null);
  const column = path === PROGRAMS ? `${PROGRAMS}.total` : path;
  return runs.some((run) => figureOf(run, column) !== null);
}

function figureCard(path, panel, title = null) {
  const plot = figurePlot(path, panel);
  const axis = acrossAxis();
  const controls = plot.at && axis?.labels.length > 1 ? [choice(axis.title, axis.labels.map((label, place) => ({ value: String(place), label })), String(state.at), (value) => {
    state.at = Number(value);
    changed();
  })] : [];
  return plotCard({
    id: `plot-${panel.key}-${path.replaceAll(".", "_")}`, title: title ?? plot.title, note: plot.note, build: plot.build, controls,
    runs: () => (plot.at ? runsAt(panel.runs) : panel.runs),
  });
}

/// The best series for each figure at the last value of the axis across; runs not to be trusted and those that knew the future don't compete.
function findingsOf(runs) {
  const axis = acrossAxis();
  const last = axis ? Math.max(...runs.map((run) => axis.of[run])) : null;
  const peers = runs.filter((run) => competes(run) && (!axis || axis.of[run] === last));
  const found = [];
  for (const figure of data.figures.filter((one) => one.plot && one.good)) {
    const ranked = peers.filter((run) => figureOf(run, figure.path) !== null)
      .sort((one, other) => (figureOf(one, figure.path) - figureOf(other, figure.path)) * (figure.good === "high" ? -1 : 1));
    const [first, second] = ranked.map((run) => figureOf(run, figure.path));
    if (ranked.length > 1 && first !== second) found.push({ figure, run: ranked[0], margin: margin(first, second, ranked[1], figure) });
  }
  return { where: axis && axis.labels.length > 1 ? `${axis.title} ${axis.labels[last]}` : "", found };
}

function margin(first, second, runnerUp, figure) {
  const name = labelOf(runnerUp, colourAxis());
  if (figure.unit === "share") return `${(100 * Math.abs(first - second)).toFixed(1)} points ${figure.good === "high" ? "above" : "below"} ${name}`;
  if (second === 0) return `ahead of ${name}`;
  return `${Math.round((100 * Math.abs(second - first)) / Math.abs(second))} % ${figure.good === "high" ? "above" : "below"} ${name}`;
}

function findingsList(runs) {
  const { where, found } = findingsOf(runs);
  if (!found.length) return null;
  const styles = stylesOf(colourAxis());
  return [
    h("p", { class: "hint" }, `Best${where ? ` at ${where}` : ""}`),
    h("dl", { class: "findings" }, found.map(({ figure, run, margin: by }) => h("div", {}, h("dt", {}, figure.title), h("dd", {},
      h("a", { href: runAddress(run), style: `--mark: var(${styles[colourAxis().of[run]].name})` }, labelOf(run, colourAxis())),
      h("span", { class: "value" }, show(figureOf(run, figure.path), figure.unit)), h("span", { class: "margin" }, by))))),
  ];
}
