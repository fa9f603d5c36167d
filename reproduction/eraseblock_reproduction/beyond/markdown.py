"""Writes the studies as a part of the Markdown page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eraseblock.toolkit import markdown_row as row
from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.sentences import METHOD, sentences
from eraseblock_reproduction.beyond.study import NAME, TITLE
from eraseblock_reproduction.beyond.tables import Table, pairs_table, standings_tables, winners_tables


def studies_page(answers: Sequence[StudyAnswer]) -> Iterator[str]:
    """All studies, each with sentences, standings, contests, and what was left out."""
    yield f'\n<a id="{NAME}"></a>\n\n## {TITLE}\n'
    yield f"{METHOD}\n"
    for answer in answers:
        yield f"\n### {answer.study.title}\n"
        yield f"{answer.study.asks} {answer.study.note}\n"
        for sentence in sentences(answer):
            yield f"- {sentence}"
        pairs = pairs_table(answer)
        for table in [*([pairs] if pairs else []), *standings_tables(answer)]:
            yield f"\n**{table.title}**\n"
            yield from _table(table)
        # Every contest by every measure is in the report and in the JSON.
        for table in winners_tables(answer):
            yield f"\n<details><summary>{table.title}</summary>\n"
            yield from _table(table)
            yield "\n</details>"
        for reason, trials in answer.refusals:
            yield f"\n{len(trials)} designs are refused: {reason}"
        for error in answer.errors:
            yield f"\nRuns failed: {error}"


def _table(table: Table) -> Iterator[str]:
    yield row(table.head)
    yield row(["---"] * table.names + ["---:"] * (len(table.head) - table.names))
    for cells in table.rows:
        yield row(cells)
