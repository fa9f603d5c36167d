"use strict";
// Where a run erased: a map of the blocks of each parallel unit, darker where there were more erases.

const WEAR_FIGURES = [["mean", "Mean"], ["max", "Maximum"]];
const wearState = { figure: "mean" };
// A single unit fills several rows of the map.
const ROW_CELLS = 64;

function wearCard(run, wear, most, name, several) {
  return plotCard({
    id: `wear-${run}`, title: several ? `Wear: ${name}` : "Wear", wide: !several, height: 120,
    note: `erases per block while measured; a cell is ${plural(wear.blocks_per_cell, "block")}${data.merged > 1 ? " here" : ""}`,
    build: () => wearPlot(run, wear, most[wearState.figure]), runs: () => [run],
  });
}

/// The largest value of each figure over the runs, so that their maps have one scale.
function wearMost(details) {
  const largest = (figure) => Math.max(0, ...details.flatMap((detail) => detail.wear?.[figure].flat() ?? []));
  return { mean: largest("mean"), max: largest("max") };
}

function wearPlot(run, wear, most) {
  const units = wear.mean.length;
  const wrap = units === 1 ? ROW_CELLS : Infinity;
  const values = wear.mean.flatMap((cells, unit) => cells.map((mean, cell) => {
    const row = units === 1 ? Math.floor(cell / wrap) : unit;
    const column = units === 1 ? cell % wrap : cell;
    const first = cell * wear.blocks_per_cell;
    return {
      row, column, z: wearState.figure === "mean" ? mean : wear.max[unit][cell],
      tip: { Unit: String(unit), Blocks: wear.blocks_per_cell > 1 ? `from ${first} to ${first + wear.blocks_per_cell - 1}` : String(first), "Mean erases": show(mean, "ratio"), "Most erases": show(wear.max[unit][cell], "count") },
    };
  }));
  const rows = Math.max(...values.map((value) => value.row)) + 1;
  const rowTitle = units === 1 ? `Blocks, ${(ROW_CELLS * wear.blocks_per_cell).toLocaleString("en")} a row` : "Unit";
  return {
    opens: false, columns: ["run", "unit", "first_block", "mean_erases", "max_erases"],
    rows: wear.mean.flatMap((cells, unit) => cells.map((mean, cell) => [data.keys[run], unit, cell * wear.blocks_per_cell, mean, wear.max[unit][cell]])),
    about: wearState.figure === "mean" ? "mean of a cell" : "maximum of a cell",
    spec: {
      height: Math.min(320, Math.max(90, rows * 14)), data: { values },
      mark: { type: "rect", stroke: colour("--card"), strokeWidth: 0.5 },
      encoding: {
        x: { field: "column", type: "ordinal", title: units === 1 ? null : "Blocks of a unit", axis: null, scale: { paddingInner: 0 } },
        y: { field: "row", type: "ordinal", title: rowTitle, axis: units === 1 || units > 32 ? { labels: false, ticks: false, domain: false } : { labelOverlap: true } },
        color: {
          field: "z", type: "quantitative", scale: { domain: [0, most || 1] },
          legend: { title: "Erases", orient: "right", gradientLength: Math.min(160, Math.max(60, rows * 12)), tickCount: 4, ...tickLabelsOfLegend() },
        },
        tooltip,
      },
    },
  };
}

const tickLabelsOfLegend = () => ({ labelExpr: "tickText(datum.value, 'number')" });
