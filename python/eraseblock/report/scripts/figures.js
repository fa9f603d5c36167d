"use strict";
// What the overview can draw of its runs, and what all of its plots share. Each plot is a Vega-Lite specification.

const HEIGHT = 230;
const TALL = 330;
const PROGRAMS = "flash.programs";
const LENGTHS = "flush_pages.after_padding.cdf_by_page";
// Signals that every plot of series has: the run and the series that are pointed at.
const LIFTED = [{ name: "lit", value: -1 }, { name: "lifted", value: "" }];

/// Everything that can be drawn: the main figures, two distributions, and any other number of the records.
function figureChoices() {
  const main = mainFigures().map((figure) => ({ value: figure.path, label: figure.title, group: "Main figures" }));
  const shapes = [];
  if (data.figureByPath.has(`${PROGRAMS}.total`)) shapes.push({ value: PROGRAMS, label: "Flash programs by cause", group: "Distributions" });
  if (packedDetails.length) shapes.push({ value: LENGTHS, label: "Write-length distribution", group: "Distributions" });
  const others = data.figures.filter((figure) => !figure.plot).map((figure) => ({ value: figure.path, label: figure.title, group: "Other figures" }));
  return [{ value: MAIN, label: "All main figures" }, ...main, ...shapes, ...others];
}

/// Title, note and builder of what one panel shows of a figure.
function figurePlot(path, panel) {
  if (path === PROGRAMS) return programsOf(panel);
  if (path === LENGTHS) {
    return {
      title: "Write-length distribution", at: true, build: (how) => lengthsPlot(runsAt(panel.runs), how),
      note: "share of flushed pages in flushes of at most this length; further right is more sequential",
    };
  }
  const figure = data.figureByPath.get(path);
  const good = { low: "lower is better", high: "higher is better" }[figure.good];
  const bound = acrossAxis()?.numbers && limitsAlong(figure, panel.runs.map((run) => ({ run, x: 0 }))).length ? "dotted: the best possible" : null;
  return {
    title: figure.title, note: [figure.note, good, bound].filter(Boolean).join("; "), build: (how) => figureAgainst(figure, panel.runs, how),
    controls: [scaleSwitch(figure)], finding: findingLine(figure, panel.runs),
  };
}

/// Linear or logarithmic, for all plots of the figure.
function scaleSwitch(figure) {
  if (!canBeLog(shownValues(figure))) return null;
  const box = switcher(`Scale of ${figure.title}`, [...SCALES], scaleOf(figure), (scale) => {
    state.scales.set(figure.path, scale);
    noteAddress();
    for (const button of document.querySelectorAll(`[data-scale="${CSS.escape(figure.path)}"] button`)) button.setAttribute("aria-pressed", String(button.dataset.value === scale));
    redraw((plot) => plot.figure === figure.path);
  });
  box.dataset.scale = figure.path;
  return box;
}

/// Whether the runs lie along an axis of numbers, at more than one place.
const curvesAcross = (runs) => Boolean(acrossAxis()?.numbers) && new Set(runs.map((run) => acrossAxis().of[run])).size > 1;

/// The words of a run in a tooltip: its axes, then what was measured.
function tooltipOf(run, value, title) {
  const words = {};
  for (const axis of data.varying) words[axis.title] = labelOf(run, axis);
  if (!data.varying.length) words.Scheme = labelOf(run, data.axisById.get("scheme"));
  words[title] = value;
  if (!isTrusted(run)) words.Trusted = "no: see its page";
  return words;
}

/// The tooltip of a mark: the words that its data bring along. Where the nearest mark counts, that mark is the datum.
const tooltip = { value: { expr: "(datum.datum || datum).tip" } };

/// Scales of colour, shape and dash for the series that occur, the best first.
function seriesScales(runs) {
  const axis = colourAxis();
  const styles = stylesOf(axis);
  const used = new Set(runs.map((run) => axis.of[run]));
  const places = (axis.numbers ? [...axis.labels.keys()] : rankingOf(axis)).filter((place) => used.has(place));
  const domain = places.map((place) => axis.labels[place]);
  const range = (of) => ({ domain, range: places.map((place) => of(styles[place])) });
  return { domain, colours: range((style) => colour(style.name)), shapes: range((style) => style.shape), dashes: range((style) => style.dash) };
}

const legend = (picture) => (picture ? { title: colourAxis().title, orient: "right" } : null);

function figureAgainst(figure, runs, how) {
  const axis = acrossAxis();
  const known = runs.filter((run) => figureOf(run, figure.path) !== null);
  if (!known.length) return { empty: "No run that is shown has this figure." };
  const columns = ["run", ...data.varying.map((one) => one.title), figure.path, "trusted"];
  const rows = known.map((run) => [data.keys[run], ...data.varying.map((one) => labelOf(run, one)), figureOf(run, figure.path), isTrusted(run) ? "yes" : "no"]);
  const values = known.map((run) => {
    const told = show(figureOf(run, figure.path), figure.unit);
    return {
      run, x: axis?.numbers ? axis.numbers[axis.of[run]] : 0, y: figureOf(run, figure.path), told, value: told, band: axis ? labelOf(run, axis) : "",
      series: labelOf(run, colourAxis()), trusted: isTrusted(run), picked: state.picked.has(run), tip: tooltipOf(run, told, figure.title),
    };
  });
  if (!curvesAcross(known)) return { columns, rows, ...bars(values, figure, how) };
  return { columns, rows, spec: lines(values, limitsAlong(figure, values), figure, how), curves: curvesOf(values), ends: true, aside: outliersTold(values, figure) };
}

/// The best possible value at each place along the axis; none where every value is possible.
function limitsAlong(figure, values) {
  if (!data.figureByPath.has(figure.bound)) return [];
  const best = new Map();
  for (const { run, x } of values) {
    const limit = figureOf(run, figure.bound);
    if (limit === null || limit <= 0) continue;
    const better = figure.good === "high" ? Math.max : Math.min;
    best.set(x, best.has(x) ? better(best.get(x), limit) : limit);
  }
  return [...best].map(([x, y]) => ({ x, y }));
}

const runsAt = (runs) => runs.filter((run) => !acrossAxis() || acrossAxis().of[run] === state.at);
const aboutAt = () => (acrossAxis() ? `${acrossAxis().title}: ${acrossAxis().labels[state.at]}` : "");
