"""`eraseblock trace convert`: writes a trace, or a part of it, in another format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from eraseblock import _core
from eraseblock.cli.options import AsJson, Sets, beside
from eraseblock.cli.workload import Fit, Workload, WorkloadOptions
from eraseblock.piped import plain

EXAMPLES = """\
Examples:

    eraseblock trace convert server.blkparse.zst server.ebt
    eraseblock trace convert mysql.load.zst mysql.spc.gz --ops read,write
    eraseblock trace convert volumes.csv one.ebt.zst --volumes 3 --from 1h --until 2h
    eraseblock trace convert tpcc.trace small.mqsim --fit scale --capacity 32GiB --page-size 2KiB
    eraseblock trace convert nbd.nbdkit replay.iolog --lossy --force
"""


def convert(
    trace: str,
    out: Path,
    /,
    *,
    to: Annotated[
        str | None,
        Parameter(
            help="Format to write: ebt, spc, disksim, ssdsim, mqsim, blkreplay or fio; default: OUT's."
        ),
    ] = None,
    workload: Workload = None,
    fit: Fit = None,
    capacity: Annotated[
        str | None,
        Parameter(help="Lay volumes one after another and fit them to a drive of this size, as --fit says."),
    ] = None,
    page_size: Annotated[
        str | None, Parameter(help="Page of that drive, which scale moves; default: 4KiB.")
    ] = None,
    block_size: Annotated[
        str | None, Parameter(help="Block of that drive, which compact and remap move; default: 256KiB.")
    ] = None,
    lossy: Annotated[
        bool, Parameter(negative="", help="Leave out and count what the format cannot hold.")
    ] = False,
    force: Annotated[
        bool,
        Parameter(negative="", help="Replace OUT if it is a regular file; nothing else is replaced."),
    ] = False,
    set_: Sets = None,
    as_json: AsJson = False,
) -> None:
    """Write a trace, or a part of it, to another file: in the compact format ebt, or for another program.

    OUT appears when it is whole. Its name says the format (.ebt, .spc, .disksim, .ssdsim, .mqsim, .load,
    .iolog) and, with .gz or .zst behind that, that it is packed. A device or a pipe, such as /dev/stdout, is
    written to as it is.

    Args:
        trace: Trace file, plain or packed.
        out: File to write.
    """
    from eraseblock.profile.gather import plan
    from eraseblock.terminal.steps import StepBar

    source = "trace convert"
    table = {**(workload or WorkloadOptions()).table(), "fit": fit}
    experiments = plan([trace], workload=table, sets=set_ or [], source=source)
    if len(experiments) != 1:
        raise _core.ConfigError(
            f"{source}: --set with a list stands for {len(experiments)} traces; give one value"
        )
    options = {"to": to, "lossy": lossy, "overwrite": force}
    drive = {"capacity": capacity, "page_size": page_size, "block_size": block_size}
    for key in ("page_size", "block_size"):
        if capacity is None and drive[key] is not None:
            raise _core.ConfigError(
                f"--{key.replace('_', '-')}: it is of a drive that the trace is laid onto; say how large "
                "that is (--capacity), or leave it out"
            )
    given = {key: value for key, value in {**options, **drive}.items() if value is not None}
    with StepBar() as bar:
        text = _core.trace_convert(
            experiments[0].text, str(experiments[0].base), str(out), json.dumps(given), bar.update
        )
    text = plain(text)
    said = beside(out)
    if as_json:
        said.write(json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n")
    else:
        said.writelines(f"{line}\n" for line in _lines(trace, json.loads(text)))


def _lines(trace: str, found: Mapping[str, Any]) -> Iterator[str]:
    """What was read, what happened to it, and what was written."""
    from eraseblock.results import units

    read, fit, written = found["read"], found["fit"], found["written"]
    yield _line("read", f"{plain(trace)} ({read['format']}), {read['requests_in_trace']:,} requests")
    yield from _counts("no request", read["other_lines"])
    bad = read["bad_lines"]
    yield from _counts("bad lines", {"skipped": bad["count"], "bytes not read": bad["unread_bytes"]})
    yield from _counts("reordered", {key: read[key] for key in ("clamped", "sorted")})
    yield from _counts("left out", read["left_out"])
    if fit is not None:
        size = f"{units.size(fit['workload_bytes'])} on {units.size(fit['drive_bytes'])}"
        yield _line("fit", f"{fit['mode']}, {size}; {fit['submitted']:,} from {fit['requests']:,} requests")
        counted = ("moved", "split", "beyond_drive", "untouched_trims", "shortened_trims")
        yield from _counts("", {key: fit[key] for key in counted})
    yield from _counts("lost", written["losses"])
    packing = "" if written["packing"] == "plain" else f", {written['packing']}"
    size = units.size(written["file_bytes"])
    yield _line(
        "written",
        f"{written['path']} ({written['format']}{packing}), {written['requests']:,} requests, {size}",
    )


def _line(title: str, text: str) -> str:
    return f"{title:<10}  {text}"


def _counts(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    """One line with what is not 0; none if everything is."""
    shown = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    if shown:
        yield _line(title, ", ".join(shown))
