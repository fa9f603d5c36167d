"use strict";
// Names at the ends of curves, where a plot is wide enough for them: no eye has to travel to the legend.

const ENDS_FROM = 560;
const ENDS_WIDTH = 128;
const LINE = 14;

// Plots follow the width of the window by themselves; whether names have room is another matter.
let resizing;
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => redraw((plot) => plot.curves), 150);
});

/// The room around curves: on the right for names, if there is enough, and above for the figures of what is pointed at.
function roomForEnds(built, width) {
  const named = built.curves?.filter((curve) => curve.style.kind !== "rest") ?? [];
  const names = built.ends && width >= ENDS_FROM && named.length > 1 && named.length * LINE <= built.spec.height;
  return { left: 5, top: built.ends ? 16 : 5, bottom: 5, right: names ? ENDS_WIDTH : 5 };
}

/// Names beside the last points, moved apart where they would lie upon one another.
function drawEnds(plot, built) {
  if (built.spec.padding.right !== ENDS_WIDTH) return;
  const [box, own] = [plot.element.querySelector("svg").getBoundingClientRect(), plot.element.getBoundingClientRect()];
  const [left, top] = [originOf(plot)[0] + box.left - own.left, originOf(plot)[1] + box.top - own.top];
  const [x, y] = [plot.view.scale("x"), plot.view.scale("y")];
  const named = built.curves.filter((curve) => curve.style.kind !== "rest")
    .map((curve) => ({ curve, at: y(curve.points.at(-1).y) })).sort((one, other) => one.at - other.at);
  apart(named, y.range()[0]);
  plot.element.append(h("div", { class: "ends", "aria-hidden": "true" }, named.map(({ curve, at: height }) => h("span", {
    class: "end", "data-series": curve.series, style: `left: ${left + x.range()[1] + 12}px; top: ${top + height - LINE / 2}px`,
    onpointerenter: () => lift({ series: curve.series }), onpointerleave: () => lift(),
    onclick: (event) => { if (isDouble(`end ${curve.series}`, event)) isolate(colourAxis().labels.indexOf(curve.series)); },
  }, swatch(curve.style), shortName(curve.series)))));
}

function apart(items, bottom) {
  for (const [place, item] of items.entries()) if (place) item.at = Math.max(item.at, items[place - 1].at + LINE);
  let limit = bottom;
  for (const item of items.toReversed()) {
    item.at = Math.min(item.at, limit);
    limit = item.at - LINE;
  }
}
