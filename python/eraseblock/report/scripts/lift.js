"use strict";
// What the reader points at: its series stands out in every plot, the others fade, and its run is marked. A double click on a
// series, in a plot or in the legend, leaves it alone; another brings the others back.

// A second click may come so late.
const DOUBLE_MS = 500;
// So near the pointer has to be, in pixels; a coloured series wins over a grey one that is a little nearer.
const NEAR = 26;
const GREY_HANDICAP = 5;
const NOTHING_LIFTED = { series: null, run: undefined };
let lifted = NOTHING_LIFTED;

/// Marks a series, and one of its runs, wherever they are shown; `from` shows it by itself.
function lift({ series = null, run = undefined } = NOTHING_LIFTED) {
  if (series === lifted.series && run === lifted.run) return;
  lifted = { series, run };
  for (const row of document.querySelectorAll("#table tr.lit")) row.classList.remove("lit");
  if (run !== undefined) document.querySelector(`#table tr[data-run="${run}"]`)?.classList.add("lit");
  for (const button of document.querySelectorAll(".legend [data-value]")) {
    button.classList.toggle("lifted", button.dataset.value === series);
    button.classList.toggle("faded", series !== null && button.dataset.value !== series);
  }
  for (const plot of plots.values()) if (plot.near) showLifted(plot);
}

function showLifted(plot) {
  if (!plot.view || !plot.liftable) return;
  plot.view.signal("lifted", lifted.series ?? "").signal("lit", lifted.run ?? -1).runAsync();
  for (const label of plot.element.querySelectorAll(".end")) label.classList.toggle("faded", lifted.series !== null && label.dataset.series !== lifted.series);
}

/// A run of the table, or of a bar: with the series it belongs to.
const liftRun = (run) => lift(run === undefined ? NOTHING_LIFTED : { run, series: labelOf(run, colourAxis()) });

/// Watches the pointer over a plot: of its curves, if it has any, the nearest one is lifted, and told.
function watchCurves(plot) {
  const point = (event) => {
    if (!plot.curves) return;
    const found = nearestCurve(plot, event);
    lift(found ?? NOTHING_LIFTED);
    plot.element.classList.toggle("aimed", found !== null);
    if (found) showTip(event, found.tip, { title: found.series, value: found.value, style: found.style });
    else hideTip();
  };
  plot.element.addEventListener("pointermove", point);
  plot.element.addEventListener("pointerdown", point);
  plot.element.addEventListener("pointerleave", (event) => {
    // A finger that is lifted still means what it touched.
    if (!plot.curves || event.pointerType === "touch") return;
    lift();
    hideTip();
  });
}

/// The curve nearest to the pointer, and the point of it that is next to the pointer; null where none is near.
function nearestCurve(plot, event) {
  const picture = plot.element.querySelector("svg");
  if (!plot.view || !plot.curves || !picture) return null;
  const box = picture.getBoundingClientRect();
  const [left, top] = originOf(plot);
  const pointer = [event.clientX - box.left - left, event.clientY - box.top - top];
  const [x, y] = [plot.view.scale("x"), plot.view.scale("y")];
  let best = null;
  for (const curve of plot.curves) {
    const corners = cornersOf(curve, x, y);
    const away = Math.min(...corners.map((corner, place) => distance(pointer, corners[Math.max(0, place - 1)], corner)));
    const counted = away + (curve.style.kind === "rest" ? GREY_HANDICAP : 0);
    if (away <= NEAR && (!best || counted < best.counted)) best = { counted, curve };
  }
  if (!best) return null;
  const { curve } = best;
  const point = curve.steps ? curve.points.findLast((one) => x(one.x) <= pointer[0]) ?? curve.points[0] : curve.points.reduce((one, other) => (Math.abs(x(other.x) - pointer[0]) < Math.abs(x(one.x) - pointer[0]) ? other : one));
  return { series: curve.series, style: curve.style, run: point.run, tip: point.tip, value: point.value };
}

/// Where the inside of a plot begins, from the corner of its picture.
function originOf(plot) {
  const { left, top } = plot.view.padding();
  const [x, y] = plot.view.origin();
  return [x + left, y + top];
}

/// The corners of a curve in pixels; one in steps goes level, then up or down.
function cornersOf(curve, x, y) {
  const corners = [];
  for (const point of curve.points) {
    if (curve.steps && corners.length) corners.push([x(point.x), corners.at(-1)[1]]);
    corners.push([x(point.x), y(point.y)]);
  }
  return corners;
}

/// From a point to a line between two others.
function distance([px, py], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const along = length ? Math.max(0, Math.min(1, ((px - ax) * dx + (py - ay) * dy) / length)) : 0;
  return Math.hypot(px - ax - along * dx, py - ay - along * dy);
}

let clicked = null;

/// Whether this click is the second of two on the same thing; the browser counts, as it knows the reader's own pace.
function isDouble(what, event) {
  const double = clicked === what && event.detail > 0 && event.detail % 2 === 0;
  clicked = double ? null : what;
  return double;
}

/// Leaves one value of the axis that gives the colours, or brings back what was shown before.
function isolate(place) {
  const axis = colourAxis();
  const hidden = state.hidden.get(axis.id);
  const alone = !hidden.has(place) && hidden.size === axis.labels.length - 1;
  if (!alone) state.before = new Set(hidden);
  state.hidden.set(axis.id, alone ? (state.before ?? new Set()) : new Set([...axis.labels.keys()].filter((other) => other !== place)));
  if (alone) state.before = null;
  lift();
  hideTip();
  changed({ controls: false });
}

/// A click on a run in a plot opens its page, unless a second one follows, which isolates its series.
let opening;
function clickOnRun(run, event, opens) {
  clearTimeout(opening);
  if (plotsOfSeries() && isDouble(`run ${labelOf(run, colourAxis())}`, event)) isolate(colourAxis().of[run]);
  else if (opens) opening = setTimeout(() => { location.hash = runAddress(run); }, plotsOfSeries() ? DOUBLE_MS : 0);
}

/// Whether plots show series of the axis that gives the colours, as those of the overview do.
const plotsOfSeries = () => !document.getElementById("overview").hidden;
