"""Traces: what is in one, another format of it, and made ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.arguments import checked
from eraseblock.experiments import Sets, texts_of
from eraseblock.overrides import refuse_both

__all__ = ["convert", "generate", "info"]


@checked
def info(
    trace: Any,
    *,
    format: str | None = None,  # noqa: A002
    workload: Mapping[str, Any] | None = None,
    page_size: str | None = None,
    sample: float | None = None,
) -> dict[str, Any]:
    """What a trace holds and what it is like; docs/trace-info.md says what each figure means.

    Args:
        trace: trace file, plain or packed, or a data frame or arrays of requests (docs/python.md).
        format: format of the file; default: told from the content.
        workload: further keys of the workload, such as `{"ops": "w"}`: the part to characterise.
        page_size: page in which footprint, re-use and the miss-ratio curve are counted; default: `"4 KiB"`.
        sample: share of the pages to follow; default: all, up to 64 GiB of them.

    Example:
        >>> writes = {"op": ["write"] * 3, "address": [0, 4096, 0], "size": [4096] * 3}
        >>> info(writes)["profile"]["footprint"]["bytes"]
        8192
    """
    from eraseblock.profile.gather import characterise, plan

    [experiment] = plan([_source(trace)], workload={"format": format, **(workload or {})})
    return characterise(experiment, page_size=page_size, sample=sample)


@checked
def convert(
    trace: Any,
    out: str | Path,
    *,
    to: str | None = None,
    workload: Mapping[str, Any] | None = None,
    capacity: str | None = None,
    page_size: str | None = None,
    block_size: str | None = None,
    lossy: bool = False,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write a trace, or a part of it, as another file.

    Args:
        trace: trace file, plain or packed, or a data frame or arrays of requests (docs/python.md).
        out: the file; its name says the format (`.ebt`, `.spc`, ...) and the packing (`.zst`, `.gz`).
        to: the format, where the name does not say it.
        workload: further keys of the workload, such as `{"ops": "w", "first": 1000}`.
        capacity: size of a drive that addresses are laid onto, as `fit` of the workload says; default: none.
        page_size: page of that drive; default: `"4 KiB"`.
        block_size: block of that drive; default: `"256 KiB"`.
        lossy: leave out and count what the format cannot hold.
        overwrite: replace a file of that name.

    Returns:
        What was read (`read`), how it was fitted (`fit`), and what was written (`written`).

    Raises:
        ConfigError: a wrong key of the workload.
        InputError: the trace cannot be read, or the file not be written.

    Example:
        >>> convert("mysql.load.zst", "mysql.ebt")["written"]["requests"]  # doctest: +SKIP
        123456
    """
    from eraseblock.profile.gather import plan

    [experiment] = plan([_source(trace)], workload=workload, source="trace convert")
    options = {"to": to, "lossy": lossy, "overwrite": overwrite}
    options |= {"capacity": capacity, "page_size": page_size, "block_size": block_size}
    given = json.dumps({key: value for key, value in options.items() if value is not None})
    made: dict[str, Any] = json.loads(
        _core.trace_convert(experiment.text, str(experiment.base), str(out), given, None, experiment.given)
    )
    return made


@checked
def generate(
    kind: str,
    out: str | Path,
    *,
    requests: int | None = None,
    seed: int | None = None,
    sets: Sets = (),
    to: str | None = None,
    lossy: bool = False,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write the trace of a generator, or of a stand-in for a published workload.

    Args:
        kind: the generator or stand-in; `eb.registry()["generators"]` and `["stand-ins"]` have their names.
        out: the file; its name says the format and whether it is packed.
        requests: how many.
        seed: another one gives other requests of the same kind.
        sets: keys of the generator, such as `{"theta": 1.1, "footprint": "1 GiB"}`.
        to: the format, where the name does not say it.
        lossy: leave out and count what the format cannot hold.
        overwrite: replace a file of that name.

    Returns:
        What was written: `path`, `format`, `requests`, `file_bytes`, `losses`; `missed`, where a
        generator could not meet what it was asked for.

    Raises:
        ConfigError: there is no such generator, or a key is wrong.
        InputError: the file cannot be written.

    Example:
        >>> generate("zipf", "zipf.ebt", requests=1000, sets={"theta": 1.1})["requests"]  # doctest: +SKIP
        1000
    """
    given = {key: value for key, value in (("requests", requests), ("seed", seed)) if value is not None}
    texts = texts_of(sets)
    refuse_both({"kind": kind, **given}, texts, {key: key for key in ("kind", *given)})
    generator = (kind, None, [*texts, *texts_of(given)])
    made: dict[str, Any] = json.loads(_core.generate_trace(generator, str(out), to, overwrite, lossy))
    return made


def _source(trace: Any) -> Any:
    return str(trace) if isinstance(trace, str | Path) else trace
