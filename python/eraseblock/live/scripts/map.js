"use strict";
// The map of blocks, and what of the drive is in RAM alone.

const BY = [["use", "Use"], ["wear", "Wear"]];
let mapBy = "use";
// Where each cell is, for whoever points at one.
let grid = null;

/// A canvas as wide as its place and so high, in the screen's own pixels; its context, in CSS pixels.
function sheet(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  return [context, width];
}

function drawBuffer({ buffer }) {
  const fill = buffer.capacity ? buffer.pages / buffer.capacity : 0;
  const meter = document.getElementById("meter");
  meter.firstElementChild.style.width = `${100 * fill}%`;
  meter.setAttribute("aria-label", `The buffer is filled to ${show(fill, "share")}`);
  document.getElementById("buffer-told").textContent = buffer.capacity
    ? `${show(buffer.pages, "count")} of ${plural(buffer.capacity, "page")} are taken (${show(fill, "share")}). Of ${plural(buffer.unstored, "page")} the newest bytes are in RAM alone: in the buffer, or on their way to flash.`
    : `The drive has no buffer. ${plural(buffer.unstored, "page")} are on their way to flash.`;
  const canvas = document.getElementById("slices");
  const [context, width] = sheet(canvas, 34);
  const slices = buffer.by_slice;
  const most = Math.max(1, ...slices);
  context.fillStyle = colour("--s1");
  slices.forEach((pages, place) => {
    if (!pages) return;
    const [from, to] = [place, place + 1].map((edge) => width * edge / slices.length);
    const height = Math.max(2, 34 * pages / most);
    context.fillRect(from, 34 - height, Math.max(1, to - from - 0.5), height);
  });
  canvas.setAttribute("aria-label", `Pages in RAM alone by place on the drive: at most ${most} in one of ${slices.length} slices`);
}

function drawBlocks({ blocks }) {
  const pages = blocks.count * blocks.pages_per_block;
  const free = sum(blocks.free_pages), valid = sum(blocks.valid_pages);
  const most = Math.max(...blocks.most_erases);
  const together = blocks.per_cell > 1 ? ` A cell is ${blocks.per_cell} blocks.` : "";
  const life = blocks.endurance ? ` of ${show(blocks.endurance, "count")} that it endures` : "";
  document.getElementById("blocks-told").textContent = `${plural(blocks.count, "block")} of ${plural(blocks.pages_per_block, "page")}, ${blocks.free.toLocaleString("en")} erased and at hand: `
    + `${show(free / pages, "share")} of the pages are free, ${show(valid / pages, "share")} valid, ${show(1 - (free + valid) / pages, "share")} invalid. `
    + `A block has been erased ${show(blocks.erases / blocks.count, "number")} times on average, one of them ${show(most, "count")} times${life}.${together}`;
  const canvas = document.getElementById("blocks");
  const cells = blocks.free_pages.length;
  const width = canvas.clientWidth;
  // As square as fits a picture of a third of its width, or of a telephone's screen.
  const size = Math.max(5, Math.min(26, Math.floor(Math.sqrt(width * Math.max(width / 3, 320) / cells))));
  const columns = Math.max(1, Math.floor(width / size));
  const [context] = sheet(canvas, Math.ceil(cells / columns) * size + 2);
  grid = { size, columns, cells };
  const [validPaint, invalidPaint, none, low, high] = ["--s0", "--s1", "--m0", "--m1", "--m2"].map(colour);
  const gap = size > 7 ? 1 : 0.5;
  for (let cell = 0; cell < cells; cell++) {
    const left = 1 + (cell % columns) * size, top = 1 + Math.floor(cell / columns) * size, side = size - gap;
    context.fillStyle = none;
    context.fillRect(left, top, side, side);
    if (mapBy === "wear") {
      const share = most ? blocks.most_erases[cell] / most : 0;
      // From the paper's side to the ink's, in two pieces.
      context.globalAlpha = share < 0.5 ? 2 * share : 1;
      context.fillStyle = low;
      context.fillRect(left, top, side, side);
      context.globalAlpha = share < 0.5 ? 0 : 2 * share - 1;
      context.fillStyle = high;
      context.fillRect(left, top, side, side);
      context.globalAlpha = 1;
      continue;
    }
    const all = pagesOf(blocks, cell);
    const invalid = all - blocks.free_pages[cell] - blocks.valid_pages[cell];
    const validSide = side * blocks.valid_pages[cell] / all, invalidSide = side * invalid / all;
    context.fillStyle = validPaint;
    context.fillRect(left, top + side - validSide, side, validSide);
    context.fillStyle = invalidPaint;
    context.fillRect(left, top + side - validSide - invalidSide, side, invalidSide);
  }
  canvas.setAttribute("aria-label", `Map of blocks: ${document.getElementById("blocks-told").textContent}`);
}

/// Pages of a cell; the last one may have fewer blocks.
const pagesOf = (blocks, cell) => Math.min(blocks.per_cell, blocks.count - cell * blocks.per_cell) * blocks.pages_per_block;

function drawKey() {
  const keys = mapBy === "use" ? [["--s0", "valid"], ["--s1", "invalid"], ["--m0", "free"]] : [["--m0", "never erased"], ["--m1", "half as often"], ["--m2", "as often as the block with most erases"]];
  document.getElementById("blocks-key").replaceChildren(...keys.map(([paint, name]) => h("span", {}, h("i", { style: `background: var(${paint})` }), name)));
}

/// Says what a cell is that is pointed at.
function tellCell(event) {
  const told = document.getElementById("cell-told");
  const last = samples[samples.length - 1];
  const cell = grid && last ? Math.floor((event.offsetY - 1) / grid.size) * grid.columns + Math.floor((event.offsetX - 1) / grid.size) : -1;
  if (cell < 0 || !grid || cell >= grid.cells || event.offsetX - 1 >= grid.columns * grid.size) {
    told.textContent = "";
    return;
  }
  const { blocks } = last.standing;
  const first = cell * blocks.per_cell, end = Math.min(first + blocks.per_cell, blocks.count);
  const all = pagesOf(blocks, cell), free = blocks.free_pages[cell], valid = blocks.valid_pages[cell];
  told.textContent = `${end - first > 1 ? `Blocks ${first} to ${end - 1}` : `Block ${first}`}: ${valid} pages valid, ${all - free - valid} invalid, ${free} free; erased ${end - first > 1 ? "at most " : ""}${plural(blocks.most_erases[cell], "time")}.`;
}
