"""Reads what papers state: their figures, the quantities they measure, and their claims."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from eraseblock import ConfigError, InputError
from eraseblock.toolkit import nearest
from eraseblock_reproduction.arithmetic import fields_of

FOLDER_NAME = "reproduction"
CLAIMS_NAME = "claims.toml"
WORKLOADS_NAME = "workloads.toml"
# The name of what is run beyond the papers.
BEYOND = "beyond"
# In the order in which they are reported.
PAPERS = ("hbm", "epo", "bplru", "multibank", "supa")
KINDS = frozenset(
    {"number", "exact", "range", "reduction", "increase", "ratio", "difference"}
    | {"order", "trend", "agree", "setting", "statement"}
)
# Kinds that set one side against another.
TWO_SIDED = frozenset({"reduction", "increase", "ratio", "difference", "order"})
# What a claim can show. Only results say whether a paper holds.
CONSTRUCTION = "by construction"
EXAMPLE = "worked example"
RESULT = "result"
SHOWS = (RESULT, EXAMPLE, CONSTRUCTION)
# Keys of what a figure or a claim needs, as a verdict says it.
NEEDS = {
    "flashsim": "needs FlashSim",
    "hardware": "needs hardware",
}

Table = Mapping[str, Any]
Selection = Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """Something that a paper measures, as arithmetic over a record or over what is known of a workload."""

    name: str
    title: str
    value: str
    unit: str | None
    better: str | None
    # Whether its fields are those of `trace info` for the workload.
    of_workload: bool
    readings: Mapping[str, str]
    # What the first reading was chosen by, where that was what came out.
    chosen: str | None = None
    # Whether it is told to be a share of something, where its arithmetic does not say so.
    share: bool = False

    @property
    def constant(self) -> bool:
        """Whether settings alone decide it."""
        return not self.of_workload and all(
            fields_of(text) <= {"config"} for text in (self.value, *self.readings.values())
        )

    @property
    def is_share(self) -> bool:
        """Whether it is a share of something, from 0 to 1."""
        words = ("share", "ratio", "at_most(", "hit", "patterns.blocks", "co_hit")
        told = self.unit is None and "*" not in self.value and any(word in self.value for word in words)
        return self.share or told


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, and the experiments behind it."""

    name: str
    title: str
    section: str
    experiments: tuple[str, ...]
    workloads: tuple[str, ...]
    needs: str | None
    reason: str | None
    note: str | None
    # Whether it is a worked example: its numbers can be told by hand.
    example: bool = False
    # Whether each run is made twice, in the simulation and on a served drive.
    served: bool = False

    @property
    def label(self) -> str:
        """As people write it: `Figure 4.1`, `Table 1.1`, `Summary`."""
        for prefix, word in (("table", "Table"), ("sec", "Section")):
            if self.name.startswith(prefix):
                return f"{word} {self.name.removeprefix(prefix)}"
        return f"Figure {self.name}" if self.name[:1].isdigit() else self.name.capitalize()


@dataclass(frozen=True)
class Claim:
    """One number or one order that a paper states."""

    id: str
    figure: str
    section: str
    says: str
    kind: str
    quantity: str | None
    # Everything else, as the file has it.
    table: Table
    # Which of the values that it lists, if it is one of several.
    part: str = ""
    # A result, a worked example, or something that is so by construction.
    shows: str = RESULT

    @property
    def whole(self) -> str:
        """The id under which the file has it."""
        return self.id.removesuffix(f".{self.part}") if self.part else self.id

    @property
    def follows(self) -> list[str]:
        """The claims that say the same fact: it is told there, and counts there alone."""
        found = self.table.get("follows", [])
        if isinstance(found, Mapping):
            found = found.get(self.part, [])
        return [found] if isinstance(found, str) else list(found)

    @property
    def cause(self) -> str | None:
        """The name of a likely cause, should it fail."""
        found = self.table.get("cause")
        if isinstance(found, Mapping):
            found = found.get(self.part)
        return None if found is None else str(found)

    @property
    def counts(self) -> bool:
        """Whether it is a fact of its own that says how much of the paper holds."""
        return self.shows == RESULT and not self.follows

    @property
    def where(self) -> Selection:
        """What holds for both sides."""
        found: Selection = self.table.get("where", {})
        return found

    @property
    def lefts(self) -> list[Selection]:
        """The selections that the claim is made of."""
        return _listed(self.table.get("left", {}))

    @property
    def rights(self) -> list[Selection]:
        """The selections that it sets them against."""
        return _listed(self.table.get("right", {}))

    @property
    def apart(self) -> list[Selection]:
        """Of an order: each value of the setting by which it is asked apart; one of nothing if by none."""
        path = self.table.get("apart")
        return [{}] if path is None else [{path: value} for value in self.where[path]]

    @property
    def pairs(self) -> list[tuple[Selection, Selection]]:
        """What it sets against what, of which the worst decides."""
        return [
            ({**left, **one}, {**right, **one})
            for one in self.apart
            for left in self.lefts
            for right in self.rights
        ]

    @property
    def is_ratio(self) -> bool:
        """Whether its figures are ratios of two runs: twice as much here and half as much there are none."""
        relative = "relative_to" in self.table and self.table.get("relative") != "difference"
        return self.kind == "ratio" or (
            self.kind not in TWO_SIDED and relative and "spread" not in self.table
        )

    @property
    def aggregate(self) -> str:
        """What is made of several points."""
        default = "mean" if self.kind in TWO_SIDED - {"order"} or self.kind == "number" else "each"
        return str(self.table.get("aggregate", default))

    def tolerance(self, stated: float) -> float:
        """By how much a figure may differ from a stated one."""
        if "within" in self.table:
            return float(self.table["within"])
        return float(self.table.get("tolerance", 0.1)) * abs(stated)

    def parts(self) -> list[Claim]:
        """The claim itself, or one for each value that it lists."""
        if "values" not in self.table:
            return [self]
        key = self.table["by"]
        rest = {name: one for name, one in self.table.items() if name not in ("by", "values")}
        parts = []
        for value, stated in self.table["values"].items():
            fixed: object = int(value) if str(value).isdigit() else value
            table = {**rest, "where": {**self.where, key: fixed}, "value": stated}
            parts.append(replace(self, id=f"{self.id}.{value}", table=table, part=str(value)))
        return parts


@dataclass(frozen=True)
class Switch:
    """Something in the set-up that a paper leaves open, and another way to do it."""

    name: str
    open: str
    # Settings by their dotted paths.
    set: Mapping[str, Any]
    # Only runs with these settings; all if there are none.
    where: Selection
    # Only these figures; all if there are none.
    figures: tuple[str, ...]
    # The choice that it is one of the other ways of, where there are several.
    choice: str = ""


@dataclass(frozen=True)
class Main:
    """What a paper is cited for, in one line, and the claims that carry it."""

    says: str
    claims: tuple[str, ...]
    # What its page draws: figures, and of each the quantity, or where there is none the stated effects.
    # Without a figure it is those of all results.
    charts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Paper:
    """What one paper states."""

    name: str
    folder: Path
    title: str
    authors: str
    source: str
    year: int
    quantities: Mapping[str, Quantity]
    figures: Mapping[str, Figure]
    claims: tuple[Claim, ...]
    switches: tuple[Switch, ...]
    main: Main | None = None
    # Causes that several claims fail by, each in a sentence.
    causes: Mapping[str, str] = field(default_factory=dict)

    def claims_of(self, figure: str) -> list[Claim]:
        """The claims of one figure, each number of its own."""
        return [part for claim in self.claims if claim.figure == figure for part in claim.parts()]

    def figure(self, name: str) -> Figure:
        """The figure that is called so, in any of the usual ways: `4.1`, `fig4.1`, `Figure 4.1`."""
        for wanted in _spellings(name):
            if wanted in self.figures:
                return self.figures[wanted]
        names = list(self.figures)
        raise ConfigError(
            f"reproduce {self.name}: there is no figure `{name}`{nearest(_spellings(name)[-1], names)} "
            f"(known: {', '.join(names)})"
        )


def _spellings(name: str) -> list[str]:
    text = "".join(name.lower().split())
    short = text
    for prefix in ("figure", "fig"):
        short = short.removeprefix(prefix)
    return [name, text, short.lstrip(".-")]


def folder() -> Path:
    """Where the papers' data lie: in the source tree that this package is from, or the one around here."""
    places = [Path(__file__).resolve().parents[2], *(Path.cwd() / "x").resolve().parents]
    for place in places:
        if (place / FOLDER_NAME / WORKLOADS_NAME).is_file():
            return place / FOLDER_NAME
    raise InputError(
        f"the papers' data ({FOLDER_NAME}/{WORKLOADS_NAME}) are neither beside this package nor in this "
        "folder or above it: they are part of the source tree of eraseblock, not of the package; go there"
    )


@cache
def paper(name: str) -> Paper:
    """One paper by its short name."""
    if name not in PAPERS:
        raise ConfigError(
            f"reproduce: there is no paper `{name}`{nearest(name, (*PAPERS, BEYOND))} "
            f"(known: {', '.join(PAPERS)}; and `{BEYOND}`, which is beyond them)"
        )
    place = folder() / name
    table = _read(place / CLAIMS_NAME)
    try:
        quantities = {key: _quantity(key, one) for key, one in table["quantities"].items()}
        figures = {key: _figure(key, one) for key, one in table["figures"].items()}
        claims = tuple(_claim(one, figures, quantities) for one in table["claims"])
        return Paper(
            name=name,
            folder=place,
            title=table["title"],
            authors=table["authors"],
            source=table["source"],
            year=table["year"],
            quantities=quantities,
            figures=figures,
            claims=claims,
            switches=tuple(_switch(one, figures) for one in table.get("switches", ())),
            main=_main(table.get("main")),
            causes=table.get("causes", {}),
        )
    except KeyError as error:
        raise InputError(f"{place / CLAIMS_NAME}: {error} is missing") from error


@cache
def workloads() -> Mapping[str, Table]:
    """What each workload of the papers was, and what stands for it."""
    path = folder() / WORKLOADS_NAME
    try:
        found: Mapping[str, Table] = _read(path)["workloads"]
    except KeyError as error:
        raise InputError(f"{path}: {error} is missing") from error
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def _quantity(name: str, table: Table) -> Quantity:
    return Quantity(
        name=name,
        title=table["title"],
        value=table["value"],
        unit=table.get("unit"),
        better=table.get("better"),
        of_workload=table.get("from") == "workload",
        readings=table.get("readings", {}),
        chosen=table.get("chosen"),
        share=table.get("share", False),
    )


def _figure(name: str, table: Table) -> Figure:
    return Figure(
        name=name,
        title=table["title"],
        section=table["section"],
        experiments=tuple(table.get("experiments", ())),
        workloads=tuple(table.get("workloads", ())),
        needs=table.get("needs"),
        reason=table.get("reason"),
        note=table.get("note"),
        example=table.get("example", False),
        served=table.get("served", False),
    )


def _main(table: Table | None) -> Main | None:
    if table is None:
        return None
    charts = tuple((figure, quantity) for figure, quantity in table.get("charts", ()))
    return Main(table["says"], tuple(table["claims"]), charts)


def _shows(table: Table, figure: Figure, quantity: Quantity | None) -> str:
    """What a claim shows, where it does not say so itself."""
    if "shows" in table:
        return str(table["shows"])
    if figure.example or (table["kind"] == "statement" and "test" in table):
        return EXAMPLE
    settled = table["kind"] == "setting" or (
        quantity is not None and (quantity.of_workload or quantity.constant)
    )
    return CONSTRUCTION if settled else RESULT


def _claim(table: Table, figures: Mapping[str, Figure], quantities: Mapping[str, Quantity]) -> Claim:
    name = table["id"]
    for key, known in (("figure", figures), ("quantity", quantities), ("with", quantities)):
        if key in table and table[key] not in known:
            close = nearest(str(table[key]), list(known))
            raise InputError(f"{CLAIMS_NAME}: {name}: there is no {key} `{table[key]}`{close}")
    if table["kind"] not in KINDS:
        close = nearest(str(table["kind"]), sorted(KINDS))
        raise InputError(f"{CLAIMS_NAME}: {name}: there is no kind `{table['kind']}`{close}")
    figure = figures[table["figure"]]
    return Claim(
        id=name,
        figure=table["figure"],
        section=table.get("section", figure.section),
        says=table["says"],
        kind=table["kind"],
        quantity=table.get("quantity"),
        table=table,
        shows=_shows(table, figure, quantities.get(table.get("quantity", ""))),
    )


def _switch(table: Table, figures: Mapping[str, Figure]) -> Switch:
    for name in table.get("figures", ()):
        if name not in figures:
            close = nearest(name, list(figures))
            raise InputError(f"{CLAIMS_NAME}: switch `{table['name']}`: there is no figure `{name}`{close}")
    return Switch(
        name=table["name"],
        open=table["open"],
        set=table["set"],
        where=table.get("where", {}),
        figures=tuple(table.get("figures", ())),
        choice=table.get("choice", ""),
    )


def _listed(side: Selection | list[Selection]) -> list[Selection]:
    return side if isinstance(side, list) else [side]
