"""`eraseblock reproduce adversaries`: for each buffer scheme the small workload on which it is worst."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich import box
from rich.console import Console
from rich.table import Table

from eraseblock import ConfigError
from eraseblock.toolkit import Jobs, check_jobs, check_replaceable, make_folder, nearest, out, say_error
from eraseblock_reproduction.adversaries import bench
from eraseblock_reproduction.adversaries import page as pages
from eraseblock_reproduction.adversaries.bench import FTLS, ORDINARY
from eraseblock_reproduction.adversaries.page import Outcome
from eraseblock_reproduction.adversaries.search import Effort
from eraseblock_reproduction.adversaries.stored import Stored, forget, is_whole
from eraseblock_reproduction.adversaries.survey import left_out, survey
from eraseblock_reproduction.adversaries.words import spread


def adversaries(
    *schemes: str,
    drawn: int = 40,
    rounds: int = 2,
    seed: int = 1,
    jobs: Jobs = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    fresh: Annotated[bool, Parameter(negative="")] = False,
    page: Path | None = None,
) -> int:
    """Search the small workload on which each buffer is furthest behind the best of none, lru and block-lru.

    The same seed finds the same. What is found is stored as it ends, beside the papers' data: the same
    command goes on where it was stopped, and runs nothing if all is there. All of it is some minutes of
    one processor that has nothing else to do.

    Args:
        schemes: Names of buffers; all that are registered if left out.
        drawn: Workloads drawn at random.
        rounds: How often each buffer then gets a workload of its own.
        seed: Seed of the search.
        jobs: Runs at a time; one if left out.
        output: Folder for what is found, in the place of reproduction/adversaries.
        fresh: Search anew, whatever is stored; what was worst so far is judged again with what is found.
        page: Write the page of what is stored (docs/adversaries.md), and an experiment for each buffer
            into the folder.
    """
    names = _checked(schemes, bench.schemes())
    for option, value in (("--drawn", drawn), ("--rounds", rounds)):
        if value < 1:
            raise ConfigError(f"{option}: found {value}, expected 1 or more")
    if page is not None:
        check_replaceable(page)
    folder = output or bench.folder()
    make_folder(folder)
    if fresh:
        forget(folder)
    effort = Effort(drawn, rounds)
    if not is_whole(folder, effort, seed, names):
        runs = bench.Bench(check_jobs(jobs) or 1)
        unable = left_out(runs, names)
        able = [name for name in names if name not in unable]
        survey(runs, Stored(folder, effort, seed, able, unable), say_error)
    found = pages.outcome(folder)
    if page is not None:
        pages.write(found, page, folder)
    _print(out(), found)
    return 0


def _checked(names: Sequence[str], every: Sequence[str]) -> list[str]:
    for name in names:
        if name not in every:
            raise ConfigError(
                f"reproduce adversaries: there is no buffer `{name}`{nearest(name, list(every))} "
                f"(known: {', '.join(every)})"
            )
    return [name for name in every if name in (*names, *ORDINARY) or not names]


def _print(console: Console, found: Outcome) -> None:
    """A row for each buffer: the worst on each FTL by mean response."""
    for ftl in FTLS:
        table = Table(
            title=f"mean response on {ftl}, in those of the best of {', '.join(ORDINARY)}",
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        table.add_column("buffer", no_wrap=True)
        table.add_column("times", justify="right", no_wrap=True)
        table.add_column("that of", no_wrap=True)
        table.add_column("workload")
        for one in found.of("response", ftl):
            table.add_row(one.scheme, spread(one), one.best, one.workload.words)
        console.print(table)
    for scheme, reason in found.left_out.items():
        console.print(f"left out: {scheme}: {reason}", markup=False)
