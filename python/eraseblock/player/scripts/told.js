"use strict";
// The card of a step: the request, what the buffer did, and what leaves with its reason.

// A step with more of them is cut.
const MOST_DONE = 60;

function drawRequest(number) {
  const step = stepOf(number);
  if (!step) {
    put("request", h("h2", {}, "Before the first request"),
      h("p", { class: "hint" }, scene.start.pages.length ? `The buffer holds ${plural(scene.start.pages.length, "page")} of the requests before.` : "The buffer is empty. Press → or Play."));
    return;
  }
  const done = condensed(withOperations(step));
  const shown = done.slice(0, MOST_DONE);
  put("request",
    scene.ordered ? null : h("p", { class: "hint" }, step.request === null ? "After the last request" : `Request ${step.request.toLocaleString("en")} of the log`),
    h("h2", {}, requestTold(step)),
    h("ol", { class: "done" }, shown.map((one) => doneItem(step, one))),
    done.length > MOST_DONE ? h("p", { class: "hint" }, `and ${plural(done.length - MOST_DONE, "further decision")}`) : null,
    step.done.length ? null : h("p", { class: "hint" }, "The buffer has nothing to do."),
  );
}

/// What was done, each with the operation that it was done for.
function withOperations(step) {
  let [[op]] = step.lines;
  return step.done.map((one) => {
    if (one.do === "part") [op] = step.lines[one.line];
    return { ...one, op };
  });
}

const ANSWERS = ["hit", "insert", "fill", "bypass"];

/// Where page after page leaves for one that comes, that is told once.
function condensed(done) {
  const told = [];
  let run = [];
  const end = () => {
    const leaving = run.filter((one) => one.do === "leave");
    const coming = run.filter((one) => one.do !== "leave");
    if (leaving.length < 2) told.push(...run);
    else told.push({ ...leaving[0], pages: leaving.flatMap((one) => one.pages), dirty: leaving.flatMap((one) => one.dirty), times: leaving.length },
      ...(coming.length ? [{ ...coming[0], pages: coming.flatMap((one) => one.pages) }] : []));
    run = [];
  };
  for (const one of done) {
    const alone = one.do === "leave" && one.pages.length === 1 && !one.padding;
    const like = run.find((other) => (other.do === "leave") === alone);
    const fits = alone ? !like || ["action", "reason", "channel", "pattern"].every((key) => like[key] === one[key])
      : ANSWERS.includes(one.do) && (!like || like.do === one.do);
    if (!fits) end();
    if (alone || ANSWERS.includes(one.do)) run.push(one);
    else told.push(one);
  }
  end();
  return told;
}

const tag = (kind) => h("span", { class: `tag ${kind}` }, TAGS[kind]);

function doneItem(step, one) {
  if (one.do === "leave") return leaveItem(one);
  if (one.do === "note") return h("li", {}, tag("said"), h("span", {}, capital(noteTold(one))));
  if (one.do === "part") {
    const [op, first, count] = step.lines[one.line];
    return h("li", { class: "part" }, first === null ? OPERATIONS[op] : `${OPERATIONS[op]} ${spanTold(first, count)}`);
  }
  const [kind, text] = DONE[one.do](one, one.op);
  return h("li", {}, tag(kind), h("span", {}, text));
}

function leaveItem(one) {
  const stays = one.action === "write-back";
  return h("li", { class: stays ? "leaves stays" : "leaves" }, tag(stays ? "stored" : "leave"), h("div", {},
    h("p", {}, h("b", {}, capital(named(one.pages))), one.pattern ? h("span", { class: "hint" }, `, pattern ${one.pattern}`) : null,
      one.times ? h("span", { class: "hint" }, ", one by one") : null),
    h("p", { class: "reason" }, "Why: ", one.reason),
    one.pages.length > 1 ? leavingPages(one) : null,
    h("p", { class: "fate" }, h("span", { "aria-hidden": "true" }, one.action === "drop" ? "✕ " : "→ "), capital(fateTold(one)))));
}

// More pages than these are told in words alone.
const MOST_DRAWN = 32;

/// The pages as they were in the buffer, with what is read to complete them.
function leavingPages({ pages, dirty, padding = [] }) {
  const all = padding.length ? [...pages, ...padding].sort((one, other) => one - other) : pages;
  if (all.length > MOST_DRAWN) return null;
  return h("div", { class: "cells leaving", "aria-hidden": "true" },
    all.map((page) => h("span", { class: `cell ${pages.includes(page) ? (dirty.includes(page) ? "dirty" : "clean") : "padding"}` }, page)));
}
