"use strict";
// The bar of choices: which values of each axis are shown, what runs across, what gives colours, and which figure is drawn.

function drawFilters() {
  const others = data.varying.filter((axis) => axis.id !== state.colour);
  document.getElementById("filters").replaceChildren(
    colourAxis().labels.length > 1 ? legendOf(colourAxis()) : "",
    h("div", { class: "row choices", id: "choices" },
      choices(),
      others.map(axisMenu),
      data.notes.reasons.all?.length === 0 ? null : h("label", { class: "choice" }, h("input", {
        type: "checkbox", id: "trusted", checked: state.trusted,
        onchange: (event) => {
          state.trusted = event.target.checked;
          changed();
        },
      }), " Trusted runs only"),
      h("span", { class: "push hint", id: "shown", role: "status" })),
  );
  document.getElementById("filters").classList.toggle("tall", othersShown);
}

/// Which figure is drawn, what runs across, and what gives the colours.
function choices() {
  const axes = data.varying.map((axis) => ({ value: axis.id, label: axis.title }));
  return [
    choice("Figure", figureChoices(), state.figure, (value) => {
      state.figure = value;
      changed();
    }),
    data.varying.length > 1 ? [
      choice("Across", [...axes, { value: "", label: "nothing (bars)" }], state.across, setAcross),
      choice("Colour", axes, state.colour, setColour),
    ] : [],
  ];
}

/// An axis can have one role only: what is taken from the other is given to it.
function setAcross(id) {
  if (id === state.colour) state.colour = state.across || data.varying.find((axis) => axis.id !== id).id;
  state.across = id;
  state.at = defaultAt();
  changed();
}

function setColour(id) {
  if (id === state.across) {
    state.across = state.colour;
    state.at = defaultAt();
  }
  state.colour = id;
  changed();
}

function axisMenu(axis) {
  const hidden = state.hidden.get(axis.id);
  const summary = () => {
    const left = axis.labels.filter((_, place) => !hidden.has(place));
    const told = !hidden.size ? `all ${axis.labels.length}` : left.length && left.join(", ").length < 24 ? left.join(", ") : `${left.length} of ${axis.labels.length}`;
    return `${axis.title}: ${told}`;
  };
  const title = h("span", {}, summary());
  const boxes = axis.labels.map((label, place) => h("input", {
    type: "checkbox", checked: !hidden.has(place),
    onchange: (event) => {
      if (event.target.checked) hidden.delete(place);
      else hidden.add(place);
      update();
    },
  }));
  const update = () => {
    title.textContent = summary();
    changed({ controls: false });
  };
  const all = (checked) => () => {
    for (const [place, box] of boxes.entries()) {
      box.checked = checked;
      if (checked) hidden.delete(place);
      else hidden.add(place);
    }
    update();
  };
  return menu({ "data-axis": axis.id }, title,
    h("div", { class: "row" }, h("button", { type: "button", onclick: all(true) }, "All"), h("button", { type: "button", onclick: all(false) }, "None")),
    boxes.map((box, place) => h("label", {}, box, " ", axis.labels[place])));
}
