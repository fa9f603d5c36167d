"""What tables and plots show of a record: its group, its scheme, its buffer size and its figures."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from eraseblock.names import reconstructions
from eraseblock.results.flatten import flatten
from eraseblock.results.record import Record
from eraseblock.results.units import bytes_of

# Keys that have a place of their own in tables and plots, or only name things.
_OWN_PLACE = ("name", "case", "buffer.size")
# The key that names a drive: it tells what the values of all others come from.
DRIVE = "preset"
# The one in which the runs of a fleet differ, each of which has a volume of the trace.
VOLUMES = "workload.volumes"
_SCHEME = "buffer.scheme"
_MAPPING = "ftl.mapping"
# What stands in the place of FTLs that differ by case.
BY_CASE = "by case"
# What follows the name of a scheme that knew the future.
OFFLINE = "(offline)"


@dataclass(frozen=True)
class Row:
    """One run, as it is shown."""

    trace: str
    ftl: str
    scheme: str
    buffer_bytes: int
    # Settings beside these that differ between the runs of a trace, in the order of the configuration.
    settings: dict[str, str]
    record: Record

    @property
    def variant(self) -> str:
        """The further settings in one line."""
        settings = self.settings.items()
        return ", ".join(value if key == DRIVE else f"{key} = {value}" for key, value in settings)

    @property
    def group(self) -> tuple[str, str, str]:
        """Rows with the same group share a table and a panel of plots."""
        return (self.trace, self.ftl, self.variant)

    @property
    def drive(self) -> str:
        """The preset of its drive; one that has none is nameless."""
        return str(self.record["config"].get(DRIVE) or "a drive of its own")

    @property
    def kind(self) -> str:
        """The scheme without its options."""
        return self._kind(_SCHEME)

    @property
    def case(self) -> str | None:
        """The case of its experiment, if it has cases."""
        found = self.record["config"].get("case")
        return None if found is None else str(found)

    @property
    def plain_scheme(self) -> str:
        """The scheme without what follows the names of those that knew the future."""
        return self.scheme.removesuffix(OFFLINE).rstrip()

    @property
    def reconstruction(self) -> bool:
        """Whether its scheme was built without its paper. Cases have names of their own."""
        return not self.record["config"].get("case") and self._kind(_SCHEME) in reconstructions("buffers")

    @property
    def scheme_in_full(self) -> str:
        """The scheme, with what has to be known of it."""
        return f"{self.scheme} (reconstruction)" if self.reconstruction else self.scheme

    @property
    def ftl_in_full(self) -> str:
        """The FTL in the same way."""
        known = self.ftl == BY_CASE or self._kind(_MAPPING) not in reconstructions("ftls")
        return self.ftl if known else f"{self.ftl} (reconstruction)"

    def _kind(self, path: str) -> str:
        section, key = path.split(".")
        part = self.record["config"][section][key]
        return str(part["kind"] if isinstance(part, dict) else part)

    @property
    def trusted(self) -> bool:
        """Whether the run's figures may be relied on."""
        return bool(self.record.get("trusted", True))

    @property
    def offline(self) -> bool:
        """Whether the buffer knew the future: it shows what others could reach, and does not compete."""
        return bool(self.record.get("offline"))

    @property
    def competes(self) -> bool:
        """Whether the run may be the best: it is to be trusted, and did not know the future."""
        return self.trusted and not self.offline

    def figure(self, path: str) -> Any:
        """A figure by its dotted path; None where the record has none."""
        value: Any = self.record
        for key in path.split("."):
            if not isinstance(value, dict):
                return None
            value = value.get(key)
        return value


def rows_of(records: Sequence[Record]) -> list[Row]:
    """One row per record, in order; what differs beyond scheme, FTL and size goes into `settings`."""
    configs = [flatten(_as_tables(record["config"])) for record in records]
    traces = [str(record["trace"]["name"]) for record in records]
    labels = _parts(configs)
    telling = _settings(configs, traces, labels[0])
    rows = []
    for record, trace, config, ftl, kind, settings in zip(
        records, traces, configs, *labels, telling, strict=True
    ):
        scheme = f"{kind} {OFFLINE}" if record.get("offline") else kind
        rows.append(
            Row(
                trace=trace,
                ftl=ftl,
                scheme=scheme,
                buffer_bytes=bytes_of(config["buffer.size"]),
                settings=settings,
                record=record,
            )
        )
    return rows


def names_of(configs: Sequence[dict[str, Any]]) -> list[str]:
    """For each run a name that tells it from the others: scheme, buffer size, FTL and what else differs."""
    flat = [flatten(_as_tables(config)) for config in configs]
    ftls, schemes = _parts(flat)
    telling = _settings(flat, [repr(config["workload"]) for config in configs], ftls)
    return [
        ", ".join(
            [
                f"{scheme} of {config['buffer.size']}" + ("" if ftl == BY_CASE else f" on {ftl}"),
                *(value if key == DRIVE else f"{key} = {value}" for key, value in settings.items()),
            ]
        )
        for scheme, config, ftl, settings in zip(schemes, flat, ftls, telling, strict=True)
    ]


def _parts(configs: Sequence[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """For each run how its FTL and its scheme are called; where every run is a case, these have the names."""
    ftls, schemes = (_labels(configs, path) for path in (_MAPPING, _SCHEME))
    cases = [config.get("case") for config in configs]
    if not all(cases):
        return ftls, schemes
    of_case: dict[str, set[str]] = defaultdict(set)
    for case, ftl in zip(cases, ftls, strict=True):
        of_case[str(case)].add(ftl)
    # A case that comes with one FTL says it by its name.
    if len(set(ftls)) > 1 and all(len(some) == 1 for some in of_case.values()):
        ftls = [BY_CASE] * len(ftls)
    of_scheme: dict[str, set[str]] = defaultdict(set)
    for case, scheme in zip(cases, schemes, strict=True):
        of_scheme[str(case)].add(scheme)
    names = [
        str(case) if len(of_scheme[str(case)]) == 1 else f"{case}: {scheme}"
        for case, scheme in zip(cases, schemes, strict=True)
    ]
    return ftls, names


def groups_of(rows: Iterable[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Rows by group, each group in the order in which it first appears."""
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    return dict(groups)


def _as_tables(config: dict[str, Any]) -> dict[str, Any]:
    """The config with `scheme = "lru"` written out as `scheme = { kind = "lru" }`."""
    config = {key: dict(value) if isinstance(value, dict) else value for key, value in config.items()}
    for path in (_SCHEME, _MAPPING):
        section, key = path.split(".")
        if isinstance(config[section][key], str):
            config[section][key] = {"kind": config[section][key]}
    return config


def _settings(
    configs: Sequence[dict[str, Any]], traces: Sequence[str], ftls: Sequence[str]
) -> list[dict[str, str]]:
    """For each run the settings beside scheme, FTL and size that differ between the runs of its trace.

    Parts that only some FTLs have tell nothing that the FTL does not tell; nor does a value that comes with
    the drive.
    """
    members: dict[str, list[int]] = defaultdict(list)
    for index, trace in enumerate(traces):
        members[trace].append(index)
    found: list[dict[str, str]] = [{} for _ in configs]
    for indices in members.values():
        keys = dict.fromkeys(key for index in indices for key in configs[index])
        for key in keys:
            if key in _OWN_PLACE or key.startswith((f"{_SCHEME}.", f"{_MAPPING}.")):
                continue
            values: dict[str, set[str]] = defaultdict(set)
            for index in indices:
                part = ftls[index] if key.startswith("ftl.") else ""
                drive = "" if key == DRIVE else configs[index].get(DRIVE)
                values[f"{configs[index].get('case')}/{drive}/{part}"].add(repr(configs[index].get(key)))
            if all(len(some) == 1 for some in values.values()):
                continue
            for index in indices:
                if key in configs[index]:
                    found[index][key] = plain(configs[index][key])
    return found


def _labels(configs: Sequence[dict[str, Any]], path: str) -> list[str]:
    """For each run the kind, and those of its options that tell it from others of the same kind."""
    values: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for config in configs:
        kind = str(config[f"{path}.kind"])
        for key, value in config.items():
            if key.startswith(f"{path}."):
                values[kind][key].add(repr(value))
    labels = []
    for config in configs:
        kind = str(config[f"{path}.kind"])
        telling = [
            f"{key.removeprefix(f'{path}.')}={plain(config[key])}"
            for key, found in values[kind].items()
            if len(found) > 1 and key in config
        ]
        labels.append(f"{kind} ({', '.join(telling)})" if telling else kind)
    return labels


def plain(value: Any) -> str:
    """A value of a configuration as people write it."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
