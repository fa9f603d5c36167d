"""Claims and runs made by hand, to be judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eraseblock_reproduction.data import Claim, Figure, Paper, Quantity
from eraseblock_reproduction.finding import Finding
from eraseblock_reproduction.selection import Run
from eraseblock_reproduction.verdicts import judge
from eraseblock_reproduction.workloads import Source

STAND_IN = Source("w", "the workload", "stand-in", "made")
READINGS = {"twice": "time * 2"}


def quantity(name: str, value: str, readings: dict[str, str] | None = None) -> Quantity:
    return Quantity(name, name, value, None, "less", of_workload=False, readings=readings or {})


QUANTITIES = {
    "time": quantity("time", "time"),
    "erases": quantity("erases", "erases"),
    "share": quantity("share", "share"),
    "read-otherwise": quantity("read-otherwise", "time", READINGS),
    "of-workload": Quantity("of-workload", "of-workload", "writes / requests", None, None, True, {}),
}
FIGURE = Figure("1", "a figure", "1", (), ("w",), None, None, None)
PAPER = Paper("made", Path(), "A paper", "Nobody", "nowhere", 2000, QUANTITIES, {"1": FIGURE}, (), ())


def run(
    scheme: str, size: str = "1 MiB", seed: int = 1, trusted: bool = True, **figures: float | None
) -> Run:
    """One run, with these figures in its record."""
    settings = {
        "buffer": {"scheme": {"kind": scheme}, "size": size},
        "workload": "w",
        "how": {"generate": {"kind": "zipf", "seed": seed}},
    }
    reasons = [] if trusted else ["it fell behind"]
    return Run(settings, STAND_IN, {"trusted": trusted, "reasons": reasons, **figures})


def claim(kind: str, quantity: str | None = "time", **table: Any) -> Claim:
    """A claim of figure 1."""
    whole = {"id": "made", "figure": "1", "says": "so it is", "kind": kind, "quantity": quantity, **table}
    return Claim("made", "1", "1", "so it is", kind, quantity, whole)


def verdict(runs: list[Run], kind: str, quantity: str | None = "time", **table: Any) -> str:
    """The verdict alone."""
    return finding(runs, kind, quantity, **table).verdict


def finding(runs: list[Run], kind: str, quantity: str | None = "time", **table: Any) -> Finding:
    """What comes out for a claim of these runs."""
    return judge(PAPER, FIGURE, claim(kind, quantity, **table), runs)


A, B = {"buffer.scheme": "a"}, {"buffer.scheme": "b"}
