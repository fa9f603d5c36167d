"use strict";
// Starts the page and follows its address: `#step=12`, with several examples `#example=2&step=12`.

let present = 0;

/// Go to a step; whoever goes there by hand ends playing.
function goTo(number, playing = false) {
  if (number === undefined || Number.isNaN(number)) return;
  if (!playing && timer !== null) pause();
  present = Math.min(Math.max(0, Math.trunc(number)), scene.steps.length);
  draw();
  if (!playing) tellAddress();
}

function draw() {
  drawControls(present);
  drawRail(present);
  drawRequest(present);
  drawBuffer(present);
  drawFigures(present);
  document.body.dataset.step = present;
}

function drawFigures(number) {
  const { pages, hits, hostWrites, toFlash, fromFlash, evictions, evicted } = figuresAfter(number);
  const figure = (name, value, told) => h("div", { title: told }, h("dt", {}, name), h("dd", {}, value));
  const many = (value) => value.toLocaleString("en");
  put("figures",
    figure("Hit ratio", pages ? `${(100 * hits / pages).toFixed(1)} %` : "–", `${many(hits)} of ${many(pages)} pages`),
    figure("Written by the host", many(hostWrites), "pages"),
    figure("Written to flash", many(toFlash), "pages; what the FTL copies comes on top, and is not in the log"),
    figure("Read from flash", many(fromFlash), "pages, at most: what was never written, or is on its way to flash, is not read"),
    figure("Evictions", many(evictions), "decisions by which pages left or were written"),
    figure("Pages each", evictions ? (evicted / evictions).toFixed(1) : "–", "pages of an eviction, on average"));
}

const addressOf = () => `#${data.scenes.length > 1 ? `example=${scene.place + 1}&` : ""}step=${present}`;

function tellAddress() {
  if (location.hash !== addressOf()) history.replaceState(null, "", addressOf());
}

function follow() {
  const words = new URLSearchParams(location.hash.slice(1));
  const place = Math.min(Math.max(1, Number(words.get("example")) || 1), data.scenes.length) - 1;
  if (place !== scene?.place) showScene(place);
  goTo(Number(words.get("step")) || 0);
}

function showScene(place) {
  if (timer !== null) pause();
  takeScene(place);
  scene.alone ??= scene.ordered && scene.steps.every((step) => step.order.every((group) => group.length === 1));
  scene.ofBlocks ??= scene.ordered && isOfBlocks(scene);
  scene.mixed ??= scene.ordered && isMixed(scene);
  order = usualOrder();
  present = 0;
  const setting = `A buffer of ${plural(scene.capacity, "page")}, ${plural(scene.pages_per_block, "page")} a block`;
  put("scenes", data.scenes.length > 1
    ? h("div", { class: "tabs row", role: "group", "aria-label": "Examples" }, data.scenes.map((one, other) => h("button", {
      type: "button", "aria-pressed": String(other === place), onclick: () => { showScene(other); goTo(0); } }, one.title)))
    : "");
  const many = scene.settings.length > 3;
  put("about",
    data.scenes.length > 1 ? "" : h("h2", {}, scene.title),
    scene.shows ? h("p", { class: "shows" }, withCode(scene.shows)) : "",
    h("p", { class: "hint" }, setting, scene.settings.length && !many ? `, ${scene.settings.join(", ")}.` : "."),
    many ? h("details", { class: "hint" }, h("summary", {}, plural(scene.settings.length, "option")), h("p", {}, scene.settings.join(", "))) : "",
    ...scene.notes.map((note) => h("p", { class: "note" }, note)));
  buildControls();
}

async function start() {
  try {
    await loadData();
  } catch (error) {
    put("request", h("p", { class: "note distrust" }, `This page could not be built: ${error.message}. It needs a browser from 2023 or later.`));
    throw error;
  }
  document.getElementById("theme").append(switcher("Colours", THEMES, storedTheme(), setTheme));
  follow();
  window.addEventListener("hashchange", follow);
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
}

start();
