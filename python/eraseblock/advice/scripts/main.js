"use strict";
// Draws the pictures as wide as there is room, in the reader's colours; puts buttons to the commands.

const charts = JSON.parse(document.getElementById("data").textContent);
const SERIES = 8;
// With less room than this, names stand above what they name.
const NARROW = 480;

/// What the pictures share, in the present colours.
function chartTheme(width) {
  const series = Array.from({ length: SERIES }, (_, place) => colour(`--s${place}`));
  const theme = plotTheme();
  return {
    ...theme,
    range: { category: series },
    mark: { color: series[0] },
    rule: { color: colour("--soft") },
    axis: { ...theme.axis, labelLimit: Math.max(120, width / 4), labelOverlap: true, tickCount: width < NARROW ? 4 : 6 },
    legend: { ...theme.legend, orient: "top", columns: Math.max(2, Math.floor(width / 110)) },
  };
}

async function drawChart(box) {
  const width = box.parentElement.clientWidth - 30;
  const spec = { ...charts[Number(box.dataset.chart)], width, autosize: { type: "fit-x", contains: "padding" } };
  const options = { renderer: "svg", actions: false, config: chartTheme(width) };
  box.drawn?.finalize();
  box.drawn = await window.vegaEmbed(box, spec, options);
}

async function drawAll() {
  await Promise.all([...document.querySelectorAll("[data-chart]")].map(drawChart));
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
}

for (const box of document.querySelectorAll("[data-command]")) box.replaceWith(copyBox(box.textContent));
document.getElementById("theme").append(switcher("Colours", THEMES, storedTheme(), (theme) => {
  setTheme(theme);
  drawAll();
}));
systemDark.addEventListener("change", drawAll);
let known = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== known) drawAll();
  known = innerWidth;
});
drawAll();
