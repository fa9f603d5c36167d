"use strict";
// The overview's plots: a figure along an axis, programs by cause, and write lengths. Each is a Vega-Lite specification.

const HEIGHT = 220;
const BAR = 24;
const PROGRAMS = "flash.programs";
const LENGTHS = "flush_pages.after_padding.cdf_by_page";
// In the order in which bars are stacked; the colours of causes have the same order.
const CAUSES = ["host", "padding", "gc", "merge", "mapping", "wear", "filler", "placement"];
const CAUSE_NAMES = { gc: "garbage collection", merge: "merges", wear: "wear levelling", filler: "fillers" };

const labelAlong = (run, axis) => (axis ? labelOf(run, axis) : "");

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
  if (path === PROGRAMS) {
    return { title: "Flash programs by cause", note: "host writes, padding, garbage collection and merges", at: true, build: (how) => programsPlot(panel.runs, how) };
  }
  if (path === LENGTHS) {
    return {
      title: "Write-length distribution", at: true, build: (how) => lengthsPlot(runsAt(panel.runs), how),
      note: "share of flushed pages in flushes of at most this length; further right is more sequential",
    };
  }
  const figure = data.figureByPath.get(path);
  const values = panel.runs.map((run) => figureOf(run, path)).filter((value) => value !== null);
  const good = { low: "lower is better", high: "higher is better" }[figure.good];
  const scale = acrossAxis() && isLogarithmic(values) ? "logarithmic" : null;
  const bound = acrossAxis() && limitsAlong(figure, panel.runs.map((run) => ({ run, x: 0 }))).length ? "dotted: the best possible" : null;
  return { title: figure.title, note: [figure.note, good, scale, bound].filter(Boolean).join("; "), build: (how) => figureAgainst(figure, panel.runs, how) };
}

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

/// Scales of colour, shape and dash for the series that occur.
function seriesScales(runs) {
  const axis = colourAxis();
  const styles = stylesOf(axis);
  const used = [...new Set(runs.map((run) => axis.of[run]))].sort((one, other) => one - other);
  const domain = used.map((place) => axis.labels[place]);
  const range = (of) => ({ domain, range: used.map((place) => of(styles[place])) });
  return { domain, colours: range((style) => colour(style.name)), shapes: range((style) => style.shape), dashes: range((style) => style.dash) };
}

const legend = (picture) => (picture ? { title: colourAxis().title, orient: "right" } : null);
const LIT = [{ name: "lit", value: -1 }];

function figureAgainst(figure, runs, { picture }) {
  const axis = acrossAxis();
  const values = runs.filter((run) => figureOf(run, figure.path) !== null).map((run) => ({
    run, x: axis ? axis.numbers?.[axis.of[run]] ?? labelOf(run, axis) : 0, y: figureOf(run, figure.path),
    series: labelOf(run, colourAxis()), trusted: isTrusted(run), picked: state.picked.has(run),
    tip: tooltipOf(run, show(figureOf(run, figure.path), figure.unit), figure.title),
  }));
  if (!values.length) return { empty: "No run that is shown has this figure." };
  const limits = limitsAlong(figure, values);
  const columns = ["run", ...data.varying.map((one) => one.title), figure.path, "trusted"];
  const rows = values.map((value) => [data.keys[value.run], ...data.varying.map((one) => labelOf(value.run, one)), value.y, value.trusted ? "yes" : "no"]);
  const several = axis && new Set(values.map((value) => value.x)).size > 1;
  return { columns, rows, spec: several ? lines(values, limits, figure, picture) : bars(values, figure, picture) };
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

function lines(values, limits, figure, picture) {
  const { colours, shapes, dashes } = seriesScales(values.map((value) => value.run));
  const y = { field: "y", type: "quantitative", ...figureScale([...values, ...limits].map((value) => value.y), figure.unit) };
  const shared = { x: acrossScale(acrossAxis()), y: { title: null, ...y } };
  const strong = { test: "datum.run === lit || datum.picked", value: 170 };
  return {
    height: HEIGHT, params: LIT, data: { values },
    layer: [
      ...(limits.length ? [{ data: { values: limits }, mark: { type: "line", strokeWidth: 1.5, strokeDash: DOTS, color: colour("--soft") }, encoding: shared }] : []),
      {
        mark: { type: "line", strokeWidth: acrossAxis().numbers ? 2 : 1, opacity: acrossAxis().numbers ? 1 : 0.45 },
        encoding: {
          ...shared, color: { field: "series", type: "nominal", scale: colours, legend: legend(picture) },
          strokeDash: { field: "series", type: "nominal", scale: dashes, legend: legend(picture) }, detail: { field: "series" },
        },
      },
      {
        params: [{ name: "hover", select: { type: "point", on: "pointerover", nearest: true, fields: ["run"], clear: "pointerout" } }],
        mark: { type: "point", opacity: 1, strokeWidth: 1.5, cursor: "pointer" },
        encoding: {
          ...shared,
          // In a picture the legends of all channels are one, since they say the same.
          fill: { field: "series", type: "nominal", scale: colours, legend: legend(picture) },
          stroke: { field: "series", type: "nominal", scale: colours, legend: legend(picture) },
          shape: { field: "series", type: "nominal", scale: shapes, legend: legend(picture) },
          size: { condition: [{ param: "hover", empty: false, value: 170 }, strong], value: 60 },
          fillOpacity: { condition: { test: "datum.trusted", value: 1 }, value: 0 },
          tooltip,
        },
      },
    ],
  };
}

/// Without an axis across, a bar for each series.
function bars(values, figure, picture) {
  const { domain, colours } = seriesScales(values.map((value) => value.run));
  return {
    height: Math.max(60, BAR * domain.length), params: LIT, data: { values },
    mark: { type: "bar", cornerRadiusEnd: 3, size: 0.65 * BAR, cursor: "pointer" },
    encoding: {
      y: { field: "series", type: "nominal", sort: domain, title: picture ? colourAxis().title : null, axis: { labelLimit: 160 } },
      x: { field: "y", type: "quantitative", title: null, axis: { tickCount: 4, labelOverlap: "greedy", ...tickLabels(figure.unit) } },
      color: { field: "series", type: "nominal", scale: colours, legend: null },
      fillOpacity: { condition: { test: "datum.trusted", value: 1 }, value: 0.3 },
      stroke: { value: colour("--ink") },
      strokeWidth: { condition: { test: "datum.run === lit || datum.picked", value: 2 }, value: 0 },
      tooltip,
    },
  };
}

const runsAt = (runs) => runs.filter((run) => !acrossAxis() || acrossAxis().of[run] === state.at);
const aboutAt = () => (acrossAxis() ? `${acrossAxis().title}: ${acrossAxis().labels[state.at]}` : "");

function programsPlot(all, { picture }, nameOf = (run) => labelOf(run, colourAxis()), chosen = runsAt(all)) {
  const values = chosen.flatMap((run) => CAUSES.map((cause, order) => {
    const count = figureOf(run, `${PROGRAMS}.${cause}`);
    const name = CAUSE_NAMES[cause] ?? cause;
    return { run, series: nameOf(run), cause: name, order, count, tip: { ...tooltipOf(run, name, "Cause"), Programs: show(count, "count") } };
  })).filter((value) => value.count);
  if (!values.length) return { empty: `Nothing was programmed${aboutAt() ? ` (${aboutAt()})` : ""}.` };
  const domain = [...new Set(chosen.map(nameOf))];
  const used = CAUSES.map((cause) => CAUSE_NAMES[cause] ?? cause);
  return {
    columns: ["run", "name", "cause", "programs"],
    rows: values.map((value) => [data.keys[value.run], value.series, value.cause, value.count]),
    about: aboutAt(),
    spec: {
      height: Math.max(60, BAR * domain.length), params: LIT, data: { values },
      mark: { type: "bar", size: 0.65 * BAR, cursor: "pointer" },
      encoding: {
        y: { field: "series", type: "nominal", sort: domain, title: null, axis: { labelLimit: 140 } },
        x: { field: "count", type: "quantitative", title: "Flash pages programmed", axis: { tickCount: 4, labelOverlap: "greedy", ...tickLabels("count") } },
        color: {
          field: "cause", type: "nominal", scale: { domain: used, range: CAUSES.map((_, place) => colour(`--c${place}`)) },
          legend: { title: null, orient: "top", columns: 3, symbolType: "square", symbolStrokeWidth: 0, values: used.filter((name) => values.some((value) => value.cause === name)) },
        },
        order: { field: "order" },
        strokeWidth: { condition: { test: "datum.run === lit", value: 1 }, value: 0 },
        stroke: { value: colour("--ink") },
        tooltip,
      },
    },
    picture,
  };
}

async function lengthsPlot(runs, { picture }, scalesOf = () => seriesScales(runs), nameOf = (run) => labelOf(run, colourAxis())) {
  const curves = await Promise.all(runs.map(async (run) => [run, (await detailOf(run)).lengths ?? []]));
  const present = curves.filter(([, curve]) => curve.length);
  if (!present.length) return { empty: packedDetails.length ? "Nothing was flushed." : "The set is too large for distributions in this page." };
  const longest = Math.max(2, ...present.map(([, curve]) => curve.at(-1)[0]));
  // From nothing at one page to everything at the longest flush, so that a single step shows as well.
  const values = present.flatMap(([run, curve]) => [[1, 0], ...curve, [longest, 1]].map(([pages, share]) => ({
    run, pages, share, series: nameOf(run), tip: { ...tooltipOf(run, show(share, "share"), "Share of pages"), "In flushes of at most": plural(pages, "page") },
  })));
  const { colours, dashes } = scalesOf();
  const shared = {
    x: {
      field: "pages", type: "quantitative", title: "Pages per flush",
      scale: { type: "log", base: 2, domain: [1, longest], nice: false, padding: 6 },
      axis: { grid: false, format: "~s", values: Array.from({ length: 20 }, (_, power) => 2 ** power), labelOverlap: "greedy" },
    },
    y: { field: "share", type: "quantitative", title: null, scale: { domain: [0, 1] }, axis: { format: "~%", tickCount: 5 } },
    color: { field: "series", type: "nominal", scale: colours, legend: legend(picture) },
  };
  return {
    columns: ["run", "name", "pages", "share"], rows: values.map((value) => [data.keys[value.run], value.series, value.pages, value.share]),
    about: aboutAt(),
    spec: {
      height: HEIGHT, data: { values },
      layer: [
        { mark: { type: "line", interpolate: "step-after", strokeWidth: 2 }, encoding: { ...shared, strokeDash: { field: "series", type: "nominal", scale: dashes, legend: null } } },
        {
          params: [{ name: "hover", select: { type: "point", on: "pointerover", nearest: true, fields: ["pages", "series"], clear: "pointerout" } }],
          mark: { type: "point", filled: true, size: 110 },
          encoding: { ...shared, opacity: { condition: { param: "hover", empty: false, value: 1 }, value: 0 }, tooltip },
        },
      ],
    },
  };
}
