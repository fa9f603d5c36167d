"""Reads experiments: a TOML file or a mapping becomes one fully explicit configuration per run."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import index
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.arguments import checked, is_whole
from eraseblock.overrides import said_by
from eraseblock.piped import from_pipe, placed
from eraseblock.requests import is_table, requests_of
from eraseblock.scheme import Brought, brought, is_scheme

Config = dict[str, Any]
# Folders that an error names.
_BELOW = 3
# Overrides: texts such as `"host.speedup=2"` or one of them, or values by key, as in `{"host.speedup": 2}`.
Sets = str | Sequence[str] | Mapping[str, Any]
# The engine's word for `None`, as TOML has none: what a preset sets does not hold then.
NULL = "null"
# What to do with a file that is none.
_NO_EXPERIMENT = (
    "an experiment is TOML; a trace is replayed by `eraseblock compare`, or named by workload.path in one"
)


@dataclass(frozen=True)
class Experiment:
    """One run: its whole configuration, and the folder that relative paths in it start from."""

    text: str
    base: Path
    # The other reading of a paper that it stands for, if it is not one of the experiment's own runs.
    reading: str | None = None
    # What stands in it by its hash alone: the requests of its workload, and its buffer scheme.
    given: _core.Requests | None = None
    scheme: Brought | None = None
    # One of many volumes, of which nobody named this one.
    of_fleet: bool = False

    @property
    def config(self) -> Config:
        """The configuration, every key explicit."""
        config: Config = json.loads(self.text)
        return config


@dataclass
class Held:
    """What the configurations of a call have by its hash alone."""

    requests: dict[str, _core.Requests] = field(default_factory=dict)
    schemes: dict[str, Brought] = field(default_factory=dict)

    def plain(self, value: Any, key: str = "") -> Any:
        """The value of a key as TOML has it: the engine's word for `None`, hashes of what is held."""
        if hasattr(value, "tolist"):
            # Numbers and arrays of NumPy.
            value = value.tolist()
        if value is None:
            return NULL
        if isinstance(value, _core.Requests):
            self.requests[value.sha256] = value
            return value.sha256
        if is_scheme(value):
            one = brought(value)
            known = self.schemes.setdefault(_id_of(one.table), one)
            if type(known.pattern) is not type(one.pattern):
                raise _core.ConfigError(
                    f"buffer: two schemes are called `{one.table['kind']}`, and no record would "
                    "tell them apart; give each a `name` of its own"
                )
            if not all(other.is_alike(one) for other in self.schemes.values() if other.looks_like(one)):
                raise _core.ConfigError(
                    f"buffer: two objects of `{one.table['kind']}` differ in attributes that no record "
                    "tells; set what differs as numbers, texts or truth values without `_` before their names"
                )
            return one.table
        if isinstance(value, Mapping):
            return {name: self.plain(item, f"{key}.{name}".lstrip(".")) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(item, key) for item in value]
        if isinstance(value, type):
            hint = ": derive a scheme from `eb.Buffer`" if key.endswith("buffer.scheme") else ""
            raise _core.ConfigError(f"{key}: found the class `{value.__name__}`, expected a value{hint}")
        return index(value) if is_whole(value) else value

    def bring(self, experiment: Experiment) -> Experiment:
        """The experiment, with what it has the hashes of."""
        if not self.requests and not self.schemes:
            return experiment
        config = experiment.config
        given = self.requests.get(config["workload"].get("given", ""))
        scheme = self.schemes.get(_id_of(config["buffer"]["scheme"]))
        return replace(experiment, given=given, scheme=scheme)


def _id_of(table: Mapping[str, Any]) -> str:
    return json.dumps(table, sort_keys=True)


def workload_of(value: Any) -> dict[str, Any]:
    """The table `workload` for whatever requests come from: a file, a table of requests, keys."""
    if isinstance(value, str | Path):
        return {"path": str(value)}
    if isinstance(value, _core.Requests):
        return {"given": value}
    if is_table(value):
        return {"given": requests_of(value)}
    if isinstance(value, Mapping):
        keys = dict(value)
        if "requests" in keys:
            keys["given"] = requests_of(keys.pop("requests"))
        return keys
    raise _core.ConfigError(
        f"workload: found {type(value).__name__}, expected a path, a table of requests, or keys"
    )


@checked
def resolve(
    source: str | Path | Mapping[str, Any] | None = None, *, sets: Sets = (), workload: Any = None
) -> list[Experiment]:
    """Expand an experiment into its runs, in the order of its axes.

    Args:
        source: path of a TOML file, or the same keys as a mapping; a list is an axis.
        sets: overrides such as `"host.speedup=2"` or `"seed=[1, 2]"`, or `{"seed": [1, 2]}`.
        workload: in the place of the experiment's own: a trace file, a data frame or arrays of requests
            (docs/python.md), or keys, such as `{"requests": frame, "fit": "compact"}`.

    No trace is read: what is for each volume of one (`workload.volumes = "each"`) is one experiment still.

    Example:
        >>> drive = {"preset": "hbm-2010", "buffer": {"size": ["1 MiB", "4 MiB"]}}
        >>> work = {"generate": {"kind": "uniform", "requests": 1000, "footprint": "1 MiB"}}
        >>> [e.config["buffer"]["size"] for e in resolve({**drive, "workload": work})]
        ['1 MiB', '4 MiB']
    """
    return expanded(source, sets=sets, workload=workload)


def expanded(
    source: str | Path | Mapping[str, Any] | None = None, *, sets: Sets = (), workload: Any = None
) -> list[Experiment]:
    """The same for a command line, whose options messages name."""
    if source is None or isinstance(source, Mapping):
        source = source or {}
        if workload is not None:
            source = {**source, "workload": workload}
        return resolve_mapping(source, "<mapping>", sets)
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _core.InputError(unreadable(path, error)) from error
    except UnicodeDecodeError as error:
        raise _core.InputError(
            f"{path}: not a text file: byte {error.start} is not UTF-8; {_NO_EXPERIMENT}"
        ) from error
    # What comes through a pipe lies in no folder: its paths start from the current one.
    base = Path() if from_pipe(path) else path.parent
    if workload is not None:
        with suppress(tomllib.TOMLDecodeError):
            whole = {"name": path.stem, **tomllib.loads(text), "workload": workload}
            return resolve_mapping(whole, f"<{path} with another workload>", sets)
    held = Held()
    try:
        texts = _resolved(text, str(path), texts_of(sets, held))
    except _core.ConfigError as error:
        of_file = (error.place or "").startswith(f"{path}:")
        if of_file and path.suffix != ".toml" and (error.message or "").startswith("not TOML"):
            error.args = (f"{error}; {_NO_EXPERIMENT}",)
        raise
    return [held.bring(Experiment(one, base)) for one in texts]


def resolve_mapping(config: Mapping[str, Any], name: str, sets: Sets = ()) -> list[Experiment]:
    """Expand a mapping; messages call it `name`, relative paths start from the current folder."""
    import tomli_w

    held = Held()
    if (
        "workload" in config and (not isinstance(config["workload"], dict) or is_table(config["workload"]))
    ) or "requests" in config.get("workload", {}):
        config = {**config, "workload": workload_of(config["workload"])}
    try:
        text = tomli_w.dumps(held.plain(config))
    except TypeError as error:
        raise _core.ConfigError(f"{name}: {error}") from error
    try:
        texts = _resolved(text, name, texts_of(sets, held))
    except _core.ConfigError as error:
        place = error.place or ""
        if place.rpartition(":")[0] == name and error.message:
            # The line is one of a text that nobody has written.
            error.place, error.args = name, (str(error).replace(place, name, 1),)
        raise
    return [held.bring(Experiment(*placed(one))) for one in texts]


def _resolved(text: str, name: str, sets: list[str]) -> list[str]:
    """The configurations of an experiment. The same one twice would pass for runs with two seeds."""
    found = _core.resolve(text, name, sets)
    if len(set(found)) == len(found):
        return found
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        # Newer TOML, which is read elsewhere.
        read = {}
    if "case" in read:
        # A case may set anew what is a list beside it: its runs are alike then, and nobody wrote one twice.
        return found
    lists = dict(_lists(read))
    for one in sets:
        lists |= dict(_lists(dict([said_by(one)])))
    for key, values in lists.items():

        def runs_with(value: Any, key: str = key) -> list[str]:
            return _core.resolve(text, name, [*sets, f"{key}={_toml(key, [value])}"])

        if (alike := _alike(runs_with, values, len(found))) is None:
            continue
        first, second = (one if isinstance(one, str) else _toml(key, one) for one in alike)
        if first == second:
            raise _core.ConfigError(f"{name}: {key}: `{first}` is there twice; once is enough")
        raise _core.ConfigError(
            f"{name}: two of its runs are the same: `{first}` and `{second}` of `{key}` mean the same; leave "
            "one of them out"
        )
    raise _core.ConfigError(
        f"{name}: two of its runs are the same: a list, of a run for each value, has two values that mean "
        "the same; leave one of them out"
    )


def _alike(runs_with: Callable[[Any], list[str]], values: list[Any], runs: int) -> tuple[Any, Any] | None:
    """Two values of a list that give the same runs; none where it has none, or a list is one value there."""
    seen: dict[tuple[str, ...], Any] = {}
    for value in values:
        try:
            one = tuple(runs_with(value))
        except _core.ConfigError:
            # What stands beside the list takes its place.
            return None
        if len(one) * len(values) != runs:
            return None
        if one in seen:
            return seen[one], value
        seen[one] = value
    return None


def _lists(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, list[Any]]]:
    """All lists of a table and of the tables in it, by their keys."""
    for key, value in table.items():
        if isinstance(value, list):
            yield f"{before}{key}", value
        elif isinstance(value, Mapping):
            yield from _lists(value, f"{before}{key}.")


def content_key(experiment: Experiment) -> str:
    """What its record is known by: it changes with the configuration and with the content of its trace."""
    found = _core.identify(experiment.text, str(experiment.base), None, experiment.given)
    identity: dict[str, Any] = json.loads(found)
    return str(identity["key"])


def hopeless(experiment: Experiment) -> str | None:
    """Why its run would take very long and say nothing but that, if it would."""
    return _core.hopeless(experiment.text, experiment.scheme)


def version() -> str:
    """The version of eraseblock."""
    return _core.version()


def engine() -> str:
    """The engine by its version and its source: builds with the same one give the same records."""
    return _core.engine()


def texts_of(sets: Sets, held: Held | None = None) -> list[str]:
    """Overrides as the command line writes them, one `KEY=VALUE` each."""
    if isinstance(sets, str):
        return [sets]
    if not isinstance(sets, Mapping):
        return list(sets)
    held = held or Held()
    return [f"{key}={_toml(key, held.plain(value, key))}" for key, value in sets.items()]


def _toml(key: str, value: Any) -> str:
    import tomli_w

    if isinstance(value, Mapping):
        inside = (f"{json.dumps(str(name))} = {_toml(key, inner)}" for name, inner in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(key, inner) for inner in value)}]"
    try:
        return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
    except TypeError as error:
        raise _core.ConfigError(f"{key}: {error}") from error


def unreadable(path: Path, error: OSError) -> str:
    """One line about a file that could not be read, with the nearest name beside it."""
    from eraseblock.names import nearest

    reason = (error.strerror or str(error)).lower()
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            return f"{path}: no such file (nor is there a folder {folder})"
        below = sorted(one for one in folder.iterdir() if (one / path.name).is_file())
        if below:
            more = f" and {len(below) - _BELOW} more" if len(below) > _BELOW else ""
            return f"{path}: no such file; there is one in {', '.join(map(str, below[:_BELOW]))}{more}"
        return f"{path}: no such file{nearest(path.name, sorted(p.name for p in folder.iterdir()))}"
    return f"{path}: cannot be read: {reason}"
