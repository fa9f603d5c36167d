"""`eraseblock trace info`: says what traces hold and what they are like."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from eraseblock import _core
from eraseblock.cli.options import AsJson, Sets
from eraseblock.cli.workload import Workload, WorkloadOptions

if TYPE_CHECKING:
    from eraseblock.profile.gather import Info

EXAMPLES = """\
Examples:

    eraseblock trace info mysql.load.zst
    eraseblock trace info mysql.load.zst --ops w --page-size 16KiB
    eraseblock trace info mysql.load.zst --plot mysql.svg
    eraseblock trace info *.spc --compare
    eraseblock trace info huge.spc.zst --sample 0.01 --json
"""


def info(
    *traces: str,
    workload: Workload = None,
    set_: Sets = None,
    page_size: Annotated[
        str | None,
        Parameter(help="Page in which footprint, re-use and miss ratios are counted; default: 4KiB."),
    ] = None,
    sample: Annotated[
        float | None,
        Parameter(help="Follow this share of the pages, as in 0.01; default: all, up to 16 million."),
    ] = None,
    compare: Annotated[bool, Parameter(negative="", help="One row for each trace, side by side.")] = False,
    plot: Annotated[Path | None, Parameter(help="Write a picture: .png, .svg or .html.")] = None,
    dark: Annotated[bool, Parameter(negative="", help="Light on dark (.png and .svg).")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what traces hold and what they are like, in one pass over each.

    Requests, sizes, sequentiality, bursts, footprint, hot spots, re-use, and the miss ratio of an LRU
    buffer of any size. Options that choose a part of the trace (--volumes to --time-scale, and --set
    workload.KEY=VALUE) hold for all of this.

    Args:
        traces: Trace files, plain or packed.
    """
    if not traces:
        raise _core.ConfigError("trace info needs at least one trace")
    if plot is not None:
        from eraseblock.profile.picture import check_name

        check_name(plot)
    from eraseblock.profile.gather import plan
    from eraseblock.terminal.reading import read_all

    experiments = plan(traces, workload=(workload or WorkloadOptions()).table(), sets=set_ or [])
    found = read_all(experiments, page_size=page_size, sample=sample)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    else:
        _show(found, side_by_side=compare)
    if plot is not None:
        from eraseblock.profile.picture import save
        from eraseblock.terminal.console import err, out

        save(found, plot, dark=dark)
        (err() if as_json else out()).print(f"picture: {plot}", soft_wrap=True)


def _show(found: list[Info], *, side_by_side: bool) -> None:
    from eraseblock.terminal.console import out

    console = out()
    if side_by_side:
        from eraseblock.terminal.side_by_side import print_comparison

        print_comparison(console, found)
        return
    from eraseblock.terminal.sheet import print_sheet

    for index, one in enumerate(found):
        if index:
            console.print()
        print_sheet(console, one)
