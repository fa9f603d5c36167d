"use strict";
// The scenes, and what the buffer holds after any step. Steps are applied one after the other from the nearest state that was
// kept, so that going back gives what going on had given. Step 0 is before the first request.

let data = null;
let scene = null;

async function loadData() {
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent.trim()), (letter) => letter.charCodeAt(0));
  data = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

// States that are kept: so many at most, however long the scene.
const KEPT = 32;
const LEAST_APART = 32;

/// What is written back stays in the buffer.
const pagesLeave = (step) => step.done.some((one) => one.do === "leave" && one.action !== "write-back");

function takeScene(place) {
  scene = data.scenes[place];
  scene.place = place;
  scene.apart ??= Math.max(LEAST_APART, Math.ceil(scene.steps.length / KEPT));
  scene.kept ??= [startOf(scene)];
  scene.leaves ??= scene.steps.flatMap((step, index) => (pagesLeave(step) ? [index + 1] : []));
  scene.ordered ??= scene.steps.length > 0 && "order" in scene.steps[0];
}

/// Of each page whether it is dirty, since which step it is there, and when it was used last (step and place in it).
function startOf({ start }) {
  const dirty = new Set(start.dirty);
  return new Map(start.pages.map((page, place) => [page, { dirty: dirty.has(page), since: 0, used: 0, place }]));
}

/// Pages are replaced and never changed, so that copies of a state can share them.
function apply(held, step, number) {
  for (const page of step.gone) held.delete(page);
  for (const page of step.cleaned) held.set(page, { ...held.get(page), dirty: false });
  const [dirty, came] = [new Set(step.dirty), new Set(step.came)];
  step.used.forEach((page, place) => held.set(page, { dirty: dirty.has(page), since: came.has(page) ? number : held.get(page).since, used: number, place }));
}

function heldAfter(number) {
  const nearest = Math.min(Math.floor(number / scene.apart), scene.kept.length - 1);
  const held = new Map(scene.kept[nearest]);
  for (let next = nearest * scene.apart + 1; next <= number; next += 1) {
    apply(held, scene.steps[next - 1], next);
    if (next % scene.apart === 0 && scene.kept.length === next / scene.apart) scene.kept.push(new Map(held));
  }
  return held;
}

const blockOf = (page) => Math.floor(page / scene.pages_per_block);
const stepOf = (number) => (number ? scene.steps[number - 1] : null);

const FIGURES = ["pages", "hits", "hostWrites", "toFlash", "fromFlash", "evictions", "evicted"];

/// Figures since the log began.
function figuresAfter(number) {
  const row = number ? scene.steps[number - 1].counts : scene.before;
  return Object.fromEntries(FIGURES.map((name, place) => [name, row[place]]));
}
