"""Writes the studies as a page of Markdown: the headline first, long tables as data beside it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eraseblock.toolkit import markdown_row as row
from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.headline import headline, worth_table
from eraseblock_reproduction.beyond.sentences import METHOD, sentences
from eraseblock_reproduction.beyond.study import NAME, TITLE
from eraseblock_reproduction.beyond.tables import Table, pairs_table, standings_tables, winners_tables

# A page has at most 25 kB: tables with more rows, or with one for each workload, are data beside it.
ROWS = 15


@dataclass(frozen=True)
class Section:
    """What a page says of one study."""

    name: str
    title: str
    asks: str
    note: str
    # The engine that made its runs.
    engine: str
    headline: tuple[str, ...]
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    asides: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Table]:
        """Tables by the names of their files beside the page."""
        return {f"{NAME}-{self.name}-{_slug(table.title)}.csv": table for table in self.tables}


def section(answer: StudyAnswer) -> Section:
    """A study as it came out."""
    tables = [worth_table(answer), *standings_tables(answer), pairs_table(answer), *winners_tables(answer)]
    refused = [f"{len(trials)} designs are refused: {reason}" for reason, trials in answer.refusals]
    return Section(
        answer.study.name,
        answer.study.title,
        answer.study.asks,
        answer.study.note,
        answer.engine,
        tuple(headline(answer)),
        tuple(sentences(answer)),
        tuple(table for table in tables if table is not None),
        (*refused, *(f"Runs failed: {error}" for error in answer.errors)),
    )


def studies_page(sections: Sequence[Section]) -> Iterator[str]:
    """All studies: what they came to first, then each with its sentences and tables."""
    yield f"# {TITLE}\n"
    for one in sections:
        for sentence in one.headline:
            yield f"- **{one.name}.** {sentence}"
    yield "\nThe workload on which each buffer is worst: [adversaries](../adversaries.md)."
    for one in sections:
        yield f"\n## {one.title}\n"
        yield f"{one.asks} {one.note}\n"
        for sentence in one.sentences:
            yield f"- {sentence}"
        for table in one.tables:
            if len(table.rows) <= ROWS and table.head[0] != "workload":
                yield f"\n**{table.title}**\n"
                yield from _table(table)
        yield "\nAll tables as data:\n"
        for file, table in one.data.items():
            yield f"- [{table.title}]({file})"
        for aside in one.asides:
            yield f"\n{aside}"
        yield f"\nMade with engine {one.engine}."
    yield f"\n## How to read the intervals\n\n{METHOD}"


def table_csv(table: Table) -> str:
    """A table as data."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.head, *table.rows])
    return text.getvalue()


def _table(table: Table) -> Iterator[str]:
    yield row(table.head)
    yield row(["---"] * table.names + ["---:"] * (len(table.head) - table.names))
    for cells in table.rows:
        yield row(cells)


def _slug(title: str) -> str:
    """A title as a file's name: up to its first comma, and what comes after a colon."""
    start, _, end = re.sub(r" \(.*?\)", "", title.lower()).partition(": ")
    return "-".join(re.findall(r"[a-z0-9]+", f"{start.partition(',')[0]} {end}"))
