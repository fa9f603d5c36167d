"use strict";
// The requests in a row, with the present one in the middle; a press on one goes there.

const AROUND = 24;

function drawRail(number) {
  const rail = document.getElementById("rail");
  const from = Math.max(0, number - AROUND);
  const to = Math.min(scene.steps.length, number + AROUND);
  const items = [];
  for (let place = from; place <= to; place += 1) items.push(railItem(place, number));
  put("rail", from ? h("span", { class: "hint" }, "…") : "", ...items, to < scene.steps.length ? h("span", { class: "hint" }, "…") : "");
  const here = rail.querySelector("[aria-current]");
  rail.scrollLeft = here.offsetLeft - rail.offsetLeft - (rail.clientWidth - here.offsetWidth) / 2;
}

function railItem(place, number) {
  const step = stepOf(place);
  const leaves = step && pagesLeave(step);
  const misses = step?.done.some((one) => ["insert", "fill", "bypass"].includes(one.do));
  const hits = step?.done.some((one) => one.do === "hit");
  return h("button", {
    type: "button", "data-step": place, "aria-current": place === number ? "step" : null, class: place > number ? "ahead" : "",
    title: step ? `Step ${place}: ${requestTold(step)}${leaves ? "; pages leave" : ""}` : "Before the first request", onclick: () => goTo(place),
  }, step ? (step.asked ?? requestShort(step)) : "start",
  h("span", { class: "marks", "aria-hidden": "true" }, hits ? h("i", { class: "hit" }) : null, misses ? h("i", { class: "miss" }) : null, leaves ? h("i", { class: "leave" }) : null));
}
