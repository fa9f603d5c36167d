"""The one way from experiments to stored records; command line, Python and other projects all take it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from eraseblock import _core
from eraseblock.events import logs_of
from eraseblock.experiments import Experiment
from eraseblock.results.missing import Missing
from eraseblock.results.record import Analysis, Record
from eraseblock.results.runs import RunStore, opened
from eraseblock.results.shards import Shard
from eraseblock.results.store import make_folder
from eraseblock.sweeps import Outcome, Watcher, Way, run_all
from eraseblock.volumes import each_volume, wants_each

if TYPE_CHECKING:
    from eraseblock.readings.plan import Plan


@dataclass(frozen=True)
class Words:
    """How the caller writes what sentences name: the call as a whole, and its options."""

    call: str
    folder: str
    fresh: str
    prune: str
    events: str
    shard: str
    cluster: str
    jobs: str


class Caller(Protocol):
    """Who asked for the runs, and is told how they get on."""

    words: Words

    def watching(self, runs: int) -> AbstractContextManager[Watcher | None]:
        """Who watches so many runs, while they are under way."""

    def notice(self, sentence: str) -> None:
        """Something about the folder, before it is used."""


@dataclass
class Quiet:
    """A caller in Python: has a watcher of its own or none, and keeps what it is told."""

    watcher: Watcher | None = None
    notices: list[str] = field(default_factory=list)
    words: Words = Words("the same call", "`out`", "fresh", "prune", "events", "shard", "cluster", "jobs")

    def watching(self, runs: int) -> AbstractContextManager[Watcher | None]:  # noqa: ARG002
        """The watcher, which may be none."""
        return nullcontext(self.watcher)

    def notice(self, sentence: str) -> None:
        """Keep it."""
        self.notices.append(sentence)


@dataclass(frozen=True)
class Handling:
    """How experiments are run, and where their records are kept."""

    # Runs at a time; None: one per processor.
    jobs: int | None = None
    # Check every read, and the laws of the drive.
    verify: bool = False
    # Runs experiments in the place of threads.
    executor: Executor | None = None
    # Address of a Dask scheduler, or a client of one: its workers run experiments, in the place of threads.
    cluster: Any = None
    # File or folder for the decisions of the buffers. What is stored has none: everything is run.
    events: str | Path | None = None
    # Where each run is stored as it ends; what is there is not run again, unless `fresh`.
    folder: Path | None = None
    fresh: bool = False
    # Drop what the folder holds beside these runs.
    prune: bool = False
    # The share of the runs that is this machine's; the others are run elsewhere.
    shard: Shard | None = None
    # Run the other readings of the papers, too.
    sensitivity: bool = False
    # Start from filled drives that other commands have kept, and keep some for them.
    cache: bool = True
    # What is kept of each record in memory; all of it unless told otherwise.
    trim: Callable[[Record], Record] | None = None
    # An experiment may stand for a run of each volume of its trace. Whoever counts on one outcome for each
    # experiment does not say so.
    each_volume: bool = False

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise _core.ConfigError(f"jobs: found {self.jobs}, expected 1 or more")


@dataclass(frozen=True)
class Finished:
    """What came of the runs. A folder stays locked as long as this is in use."""

    # Of the experiments that were asked for, in their order.
    outcomes: list[Outcome]
    # Of the other readings of the papers.
    others: list[Outcome]
    analysis: Analysis | None = None
    store: RunStore | None = None

    @property
    def found(self) -> str:
        """How many runs the folder had already; empty if none."""
        if self.store is None or not self.store.found:
            return ""
        if self.store.shard is not None:
            of = f"the {self.store.asked_for} runs of shard {self.store.shard}"
        else:
            of = f"{len(self.outcomes) + len(self.others)} runs"
        return f"{self.store.found} of {of} found in {self.store.folder}"

    @property
    def handed_in(self) -> str:
        """What a shard has stored, and what to do with it; empty for a whole sweep."""
        if self.store is None or self.store.shard is None:
            return ""
        return (
            f"shard {self.store.shard}: {self.store.done()} of its {self.store.asked_for} runs are stored in "
            f"{self.store.folder}; when all shards have ended, the same without the shard makes the results"
        )

    @property
    def left_out(self) -> str:
        """What else the folder holds; empty if nothing."""
        return "" if self.store is None else self.store.left_out().sentence(self.store.folder)

    @property
    def records(self) -> list[Record]:
        """The records of the runs that have one."""
        return [outcome.record for outcome in self.outcomes if outcome.record is not None]

    @property
    def failed_readings(self) -> list[Outcome]:
        """Other readings that broke; one that is refused is part of the analysis."""
        return [one for one in self.others if isinstance(one.error, _core.SimulationError)]

    def write(self, missing: Sequence[Missing] = ()) -> Path | None:
        """Write what the folder shows; returns the report's path, None where there is nothing to show.

        A shard shows nothing: the results are of all of them.
        """
        if self.store is None or self.store.shard is not None or not self.records:
            return None
        from eraseblock.outputs import write_results

        report = write_results(self.records, self.store.folder, self.analysis, missing)
        self.store.delivered()
        return report


@contextmanager
def finished(experiments: Sequence[Experiment], handling: Handling, caller: Caller) -> Iterator[Finished]:
    """Run everything that is not stored yet; the block says what becomes of it."""
    words = caller.words
    if handling.folder is None and (handling.fresh or handling.prune):
        option = words.fresh if handling.fresh else words.prune
        raise _core.ConfigError(f"{option}: is about a folder of results; name it with {words.folder}")
    if handling.shard is not None:
        _check_shard(handling, words)
    if handling.cluster is not None:
        _check_cluster(handling, words)
    if handling.each_volume and any(map(wants_each, experiments)):
        with caller.watching(1) as watcher:
            told = None if watcher is None else partial(watcher.update, 0)
            experiments = each_volume(experiments, told)
    readings = _plan(experiments) if handling.sensitivity else None
    everything = experiments if readings is None else readings.experiments
    logs = logs_of(handling.events, everything)

    def outcomes_of(store: RunStore | None = None) -> list[Outcome]:
        with _executor(handling, caller) as executor, caller.watching(len(everything)) as watcher:
            way = Way(handling.jobs, handling.verify, executor, logs, handling.cache, handling.trim)
            return run_all(everything, way, store, watcher)

    if handling.folder is None:
        outcomes = outcomes_of()
        yield _finished(outcomes, len(experiments), readings)
        return
    make_folder(handling.folder)
    fresh = handling.fresh or logs is not None
    with opened(handling.folder, fresh=fresh, prune=handling.prune, shard=handling.shard) as store:
        for notice in store.notices:
            caller.notice(notice)
        try:
            outcomes = outcomes_of(store)
        except KeyboardInterrupt:
            all_anew = words.fresh if handling.fresh else words.events if logs else None
            again = f"{words.call} without {all_anew}" if all_anew else words.call
            raise KeyboardInterrupt(
                f"{store.done()} of {_runs(store, everything)} are stored in {handling.folder}; "
                f"{again} goes on from there"
            ) from None
        yield _finished(outcomes, len(experiments), readings, store)


@contextmanager
def _executor(handling: Handling, caller: Caller) -> Iterator[Executor | None]:
    """What makes the runs in the place of threads, if anything does."""
    if handling.cluster is None:
        yield handling.executor
        return
    from eraseblock.cluster.cluster import opened as opened_cluster

    with opened_cluster(handling.cluster) as cluster:
        for notice in cluster.notices:
            caller.notice(notice)
        yield cluster


def _check_cluster(handling: Handling, words: Words) -> None:
    """What has no meaning on a cluster is refused."""
    for given, option, why in (
        (
            handling.jobs is not None,
            words.jobs,
            "the threads of the workers say how many runs there are at a time",
        ),
        (handling.events is not None, words.events, "the log would be on another machine"),
        (handling.executor is not None, "executor", "both say where runs are made"),
    ):
        if given:
            raise _core.ConfigError(
                f"{words.cluster} and {option} exclude each other: {why}; leave one of them out"
            )


def _check_shard(handling: Handling, words: Words) -> None:
    """What a machine cannot decide for the others is refused."""
    if handling.folder is None:
        raise _core.ConfigError(
            f"{words.shard}: its runs are stored in a folder; name it with {words.folder}"
        )
    for given, option in (
        (handling.fresh, words.fresh),
        (handling.prune, words.prune),
        (handling.events is not None, words.events),
    ):
        if given:
            raise _core.ConfigError(
                f"{words.shard} and {option} exclude each other: other shards may be at work in the folder; "
                "leave one of them out"
            )


def _runs(store: RunStore, everything: Sequence[Experiment]) -> str:
    return (
        f"{len(everything)} runs" if store.shard is None else f"{store.asked_for} runs of shard {store.shard}"
    )


def _finished(
    outcomes: list[Outcome], own: int, readings: Plan | None, store: RunStore | None = None
) -> Finished:
    analysis = None
    # Of a share of the runs nothing can be said.
    if readings is not None and (store is None or store.shard is None):
        from eraseblock.readings.analysis import analyse

        analysis = analyse(readings, outcomes)
    return Finished(outcomes[:own], outcomes[own:], analysis, store)


def _plan(experiments: Sequence[Experiment]) -> Plan:
    from eraseblock.readings.plan import plan

    return plan(experiments)
