"use strict";
// A figure as bars: one for each series, the best first; along an axis of names a group of them for each name. On a logarithmic
// axis, which has no zero, a bar's length would mean nothing: there they are dots.

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
  const chosen = few ? values.filter((value) => isColoured(value.run)) : values;
  const { domain, colours } = seriesScales(chosen.map((value) => value.run));
  // One series needs no group: its bars have the names of the axis.
  const alone = inGroups && domain.length === 1;
  const ys = chosen.map((value) => value.y);
  const dots = scaleOf(figure) === "log" && canBeLog(ys);
  const most = dots ? Math.max(...ys) : longestBar(chosen);
  const shown = chosen.map((value) => ({ ...value, end: value.y > most ? CUT_AT * most : value.y, told: value.y > most ? `${value.told} ▸` : value.told }));
  const place = inGroups ? { y: { field: "band", type: "nominal", sort: names, title: null, axis: { labelLimit: 160 }, scale: { type: "band", paddingInner: alone ? 0.3 : 0.18 } } }
    : { y: { field: "series", type: "nominal", sort: domain, title: picture ? colourAxis().title : null, axis: picture ? { labelLimit: 170 } : shortNames, scale: { type: "band", paddingInner: 0.32 } } };
  if (inGroups && !alone) place.yOffset = { field: "series", sort: domain, scale: { type: "band", paddingInner: 0.15 } };
  const marked = "datum.run === lit || datum.picked";
  const length = () => ({
    scale: { domain: [Math.min(0, ...ys), most * (ys.some((y) => y > most) ? ROOM_FOR_CUT : ROOM_FOR_FIGURES) || 1], nice: false },
    axis: { tickCount: 4, labelOverlap: "greedy", ...tickLabels(figure.unit) },
  });
  const x = { field: "end", type: "quantitative", title: null, ...(dots ? dotScale(ys, figure.unit) : length()) };
  // A line leads from each name to its dot.
  if (dots) place.y.axis = { ...place.y.axis, grid: true };
  const opacity = { condition: { test: "lifted === '' || datum.series === lifted", value: 1 }, value: 0.2 };
  return {
    about: few ? "the best and the baselines" : null, aside: cutTold(chosen, most, figure),
    spec: {
      height: barsHeight(shown.length, names.length), params: LIFTED, data: { values: shown },
      layer: [
        {
          mark: dots ? { type: "point", filled: true, size: DOT, cursor: "pointer" } : { type: "bar", cornerRadiusEnd: 2, cursor: "pointer" },
          encoding: {
            ...place, x, opacity, tooltip,
            color: { field: "series", type: "nominal", scale: colours, legend: inGroups && !alone ? legend(picture) : null },
            fillOpacity: { condition: { test: "datum.trusted", value: 1 }, value: 0.35 },
            stroke: { condition: { test: marked, value: colour("--ink") }, field: "series", type: "nominal", scale: colours, legend: null },
            strokeWidth: { condition: { test: `${marked} || !datum.trusted`, value: 1.5 }, value: 0 },
          },
        },
        { mark: { type: "text", align: "left", dx: dots ? 9 : 4, fontSize: 10.5, color: colour("--soft") }, encoding: { ...place, x, opacity, text: { field: "told" } } },
      ],
    },
  };
}

const barsHeight = (count, groups = 0) => Math.max(60, thickness(count) * count + (groups > 1 ? 8 * groups : 0));

// Beside the longest bar its figure has to fit in.
const ROOM_FOR_FIGURES = 1.25;
const DOT = 110;

/// A logarithmic axis across, with the same room.
function dotScale(values, unit) {
  const { scale, axis } = figureScale(values, unit, { scale: "log" });
  const [low, high] = scale.domain;
  const most = high * (low > 0 ? high / low : high / scale.constant) ** (ROOM_FOR_FIGURES - 1);
  return { scale: { ...scale, domain: [low, most] }, axis };
}
const ROOM_FOR_CUT = 1.45;

// So many times longer than the rest a bar not to be trusted has to be to be cut.
const FAR_LONGER = 3;
// A bar that is cut is longer than all others, yet.
const CUT_AT = 1.1;

/// How far bars go. The few that are not to be trusted are cut where all others would be stubs beside them.
function longestBar(values) {
  const sorted = values.toSorted((one, other) => other.y - one.y);
  const [longest, usual] = [sorted[0].y, middle(values.map((value) => value.y))];
  if (!(usual < FOOT * longest)) return longest;
  const limit = FAR_LONGER * sorted.find((value, place) => place >= Math.floor(sorted.length / 4) || competes(value.run)).y;
  return sorted.find((value) => value.y <= limit).y;
}

/// Which bars are cut, and how long they are.
function cutTold(values, most, figure) {
  const names = [...new Set(values.filter((value) => value.y > most).map((value) => shortName(value.series)))];
  return names.length ? `cut (▸): ${someOf(names)}, up to ${show(Math.max(...values.map((value) => value.y)), figure.unit)}` : null;
}

const someOf = (names) => (names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", "));
