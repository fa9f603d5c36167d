"""Builds the experiments of a comparison, and tells refused combinations from failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eraseblock import _core
from eraseblock.experiments import Experiment, Sets, resolve_mapping, texts_of
from eraseblock.names import as_list, check
from eraseblock.sweep import Outcome

DEFAULT_DEVICE = "nvme-tlc"
# What a comparison calls itself in the engine's messages, and the option that sets each key.
_SOURCE = "compare"
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


def plan(
    traces: Sequence[str],
    *,
    buffers: str | Sequence[str] = ("all",),
    sizes: str | Sequence[str] = (),
    ftls: str | Sequence[str] = (),
    device: str = DEFAULT_DEVICE,
    workload: Mapping[str, Any] | None = None,
    sets: Sets = (),
) -> list[Experiment]:
    """One experiment for each trace, FTL, buffer size and scheme, the last varying fastest."""
    sets = texts_of(sets)
    if not traces:
        raise _core.ConfigError("compare needs at least one trace")
    [preset] = check([device], "devices", "--device")
    buffer: dict[str, Any] = {"size": as_list(sizes)} if sizes else {}
    buffer["scheme"] = check(buffers, "buffers", "--buffers")
    config: dict[str, Any] = {"name": "compare", "preset": preset, "workload": {"path": list(traces)}}
    config["workload"].update({key: value for key, value in (workload or {}).items() if value is not None})
    for key, option, given in (("ftl.mapping", "--ftls", ftls), ("buffer.size", "--buffer-size", sizes)):
        if given and any(one.partition("=")[0].strip() == key for one in sets):
            raise _core.ConfigError(f"{option} and --set {key} say the same; leave one of them out")
    if ftls:
        config["ftl"] = {"mapping": check(ftls, "ftls", "--ftls")}
    config["buffer"] = buffer
    try:
        return resolve_mapping(config, _SOURCE, sets)
    except _core.ConfigError as error:
        raise in_options(error, _SOURCE) from None


def in_options(error: _core.ConfigError, source: str) -> _core.ConfigError:
    """The engine's error about a key of `source`, told in terms of the option that set it."""
    file, _, _ = (error.place or "").rpartition(":")
    if file != source or error.message is None:
        return error
    text = error.message
    for key, option in OPTIONS.items():
        text = text.replace(f"`{key}`", option)
    return _core.ConfigError(text)


def all_failures(outcomes: Sequence[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Every error is a failure: nobody asked for the combination but the user."""
    return [outcome for outcome in outcomes if outcome.error is not None], []


def split_errors(outcomes: Sequence[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """Failures, and refusals: combinations that the engine does not build while it builds others.

    An input error that every run of a trace shares is about the trace itself, and a failure.
    """
    failures: list[Outcome] = []
    refusals: list[Outcome] = []
    traces = [str(outcome.experiment.config["workload"]) for outcome in outcomes]
    ends: dict[str, set[str]] = {}
    for trace, outcome in zip(traces, outcomes, strict=True):
        ends.setdefault(trace, set()).add(str(outcome.error))
    for trace, outcome in zip(traces, outcomes, strict=True):
        if outcome.error is None:
            continue
        refused = isinstance(outcome.error, _core.InputError) and len(ends[trace]) > 1
        (refusals if refused else failures).append(outcome)
    return failures, refusals
