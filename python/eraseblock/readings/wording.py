"""The words of an analysis, for terminal and report: rows of choices, orders, conclusions that move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eraseblock.readings.analysis import METRICS
from eraseblock.results import units
from eraseblock.results.record import Analysis
from eraseblock.results.view import plain

Json = Mapping[str, Any]

# Between two neighbours of an order, best first.
STANDS, REVERSES, LEVELS, EQUAL, PARTS = "»", "»?", "»~", "=", "=?"
MARKS = {
    STANDS: "better than the next under every reading",
    REVERSES: "reversed by some",
    LEVELS: "equal under some",
    EQUAL: "equal within 1 %",
    PARTS: "equal, but not under some",
}
# A row that moves no figure further than other seeds of its scheme do.
NOISE = "°"
_SHOW = {column.title: column.show for column, _ in METRICS}


@dataclass(frozen=True)
class ChoiceRow:
    """One switch of one choice; all seeds of a scheme are one."""

    name: str
    switch: str
    # By metric; empty where no run has such a figure.
    changes: list[str]
    # Some run of it has figures; those that were all refused are told of apart.
    ran: bool
    # It moves no figure at all.
    idle: bool
    # It moves none further than other seeds of its scheme do.
    noise: bool
    # Conclusions that it reverses.
    reverses: int
    notes: list[str]
    open: str
    seed: bool


@dataclass(frozen=True)
class Step:
    """A run in an order: how it stands to the one before it, its name and its figure."""

    mark: str
    label: str
    figure: str


@dataclass(frozen=True)
class Moved:
    """A conclusion, and how it reads under the readings that reverse it."""

    metric: str
    where: str
    sentence: str
    readings: list[tuple[str, str]]
    # Other seeds alone reverse it.
    by_chance: bool


def metrics(analysis: Analysis) -> list[str]:
    """The metrics that some run has."""
    names = [str(metric["name"]) for metric in analysis["metrics"]]
    return [name for name in names if any(run["figures"].get(name) is not None for run in analysis["runs"])]


def choice_rows(analysis: Analysis) -> list[ChoiceRow]:
    """Those that reverse most conclusions first, then those that move some figure most."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, reading in enumerate(analysis["readings"]):
        key = (reading["owner"], reading["option"]) if reading["seed"] else (number,)
        groups.setdefault(key, []).append(number)
    reversed_by = _reversed_by(analysis)
    found = []
    for numbers in groups.values():
        readings = [analysis["readings"][number] for number in numbers]
        largest = [_largest(reading["changes"][name] for reading in readings) for name in metrics(analysis)]
        reverses = len(set().union(*(reversed_by.get(number, set()) for number in numbers)))
        top = max((_size(change) for change in largest if change), default=-1.0)
        found.append((-reverses, -top, _row(readings, largest, reverses)))
    return [row for *_, row in sorted(found, key=lambda one: one[:2])]


def refusals(analysis: Analysis) -> list[str]:
    """What did not run under another reading, and why: each sentence once, with its readings."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for reading in analysis["readings"]:
        for run in reading["runs"]:
            for what in ("refused", "failed"):
                if what in run:
                    names = found.setdefault((what, run[what]), {})
                    names[reading["reading"]] = names.get(reading["reading"], 0) + 1
    return [
        f"{what}: {', '.join(f'{name} ({_runs(count)})' for name, count in names.items())}: {sentence}"
        for (what, sentence), names in found.items()
    ]


def not_switched(analysis: Analysis) -> list[str]:
    """Choices that were left as they are, and why."""
    return [f"{one['name']}: not switched, {one['why']}" for one in analysis["not_switched"]]


def distrusted(analysis: Analysis) -> str:
    """A sentence about runs that no conclusion rests on; empty where there are none."""
    own = sum(not run["trusted"] for run in analysis["runs"])
    others = sum(not run.get("trusted", True) for one in analysis["readings"] for run in one["runs"])
    if not own + others:
        return ""
    return (
        f"{_runs(own)} of the experiment and {_runs(others)} of other readings are not to be trusted: no "
        "conclusion rests on them"
    )


def title(analysis: Analysis, contest: Json) -> str:
    """What the designs of a contest have in common, as far as it tells the contests apart."""
    whole = [_common(analysis, one) for one in analysis["contests"]]
    common = _common(analysis, contest)
    telling = [
        value
        for key, value in common.items()
        if len(whole) == 1 or len({str(one.get(key)) for one in whole}) > 1
    ]
    return " · ".join(telling)


def order(analysis: Analysis, contest: Json, metric: str) -> list[Step]:
    """The designs of a contest by one figure, best first."""
    ranking = contest["rankings"][metric]
    pairs = {(one["better"], one["worse"]): one for one in ranking["conclusions"]}
    steps: list[Step] = []
    before = None
    for run in ranking["order"]:
        mark = "" if before is None else _mark(pairs[before, run])
        figure = analysis["runs"][run]["figures"][metric]
        steps.append(Step(mark, label(analysis, contest, run), _SHOW[metric](figure)))
        before = run
    return steps


def label(analysis: Analysis, contest: Json, run: int) -> str:
    """A design's name in its contest."""
    return str(analysis["runs"][run][contest["axis"]])


def moved(analysis: Analysis) -> list[Moved]:
    """Conclusions that some reading reverses; those that a choice reverses before those of chance."""
    found = []
    for contest in analysis["contests"]:
        where = title(analysis, contest)
        for metric, ranking in contest["rankings"].items():
            for one in ranking["conclusions"]:
                under = [under for under in one["under"] if under["effect"] == "reverses"]
                if not under:
                    continue
                better, worse = (label(analysis, contest, one[side]) for side in ("better", "worse"))
                readings = [
                    (
                        analysis["readings"][each["reading"]]["reading"],
                        _beats(worse, better, _inverse(each["ratio"])),
                    )
                    for each in under
                ]
                chance = any(analysis["readings"][each["reading"]]["seed"] for each in under)
                sentence = _beats(better, worse, one["ratio"])
                found.append(Moved(metric, where, sentence, readings, chance))
    return sorted(found, key=lambda one: one.by_chance)


def summary(analysis: Analysis) -> str:
    """One sentence on all conclusions."""
    counts = analysis["counts"]
    total = counts["conclusions"]
    if not analysis["contests"]:
        return "Only one design at a time: there is no order that could move, only figures."
    text = (
        f"Conclusions (A beats B by one figure): {total}. Under every reading stand {counts['stand']}; "
        f"reversed by some: {counts['move']}; equal under some: {counts['level']}."
    )
    if counts["ties"]:
        text += f" Equal within 1 % from the start: {counts['ties']}."
    return text


def _row(readings: Sequence[Json], largest: Sequence[Json | None], reverses: int) -> ChoiceRow:
    first = readings[0]
    counts = {
        what: sum(what in run for one in readings for run in one["runs"]) for what in ("refused", "failed")
    }
    notes = [f"{what} in {_runs(count)}" for what, count in counts.items() if count]
    if any(not run.get("trusted", True) for one in readings for run in one["runs"]):
        notes.append("not to be trusted in some runs")
    # None: from 0 to something.
    figures = [change["largest"] is None or change["largest"] for change in largest if change is not None]
    return ChoiceRow(
        name=first["name"],
        switch=f"{_values(first['from'])} → {_values([one['to'] for one in readings])}",
        changes=["" if change is None else _percent(change["largest"]) for change in largest],
        ran=bool(figures),
        idle=bool(figures) and not notes and not any(figures),
        noise=bool(first["within_noise"]),
        reverses=reverses,
        notes=notes,
        open=first["open"],
        seed=first["seed"],
    )


def _reversed_by(analysis: Analysis) -> dict[int, set[tuple[Any, ...]]]:
    """For each reading the conclusions that it reverses."""
    found: dict[int, set[tuple[Any, ...]]] = {}
    for place, contest in enumerate(analysis["contests"]):
        for metric, ranking in contest["rankings"].items():
            for one in ranking["conclusions"]:
                for under in one["under"]:
                    if under["effect"] == "reverses":
                        conclusion = (place, metric, one["better"], one["worse"])
                        found.setdefault(under["reading"], set()).add(conclusion)
    return found


def _common(analysis: Analysis, contest: Json) -> dict[str, str]:
    first = analysis["runs"][contest["runs"][0]]
    other = "ftl" if contest["axis"] == "scheme" else "scheme"
    settings = {key: f"{key} = {value}" for key, value in first["settings"].items()}
    return {
        "trace": first["trace"],
        other: first[other],
        "size": units.size(first["buffer_bytes"]),
        **settings,
    }


def _mark(conclusion: Json) -> str:
    effects = {under["effect"] for under in conclusion["under"]}
    if conclusion["tie"]:
        return PARTS if "parts" in effects else EQUAL
    return REVERSES if "reverses" in effects else LEVELS if "levels" in effects else STANDS


def _beats(better: str, worse: str, ratio: float | None) -> str:
    times = "" if ratio is None else f" ({ratio:.2f}x)"
    return f"{better} beats {worse}{times}"


def _inverse(ratio: float | None) -> float | None:
    return 1 / ratio if ratio else None


def _largest(changes: Iterable[Json | None]) -> Json | None:
    return max((change for change in changes if change), key=_size, default=None)


def _size(change: Json) -> float:
    return float("inf") if change["largest"] is None else abs(change["largest"])


def _percent(share: float | None) -> str:
    """A relative change as `+3.4 %`, `-71 %` or `x5.2`."""
    if share is None:
        return "from 0"
    if share >= 1:
        return f"x{share + 1:.1f}" if share < 99 else f"x{share + 1:,.0f}"
    if abs(share) < 0.0005:
        return "0" if share == 0 else "~0"
    return f"{100 * share:+.1f} %" if abs(share) < 0.0995 else f"{100 * share:+.0f} %"


def _values(values: Sequence[Any]) -> str:
    return ", ".join("its own rule" if value is None else plain(value) for value in values)


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"
