"""How near `eraseblock tune` comes to the best of a full grid: `python tools/measure_tuning.py GRID.toml`.

Runs the whole grid once, then the search with several seeds, and says by how much the best design of each
is behind the best of the grid. What was run is kept in a folder, and is not run again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from eraseblock.advice.case import Case, Wish
from eraseblock.running import Handling, Quiet
from eraseblock.tuning.goals import Design, front, goals_of
from eraseblock.tuning.search import search
from eraseblock.tuning.space import Budget, Point, Space
from eraseblock.tuning.tune import Tuning, told

ROOT = Path(__file__).parents[1]
RUNS, SEEDS, NEAR = 60, 10, 0.02


def main() -> int:
    """Measure one grid; 1 where fewer than eight of ten seeds come near."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grid", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "tuning")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--first-seed", type=int, default=1)
    given = parser.parse_args()
    grid = tomllib.loads(given.grid.read_text(encoding="utf-8"))
    tuning = tuning_of(grid, given.out / given.grid.stem)
    points = [dict(zip(grid["choose"], values, strict=True)) for values in product(*grid["choose"].values())]
    known = {tuple(point.values()): one for point, one in zip(points, tuning.evaluate(points), strict=True)}
    fits = sum(one.fits for one in known.values())
    best = front(list(known.values()))[0]
    say(f"{given.grid.stem}: {len(points)} designs, {fits} fit; best {told(best)}, {best.values[0]:.0f}")

    def recall(asked: Sequence[Point]) -> list[Design]:
        return [known[tuple(point.values())] for point in asked]

    near = 0
    for seed in range(given.first_seed, given.first_seed + SEEDS):
        found = front(search(tuning.space, 1, given.runs, seed, recall))[0]
        behind = (found.values[0] - best.values[0]) / abs(best.values[0])
        near += behind <= NEAR
        say(f"  seed {seed}: {100 * behind:.2f} % behind with {given.runs} runs")
    say(f"  within {100 * NEAR:.0f} % of the best: {near} of {SEEDS} seeds")
    return 0 if near >= 8 else 1


def say(text: str) -> None:
    """One line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tuning_of(grid: dict[str, Any], folder: Path) -> Tuning:
    """The search in a grid; its runs are kept in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    trace = ROOT / grid["trace"] if "trace" in grid else folder / "workload.ebt"
    if "generate" in grid and not trace.exists():
        words = ["-m", "eraseblock", "trace", "generate", *grid["generate"], "-o", str(trace)]
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    wish = Wish(str(trace), grid["device"], grid.get("workload", {}), grid["sets"])
    case = Case(wish, Handling(folder=folder / "runs"), Quiet())
    return Tuning(case, Space(grid["choose"]), goals_of([grid["goal"]], Budget(), 3000))


if __name__ == "__main__":
    sys.exit(main())
