"""`eraseblock advise`: questions about a workload, answered by runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from eraseblock.cli.options import AsJson, Jobs, NoCache, Output, Sets, check_jobs, split
from eraseblock.cli.workload import Fit, Workload, WorkloadOptions
from eraseblock.comparison import DEFAULT_DEVICE

if TYPE_CHECKING:
    from eraseblock.advice.answer import Answer

USAGE = "eraseblock advise [OPTIONS] TRACE"
EXAMPLES = """\
Questions:

    buffer     which buffer to take, and how large
    op         how much spare flash for a write amplification (--waf 2)
    gc         which collection policy
    tail       what the slowest reads wait for
    lifetime   how many terabytes can be written before the flash wears out

Examples:

    eraseblock advise mysql.load.zst
    eraseblock advise mysql.load.zst --question op --waf 1.5
    eraseblock advise big.ascii.zst --fit compact --plot advice.html -o out/advice
    eraseblock advise mysql.load.zst --question buffer,lifetime --device hbm-2010 --json
"""


@dataclass(frozen=True, kw_only=True)
class AdviceOptions:
    """What is asked, and where the answers go."""

    question: Annotated[
        str | None, Parameter(help="Questions, as in op,gc; they are listed below; default: all.")
    ] = None
    device: Annotated[str, Parameter(help="Preset of the drive; see `eraseblock list devices`.")] = (
        DEFAULT_DEVICE
    )
    waf: Annotated[float, Parameter(help="Write amplification that spare flash is to bring.")] = 2.0
    endurance: Annotated[
        int | None,
        Parameter(help="Erases that a block endures; default: what the preset says, else 3000."),
    ] = None
    set_: Sets = None
    jobs: Jobs = None
    plot: Annotated[Path | None, Parameter(help="Draw the answers: .png, .svg or .html.")] = None
    dark: Annotated[bool, Parameter(negative="", help="Light on dark (.png and .svg).")] = False
    output: Output = None
    as_json: AsJson = False
    no_cache: NoCache = False


Asked = Annotated[AdviceOptions | None, Parameter(name="*")]


def advise(trace: str, /, *, asked: Asked = None, workload: Workload = None, fit: Fit = None) -> None:
    """Answer questions about TRACE on a drive: which buffer, how much spare flash, how long it lives.

    Each question plans its own runs. The answers come in one paragraph, with the figures behind them and the
    plain commands that make the same runs.

    Args:
        trace: The trace file, plain or packed (.gz, .zst, .bz2, .xz).
    """
    from eraseblock.advice.case import Case, Wish
    from eraseblock.advice.questions import answers, chosen
    from eraseblock.running import Handling
    from eraseblock.terminal.caller import CommandLine

    asked = asked or AdviceOptions()
    if asked.plot is not None:
        from eraseblock.profile.picture import check_name

        check_name(asked.plot)
    names = chosen(split(asked.question, "--question"))
    table = {**(workload or WorkloadOptions()).table(), **({} if fit is None else {"fit": fit})}
    wish = Wish(trace, asked.device, table, asked.set_ or [], asked.waf, asked.endurance)
    handling = Handling(jobs=check_jobs(asked.jobs), folder=asked.output, cache=not asked.no_cache)
    case = Case(wish, handling, CommandLine())
    found = list(answers(case, names))
    case.whole()
    title = f"{case.trace_name} on {asked.device}"
    if asked.output is not None:
        from eraseblock.advice.page import keep

        keep(found, title, asked.output)
    if asked.plot is not None:
        _draw(found, title, asked.plot, dark=asked.dark)
    if asked.as_json:
        from eraseblock.advice.answer import as_json

        sys.stdout.write(json.dumps(as_json(found, case.trace_name, asked.device), indent=2) + "\n")
        return
    from eraseblock.terminal.advice import print_advice
    from eraseblock.terminal.console import out

    print_advice(out(), found, title)
    pages = [("page", asked.output and asked.output / "advice.html"), ("picture", asked.plot)]
    for kind, path in pages:
        if path is not None:
            out().print(f"{kind}: {path}", soft_wrap=True, markup=False)


def _draw(found: Sequence[Answer], title: str, path: Path, *, dark: bool) -> None:
    """Write the answers as a page, or their charts as a picture."""
    if path.suffix.lower() == ".html":
        from eraseblock.advice.page import build_page
        from eraseblock.results.files import replace_file

        replace_file(path, [build_page(found, title).encode()])
        return
    from eraseblock.advice.picture import save

    save(found, title, path, dark=dark)
