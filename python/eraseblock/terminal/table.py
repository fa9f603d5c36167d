"""The table of results: one for each workload, a section for each buffer size, the best figures marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eraseblock.results import units
from eraseblock.results.contest import Contest, Design, contests_of, measure_of
from eraseblock.results.headline import Column
from eraseblock.results.view import OFFLINE, Row
from eraseblock.results.wording import change
from eraseblock.terminal.fitting import full_width, left_out, longest, longest_word
from eraseblock.terminal.showing import Showing

# Behind the name of a scheme; the legend says what they mean.
_RECONSTRUCTED, _OFFLINE = "†", "‡"
# Names longer than this, with their options, go on below themselves.
_SCHEME_WIDTH = 30
# A name longer than this would make a wide column of narrow cells.
_REFERENCE_WIDTH = 16
# What goes first where the terminal is narrow.
_LEAST = ("pages/flush", "WAF", "p99", "hits", "erases")


@dataclass(frozen=True)
class Section:
    """The rows of one contest."""

    contest: Contest
    designs: list[Design]
    hidden: int


@dataclass(frozen=True)
class Sheet:
    """The sections of one workload, and what stands in every row's place in the title instead."""

    sections: list[Section]
    decisive: Column
    # In the title where all share it, in columns of their own where not.
    drives: list[str]
    ftls: list[str]
    schemes: list[str]
    sizes: list[int]
    keys: list[str]

    @property
    def designs(self) -> list[Design]:
        """All that are shown."""
        return [design for section in self.sections for design in section.designs]

    @property
    def named_in_rows(self) -> bool:
        """Whether rows need their scheme: not where another setting is all that tells them apart."""
        return len(self.schemes) > 1 or not (self.keys or len(self.ftls) > 1 or len(self.drives) > 1)

    @property
    def ftl_in_rows(self) -> bool:
        """Whether rows need their FTL: not where the drive tells it."""
        return len(self.ftls) > 1 and len(self.ftl_of) < len(self.drives)

    @property
    def ftl_of(self) -> dict[str, str]:
        """The FTL of each drive that has a single one, where there are several drives."""
        found: dict[str, set[str]] = {}
        for section in self.sections:
            found.setdefault(section.contest.drive, set()).update(r.ftl_in_full for r in section.contest.rows)
        return {drive: next(iter(ftls)) for drive, ftls in found.items() if len(ftls) == 1}

    @property
    def sized_in_rows(self) -> bool:
        """Whether rows need their buffer size."""
        return len(self.sizes) > 1 or self.named_in_rows


def sheets_of(rows: Sequence[Row], showing: Showing) -> list[Sheet]:
    """What the tables hold, one for each workload."""
    contests = contests_of(rows)
    traces: dict[str, list[Contest]] = {}
    for contest in contests:
        traces.setdefault(contest.trace, []).append(contest)
    return [_sheet(some, showing, len(contests)) for some in traces.values()]


def _sheet(contests: Sequence[Contest], showing: Showing, number: int) -> Sheet:
    decisive = showing.sort or measure_of(contests)
    sections = []
    for contest in contests:
        designs = showing.designs_of(contest, decisive, number)
        sections.append(Section(contest, designs, len(contest.designs) - len(designs)))
    rows = [row for contest in contests for row in contest.rows]
    # A setting is told where it differs; the drive and seeds are no settings of a row.
    keys = dict.fromkeys(key for contest in contests for key in (*contest.settings, *contest.keys))
    return Sheet(
        sections,
        decisive,
        drives=list(dict.fromkeys(row.drive for row in rows)),
        ftls=list(dict.fromkeys(row.ftl_in_full for row in rows)),
        schemes=list(dict.fromkeys(row.scheme for row in rows)),
        sizes=list(dict.fromkeys(row.buffer_bytes for row in rows)),
        keys=list(keys),
    )


def print_results(console: Console, rows: Sequence[Row], showing: Showing | None = None) -> None:
    """Print every workload's table and what its signs mean."""
    showing = showing or Showing()
    sheets = sheets_of(rows, showing)
    wanted = showing.columns_of(contests_of(rows))
    columns, compare = _fitting(console, sheets, wanted, asked=bool(showing.columns))
    for sheet in sheets:
        table = sheet_table(sheet, columns, compare=compare)
        console.print(_title(sheet))
        width = console.width
        if showing.columns and not console.is_terminal:
            # What was asked for goes whole into a file or a pipe.
            console.width = max(width, full_width(console, table))
        console.print(table)
        console.width = width
        console.print()
    notes = [*_legend(sheets, columns, wanted), *_hidden(sheets)]
    if notes:
        console.print(Text.from_markup("   ".join(notes)))


def _fitting(
    console: Console, sheets: Sequence[Sheet], wanted: Sequence[Column], *, asked: bool
) -> tuple[list[Column], bool]:
    """The columns that there is room for, the same in all tables, and whether there is for the comparing one.

    Names of schemes are never cut. Of columns that were asked for the last ones go first, and none where
    there is no terminal.
    """

    def fits(columns: Sequence[Column], *, compare: bool) -> bool:
        tables = (sheet_table(sheet, columns, compare=compare) for sheet in sheets)
        return all(full_width(console, table) <= console.width for table in tables)

    columns = list(wanted)
    if asked:
        if not console.is_terminal or fits(columns, compare=True):
            return columns, True
        while len(columns) > 1 and not fits(columns, compare=False):
            columns.pop()
        return columns, False
    least = [column for title in _LEAST for column in wanted if column.title == title]
    least += [column for column in reversed(wanted) if column not in least]
    for column in least:
        if fits(columns, compare=True):
            return columns, True
        if len(columns) > 1 and all(column is not sheet.decisive for sheet in sheets):
            columns.remove(column)
    return columns, fits(columns, compare=True)


def sheet_table(sheet: Sheet, columns: Sequence[Column], *, compare: bool = True) -> Table:
    """The rows of one workload, a gap between contests."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    if len(sheet.drives) > 1:
        table.add_column("drive", no_wrap=True)
    if sheet.sized_in_rows:
        table.add_column("buffer", justify="right", no_wrap=True)
    for key in sheet.keys:
        table.add_column(key, overflow="fold")
    if sheet.ftl_in_rows:
        table.add_column("FTL", overflow="fold")
    if sheet.named_in_rows:
        table.add_column("scheme", overflow="fold", width=_scheme_width(sheet.designs))
    against = _against(sheet) if compare else ""
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
        if against and column is sheet.decisive:
            table.add_column(against, justify="right", no_wrap=True)
    if against and sheet.decisive not in columns:
        table.add_column(f"{sheet.decisive.title} {against}", justify="right", no_wrap=True)
    lone = all(len(section.designs) < 2 for section in sheet.sections)
    for section in sheet.sections:
        _add_section(table, sheet, section, columns, compared=bool(against))
        if section is not sheet.sections[-1] and not lone:
            table.add_section()
    return table


def _add_section(
    table: Table, sheet: Sheet, section: Section, columns: Sequence[Column], *, compared: bool
) -> None:
    contest = section.contest
    rivals = contest.rows
    for index, design in enumerate(section.designs):
        row, first = design.row, index == 0
        cells = [Text(contest.drive if first else "")] if len(sheet.drives) > 1 else []
        cells += [Text(_buffer(contest.buffer_bytes) if first else "")] if sheet.sized_in_rows else []
        for key in sheet.keys:
            shared = key in contest.settings
            cells.append(Text("" if shared and not first else row.settings.get(key, "-")))
        cells += [Text(row.ftl_in_full)] if sheet.ftl_in_rows else []
        cells += [_scheme(design)] if sheet.named_in_rows else []
        if not sheet.named_in_rows and not _trusted(design):
            # The cell beside the figures is of this row alone; those before it may stand for several.
            cells[-1] = Text(f"{cells[-1].plain} !", "red")
        for column in columns:
            cells.append(_cell(design, column, contest))
            if compared and column is sheet.decisive:
                cells.append(_compared(contest, design, sheet.decisive))
        if compared and sheet.decisive not in columns:
            cells.append(_compared(contest, design, sheet.decisive))
        table.add_row(*cells)
    if any(row.figure("bound") for row in rivals):
        before = len(table.columns) - len(columns) - int(compared)
        bounds = []
        for column in columns:
            bounds.append(_bound(column, section.contest.designs))
            bounds += [Text()] if compared and column is sheet.decisive else []
        table.add_row(*[""] * (before - 1), Text("bound", "dim"), *bounds)


def _against(sheet: Sheet) -> str:
    """The title of the column that compares; empty where there is nothing to compare with."""
    if not sheet.decisive.good or all(len(section.contest.designs) < 2 for section in sheet.sections):
        return ""
    references = [one for section in sheet.sections if (one := section.contest.reference()) is not None]
    found = {one.row.kind if sheet.named_in_rows else one.name for one in references}
    name = found.pop() if len(found) == 1 else ""
    return f"vs {name}" if name and len(name) <= _REFERENCE_WIDTH else "vs first"


def _compared(contest: Contest, design: Design, column: Column) -> Text:
    reference = contest.reference(design)
    if reference is None or reference is design:
        return Text("")
    return Text(change(reference.value(column), design.value(column)))


def _buffer(bytes_: int) -> str:
    """The size of a buffer; a drive that has none is no drive with a small one."""
    return units.size(bytes_) if bytes_ else "none"


def _title(sheet: Sheet) -> Text:
    contest = sheet.sections[0].contest
    row = contest.rows[0]
    rows = [one for section in sheet.sections for one in section.contest.rows]
    # A drive that wears out gets fewer, and a part of the workload has fewer.
    ends = sorted({one.figure("requests.submitted") or 0 for one in rows})
    requests = " to ".join(dict.fromkeys(units.count(one) for one in (ends[0], ends[-1])))
    parts = [contest.trace, f"{requests} requests{_warmed_up(row)}"]
    if len(sheet.drives) > 1 and len(sheet.ftls) > 1 and not sheet.ftl_in_rows:
        parts.append(", ".join(f"{drive} (FTL {sheet.ftl_of[drive]})" for drive in sheet.drives))
    elif len(sheet.drives) == 1:
        parts.append(sheet.drives[0])
    if len(sheet.ftls) == 1:
        parts.append(f"FTL {sheet.ftls[0]}")
    if not sheet.sized_in_rows:
        parts.append(f"buffer {_buffer(contest.buffer_bytes)}")
    if not sheet.named_in_rows and row.kind != "none":
        parts.append(row.scheme_in_full)
    runs = max(len(design.rows) for design in sheet.designs)
    if runs > 1:
        parts.append(f"means of {runs} seeds")
    return Text(" · ".join(parts), "bold", overflow="fold")


def _warmed_up(row: Row) -> str:
    warm_up = row.figure("warm_up.requests")
    return f" after {units.count(warm_up)} of warm-up" if warm_up else ""


def _cell(design: Design, column: Column, contest: Contest) -> Text:
    text = column.show(design.figure(column.path))
    if column.good is None:
        return Text(text)
    if contest.led_by(design, column):
        return Text(f"{text}*", "bold green")
    return Text(f"{text} ")


def _scheme(design: Design) -> Text:
    """Its name, with marks for what has to be known of it."""
    row = design.row
    name = row.scheme
    if row.offline:
        name = f"{name.removesuffix(OFFLINE).rstrip()} {_OFFLINE}"
    if row.reconstruction:
        name = f"{name} {_RECONSTRUCTED}"
    return Text(name) if _trusted(design) else Text(f"{name} !", "red")


def _trusted(design: Design) -> bool:
    return all(row.trusted for row in design.rows)


def _scheme_width(designs: Iterable[Design]) -> int:
    """Room for every name; for one with many options, for the longest of its words."""
    names = ["scheme", *(_scheme(design).plain for design in designs)]
    return max(longest_word(names), min(_SCHEME_WIDTH, longest(names)))


def _bound(column: Column, designs: Sequence[Design]) -> Text:
    """The best that any scheme could reach at this size: it depends on workload and drive alone.

    Where designs differ in more than their schemes, that of the one that allows most.
    """
    values = [value for one in designs if (value := one.figure(column.bound)) is not None]
    best = max if column.good == "high" else min
    return Text(f"{column.show(best(values))} " if values else "", "dim")


def _legend(sheets: Sequence[Sheet], columns: Sequence[Column], wanted: Sequence[Column]) -> list[str]:
    designs = [design for sheet in sheets for design in sheet.designs]
    rows = [row for design in designs for row in design.rows]
    starred = any(
        section.contest.led_by(design, column)
        for sheet in sheets
        for section in sheet.sections
        for design in section.designs
        for column in columns
    )
    signs: Mapping[str, bool] = {
        "[green]*[/green] best": starred,
        f"{_RECONSTRUCTED} reconstruction: without its full paper": any(row.reconstruction for row in rows),
        "[red]![/red] not to be trusted, see below": not all(row.trusted for row in rows),
        "bound: no scheme does better": any(row.figure("bound") for row in rows),
        f"{_OFFLINE} offline: knows the future": any(row.offline for row in rows),
    }
    no_room = left_out(column.title for column in wanted if column not in columns)
    return [
        *(text for text, there in signs.items() if there),
        *([f"[dim]{no_room}[/dim]"] if no_room else []),
    ]


def _hidden(sheets: Sequence[Sheet]) -> list[str]:
    hidden = [section.hidden for sheet in sheets for section in sheet.sections]
    if not any(hidden):
        return []
    low, high = min(hidden), max(hidden)
    count = f"{low}" if low == high else f"{low} to {high}"
    each = " at each size" if len(hidden) > 1 else ""
    return [f"[dim]{count} more{each}: --all[/dim]"]
