"use strict";
// A figure along an axis of numbers: a curve for each series. Grey ones lie below, coloured ones have points, and the one that
// is pointed at lies above all, with its figures.

const MARKED = 60;
const PICKED = 170;

/// Points of each series, in the order in which they are joined.
function curvesOf(values, more = {}) {
  const styles = stylesOf(colourAxis());
  return [...grouped(values, (value) => value.series)].map(([series, points]) => ({
    series, style: styles[colourAxis().labels.indexOf(series)], points: points.sort((one, other) => one.x - other.x), ...more,
  }));
}

/// Solid unless something is pointed at; then the layers above show that.
const unlessLifted = (how = 0.16) => ({ condition: { test: "lifted === ''", value: 1 }, value: how });

function lines(values, limits, figure, { picture, height = HEIGHT }) {
  const [rest, coloured] = [values.filter((value) => !isColoured(value.run)), values.filter((value) => isColoured(value.run))];
  const { colours, shapes, dashes } = seriesScales(coloured.map((value) => value.run));
  const scale = scaleOf(figure);
  const inside = withoutOutliers(values, scale);
  const y = { field: "y", type: "quantitative", ...figureScale([...inside, ...limits].map((value) => value.y), figure.unit, { scale }) };
  const shared = { x: acrossScale(acrossAxis()), y: { title: null, ...y } };
  // In a picture the legends of all channels are one, since they say the same.
  const bySeries = (scale) => ({ field: "series", type: "nominal", scale, legend: legend(picture) });
  const layer = [
    limits.length && { data: { values: limits }, mark: { type: "line", strokeWidth: 1.5, strokeDash: DOTS, color: colour("--base") }, encoding: shared },
    rest.length && {
      data: { values: rest }, mark: { type: "line", strokeWidth: 1, color: colour("--rest"), clip: true },
      encoding: { ...shared, detail: { field: "series" }, opacity: unlessLifted(0.4) },
    },
    coloured.length && {
      data: { values: coloured }, mark: { type: "line", strokeWidth: 2, clip: true },
      encoding: { ...shared, color: bySeries(colours), strokeDash: bySeries(dashes), detail: { field: "series" }, opacity: unlessLifted() },
    },
    coloured.length && {
      data: { values: inside.filter((value) => isColoured(value.run)) }, mark: { type: "point", strokeWidth: 1.5 },
      encoding: {
        ...shared, fill: bySeries(colours), stroke: bySeries(colours), shape: bySeries(shapes), opacity: unlessLifted(),
        size: { condition: { test: "datum.run === lit || datum.picked", value: PICKED }, value: MARKED },
        fillOpacity: { condition: { test: "datum.trusted", value: 1 }, value: 0 },
      },
    },
    ...(picture ? [] : liftedLayers(values, shared, Math.max(...inside.map((value) => value.y)))),
  ];
  return { height, params: LIFTED, layer: layer.filter(Boolean) };
}

// Series may leave the plot where what it is made for would have less than this part of its height.
const ENOUGH = 2 / 3;
// No more than this part of the coloured points leaves a plot.
const FEW = 1 / 4;

/// What the plot is made for: everything, but for grey series and runs not to be trusted, where they lie so far above that all
/// others would be flat.
function withoutOutliers(values, scale) {
  const coloured = values.filter((value) => isColoured(value.run));
  if (!coloured.length) return values;
  const trusted = Math.max(...coloured.filter((value) => value.trusted).map((value) => value.y));
  // Where most are not to be trusted, they are what there is to see.
  const few = coloured.filter((value) => value.y > trusted).length <= FEW * coloured.length;
  const most = few ? trusted : Math.max(...coloured.map((value) => value.y));
  const positive = values.map((value) => value.y).filter((value) => value > 0);
  if (Math.max(...positive) <= most) return values;
  const height = scale === "log" ? (top) => Math.log(top / Math.min(...positive)) : (top) => top;
  return height(most) > ENOUGH * height(Math.max(...positive)) ? values : values.filter((value) => value.y <= most);
}

/// Which series leave the plot, and how far they go.
function outliersTold(values, figure) {
  const inside = new Set(withoutOutliers(values, scaleOf(figure)));
  const out = values.filter((value) => !inside.has(value));
  const names = [...new Set(out.map((value) => shortName(value.series)))];
  return out.length ? `off the plot: ${someOf(names)}, up to ${show(Math.max(...out.map((value) => value.y)), figure.unit)}` : null;
}

/// The series that is pointed at, drawn over all others: thick, and with its figures.
function liftedLayers(values, shared, most) {
  const ends = new Map(curvesOf(values).map(({ series, points }) => [series, [points[0], points.at(-1)]]));
  const told = values.map((value) => {
    const [first, last] = ends.get(value.series);
    return { ...value, inside: Math.min(value.y, most), ink: inkOf(value.run), side: first === last ? "center" : value === first ? "left" : value === last ? "right" : "center" };
  });
  const data = { data: { values: told }, transform: [{ filter: "datum.series === lifted" }] };
  const ink = { field: "ink", type: "nominal", scale: null };
  const text = { type: "text", dy: -12, fontSize: 11, fontWeight: 600, align: { expr: "datum.side" } };
  // What is off the plot is told at its edge.
  const words = { ...shared, y: { ...shared.y, field: "inside" }, text: { field: "told" } };
  return [
    { ...data, mark: { type: "line", strokeWidth: 3, clip: true }, encoding: { ...shared, stroke: ink } },
    { ...data, transform: [{ filter: `datum.series === lifted && datum.y <= ${most}` }], mark: { type: "point", filled: true, opacity: 1 }, encoding: { ...shared, color: ink, size: { condition: { test: "datum.run === lit", value: PICKED }, value: MARKED } } },
    { ...data, mark: { ...text, stroke: colour("--card"), strokeWidth: 4, strokeJoin: "round" }, encoding: words },
    { ...data, mark: { ...text, color: colour("--ink") }, encoding: words },
  ];
}

/// What is grey is drawn in ink while it is pointed at.
const inkOf = (run) => colour(isColoured(run) ? styleOfRun(run).name : "--ink");
