"use strict";
// How long flushes are: which share of all flushed pages left in flushes of at most so many pages.

/// How series of the overview are named and drawn; pages of runs have names and styles of their own.
const overviewLook = () => ({ nameOf: (run) => labelOf(run, colourAxis()), styleOf: styleOfRun, about: aboutAt() });

async function lengthsPlot(runs, { picture, height = HEIGHT }, look = overviewLook()) {
  const found = await Promise.all(runs.map(async (run) => [run, (await detailOf(run)).lengths ?? []]));
  const present = found.filter(([, curve]) => curve.length);
  if (!present.length) return { empty: packedDetails.length ? "Nothing was flushed." : "The set is too large for distributions in this page." };
  const longest = Math.max(2, ...present.map(([, curve]) => curve.at(-1)[0]));
  // From nothing at one page to everything at the longest flush, so that a single step shows as well.
  const curves = present.map(([run, curve]) => ({
    series: look.nameOf(run), style: look.styleOf(run), steps: true,
    points: [[1, 0], ...curve, [longest, 1]].map(([pages, share]) => ({
      run, x: pages, y: share, series: look.nameOf(run), value: show(share, "share"),
      tip: { ...tooltipOf(run, show(share, "share"), "Share of pages"), "In flushes of at most": plural(pages, "page") },
    })),
  }));
  return {
    columns: ["run", "name", "pages", "share"], about: look.about, curves,
    rows: curves.flatMap(({ points }) => points.map((point) => [data.keys[point.run], point.series, point.x, point.y])),
    spec: { height, params: LIFTED, layer: lengthLayers(curves, longest, picture) },
  };
}

function lengthLayers(curves, longest, picture) {
  const named = curves.filter((curve) => curve.style.kind !== "rest");
  const domain = named.map((curve) => curve.series);
  const scale = (of) => ({ domain, range: named.map((curve) => of(curve.style)) });
  const shared = {
    x: {
      field: "x", type: "quantitative", title: "Pages per flush", scale: { type: "log", base: 2, domain: [1, longest], nice: false, padding: 6 },
      axis: { grid: false, format: "~s", values: Array.from({ length: 20 }, (_, power) => 2 ** power), labelOverlap: "greedy" },
    },
    y: { field: "y", type: "quantitative", title: null, scale: { domain: [0, 1] }, axis: { format: "~%", tickCount: 5 } },
    detail: { field: "series" },
  };
  const key = picture && curves.length > 1 ? { title: null } : null;
  const points = (some, style = () => ({})) => some.flatMap((curve) => curve.points.map((point) => ({ ...point, ...style(curve) })));
  const line = { type: "line", interpolate: "step-after" };
  const ink = (curve) => ({ ink: colour(curve.style.kind === "rest" ? "--ink" : curve.style.name) });
  return [
    { data: { values: points(curves.filter((curve) => curve.style.kind === "rest")) }, mark: { ...line, strokeWidth: 1, color: colour("--rest") }, encoding: { ...shared, opacity: unlessLifted(0.4) } },
    {
      data: { values: points(named) }, mark: { ...line, strokeWidth: 2 },
      encoding: {
        ...shared, opacity: unlessLifted(), color: { field: "series", type: "nominal", scale: scale((style) => colour(style.name)), legend: key },
        strokeDash: { field: "series", type: "nominal", scale: scale((style) => style.dash), legend: key },
      },
    },
    { data: { values: points(curves, ink) }, transform: [{ filter: "datum.series === lifted" }], mark: { ...line, strokeWidth: 3.5 }, encoding: { ...shared, stroke: { field: "ink", type: "nominal", scale: null } } },
  ];
}
