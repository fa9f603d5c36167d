"use strict";
// Why flash was programmed: a bar for each run, in the colours of the causes.

// In the order in which bars are stacked; the colours of causes have the same order.
const CAUSES = ["host", "padding", "gc", "merge", "mapping", "wear", "filler", "placement"];
const CAUSE_NAMES = { gc: "garbage collection", merge: "merges", wear: "wear levelling", filler: "fillers" };
let allPrograms = false;

const causeName = (cause) => CAUSE_NAMES[cause] ?? cause;

/// Title, note and builder for a panel; where there are many runs, only those with a colour, unless all are asked for.
function programsOf(panel) {
  // A single series has a bar for each value along the axis.
  const along = acrossAxis() && colourAxis().labels.length === 1;
  if (along) return { ...programsCardOf(panel.runs), build: (how) => programsPlot(panel.runs, how, (run) => labelOf(run, acrossAxis()), "") };
  const runs = runsAt(panel.runs);
  const few = curvesAcross(shownRuns()) ? runs.filter(isColoured) : runs;
  const chosen = allPrograms || !few.length ? runs : few;
  const folds = few.length > 0 && few.length < runs.length;
  return {
    ...programsCardOf(chosen, folds && !allPrograms ? `; the best and the baselines, ${few.length} of ${runs.length}` : ""), at: true, wide: folds && allPrograms,
    controls: [folds ? switcher("Bars", [["best", "Best"], ["all", `All ${runs.length}`]], allPrograms ? "all" : "best", (value) => {
      allPrograms = value === "all";
      changed({ controls: false });
    }) : null],
    build: (how) => programsPlot(ranked(chosen), how),
  };
}

const programsCardOf = (runs, more = "") => ({ title: "Flash programs by cause", note: `host writes, padding, garbage collection and merges${more}`, key: causesKey(runs), runs });

/// The best first, as the legend has them.
function ranked(runs) {
  const axis = colourAxis();
  if (axis.numbers) return runs;
  const order = new Map(rankingOf(axis).map((place, rank) => [place, rank]));
  return runs.toSorted((one, other) => order.get(axis.of[one]) - order.get(axis.of[other]));
}

/// What the colours mean, for the causes that occur.
function causesKey(runs) {
  const used = CAUSES.filter((cause) => runs.some((run) => figureOf(run, `${PROGRAMS}.${cause}`) > 0));
  return h("ul", { class: "causes" }, used.map((cause) => h("li", {}, h("i", { style: `background: var(--c${CAUSES.indexOf(cause)})` }), causeName(cause))));
}

function programsPlot(chosen, { picture, height = 0 }, nameOf = (run) => labelOf(run, colourAxis()), about = aboutAt()) {
  const values = chosen.flatMap((run) => CAUSES.map((cause, order) => {
    const count = figureOf(run, `${PROGRAMS}.${cause}`);
    const name = causeName(cause);
    return { run, series: nameOf(run), cause: name, order, count, tip: { ...tooltipOf(run, name, "Cause"), Programs: show(count, "count") } };
  })).filter((value) => value.count);
  if (!values.length) return { empty: `Nothing was programmed${about ? ` (${about})` : ""}.` };
  const domain = [...new Set(chosen.map(nameOf))];
  const used = CAUSES.map(causeName);
  return {
    columns: ["run", "name", "cause", "programs"],
    rows: values.map((value) => [data.keys[value.run], value.series, value.cause, value.count]),
    about,
    spec: {
      height: Math.max(60, height - 22, thickness(domain.length) * domain.length), params: LIFTED, data: { values },
      mark: { type: "bar", cursor: "pointer", size: Math.min(MOST_THICK, 0.68 * Math.max(height - 22, thickness(domain.length) * domain.length) / domain.length) },
      encoding: {
        y: { field: "series", type: "nominal", sort: domain, title: null, axis: picture ? { labelLimit: 170 } : shortNames, scale: { paddingInner: 0.32 } },
        x: { field: "count", type: "quantitative", title: "Flash pages programmed", axis: { tickCount: 4, labelOverlap: "greedy", ...tickLabels("count") } },
        color: {
          field: "cause", type: "nominal", scale: { domain: used, range: CAUSES.map((_, place) => colour(`--c${place}`)) },
          legend: picture ? { title: null, orient: "top", columns: 4, symbolType: "square", symbolStrokeWidth: 0, values: used.filter((name) => values.some((value) => value.cause === name)) } : null,
        },
        order: { field: "order" },
        opacity: { condition: { test: "lifted === '' || datum.series === lifted", value: 1 }, value: 0.3 },
        strokeWidth: { condition: { test: "datum.run === lit", value: 1 }, value: 0 },
        stroke: { value: colour("--ink") },
        tooltip,
      },
    },
  };
}
