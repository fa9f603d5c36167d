"use strict";
// A figure as bars: one for each series, the best first; along an axis of names a group of them for each name.

const BAR = 22;
const THIN_BAR = 17;
const MOST_THICK = 26;
// More bars than this in a plot are too many: grey ones are left to the table.
const MOST_BARS = 60;

/// Names of series at bars, short as in the legend.
const shortNames = { labelLimit: 170, labelExpr: `replace(datum.label, '${RECONSTRUCTION}', '${MARK}')` };

/// How thick so many bars are.
const thickness = (count) => (count > 14 ? THIN_BAR : BAR);

function bars(values, figure, { picture }) {
  const names = acrossAxis() && !acrossAxis().numbers ? acrossAxis().labels.filter((label) => values.some((value) => value.band === label)) : [];
  const inGroups = names.length > 1;
  const few = values.length > MOST_BARS && values.some((value) => isColoured(value.run));
  const shown = few ? values.filter((value) => isColoured(value.run)) : values;
  const { domain, colours } = seriesScales(shown.map((value) => value.run));
  // One series needs no group: its bars have the names of the axis.
  const alone = inGroups && domain.length === 1;
  const thick = thickness(shown.length);
  const step = inGroups ? { y: { field: "band", type: "nominal", sort: names, title: acrossAxis().title, axis: { labelLimit: 160, titleAnchor: "start" }, scale: { paddingInner: alone ? 0.3 : 0.18 } } }
    : { y: { field: "series", type: "nominal", sort: domain, title: picture ? colourAxis().title : null, axis: shortNames, scale: { paddingInner: 0.32 } } };
  const key = inGroups && !alone ? legend(picture) : null;
  return {
    about: few ? "the best and the baselines" : null,
    spec: {
      height: Math.max(60, thick * shown.length + (inGroups ? 8 * names.length : 0)), params: LIFTED, data: { values: shown },
      mark: { type: "bar", cornerRadiusEnd: 2, cursor: "pointer" },
      encoding: {
        ...step,
        ...(inGroups && !alone ? { yOffset: { field: "series", sort: domain, scale: { paddingInner: 0.15 } } } : {}),
        x: { field: "y", type: "quantitative", title: null, axis: { tickCount: 4, labelOverlap: "greedy", ...tickLabels(figure.unit) } },
        color: { field: "series", type: "nominal", scale: colours, legend: key },
        opacity: { condition: { test: "lifted === '' || datum.series === lifted", value: 1 }, value: 0.2 },
        fillOpacity: { condition: { test: "datum.trusted", value: 1 }, value: 0.35 },
        stroke: { condition: { test: "datum.run === lit || datum.picked", value: colour("--ink") }, field: "series", type: "nominal", scale: colours, legend: null },
        strokeWidth: { condition: { test: "datum.run === lit || datum.picked || !datum.trusted", value: 1.5 }, value: 0 },
        tooltip,
      },
    },
  };
}
