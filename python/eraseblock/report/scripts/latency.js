"use strict";
// Response times of one run or several: cumulative, the tail, or a histogram, over a logarithmic axis.

const LATENCY_VIEWS = [["cumulative", "Cumulative"], ["tail", "Tail"], ["histogram", "Histogram"]];
const LATENCY_KINDS = [["all", "All"], ["read", "Reads"], ["write", "Writes"]];
const PERCENTILES = [["p50", "50 %"], ["p90", "90 %"], ["p99", "99 %"], ["p999", "99.9 %"]];
const LATENCY_HEIGHT = 280;
const latency = { view: "cumulative", kind: "all" };

function latencyCard(runs, look) {
  return plotCard({
    id: "latency", title: "Response times", wide: true,
    note: "from arrival to completion; point at a curve to read it",
    controls: [
      switcher("Requests", LATENCY_KINDS, latency.kind, (kind) => {
        latency.kind = kind;
        redraw((plot) => plot.id === "latency");
      }),
      switcher("View", LATENCY_VIEWS, latency.view, (view) => {
        latency.view = view;
        redraw((plot) => plot.id === "latency");
      }),
    ],
    build: (how) => latencyPlot(runs, look, how), runs: () => runs,
  });
}

async function latencyPlot(runs, look, { picture }) {
  const found = await Promise.all(runs.map(async (run) => [run, (await detailOf(run)).latency?.[latency.kind]]));
  const present = found.filter(([, histogram]) => histogram?.upper.length);
  if (!present.length) return { empty: whyEmpty("This run was not timed, or its results are older than response distributions.") };
  const positive = present.flatMap(([, histogram]) => histogram.upper.filter((upper) => upper > 0));
  const least = positive.length ? Math.min(...positive) : 1;
  // Answers from RAM can take no time at all; a logarithmic axis shows them at its left end.
  const zeroes = present.some(([, histogram]) => histogram.upper[0] === 0);
  const floor = zeroes ? least / 3 : least / 1.2;
  const values = present.flatMap(([run, histogram]) => curveOf(run, histogram, floor, look));
  const most = Math.max(floor * 10, ...positive);
  const ticks = decades(least, most).filter((value) => value >= least && value <= most);
  const { colours, dashes } = look.scales();
  const tail = latency.view === "tail";
  const lowest = Math.min(1, ...values.map((value) => value.y).filter((y) => y > 0));
  const shared = {
    x: {
      field: "x", type: "quantitative", title: "Response time", scale: { type: "log", domain: [floor, most], nice: false },
      axis: { values: zeroes ? [floor, ...ticks] : ticks, labelExpr: `datum.value <= ${floor * 1.0001} && ${zeroes} ? '0' : tickText(datum.value, 'time')`, labelOverlap: "greedy", grid: false },
    },
    y: {
      field: "y", type: "quantitative", title: { cumulative: "Share of requests within", tail: "Share of requests above", histogram: "Share of requests" }[latency.view],
      scale: tail ? { type: "log", domain: [lowest, 1], nice: false } : latency.view === "cumulative" ? { domain: [0, 1] } : { zero: true },
      axis: tail ? { values: decades(lowest, 1).filter((value) => value <= 1 && Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6)), labelExpr: "tickText(datum.value, 'share')" } : { tickCount: 5, ...tickLabels("share") },
    },
    color: { field: "series", type: "nominal", scale: colours, legend: picture && runs.length > 1 ? { title: null } : null },
  };
  const area = latency.view === "histogram" && runs.length === 1;
  const layer = [
    {
      mark: area ? { type: "area", interpolate: "step", opacity: 0.75, line: true } : { type: "line", strokeWidth: 2, interpolate: latency.view === "histogram" ? "step" : "step-after" },
      encoding: { ...shared, ...(area ? {} : { strokeDash: { field: "series", type: "nominal", scale: dashes, legend: null } }) },
    },
    {
      params: [{ name: "hover", select: { type: "point", on: "pointerover", nearest: true, fields: ["x", "series"], clear: "pointerout" } }],
      mark: { type: "point", filled: true, size: 90 },
      encoding: { ...shared, opacity: { condition: { param: "hover", empty: false, value: 1 }, value: 0 }, tooltip },
    },
  ];
  if (runs.length === 1) layer.unshift(...percentileRules(runs[0], floor));
  return {
    opens: false, columns: ["run", "name", "upper_ns", "count", "share", "share_within"],
    rows: present.flatMap(([run, histogram]) => {
      const total = histogram.count.reduce((sum, count) => sum + count, 0);
      let within = 0;
      return histogram.upper.map((upper, place) => {
        within += histogram.count[place];
        return [data.keys[run], runName(run), upper, histogram.count[place], histogram.count[place] / total, within / total];
      });
    }),
    about: `${{ all: "all requests", read: "reads", write: "writes" }[latency.kind]}`,
    spec: { height: LATENCY_HEIGHT, data: { values }, layer },
  };
}

function curveOf(run, histogram, floor, look) {
  const total = histogram.count.reduce((sum, count) => sum + count, 0);
  let within = 0;
  const points = histogram.upper.map((upper, place) => {
    const before = within;
    within += histogram.count[place];
    const x = Math.max(upper, floor);
    const share = histogram.count[place] / total;
    const y = { cumulative: within / total, tail: 1 - within / total, histogram: share }[latency.view];
    const tip = {
      ...(look.several ? { Run: look.nameOf(run) } : {}), "Up to": show(upper, "time"), Requests: show(histogram.count[place], "count"),
      "Share": percent(share), "Within": percent(within / total),
    };
    return { x, y, before: before / total, series: look.nameOf(run), tip };
  });
  // The end of a tail is nothing, which a logarithmic axis cannot show.
  if (latency.view === "tail") return points.filter((point) => point.y > 1e-12);
  if (latency.view === "cumulative" && points.length) points.unshift({ ...points[0], y: 0 });
  return points;
}

/// Enough decimals that 99.99 % is not 100 %.
const percent = (share) => `${Number((100 * share).toPrecision(share > 0.9 ? 6 : 3))} %`;

/// Where the percentiles lie, each named at the end of its rule where no other rule and little of the curve passes:
/// at the bottom of a cumulative curve, from the top elsewhere.
function percentileRules(run, floor) {
  const known = PERCENTILES.map(([key, name]) => ({ name, value: figureOf(run, `response_ns.${latency.kind}.${key}`) })).filter((mark) => mark.value !== null);
  const low = latency.view === "cumulative";
  const marks = known.map((mark, place) => ({
    x: Math.max(mark.value, floor), name: `${mark.name}: ${show(mark.value, "time")}`,
    y: low ? LATENCY_HEIGHT - 10 - 15 * (known.length - 1 - place) : 8 + 15 * (known.length - 1 - place), end: low ? 0 : LATENCY_HEIGHT,
  }));
  const x = { field: "x", type: "quantitative" };
  const y = { field: "y", type: "quantitative", scale: null, axis: null };
  return [
    { data: { values: marks }, mark: { type: "rule", strokeDash: [3, 3], color: colour("--soft") }, encoding: { x, y, y2: { field: "end" } } },
    { data: { values: marks }, mark: { type: "text", align: "right", dx: -4, fontSize: 10.5, color: colour("--soft") }, encoding: { x, y, text: { field: "name" } } },
  ];
}

/// Why a part of a run's page is empty.
function whyEmpty(sentence) {
  return data.merged === 0 ? "The set is too large for this part; results.json has it." : sentence;
}
