"use strict";
// The page of a run, and of several side by side: figures, distributions, course, wear, command and configuration.

/// How the runs of this page are named and coloured: by their place here.
function lookOf(runs) {
  const axes = data.varying.filter((axis) => new Set(runs.map((run) => axis.of[run])).size > 1);
  const names = new Map(runs.map((run) => [run, runs.length > 1 ? (axes.length ? runName(run, axes) : `Run ${run + 1}`) : runName(run)]));
  const styles = new Map(runs.map((run, place) => [run, runs.length > 1 ? seriesStyle(place) : stylesOf(colourAxis())[colourAxis().of[run]]]));
  // The same name for two runs would make one curve of them.
  if (new Set(names.values()).size < runs.length) for (const run of runs) names.set(run, `${names.get(run)} (run ${run + 1})`);
  const domain = [...names.values()];
  const range = (of) => ({ domain, range: runs.map((run) => of(styles.get(run))) });
  return {
    several: runs.length > 1, axes, styles, nameOf: (run) => names.get(run),
    scales: () => ({ domain, colours: range((style) => colour(style.name)), dashes: range((style) => (runs.length > 1 ? style.dash : [1, 0])) }),
  };
}

async function drawRuns(runs) {
  const place = document.getElementById("runs");
  dropPlots(place);
  const look = lookOf(runs);
  const details = await Promise.all(runs.map(detailOf));
  const { cards, timed } = seriesCards(runs, look, details);
  const most = wearMost(details);
  const maps = runs.flatMap((run, index) => (details[index].wear ? [wearCard(run, details[index].wear, most, look.nameOf(run), look.several)] : []));
  const title = look.several ? `${runs.length} runs side by side` : `Run ${runs[0] + 1}: ${runName(runs[0])}`;
  place.replaceChildren(...[
    runsNavigation(runs),
    h("h2", { class: "title", tabindex: -1 }, title),
    look.several ? runsLegend(runs, look) : null,
    notesOf(runs, look),
    section("Figures", keyFigures(runs, look)),
    section("Distributions", h("div", { class: "charts halves" }, latencyCard(runs, look), lengthsCard(runs, look), programsCard(runs, look))),
    section("In the course of the run", timed ? alongSwitch() : null, cards.length ? h("div", { class: "charts" }, cards)
      : h("p", { class: "empty" }, whyEmpty("These results have no series: they are from an older version.")), reducedNote()),
    section("Wear", maps.length ? [wearSwitch(), h("div", { class: "charts halves" }, maps)]
      : h("p", { class: "empty" }, whyEmpty("These results have no wear map: they are from an older version."))),
    section(look.several ? "The command that makes them again" : "The command that makes it again", commandBox(runs)),
    section("Configuration", settingsTable(data.config, runs, look), h("h3", {}, "Workload"), settingsTable(data.traces, runs, look)),
  ].filter(Boolean));
  place.hidden = false;
  document.title = `${title} · ${data.name} · eraseblock`;
}

const section = (title, ...children) => h("section", { class: "part", "aria-label": title }, h("h2", {}, title), children);

function runsNavigation(runs) {
  if (data.count === 1) return null;
  const step = (run, text, rel) => (run >= 0 && run < data.count ? h("a", { href: runAddress(run), rel }, text) : null);
  const others = data.runs.filter((run) => !runs.includes(run));
  const options = [{ value: "", label: "choose a run" }, ...others.map((run) => ({ value: String(run), label: `${run + 1}: ${runName(run)}` }))];
  return h("nav", { class: "row crumbs", "aria-label": "Runs" },
    h("a", { href: "#", onclick: backToOverview }, "← All runs"),
    runs.length === 1 ? [step(runs[0] - 1, "Previous", "prev"), step(runs[0] + 1, "Next", "next")] : null,
    runs.length < MOST_PICKED && others.length ? choice("Set beside", options, "", (value) => { location.hash = runAddress(...runs, Number(value)); }) : null);
}

function runsLegend(runs, look) {
  return h("ul", { class: "runs-legend" }, runs.map((run) => h("li", {}, swatch(look.styles.get(run)), h("a", { href: runAddress(run) }, look.nameOf(run)),
    isTrusted(run) ? null : h("span", { class: "flag" }, "not trusted"),
    runs.length > 1 ? h("a", { class: "hint", href: runAddress(...runs.filter((other) => other !== run)), "aria-label": `Leave out ${look.nameOf(run)}` }, "leave out") : null)));
}

function notesOf(runs, look) {
  const notes = [["reasons", "Not to be trusted", "distrust"], ["warnings", "Advice", "warning"]].flatMap(([kind, title, style]) => {
    const found = new Map();
    for (const run of runs) for (const sentence of sentencesOf(run, kind)) found.set(sentence, [...(found.get(sentence) ?? []), run]);
    return [...found].map(([sentence, about]) => h("div", { class: `note ${style}` }, h("strong", {}, title), h("p", {}, sentence,
      look.several && about.length < runs.length ? h("span", { class: "runs" }, ` (${about.map(look.nameOf).join("; ")})`) : null)));
  });
  return notes.length ? h("div", { class: "advice" }, notes) : null;
}

/// The main figures in the open, all of them folded; with several runs the change against the first.
function keyFigures(runs, look) {
  const main = data.figures.filter((figure) => figure.table || figure.plot);
  const tools = saveMenu("the figures", [["CSV", () => {
    const rows = data.figures.map((figure) => [figure.path, figure.title, ...runs.map((run) => figureOf(run, figure.path))]);
    save(`${fileName(data.name, "figures")}.csv`, csv(["figure", "title", ...runs.map((run) => data.keys[run])], rows), "text/csv");
  }], ["SVG", () => save(`${fileName(data.name, "figures")}.svg`, figuresPicture(main, runs, look), "image/svg+xml")],
  ["PNG", async () => save(`${fileName(data.name, "figures")}.png`, await pngOf(figuresPicture(main, runs, look)), "image/png")]]);
  return h("div", { class: "framed" }, tools,
    look.several ? figuresTable(main, runs, look) : h("dl", { class: "cards" }, main.map((figure) => h("div", {}, h("dt", {}, figure.title), h("dd", { title: figure.path }, show(figureOf(runs[0], figure.path), figure.unit))))),
    h("details", {}, h("summary", {}, `All ${data.figures.length} figures`), figuresTable(data.figures, runs, look, true)));
}

function figuresTable(figures, runs, look, names = false) {
  const present = figures.filter((figure) => runs.some((run) => figureOf(run, figure.path) !== null));
  return h("div", { class: "scroll", tabindex: 0 }, h("table", { "aria-label": names ? "All figures" : "Main figures" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, "Figure"), runs.map((run) => h("th", { scope: "col" }, look.several ? swatch(look.styles.get(run)) : null, look.several ? look.nameOf(run) : "Value")))),
    h("tbody", {}, present.map((figure) => {
      const best = bestAmong(figure, runs);
      return h("tr", {}, h("th", { scope: "row", class: "text" }, figure.title, names && figure.title !== figure.path ? h("code", {}, figure.path) : null),
        runs.map((run, place) => h("td", { class: best.has(run) ? "best" : null, title: String(figureOf(run, figure.path)) }, show(figureOf(run, figure.path), figure.unit),
          place ? h("span", { class: "change" }, changeOf(figure, runs[0], run)) : null)));
    }))));
}

function bestAmong(figure, runs) {
  const trusted = ableToWin(runs, figure).filter((run) => figureOf(run, figure.path) !== null);
  const values = trusted.map((run) => figureOf(run, figure.path));
  if (!figure.good || new Set(values).size < 2) return new Set();
  const first = figure.good === "low" ? Math.min(...values) : Math.max(...values);
  return new Set(trusted.filter((run) => figureOf(run, figure.path) === first));
}

function changeOf(figure, first, run) {
  const [before, after] = [figureOf(first, figure.path), figureOf(run, figure.path)];
  if (before === null || after === null || before === after) return "";
  if (figure.unit === "share") return `${after > before ? "+" : "−"}${(100 * Math.abs(after - before)).toFixed(1)} points`;
  if (before === 0) return "";
  const change = (100 * (after - before)) / Math.abs(before);
  if (Math.abs(change) >= 1000) return `× ${digits(after / before)}`;
  return `${change > 0 ? "+" : "−"}${Math.abs(change) < 10 ? Math.abs(change).toFixed(1) : Math.round(Math.abs(change))} %`;
}

function figuresPicture(figures, runs, look) {
  const rows = figures.map((figure) => [{ text: figure.title, left: true }, ...runs.map((run) => ({ text: show(figureOf(run, figure.path), figure.unit), bold: bestAmong(figure, runs).has(run) }))]);
  return tableSvg(data.name, ["Figure", ...runs.map((run) => look.nameOf(run))], rows);
}

function lengthsCard(runs, look) {
  return plotCard({ id: "lengths", title: "Write lengths", note: "share of flushed pages in flushes of at most this length", build: async (how) => ({ ...(await lengthsPlot(runs, how, { nameOf: look.nameOf, styleOf: (run) => look.styles.get(run), about: "" })), opens: false }), runs: () => runs });
}

function programsCard(runs, look) {
  return plotCard({ id: "programs", height: 160, title: "Flash programs by cause", note: "host writes, padding, garbage collection and merges", key: causesKey(runs), build: (how) => ({ ...programsPlot(runs, { ...how, height: HEIGHT }, look.nameOf, ""), opens: false }), runs: () => runs });
}

function alongSwitch() {
  return h("div", { class: "controls" }, switcher("Along", [["time", "Time"], ["requests", "Requests"]], seriesState.along, (along) => {
    seriesState.along = along;
    redraw((plot) => plot.id.startsWith("series-"));
  }));
}

function wearSwitch() {
  return h("div", { class: "controls" }, switcher("Erases", WEAR_FIGURES, wearState.figure, (figure) => {
    wearState.figure = figure;
    redraw((plot) => plot.id.startsWith("wear-"));
  }));
}

function reducedNote() {
  return data.merged > 1 ? h("p", { class: "hint" }, `To keep this page small, ${data.merged} neighbouring steps and map cells are drawn as one. results.json has all of them.`) : null;
}

/// All settings; those that differ in the set, or between the runs shown, first and marked.
function settingsTable(columns, runs, look) {
  const rows = columns.map((column) => ({ key: column.key, values: runs.map((run) => settingOf(column, run)), varies: column.values.length > 1 || (Array.isArray(column.of) && column.of.includes(null)) }))
    .filter((row) => row.values.some((value) => value !== null));
  const differs = (row) => (look.several ? new Set(row.values).size > 1 : row.varies);
  const ordered = [...rows.filter(differs), ...rows.filter((row) => !differs(row))];
  const list = (some) => h("dl", { class: "keys settings" }, some.map((row) => h("div", { class: differs(row) ? "differs" : null }, h("dt", {}, row.key), h("dd", {}, row.values[0]))));
  if (!look.several) return list(ordered);
  const [different, same] = [rows.filter(differs), rows.filter((row) => !differs(row))];
  return [
    different.length ? h("div", { class: "scroll", tabindex: 0 }, h("table", { class: "settings" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "text" }, "Differs"), runs.map((run) => h("th", { scope: "col", class: "text" }, swatch(look.styles.get(run)), look.nameOf(run))))),
      h("tbody", {}, different.map((row) => h("tr", {}, h("th", { scope: "row", class: "text" }, row.key), row.values.map((value) => h("td", { class: "text" }, value ?? "-"))))))) : null,
    h("details", {}, h("summary", {}, `The same in these runs (${same.length})`), list(same)),
  ];
}
