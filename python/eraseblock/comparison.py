"""Builds the experiments of a comparison from what its options say."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.experiments import Experiment, Sets, hopeless, resolve_mapping, texts_of, workload_of
from eraseblock.names import as_list, check, once
from eraseblock.overrides import agree, leaves_of, refuse_both, said_by
from eraseblock.piped import argument
from eraseblock.requests import is_table
from eraseblock.scheme import Scheme, is_scheme

DEFAULT_DEVICE = "nvme-tlc"
# What a workload has in the place of a trace, or names it by.
_REQUESTS = ("workload.path", "workload.generate", "workload.given")
# Ten that really differ: one of each group of schemes whose mean response and write amplification are within
# 13 % of one another, on average over the twelve workloads in `workloads`, on hbm-2010 and nvme-tlc, with
# 1 and 16 MiB. The group of `lru` has 13, which let single pages go; that of `lb-clock` has five, which let
# blocks go by size and age; that of `fab` has `bpac`, that of `bplru` has `cave`. Of one group there are
# both: `sftl`, the best of all there, and `split-lru`, the best that is no reconstruction.
DEFAULT_BUFFERS = (
    *("none", "lru", "w-tinylfu", "split-lru", "fab"),
    *("bplru", "lb-clock", "hbm", "cbm", "sftl"),
)
# The option that sets each key.
OPTIONS = {
    "buffer.size": "--buffer-size",
    "buffer.scheme": "--buffers",
    "ftl.mapping": "--ftls",
    **{
        f"workload.{key}": f"--{key.replace('_', '-')}"
        for key in (
            *("format", "volumes", "ops", "from", "until", "from_byte", "until_byte", "skip", "first"),
            *("time_scale", "skip_bad_lines", "fit"),
        )
    },
}


@dataclass(frozen=True)
class Comparison:
    """Traces against every combination of FTL, buffer size and buffer scheme."""

    traces: Sequence[Any]
    buffers: str | Scheme | Sequence[str | Scheme | Mapping[str, Any]] = DEFAULT_BUFFERS
    # Of both: the drive's own, unless some are named.
    sizes: str | Sequence[str] = ()
    ftls: str | Sequence[str] = ()
    device: str | Sequence[str] = DEFAULT_DEVICE
    # Further keys of the workload.
    workload: Mapping[str, Any] = field(default_factory=dict)
    sets: Sets = ()

    def without_hopeless(self) -> tuple[list[Experiment], dict[str, list[str]]]:
        """The experiments, without those that take long for nothing; and why which are left out."""
        experiments = self.experiments()
        if _listed(self.buffers) not in (["all"], [*DEFAULT_BUFFERS]):
            return experiments, {}
        taken: list[Experiment] = []
        left_out: dict[str, list[str]] = {}
        for one in experiments:
            if (why := hopeless(one)) is None:
                taken.append(one)
            else:
                buffer = one.config["buffer"]
                runs = left_out.setdefault(f"{why}; named, it runs", [])
                if (run := f"{buffer['scheme']['kind']} {buffer['size']}") not in runs:
                    runs.append(run)
        return (taken, left_out) if taken else (experiments, {})

    def experiments(self) -> list[Experiment]:
        """One experiment for each trace, FTL, buffer size and scheme, the last varying fastest."""
        if not self.traces:
            raise _core.ConfigError("compare needs at least one trace")
        if "path" in self.workload:
            raise _core.ConfigError("workload: found `path`, but the traces are named already; leave it out")
        sets = texts_of(self.sets)
        presets = check(self.device, "devices", "--device")
        given = {f"workload.{key}": value for key, value in self.workload.items() if value is not None}
        if self.ftls:
            given["ftl.mapping"] = check(self.ftls, "ftls", "--ftls")
        if self.sizes:
            given["buffer.size"] = as_list(self.sizes)
        schemes = {"buffer.scheme": _schemes(self.buffers)}
        for key, values in {**given, **schemes}.items():
            if key in ("ftl.mapping", "buffer.scheme"):
                _refuse_parts(key, values, sets)
        whole: dict[str, Any] = {"name": "compare", "preset": presets}
        if self.buffers is DEFAULT_BUFFERS:
            # Nobody has said these: they give way to an override.
            whole["buffer"] = {"scheme": schemes["buffer.scheme"]}
        else:
            given |= schemes
        return experiments_of("compare", whole, self.traces, given, sets)


def _refuse_parts(key: str, values: Sequence[Any], sets: Sequence[str]) -> None:
    """Refuse an option of a scheme where there is a list of schemes, and say what to write for it."""
    keys = [text.partition("=")[0].strip() for text in sets]
    if key in keys:
        return
    for text, part in zip(sets, keys, strict=True):
        if part.startswith(f"{key}."):
            kind = next((one for one in values if isinstance(one, str) and one != "none"), "lru")
            whole = shlex.join(["--set", f"{key}={kind}", "--set", text])
            raise _core.ConfigError(
                f"--set {text}: `{key}` is the list of {OPTIONS[key]} here, and an option is of one of them; "
                f"set that one in the list's place, as in {whole}"
            )


def command_line(comparison: Comparison) -> str:
    """The command line that makes the same comparison."""
    words = ["eraseblock", "compare", *map(argument, comparison.traces)]
    if comparison.device:
        words += ["--device", _joined(comparison.device)]
    if comparison.buffers != DEFAULT_BUFFERS:
        words += ["--buffers", _joined([str(one) for one in _listed(comparison.buffers)])]
    if comparison.sizes:
        words += ["--buffer-size", ",".join(one.replace(" ", "") for one in comparison.sizes)]
    if comparison.ftls:
        words += ["--ftls", _joined(comparison.ftls)]
    for key, value in comparison.workload.items():
        if value is True:
            words.append(OPTIONS[f"workload.{key}"])
        elif value not in (None, False):
            words += [OPTIONS[f"workload.{key}"], str(value)]
    for text in comparison.sets:
        words += ["--set", text]
    return shlex.join(words)


def _joined(names: str | Sequence[str]) -> str:
    return names if isinstance(names, str) else ",".join(names)


def experiments_of(
    source: str, config: Mapping[str, Any], traces: Sequence[Any], given: Mapping[str, Any], sets: Sets = ()
) -> list[Experiment]:
    """Resolve what options say: the values in `given`, by key; messages of the whole are about `source`."""
    tables = [trace for trace in traces if not isinstance(trace, str)]
    if tables and len(tables) < len(traces):
        raise _core.ConfigError(f"{source}: name trace files, or give tables of requests; not both at once")
    whole: dict[str, Any] = {**config, "workload": {"path": list(traces)}}
    if tables:
        whole["workload"] = {"given": [_given(table, source) for table in tables]}
    else:
        once(traces, source)
    _refuse_both(whole, given, texts_of(sets))
    for key, value in given.items():
        if isinstance(value, list) and key in OPTIONS:
            # Schemes in Python tell by their options, not by `==`.
            once((one for one in value if isinstance(one, str)), OPTIONS[key])
        table, _, name = key.partition(".")
        whole.setdefault(table, {})[name] = value
    try:
        return resolve_mapping(whole, source, sets)
    except _core.ConfigError as error:
        if (named := _at_option(error, source)) is not None:
            raise named from None
        raise


def _given(table: Any, source: str) -> _core.Requests:
    """The requests of a table."""
    found = workload_of(table)
    requests = found.pop("given", None)
    if found or not isinstance(requests, _core.Requests):
        keys = ", ".join(f"`{key}`" for key in found) or "none"
        raise _core.ConfigError(
            f"{source}: found keys of a workload ({keys}), expected trace files or tables of requests; "
            "`run` takes requests and keys in one"
        )
    return requests


def _gives_way(presets: str | Sequence[str]) -> bool:
    """Whether this is the drive that is taken where nobody names one: an override may name another."""
    return as_list(presets) == [DEFAULT_DEVICE]


def _refuse_both(whole: Mapping[str, Any], given: Mapping[str, Any], sets: Sequence[str]) -> None:
    """Refuse overrides of what options say: of the two nobody knows which is meant."""
    for text in sets:
        if any(key.startswith(_REQUESTS) for key, _ in leaves_of(text)):
            raise _core.ConfigError(
                f"--set {text}: the requests are those of the trace that is named; leave it out (what "
                "`eraseblock run` runs may have a generator)"
            )
        key, value = said_by(text)
        if key == "preset" and not _gives_way(whole["preset"]) and not agree(whole["preset"], value):
            raise _core.ConfigError(
                f"--device {_joined(whole['preset'])} and --set {text} both name the drive; name it with "
                "--device alone"
            )
    refuse_both(given, sets, {key: OPTIONS.get(key, key) for key in given})


def sweep_of(
    workload: Any, presets: Sequence[str], given: Mapping[str, Any], sets: Sets = ()
) -> list[Experiment]:
    """Resolve a sweep: a workload on every combination of the values in `given`, by key."""
    whole: dict[str, Any] = {"name": "sweep", "preset": presets}
    names = {key: key.replace(".", "_") for key in given}
    named = {} if _gives_way(presets) else {"preset": presets}
    refuse_both({**given, **named}, texts_of(sets), {**names, "preset": "device"})
    several = list(workload) if isinstance(workload, list | tuple) else [workload]
    if not several:
        raise _core.ConfigError("sweep: needs at least one trace")
    if isinstance(workload, Mapping) and not is_table(workload):
        whole["workload"] = workload_of(workload)
    elif any(isinstance(one, str | Path) for one in several):
        whole["workload"] = {"path": [str(one) if isinstance(one, Path) else one for one in several]}
    else:
        whole["workload"] = {"given": [_given(one, "sweep") for one in several]}
    for key, value in given.items():
        *tables, name = key.split(".")
        table = whole
        for depth, part in enumerate(tables, 1):
            inner = table.setdefault(part, {})
            if not isinstance(inner, dict):
                outer = ".".join(tables[:depth])
                raise _core.ConfigError(
                    f"sweep: `{key}` is set within `{outer}`, which is set as a whole, too"
                )
            table = inner
        if key == "preset" and presets:
            raise _core.ConfigError("sweep: `preset` is what `device` names; leave one of them out")
        if name in table and key != "preset":
            raise _core.ConfigError(f"sweep: `{key}` is given twice")
        table[name] = _listable(value)
    return resolve_mapping(whole, "sweep", sets)


def _listable(value: Any) -> Any:
    """Sequences and arrays as lists, numbers of arrays as numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, tuple | range):
        return list(value)
    # Keys that name parts of a table are added to it: the caller's stays as it is.
    return deepcopy(value) if isinstance(value, dict) else value


def _at_option(error: _core.ConfigError, source: str) -> _core.ConfigError | None:
    """The same sentence, said of the option that set the key; None where the engine does not name one."""
    if error.key not in OPTIONS or not error.message or error.place != source:
        return None
    return _core.ConfigError(f"{OPTIONS[error.key]}: {error.message}")


def _listed(buffers: str | Scheme | Sequence[str | Scheme | Mapping[str, Any]]) -> list[Any]:
    """One scheme is one value, too."""
    if isinstance(buffers, str) or is_scheme(buffers):
        return [buffers]
    return list(buffers)  # type: ignore[arg-type]


def _schemes(buffers: str | Scheme | Sequence[str | Scheme | Mapping[str, Any]]) -> list[Any]:
    """The schemes that are meant; those in Python are not looked up."""
    listed = _listed(buffers)
    names = [one for one in listed if isinstance(one, str)]
    if len(names) == len(listed):
        return [*check(names, "buffers", "--buffers")]
    if names:
        check(names, "buffers", "--buffers")
    if "all" in names:
        raise _core.ConfigError("--buffers: `all` stands for every one; leave out the others, or `all`")
    return listed
