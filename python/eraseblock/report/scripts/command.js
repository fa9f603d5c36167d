"use strict";
// Commands that make runs again. Runs that differ only in what `compare` takes as a list become one command.

const LISTS = ["trace", "ftl", "size", "scheme"];

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/// The runs' commands as one text for a shell.
function commandOf(runs) {
  const pieces = runs.map((run) => data.commands[run]);
  const compared = grouped(pieces.filter((piece) => !piece.toml), (piece) => JSON.stringify([piece.device, piece.options, piece.sets, piece.verify ?? false]));
  const files = [...new Set(pieces.filter((piece) => piece.toml).map((piece) => JSON.stringify([piece.toml, piece.verify ?? false])))];
  const total = [...compared.values()].flatMap(asProducts);
  const count = total.length + files.length;
  const folder = (place) => quoted(`out/${fileName(data.name) || "results"}-again${count > 1 ? `-${place + 1}` : ""}`);
  const lines = [
    ...total.map((product, place) => compareCommand(product, folder(place))),
    ...files.map((file, place) => runCommand(...JSON.parse(file), folder(total.length + place))),
  ];
  if (count > 1) lines.push(`eraseblock report ${lines.map((_, place) => folder(place)).join(" ")} -o ${quoted(`out/${fileName(data.name) || "results"}-again`)}`);
  return `# eraseblock ${data.made.join(", ")}\n${lines.join("\n")}\n`;
}

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}

/// Splits pieces into sets in which every combination of the lists' values occurs: each is one command.
function asProducts(pieces) {
  const lists = LISTS.map((key) => [...new Set(pieces.map((piece) => piece[key]))]);
  const combinations = new Set(pieces.map((piece) => LISTS.map((key) => piece[key]).join("\n")));
  const full = lists.reduce((product, list) => product * list.length, 1);
  if (combinations.size === full) return [Object.fromEntries(LISTS.map((key, place) => [key, lists[place]]).concat([["piece", pieces[0]]]))];
  // The axis with most values is the one whose values are done apart last.
  const key = LISTS.find((name, place) => lists[place].length > 1);
  return [...grouped(pieces, (piece) => piece[key]).values()].flatMap(asProducts);
}

function compareCommand({ piece, trace, ftl, size, scheme }, folder) {
  const words = [
    ["eraseblock", "compare", ...trace.map((path) => (path.startsWith("-") ? `./${path}` : path))],
    ["--device", piece.device, "--ftls", ftl.join(","), "--buffers", scheme.join(",")],
    ["--buffer-size", size.join(",")],
    ...piece.options,
    ...piece.sets.map((set) => ["--set", set]),
    ...(piece.verify ? [["--verify"]] : []),
  ];
  return [...words.map((line) => line.map(quoted).join(" ")), `-o ${folder}`].join(" \\\n    ");
}

function runCommand(toml, verify, folder) {
  return `eraseblock run /dev/stdin ${verify ? "--verify " : ""}-o ${folder} <<'EXPERIMENT'\n${toml}\nEXPERIMENT`;
}

/// The command with a button that copies it.
function commandBox(runs) {
  return copyBox(commandOf(runs),
    h("p", { class: "hint" }, "Paths of traces stand as the runs named them: from the folder of the experiment file, or, with compare, from the folder in which it ran. ",
      "The SHA-256 under Configuration tells whether a file is the same."));
}

function showCommand(title, runs) {
  const dialog = h("dialog", { "aria-label": title, onclose: () => dialog.remove() },
    h("form", { method: "dialog" }, h("h2", {}, title), h("button", { class: "close", "aria-label": "Close" }, "Close")),
    runs.length ? commandBox(runs) : h("p", {}, "No runs are shown."));
  document.body.append(dialog);
  dialog.showModal();
}
