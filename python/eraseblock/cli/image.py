"""`eraseblock image`: images of drives with real bytes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from eraseblock.cli.options import AsJson, Sets

_EXAMPLES = """\
Examples:

    eraseblock image create drive.img --device nvme-tlc --set buffer.scheme=hbm
    eraseblock image info drive.img
    eraseblock image check drive.img
    eraseblock image export drive.img drive.raw
"""

Device = Annotated[str | None, Parameter(help="Drive, as in `eraseblock list devices`.")]
Config = Annotated[
    Path | None, Parameter(help="TOML file of an experiment, of which the drive counts and nothing else.")
]

app = App(
    name="image",
    help="Make images of drives with real bytes, and look into them.",
    help_epilogue=_EXAMPLES,
    help_format="plaintext",
)


@app.command
def create(image: Path, /, *, device: Device = None, config: Config = None, set_: Sets = None) -> None:
    """Make an image of an empty drive, or of one in another state (--set precondition.state=full).

    The file is sparse: it takes room as the drive is written.

    Args:
        image: The file; there must be none yet.
    """
    from eraseblock import _core, images

    drive = images.drive_of(device, config, set_ or [])
    if drive is None:
        raise _core.ConfigError("image create needs a drive; name it with --device or --config")
    images.create(image, drive)
    found = images.info(image)
    sys.stdout.write(f"{image}: a drive of {images.amount(found['exported'])}\n")


@app.command
def info(image: Path, /, *, as_json: AsJson = False) -> None:
    """Say what drive is in an image, and how it was left.

    Args:
        image: The file.
    """
    from eraseblock import images

    found = images.info(image)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return
    drive, state = found["config"], found["state"]
    left = "in a state that cannot be read"
    if state is not None:
        times = "once" if state["opened"] == 1 else f"{state['opened']} times"
        left = f"{'as it should be' if state['clean'] else 'without an end'}, opened {times}"
    lines = [
        f"{image}: {images.amount(found['exported'])} for clients",
        f"on disk   {images.amount(found['allocated'])} of {images.amount(found['size'])}",
        f"left      {left}",
        f"buffer    {drive['buffer']['scheme']['kind']}, {drive['buffer']['size']}",
        f"FTL       {drive['ftl']['mapping']['kind']}",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


@app.command
def check(image: Path, /, *, as_json: AsJson = False) -> int:
    """Compare every page in an image with its checksum, and every record with itself; change nothing.

    Args:
        image: The file.
    """
    from eraseblock import images

    found = images.compare(image)
    if as_json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        pages = (
            f"{found['pages']} pages can be read, {found['torn']} cannot; {found['compared']} were compared"
        )
        sys.stdout.write("\n".join([f"{image}: {pages}", *found["wrong"]]) + "\n")
    return 1 if found["wrong"] else 0


@app.command
def scrub(image: Path, /, *, as_json: AsJson = False) -> int:
    """Read all of an image, mend what can be mended, and give up what cannot, so that it can be served.

    Ends with code 1 if something is lost.

    Args:
        image: The file.
    """
    from eraseblock import images

    done = images.scrub(image)
    lost = done["unreadable"] or done["given_up"] or done["how_left"]
    if as_json:
        sys.stdout.write(json.dumps(done, indent=2) + "\n")
        return 1 if lost else 0
    lines = [f"{image}: {done['pages']} pages can be read, {done['compared']} were compared"]
    lines += [f"mended: {what}" for what in done["repaired"]]
    lines += [f"given up, and not needed: flash page {page}" for page in done["unneeded"]]
    lines += [f"lost until it is written again: logical page {page}" for page in done["unreadable"]]
    lines += [
        f"given up: flash page {page}; an older version of what it held may be read in its place"
        for page in done["given_up"]
    ]
    if done["how_left"]:
        lines.append("how the image was left could not be read; it counts as never closed")
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if lost else 0


@app.command
def export(image: Path, to: Path, /) -> None:
    """Write what clients see of an image to a new sparse file, byte by byte.

    Args:
        image: The file.
        to: The new file.
    """
    from eraseblock import images

    images.export(image, to)
