"""`eraseblock reproduce`: what papers state of their results, beside what comes out here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from eraseblock import ConfigError
from eraseblock.toolkit import (
    AsJson,
    CommandLine,
    Fresh,
    Handling,
    Jobs,
    NoCache,
    check_jobs,
    check_replaceable,
    out,
    say_error,
)
from eraseblock_reproduction.beyond.study import NAME as BEYOND
from eraseblock_reproduction.workloads import Take

if TYPE_CHECKING:
    from collections.abc import Collection

    from eraseblock_reproduction.answers import PaperAnswer
    from eraseblock_reproduction.beyond.answers import StudyAnswer
    from eraseblock_reproduction.beyond.study import Study
    from eraseblock_reproduction.data import Figure, Paper
    from eraseblock_reproduction.plan import Plan
    from eraseblock_reproduction.sensitivity import Sensitivity
    from eraseblock_reproduction.study import Running

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
    eraseblock reproduce adversaries --page docs/adversaries.md
    eraseblock reproduce --all --page docs/reproduction.md
    eraseblock reproduce --all --sensitivity
    eraseblock reproduce --all --sensitivity-of bplru,multibank
"""
# An hour of runs is kept, even where nobody asked for it.
DEFAULT_FOLDER = Path("out/reproduction")
USAGE = """\
Usage: eraseblock reproduce PAPER [FIGURE] [OPTIONS]
       eraseblock reproduce beyond [STUDY] [OPTIONS]
       eraseblock reproduce adversaries [BUFFER...] [OPTIONS]
       eraseblock reproduce --all [OPTIONS]"""


app = App(name="reproduce", help_epilogue=EXAMPLES, usage=USAGE, help_format="plaintext")
# Imported when it is called.
app.command("eraseblock_reproduction.terminal.adversaries:adversaries", name="adversaries")


@dataclass(frozen=True, kw_only=True)
class TraceOptions:
    """Traces in the place of what stands for them."""

    traces: Annotated[
        Path | None,
        Parameter(
            help="Folder with traces. A paper's own trace is told by its content, whatever its name, "
            "and runs in the place of what stands for it."
        ),
    ] = None
    take: Annotated[
        Take,
        Parameter(
            help="Which of these traces run: the papers' own, whole; also public parts of them; also "
            "others of the same kind. What does not run is named."
        ),
    ] = "own"


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How runs are made, and where they are kept."""

    jobs: Jobs = None
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="Folder for the runs, reproduction.json and report.html. Each run is stored there as it "
            "ends: the same command goes on where it was stopped, and runs nothing twice. "
            "With --all: out/reproduction, if not named.",
        ),
    ] = None
    fresh: Fresh = False
    no_cache: NoCache = False

    def handling(self) -> Handling:
        """The same for the engine."""
        if self.fresh and self.output is None:
            raise ConfigError("--fresh: is about a folder of results; name it with -o")
        return Handling(
            jobs=check_jobs(self.jobs), folder=self.output, fresh=self.fresh, cache=not self.no_cache
        )


@dataclass(frozen=True, kw_only=True)
class SensitivityOptions:
    """What papers leave open, in its other ways."""

    sensitivity: Annotated[
        bool,
        Parameter(
            negative="",
            help="Also do each thing that papers leave open in its other ways, and pairs of those that "
            "move a claim, and say which verdicts hang on it: with one seed, at a tenth of the length, and "
            "at full length what moved there. This takes hours. What comes out for a whole paper is stored "
            "beside its claims, and told by later calls without this option.",
        ),
    ] = False
    sensitivity_of: Annotated[
        str | None,
        Parameter(help="The same for some papers only, with commas between them: --sensitivity-of bplru,epo"),
    ] = None

    def switched(self, wanted: list[tuple[Paper, Figure]]) -> Collection[str]:
        """The papers whose open choices are run in their other ways."""
        asked = {paper.name for paper, _ in wanted}
        if self.sensitivity_of is None:
            return asked if self.sensitivity else ()
        if self.sensitivity:
            raise ConfigError(
                "--sensitivity: stands for every paper that is run; name some with --sensitivity-of alone"
            )
        chosen = {name.strip().lower() for name in self.sensitivity_of.split(",")}
        if not asked:
            raise ConfigError(
                f"--sensitivity-of: `{BEYOND}` has nothing that a paper leaves open; leave it out"
            )
        for name in sorted(chosen - asked):
            raise ConfigError(
                f"--sensitivity-of: `{name}` is not a paper that is run "
                f"(those are: {', '.join(sorted(asked))})"
            )
        return chosen


@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """What the results are written as."""

    page: Annotated[
        Path | None,
        Parameter(
            help="Write the results as a Markdown page with a row for each paper, and a page for each paper "
            "in the folder `papers` beside it."
        ),
    ] = None
    as_json: AsJson = False


@app.default
def reproduce(
    paper: str | None = None,
    figure: str | None = None,
    /,
    *,
    all_: Annotated[
        bool,
        Parameter(
            name="--all",
            negative="",
            help="All figures of all papers; what is beyond them and what verdicts hang on, as stored.",
        ),
    ] = False,
    traces: Annotated[TraceOptions | None, Parameter(name="*")] = None,
    running: Annotated[RunOptions | None, Parameter(name="*")] = None,
    readings: Annotated[SensitivityOptions | None, Parameter(name="*")] = None,
    results: Annotated[ResultOptions | None, Parameter(name="*")] = None,
) -> int:
    """Run the experiments behind a figure, and judge what the paper says of it.

    Each claim is reproduced (the order holds; numbers are within 10 %), partly (an effect between half
    and double the stated one), right in its direction only, or not reproduced; or the paper contradicts
    itself; or it is undecided. Results alone are counted, each fact once. What was run in the place of the
    paper's workload is always said.

    Beyond the papers: every buffer with every FTL on every workload, and the papers' schemes on a
    modern drive; which scheme wins where, and by how much.

    Args:
        paper: hbm, epo, bplru, multibank, supa, or beyond.
        figure: A figure or table of it, such as 4.1 or table1.1, or a study, pairs or nvme; all if left out.
    """
    from eraseblock_reproduction.answers import answers, failed
    from eraseblock_reproduction.plan import plan
    from eraseblock_reproduction.running import execute, runner
    from eraseblock_reproduction.traces import Survey, survey

    traces, running = traces or TraceOptions(), running or RunOptions()
    readings, results = readings or SensitivityOptions(), results or ResultOptions()
    if results.page is not None:
        check_replaceable(results.page)
    if all_ and running.output is None:
        running = replace(running, output=DEFAULT_FOLDER)
    handling, caller = running.handling(), CommandLine()
    wanted = _wanted(paper, figure, everything=all_)
    switched = readings.switched(wanted)
    studies = _studies(paper, figure, traces.traces, everything=all_)
    at_hand = Survey() if traces.traces is None else survey(traces.traces, handling.jobs)
    planned = plan(wanted, at_hand, traces.take)
    for notice in planned.notices:
        say_error(notice)
    execute(planned, handling, caller)
    as_stored = traces.traces is None
    hang = _studied(planned, switched, runner(handling, caller), whole=figure is None and as_stored)
    if as_stored:
        hang = {**_stored(planned), **hang}
    found = answers(planned, hang)
    beyond = _as_stored(studies) if all_ else _run(studies, handling, caller)
    _hand_out(found, beyond, handling.folder, results, brief=all_, fresh=bool(switched))
    errors = [*failed(found), *(error for study in beyond for error in study.errors)]
    for error in errors:
        say_error(error)
    return 1 if errors else 0


def _hand_out(
    found: Sequence[PaperAnswer],
    beyond: Sequence[StudyAnswer],
    folder: Path | None,
    results: ResultOptions,
    *,
    brief: bool,
    fresh: bool,
) -> None:
    """Write the files that were asked for, then print."""
    from eraseblock_reproduction.files import to_json, write
    from eraseblock_reproduction.pages.writing import write_pages
    from eraseblock_reproduction.terminal.claims import print_reproduction
    from eraseblock_reproduction.terminal.studies import print_study

    report = None if folder is None else write(found, folder, beyond)
    if results.page is not None:
        write_pages(found, results.page, beyond)
    if results.as_json:
        sys.stdout.write(to_json(found, beyond))
        return
    print_reproduction(out(), found, brief=brief, fresh=fresh)
    for study in beyond:
        print_study(out(), study)
    if report is not None:
        out().print(f"report: {report}", soft_wrap=True, markup=False)


def _as_stored(studies: Sequence[Study]) -> list[StudyAnswer]:
    """Beside all papers, studies as they were stored: their runs take longer than those of all papers."""
    from eraseblock_reproduction.beyond.answers import stored_studies

    found = stored_studies(studies)
    kept = {one.study.name for one in found}
    for study in studies:
        if study.name not in kept:
            call = f"eraseblock reproduce {BEYOND} {study.name}"
            say_error(f"{BEYOND} {study.name}: no outcome is stored; `{call}` makes one")
    return found


def _run(studies: Sequence[Study], handling: Handling, caller: CommandLine) -> list[StudyAnswer]:
    """Run studies, and store what came out of each that has no failures."""
    from eraseblock_reproduction.beyond import stored
    from eraseblock_reproduction.beyond.answers import run_studies

    found = run_studies(studies, handling, caller) if studies else []
    for one in found:
        if not one.errors:
            stored.write(one.study, one.trials)
    return found


def _studied(planned: Plan, names: Collection[str], run: Running, *, whole: bool) -> dict[str, Sensitivity]:
    """What verdicts hang on, found out for these papers; of whole papers it is stored."""
    from eraseblock_reproduction import sensitivity
    from eraseblock_reproduction.study import by_figures

    found = {}
    for name, figures in planned.by_paper.items():
        if name in names:
            paper = figures[0].paper
            keep = partial(sensitivity.write_part, paper) if whole else _nowhere
            found[name] = by_figures(figures, run, keep)
            if whole:
                sensitivity.write(paper, found[name])
    return found


def _nowhere(_found: Sensitivity) -> None:
    """What was found of one figure of a paper is told, and not stored."""


def _stored(planned: Plan) -> dict[str, Sensitivity]:
    """What verdicts hang on, as it was stored."""
    from eraseblock_reproduction.sensitivity import stored

    found = {name: stored(figures[0].paper) for name, figures in planned.by_paper.items()}
    return {name: one for name, one in found.items() if one is not None}


def _wanted(paper: str | None, figure: str | None, *, everything: bool) -> list[tuple[Paper, Figure]]:
    from eraseblock_reproduction import data

    if everything:
        if paper is not None:
            raise ConfigError(f"--all: stands for every paper; leave out --all or `{paper}`")
        papers = [data.paper(name) for name in data.PAPERS]
    elif paper is None:
        raise ConfigError(
            f"reproduce: name a paper ({', '.join(data.PAPERS)}), `{BEYOND}`, or say --all (see --help)"
        )
    elif paper.lower() == BEYOND:
        return []
    else:
        papers = [data.paper(paper.lower())]
    if figure is not None:
        return [(papers[0], papers[0].figure(figure))]
    return [(one, each) for one in papers for each in one.figures.values()]


def _studies(paper: str | None, figure: str | None, traces: Path | None, *, everything: bool) -> list[Study]:
    from eraseblock_reproduction.beyond.study import chosen

    if everything:
        return chosen(None)
    if paper is None or paper.lower() != BEYOND:
        return []
    if traces is not None:
        raise ConfigError(f"--traces: `{BEYOND}` runs bundled recordings and stand-ins; leave it out")
    return chosen(figure)
