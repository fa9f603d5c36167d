"use strict";
// What happened in the course of a run: hit ratio, write amplification, copies, erases, backlog and response times by step.

const BY_STEP = [
  { id: "hits", title: "Hit ratio", unit: "share", note: "host pages found in the buffer", value: (s, i) => ratioOf(s.hit_pages, s.host_pages, i) },
  { id: "waf", title: "Write amplification", unit: "ratio", note: "pages programmed per page that the host wrote", value: (s, i) => ratioOf(s.programs, s.host_pages_written, i) },
  { id: "copies", title: "Collection and merges", unit: "pages", note: "pages copied by garbage collection and merges, per request", value: (s, i) => ratioOf(s.gc_programs, s.requests, i) },
  { id: "erases", title: "Block erases", unit: "number", note: "per 1000 requests", value: (s, i) => scaledBy(1000, ratioOf(s.erases, s.requests, i)) },
  { id: "backlog", title: "Requests under way", unit: "count", note: "most at once", value: (s, i) => s.backlog_max?.[i] ?? null },
  { id: "wait", title: "Backlog", unit: "time", note: "longest wait of a request to be admitted", value: (s, i) => s.admission_wait_max_ns?.[i] ?? null },
  { id: "response", title: "Mean response time", unit: "time", note: "of the requests answered in a step", value: (s, i) => ratioOf(s.response_sum_ns, s.answers ?? s.requests, i) },
];
const seriesState = { along: "time" };

function ratioOf(parts, wholes, step) {
  const [part, whole] = [parts?.[step] ?? null, wholes?.[step] ?? null];
  return part === null || !whole ? null : part / whole;
}

const scaledBy = (factor, value) => (value === null ? null : factor * value);

/// Cards for everything that the runs have a series of; `timed`: whether all of them know the time of each step.
function seriesCards(runs, look, details) {
  const present = details.map((detail) => detail.series).filter(Boolean);
  if (!present.length) return { cards: [], timed: false };
  const timed = present.every((series) => series.end_ticks);
  const along = () => (timed ? seriesState.along : "requests");
  const cards = BY_STEP.filter((kind) => present.some((series) => series.requests.some((_, step) => kind.value(series, step) !== null))).map((kind) => plotCard({
    id: `series-${kind.id}`, title: kind.title, note: kind.note, height: 190, build: (how) => seriesPlot(kind, runs, look, details, along(), how), runs: () => runs,
  }));
  return { cards, timed };
}

/// Where each step ends: in nanoseconds or in requests.
function endsOf(series, along) {
  let sum = 0;
  return along === "time" ? series.end_ticks.map((ticks) => (sum += ticks) * series.end_unit_ns) : series.requests.map((count) => (sum += count));
}

function seriesPlot(kind, runs, look, details, along, { picture }) {
  const unit = along === "time" ? "time" : "count";
  const values = runs.flatMap((run, place) => {
    const { series } = details[place];
    if (!series) return [];
    const ends = endsOf(series, along);
    const points = ends.map((end, step) => {
      const y = kind.value(series, step);
      return {
        x: end, y, series: look.nameOf(run), run: undefined,
        tip: { ...(look.several ? { Run: look.nameOf(run) } : {}), [along === "time" ? "Until" : "Request"]: show(end, unit), [kind.title]: show(y, kind.unit) },
      };
    });
    // A step is drawn from the end of the one before it; the first one has none.
    return [{ ...points[0], x: 0 }, ...points];
  });
  const known = values.map((value) => value.y).filter((y) => y !== null);
  if (!known.length) return { empty: "No run has this." };
  const { colours, dashes } = look.scales();
  const shared = {
    x: { field: "x", type: "quantitative", title: along === "time" ? "Simulated time" : "Requests", axis: { grid: false, tickCount: 5, labelOverlap: "greedy", ...tickLabels(unit) }, scale: { nice: false } },
    y: { field: "y", type: "quantitative", ...figureScale(known, kind.unit, { zero: true, count: 4 }) },
    color: { field: "series", type: "nominal", scale: colours, legend: picture && look.several ? { title: null } : null },
  };
  return {
    opens: false, columns: ["run", "name", along === "time" ? "end_ns" : "end_request", kind.title],
    rows: runs.flatMap((run, place) => (details[place].series ? endsOf(details[place].series, along).map((end, step) => [data.keys[run], runName(run), end, kind.value(details[place].series, step)]) : [])),
    spec: {
      height: 150, data: { values },
      layer: [
        {
          mark: { type: "line", strokeWidth: 1.5, interpolate: "step-before", invalid: "break-paths-show-domains" },
          encoding: { ...shared, strokeDash: { field: "series", type: "nominal", scale: dashes, legend: null } },
        },
        {
          params: [{ name: "hover", select: { type: "point", on: "pointerover", nearest: true, encodings: ["x"], fields: ["x", "series"], clear: "pointerout" } }],
          mark: { type: "point", filled: true, size: 70 },
          encoding: { ...shared, opacity: { condition: { param: "hover", empty: false, value: 1 }, value: 0 }, tooltip },
        },
      ],
    },
  };
}
