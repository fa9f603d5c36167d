"""The Python face of the command line: run and compare, and get the records back."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.comparison import DEFAULT_DEVICE, plan, split_errors
from eraseblock.events import logs_of
from eraseblock.experiments import Experiment, Sets, resolve
from eraseblock.results.runs import opened
from eraseblock.results.store import make_folder, write_results
from eraseblock.sweep import Outcome, Record, Watcher, Way, run_all


def run(
    source: str | Path | Mapping[str, Any],
    *,
    sets: Sets = (),
    jobs: int | None = None,
    verify: bool = False,
    watcher: Watcher | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    executor: Executor | None = None,
    events: str | Path | None = None,
) -> list[Record]:
    """Run an experiment, one record for each point of its axes, in their order.

    Args:
        source: path of a TOML file, or the same keys as a mapping; a list is an axis.
        sets: overrides such as `"host.speedup=2"`, or `{"host.speedup": 2}`.
        jobs: runs at a time; default: one per processor.
        verify: check every read, and the laws of the drive after each run.
        watcher: is told how the runs get on.
        out: folder of results; each run is stored there as it ends, and what is there is not run again.
        fresh: run everything, whatever the folder holds.
        executor: runs experiments in the place of threads of its own; a pool of processes, for instance.
        events: file for every decision of the buffer (docs/events.md); a folder where there are several runs.
            Runs everything, whatever `out` holds.

    Raises:
        ConfigError: a wrong key or value.
        InputError: a trace or a combination that cannot be run.
        SimulationError: a run that failed on the way; the others have run, and are stored.

    Example:
        >>> records = run("experiment.toml", sets=["seed=7"])  # doctest: +SKIP
        >>> records[0]["hit_ratio"]["all"]  # doctest: +SKIP
        0.42
    """
    experiments = resolve(source, sets=sets)
    logs = logs_of(events, experiments)
    how = Way(jobs=jobs, verify=verify, watcher=watcher, executor=executor, events=logs)
    outcomes = _run(experiments, how, out, fresh=fresh)
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return [outcome.record for outcome in outcomes if outcome.record is not None]


def sensitivity(
    source: str | Path | Mapping[str, Any],
    *,
    sets: Sets = (),
    jobs: int | None = None,
    verify: bool = False,
    watcher: Watcher | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    executor: Executor | None = None,
) -> dict[str, Any]:
    """Run an experiment and all other readings of its papers; docs/sensitivity.md says what comes back.

    Args:
        source: path of a TOML file, or the same keys as a mapping; a list is an axis.
        sets: overrides such as `"host.speedup=2"`, or `{"host.speedup": 2}`.
        jobs: runs at a time; default: one per processor.
        verify: check every read, and the laws of the drive after each run.
        watcher: is told how the runs get on.
        out: folder of results; the runs of all readings are stored there as they end.
        fresh: run everything, whatever the folder holds.
        executor: runs experiments in the place of threads of its own; a pool of processes, for instance.

    Raises:
        ConfigError: a wrong key or value.
        InputError: a trace or a combination that cannot be run; refused readings are in the result.
        SimulationError: a run that failed on the way.

    Example:
        >>> found = sensitivity("experiment.toml")  # doctest: +SKIP
        >>> [reading["reading"] for reading in found["readings"] if reading["reverses"]]  # doctest: +SKIP
        ['bplru evict_order = "touch-first"']
    """
    from eraseblock.readings.analysis import Analysis, analyse
    from eraseblock.readings.plan import plan

    readings = plan(resolve(source, sets=sets))
    how = Way(jobs=jobs, verify=verify, watcher=watcher, executor=executor)
    own = len(readings.runs)

    def made(outcomes: Sequence[Outcome]) -> Analysis:
        return analyse(readings, outcomes)

    outcomes = _run(readings.experiments, how, out, fresh=fresh, own=own, analyse=made)
    for number, outcome in enumerate(outcomes):
        if outcome.error is not None and (number < own or isinstance(outcome.error, _core.SimulationError)):
            raise outcome.error
    return made(outcomes)


def compare(
    traces: str | Path | Iterable[str | Path],
    *,
    buffers: str | Sequence[str] = ("all",),
    sizes: str | Sequence[str] = (),
    ftls: str | Sequence[str] = (),
    device: str = DEFAULT_DEVICE,
    workload: Mapping[str, Any] | None = None,
    sets: Sets = (),
    jobs: int | None = None,
    verify: bool = False,
    watcher: Watcher | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    executor: Executor | None = None,
    events: str | Path | None = None,
) -> list[Record]:
    """Replay traces against every combination of FTL, buffer size and buffer scheme.

    A combination that cannot be built is left out with a warning.

    Args:
        traces: one trace file or several.
        buffers: schemes, or one; `"all"` is every one.
        sizes: buffer sizes such as `"4 MiB"`, or one; default: the device's.
        ftls: FTLs, or one; default: the device's.
        device: preset of the drive.
        workload: further keys of the workload, such as `{"fit": "compact", "first": 10_000}`.
        sets: overrides such as `"host.speedup=2"`, or `{"host.speedup": 2}`.
        jobs: runs at a time; default: one per processor.
        verify: check every read, and the laws of the drive after each run.
        watcher: is told how the runs get on.
        out: folder of results; each run is stored there as it ends, and what is there is not run again.
        fresh: run everything, whatever the folder holds.
        executor: runs experiments in the place of threads of its own; a pool of processes, for instance.
        events: file for every decision of the buffer (docs/events.md); a folder where there are several runs.
            Runs everything, whatever `out` holds.

    Example:
        >>> records = compare("mysql.load.zst", sizes=["1 MiB", "4 MiB"])  # doctest: +SKIP
    """
    paths = [traces] if isinstance(traces, str | Path) else list(traces)
    experiments = plan(
        [str(path) for path in paths],
        buffers=buffers,
        sizes=sizes,
        ftls=ftls,
        device=device,
        workload=workload,
        sets=sets,
    )
    logs = logs_of(events, experiments)
    how = Way(jobs=jobs, verify=verify, watcher=watcher, executor=executor, events=logs)
    outcomes = _run(experiments, how, out, fresh=fresh)
    failures, refusals = split_errors(outcomes)
    if failures:
        assert failures[0].error is not None
        raise failures[0].error
    for sentence in dict.fromkeys(str(refusal.error) for refusal in refusals):
        warnings.warn(f"refused: {sentence}", stacklevel=2)
    return [outcome.record for outcome in outcomes if outcome.record is not None]


def _run(
    experiments: Sequence[Experiment],
    how: Way,
    out: str | Path | None,
    *,
    fresh: bool,
    own: int | None = None,
    analyse: Callable[[Sequence[Outcome]], dict[str, Any]] | None = None,
) -> list[Outcome]:
    """Run everything, and where there is a folder for it, keep it there.

    The first `own` of the experiments are the results proper; `analyse` says what all of them mean.
    """
    if out is None:
        if fresh:
            raise _core.ConfigError("fresh: is about a folder of results; name it with `out`")
        return run_all(experiments, how)
    folder = Path(out)
    make_folder(folder)
    with opened(folder, fresh=fresh or how.events is not None) as store:
        outcomes = run_all(experiments, how, store)
        records = [outcome.record for outcome in outcomes[:own] if outcome.record is not None]
        if records:
            write_results(records, folder, None if analyse is None else analyse(outcomes))
            store.delivered()
    for sentence in (*store.notices, store.left_out().sentence(folder)):
        if sentence:
            warnings.warn(sentence, stacklevel=3)
    return outcomes


def schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file.

    Example:
        >>> "buffer" in schema()["properties"]
        True
    """
    parsed: dict[str, Any] = json.loads(_core.schema())
    return parsed


def trace_info(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    workload: Mapping[str, Any] | None = None,
    page_size: str | None = None,
    sample: float | None = None,
) -> dict[str, Any]:
    """What a trace holds and what it is like; docs/trace-info.md says what each figure means.

    Args:
        path: trace file, plain or packed.
        format: its format; default: told from the content.
        workload: further keys of the workload, such as `{"ops": "w"}`: the part to characterise.
        page_size: page in which footprint, re-use and the miss-ratio curve are counted; default: `"4 KiB"`.
        sample: share of the pages to follow; default: all, up to 64 GiB of them.

    Example:
        >>> trace_info("mysql.load.zst")["profile"]["footprint"]["bytes"]  # doctest: +SKIP
        123456
    """
    from eraseblock.profile.gather import characterise, plan

    [experiment] = plan([str(path)], workload={"format": format, **(workload or {})})
    return characterise(experiment, page_size=page_size, sample=sample)
