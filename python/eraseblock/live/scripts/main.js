"use strict";
// Asks the server once a second, and draws what it says.

const EVERY_MS = 1000;
const PATIENCE_MS = 8000;

function drawNow() {
  const last = samples[samples.length - 1];
  if (!last) return;
  const { standing, step } = last;
  const { requests, pages, flash, blocks, buffer } = standing;
  const late = standing.lateness && quantile({ count: standing.lateness.count, steps: standing.lateness.histogram }, 0.99);
  const all = (part, whole) => (whole ? part / whole : null);
  const cards = [
    ["Requests a second", show(step?.requests ?? null, "number"), `${show(requests.completed, "count")} in all`],
    ["Bytes a second", show(step?.bytes ?? null, "size"), `${show(requests.bytes, "size")} in all`],
    ["Reads, 99 % within", show(quantile(step?.read ?? null, 0.99), "time"), `half within ${show(quantile(step?.read ?? null, 0.5), "time")}`],
    ["Writes, 99 % within", show(quantile(step?.write ?? null, 0.99), "time"), `half within ${show(quantile(step?.write ?? null, 0.5), "time")}`],
    ["Hit ratio", show(step?.hits ?? null, "share"), `${show(all(pages.read_hits + pages.write_hits, pages.read + pages.write), "share")} in all`],
    ["Write amplification", show(step?.waf ?? null, "ratio"), `${show(all(flash.programs.total, pages.write), "ratio")} in all`],
    ["Pages moved a second", show(step?.moved ?? null, "number"), `${show(step?.padded ?? null, "number")} padded, ${show(step?.merges ?? null, "number")} merges`],
    ["Free blocks", blocks.free.toLocaleString("en"), `of ${blocks.count.toLocaleString("en")}`],
    ["Buffer", buffer.capacity ? show(buffer.pages / buffer.capacity, "share") : "none", buffer.capacity ? `of ${show(buffer.capacity * blocks.page_bytes, "size")}` : ""],
    ["Clients", standing.clients.toLocaleString("en"), `${standing.under_way} under way, ${show(standing.held_bytes, "size")}`],
    ...(late === null || late === undefined ? [] : [["Answers, 99 % late by", show(late, "time"), `all by ${show(standing.lateness.max_ns, "time")}`]]),
  ];
  document.getElementById("now").replaceChildren(...cards.map(([name, value, more]) => h("div", {}, h("dt", {}, name), h("dd", {}, value, more ? [h("br"), h("small", {}, more)] : null))));
  document.getElementById("since").textContent = `Its clock is at ${show(standing.time_ns, "time")}.`;
  drawCharts();
  drawBuffer(standing);
  drawKey();
  drawBlocks(standing);
}

function tellTrouble(sentence) {
  document.body.classList.toggle("stale", sentence !== null);
  const failed = samples[samples.length - 1]?.standing.failed;
  const notes = [sentence, failed && `The drive has failed, and can only be read: ${failed}`].filter(Boolean);
  document.getElementById("trouble").replaceChildren(...notes.map((note) => h("p", { class: "note distrust" }, note)));
}

async function ask() {
  try {
    const answer = await fetch("/standing.json", { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    take(await answer.json(), performance.now());
    tellTrouble(null);
    drawNow();
    document.body.dataset.answers = String(Number(document.body.dataset.answers ?? 0) + 1);
  } catch (error) {
    tellTrouble(`The server does not answer (${error.message}); the figures are the last ones known. This page goes on asking.`);
  }
  setTimeout(ask, EVERY_MS);
}

function start() {
  document.getElementById("theme").append(switcher("Colours", THEMES, storedTheme(), (theme) => { setTheme(theme); drawNow(); }));
  document.getElementById("blocks-by").append(switcher("Map of blocks by", BY, mapBy, (by) => { mapBy = by; drawNow(); }));
  buildCharts();
  drawKey();
  const blocks = document.getElementById("blocks");
  blocks.addEventListener("pointermove", tellCell);
  blocks.addEventListener("pointerdown", tellCell);
  systemDark.addEventListener("change", drawNow);
  window.addEventListener("resize", drawNow);
  ask();
}

start();
