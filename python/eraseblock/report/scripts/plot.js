"use strict";
// Cards with a plot: drawn when they come near the window, drawn anew when colours or choices change, and saved as files.

// By the id of their element; `near`: to the window; `queued`: waits to be drawn.
const plots = new Map();
const PICTURE = { width: 640, height: 360 };
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const plot = plots.get(entry.target.id);
    if (!plot) continue;
    plot.near = entry.isIntersecting;
    if (plot.near && !plot.drawn) drawSoon(plot);
  }
}, { rootMargin: "300px" });

/// A figure with a caption, controls and a menu. `build({ picture })` gives `{ spec, columns, rows }`, or `{ empty: sentence }`.
function plotCard({ id, title, note = "", build, controls = [], runs = null, key = null, wide = false, big = false, figure = null, finding = null, height = 255 }) {
  // Its height before it is drawn, so that little moves then.
  const element = h("div", { class: "plot", id, style: `min-height: ${height}px` });
  const plot = { id, title, figure, build, element, view: null, near: false, drawn: false, queued: false };
  const items = [
    ["CSV", async () => {
      const { columns, rows } = await build({ picture: false });
      save(`${fileName(data.name, id)}.csv`, csv(columns ?? [], rows ?? []), "text/csv");
    }],
    ["SVG", async () => save(`${fileName(data.name, id)}.svg`, await pictureOf(plot), "image/svg+xml")],
    ["PNG", async () => save(`${fileName(data.name, id)}.png`, await pngOf(await pictureOf(plot)), "image/png")],
  ];
  if (runs) items.push(["Command", () => showCommand(`${title}: the command that makes it`, runs())]);
  const caption = h("figcaption", {}, h("b", {}, title), h("span", { class: "hint" }, note), finding, saveMenu(title, items));
  plot.card = h("figure", { class: wide ? "wide" : big ? "big" : null, "aria-label": title }, caption,
    key || controls.length ? h("div", { class: "controls" }, controls, key) : null, element);
  plot.note = caption.querySelector(".hint");
  plot.aside = caption.appendChild(h("span", { class: "hint aside" }));
  plots.set(id, plot);
  watchCurves(plot);
  watcher.observe(element);
  return plot.card;
}

/// Forgets the plots inside an element that is about to go.
function dropPlots(parent) {
  for (const [id, plot] of plots) {
    if (!parent.contains(plot.element)) continue;
    watcher.unobserve(plot.element);
    plot.view?.finalize();
    plots.delete(id);
  }
}

/// Draws again what is near the window; the rest when it comes near.
function redraw(which = () => true) {
  for (const plot of plots.values()) {
    if (!which(plot)) continue;
    plot.drawn = false;
    if (plot.near) drawSoon(plot);
  }
}

let queue = Promise.resolve();

/// One after the other, so that the page answers between them; what is built is what holds when the turn comes.
function drawSoon(plot) {
  if (plot.queued) return;
  plot.queued = true;
  queue = queue.then(async () => {
    plot.queued = false;
    if (plots.get(plot.id) === plot) await drawNow(plot);
  });
}

async function drawNow(plot) {
  plot.drawn = true;
  const built = await plot.build({ picture: false });
  plot.view?.finalize();
  plot.view = null;
  plot.curves = built.curves ?? null;
  plot.aside.textContent = built.aside ?? "";
  plot.liftable = built.spec?.params === LIFTED;
  if (built.empty) {
    plot.element.replaceChildren(h("p", { class: "empty" }, built.empty));
  } else {
    built.spec.padding = roomForEnds(built, plot.element.clientWidth);
    const spec = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", ...built.spec, width: "container", description: plot.title };
    const drawn = await vegaEmbed(plot.element, spec, plotOptions());
    plot.view = drawn.view;
    plot.view.addEventListener("click", (event, item) => {
      const run = built.curves ? nearestCurve(plot, event)?.run : runOf(item);
      // A finger points by touching; only a mouse's click means to go there.
      if (run !== undefined) clickOnRun(run, event, event.pointerType !== "touch" && built.opens !== false);
    });
    if (!built.curves && plotsOfSeries()) {
      plot.view.addEventListener("pointermove", (_, item) => liftRun(runOf(item)));
      plot.view.addEventListener("pointerout", () => lift());
    }
    // Now its picture holds the place.
    plot.element.style.minHeight = "";
    drawEnds(plot, built);
    showLifted(plot);
  }
}

/// `tickText(value, unit)` is what specifications print ticks with.
const plotOptions = (background) => ({ renderer: "svg", actions: false, tooltip: plotTip, config: plotTheme(background), expressionFunctions: { tickText: tick } });

function runOf(item) {
  return (item?.datum?.datum ?? item?.datum)?.run;
}

/// The plot as an SVG text on a ground of its own, with title and legend.
async function pictureOf(plot) {
  const built = await plot.build({ picture: true });
  const place = h("div", { class: "offstage", style: `width: ${PICTURE.width}px` });
  document.body.append(place);
  try {
    const subtitle = [plot.note.textContent, built.aside, built.about].filter(Boolean).join(" · ");
    const spec = { ...(built.spec ?? { data: { values: [] }, mark: "point" }), width: PICTURE.width, height: built.spec?.height ?? PICTURE.height,
      padding: 20, title: { text: plot.title, subtitle: subtitle || undefined } };
    const drawn = await vegaEmbed(place, spec, plotOptions(colour("--card")));
    const text = await drawn.view.toSVG();
    drawn.view.finalize();
    return text;
  } finally {
    place.remove();
  }
}

// So many plots are drawn without being looked at, for a print and a quick scroll.
const DRAWN_AHEAD = 60;

/// Draws what is far from the window, one after the other, while nothing else is to be done.
async function drawAhead() {
  const waiting = [...plots.values()].find((plot) => !plot.drawn && !plot.queued);
  const drawn = [...plots.values()].filter((plot) => plot.drawn).length;
  if (!waiting || drawn >= DRAWN_AHEAD) return;
  drawSoon(waiting);
  await settled();
  whenIdle(drawAhead);
}

// Safari has no idle callbacks.
const whenIdle = (what) => (window.requestIdleCallback ?? setTimeout)(what);

/// Settles when everything near the window is drawn.
async function settled() {
  let before;
  do {
    before = queue;
    await before;
  } while (before !== queue);
}
