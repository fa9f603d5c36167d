"use strict";
// Copies a text, and a button that does.

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without leave for the clipboard the old way is left: select and copy.
    const area = h("textarea", { class: "offstage" });
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/// A command with a button that copies it; more to say stands below.
function copyBox(text, ...more) {
  const said = h("span", { class: "hint", role: "status" });
  const copy = h("button", {
    type: "button", class: "copy",
    onclick: async () => {
      await copyText(text);
      said.textContent = "copied";
      setTimeout(() => { said.textContent = ""; }, 2000);
    },
  }, "Copy");
  return h("div", { class: "command" }, h("pre", { tabindex: 0, "aria-label": "Command" }, text), h("div", {}, copy, " ", said), more);
}
