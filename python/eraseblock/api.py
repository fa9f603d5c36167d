"""The Python face of the command line: run and compare, and get the records back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast

from eraseblock import _core
from eraseblock.arguments import checked, in_python, warn
from eraseblock.comparison import DEFAULT_BUFFERS, DEFAULT_DEVICE, Comparison, sweep_of
from eraseblock.experiments import Experiment, Sets, resolve
from eraseblock.names import check, key_of
from eraseblock.results import store
from eraseblock.results.conclusion import conclusions_of, drives_of
from eraseblock.results.headline import column_named
from eraseblock.results.missing import Missing, as_missing
from eraseblock.results.record import Analysis, Record, RunRecord
from eraseblock.results.records import Results
from eraseblock.results.shards import Shard
from eraseblock.results.view import rows_of
from eraseblock.running import Finished, Handling, Quiet, finished
from eraseblock.scheme import Scheme
from eraseblock.sweeps import Outcome, Watcher, split_errors

# What arguments are called that sentences on combinations are about.
_NAMES = ("device", "buffers", "sizes", "ftls", "sets")


class RunOptions(TypedDict, total=False):
    """How experiments are run, the same for all functions that run any.

    Keys:
        jobs: runs at a time; default: one per processor.
        verify: check every read, and the laws of the drive after each run.
        watcher: is told how the runs get on.
        out: folder of results; each run is stored there as it ends, and what is there is not run again.
        fresh: run everything, whatever the folder holds.
        executor: runs experiments in the place of threads of its own; a pool of processes, for instance.
        cluster: the workers of a Dask cluster run experiments: the address of its scheduler, or a client.
        shard: with `out`: only a share of the runs, such as `"2/4"`, the second of four. Returned are its
            records; when all shards have ended, the same call without it makes the results.
        cache: start from filled drives that other calls have kept on disk, and keep there what took long to
            fill; on unless switched off.
    """

    jobs: int | None
    verify: bool
    watcher: Watcher | None
    out: str | Path | None
    fresh: bool
    executor: Executor | None
    cluster: Any
    shard: str | None
    cache: bool


@checked
def run(
    source: str | Path | Mapping[str, Any],
    *,
    workload: Any = None,
    sets: Sets = (),
    events: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> Results:
    """Run an experiment, one record for each point of its axes, in their order.

    Args:
        source: path of a TOML file, or the same keys as a mapping; a list is an axis.
        workload: in the place of the experiment's own: a trace file, a data frame or arrays of requests
            (docs/python.md), or keys, such as `{"requests": frame, "fit": "compact"}`.
        sets: overrides such as `"host.speedup=2"`, or `{"host.speedup": 2}`.
        events: file for every decision of the buffer (docs/events.md); a folder where there are several runs.
            Runs everything, whatever `out` holds.
        options: how they are run: `RunOptions` has the keys and says what they mean.

    Raises:
        ConfigError: a wrong key or value.
        InputError: a trace or a combination that cannot be run.
        SimulationError: a run that failed on the way; the others have run, and are stored.

    Example:
        >>> records = run("experiment.toml", sets=["seed=7"])  # doctest: +SKIP
        >>> records[0]["hit_ratio"]["all"]  # doctest: +SKIP
        0.42
    """
    done = _carry_out(resolve(source, sets=sets, workload=workload), options, events=events)
    _raise_first(done.outcomes)
    return Results(cast(list[RunRecord], done.records))


@checked
def sensitivity(
    source: str | Path | Mapping[str, Any], *, sets: Sets = (), **options: Unpack[RunOptions]
) -> Analysis:
    """Run an experiment and all other readings of its papers; docs/sensitivity.md says what comes back.

    Args:
        source: path of a TOML file, or the same keys as a mapping; a list is an axis.
        sets: overrides such as `"host.speedup=2"`, or `{"host.speedup": 2}`.
        options: as of `run`; the runs of all readings are stored in `out`.

    Raises:
        ConfigError: a wrong key or value.
        InputError: a trace or a combination that cannot be run; refused readings are in the result.
        SimulationError: a run that failed on the way.

    Example:
        >>> found = sensitivity("experiment.toml")  # doctest: +SKIP
        >>> [reading["reading"] for reading in found["readings"] if reading["reverses"]]  # doctest: +SKIP
        ['bplru evict_order = "touch-first"']
    """
    if options.get("shard") is not None:
        raise _core.ConfigError("shard: an analysis is of all runs; run the shards with `--sensitivity`")
    done = _carry_out(resolve(source, sets=sets), options, sensitivity=True)
    _raise_first([*done.outcomes, *done.failed_readings])
    assert done.analysis is not None
    return done.analysis


@checked
def compare(
    traces: Any,
    *,
    buffers: str | Scheme | Sequence[str | Scheme | Mapping[str, Any]] = DEFAULT_BUFFERS,
    sizes: str | Sequence[str] = (),
    ftls: str | Sequence[str] = (),
    device: str | Sequence[str] = DEFAULT_DEVICE,
    workload: Mapping[str, Any] | None = None,
    sets: Sets = (),
    events: str | Path | None = None,
    **options: Unpack[RunOptions],
) -> Results:
    """Replay traces against every combination of FTL, buffer size and buffer scheme.

    A combination that cannot be built is left out with a warning; so is, of `"all"` and of the default, one
    that would take very long and say nothing but that.

    Args:
        traces: trace files, or data frames or arrays of requests (docs/python.md); one or several.
        buffers: schemes, or one, by name or in Python (`eb.Buffer`); `"all"` is every one; default: ten that
            really differ.
        sizes: buffer sizes such as `"4 MiB"`, or one; default: the device's.
        ftls: FTLs, or one; default: the device's.
        device: preset of the drive, or several.
        workload: further keys of the workload, such as `{"fit": "compact", "first": 10_000}`.
        sets: overrides such as `"host.speedup=2"`, or `{"host.speedup": 2}`.
        events: file for every decision of the buffer (docs/events.md); a folder where there are several runs.
            Runs everything, whatever `out` holds.
        options: as of `run`.

    Example:
        >>> records = compare("mysql.load.zst", sizes=["1 MiB", "4 MiB"])  # doctest: +SKIP
    """
    several = isinstance(traces, list | tuple)
    listed = [str(one) if isinstance(one, str | Path) else one for one in (traces if several else [traces])]
    comparison = Comparison(listed, buffers, sizes, ftls, device, workload or {}, sets)
    experiments, left_out = comparison.without_hopeless()
    return _buildable(experiments, options, events, left_out)


@checked
def sweep(
    workload: Any,
    *,
    device: str | Sequence[str] = DEFAULT_DEVICE,
    sets: Sets = (),
    events: str | Path | None = None,
    options: RunOptions | None = None,
    **axes: Any,
) -> Results:
    """Run a workload on every combination of settings, each a keyword: a list is an axis.

    A keyword is a key of an experiment with `_` for its dots, such as `buffer_size`, `ftl_mapping`,
    `nand_channels`, `host_speedup`, `workload_volumes` or `seed` (docs/reference.md has all). The last axis
    varies fastest; those outside tables, such as `seed`, and those of the workload come before all others. A
    combination that cannot be built is left out with a warning.

    Args:
        workload: trace files, or data frames or arrays of requests (docs/python.md), one or several; or keys
            of the workload, such as `{"generate": {...}}`.
        device: preset of the drive, or several.
        sets: overrides such as `"host.speedup=2"`, or `{"host.speedup": 2}`.
        events: as of `run`.
        options: how they are run, as of `run`: `{"jobs": 2, "out": "out/sweep"}`.
        axes: values by key; sizes and times with their units, as in `"4 MiB"`.

    Raises:
        ConfigError: there is no such key, or a value cannot be.
        InputError: a trace that cannot be run.
        SimulationError: a run that failed on the way; the others have run, and are stored.

    Example:
        >>> work = {"generate": {"kind": "zipf", "requests": 500, "footprint": "8 MiB"}}
        >>> found = sweep(
        ...     work, device="hbm-2010", buffer_scheme=["lru", "fab"], buffer_size=["1 MiB", "2 MiB"],
        ...     precondition_state="empty",
        ... )
        >>> found.frame().select("config.buffer.scheme.kind", "config.buffer.size").rows()
        [('lru', 1048576), ('lru', 2097152), ('fab', 1048576), ('fab', 2097152)]
    """
    given = {key_of(name): value for name, value in axes.items()}
    experiments = sweep_of(workload, check(device, "devices", "device"), given, sets)
    return _buildable(experiments, options or {}, events, {})


def _buildable(
    experiments: Sequence[Experiment],
    options: RunOptions,
    events: str | Path | None,
    left_out: Mapping[str, list[str]],
) -> Results:
    """Run combinations, of which some may be refused with a warning."""
    done = _carry_out(experiments, options, events=events, missing=as_missing(left_out))
    failures, refusals = split_errors(done.outcomes)
    _raise_first(failures)
    sentences = [*left_out, *(str(refusal.error) for refusal in refusals)]
    for sentence in dict.fromkeys(sentences):
        warn(f"refused: {in_python(sentence, _NAMES)}")
    return Results(cast(list[RunRecord], done.records))


def _carry_out(
    experiments: Sequence[Experiment],
    options: RunOptions,
    *,
    events: str | Path | None = None,
    sensitivity: bool = False,
    missing: Sequence[Missing] = (),
) -> Finished:
    """Run everything, and where there is a folder for it, keep it there, and what is `missing` beforehand."""
    out = options.get("out")
    handling = Handling(
        jobs=options.get("jobs"),
        verify=options.get("verify", False),
        executor=options.get("executor"),
        events=events,
        folder=None if out is None else Path(out),
        fresh=options.get("fresh", False),
        cluster=options.get("cluster"),
        shard=None if (shard := options.get("shard")) is None else Shard.parse(shard, "shard"),
        sensitivity=sensitivity,
        cache=options.get("cache", True),
        each_volume=True,
    )
    asked = Quiet(options.get("watcher"))
    with finished(experiments, handling, asked) as done:
        done.write(missing)
    for sentence in (*asked.notices, done.left_out):
        if sentence:
            warn(sentence)
    return done


def _raise_first(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error


@checked
def read_records(folder: str | Path) -> Results:
    """The records of a folder of results, as the call gave them that made it.

    Where a sweep has not ended, those of the runs that have. `load_results` gives a data frame of them.

    Raises:
        InputError: the folder holds no results.

    Example:
        >>> verdict(read_records("out/demo"))  # doctest: +SKIP
    """
    return Results(cast(list[RunRecord], store.read_records(folder)))


@checked
def verdict(records: Sequence[Mapping[str, Any]], by: str | None = None) -> list[str]:
    """What records come to, in sentences: which design to take, by how much, and whether to trust that.

    Args:
        records: what `run`, `compare` or `read_records` returned.
        by: the column whose figure decides, such as `"read-p99"`; default: the mean response, or what is
            written to flash where nothing is timed.

    Example:
        >>> verdict(compare("mysql.load.zst"))  # doctest: +SKIP
        ['16 MiB: take `fab`: 6.2 ms, 38 % below `lru` (10 ms); ahead of `lru` in 9 of 10 parts of the run.']
    """
    column = None if by is None else column_named(by, "by")
    conclusions = conclusions_of(rows_of(cast(Sequence[Record], records)), column)
    return [text for one in conclusions for text in one.sentences] + drives_of(conclusions)


def schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file.

    Example:
        >>> "buffer" in schema()["properties"]
        True
    """
    parsed: dict[str, Any] = json.loads(_core.schema())
    return parsed
