"""Writes the page of what the search and the judging have stored; no run is made."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, log
from pathlib import Path
from string import Template

from eraseblock.toolkit import asset
from eraseblock.toolkit import markdown_row as row
from eraseblock_reproduction.question import bounds, hindsight
from eraseblock_reproduction.question.printed import MEASURES, OTHERS, SIZES, TRACES
from eraseblock_reproduction.question.readings import CHOICES, SUPPORTED
from eraseblock_reproduction.question.search import Found

PACKAGE = "eraseblock_reproduction"
NAMES = {"bplru": "BPLRU", "fab": "FAB", "lb-clock": "LB-CLOCK"}
TOLD = {"response": "response time", "hits": "hits", "erases": "erases", "reads": "pages read"}
ALL = len(MEASURES) * len(OTHERS)
# A printed ratio is met within this factor; pairs are told of ratios that so many of the readings meet.
NEAR, OFTEN = 1.5, 0.05
# Ahead in everything.
WHOLE = "THE THE THE"


@dataclass(frozen=True)
class Stored:
    """What the page is made of."""

    searched: Sequence[Found]
    judged: Sequence[Found]
    # Fitted to everything at once.
    together: Sequence[Found]
    # The reading that published counts support.
    supported: Sequence[Found]


def write(folder: Path, stored: Stored) -> None:
    """Write page and table into a folder."""
    (folder / "hbm-question.md").write_text(written(stored), encoding="utf-8")
    (folder / "hbm-question.csv").write_text(table(stored.judged), encoding="utf-8")


def written(stored: Stored) -> str:
    """The page."""
    searched, judged, supported = stored.searched, stored.judged, stored.supported
    best = max(stored.together, key=lambda one: one["orders"])
    ran = [one for one in searched if "orders" in one]
    costs, with_merges = list(bounds.readings())[:2]
    table = (costs, with_merges)
    straddling, times = replace(costs, pages=2.69), replace(costs, to_hbm=3.68, to_fab=2.75)
    by = _by_reading([*judged, *supported])
    return Template(asset("templates", "hbm-question.md", PACKAGE)).substitute(
        answer=_answer(ran, by),
        least=f"{min(bounds.least_bplru_ms(one, bounds.read_pages(one, 1)) for one in table):.2f}",
        printed=bounds.BPLRU_MS,
        length=f"{min(map(bounds.least_length, table)):.1f}",
        straddling=f"{bounds.least_bplru_ms(straddling, bounds.read_pages(straddling, 1)):.2f}",
        times=f"{bounds.least_bplru_ms(times, bounds.read_pages(times, 1)):.2f}",
        bounds=_bounds(),
        exchange=f"{100 * bounds.least_exchange_hits(costs):.0f} %",
        tried=len(searched),
        requests=f"{searched[0]['requests']:,}",
        choices=len(CHOICES),
        drawn=_supported(searched),
        refused=len(searched) - len(ran),
        orders=_orders(ran),
        nearest=f"{min(one['deviation'] for one in ran):.2f}",
        met=_met(ran),
        never=_never(ran),
        judged=_judged(by),
        failing=_failing(by),
        together=len(stored.together),
        most_together=best["orders"],
        all_together=hindsight.ALL,
        best_together=_best_together(best),
        first_together=_first_together(stored.together),
        never_together=_never_together(stored.together),
        dynamic=_dynamic([*judged, *supported]),
        engines=", ".join(sorted({one["engine"] for one in (*searched, *judged, *stored.together)})),
    )


def table(judged: Sequence[Found]) -> str:
    """Every case that was judged, a line for each scheme."""
    file = io.StringIO()
    lines = csv.writer(file, lineterminator="\n")
    kinds = ["response", "hits", "erases", "reads"]
    lines.writerow(["reading", "trace", "buffer", "scheme", "response_ms", "hits_pct", *kinds[2:], "trusted"])
    for one in judged:
        for scheme, figures in one.get("schemes", {}).items():
            told = [figures[key] for key in kinds]
            lines.writerow([one["number"], one["trace"], one["size"], scheme, *told, one["trusted"]])
    return file.getvalue()


def _by_reading(judged: Sequence[Found]) -> dict[int | str, list[Found]]:
    """Cases of the random traces; the reading with most comparisons won comes first."""
    by: dict[int | str, list[Found]] = defaultdict(list)
    for one in judged:
        if not one["static"]:
            by[one["number"]].append(one)
    return dict(sorted(by.items(), key=lambda item: -_ahead(item[1])))


def _ahead(cases: Sequence[Found]) -> int:
    return sum(one.get("orders", 0) for one in cases)


def _answer(ran: Sequence[Found], by: Mapping[int | str, Sequence[Found]]) -> str:
    whole = sum(one["orders"] == ALL for one in ran)
    reading, cases = max(by.items(), key=lambda item: _ahead(item[1]))
    asked = ALL * len(TRACES)
    at = {size: _ahead([one for one in cases if one["size"] == size]) for size in SIZES}
    found = (
        f"{whole} of {len(ran)} readings have HBM ahead of BPLRU, FAB and LB-CLOCK in response time, hits "
    )
    found += (
        "and erases on Financial with 1 MiB, to which they were fitted. On four traces the best of those "
    )
    found += f"that were judged, {reading}, has it ahead in {at[SIZES[0]]} of {asked} comparisons with 1 MiB"
    found += "".join(f", {count} with {size}" for size, count in list(at.items())[1:])
    if sum(at.values()) == asked * len(SIZES):
        return f"**Yes.** {found}."
    drive = [one for one in by.get(f"{reading}, drive as stated", ()) if one["size"] == SIZES[0]]
    if drive and _ahead(drive) == at[SIZES[0]]:
        found += f". With {SIZES[0]} it is so, too, on the drive as the thesis and FlashSim state it: 3 % of "
        found += "log blocks, the times of Table 4.2, three kinds of merges, charged to the request, flash "
        found += (
            "warmed by the trace, pads of what is stored. The leads there are not those that are printed: in "
        )
        found += f"response time {_leads(drive)} over FAB and LB-CLOCK, for 10 to 76 %"
    alone = at[SIZES[0]] == asked
    told = "With 1 MiB, the size of nearly all printed numbers, as to who is ahead: yes. " if alone else ""
    return f"**{told}For all sizes none was found.** {found}."


def _leads(cases: Sequence[Found]) -> str:
    """By how much HBM answers faster than the two that do not pad, least and most."""
    schemes = [one["schemes"] for one in cases]
    leads = [1 - of["hbm"]["response"] / of[other]["response"] for of in schemes for other in OTHERS[1:]]
    return f"{100 * min(leads):.1f} to {100 * max(leads):.1f} %"


def _supported(searched: Sequence[Found]) -> int:
    """The number of the reading that published counts support; those before it are drawn at random."""
    number: int = next(one["number"] for one in searched if one["reading"] == SUPPORTED)
    return number


def _bounds() -> str:
    titles = [
        "a page takes",
        "counted as read",
        "BPLRU takes at least",
        "printed",
        "writes / reads, in length, or else",
    ]
    lines = [row(titles), "| --- | --- | --- | --- | --- |"]
    for costs in bounds.readings():
        least = bounds.least_bplru_ms(costs, bounds.read_pages(costs, 1))
        length = bounds.least_length(costs)
        lines.append(
            row(
                [
                    costs.name,
                    "misses, pads, merges" if costs.merges_counted else "misses, pads",
                    f"{least:.2f} ms",
                    f"{bounds.BPLRU_MS} ms",
                    f"{length:.2f} or more" if length > 1 else "any: not excluded",
                ]
            )
        )
    return "\n".join(lines)


def _orders(ran: Sequence[Found]) -> str:
    counts = Counter(one["orders"] for one in ran)
    lines = [row(["HBM is ahead in", "readings"]), "| --- | --- |"]
    return "\n".join(
        [*lines, *(row([f"{at} of {ALL}", str(counts[at])]) for at in sorted(counts, reverse=True))]
    )


@dataclass(frozen=True)
class Stated:
    """A number that is printed of HBM under Financial, and ours under one reading."""

    name: str
    printed: float
    ours: float

    @property
    def off(self) -> float:
        """By how much they differ, as a logarithm."""
        return abs(log(self.ours / self.printed)) if 0 < self.ours < inf else inf

    @property
    def met(self) -> bool:
        """Whether ours is near enough."""
        return self.off <= log(NEAR)


def _stated(one: Found) -> list[Stated]:
    schemes: Mapping[str, Mapping[str, float]] = one["schemes"]
    hbm = schemes["hbm"]
    return [
        *(
            Stated(
                f"{TOLD[measure]}, {printed:.2f} of {NAMES[other]}'s",
                printed,
                hbm[measure] / schemes[other][measure] if schemes[other][measure] else inf,
            )
            for measure, by in TRACES["Financial"].ratios.items()
            for other, printed in by.items()
        ),
        Stated("response time, 0.12 ms", bounds.HBM_MS, hbm["response"]),
    ]


def _met(ran: Sequence[Found]) -> str:
    title = f"printed for HBM: met within a factor of {NEAR}"
    lines = [row([title, f"by, of {len(ran)} readings", "nearest of all"]), "| --- | --- | --- |"]
    for of in zip(*(_stated(one) for one in ran), strict=True):
        nearest = min(of, key=lambda one: one.off)
        lines.append(row([of[0].name, str(sum(one.met for one in of)), f"{nearest.ours:.2f}"]))
    return "\n".join(lines)


def _never(ran: Sequence[Found]) -> str:
    sets: dict[str, set[int]] = defaultdict(set)
    for one in ran:
        for stated in _stated(one):
            if stated.met:
                sets[stated.name].add(one["number"])
    often = {name: found for name, found in sets.items() if len(found) >= OFTEN * len(ran)}
    pairs = [(one, other) for one, other in combinations(often, 2) if not often[one] & often[other]]
    most = max(sum(stated.met for stated in _stated(one)) for one in ran)
    lines = [f"One reading meets {most} of the {len(_stated(ran[0]))} together at most."]
    if pairs:
        lines[0] += f" Each met by {100 * OFTEN:.0f} % of the readings or more, and none of them meets both:"
        lines += ["", *(f"- *{one}*, and *{other}*" for one, other in pairs)]
    return "\n".join(lines)


def _judged(by: Mapping[int | str, Sequence[Found]]) -> str:
    lines = [row(["reading", "trace", *SIZES, "in all"]), "| --- | --- |" + " --- |" * (len(SIZES) + 1)]
    for number, cases in by.items():
        for trace in TRACES:
            of = {one["size"]: one for one in cases if one["trace"] == trace}
            all_of = f"{_ahead(list(of.values()))} of {ALL * len(of)}"
            lines.append(
                row([str(number), trace, *(_letters(of[size]) for size in SIZES if size in of), all_of])
            )
        lines.append(
            row([str(number), "**all**", *[""] * len(SIZES), f"**{_ahead(cases)} of {ALL * len(cases)}**"])
        )
    return "\n".join(lines)


def _letters(one: Found) -> str:
    if "refused" in one:
        return "refused"
    return f"`{one['letters']}`" if one["trusted"] else "not trusted"


def _failing(by: Mapping[int | str, Sequence[Found]]) -> str:
    told = [one for cases in by.values() for one in cases if "letters" in one]
    lines = [
        row(["", "buffer", *(NAMES[other] for other in OTHERS)]),
        "| --- | --- |" + " --- |" * len(OTHERS),
    ]
    for measure, letter in zip(MEASURES, "THE", strict=True):
        for size in SIZES:
            at = [one["letters"].split() for one in told if one["size"] == size]
            counts = [sum(letter in one[place] for one in at) for place in range(len(OTHERS))]
            lines.append(row([TOLD[measure], size, *(f"{count} of {len(at)}" for count in counts)]))
    return "\n".join(lines)


def _dynamic(judged: Sequence[Found]) -> str:
    by: dict[int | str, list[bool]] = defaultdict(list)
    for one in judged:
        if one["static"] and "dynamic_best" in one:
            by[one["number"]].append(one["dynamic_best"])
    return "\n".join(f"- {number}: {sum(best)} of {len(best)}" for number, best in by.items())


def _best_together(best: Found) -> str:
    lines = [row(["trace", *hindsight.SIZES]), "| --- |" + " --- |" * len(hindsight.SIZES)]
    return "\n".join(
        [
            *lines,
            *(row([trace, *(f"`{cell}`" for cell in cells)]) for trace, cells in best["letters"].items()),
        ]
    )


def _first_together(together: Sequence[Found]) -> str:
    """In how many readings HBM is ahead in everything with the first size."""
    whole = [one for one in together if all(cells[0] == WHOLE for cells in one["letters"].values())]
    return f"With {hindsight.SIZES[0]} {len(whole)} of them have HBM ahead in all {ALL * len(TRACES)}."


def _never_together(together: Sequence[Found]) -> str:
    """Comparisons that no reading wins."""
    never = []
    for trace in TRACES:
        for place, size in enumerate(hindsight.SIZES):
            cells = [
                one["letters"][trace][place].split() for one in together if len(one["letters"][trace]) > 1
            ]
            for other, name in enumerate(NAMES.values()):
                for measure, letter in zip(MEASURES, "THE", strict=True):
                    if not any(letter in cell[other] for cell in cells):
                        never.append(f"{trace}, {size}: {TOLD[measure]} against {name}")
    if not never:
        return "Each single comparison is won by some of them, so none is out of reach by itself."
    return "\n".join(["No reading wins these:", "", *(f"- {one}" for one in never)])
