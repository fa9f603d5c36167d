"use strict";
// Buttons, slider, keys, playing.

/// Drawn, since not every system's letters have such signs: triangles that point on or back, a bar where it ends.
const SIGNS = {
  first: "M4 3v10h1.8V3zM13 3v10L6.4 8z", back: "M11.5 3v10L4.5 8z", on: "M4.5 3v10l7-5z", last: "M3 3v10l6.6-5zM10.2 3v10H12V3z",
};
const sign = (name) => svg("svg", { class: "sign", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: SIGNS[name], fill: "currentColor" }));

const SPEEDS = [0.5, 1, 2, 4, 10, 30];
let speed = 1;
let timer = null;
// Changes that come faster than they could glide.
let quick = false;

function buildControls() {
  const button = (id, told, act, inside = sign(id)) => h("button", { type: "button", id, title: told, "aria-label": told, onclick: act }, inside);
  put("controls",
    h("div", { class: "row" },
      h("span", { class: "buttons" },
        button("first", "To the start (Home)", () => goTo(0)),
        button("back", "A step back (←)", () => goTo(present - 1)),
        h("button", { type: "button", id: "play", title: "Play or pause (Space)", onclick: playOrPause }, "Play"),
        button("on", "A step on (→)", () => goTo(present + 1)),
        button("last", "To the end (End)", () => goTo(scene.steps.length))),
      h("span", { id: "told", role: "status" }),
      h("span", { class: "row push" },
        scene.leaves.length ? [
          button("leave-back", "The step before in which pages leave (Shift E)", () => goTo(leaveBefore()), "‹ pages leave"),
          button("leave-on", "The next step in which pages leave (E)", () => goTo(leaveAfter()), "pages leave ›")] : null,
        choice("Speed", SPEEDS.map((value) => ({ value: String(value), label: `${value} a second` })), String(speed), (value) => { speed = Number(value); if (timer !== null) play(); }))),
    h("input", { type: "range", id: "slider", min: 0, max: scene.steps.length, step: 1, "aria-label": "Step", oninput: (event) => { quick = true; goTo(Number(event.target.value)); quick = false; } }),
  );
}

function drawControls(number) {
  const last = scene.steps.length;
  const slider = document.getElementById("slider");
  slider.value = number;
  slider.setAttribute("aria-valuetext", number ? `step ${number}: ${requestTold(stepOf(number))}` : "before the first request");
  slider.style.setProperty("--done", `${100 * number / Math.max(1, last)}%`);
  document.getElementById("told").textContent = `Step ${number.toLocaleString("en")} of ${last.toLocaleString("en")}`;
  const can = { first: number > 0, back: number > 0, on: number < last, last: number < last, "leave-back": leaveBefore() !== undefined, "leave-on": leaveAfter() !== undefined };
  for (const [id, is] of Object.entries(can)) {
    const button = document.getElementById(id);
    // Not `disabled`, which would take the focus from the keyboard.
    button?.setAttribute("aria-disabled", String(!is));
  }
}

const leaveAfter = () => scene.leaves.find((number) => number > present);
const leaveBefore = () => scene.leaves.findLast((number) => number < present);

function play() {
  clearTimeout(timer);
  if (present >= scene.steps.length) goTo(0, true);
  timer = setTimeout(tick, 1000 / speed);
  document.getElementById("play").textContent = "Pause";
  // Nobody could listen as fast as that.
  document.getElementById("request").setAttribute("aria-live", "off");
}

function tick() {
  quick = speed > 4;
  goTo(present + 1, true);
  quick = false;
  if (present >= scene.steps.length) pause();
  else timer = setTimeout(tick, 1000 / speed);
}

function pause() {
  clearTimeout(timer);
  timer = null;
  document.getElementById("play").textContent = "Play";
  document.getElementById("request").setAttribute("aria-live", "polite");
  tellAddress();
}

const playOrPause = () => (timer === null ? play() : pause());

const KEYS = {
  ArrowRight: () => goTo(present + 1), ArrowLeft: () => goTo(present - 1), Home: () => goTo(0), End: () => goTo(scene.steps.length),
  " ": playOrPause, e: () => goTo(leaveAfter()), E: () => goTo(leaveBefore()),
};

/// A button that was clicked gives the keyboard back, so that Space plays; one that was reached by the keyboard keeps it.
function onClick(event) {
  if (event.detail > 0) event.target.closest("button")?.blur();
}

/// Keys work wherever the focus is, except where they have a meaning of their own.
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  const { tagName } = event.target;
  if (tagName === "SELECT" || (tagName === "BUTTON" && event.key === " ")) return;
  event.preventDefault();
  KEYS[event.key]();
}
