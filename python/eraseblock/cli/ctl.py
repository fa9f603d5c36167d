"""`eraseblock ctl`: orders to a server of a drive."""

from __future__ import annotations

import json
import socket as sockets
import sys
from pathlib import Path
from typing import Any

from cyclopts import App

from eraseblock.cli.options import AsJson

_EXAMPLES = """\
Examples:

    eraseblock ctl drive.img.ctl stats --json
    eraseblock ctl drive.img.ctl flush
    eraseblock ctl drive.img.ctl power-cut
    eraseblock ctl drive.img.ctl snapshot before.img
"""

ORDERS = ("stats", "flush", "power-cut", "snapshot")
_LONGEST = 64 << 20

app = App(
    name="ctl",
    help="Give orders to a server (`eraseblock serve`): stats, flush, power-cut, snapshot FILE.",
    help_epilogue=_EXAMPLES,
    help_format="plaintext",
)


@app.default
def ctl(socket: Path, order: str, file: Path | None = None, /, *, as_json: AsJson = False) -> None:
    """Give an order to a server of a drive.

    `stats` says what the drive has done. `flush` stores everything that has been answered. `power-cut` cuts
    the simulated power: requests under way fail, what was not flushed is lost, and the drive comes back.
    `snapshot` copies the image, with everything that has been answered.

    Args:
        socket: The server's control socket.
        order: `stats`, `flush`, `power-cut` or `snapshot`.
        file: The copy that `snapshot` makes.
    """
    from eraseblock import _core

    if order not in ORDERS:
        raise _core.ConfigError(f"{order}: expected one of {', '.join(ORDERS)}")
    if (file is None) == (order == "snapshot"):
        raise _core.ConfigError(
            "snapshot needs the name of its file" if file is None else f"{order} takes no file; leave it out"
        )
    asked = {"order": order} | ({} if file is None else {"file": str(file.absolute())})
    found = _ask(socket, asked)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    elif order == "stats":
        sys.stdout.write(_summary(found))
    elif order == "power-cut":
        sys.stdout.write(_cut(found))
    elif order == "snapshot":
        sys.stdout.write(f"{file}: a copy of the drive\n")


def _cut(found: dict[str, Any]) -> str:
    """What a power cut has cost."""
    return (
        f"power was cut: {found['unanswered']} requests were under way and failed; "
        f"{found['in_ram']} pages were in RAM alone and are {'saved' if found['saved'] else 'lost'}; "
        f"{found['pages']} pages were found on flash, {found['torn']} cannot be read\n"
    )


def _ask(socket: Path, asked: dict[str, str]) -> dict[str, Any]:
    """What the server says to an order."""
    from eraseblock import _core

    try:
        with sockets.socket(sockets.AF_UNIX) as connection:
            connection.connect(str(socket))
            connection.sendall(json.dumps(asked).encode() + b"\n")
            with connection.makefile("rb") as reader:
                said = reader.readline(_LONGEST)
    except OSError as error:
        raise _core.InputError(f"{socket}: {error.strerror or error}; is a server running?") from error
    if said.startswith(b"NBDMAGIC"):
        raise _core.InputError(f"{socket}: this is for NBD clients; orders go to --control, IMAGE.ctl")
    if not said.endswith(b"\n"):
        raise _core.SimulationError(f"{socket}: the server has gone")
    try:
        reply: dict[str, Any] = json.loads(said)
        if "error" in reply:
            raise _core.SimulationError(str(reply["error"]))
        done: dict[str, Any] = reply["done"]
    except (ValueError, KeyError, TypeError) as error:
        raise _core.InputError(f"{socket}: whoever listens there is no server of a drive") from error
    return done


def _summary(found: dict[str, Any]) -> str:
    from eraseblock import images

    drive = found["drive"]
    flash, requests = drive["flash"], drive["requests"]
    lines = [
        f"requests  {requests['completed']} ({requests['reads']} reads, {requests['writes']} writes)",
        f"flash     {flash['reads']['total']} reads, {flash['programs']['total']} programs, "
        f"{flash['erases']['total']} erases",
        f"buffer    {found['buffered_pages']} pages",
        f"clients   {found['clients']}, {found['under_way']} requests under way",
    ]
    for name, times in (("answers", drive["response_ns"]["all"]), ("late by", found["lateness_ns"])):
        if times:
            half, most, all_ = (f"{times[part] / 1000:.0f} us" for part in ("p50", "p99", "max"))
            lines.append(f"{name}   {half} (half), {most} (99 %), {all_} (all)")
    if (priority := images.priority(found["real_time"])) is not None:
        lines.append(f"priority  {priority}")
    if found["recording_failed"]:
        lines.append(f"recording failed: {found['recording_failed']}")
    if found["checkpoint_failed"]:
        lines.append(f"checkpoint failed: {found['checkpoint_failed']}")
    if found["failed"]:
        lines.append(f"failed    {found['failed']}")
    return "\n".join(lines) + "\n"
