"use strict";
// The buffer as a picture: blocks with a place for each of their pages, or pages alone, in the order that was chosen.

const ORDERS = { scheme: "Scheme's order", blocks: "Blocks by last use", pages: "Pages by last use", address: "By address" };
// Blocks with more pages are drawn as a strip without numbers.
const MOST_NUMBERED = 16;
// What a browser draws anew without a halt: places in blocks, and pages alone. Of more, the first and the last are drawn.
const MOST_PLACES = 2400;
const MOST_ALONE = 600;
const LEAST_BLOCKS = 24;
const LAST_SHARE = 1 / 4;

let order = null;

const orders = () => (scene.ordered ? ["scheme", "blocks", "pages", "address"] : ["blocks", "pages", "address"]);

/// Pages where pages leave alone, else blocks.
function usualOrder() {
  if (scene.ordered) return "scheme";
  const together = scene.steps.some((step) => step.done.some((one) => one.do === "leave" && one.pages.length > 1));
  return together || !scene.leaves.length ? "blocks" : "pages";
}

const later = (one, other) => other.used - one.used || other.place - one.place;

/// Whether the groups of a scheme's order are blocks; they may as well be requests, or queues whose order is to be seen.
const isOfBlocks = ({ steps }) => steps.every(({ order: groups }) => groups.every((group) => group.every((page, place) => blockOf(page) === blockOf(group[0]) && (place === 0 || group[place - 1] < page))));

/// Whether pages of a block stand apart: then what has one page is a page, and no block.
const isMixed = ({ steps }) => steps.some(({ order: groups }) => {
  const blocks = groups.flatMap((group) => [...new Set(group.map(blockOf))]);
  return new Set(blocks).size < blocks.length;
});

/// Groups of pages, in order.
function groupsOf(held, number) {
  if (order === "scheme") return number ? stepOf(number).order : [];
  const pages = [...held.keys()];
  if (order === "pages") return pages.sort((one, other) => later(held.get(one), held.get(other))).map((page) => [page]);
  const blocks = new Map();
  for (const page of pages.sort((one, other) => one - other)) {
    const block = blockOf(page);
    if (!blocks.has(block)) blocks.set(block, []);
    blocks.get(block).push(page);
  }
  const groups = [...blocks.values()];
  if (order === "address") return groups;
  const latest = new Map(groups.map((group) => [group, group.map((page) => held.get(page)).reduce((one, other) => (later(one, other) > 0 ? other : one))]));
  return groups.sort((one, other) => later(latest.get(one), latest.get(other)));
}

const ORDER_TOLD = {
  scheme: "in the scheme's own order",
  blocks: "the block that was used last comes first; the log does not tell the scheme's own order",
  pages: "the page that was used last comes first; the log does not tell the scheme's own order",
  address: "blocks by their number",
};

function drawBuffer(number) {
  const held = heldAfter(number);
  const groups = groupsOf(held, number);
  const before = placesDrawn();
  const alone = groups.every((group) => group.length === 1) && (order === "pages" || (order === "scheme" && scene.alone));
  const dirty = [...held.values()].filter((one) => one.dirty).length;
  const most = alone ? MOST_ALONE : Math.max(LEAST_BLOCKS, Math.floor(MOST_PLACES / scene.pages_per_block));
  const left = groups.length - most;
  const last = Math.floor(most * LAST_SHARE);
  const drawn = left > 0 ? [...groups.slice(0, most - last), null, ...groups.slice(-last)] : groups;
  put("buffer",
    h("div", { class: "row" }, h("h2", {}, "Buffer"), h("span", { class: "push" }, orders().length > 1 ? choice("Show", orders().map((key) => ({ value: key, label: ORDERS[key] })), order, (key) => { order = key; drawBuffer(present); }) : null)),
    meter(held.size, dirty),
    h("p", { class: "hint" }, scene.ordered && order === "blocks" ? "the block that was used last comes first" : scene.ordered && order === "pages" ? "the page that was used last comes first" : ORDER_TOLD[order]),
    h("ol", { class: alone ? "groups alone" : "groups" }, drawn.map((group, place) => (group
      ? (alone || isPage(group) ? h("li", { "data-key": `p${group[0]}` }, cell(group[0], held, number)) : blockBox(group, place, held, number))
      : h("li", { class: "more" }, `${left.toLocaleString("en")} more`)))),
    groups.length ? null : h("p", { class: "empty" }, "Empty"),
    legendOfCells(),
  );
  slide(before);
}

const isPage = (group) => order === "scheme" && scene.mixed && group.length === 1;

function meter(count, dirty) {
  const share = (pages) => `${(100 * pages / Math.max(1, scene.capacity)).toFixed(2)}%`;
  return h("div", { class: "fullness" },
    h("div", { class: "meter", role: "img", "aria-label": `${count} of ${scene.capacity} pages, ${dirty} of them dirty` },
      h("i", { class: "dirty", style: `width:${share(dirty)}` }), h("i", { class: "clean", style: `width:${share(count - dirty)}` })),
    h("span", { id: "fill" }, `${count.toLocaleString("en")} of ${plural(scene.capacity, "page")}, ${dirty.toLocaleString("en")} dirty`));
}

/// A block: its number, and a place for each of its pages, those not in the buffer empty.
function blockBox(group, place, held, number) {
  const block = blockOf(group[0]);
  const size = scene.pages_per_block;
  const strip = size > MOST_NUMBERED;
  const whole = order !== "scheme" || scene.ofBlocks;
  const inside = new Set(group);
  const places = whole ? Array.from({ length: size }, (_, place) => block * size + place) : group;
  const cells = places.map((page) => (inside.has(page) ? cell(page, held, number, strip) : h("span", { class: "cell hole", "aria-hidden": "true" })));
  const name = whole ? `block ${block}` : group.length ? plural(group.length, "page") : "empty";
  return h("li", { class: `block ${strip ? "strip" : ""}`, "data-key": whole ? `b${block}` : `g${place}`, "data-block": whole ? block : null, "aria-label": `${name}: ${named(group)}` },
    h("p", {}, name, whole ? h("span", { class: "hint" }, ` ${group.length}/${size}`) : null),
    h("div", { class: "cells", style: strip ? `--across:${Math.min(32, size)}` : null }, cells));
}

function cell(page, held, number, strip = false) {
  const one = held.get(page);
  const used = one.used === number && number > 0;
  const state = one.dirty ? "dirty" : "clean";
  const how = !used ? "" : one.since === number ? "new" : "used";
  const told = `page ${page}, ${state}, ${one.since ? `here since step ${one.since}` : "here from the start"}${one.used ? `, used in step ${one.used}` : ""}`;
  return h("span", { class: `cell ${state} ${how}`, "data-page": page, title: told }, strip ? null : page);
}

function legendOfCells() {
  const entry = (kind, text) => h("span", {}, h("span", { class: `cell ${kind}`, "aria-hidden": "true" }), text);
  return h("p", { class: "key hint" }, entry("dirty", "dirty"), entry("clean", "clean"), entry("dirty new", "came in this step"), entry("dirty used", "hit in this step"));
}

// Things glide to their new places, so that the eye can follow; not more of them than move smoothly.
const MOST_MOVED = 90;
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

function placesDrawn() {
  const items = [...document.querySelectorAll("#buffer [data-key]")];
  if (still.matches || items.length > MOST_MOVED) return new Map();
  return new Map(items.map((item) => [item.dataset.key, item.getBoundingClientRect()]));
}

function slide(before) {
  if (!before.size || quick) return;
  for (const item of document.querySelectorAll("#buffer [data-key]")) {
    const was = before.get(item.dataset.key);
    const is = item.getBoundingClientRect();
    if (was && (was.left !== is.left || was.top !== is.top)) {
      item.animate([{ transform: `translate(${was.left - is.left}px, ${was.top - is.top}px)` }, { transform: "none" }], { duration: 220, easing: "ease-out" });
    } else if (!was) {
      item.animate([{ opacity: 0, transform: "scale(.92)" }, { opacity: 1, transform: "none" }], { duration: 220, easing: "ease-out" });
    }
  }
}
