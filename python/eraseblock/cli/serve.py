"""`eraseblock serve`: a drive with real bytes, for programs that really use it."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from eraseblock.cli.image import Config, Device
from eraseblock.cli.options import Sets

if TYPE_CHECKING:
    from eraseblock.experiments import Experiment

EXAMPLES = """\
Examples:

    eraseblock serve --image drive.img --device nvme-tlc
    eraseblock serve --image drive.img --socket /tmp/drive.sock
    eraseblock serve --image drive.img --port 10809 --sync
    eraseblock serve --image drive.img --host 0.0.0.0 --tls certificates
    eraseblock serve --image drive.img --pace --record day.ebt
    eraseblock serve --image drive.img --http 9464

Ctrl-C or SIGTERM answers what is under way, stores everything and ends.
"""
# The port that is NBD's by agreement.
_NBD = 10809


def serve(
    *,
    image: Annotated[
        Path, Parameter(help="The drive's file; made where there is none and a drive is named.")
    ],
    device: Device = None,
    config: Config = None,
    set_: Sets = None,
    socket: Annotated[
        Path | None,
        Parameter(help="Unix socket, for its owner alone; default: the image's name and `.sock`."),
    ] = None,
    port: Annotated[
        int | None, Parameter(help="Port instead; 0: any that is free. With --host, default: 10809.")
    ] = None,
    host: Annotated[
        str | None,
        Parameter(
            help="Address or name of this machine at which the port is; default: 127.0.0.1. One that other "
            "machines can reach needs --tls or --insecure."
        ),
    ] = None,
    tls: Annotated[
        Path | None,
        Parameter(
            help="Encrypt, with the certificates in this folder: server-cert.pem, server-key.pem, and "
            "ca-cert.pem, which has to have signed each client's certificate."
        ),
    ] = None,
    tls_any_client: Annotated[
        bool, Parameter(negative="", help="Clients need no certificate: whoever can connect uses the drive.")
    ] = False,
    insecure: Annotated[
        bool,
        Parameter(negative="", help="Let other machines read and write the drive, without encryption."),
    ] = False,
    sync: Annotated[
        bool,
        Parameter(
            negative="", help="What clients are promised outlasts a crash of this machine, too; slower."
        ),
    ] = False,
    pace: Annotated[
        bool,
        Parameter(
            negative="",
            help="Answer when the simulated drive would, and say at the end how late answers were.",
        ),
    ] = False,
    no_real_time: Annotated[
        bool,
        Parameter(
            negative="",
            help="With --pace: do not ask the system for real-time priority for the thread that answers.",
        ),
    ] = False,
    record: Annotated[
        Path | None,
        Parameter(
            help="Write all that the drive is asked to this trace (.ebt, .ebt.zst), for every other command."
        ),
    ] = None,
    control: Annotated[
        Path | None,
        Parameter(
            help="Socket for `eraseblock ctl`, for its owner alone; default: the image's name and `.ctl`."
        ),
    ] = None,
    http: Annotated[
        int | bool | None,
        Parameter(
            negative="",
            help="Show what the drive does at a port of this machine, as a page and for Prometheus "
            "(/metrics); without a number, or with 0, at any that is free.",
        ),
    ] = None,
    report: Annotated[
        Path | None, Parameter(help="Write what the drive has done to this file at the end, as JSON.")
    ] = None,
) -> None:
    """Serve the drive in an image to NBD clients: any buffer and FTL, with the bytes behind it.

    What a flush or a forced write has been answered for survives a `kill -9` of the server. A drive that is
    named and differs from the one in the image is refused.
    """
    from eraseblock import _core, images, interrupts

    if not image.name or image.is_dir():
        raise _core.ConfigError(f"--image: found {str(image)!r}, expected the name of a file")
    at = _address(image, socket, host, port, http)
    if tls_any_client and tls is None:
        raise _core.ConfigError("--tls-any-client: nothing is encrypted; name certificates with --tls")
    if insecure and tls is not None:
        raise _core.ConfigError("--insecure and --tls exclude each other; leave one of them out")
    if no_real_time and not pace:
        raise _core.ConfigError(
            "--no-real-time: only a server with --pace asks for it; add --pace or leave it out"
        )
    if insecure and host is None:
        raise _core.ConfigError("--insecure: no other machine can come; name an address with --host")
    drive = images.drive_of(device, config, set_ or [])
    if drive is None and not image.exists():
        raise _core.InputError(f"{image}: no such image; name a drive with --device or --config to make one")
    hold = ExitStack()

    def prepare() -> None:
        if drive is not None and image.exists():
            _core.image_is(str(image), drive.text)
        elif drive is not None:
            images.create(image, drive)
        # Ctrl-C ended all of that at once; from now on the server ends in order.
        hold.enter_context(interrupts.handed_over())

    def ready(text: str) -> None:
        found = json.loads(text)
        torn = found["torn"]
        lost = f", {torn} torn page{'s' if torn > 1 else ''} left out" if torn else ""
        size = images.amount(found["size"])
        sys.stdout.write(f"serving {image} ({size}{lost}) at {found['uri']}\n")
        if (priority := images.priority(found["real_time"])) is not None:
            sys.stdout.write(f"answers come when the drive would give them, {priority}\n")
        if found["page"] is not None:
            sys.stdout.write(f"what it does is at {found['page']}\n")
        sys.stdout.flush()

    options: _core.ServeOptions = {
        "socket": at[0],
        "host": host,
        "port": at[1],
        "tls": None if tls is None else (str(tls), not tls_any_client),
        "insecure": insecure,
        "sync": sync,
        "pace": pace,
        "real_time": not no_real_time,
        "record": None if record is None else str(record),
        "control": str(control or image.with_name(image.name + ".ctl")),
        "http": None if http is None or http is False else (_port(http), _page(image, drive)),
    }
    if report is not None:
        others = {"--image": image, "--record": record, "--socket": socket, "--control": control}
        _check_report(report, {name: path for name, path in others.items() if path is not None})
    with hold:
        ended = _core.image_serve(str(image), options, prepare, ready)
        if ended is None:
            return
        # What has become of the drive is told with what has become of its report.
        unwritten = None if report is None else _written(report, ended)
        _tell(json.loads(ended), record, unwritten)


def _written(report: Path, ended: str) -> str | None:
    """Write the report; says why it could not be."""
    from eraseblock import _core
    from eraseblock.results.files import replace_file

    try:
        replace_file(report, [f"{ended}\n".encode()])
    except OSError as error:
        return f"{report}: {(error.strerror or str(error)).lower()}"
    except _core.InputError as error:
        return str(error)
    return None


def _check_report(report: Path, others: dict[str, Path]) -> None:
    """Refuse a report that cannot be written at the end, or would take the place of something else."""
    from eraseblock import _core

    _core.check_replaceable(str(report))
    if not report.parent.is_dir():
        raise _core.InputError(f"--report: {report}: there is no such folder")
    for option, path in others.items():
        same = report.resolve() == path.resolve() or (
            report.exists() and path.exists() and report.samefile(path)
        )
        if same:
            raise _core.ConfigError(f"--report: {report} is the file of {option}; choose another name")
    if report.exists() and not _is_report(report):
        raise _core.InputError(
            f"--report: {report}: there is a file that is no report of a server; choose another name"
        )


def _is_report(path: Path) -> bool:
    """Whether a server has written this; what is empty is nothing to be lost."""
    try:
        text = path.read_text(encoding="utf-8")
        return not text or "drive" in json.loads(text)
    except (OSError, ValueError, TypeError):
        return False


def _address(
    image: Path, socket: Path | None, host: str | None, port: int | None, http: int | bool | None
) -> tuple[str | None, int]:
    """The socket, or none and the port."""
    from eraseblock import _core

    for option, other in (("--port", port), ("--host", host)):
        if socket is not None and other is not None:
            raise _core.ConfigError(f"--socket and {option} exclude each other; leave one of them out")
    for option, number in (("--port", port), ("--http", http)):
        if number is not None and not 0 <= number <= 0xFFFF:
            raise _core.ConfigError(f"{option}: found {number}, expected 0 to 65535")
    if port is not None or host is not None:
        return None, _NBD if port is None else port
    return str(socket or image.with_name(image.name + ".sock")), 0


def _tell(found: dict[str, Any], record: Path | None, unwritten: str | None) -> None:
    """Say how the server has ended."""
    from eraseblock import _core

    if found["recorded"] is not None and found["recording_failed"] is None:
        sys.stdout.write(f"{found['recorded']} requests are in {record}\n")
    if late := found["lateness_ns"]:
        half, most, all_ = (f"{late[part] / 1000:.0f} us" for part in ("p50", "p99", "max"))
        sys.stdout.write(f"answers were late by {half} (half), {most} (99 %), {all_} (all)\n")
    if why := found["checkpoint_failed"]:
        sys.stdout.write(
            f"the last checkpoint could not be written ({why}): the image takes longer to open\n"
        )
    wrong = {
        "the drive has failed, and can only be read": found["failed"],
        "what it was asked is not recorded": found["recording_failed"],
        "there is no report": unwritten,
    }
    said = [f"{what}: {why}" for what, why in wrong.items() if why is not None]
    if said:
        raise _core.SimulationError("; ".join(said))


def _port(asked: int) -> int:
    """The port that is asked for: an option without a number is true, and means any that is free."""
    return 0 if asked is True else asked


def _page(image: Path, drive: Experiment | None) -> str:
    """The page of the drive in an image, or of the one that is going to be in it."""
    from eraseblock import images
    from eraseblock.live.page import build_live

    if image.exists():
        config = images.info(image)["config"]
    else:
        assert drive is not None, "refused before"
        config = json.loads(drive.text)
    return build_live(image.name, config)
