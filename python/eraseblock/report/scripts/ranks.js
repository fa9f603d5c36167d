"use strict";
// Which values of an axis have colours of their own: the best eight by the figure that counts, and what all are measured by.
// The rest is grey, so that dozens of series can be told apart where it matters.

const MOST_COLOURED = 8;
// What every scheme is measured by.
const BASELINES = new Map([["lru", { name: "--base", shape: "circle", dash: [1, 0] }], ["none", { name: "--neutral", shape: "circle", dash: [7, 4] }]]);
const OFFLINE = { name: "--base", shape: "square", dash: [9, 3, 2, 3] };
const RAMP_COLOURS = 8;

/// Places of the labels, best first: what leads somewhere comes before what is second everywhere; then the mean place counts.
function rankingOf(axis) {
  axis.ranking ??= rankedBy(axis, data.figureByPath.get(data.counts));
  return axis.ranking;
}

function rankedBy(axis, figure) {
  const places = axis.labels.map(() => []);
  const asked = data.runs.filter((run) => figure && figureOf(run, figure.path) !== null);
  const able = figure ? ableToWin(asked, figure) : [];
  const peers = able.length ? able : asked;
  const axes = data.varying.filter((other) => other !== axis);
  for (const members of grouped(peers, (run) => axes.map((other) => other.of[run]).join(",")).values()) {
    const sign = figure.good === "high" ? -1 : 1;
    members.sort((one, other) => sign * (figureOf(one, figure.path) - figureOf(other, figure.path)));
    for (const [place, run] of members.entries()) places[axis.of[run]].push(place);
  }
  const best = places.map((all) => (all.length ? Math.min(...all) : Infinity));
  const mean = places.map((all) => (all.length ? all.reduce((sum, place) => sum + place, 0) / all.length : Infinity));
  const order = (one, other) => (one === other ? 0 : one - other);
  return [...axis.labels.keys()].sort((one, other) => order(best[one], best[other]) || order(mean[one], mean[other]) || one - other);
}

/// The style of a baseline, null for what is none: no buffer, LRU, and what knew the future.
function baselineStyle(axis, place) {
  if (axis.id !== "scheme") return null;
  const known = BASELINES.get(axis.labels[place]);
  if (known) return known;
  return data.runs.some((run) => axis.of[run] === place && at(data.notes.offline, run) === 1) ? OFFLINE : null;
}

/// Colour, shape and dash of each value of an axis, the same wherever it is shown. `kind`: best, baseline or rest.
function stylesOf(axis) {
  const hidden = state.hidden.get(axis.id) ?? new Set();
  const key = [...hidden].join(",");
  if (axis.styled?.key !== key) axis.styled = { key, styles: axis.numbers && axis.labels.length > 1 ? rampOf(axis) : chosenStyles(axis, hidden) };
  return axis.styled.styles;
}

/// The best that are shown; who has a colour from the start keeps it, whatever is left out.
function chosenStyles(axis, hidden) {
  const rivals = rankingOf(axis).filter((place) => !baselineStyle(axis, place));
  const first = rivals.slice(0, MOST_COLOURED);
  const chosen = rivals.filter((place) => !hidden.has(place)).slice(0, MOST_COLOURED);
  const slots = new Map(first.filter((place) => chosen.includes(place)).map((place) => [place, first.indexOf(place)]));
  const free = first.keys().filter((slot) => ![...slots.values()].includes(slot));
  for (const place of chosen) if (!slots.has(place)) slots.set(place, free.next().value);
  return axis.labels.map((_, place) => {
    const baseline = baselineStyle(axis, place);
    if (baseline) return { kind: "baseline", ...baseline };
    if (slots.has(place)) return { kind: "best", ...seriesStyle(slots.get(place)) };
    return { kind: "rest", name: "--rest", shape: "circle", dash: [1, 0] };
  });
}

/// Numbers have an order, which the colours keep.
function rampOf(axis) {
  const last = axis.labels.length - 1;
  return axis.labels.map((_, place) => ({ kind: "best", name: `--r${Math.round((place / last) * (RAMP_COLOURS - 1))}`, shape: SHAPES[place % SHAPES.length], dash: [1, 0] }));
}

const styleOfRun = (run) => stylesOf(colourAxis())[colourAxis().of[run]];
/// Whether a run's series has a colour of its own.
const isColoured = (run) => styleOfRun(run).kind !== "rest";

// Of a long name's ending only a mark is shown, which the legend explains.
const RECONSTRUCTION = " (reconstruction)";
const MARK = "†";
const shortName = (label) => label.replace(RECONSTRUCTION, MARK);
