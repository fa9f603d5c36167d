"""Reads experiments: a TOML file or a mapping becomes one fully explicit configuration per run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eraseblock import _core

Config = dict[str, Any]
# Overrides: texts such as `"host.speedup=2"` or one of them, or values by key, as in `{"host.speedup": 2}`.
Sets = str | Sequence[str] | Mapping[str, Any]
# The engine's word for `None`, as TOML has none: what a preset sets does not hold then.
NULL = "null"


@dataclass(frozen=True)
class Experiment:
    """One run: its whole configuration, and the folder that relative paths in it start from."""

    text: str
    base: Path
    # The other reading of a paper that it stands for, if it is not one of the experiment's own runs.
    reading: str | None = None

    @property
    def config(self) -> Config:
        """The configuration, every key explicit."""
        config: Config = json.loads(self.text)
        return config


def resolve(source: str | Path | Mapping[str, Any] | None = None, *, sets: Sets = ()) -> list[Experiment]:
    """Expand an experiment into its runs, in the order of its axes.

    Args:
        source: path of a TOML file, or the same keys as a mapping; a list is an axis.
        sets: overrides such as `"host.speedup=2"` or `"seed=[1, 2]"`, or `{"seed": [1, 2]}`.

    Example:
        >>> drive = {"preset": "hbm-2010", "buffer": {"size": ["1 MiB", "4 MiB"]}}
        >>> work = {"generate": {"kind": "uniform", "requests": 1000, "footprint": "1 MiB"}}
        >>> [e.config["buffer"]["size"] for e in resolve({**drive, "workload": work})]
        ['1 MiB', '4 MiB']
    """
    if source is None or isinstance(source, Mapping):
        return resolve_mapping(source or {}, "<mapping>", sets)
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _core.InputError(unreadable(path, error)) from error
    except UnicodeDecodeError as error:
        raise _core.InputError(f"{path}: not a text file: byte {error.start} is not UTF-8") from error
    # What comes through a pipe lies in no folder: its paths start from the current one.
    base = Path() if path.is_relative_to("/dev") else path.parent
    return [Experiment(one, base) for one in _core.resolve(text, str(path), texts_of(sets))]


def resolve_mapping(config: Mapping[str, Any], name: str, sets: Sets = ()) -> list[Experiment]:
    """Expand a mapping; messages call it `name`, relative paths start from the current folder."""
    import tomli_w

    try:
        text = tomli_w.dumps(_with_null(config))
    except TypeError as error:
        raise _core.ConfigError(f"{name}: {error}") from error
    return [Experiment(one, Path()) for one in _core.resolve(text, name, texts_of(sets))]


def content_key(experiment: Experiment) -> str:
    """What its record is known by: it changes with the configuration and with the content of its trace."""
    identity: dict[str, Any] = json.loads(_core.identify(experiment.text, str(experiment.base)))
    return str(identity["key"])


def version() -> str:
    """The version of eraseblock."""
    return _core.version()


def engine() -> str:
    """The engine by its version and its source: builds with the same one give the same records."""
    return _core.engine()


def texts_of(sets: Sets) -> list[str]:
    """Overrides as the command line writes them, one `KEY=VALUE` each."""
    if isinstance(sets, str):
        return [sets]
    if not isinstance(sets, Mapping):
        return list(sets)
    return [f"{key}={_toml(key, value)}" for key, value in sets.items()]


def _toml(key: str, value: Any) -> str:
    import tomli_w

    if isinstance(value, Mapping):
        inside = (f"{json.dumps(str(name))} = {_toml(key, inner)}" for name, inner in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(key, inner) for inner in value)}]"
    try:
        return tomli_w.dumps({"value": _with_null(value)}).removeprefix("value = ").strip()
    except TypeError as error:
        raise _core.ConfigError(f"{key}: {error}") from error


def _with_null(value: Any) -> Any:
    """The value with the engine's word for `None`."""
    if value is None:
        return NULL
    if isinstance(value, Mapping):
        return {key: _with_null(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_null(item) for item in value]
    return value


def unreadable(path: Path, error: OSError) -> str:
    """One line about a file that could not be read, with the nearest name beside it."""
    from eraseblock.names import nearest

    reason = (error.strerror or str(error)).lower()
    if not path.exists():
        folder = path.parent
        if not folder.is_dir():
            return f"{path}: no such file (nor is there a folder {folder})"
        return f"{path}: no such file{nearest(path.name, sorted(p.name for p in folder.iterdir()))}"
    return f"{path}: cannot be read: {reason}"
