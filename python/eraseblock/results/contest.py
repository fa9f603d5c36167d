"""Which runs are rivals: those for one workload on one drive with one size of buffer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any

from eraseblock.results.headline import HITS, MEAN, WRITES, Column
from eraseblock.results.units import number_of
from eraseblock.results.view import DRIVE, VOLUMES, Row

# The schemes that others are measured by, the first one foremost.
BASELINES = ("lru", "none")
# Settings that are a choice of whoever builds the controller; what else differs is what it is built for.
_CHOICES = ("ftl.", "buffer.", "case")
# What tells designs apart that differ in their FTLs alone.
FTL = "FTL"
# What there is to choose, mostly.
BUFFER = "buffer"
# More choices than this have no names of their own.
_NAMED = 2
# What of a configuration only names it.
_LABELS = {"name": None, "case": None}
# More spare flash or a larger drive is a cost, like more RAM: rivals have the same.
_COSTS = ("ftl.exported", "ftl.over_provisioning")


@dataclass(frozen=True, eq=False)
class Design:
    """One of the rivals: its runs differ in their seeds alone."""

    name: str
    rows: tuple[Row, ...]

    @property
    def row(self) -> Row:
        """The first of its runs."""
        return self.rows[0]

    @property
    def by_seed(self) -> dict[tuple[tuple[str, str], ...], Row]:
        """Its runs by their seeds."""
        return {
            tuple(sorted(one for one in row.settings.items() if _is_seed(one[0]))): row for row in self.rows
        }

    @property
    def competes(self) -> bool:
        """Whether it may be the best: all of its runs are to be trusted, and it did not know the future."""
        return all(row.competes for row in self.rows)

    @property
    def wore_out(self) -> bool:
        """Whether a drive reached the end of its life on the way."""
        return any(row.figure("end_of_life") for row in self.rows)

    @property
    def cut_off(self) -> bool:
        """Whether that was before all of the workload was served."""
        return any(row.figure("end_of_life.unanswered") for row in self.rows)

    @property
    def served(self) -> int:
        """Requests that were answered in the shortest of its runs."""
        return min(row.figure("requests.completed") or 0 for row in self.rows)

    def figure(self, path: str) -> Any:
        """A figure of its runs, the mean of several; None where one of them has none."""
        values = [row.figure(path) for row in self.rows]
        if len(values) == 1 or any(value is None for value in values):
            return None if None in values else values[0]
        return fmean(values)

    def value(self, column: Column) -> float | None:
        """The same of a column, as a number."""
        found = self.figure(column.path)
        return float(found) if isinstance(found, int | float) else None


@dataclass(frozen=True, eq=False)
class Contest:
    """Rivals, and what they share."""

    trace: str
    drive: str
    buffer_bytes: int
    # Settings in which it differs from other contests, beside the drive.
    settings: Mapping[str, str]
    designs: tuple[Design, ...]
    # Settings in which its designs differ.
    keys: tuple[str, ...]
    # The setting that is all that tells the designs apart, if one is.
    axis: str | None

    @cached_property
    def ranked(self) -> tuple[Design, ...]:
        """Those that may win: their runs are to be trusted, and as long as those of the others."""
        return tuple(design for design in self.designs if design.competes and design not in self.cut_short)

    @cached_property
    def cut_short(self) -> tuple[Design, ...]:
        """Those whose drives wore out before others had served as much: they did less in all."""
        most = max((design.served for design in self.designs if design.competes), default=0)
        return tuple(design for design in self.designs if design.wore_out and design.served < most)

    def entrants(self, column: Column) -> tuple[Design, ...]:
        """Those that may win by a figure: by how long a drive lives, those that lived shorter, too."""
        return tuple(one for one in self.designs if one.competes) if column.endless else self.ranked

    @property
    def rows(self) -> list[Row]:
        """All runs."""
        return [row for design in self.designs for row in design.rows]

    @property
    def numbers(self) -> list[float] | None:
        """The values of the axis, where all are numbers: their order says more than who is best."""
        if self.axis is None or self.axis == FTL:
            return None
        found = [number_of(design.row.settings.get(self.axis, "-")) for design in self.designs]
        numbers = [number for number in found if number is not None]
        return numbers if len(numbers) == len(found) else None

    @cached_property
    def choice(self) -> str:
        """What there is to choose: the buffer, or where all designs have the same, what else differs."""
        rows = [design.row for design in self.designs]
        if self.axis is not None or len(rows) < 2:
            return self.axis or BUFFER
        configs = [row.record["config"] for row in rows]
        buffers = {repr(config["buffer"]["scheme"]) for config in configs}
        if all(row.case for row in rows):
            others = {
                repr({**one, "buffer": {**one["buffer"], "scheme": None}, **_LABELS}) for one in configs
            }
            return BUFFER if len(buffers) > 1 and len(others) == 1 else "case"
        if len(buffers) > 1:
            return BUFFER
        differing = [*([FTL] if len({row.ftl for row in rows}) > 1 else []), *self.keys]
        return " and ".join(differing) if 0 < len(differing) <= _NAMED else "design"

    def led_by(self, design: Design, column: Column) -> bool:
        """Whether no rival has a better figure. One that all share is nobody's merit."""
        entrants = self.entrants(column)
        values = {value for one in entrants if (value := one.value(column)) is not None}
        if column.good is None or design not in entrants or len({*map(column.show, values)}) < 2:
            return False
        if column.endless and not all(one.wore_out for one in entrants):
            return False
        return design.value(column) == (min(values) if column.good == "low" else max(values))

    def baseline(self, kind: str, like: Design | None = None) -> Design | None:
        """The design with this scheme; of several the one that is otherwise most like another.

        Where all have the same scheme, none is measured by it.
        """
        if len({design.row.scheme for design in self.designs}) < 2:
            return None
        found = [design for design in self.designs if design.row.kind == kind and not design.row.case]
        if like is None or len(found) < 2:
            return found[0] if found else None
        return max(found, key=lambda design: _alike(design.row, like.row))

    def reference(self, like: Design | None = None) -> Design | None:
        """What figures are told against: LRU where it is there, else no buffer, else the first design."""
        for kind in BASELINES:
            if (found := self.baseline(kind, like)) is not None:
                return found
        some = self.ranked or self.designs
        return some[0] if len(some) > 1 else None

    def ordered(self, column: Column) -> list[Design]:
        """Best first; those that may not win, and those without the figure, come last.

        Where having none means that a drive has outlived the others, it comes before those that may win.
        """
        sign = -1 if column.good == "high" else 1
        entrants = self.entrants(column)

        def key(design: Design) -> tuple[bool, bool, bool, float]:
            value = design.value(column)
            outlived = column.endless and value is None and not design.wore_out
            outside, least = design not in entrants, 0.0 if value is None else sign * value
            if column.endless:
                return (outside, not outlived, value is None, least)
            return (value is None, outside, False, least)

        return sorted(self.designs, key=key)


def contests_of(rows: Sequence[Row]) -> list[Contest]:
    """The contests that these runs make, in the order in which they first appear.

    Where no contest has two designs, all that differs is what they run in, and that is compared.
    """
    contests = _contests(rows, everything=False)
    if len(rows) > 1 and all(len(contest.designs) < 2 for contest in contests):
        merged = _contests(rows, everything=True)
        if any(len(contest.designs) > 1 for contest in merged):
            return merged
    return contests


def _contests(rows: Sequence[Row], *, everything: bool) -> list[Contest]:
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        around = tuple(
            (key, value)
            for key, value in row.settings.items()
            if key != DRIVE and not _is_choice(key, everything=everything)
        )
        found[(row.trace, row.drive, row.buffer_bytes, around)].append(row)
    ftls: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        ftls[row.trace, row.drive].add(row.ftl)
    return [
        _contest(members, dict(around), several_ftls=len(ftls[trace, drive]) > 1)
        for (trace, drive, _, around), members in found.items()
    ]


def _contest(rows: Sequence[Row], around: Mapping[str, str], *, several_ftls: bool) -> Contest:
    # Not the first run's alone: others may have options that it has not.
    keys = [
        key
        for key in dict.fromkeys(key for row in rows for key in row.settings)
        if key not in around and key != DRIVE and not _is_seed(key)
    ]
    designs: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        designs[row.ftl, row.scheme, tuple((key, row.settings.get(key)) for key in keys)].append(row)
    schemes = {scheme for _, scheme, _ in designs}
    told = Counter(key for key in keys for value in {row.settings.get(key) for row in rows} if value)
    telling = [key for key in keys if told[key] > 1]
    if len({(*one[:2], *(value for key, value in one[2] if key in telling)) for one in designs}) < len(
        designs
    ):
        # Some have a key that others have not.
        telling = [key for key in keys if len({row.settings.get(key) for row in rows}) > 1]
    first = rows[0]
    axis = telling[0] if len(telling) == 1 and len(schemes) == 1 and not several_ftls else None
    if several_ftls and not telling and len(schemes) == 1:
        axis = FTL
    return Contest(
        trace=first.trace,
        drive=first.drive,
        buffer_bytes=first.buffer_bytes,
        settings=around,
        keys=tuple(telling),
        designs=tuple(
            Design(_name(some[0], telling, scheme=len(schemes) > 1, ftl=several_ftls), tuple(some))
            for some in designs.values()
        ),
        axis=axis,
    )


def _name(row: Row, keys: Sequence[str], *, scheme: bool, ftl: bool) -> str:
    """What tells a design from its rivals, in as few words as do."""
    parts = [row.plain_scheme] if scheme or not (ftl or keys) else []
    if ftl:
        parts.append(f"on {row.ftl}" if parts else row.ftl)
    values = [row.settings[key] for key in keys if key in row.settings]
    if len(keys) == 1 and values and not parts:
        return values[0]
    named = [f"{key} {row.settings[key]}" for key in keys if key in row.settings]
    return ", ".join([" ".join(parts), *named] if parts else named) or "default"


def _alike(row: Row, other: Row) -> int:
    """In how many respects two runs agree beside their schemes."""
    same = sum(row.settings.get(key) == value for key, value in other.settings.items())
    return same + (row.ftl == other.ftl)


def _is_choice(key: str, *, everything: bool) -> bool:
    if everything:
        # Volumes are other work, of which nobody can take the better one.
        return key != VOLUMES
    return _is_seed(key) or (key.startswith(_CHOICES) and key not in _COSTS)


def _is_seed(key: str) -> bool:
    return key == "seed" or key.endswith(".seed")


def measure_of(contests: Sequence[Contest]) -> Column:
    """The figure that counts: response times where there are any, else what wears flash out."""
    ranked = [design for contest in contests for design in contest.ranked]
    some = ranked or [design for contest in contests for design in contest.designs]
    for column in (MEAN, WRITES, HITS):
        values = [design.value(column) for design in some]
        if None not in values and (column is MEAN or len({*values}) > 1):
            return column
    return WRITES
