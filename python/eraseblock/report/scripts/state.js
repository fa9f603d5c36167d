"use strict";
// What the overview shows: which axis runs across the plots, which gives colours, which values are left out, and so on.
// All of it stands in the address, so that a link shows the same.

const MAIN = "main";
const state = { across: null, colour: null, figure: MAIN, at: null, trusted: false, hidden: new Map(), sort: null, picked: new Set(), columns: new Set(), scales: new Map(), before: null };
const MOST_PICKED = 8;
// More panels than this are compared by one figure at a time.
const FEW_PANELS = 3;

function startState() {
  const vary = (id) => data.axisById.get(id)?.labels.length > 1;
  const others = data.varying.map((axis) => axis.id);
  // Numbers lie across, where their distances show; names have colours.
  const names = data.varying.filter((axis) => !axis.numbers && axis.id !== "trace").map((axis) => axis.id);
  const spare = others.length > 1 ? others.find((id) => id !== "size") : others.find((id) => !data.axisById.get(id).numbers);
  state.colour = vary("scheme") && !data.axisById.get("scheme").implied ? "scheme" : names[0] ?? spare ?? "scheme";
  const numeric = data.varying.find((axis) => axis.numbers && axis.id !== state.colour);
  state.across = data.varying.some((axis) => axis.id === "size") && state.colour !== "size" ? "size" : numeric?.id ?? others.find((id) => id !== state.colour && id !== "trace") ?? "";
  state.at = defaultAt();
  state.trusted = false;
  state.hidden = new Map(data.axes.map((axis) => [axis.id, new Set()]));
  state.sort = null;
  state.scales = new Map();
  state.before = null;
  state.columns = new Set(data.figures.filter((figure) => figure.table).map((figure) => figure.path));
  state.figure = panelsOf(data.runs).length > FEW_PANELS ? mainFigures()[0]?.path ?? MAIN : MAIN;
}

const acrossAxis = () => data.axisById.get(state.across);
const colourAxis = () => data.axisById.get(state.colour);
/// The figure that counts first.
const mainFigures = () => data.figures.filter((figure) => figure.plot).sort((one, other) => (other.path === data.counts) - (one.path === data.counts));
const shownValues = (figure) => shownRuns().map((run) => figureOf(run, figure.path)).filter((value) => value !== null);
/// How the axis of a figure is drawn: as the reader chose, else as its values need. Bars have a length that means something, and
/// start linear.
const scaleOf = (figure) => state.scales.get(figure.path) ?? (curvesAcross(shownRuns()) ? defaultScale(shownValues(figure), figure.unit) : "linear");
const defaultAt = () => (acrossAxis() ? acrossAxis().labels.length - 1 : null);

/// Runs that no filter leaves out, in the order of the results.
function shownRuns() {
  return data.runs.filter((run) => (!state.trusted || isTrusted(run))
    && data.varying.every((axis) => !state.hidden.get(axis.id).has(axis.of[run])));
}

/// Axes that are neither across nor colour: each combination of their values is a panel.
const panelAxes = () => data.varying.filter((axis) => axis.id !== state.across && axis.id !== state.colour);

function panelsOf(runs) {
  const axes = panelAxes();
  const groups = new Map();
  for (const run of runs) {
    const key = axes.map((axis) => axis.of[run]).join(",");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(run);
  }
  return [...groups].map(([key, members]) => ({ key: key.replaceAll(",", "-") || "0", name: panelName(members[0], axes), runs: members }));
}

function panelName(run, axes) {
  if (axes.length) return runName(run, axes);
  // Without such axes what all of its runs share; of traces and FTLs that lie across or have colours there are several.
  const shared = ["trace", "ftl"].map((id) => data.axisById.get(id)).filter((axis) => axis.labels.length === 1 || ![state.across, state.colour].includes(axis.id) && !axis.implied);
  return shared.map((axis) => labelOf(run, axis)).join(" · ") || data.name;
}

/// Choices that differ from those of the start, as an address.
function stateAddress() {
  const words = new URLSearchParams();
  const now = { across: state.across, colour: state.colour, figure: state.figure };
  for (const [key, value] of Object.entries(now)) if (value !== startingPoint[key]) words.set(key, value);
  if (state.trusted) words.set("trusted", "only");
  if (acrossAxis() && state.at !== defaultAt()) words.set("at", acrossAxis().labels[state.at]);
  for (const axis of data.varying) {
    const hidden = state.hidden.get(axis.id);
    if (hidden.size) for (const [place, label] of axis.labels.entries()) if (!hidden.has(place)) words.append(`only:${axis.id}`, label);
    if (hidden.size === axis.labels.length) words.set(`only:${axis.id}`, "");
  }
  for (const [path, scale] of state.scales) words.append(scale, path);
  if (state.sort) words.set("sort", `${state.sort.down ? "-" : ""}${state.sort.key}`);
  return words.toString();
}

let startingPoint = {};
// The address that the overview is drawn for.
let overviewDrawnFor = null;

/// Takes the choices of an address; what it names but the set has not is left as it is.
function readState(words) {
  startState();
  startingPoint = { across: state.across, colour: state.colour, figure: state.figure };
  if (words.has("across") && (data.axisById.has(words.get("across")) || words.get("across") === "")) state.across = words.get("across");
  if (data.axisById.has(words.get("colour"))) state.colour = words.get("colour");
  if (figureChoices().some((option) => option.value === words.get("figure"))) state.figure = words.get("figure");
  state.trusted = words.get("trusted") === "only";
  const place = acrossAxis()?.labels.indexOf(words.get("at")) ?? -1;
  state.at = place >= 0 ? place : defaultAt();
  for (const axis of data.varying) {
    if (!words.has(`only:${axis.id}`)) continue;
    const only = words.getAll(`only:${axis.id}`);
    state.hidden.set(axis.id, new Set([...axis.labels.keys()].filter((index) => !only.includes(axis.labels[index]))));
  }
  for (const scale of SCALES.keys()) for (const path of words.getAll(scale)) if (data.figureByPath.has(path)) state.scales.set(path, scale);
  if (words.has("sort")) state.sort = { key: words.get("sort").replace(/^-/, ""), down: words.get("sort").startsWith("-") };
}

/// The address follows a choice without a step in the history.
function noteAddress() {
  const address = stateAddress();
  history.replaceState(null, "", address ? `#${address}` : location.pathname + location.search);
  overviewDrawnFor = address;
}

/// The overview again after a choice.
function changed({ controls = true } = {}) {
  noteAddress();
  drawOverview({ controls });
}
