"use strict";
// Builds elements. Children that are text become text nodes, so that no name of a trace can become markup.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/// A button that opens a list below itself; it closes by Escape, by a click elsewhere, and when the focus leaves it.
function menu(attributes, title, ...items) {
  const box = h("details", { ...attributes, class: `menu ${attributes.class ?? ""}` }, h("summary", {}, title),
    h("div", { class: "sheet" }, items));
  const close = () => { box.open = false; };
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.open) return;
    close();
    box.querySelector("summary").focus();
  });
  box.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !box.contains(event.relatedTarget)) close();
  });
  box.addEventListener("toggle", () => {
    if (!box.open) return;
    const elsewhere = (event) => {
      if (box.open && box.contains(event.target)) return;
      close();
      document.removeEventListener("pointerdown", elsewhere);
    };
    document.addEventListener("pointerdown", elsewhere);
    // A list that would leave the window on the right is laid to the left.
    const sheet = box.querySelector(".sheet");
    sheet.classList.remove("left");
    sheet.classList.toggle("left", sheet.getBoundingClientRect().right > document.documentElement.clientWidth - 4);
  });
  return box;
}

function choice(label, options, value, change) {
  const groups = new Map();
  for (const option of options) {
    const group = option.group ?? "";
    groups.set(group, [...(groups.get(group) ?? []), h("option", { value: option.value, selected: option.value === value }, option.label)]);
  }
  const items = [...groups].map(([group, members]) => (group ? h("optgroup", { label: group }, members) : members));
  return h("label", { class: "choice" }, label, " ", h("select", { onchange: (event) => change(event.target.value) }, items));
}

/// A few buttons of which one is pressed.
function switcher(label, options, value, change) {
  const buttons = options.map(([key, text]) => h("button", {
    type: "button", "aria-pressed": String(key === value), "data-value": key,
    onclick: (event) => {
      for (const button of event.target.parentElement.children) button.setAttribute("aria-pressed", String(button === event.target));
      change(key);
    },
  }, text));
  return h("span", { class: "switcher", role: "group", "aria-label": label }, buttons);
}

function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}
