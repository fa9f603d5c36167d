"""What a sensitivity run found: the choices that matter most, the orders, and the conclusions that move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from eraseblock.readings import wording
from eraseblock.results.record import Analysis
from eraseblock.terminal.fitting import full_width, left_out, longest, longest_word

# So many of each are shown; the rest is counted.
_ORDERS, _MOVED, _READINGS = 8, 12, 4
# No value of an option needs more room for one of its words.
_VALUE_WIDTH = 24
_STYLES = {wording.REVERSES: "bold red", wording.LEVELS: "yellow", wording.PARTS: "yellow"}


def print_sensitivity(console: Console, analysis: Analysis) -> None:
    """Print the analysis, the most telling parts first."""
    console.print()
    if analysis["readings"]:
        rows = wording.choice_rows(analysis)
        table, sentence = _fitting(
            console, wording.metrics(analysis), [row for row in rows if row.ran and not row.idle]
        )
        console.print(table)
        if sentence:
            console.print(Text(sentence, "dim"))
        for line in _below(rows):
            console.print(line)
    else:
        console.print("The papers of these schemes and this drive leave nothing open that could be switched.")
    for sentence in (
        *wording.not_switched(analysis),
        *wording.refusals(analysis),
        wording.distrusted(analysis),
    ):
        if sentence:
            console.print(Text(sentence, "yellow"))
    console.print()
    console.print(Text(wording.summary(analysis), "bold"))
    for part in _orders(analysis):
        console.print(part)
    for line in _moved(analysis):
        console.print(line)


def _fitting(
    console: Console, metrics: Sequence[str], rows: Sequence[wording.ChoiceRow]
) -> tuple[Table, str]:
    """The table with as many metrics as there is room for, and a sentence on the others."""
    switches = ["from → to", *(row.switch for row in rows)]
    least = min(_VALUE_WIDTH, longest_word(switches))
    shown = len(metrics)
    while shown > 1 and full_width(console, _choices(metrics[:shown], rows, least)) > console.width:
        shown -= 1
    spare = console.width - full_width(console, _choices(metrics[:shown], rows, least))
    width = min(longest(switches), least + max(0, spare))
    return _choices(metrics[:shown], rows, width), left_out(metrics[shown:])


def _choices(metrics: Sequence[str], rows: Sequence[wording.ChoiceRow], switch_width: int) -> Table:
    table = Table(
        title="Other readings of the papers, the most telling first; the largest change of each figure",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    # Room for every name; notes go on below it.
    table.add_column("choice", overflow="fold", width=longest(["choice", *map(_name, rows)]))
    table.add_column("from → to", overflow="fold", width=switch_width)
    for name in metrics:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("reverses", justify="right", no_wrap=True)
    for row in rows:
        choice = Text(_name(row))
        if row.notes:
            choice.append(f" ({'; '.join(row.notes)})", "yellow")
        count = Text(str(row.reverses or ""), "bold red")
        changes = row.changes[: len(metrics)]
        table.add_row(choice, row.switch, *changes, count, style="dim" if row.seed or row.noise else None)
    return table


def _name(row: wording.ChoiceRow) -> str:
    return f"{row.name}{wording.NOISE if row.noise else ''}"


def _below(rows: Sequence[wording.ChoiceRow]) -> Iterable[Text]:
    """What the table leaves to say."""
    if idle := [f"{row.name} {row.switch}" for row in rows if row.idle]:
        yield Text(f"without any effect: {', '.join(idle)}", "dim")
    if any(row.noise and not row.idle for row in rows):
        yield Text(f"{wording.NOISE} moves no figure further than other seeds of its scheme do", "dim")


def _orders(analysis: Analysis) -> Iterable[Text | Padding]:
    contests = analysis["contests"]
    if not contests:
        return
    seen = set()
    blocks: list[Text | Padding] = []
    for contest in contests[:_ORDERS]:
        blocks += [Text(), Text(wording.title(analysis, contest), "bold")]
        for metric in contest["rankings"]:
            line = Text()
            for step in wording.order(analysis, contest, metric):
                if step.mark:
                    seen.add(step.mark)
                    line.append(f" {step.mark} ", _STYLES.get(step.mark, ""))
                line.append(step.label, "bold").append(f" {step.figure}")
            row = Table.grid(padding=(0, 1))
            row.add_column(style="dim", width=6)
            row.add_column()
            row.add_row(metric, line)
            blocks.append(Padding(row, (0, 0, 0, 2)))
    yield Text("   ".join(f"{mark} {says}" for mark, says in wording.MARKS.items() if mark in seen), "dim")
    yield from blocks
    if len(contests) > _ORDERS:
        yield Text(f"{len(contests) - _ORDERS} more are in --json and, with -o, in the report", "dim")


def _moved(analysis: Analysis) -> Iterable[Text]:
    moved = wording.moved(analysis)
    if not moved:
        return
    yield Text()
    yield Text("Conclusions that depend on the reading", "bold")
    for one in moved[:_MOVED]:
        several = len(analysis["contests"]) > 1
        line = Text("  ").append(f"{one.metric} · {one.where}" if several else one.metric, "dim")
        line.append(f": {one.sentence}")
        if one.by_chance:
            line.append("; other seeds alone reverse it", "yellow")
        yield line
        for name, sentence in one.readings[:_READINGS]:
            yield Text(f"      {name}: ").append(sentence, "red")
        if len(one.readings) > _READINGS:
            yield Text(f"      and under {len(one.readings) - _READINGS} more", "dim")
    if len(moved) > _MOVED:
        yield Text(f"  {len(moved) - _MOVED} more are in --json and, with -o, in the report", "dim")
