"use strict";
// Light or dark: as the system says unless the reader chose; and the page's colours for plots and series.

const THEMES = [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]];
const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"];
// Of the best possible, in the colour of notes; no series has dots.
const DOTS = [1, 4];
const SERIES_COLOURS = 8;
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

function storedTheme() {
  try {
    return localStorage.getItem("eraseblock-theme") ?? "auto";
  } catch {
    return "auto"; // Storage may be forbidden for files.
  }
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("eraseblock-theme", theme);
  } catch {
    // The choice then holds until the page is left.
  }
}

/// A custom property as a colour that plots understand.
function colour(name) {
  const probe = document.getElementById("probe");
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/// Of one of several that have a colour each.
const seriesStyle = (place) => ({ name: `--s${place % SERIES_COLOURS}`, shape: SHAPES[place % SHAPES.length], dash: [1, 0] });

const SHAPE_PATHS = {
  circle: "M6 1a5 5 0 1 0 .01 0z", square: "M1.5 1.5h9v9h-9z", "triangle-up": "M6 1l5.2 9.4H.8z", diamond: "M6 .3l5 5.7-5 5.7-5-5.7z",
  cross: "M4.2 1h3.6v3.2H11v3.6H7.8V11H4.2V7.8H1V4.2h3.2z", "triangle-down": "M6 11L.8 1.6h10.4z", "triangle-right": "M11 6L1.6 11.2V.8z",
  "triangle-left": "M1 6L10.4.8v10.4z",
};

/// The mark of a series as it is drawn in plots.
function swatch(style) {
  return svg("svg", { class: "swatch", viewBox: "0 0 12 12", "aria-hidden": "true" },
    svg("path", { d: SHAPE_PATHS[style.shape], fill: `var(${style.name})` }));
}

/// The same on a piece of its line, for a legend of curves.
function lineSwatch(style) {
  const paint = `var(${style.name})`;
  return svg("svg", { class: "swatch line", viewBox: "0 0 24 12", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 24, y1: 6, y2: 6, stroke: paint, "stroke-width": style.name === "--rest" ? 1.5 : 2, "stroke-dasharray": style.dash[1] ? style.dash.join(" ") : null }),
    style.shape && style.kind !== "rest" ? svg("path", { d: SHAPE_PATHS[style.shape], fill: paint, transform: "translate(7 1) scale(.83)" }) : null);
}

/// What all plots share, in the present colours.
function plotTheme(background = "transparent") {
  const [soft, grid, rule, ink] = ["--soft", "--grid", "--rule", "--ink"].map(colour);
  return {
    background,
    font: getComputedStyle(document.body).fontFamily,
    range: { heatmap: [colour("--m0"), colour("--m1"), colour("--m2")] },
    view: { stroke: null },
    title: { color: ink, subtitleColor: soft, fontSize: 14, subtitleFontSize: 11, anchor: "start", fontWeight: 600, offset: 12 },
    axis: {
      labelColor: soft, titleColor: soft, titleFontWeight: 400, labelFontSize: 11, titleFontSize: 11,
      gridColor: grid, domainColor: rule, tickColor: rule, labelPadding: 5, labelSeparation: 6,
    },
    axisY: { domain: false, ticks: false },
    legend: { labelColor: soft, titleColor: soft, labelFontSize: 11, titleFontSize: 11, titleFontWeight: 400, symbolSize: 80, labelLimit: 220 },
  };
}
