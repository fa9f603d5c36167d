"use strict";
// Axes of plots: when they are logarithmic, where their ticks stand and how those are printed.

// Largest over smallest value from which an axis is logarithmic: small ones would lie flat on a linear one.
const LOG_FROM = 30;
const MANY_DECADES = 2.5;

function isLogarithmic(values) {
  const least = Math.min(...values);
  return least > 0 && Math.max(...values) / least > LOG_FROM;
}

function decades(low, high) {
  const steps = Math.log10(high / low) > MANY_DECADES ? [1] : [1, 3];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const step of steps) ticks.push(step * 10 ** power);
  }
  return ticks.filter((value) => value >= low / 3.2 && value <= high * 3.2);
}

const tickLabels = (unit) => ({ labelExpr: `tickText(datum.value, '${unit ?? "number"}')` });

/// A scale and an axis for figures of one unit; a ratio need not start at 0.
function figureScale(values, unit, { zero = unit !== "ratio", title = null, count = 5 } = {}) {
  const symmetric = values.length && symlogScale(values, unit, title);
  if (symmetric) return symmetric;
  if (!values.length || !isLogarithmic(values)) {
    const flat = values.length && values.every((value) => value === 0);
    return { scale: flat ? { domain: [0, 1] } : { zero, nice: true }, axis: { title, tickCount: count, ...tickLabels(unit) } };
  }
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const ticks = decades(low, high);
  return {
    scale: { type: "log", domain: [Math.min(ticks[0], low), Math.max(ticks.at(-1), high)], nice: false },
    axis: { title, values: ticks, labelOverlap: "greedy", ...tickLabels(unit) },
  };
}

/// Zeroes beside peaks far above what is usual: linear up to the median, logarithmic beyond. Nothing where that is not so.
function symlogScale(values, unit, title) {
  const positive = values.filter((value) => value > 0).sort((one, other) => one - other);
  if (positive.length === values.length || !positive.length || Math.min(...values) < 0) return null;
  const [median, high] = [positive[Math.floor(positive.length / 2)], positive.at(-1)];
  if (high / median <= LOG_FROM) return null;
  const ticks = [0, ...decades(median, high).filter((value) => value >= median / 2 && value <= high)];
  return { scale: { type: "symlog", constant: median, domain: [0, high], nice: false }, axis: { title, values: ticks, labelOverlap: "greedy", ...tickLabels(unit) } };
}

// Names that together have more letters than fit beside one another under a plot are slanted.
const LETTERS_ABREAST = 36;

/// The horizontal axis along the values of an axis of the set: by their size where they are numbers, else one after another.
function acrossScale(axis) {
  const { numbers } = axis;
  if (!numbers) {
    const slanted = axis.labels.join(" ").length > LETTERS_ABREAST;
    const names = slanted ? { labelAngle: -35, labelLimit: 170, labelOverlap: false } : { labelAngle: 0, labelLimit: 90, labelOverlap: "greedy" };
    return { field: "x", type: "ordinal", sort: axis.labels, title: axis.title, axis: { ...names, grid: false } };
  }
  const labels = `${JSON.stringify(axis.labels)}[indexof(${JSON.stringify(numbers)}, datum.value)]`;
  const log = numbers[0] > 0 && numbers.at(-1) / numbers[0] >= 4;
  return {
    field: "x", type: "quantitative", title: axis.title,
    scale: { ...(log ? { type: "log", base: 2 } : { zero: false }), domain: [numbers[0], numbers.at(-1)], nice: false, padding: 10 },
    axis: { values: numbers, labelExpr: labels, grid: false, labelOverlap: "greedy" },
  };
}
