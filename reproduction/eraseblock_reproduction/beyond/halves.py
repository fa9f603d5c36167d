"""Two halves of the studies: on one a scheme of our own is tuned, on the other it is judged, once.

A cell is a workload, what lies below the buffer (an FTL, or a load of the modern drive), and a size of the
buffer relative to the study's own. The SHA-256 of its name says which half it is in and where it stands
there, so that neither depends on what else there is: the first cells of a half are a fair sample of it.
Workloads glued together from phases are in neither half, and have cells of their own.

    python -m eraseblock_reproduction.beyond.halves tune --cells 40 --jobs 2 -o out/tune
    python -m eraseblock_reproduction.beyond.halves phases --jobs 2 -o out/phases
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from csv import writer
from dataclasses import dataclass, replace
from hashlib import sha256
from math import exp, log
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from eraseblock import Experiment
from eraseblock.toolkit import Handling, Quiet, bytes_of, known
from eraseblock_reproduction.beyond.study import Study, studies
from eraseblock_reproduction.beyond.trials import MEASURES, Trial, essence, load_of, trials_of
from eraseblock_reproduction.running import run_or_find

Half = Literal["tune", "held-out"]
PHASES = "phases"
# Sizes of the buffer, in those of the study.
FACTORS = (0.5, 1, 2, 8)
# What they are judged by: less is better.
JUDGED = tuple(one for one in MEASURES if not one.more)
app = App(help="Run the first cells of one half of the studies with some buffers, and say who wins how much.")


@dataclass(frozen=True)
class Cell:
    """A drive and what it is given; buffers are compared inside it."""

    study: str
    workload: str
    # An FTL, or a load.
    below: str
    factor: float

    @property
    def name(self) -> str:
        """What the half is told from.

        Example:
            >>> Cell("pairs", "pgbench-ext4", "bast", 0.5).name
            'pairs/pgbench-ext4/bast/x0.5'
        """
        return f"{self.study}/{self.workload}/{self.below}/x{self.factor:g}"

    @property
    def digest(self) -> bytes:
        """What its half and its place there are told from."""
        return sha256(self.name.encode()).digest()

    @property
    def half(self) -> Half:
        """The half that it is in."""
        return "held-out" if self.digest[0] & 1 else "tune"

    @property
    def place(self) -> bytes:
        """Cells of a half are taken in this order."""
        return self.digest[1:]


def cells() -> dict[Cell, Experiment]:
    """All cells of both halves, each with its run under page LRU, in the order in which they are taken."""
    found = {cell: one for study in studies().values() for cell, one in _cells_of(study)}
    return dict(sorted(found.items(), key=lambda pair: pair[0].place))


def phases() -> dict[Cell, Experiment]:
    """Workloads glued from phases, on the drive and with the FTLs of the pairs, in their order."""
    pairs = studies()["pairs"]
    glued = replace(pairs, name=PHASES, path=pairs.path.with_name(f"{PHASES}.toml"))
    return dict(sorted(_cells_of(glued, (1,)), key=lambda pair: pair[0].place))


def _cells_of(study: Study, factors: Sequence[float] = FACTORS) -> Iterator[tuple[Cell, Experiment]]:
    for one in study.experiments(["lru"]):
        config = one.config
        below = config["ftl"]["mapping"]["kind"] if "ftl.mapping" in study.every else load_of(config)
        own = bytes_of(config["buffer"]["size"])
        for factor in factors:
            buffer = {**config["buffer"], "size": f"{round(own * factor)} B"}
            yield Cell(study.name, config["case"], below, factor), _with(one, {**config, "buffer": buffer})


def _with(experiment: Experiment, config: Mapping[str, Any]) -> Experiment:
    return Experiment(json.dumps(config), experiment.base)


def with_scheme(experiment: Experiment, scheme: Mapping[str, Any]) -> Experiment:
    """The same run with another buffer scheme, as a table with `kind` and options."""
    config = experiment.config
    return _with(experiment, {**config, "buffer": {**config["buffer"], "scheme": scheme}})


@dataclass(frozen=True)
class Score:
    """What a buffer came to in one cell by one measure, relative to the best other and to page LRU."""

    cell: str
    measure: str
    to_best: float
    to_lru: float
    # The best one there, other than it.
    best: str


def scores(trials: Mapping[str, Mapping[str, Trial]], scheme: str) -> list[Score]:
    """Of one scheme, by cell and name of the scheme; a cell in which it has no figures is left out."""
    found = []
    for cell, some in trials.items():
        for measure in JUDGED:
            figures = {
                name: one.figures[measure.name].value
                for name, one in some.items()
                if one.competes and measure.name in one.figures
            }
            if scheme in figures:
                own, lru = figures.pop(scheme), figures.get("lru")
                best = min(figures, key=figures.__getitem__, default=scheme)
                least = figures.get(best, own)
                to_lru = 1.0 if lru is None else _ratio(own, lru)
                found.append(Score(cell, measure.name, _ratio(own, least), to_lru, best))
    return found


def _ratio(ours: float, theirs: float) -> float:
    """Counts of erases may be zero: one more of each decides then."""
    return ours / theirs if theirs > 0 else (ours + 1) / (theirs + 1)


@app.default
def main(
    half: Half | Literal["phases"],
    *,
    cells_taken: Annotated[int, Parameter(name="--cells")] = 40,
    buffers: str = "all",
    study: str | None = None,
    jobs: int | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    record: Path | None = None,
) -> None:
    """Run the first cells of a half.

    Args:
        half: which one, or the workloads glued from phases.
        cells_taken: how many of its cells.
        buffers: names with commas between them, or schemes with options as a JSON list; all that are online
            if left out.
        study: cells of this study alone.
        jobs: runs at a time; one per processor if left out.
        output: folder that keeps the runs, so that none is made twice.
        record: file for the scores of the last buffer in each cell, as CSV.
    """
    found = phases() if half == PHASES else {cell: one for cell, one in cells().items() if cell.half == half}
    taken = [(cell, one) for cell, one in found.items() if study in (None, cell.study)][:cells_taken]
    trials = run_cells(taken, _schemes(buffers), Handling(jobs=jobs, folder=output))
    failed = {f"{cell}: {one.error}" for cell, some in trials.items() for one in some.values() if one.error}
    sys.stderr.writelines(f"{line}\n" for line in sorted(failed))
    sys.stdout.writelines(f"{line}\n" for line in table(trials))
    if record is not None:
        with record.open("w", encoding="utf-8", newline="") as file:
            writer(file, lineterminator="\n").writerows(rows(trials))


def rows(trials: Mapping[str, Mapping[str, Trial]]) -> list[tuple[str, ...]]:
    """For CSV, a row for each cell and measure: the last scheme against the best other and page LRU."""
    scheme = [name for some in trials.values() for name in some][-1]
    return [
        ("cell", "measure", "best other", "to best other", "to lru"),
        *(
            (one.cell, one.measure, one.best, f"{one.to_best:.4f}", f"{one.to_lru:.4f}")
            for one in scores(trials, scheme)
        ),
    ]


def _schemes(buffers: str) -> dict[str, Mapping[str, Any]]:
    if buffers.startswith("["):
        named = {json.dumps(one, sort_keys=True): one for one in json.loads(buffers)}
        return {"lru": {"kind": "lru"}, **named}
    names = [name for name in known("buffers") if name != "opt"] if buffers == "all" else buffers.split(",")
    return {name: {"kind": name} for name in dict.fromkeys(["lru", *names])}


def run_cells(
    taken: Sequence[tuple[Cell, Experiment]], schemes: Mapping[str, Mapping[str, Any]], handling: Handling
) -> dict[str, dict[str, Trial]]:
    """One trial for each cell and scheme; runs that the folder holds are not made again."""
    pairs = [(cell.name, name) for cell, _ in taken for name in schemes]
    runs = [with_scheme(one, scheme) for _, one in taken for scheme in schemes.values()]
    outcomes = run_or_find(runs, Handling(**{**vars(handling), "trim": essence}), Quiet())
    found: dict[str, dict[str, Trial]] = {}
    for (cell, name), outcome in zip(pairs, outcomes, strict=True):
        [found.setdefault(cell, {})[name]] = trials_of([outcome])
    return found


def table(trials: Mapping[str, Mapping[str, Trial]]) -> list[str]:
    """A row of Markdown for each scheme and measure."""
    schemes = list(dict.fromkeys(name for some in trials.values() for name in some))
    lines = [
        "| buffer | measure | cells | within 1 % of the best | within 5 % | worst | where | to lru |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for scheme in schemes:
        every = scores(trials, scheme)
        for measure in JUDGED:
            some = [one for one in every if one.measure == measure.name]
            if not some:
                continue
            near = [sum(one.to_best <= 1 + share for one in some) / len(some) for share in (0.01, 0.05)]
            worst = max(some, key=lambda one: one.to_best)
            mean = exp(sum(log(max(one.to_lru, 1e-9)) for one in some) / len(some))
            lines.append(
                f"| {scheme} | {measure.name} | {len(some)} | {near[0]:.0%} | {near[1]:.0%} "
                f"| {worst.to_best:.2f} | {worst.cell} | {mean:.3f} |"
            )
    return lines


if __name__ == "__main__":
    app()
