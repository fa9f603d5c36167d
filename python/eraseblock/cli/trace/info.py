"""`eraseblock trace info`: says what traces hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from cyclopts import Parameter

from eraseblock import _core
from eraseblock.cli.options import AsJson

EXAMPLES = """\
Examples:

    eraseblock trace info mysql.load.zst
    eraseblock trace info a.spc b.spc --format spc --json
"""


def info(
    *traces: str,
    format: Annotated[str | None, Parameter(help="Trace format; see `eraseblock list formats`.")] = None,  # noqa: A002
    as_json: AsJson = False,
) -> None:
    """Say what traces hold: requests, bytes, duration, volumes, footprint.

    Args:
        traces: Trace files, plain or packed (.gz, .zst).
    """
    if not traces:
        raise _core.ConfigError("trace info needs at least one trace")
    # In threads, so that Ctrl-C is heard while the engine reads.
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        found = [json.loads(text) for text in pool.map(lambda path: _core.trace_info(path, format), traces)]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return
    for path, summary in zip(traces, found, strict=True):
        _print(path, summary)


def _print(path: str, summary: Mapping[str, Any]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from eraseblock.results.flatten import flatten
    from eraseblock.terminal.console import out

    table = Table(
        title=path,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_header=False,
        pad_edge=False,
    )
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in flatten(summary).items():
        if value is not None:
            table.add_row(key.replace("_", " ").removesuffix(" ns"), Text(_show(key, value)))
    out().print(table)


def _show(key: str, value: Any) -> str:
    """A figure with its unit, which the end of its name tells."""
    from eraseblock.results import units

    if isinstance(value, list):
        return "\n".join(
            ", ".join(f"{k.replace('_', ' ')} {_show(k, v)}" for k, v in one.items()) for one in value
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if key.endswith("_ns"):
        return units.duration(value)
    if key.endswith(("_bytes", "_byte", "_end")):
        return f"{units.size(value)} ({value:,.0f} B)" if value >= 1024 else f"{value:,.0f} B"
    if key.endswith("_share"):
        return units.share(value)
    return f"{value:,}"
