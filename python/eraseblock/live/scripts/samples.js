"use strict";
// What the server said, once a second, and what happened between two answers.

const KEPT = 300;
// Oldest first: `{ at, standing, step }`, where `at` is this browser's time in ms, and `step` what happened since the one before.
const samples = [];

const CAUSES_OF_MOVES = ["gc", "merge", "wear", "placement"];

/// Adds an answer. After a power cut the drive counts from zero again: then nothing is known of the time between.
function take(standing, at) {
  const before = samples[samples.length - 1];
  const begins = !before || standing.requests.completed < before.standing.requests.completed || standing.flash.programs.total < before.standing.flash.programs.total;
  samples.push({ at, standing, step: begins ? null : stepOf(before.standing, standing, (at - before.at) / 1000) });
  if (samples.length > KEPT) samples.shift();
}

function stepOf(before, now, seconds) {
  const since = (get) => get(now) - get(before);
  const moved = (s) => CAUSES_OF_MOVES.reduce((sum, cause) => sum + s.flash.programs[cause], 0);
  const part = (part, whole) => (whole > 0 ? part / whole : null);
  const times = ["read", "write"].map((op) => timesSince(before.response[op], now.response[op]));
  return {
    requests: since((s) => s.requests.completed) / seconds,
    bytes: since((s) => s.requests.bytes) / seconds,
    hits: part(since((s) => s.pages.read_hits + s.pages.write_hits), since((s) => s.pages.read + s.pages.write)),
    waf: part(since((s) => s.flash.programs.total), since((s) => s.pages.write)),
    programs: since((s) => s.flash.programs.total) / seconds,
    moved: since(moved) / seconds,
    padded: since((s) => s.flash.programs.padding) / seconds,
    merges: since((s) => s.flash.merges.switch + s.flash.merges.partial + s.flash.merges.full) / seconds,
    erases: since((s) => s.flash.erases.total) / seconds,
    read: times[0], write: times[1],
  };
}

/// Counts by the end of their step of the histogram, of those that came between two answers.
function timesSince(before, now) {
  if (!now) return null;
  const earlier = new Map(before?.histogram ?? []);
  const steps = now.histogram.map(([end, count]) => [end, count - (earlier.get(end) ?? 0)]).filter(([, count]) => count > 0);
  const count = steps.reduce((sum, step) => sum + step[1], 0);
  return count ? { count, steps } : null;
}

/// The time in ns that so large a part of them took at most; none where there are none.
function quantile(times, part) {
  if (!times) return null;
  let left = part * times.count;
  for (const [end, count] of times.steps) {
    left -= count;
    if (left <= 0) return end;
  }
  return times.steps[times.steps.length - 1][0];
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
