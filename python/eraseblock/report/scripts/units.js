"use strict";
// Figures as people read them: times, sizes, shares and counts with a scaled unit.

const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const COUNTS = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
const NOTHING = "-";

function digits(number) {
  if (Number.isInteger(number) && Math.abs(number) < 10000) return String(number);
  const size = Math.abs(number);
  const decimals = size < 0.01 && size > 0 ? 4 : size < 10 ? 2 : size < 100 ? 1 : 0;
  return number.toLocaleString("en", { minimumFractionDigits: decimals > 3 ? 0 : decimals, maximumFractionDigits: decimals });
}

function scaled(number, scales) {
  const [scale, unit] = scales.find(([from]) => Math.abs(number) >= from) ?? scales[scales.length - 1];
  return `${digits(number / scale)} ${unit}`;
}

const PRINTERS = {
  time: (number) => (number === 0 ? "0" : scaled(number, TIMES)),
  seconds: (number) => (number === 0 ? "0" : scaled(number * 1e9, TIMES)),
  size: (number) => scaled(number, SIZES),
  share: (number) => `${(100 * number).toFixed(1)} %`,
  count: (number) => (Math.abs(number) >= 1e5 ? scaled(number, COUNTS) : Number.isInteger(number) ? number.toLocaleString("en") : digits(number)),
  ratio: (number) => (number !== 0 && Math.abs(number) < 0.1 ? digits(number) : number.toFixed(2)),
  pages: (number) => number.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
  number: (number) => (Math.abs(number) < 1e5 ? digits(number) : scaled(number, COUNTS)),
};

/// A figure in a table or tooltip.
function show(number, unit) {
  return number === null || number === undefined ? NOTHING : PRINTERS[unit ?? "number"](number);
}

/// A tick of an axis: as short as it can be.
function tick(number, unit) {
  if (number === 0) return "0";
  if (unit === "share") return `${Number((100 * number).toPrecision(6))} %`;
  const scales = { time: TIMES, size: SIZES }[unit] ?? (unit === "seconds" ? TIMES : COUNTS);
  const value = unit === "seconds" ? number * 1e9 : number;
  const [scale, name] = scales.find(([from]) => Math.abs(value) >= from) ?? (scales === COUNTS ? [1, ""] : scales[scales.length - 1]);
  const short = String(Number((value / scale).toPrecision(4)));
  return scales === COUNTS ? short + name : `${short} ${name}`;
}
