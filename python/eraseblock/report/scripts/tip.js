"use strict";
// The box beside the pointer: a name, its figure, and what else is known of what is pointed at.

const TIP_AWAY = 14;

function tipBox() {
  return document.getElementById("tip") ?? document.body.appendChild(h("div", { id: "tip", role: "status" }));
}

/// `words`: what is told, by name. `title` and `value` stand above them.
function showTip(event, words, { title = null, value = null, style = null } = {}) {
  const box = tipBox();
  const rows = Object.entries(words).map(([key, text]) => h("tr", {}, h("td", { class: "key" }, key), h("td", { class: "value" }, text)));
  box.replaceChildren(
    title === null ? "" : h("p", { class: "what" }, style ? swatch(style) : null, h("b", {}, title), " ", h("span", {}, value)),
    h("table", {}, h("tbody", {}, rows)));
  box.classList.add("visible");
  const [width, height] = [document.documentElement.clientWidth, document.documentElement.clientHeight];
  const right = event.clientX + TIP_AWAY + box.offsetWidth < width;
  const left = right ? event.clientX + TIP_AWAY : event.clientX - TIP_AWAY - box.offsetWidth;
  const below = event.clientY + TIP_AWAY + box.offsetHeight < height;
  box.style.left = `${Math.max(4, Math.min(left, width - box.offsetWidth - 4))}px`;
  box.style.top = `${Math.max(4, below ? event.clientY + TIP_AWAY : event.clientY - TIP_AWAY - box.offsetHeight)}px`;
}

function hideTip() {
  document.getElementById("tip")?.classList.remove("visible");
}

/// What plots call while something is pointed at: `words` are null when it no longer is.
function plotTip(handler, event, item, words) {
  if (words && typeof words === "object") showTip(event, words);
  else hideTip();
}
