"use strict";
// The legend, which is also the filter of the axis that gives the colours: the best first, then what they are measured by,
// then, folded, what is grey.

let othersShown = false;

function legendOf(axis) {
  const styles = stylesOf(axis);
  const ranking = rankingOf(axis);
  const places = axis.numbers ? [...axis.labels.keys()] : ranking;
  const first = places.filter((place) => !baselineStyle(axis, place)).slice(0, axis.numbers ? Infinity : MOST_COLOURED);
  const promoted = places.filter((place) => styles[place].kind === "best" && !first.includes(place));
  const baselines = places.filter((place) => styles[place].kind === "baseline");
  const shown = [...first, ...promoted, ...baselines];
  const rest = [...axis.labels.keys()].filter((place) => !shown.includes(place));
  const entry = (place) => legendEntry(axis, place, styles[place]);
  const marked = (some) => some.some((place) => axis.labels[place].endsWith(RECONSTRUCTION));
  return h("div", { class: "row legend", role: "group", "aria-label": `${axis.title}: shown`, onpointerleave: () => lift() },
    h("span", { class: "hint" }, axis.title),
    shown.map(entry),
    boundEntry(),
    rest.length ? othersButtons(axis, rest) : null,
    state.hidden.get(axis.id).size ? h("button", { type: "button", class: "hide-others show-all", onclick: showAll }, "show all") : null,
    othersShown ? rest.map(entry) : null,
    marked(othersShown ? [...shown, ...rest] : shown) ? h("span", { class: "hint" }, `${MARK} a reconstruction: without its full paper`) : null);
}

function legendEntry(axis, place, style) {
  const label = axis.labels[place];
  const hidden = state.hidden.get(axis.id);
  const point = () => lift(hidden.has(place) ? NOTHING_LIFTED : { series: label });
  return h("button", {
    type: "button", class: style.kind, "aria-pressed": String(!hidden.has(place)), "aria-label": label, "data-value": label,
    title: `${label}: click to show or hide it, twice to see it alone`,
    onpointerenter: point, onfocus: (event) => event.target.matches(":focus-visible") && point(), onblur: () => lift(),
    onclick: (event) => toggle(axis, place, event),
  }, lineSwatch(style), shortName(label));
}

/// Hides or shows a value; the second click of two undoes that and isolates it. Enter on a keyboard never does.
function toggle(axis, place, event) {
  const hidden = state.hidden.get(axis.id);
  if (isDouble(`legend ${axis.labels[place]}`, event)) {
    state.hidden.set(axis.id, state.untouched ?? hidden);
    isolate(place);
    return;
  }
  state.untouched = new Set(hidden);
  if (!hidden.delete(place)) hidden.add(place);
  lift();
  changed({ controls: false });
}

/// What no scheme can pass, as it is drawn where a plot has it.
function boundEntry() {
  const has = mainFigures().some((figure) => limitsAlong(figure, data.runs.map((run) => ({ run, x: 0 }))).length);
  return acrossAxis()?.numbers && has ? h("span", { class: "hint key" }, lineSwatch({ name: "--base", dash: DOTS }), "best possible") : null;
}

/// How many are grey, folded away; and whether plots show them.
function othersButtons(axis, rest) {
  const hidden = state.hidden.get(axis.id);
  const gone = rest.every((place) => hidden.has(place));
  return [
    h("button", {
      type: "button", class: "others", "aria-expanded": String(othersShown),
      onclick: () => {
        othersShown = !othersShown;
        drawLegend();
      },
    }, lineSwatch({ name: "--rest", dash: [1, 0] }), `${rest.length} more, grey ${othersShown ? "▴" : "▾"}`),
    h("button", {
      type: "button", class: "hide-others",
      onclick: () => {
        for (const place of rest) if (gone) hidden.delete(place); else hidden.add(place);
        changed({ controls: false });
      },
    }, gone ? "show them" : "hide them"),
  ];
}

function showAll() {
  state.hidden.get(colourAxis().id).clear();
  changed({ controls: false });
}

/// The legend again, with the focus where it was.
function drawLegend() {
  const old = document.querySelector(".legend");
  if (!old) return;
  const focus = document.activeElement?.closest(".legend button");
  old.replaceWith(legendOf(colourAxis()));
  document.getElementById("filters").classList.toggle("tall", othersShown);
  if (!focus) return;
  const again = focus.dataset.value === undefined ? `.legend .${focus.classList[0]}` : `.legend [data-value="${CSS.escape(focus.dataset.value)}"]`;
  document.querySelector(again)?.focus({ preventScroll: true });
}
