"use strict";
// The runs: unpacks what the page carries and answers what a run's figures, axes and settings are. A run is its number.

let data = null;
let packedDetails = [];
const unpackedDetails = new Map();

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

async function loadData() {
  data = await unpack(document.getElementById("data").textContent.trim());
  const text = document.getElementById("details").textContent.trim();
  packedDetails = text ? text.split("\n") : [];
  data.runs = Array.from({ length: data.count }, (_, run) => run);
  data.axisById = new Map(data.axes.map((axis) => [axis.id, axis]));
  data.varying = data.axes.filter((axis) => axis.labels.length > 1 && !axis.implied);
  data.figureByPath = new Map(data.figures.map((figure) => [figure.path, figure]));
  data.runByKey = new Map(data.keys.map((key, run) => [key, run]));
}

/// Histograms, series, wear map and write lengths of a run; empty where the page has none.
function detailOf(run) {
  if (!unpackedDetails.has(run)) {
    unpackedDetails.set(run, packedDetails[run] ? unpack(packedDetails[run]) : Promise.resolve({}));
  }
  return unpackedDetails.get(run);
}

const at = (column, run) => (Array.isArray(column) ? column[run] : column.all);
const figureOf = (run, path) => at(data.figureByPath.get(path)?.of ?? { all: null }, run) ?? null;
const labelOf = (run, axis) => axis.labels[axis.of[run]];
const isTrusted = (run) => at(data.notes.trusted, run) === 1;
/// A run that knew the future shows what others could reach, and is never the best of them.
const competes = (run) => isTrusted(run) && at(data.notes.offline, run) !== 1;
const LIFETIME = "end_of_life.host_bytes";
/// Of these runs those that may be the best by a figure. What wore out before its rivals had served as much did less than
/// they: it wins nothing but by how long it lived, and nobody wins that where one outlives the run, and has no figure.
function ableToWin(runs, figure) {
  const some = runs.filter(competes);
  if (figure.path !== LIFETIME) return some.filter((run) => at(data.notes.cut, run) !== 1);
  return some.every((run) => figureOf(run, LIFETIME) !== null) ? some : [];
}
const sentencesOf = (run, kind) => at(data.notes[kind], run).map((place) => data.notes.sentences[place]);

/// The setting of a run as text; null where it has no such key.
function settingOf(column, run) {
  const place = at(column.of, run);
  return place === null ? null : column.values[place];
}

// Axes whose values speak for themselves; others are settings, which need their key beside them.
const PLAIN_AXES = ["drive", "trace", "ftl", "scheme", "size", "results"];

/// What tells a run from the others: `lru · 4 MiB`; of a single run its scheme and buffer.
function runName(run, axes = data.varying) {
  const telling = axes.length ? axes : [data.axisById.get("scheme"), data.axisById.get("size")];
  return telling.map((axis) => (PLAIN_AXES.includes(axis.id) ? labelOf(run, axis) : `${axis.id} = ${labelOf(run, axis)}`)).join(" · ");
}

const runAddress = (...runs) => `#run=${runs.map((run) => encodeURIComponent(data.keys[run])).join(",")}`;
