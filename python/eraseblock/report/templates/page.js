"use strict";
// Draws the plots in the page's colours, and again when those change; connects legend and size choices to them.
const specs = JSON.parse(document.getElementById("specs").textContent);
const views = new Map();
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function theme() {
  const css = getComputedStyle(document.documentElement);
  const colour = (name) => css.getPropertyValue(name).trim();
  const series = (prefix) => {
    const found = [];
    for (let i = 0; colour(`--${prefix}${i}`); i += 1) found.push(colour(`--${prefix}${i}`));
    return found;
  };
  const font = getComputedStyle(document.body).fontFamily;
  return {
    background: "transparent",
    font,
    range: { category: series("s"), ordinal: series("c") },
    view: { stroke: null },
    axis: {
      labelColor: colour("--soft"), titleColor: colour("--soft"), titleFontWeight: 400, labelFontSize: 11, titleFontSize: 11,
      gridColor: colour("--grid"), domainColor: colour("--rule"), tickColor: colour("--rule"), labelPadding: 5,
    },
    axisY: { domain: false, ticks: false },
    legend: { labelColor: colour("--soft"), labelFontSize: 11, symbolType: "square", symbolSize: 90, columnPadding: 8 },
  };
}

function hidden() {
  return [...document.querySelectorAll('.legend [aria-pressed="false"]')].map((button) => button.dataset.scheme);
}

async function draw(id) {
  const element = document.getElementById(id);
  const before = views.get(id);
  if (before) before.finalize();
  const result = await window.plot(element, specs[id], { renderer: "svg", actions: false, config: theme() });
  views.set(id, result);
  result.view.signal("hidden", hidden()).signal("buffer", element.dataset.size);
  await result.view.runAsync();
}

async function drawAll() {
  await Promise.all(Object.keys(specs).map(draw));
  document.body.dataset.drawn = "yes";
}

for (const button of document.querySelectorAll(".legend button")) {
  button.addEventListener("click", () => {
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
    for (const { view } of views.values()) view.signal("hidden", hidden()).runAsync();
  });
}
for (const select of document.querySelectorAll("select[data-chart]")) {
  select.addEventListener("change", () => {
    const id = select.dataset.chart;
    document.getElementById(id).dataset.size = select.value;
    views.get(id).view.signal("buffer", select.value).runAsync();
  });
}
dark.addEventListener("change", drawAll);
drawAll();
