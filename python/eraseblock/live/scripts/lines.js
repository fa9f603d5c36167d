"use strict";
// Cards with lines over the last minutes, drawn anew with each answer.

const HEIGHT = 150, LEFT = 52, BOTTOM = 18, TOP = 6;
const CHARTS = [
  { id: "response", title: "Response times", note: "of requests answered in a second, on the drive's clock", unit: "time", log: true, lines: [
    ["reads, half", "--s2", (step) => quantile(step.read, 0.5)], ["reads, 99 %", "--s0", (step) => quantile(step.read, 0.99)],
    ["writes, half", "--s5", (step) => quantile(step.write, 0.5)], ["writes, 99 %", "--s1", (step) => quantile(step.write, 0.99)]] },
  { id: "requests", title: "Requests", note: "answered a second", unit: "number", lines: [["requests", "--s0", (step) => step.requests]] },
  { id: "hits", title: "Hit ratio", note: "pages of requests that were in the buffer", unit: "share", most: 1, lines: [["hits", "--s0", (step) => step.hits]] },
  { id: "waf", title: "Write amplification", note: "pages programmed for each page that clients wrote", unit: "number", lines: [["write amplification", "--s0", (step) => step.waf]] },
  { id: "collection", title: "Collection", note: "a second: pages that collection, merges and wear levelling moved, pages padded, blocks erased", unit: "number", lines: [
    ["pages moved", "--s1", (step) => step.moved], ["padded", "--s5", (step) => step.padded], ["blocks erased", "--s0", (step) => step.erases]] },
  { id: "fill", title: "Buffer and free blocks", note: "the buffer's fill, and erased blocks of all", unit: "share", most: 1, lines: [
    ["buffer", "--s1", (_, now) => (now.buffer.capacity ? now.buffer.pages / now.buffer.capacity : null)],
    ["free blocks", "--s4", (_, now) => now.blocks.free / now.blocks.count]] },
];

function buildCharts() {
  for (const chart of CHARTS) {
    chart.key = h("div", { class: "row key" });
    chart.picture = svg("svg", { id: `chart-${chart.id}`, role: "img", "aria-label": chart.title });
    document.getElementById("charts").append(h("figure", {}, h("figcaption", {}, h("b", {}, chart.title), h("span", { class: "hint" }, chart.note), chart.key), chart.picture));
  }
}

function drawCharts() {
  CHARTS.forEach(drawChart);
}

function drawChart(chart) {
  const width = chart.picture.clientWidth || 300;
  const known = samples.filter((sample) => sample.step);
  const last = known[known.length - 1];
  const lines = chart.lines.map(([name, paint, value]) => ({ name, paint, points: known.map((sample) => [sample.at, value(sample.step, sample.standing)]) }));
  chart.key.replaceChildren(...lines.map(({ name, paint, points }) => h("span", {}, h("i", { class: "line", style: `border-color: var(${paint})` }), name, " ",
    h("b", {}, last ? show(points[points.length - 1][1], chart.unit) : ""))));
  const values = lines.flatMap((line) => line.points.map((point) => point[1])).filter((value) => value !== null);
  if (!values.length) {
    chart.picture.replaceChildren(svg("text", { x: LEFT, y: HEIGHT / 2 }, known.length ? "no such requests yet" : "the first figures come with the next answer"));
    return;
  }
  const ticks = chart.log ? decades(values) : steps(chart.most ?? Math.max(...values));
  // No logarithm has a 0: it stands a step below the least of the others.
  const scaled = (value) => (chart.log ? Math.log10(Math.max(value, ticks[0] || ticks[1] / 10)) : value);
  const [low, high] = [scaled(ticks[0]), scaled(ticks[ticks.length - 1])];
  const end = samples[samples.length - 1].at;
  const begin = Math.min(end - 60_000, samples[0].at);
  const x = (at) => LEFT + (width - LEFT - 4) * (at - begin) / (end - begin);
  const y = (value) => HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (scaled(value) - low) / (high - low);
  chart.picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  chart.picture.replaceChildren(
    ...ticks.map((value) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - 4, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, tick(value, chart.unit)),
    ]).flat(),
    svg("text", { x: LEFT, y: HEIGHT - 2 }, `${Math.round((end - begin) / 1000)} s ago`),
    svg("text", { x: width - 4, y: HEIGHT - 2, "text-anchor": "end" }, "now"),
    ...lines.map(({ name, paint, points }) => svg("path", { "data-line": name, stroke: `var(${paint})`, d: pathOf(points, x, y) })),
  );
}

/// A line with a gap where nothing is known; a single point is as wide as its second.
function pathOf(points, x, y) {
  let path = "", on = false;
  for (const [at, value] of points) {
    if (value !== null) {
      const place = `${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      path += on ? `L${place}` : `M${x(at - 500).toFixed(1)} ${y(value).toFixed(1)}L${place}`;
    }
    on = value !== null;
  }
  return path;
}

/// Ticks from 0 to at least `most`, at round numbers.
function steps(most) {
  if (most <= 0) return [0, 1];
  const size = 10 ** Math.floor(Math.log10(most / 2));
  const step = [1, 2, 5, 10].map((factor) => factor * size).find((one) => most / one <= 4) ?? most;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, place) => place * step);
}

/// Powers of ten around all values, below them 0 where some are.
function decades(values) {
  const known = values.filter((value) => value > 0);
  const [least, most] = known.length ? [Math.min(...known), Math.max(...known)] : [1000, 1000];
  const low = Math.floor(Math.log10(least)), high = Math.max(low + 1, Math.ceil(Math.log10(most) + 1e-9));
  const powers = Array.from({ length: high - low + 1 }, (_, place) => 10 ** (low + place));
  return known.length < values.length ? [0, ...powers] : powers;
}
