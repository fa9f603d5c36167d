"""`eraseblock trace generate`: writes the trace of a generator or of a stand-in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from eraseblock import _core
from eraseblock.cli.options import AsJson, beside
from eraseblock.overrides import refuse_both
from eraseblock.piped import plain

USAGE = "Usage: eraseblock trace generate KIND|NAME|--spec FILE.toml -o OUT [OPTIONS]"

EXAMPLES = """\
Examples:

    eraseblock trace generate zipf -o zipf.ebt --requests 1000000 --set theta=1.1
    eraseblock trace generate uniform -o out.spc.zst --set 'size={"4 KiB"=70, "64 KiB"=30}'
    eraseblock trace generate hbm-financial -o financial.ebt --requests 100000 --seed 7
    eraseblock trace generate hbm-financial --describe
    eraseblock trace generate supa-web --compare
    eraseblock trace generate --spec mixture.toml -o mixture.ebt
    eraseblock list generators
    eraseblock list stand-ins
"""

Generator = tuple[str | None, tuple[str, str] | None, list[str]]


def generate(
    kind: str | None = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="The file to write.")] = None,
    spec: Annotated[
        Path | None, Parameter(help="A file with the keys of a generator, or an experiment that has one.")
    ] = None,
    requests: Annotated[int | None, Parameter(help="How many requests.")] = None,
    seed: Annotated[int | None, Parameter(help="Another seed gives other requests of the same kind.")] = None,
    sets: Annotated[
        list[str] | None,
        Parameter(
            name="--set",
            negative="",
            consume_multiple=False,
            help="Set a key of the generator, as in --set read_share=0.3; may be repeated.",
        ),
    ] = None,
    to: Annotated[str | None, Parameter(help="Format of the file; default: told by its extension.")] = None,
    lossy: Annotated[
        bool, Parameter(negative="", help="Leave out what the format cannot hold, and count it.")
    ] = False,
    force: Annotated[
        bool,
        Parameter(
            negative="",
            help="Replace the file if it is a regular one; nothing else is replaced.",
        ),
    ] = False,
    describe: Annotated[
        bool, Parameter(negative="", help="Say what a stand-in matches and cannot know; write nothing.")
    ] = False,
    compare: Annotated[
        bool, Parameter(negative="", help="Count a stand-in beside what was published; write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the trace of a generator, or of a stand-in for a published workload.

    Args:
        kind: A generator or a stand-in; see `eraseblock list generators` and `eraseblock list stand-ins`.
    """
    generator = _generator(kind, spec, requests, seed, sets or [])
    if describe:
        _describe(kind, as_json=as_json)
    elif compare:
        _compare(generator, kind or str(spec), as_json=as_json)
    elif output is None:
        raise _core.ConfigError("trace generate: name the file to write with -o, for example -o out.ebt")
    else:
        _write(generator, output, to, lossy=lossy, force=force, as_json=as_json)


def _generator(
    kind: str | None, spec: Path | None, requests: int | None, seed: int | None, sets: list[str]
) -> Generator:
    if kind is None and spec is None:
        raise _core.ConfigError(
            "trace generate: name a generator (eraseblock list generators), a stand-in "
            "(eraseblock list stand-ins), or a file with --spec"
        )
    if kind is not None and spec is not None:
        raise _core.ConfigError(f"trace generate: found both `{kind}` and --spec; expected one of the two")
    file = None
    if spec is not None:
        try:
            file = (spec.read_text(encoding="utf-8"), str(spec))
        except (OSError, UnicodeDecodeError) as error:
            raise _core.ConfigError(f"--spec {spec}: cannot be read: {error}") from error
    given = {key: value for key, value in (("requests", requests), ("seed", seed)) if value is not None}
    refuse_both(given, sets, {key: f"--{key}" for key in given})
    if kind is not None:
        refuse_both({"kind": kind}, sets, {"kind": f"`{kind}`"})
    return kind, file, [*sets, *(f"{key}={value}" for key, value in given.items())]


# From so many requests on their making is announced: bytes and time of each are what they mostly are.
_MANY, _BYTES, _PER_S = 10**9, 5, 5_000_000


def _write(
    generator: Generator, output: Path, to: str | None, *, lossy: bool, force: bool, as_json: bool
) -> None:
    from eraseblock.results import units
    from eraseblock.terminal.console import err, out, say_error
    from eraseblock.terminal.steps import StepBar

    with StepBar() as bar:
        said_so = False

        def update(phase: str, done: int, total: int) -> None:
            nonlocal said_so
            if total >= _MANY and not said_so:
                said_so = True
                say_error(
                    f"{total:,} requests make some {units.size(total * _BYTES)} in the compact format, and "
                    f"take some {total / _PER_S / 3600:,.1f} hours; Ctrl-C ends it"
                )
            bar.update(phase, done, total)

        text = _core.generate_trace(generator, str(output), to, force, lossy, update)
    report, said = json.loads(plain(text)), beside(output)
    if as_json:
        said.write(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        return
    lost = [f"{key.replace('_', ' ')}: {count:,}" for key, count in report["losses"].items() if count]
    (err() if said is sys.stderr else out()).print(
        f"{report['path']}: {report['requests']:,} requests as {report['format']}, "
        f"{units.size(report['file_bytes'])}",
        *([f"not as made: {', '.join(lost)}"] if lost else []),
        *(f"not as asked for: {missed}" for missed in report.get("missed", [])),
        sep="\n",
        highlight=False,
    )


def _describe(name: str | None, *, as_json: bool) -> None:
    if name is None:
        raise _core.ConfigError("--describe: name a stand-in (eraseblock list stand-ins)")
    about = json.loads(_core.stand_in(name))
    if as_json:
        sys.stdout.write(json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        return
    from rich.text import Text

    from eraseblock.terminal.console import out

    console = out()
    lines = [f"{about['name']}: {about['title']}", f"Published in: {about['source']}", "", "Matches:"]
    for one in about["statistic"]:
        unit = f" {one['unit']}" if one["unit"] else ""
        lines.append(f"  {one['title']}: {one['published']}{unit} ({one['at']})")
    for head, key in (("Choices:", "choices"), ("Cannot know:", "unknown")):
        lines += ["", head, *(f"  {line}" for line in about[key])]
    if about["variants"]:
        lines += ["", "Variants (--set variant=NAME):"]
        lines += [f"  {key}: {variant['about']}" for key, variant in about["variants"].items()]
    lines += ["", "Generator:", f"  {json.dumps(about['generate'], ensure_ascii=False)}"]
    console.print(Text("\n".join(lines)))


def _compare(generator: Generator, title: str, *, as_json: bool) -> None:
    from eraseblock.terminal.steps import StepBar

    with StepBar() as bar:
        rows: list[dict[str, Any]] = json.loads(_core.measure_stand_in(generator, bar.update))
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from eraseblock.terminal.console import out

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("statistic", "published", "generated", "deviation", "where"):
        table.add_column(head, justify="right" if head in ("published", "generated", "deviation") else "left")
    for row in rows:
        table.add_row(*map(Text, comparison_cells(row)))
    out().print(table)


def comparison_cells(row: dict[str, Any]) -> list[str]:
    """Statistic, published, generated, deviation, source."""
    unit = f" {row['unit']}" if row["unit"] else ""
    published, generated = row["published"], row["generated"]
    decimals = len(published.partition(".")[2])
    digits = decimals + 1 if decimals or row["unit"] else 0
    deviation = (
        "" if row["deviation"] is None else f"{row['deviation'] * 100:+.2f} %".replace("-0.00", "+0.00")
    )
    if row["met"] and row["deviation"] is not None and abs(row["deviation"]) > 0.02:
        deviation += ", rounds to it"
    elif not row["met"]:
        deviation = f"{deviation} missed".strip()
    return [
        row["title"],
        f"{published}{unit}",
        f"{generated:,.{digits}f}{unit}",
        deviation or "met",
        row["at"],
    ]
