"""The command that makes a run again, in parts: the page joins the parts of several runs into one command.

A run of a trace becomes `eraseblock compare` with a `--set` for each value that differs from its preset. What
that cannot say (a generated workload, a drive without a preset) becomes an experiment for `eraseblock run`.
Each is resolved here and compared with the record's configuration, so that no command is almost right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eraseblock import _core
from eraseblock.comparison import OPTIONS
from eraseblock.experiments import resolve_mapping
from eraseblock.results.flatten import flatten
from eraseblock.results.record import Record

Json = dict[str, Any]

# Axes of `compare` with an option of their own; the page joins their values into lists.
_AXES = ("buffer.size", "buffer.scheme", "ftl.mapping")
# What may differ: a label, and the path, which is given as it is.
_FREE = ("name", "workload.path")


def commands_of(records: Sequence[Record]) -> list[Json]:
    """For each run the parts of its command."""
    writer = _Writer()
    return [writer.parts(record) for record in records]


def toml_value(value: Any) -> str:
    """A value in TOML, on one line."""
    import tomli_w

    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items() if item is not None)
        return f"{{ {inner} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").rstrip("\n")


@dataclass
class _Writer:
    """Remembers what it resolved: the runs of a set share most of it."""

    bases: dict[str, dict[str, Any]] = field(default_factory=dict)
    checked: dict[str, bool] = field(default_factory=dict)

    def parts(self, record: Record) -> Json:
        config = record["config"]
        verify = {"verify": True} if record.get("verified_reads") is not None else {}
        compared = self._compare(config)
        if compared is not None:
            return {**compared, **verify}
        return {"toml": _explicit(config), **verify}

    def _compare(self, config: Json) -> Json | None:
        path, preset = config["workload"].get("path"), config.get("preset")
        if not path or not preset:
            return None
        named = {
            "device": str(preset),
            "trace": str(path),
            "size": str(config["buffer"]["size"]).replace(" ", ""),
            "scheme": _kind(config["buffer"]["scheme"]),
            "ftl": _kind(config["ftl"]["mapping"]),
        }
        base = self._base(named)
        wanted = _comparable(config)
        changed = {key: value for key, value in wanted.items() if key not in base or base[key] != value}
        options, sets = [], []
        for key, value in _whole_schemes(changed, named).items():
            option = OPTIONS.get(key)
            if option and key not in _AXES and isinstance(value, str | int):
                options.append([option, str(value)])
            else:
                sets.append(f"{key}={toml_value(value)}")
        parts = {**named, "options": options, "sets": sets}
        return parts if self._says(parts, wanted) else None

    def _base(self, named: Json) -> dict[str, Any]:
        """The configuration that the named values alone give; nothing where they give none."""
        key = repr({**named, "trace": ""})
        if key not in self.bases:
            self.bases[key] = _resolved(named, [])
        return self.bases[key]

    def _says(self, parts: Json, wanted: Json) -> bool:
        key = repr({**parts, "trace": ""})
        if key not in self.checked:
            keys = {option: key for key, option in OPTIONS.items()}
            options = [f"{keys[option]}={_as_value(text)}" for option, text in parts["options"]]
            self.checked[key] = _resolved(parts, [*options, *parts["sets"]]) == wanted
        return self.checked[key]


def _resolved(named: Json, sets: Sequence[str]) -> dict[str, Any]:
    config = {
        "preset": named["device"],
        "workload": {"path": named["trace"]},
        "buffer": {"size": [named["size"]], "scheme": [named["scheme"]]},
        "ftl": {"mapping": [named["ftl"]]},
    }
    try:
        runs = resolve_mapping(config, "command", sets)
    except _core.ConfigError:
        # Such as a preset that a later version knows no more: the explicit experiment is given instead.
        return {}
    return _comparable(runs[0].config) if len(runs) == 1 else {}


def _whole_schemes(changed: Json, named: Json) -> Json:
    """The same, options of a scheme or mapping as one table each: `compare` has lists of names there.

    A format has an option of its own, beside which the options of that format are settings.
    """
    found: Json = {}
    for key, value in changed.items():
        if key == "workload.format.kind":
            found["workload.format"] = value
            continue
        for path, name in (("buffer.scheme", "scheme"), ("ftl.mapping", "ftl")):
            if key.startswith(f"{path}."):
                found.setdefault(path, {"kind": named[name]})[key.removeprefix(f"{path}.")] = value
                break
        else:
            found[key] = value
    return found


def _as_value(text: str) -> str:
    return text if text.isdigit() else toml_value(text)


def _comparable(config: Json) -> dict[str, Any]:
    """Every value that the command has to say; a name alone stands for a table with its kind."""
    tables = {**config, "buffer": dict(config["buffer"]), "ftl": dict(config["ftl"])}
    for section, key in (("buffer", "scheme"), ("ftl", "mapping")):
        if isinstance(tables[section][key], str):
            tables[section][key] = {"kind": tables[section][key]}
    flat = flatten(tables)
    return {key: value for key, value in flat.items() if value is not None and key not in _FREE}


def _kind(value: Any) -> str:
    return str(value["kind"] if isinstance(value, Mapping) else value)


def _explicit(config: Json) -> str:
    """The whole configuration as an experiment file; a preset would only fill in what all stands there."""
    import tomli_w

    whole = {key: value for key, value in _without_nothing(config).items() if key != "preset"}
    return tomli_w.dumps(whole).strip()


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nothing(item) for key, item in value.items() if item is not None}
    return value
