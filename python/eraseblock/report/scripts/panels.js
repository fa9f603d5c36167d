"use strict";
// The overview's plots: a panel for each combination of what is neither across nor colour, or one figure of all panels.

/// Draws the overview: filters, plots and table, from the runs that are shown.
function drawOverview({ controls = true } = {}) {
  const runs = shownRuns();
  if (controls) drawFilters();
  else drawLegend();
  document.getElementById("shown").textContent = runs.length === data.count ? plural(data.count, "run") : `${runs.length} of ${plural(data.count, "run")}`;
  const place = document.getElementById("panels");
  dropPlots(place);
  const panels = panelsOf(runs);
  if (!runs.length) {
    place.replaceChildren(h("p", { class: "empty" }, "No run is left. ", h("button", { type: "button", onclick: resetFilters }, "Show all runs again")));
  } else {
    place.replaceChildren(...(state.figure === MAIN ? panels.map(panelSection) : [figureGrid(panels)]));
  }
  drawTable(runs);
}

function resetFilters() {
  state.hidden = new Map(data.axes.map((axis) => [axis.id, new Set()]));
  state.trusted = false;
  changed();
}

function panelSection(panel) {
  const figures = [...mainFigures().map((figure) => figure.path), LENGTHS, PROGRAMS].filter((path) => hasFigure(path, panel.runs));
  return h("section", { class: "panel", "aria-label": panel.name }, h("h2", {}, panel.name),
    h("div", { class: "charts" }, figures.map((path, place) => figureCard(path, panel, { big: place === 0 }))));
}

/// One figure, of each panel: a single one fills the width.
function figureGrid(panels) {
  const wanted = panels.filter((panel) => hasFigure(state.figure, panel.runs));
  const title = figureChoices().find((option) => option.value === state.figure).label;
  const cards = wanted.map((panel) => figureCard(state.figure, panel, { title: panel.name, height: wanted.length < 3 ? TALL : HEIGHT }));
  return h("section", { class: "panel", "aria-label": title }, h("h2", {}, title),
    cards.length ? h("div", { class: `charts ${cards.length < 5 ? `of-${cards.length}` : ""}` }, cards) : h("p", { class: "empty" }, "No run that is shown has this figure."));
}

function hasFigure(path, runs) {
  if (path === LENGTHS) return packedDetails.length > 0 && runs.some((run) => figureOf(run, "flush_pages.after_padding.mean") !== null);
  const column = path === PROGRAMS ? `${PROGRAMS}.total` : path;
  return runs.some((run) => figureOf(run, column) !== null);
}

function figureCard(path, panel, { title = null, big = false, height = HEIGHT } = {}) {
  const plot = figurePlot(path, panel);
  const axis = acrossAxis();
  const which = plot.at && axis?.labels.length > 1 ? choice(axis.title, axis.labels.map((label, place) => ({ value: String(place), label })), String(state.at), (value) => {
    state.at = Number(value);
    changed();
  }) : null;
  // Beside bars the curves of a distribution are as tall as these.
  const tall = path === LENGTHS && !curvesAcross(shownRuns()) ? Math.max(height, barsHeight(new Set(panel.runs.map((run) => colourAxis().of[run])).size)) : height;
  return plotCard({
    id: `plot-${panel.key}-${path.replaceAll(".", "_")}`, title: title ?? plot.title, note: plot.note, figure: path, finding: plot.finding, key: plot.key, wide: plot.wide, big,
    controls: [which, ...(plot.controls ?? [])].filter(Boolean), build: (how) => plot.build({ ...how, height: tall }), height: tall + 45,
    runs: () => plot.runs ?? (plot.at ? runsAt(panel.runs) : panel.runs),
  });
}

/// The best series for a figure at the last value of an axis of numbers across, else of all; runs not to be trusted and those
/// that knew the future don't compete.
function findingOf(figure, runs) {
  const axis = acrossAxis()?.numbers ? acrossAxis() : null;
  const last = axis ? Math.max(...runs.map((run) => axis.of[run])) : null;
  const ranked = ableToWin(runs.filter((run) => !axis || axis.of[run] === last), figure)
    .filter((run) => figureOf(run, figure.path) !== null)
    .sort((one, other) => (figureOf(one, figure.path) - figureOf(other, figure.path)) * (figure.good === "high" ? -1 : 1));
  const [first, second] = ranked.map((run) => figureOf(run, figure.path));
  if (!figure.good || ranked.length < 2 || first === second) return null;
  return { run: ranked[0], where: axis && axis.labels.length > 1 ? ` at ${axis.labels[last]}` : "", margin: margin(first, second, ranked[1], figure) };
}

function margin(first, second, runnerUp, figure) {
  const name = shortName(nameOfSeries(runnerUp));
  if (figure.unit === "share") return `${(100 * Math.abs(first - second)).toFixed(1)} points ${figure.good === "high" ? "above" : "below"} ${name}`;
  if (second === 0) return `ahead of ${name}`;
  const percent = Math.round((100 * Math.abs(second - first)) / Math.abs(second));
  return percent === 0 ? `about as ${name}` : `${percent} % ${figure.good === "high" ? "above" : "below"} ${name}`;
}

/// What has its colour, and where it stands if what lies across are names.
function nameOfSeries(run) {
  const axis = acrossAxis();
  const place = axis && !axis.numbers ? ` on ${labelOf(run, axis)}` : "";
  return `${labelOf(run, colourAxis())}${axis?.id === "ftl" ? place : place.replace(" on ", ", ")}`;
}

/// The same as a line of a caption.
function findingLine(figure, runs) {
  const found = findingOf(figure, runs);
  if (!found) return null;
  const { run, where, margin: by } = found;
  return h("span", { class: "finding" }, `Best${where}: `, swatch(styleOfRun(run)), " ",
    h("a", { href: runAddress(run) }, shortName(nameOfSeries(run))), ` ${show(figureOf(run, figure.path), figure.unit)}, ${by}`);
}
