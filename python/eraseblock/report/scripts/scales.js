"use strict";
// Axes of plots: when they are logarithmic, where their ticks stand and how those are printed.

const SCALES = new Map([["linear", "Linear"], ["log", "Log"]]);
// Largest over smallest value from which an axis is logarithmic: small ones would lie flat on a linear one.
const LOG_FROM = 30;
// So is one on which half of the values would lie in this part at its foot.
const FOOT = 1 / 6;

const middle = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

/// The scale on which the values can be told apart, outliers or not.
function defaultScale(values, unit) {
  if (!canBeLog(values)) return "linear";
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const positive = values.filter((value) => value > 0);
  const from = unit === "ratio" ? least : 0;
  const wide = least > 0 ? most / least > LOG_FROM : most / middle(positive) > LOG_FROM;
  return wide || (middle(positive) - from) / (most - from) < FOOT ? "log" : "linear";
}

const canBeLog = (values) => values.length > 0 && Math.min(...values) >= 0 && Math.max(...values) > Math.min(...values);

/// Round numbers over a range, the fewer to a decade the wider it is.
function decades(low, high) {
  const span = Math.log10(high / low);
  const steps = span > 2.5 ? [1] : span > 1.2 ? [1, 3] : span > 0.5 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
  }
  return ticks.filter((value) => value >= low / 3.2 && value <= high * 3.2);
}

const tickLabels = (unit) => ({ labelExpr: `tickText(datum.value, '${unit ?? "number"}')` });

/// A scale and an axis for figures of one unit; a ratio need not start at 0.
function figureScale(values, unit, { zero = unit !== "ratio", title = null, count = 5, scale = defaultScale(values, unit) } = {}) {
  if (scale !== "log" || !canBeLog(values)) {
    return { scale: { domain: linearDomain(values, zero), nice: true, zero: false }, axis: { title, tickCount: count, ...tickLabels(unit) } };
  }
  const positive = values.filter((value) => value > 0);
  const [low, high] = [Math.min(...positive), Math.max(...positive)];
  if (positive.length < values.length) return fromZero(positive, high, unit, title);
  const room = (high / low) ** 0.04;
  const [below, above] = [low / room, high * room];
  return {
    scale: { type: "log", domain: [below, above], nice: false },
    axis: { title, values: decades(low, high).filter((value) => value >= below && value <= above), labelOverlap: "greedy", ...tickLabels(unit) },
  };
}

function linearDomain(values, zero) {
  const [least, most] = [Math.min(...values, zero ? 0 : Infinity), Math.max(...values, zero ? 0 : -Infinity)];
  if (!values.length || (least === 0 && most === 0)) return [0, 1];
  return least < most ? [least, most] : [Math.min(0, least), Math.max(0, most)];
}

/// Zeroes beside peaks: linear up to what is usual, logarithmic beyond.
function fromZero(positive, high, unit, title) {
  const usual = Math.min(middle(positive), high / 4);
  const ticks = [0, ...decades(usual, high).filter((value) => value >= usual / 2 && value <= high)];
  return { scale: { type: "symlog", constant: usual, domain: [0, high], nice: false }, axis: { title, values: ticks, labelOverlap: "greedy", ...tickLabels(unit) } };
}

// From so many times the smallest value on, the axis across is logarithmic.
const LOG_ACROSS = 4;

/// The horizontal axis along the numbers of an axis of the set: a true scale, with a tick at each of them.
function acrossScale(axis) {
  const { numbers } = axis;
  const labels = `${JSON.stringify(axis.labels)}[indexof(${JSON.stringify(numbers)}, datum.value)]`;
  const [first, last] = [numbers[0], numbers.at(-1)];
  const least = numbers.find((number) => number > 0);
  const type = first < 0 || !(last / least >= LOG_ACROSS) ? { zero: false } : first > 0 ? { type: "log", base: 2 } : { type: "symlog", constant: least };
  return {
    field: "x", type: "quantitative", title: axis.title, scale: { ...type, domain: [first, last], nice: false, padding: 10 },
    axis: { values: numbers, labelExpr: labels, grid: false, labelOverlap: "greedy" },
  };
}
