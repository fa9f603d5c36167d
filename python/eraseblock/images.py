"""Drives with real bytes: what an image is to hold, and what is in one."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.experiments import Experiment, expanded, resolve_mapping
from eraseblock.names import check
from eraseblock.overrides import refuse_both

# A drive has no workload, but an experiment has: nobody will look for this file.
_NO_WORKLOAD = 'workload.path="none"'
# A new drive is empty unless somebody says otherwise.
_NEW = 'precondition.state="empty"'


def drive_of(device: str | None, config: Path | None, sets: Sequence[str]) -> Experiment | None:
    """The drive that is asked for, as an experiment without a workload; none where nothing is said of it."""
    if device is not None and config is not None:
        raise _core.ConfigError("--device and --config exclude each other; leave one of them out")
    if config is not None:
        tables = _tables(config)
        ours = [
            text for name, text in (("workload", _NO_WORKLOAD), ("precondition", _NEW)) if name not in tables
        ]
        drives = expanded(config, sets=[*ours, *sets])
    elif device is not None:
        [preset] = check([device], "devices", "--device")
        refuse_both({"preset": preset}, sets, {"preset": "--device"})
        drives = resolve_mapping({"preset": preset}, "--device", [_NO_WORKLOAD, _NEW, *sets])
    elif sets:
        raise _core.ConfigError(
            "--set: says more of a drive that --device or --config names; give one of them"
        )
    else:
        return None
    if len(drives) != 1:
        raise _core.ConfigError(
            f"an image holds one drive, and this describes {len(drives)}; leave out the lists"
        )
    return drives[0]


def create(image: Path, drive: Experiment) -> None:
    """Make an image of a drive."""
    _core.image_create(str(image), drive.text)


def priority(told: bool | str | None) -> str | None:
    """Whether answers that come in time have real-time priority, as a server tells it; none where none do."""
    if told is None:
        return None
    return "with real-time priority" if told is True else f"without real-time priority ({told})"


def info(image: Path) -> dict[str, Any]:
    """What is in an image: sizes in bytes, how it was left, the drive's configuration."""
    found: dict[str, Any] = json.loads(_core.image_info(str(image)))
    return found


def compare(image: Path) -> dict[str, Any]:
    """Compare everything in an image that can be compared; `wrong` has a sentence for each fault."""
    found: dict[str, Any] = json.loads(_core.image_check(str(image)))
    return found


def scrub(image: Path) -> dict[str, Any]:
    """Mend what can be mended in an image, and give up what cannot.

    `repaired` has a sentence for each; `unneeded` and `given_up` are flash pages, `unreadable` logical pages.
    """
    done: dict[str, Any] = json.loads(_core.image_scrub(str(image)))
    return done


def export(image: Path, to: Path) -> None:
    """Write what the host sees of an image to a new sparse file, byte by byte."""
    _core.image_export(str(image), str(to))


def amount(size: int) -> str:
    """Bytes for a person: in the largest unit of which there is at least one."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.4g} {unit}"
    return f"{size} B"


def _tables(config: Path) -> set[str]:
    """The tables of a file; what is wrong with it is said by whoever reads it next."""
    with suppress(OSError, ValueError):
        return set(tomllib.loads(config.read_text(encoding="utf-8")))
    return set()
