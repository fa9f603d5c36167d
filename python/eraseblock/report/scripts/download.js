"use strict";
// Hands out files: tables as CSV, and plots and tables as SVG and PNG. All of it works from a file without a network.

const PNG_SCALE = 2;

function save(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function fileName(...parts) {
  const text = parts.join("-").toLowerCase().replace(/[^\p{Letter}\p{Number}.]+/gu, "-");
  return text.replace(/^-+|-+$/g, "").slice(0, 120);
}

/// RFC 4180: fields with commas, quotes or line ends in quotes; nothing for what a run does not have.
function csv(header, rows) {
  const field = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [header, ...rows].map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

/// The picture as a PNG of twice its size, for screens and slides.
async function pngOf(svgText) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText)}`;
  await image.decode();
  const canvas = h("canvas", { width: Math.ceil(image.naturalWidth * PNG_SCALE), height: Math.ceil(image.naturalHeight * PNG_SCALE) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

/// A table as a picture: text on a grid, numbers to the right. Cells are `{ text, bold, left }`.
function tableSvg(title, header, rows) {
  const [height, gap, margin] = [22, 22, 20];
  const brush = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  brush.font = `600 13px ${family}`;
  const lines = [header.map((text, place) => ({ text, left: rows[0]?.[place]?.left })), ...rows];
  const widths = header.map((_, place) => Math.ceil(Math.max(...lines.map((line) => brush.measureText(line[place].text).width))));
  const starts = widths.map((_, place) => margin + widths.slice(0, place).reduce((sum, width) => sum + width + gap, 0));
  const width = starts.at(-1) + widths.at(-1) + margin;
  const top = margin + 30;
  const cell = (entry, place, row) => svg("text", {
    x: entry.left ? starts[place] : starts[place] + widths[place], y: top + row * height + 15,
    "text-anchor": entry.left ? "start" : "end", fill: colour(row ? "--ink" : "--soft"), "font-weight": entry.bold ? 600 : null,
  }, entry.text);
  const picture = svg("svg", {
    xmlns: "http://www.w3.org/2000/svg", width, height: top + lines.length * height + margin,
    "font-family": family.replaceAll('"', "'"), "font-size": 13,
  },
  svg("rect", { width: "100%", height: "100%", fill: colour("--card") }),
  svg("text", { x: margin, y: margin + 12, fill: colour("--ink"), "font-size": 15, "font-weight": 600 }, title),
  svg("line", { x1: margin, x2: width - margin, y1: top + height - 1, y2: top + height - 1, stroke: colour("--rule") }),
  lines.map((line, row) => line.map((entry, place) => cell(entry, place, row))));
  return new XMLSerializer().serializeToString(picture);
}

/// The menu of a plot or table: each item saves one kind of file.
function saveMenu(about, items) {
  return menu({ class: "tools" }, h("span", { "aria-label": `Save ${about}` }, "Save"),
    items.map(([text, action]) => h("button", {
      type: "button", "data-save": text.toLowerCase(),
      onclick: async (event) => {
        event.target.closest("details").open = false;
        await action();
      },
    }, text)));
}
