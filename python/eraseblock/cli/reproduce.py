"""`eraseblock reproduce`: what papers state of their results, beside what comes out here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from eraseblock import _core
from eraseblock.cli.options import AsJson, Fresh, Jobs, check_jobs
from eraseblock.reproduction.beyond.study import NAME as BEYOND
from eraseblock.reproduction.workloads import Take

if TYPE_CHECKING:
    from collections.abc import Collection

    from eraseblock.reproduction.beyond.study import Study
    from eraseblock.reproduction.data import Figure, Paper

EXAMPLES = """\
Examples:

    eraseblock list papers
    eraseblock reproduce hbm table1.1
    eraseblock reproduce bplru 17 -o out/bplru
    eraseblock reproduce multibank --json > multibank.json
    eraseblock reproduce epo --traces ~/traces -o out/epo
    eraseblock reproduce bplru 7 --sensitivity
    eraseblock reproduce beyond -o out/beyond
    eraseblock reproduce beyond nvme
    eraseblock reproduce --all --page docs/reproduction.md
    eraseblock reproduce --all --sensitivity-of bplru,multibank
"""
# An hour of runs is kept, even where nobody asked for it.
DEFAULT_FOLDER = Path("out/reproduction")
USAGE = """\
Usage: eraseblock reproduce PAPER [FIGURE] [OPTIONS]
       eraseblock reproduce beyond [STUDY] [OPTIONS]
       eraseblock reproduce --all [OPTIONS]"""


def reproduce(
    paper: str | None = None,
    figure: str | None = None,
    /,
    *,
    all_: Annotated[
        bool, Parameter(name="--all", negative="", help="All figures of all papers, and what is beyond them.")
    ] = False,
    traces: Annotated[
        Path | None,
        Parameter(
            help="Folder with traces. A paper's own trace is told by its content, whatever its name, "
            "and runs in the place of what stands for it."
        ),
    ] = None,
    take: Annotated[
        Take,
        Parameter(
            help="Which of these traces run: the papers' own, whole; also public parts of them; also "
            "others of the same kind. What does not run is named."
        ),
    ] = "own",
    jobs: Jobs = None,
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="Folder for the runs, reproduction.json and report.html. Each run is stored there as it "
            "ends: the same command goes on where it was stopped, and runs nothing twice. "
            "With --all: out/reproduction, if not named.",
        ),
    ] = None,
    fresh: Fresh = False,
    sensitivity: Annotated[
        bool,
        Parameter(
            negative="",
            help="Also run each thing that papers leave open in its other ways, one at a time and with one "
            "seed, and say which verdicts hang on it. This takes several times as long.",
        ),
    ] = False,
    sensitivity_of: Annotated[
        str | None,
        Parameter(help="The same for some papers only, with commas between them: --sensitivity-of bplru,epo"),
    ] = None,
    page: Annotated[Path | None, Parameter(help="Write the results as a Markdown page.")] = None,
    as_json: AsJson = False,
) -> int:
    """Run the experiments behind a figure, and judge what the paper says of it.

    Each claim is reproduced (the order holds; numbers are within 10 %), goes in the same direction, or is
    not reproduced; or the paper contradicts itself; or it needs what is not here. What was run in the place
    of the paper's workload is always said.

    Beyond the papers: every buffer with every FTL on every workload, and the papers' schemes on a
    modern drive; which scheme wins where, and by how much.

    Args:
        paper: hbm, epo, bplru, multibank, supa, or beyond.
        figure: A figure or table of it, such as 4.1 or table1.1, or a study, pairs or nvme; all if left out.
    """
    from eraseblock.reproduction.answers import answers, failed
    from eraseblock.reproduction.beyond.answers import run_studies
    from eraseblock.reproduction.plan import plan
    from eraseblock.reproduction.running import execute
    from eraseblock.reproduction.traces import Survey, survey
    from eraseblock.terminal.console import out, say_error

    if page is not None:
        _core.check_replaceable(str(page))
    if all_ and output is None:
        output = DEFAULT_FOLDER
    if fresh and output is None:
        raise _core.ConfigError("--fresh: is about a folder of results; name it with -o")
    wanted = _wanted(paper, figure, everything=all_)
    switched = _switched(wanted, sensitivity_of, everything=sensitivity)
    studies = _studies(paper, figure, traces, everything=all_)
    at_hand = Survey() if traces is None else survey(traces, check_jobs(jobs))
    planned = plan(wanted, at_hand, take, sensitivity=switched)
    for notice in planned.notices:
        say_error(notice)
    execute(planned, jobs=check_jobs(jobs), folder=output, fresh=fresh)
    found = answers(planned)
    beyond = run_studies(studies, jobs=check_jobs(jobs), folder=output, fresh=fresh) if studies else []
    if output is not None:
        from eraseblock.reproduction.files import write

        report = write(found, output, beyond)
    if page is not None:
        from eraseblock.reproduction.page import write_page

        write_page(found, page, beyond)
    if as_json:
        from eraseblock.reproduction.files import to_json

        sys.stdout.write(to_json(found, beyond))
    else:
        from eraseblock.terminal.beyond import print_study
        from eraseblock.terminal.reproduction import print_reproduction

        print_reproduction(out(), found, brief=all_)
        for study in beyond:
            print_study(out(), study)
        if output is not None:
            out().print(f"report: {report}", soft_wrap=True, markup=False)
    errors = [*failed(found), *(error for study in beyond for error in study.errors)]
    for error in errors:
        say_error(error)
    return 1 if errors else 0


def _wanted(paper: str | None, figure: str | None, *, everything: bool) -> list[tuple[Paper, Figure]]:
    from eraseblock.reproduction import data

    if everything:
        if paper is not None:
            raise _core.ConfigError(f"--all: stands for every paper; leave out --all or `{paper}`")
        papers = [data.paper(name) for name in data.PAPERS]
    elif paper is None:
        raise _core.ConfigError(
            f"reproduce: name a paper ({', '.join(data.PAPERS)}), `{BEYOND}`, or say --all (see --help)"
        )
    elif paper.lower() == BEYOND:
        return []
    else:
        papers = [data.paper(paper.lower())]
    if figure is not None:
        return [(papers[0], papers[0].figure(figure))]
    return [(one, each) for one in papers for each in one.figures.values()]


def _switched(wanted: list[tuple[Paper, Figure]], names: str | None, *, everything: bool) -> Collection[str]:
    """The papers whose open choices are run in their other ways."""
    asked = {paper.name for paper, _ in wanted}
    if names is None:
        return asked if everything else ()
    if everything:
        raise _core.ConfigError(
            "--sensitivity: stands for every paper that is run; name some with --sensitivity-of alone"
        )
    chosen = {name.strip().lower() for name in names.split(",")}
    if not asked:
        raise _core.ConfigError(
            f"--sensitivity-of: `{BEYOND}` has nothing that a paper leaves open; leave it out"
        )
    for name in sorted(chosen - asked):
        raise _core.ConfigError(
            f"--sensitivity-of: `{name}` is not a paper that is run (those are: {', '.join(sorted(asked))})"
        )
    return chosen


def _studies(paper: str | None, figure: str | None, traces: Path | None, *, everything: bool) -> list[Study]:
    from eraseblock.reproduction.beyond.study import chosen

    if everything:
        return chosen(None)
    if paper is None or paper.lower() != BEYOND:
        return []
    if traces is not None:
        raise _core.ConfigError(f"--traces: `{BEYOND}` runs bundled recordings and stand-ins; leave it out")
    return chosen(figure)
