"""Writes the page of what is stored, its data, and the experiments that run it again; nothing is run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

from eraseblock.toolkit import asset, check_writable, make_folder, markdown_row, replace_file
from eraseblock_reproduction.adversaries import cases
from eraseblock_reproduction.adversaries.bench import FTLS, ORDINARY
from eraseblock_reproduction.adversaries.stored import Found, Line, stored
from eraseblock_reproduction.adversaries.words import spread, times, why

PACKAGE = "eraseblock_reproduction"
FINDINGS_NAME = "findings.md"
# Schemes of the papers that are reproduced.
PAPERS = ("hbm", "epo", "bplru", "supa")
TITLES = {"page": "page mapping", "bast": "BAST"}


@dataclass(frozen=True)
class Outcome:
    """All that a folder has."""

    head: Line
    found: Sequence[Found]
    # Written by hand.
    findings: str

    def of(self, measure: str, ftl: str) -> list[Found]:
        """The worst first."""
        some = [one for one in self.found if (one.measure, one.ftl) == (measure, ftl)]
        return sorted(some, key=lambda one: -one.ratio)

    @property
    def left_out(self) -> Mapping[str, str]:
        """Schemes that have no worst case, and why."""
        left_out: Mapping[str, str] = self.head["left_out"]
        return left_out


def outcome(folder: Path) -> Outcome:
    """What is stored."""
    findings = folder / FINDINGS_NAME
    told = findings.read_text(encoding="utf-8").strip() if findings.exists() else ""
    return Outcome(*stored(folder), told)


def write(found: Outcome, path: Path, folder: Path) -> None:
    """Write the page and its table beside it, and the experiments into the folder of what was found."""
    check_writable(path.resolve().parent)
    make_folder(folder / cases.FOLDER_NAME)
    replace_file(path, [page(found, path.stem).encode()])
    replace_file(path.with_suffix(".csv"), [table(found.found).encode()])
    for name, text in cases.experiments(found.found).items():
        replace_file(folder / cases.FOLDER_NAME / name, [text.encode()])


def page(found: Outcome, name: str) -> str:
    """The page."""
    head = found.head
    effort = head["effort"]
    return Template(asset("templates", "adversaries.md", PACKAGE)).substitute(
        first="\n".join(_first(found)),
        findings=found.findings,
        own="\n".join(_own(found)),
        tables="\n".join(line for ftl in FTLS for line in _responses(found, ftl)),
        programs="\n".join(_programs(found)),
        left_out="; ".join(f"`{scheme}`: {reason}" for scheme, reason in found.left_out.items()),
        ordinary=_listed([f"`{one}`" for one in ORDINARY]),
        drawn=effort["drawn"],
        rounds=effort["rounds"],
        trials=effort["drawn"] + effort["rounds"] * len(head["schemes"]),
        seed=head["seed"],
        engine=head["engine"],
        table=f"{name}.csv",
    )


def table(found: Sequence[Found]) -> str:
    """Everything as CSV, a line for each scheme, FTL and measure."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    figures = ("response", "programs", "erases", "waf", "hits", "flush")
    lines.writerow(
        [
            *("buffer", "ftl", "measure", "ratio", "lowest", "highest", "best_ordinary"),
            *("on_the_other_ftl", "ratio_of_erases", "workload"),
            *(f"{one}_{whose}" for one in figures for whose in ("own", "best_ordinary")),
        ]
    )
    for one in found:
        line = one.line
        both = [one.figures[one.scheme], one.figures[one.best]]
        lines.writerow(
            [
                *(one.scheme, one.ftl, one.measure, one.ratio, min(one.held_out), max(one.held_out)),
                *(one.best, line["elsewhere"], line["erases"], one.workload.words),
                *(each[key] for key in figures for each in both),
            ]
        )
    return file.getvalue()


def _first(found: Outcome) -> Iterator[str]:
    """Who has the worst worst case, and who the mildest."""
    for ftl in FTLS:
        some = found.of("response", ftl)
        worst, mildest = some[0], some[-1]
        yield (
            f"- **{TITLES[ftl]}:** the worst worst case has `{worst.scheme}`: {times(worst.ratio)} times the "
            f"mean response of `{worst.best}`, under {worst.workload.words}. The mildest has "
            f"`{mildest.scheme}`: {times(mildest.ratio)} times that of `{mildest.best}`, under "
            f"{mildest.workload.words}."
        )


def _own(found: Outcome) -> Iterator[str]:
    """What the five papers are about, and how it is beside what they are held to."""
    yield markdown_row(["buffer", *(TITLES[ftl] for ftl in FTLS)])
    yield f"| --- |{' --- |' * len(FTLS)}"
    for scheme in PAPERS:
        some = [one for ftl in FTLS for one in found.of("response", ftl) if one.scheme == scheme]
        yield markdown_row([f"`{scheme}`", *(f"{spread(one)}; `lru` {times(_to_lru(one))}" for one in some)])


def _to_lru(one: Found) -> float:
    return float(one.figures[one.scheme]["response"] / one.figures["lru"]["response"])


def _responses(found: Outcome, ftl: str) -> Iterator[str]:
    yield f"\n### {TITLES[ftl]}\n"
    [other] = [one for one in FTLS if one != ftl]
    yield markdown_row(["buffer", "times", "that of", f"on {other}", "workload", "why"])
    yield "| --- | ---: | --- | ---: | --- | --- |"
    for one in found.of("response", ftl):
        elsewhere = one.line["elsewhere"]
        yield markdown_row(
            [
                f"`{one.scheme}`",
                spread(one),
                f"`{one.best}`",
                "-" if elsewhere is None else times(elsewhere),
                one.workload.words,
                why(one),
            ]
        )


def _programs(found: Outcome) -> Iterator[str]:
    yield markdown_row(["buffer", *(TITLES[ftl] for ftl in FTLS)])
    yield f"| --- |{' ---: |' * len(FTLS)}"
    by = {(one.scheme, one.ftl): one for one in found.found if one.measure == "programs"}
    order = [one.scheme for one in found.of("programs", "bast")]
    for scheme in order:
        cells = [by.get((scheme, ftl)) for ftl in FTLS]
        yield markdown_row(
            [f"`{scheme}`", *("-" if one is None else f"{spread(one)} `{one.best}`" for one in cells)]
        )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
