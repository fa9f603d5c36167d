"""What a design may be: for each key the values to choose from."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from eraseblock import _core
from eraseblock.advice.case import short_size
from eraseblock.comparison import DEFAULT_BUFFERS
from eraseblock.experiments import NULL, Config, resolve_mapping
from eraseblock.names import check, nearest
from eraseblock.overrides import keys_of, leaves_of
from eraseblock.results import units
from eraseblock.results.units import bytes_of
from eraseblock.settings import keys

# A value of a choice as it stands behind `--set KEY=`.
Point = Mapping[str, str]

# Sizes of buffers go down from the budget in halves, and there are so many of them.
_SIZES = 7
# Shares of spare flash that drives are sold with, and those in between.
_SPARES = (0.07, 0.1, 0.12, 0.15, 0.2, 0.25, 0.28, 0.35, 0.5)
_VICTIMS = ("greedy", "cost-benefit", "cat", "windowed-greedy", "d-choices")
# Without a budget of RAM, up to so many times the drive's own.
_RAM = 4


@dataclass(frozen=True)
class Space:
    """The choices, in the order in which they vary."""

    choices: Mapping[str, Sequence[str]]

    @property
    def designs(self) -> int:
        """How many there are."""
        return prod(len(values) for values in self.choices.values())


@dataclass(frozen=True)
class Budget:
    """What a design may cost; None: as much as it likes."""

    # Bytes of the buffer, spare flash / what the host sees, bytes that can be written to the drive.
    ram: int | None = None
    spare: float | None = None
    lifetime: float | None = None

    def __post_init__(self) -> None:
        if self.spare is not None and not 0 < self.spare < 10:
            raise _core.ConfigError(
                f"--spare: found {self.spare:g}, expected a share above 0 and below 10, as in 0.28"
            )
        if self.lifetime is not None and not 0 < self.lifetime < 1e21:
            raise _core.ConfigError(
                f"--lifetime: found {self.lifetime / 1e12:,g}, expected terabytes above 0 and below "
                "1,000,000,000, as in 600"
            )


def bytes_in(text: str, device: str) -> int:
    """A size of a buffer as the engine reads it.

    Raises:
        ConfigError: it is none.
    """
    work = {"generate": {"kind": "uniform"}}
    wanted = {"preset": check(device, "devices", "--device")[0], "buffer": {"size": text}, "workload": work}
    try:
        [one] = resolve_mapping(wanted, "tune")
    except _core.ConfigError as error:
        raise _core.ConfigError(f"--ram: {error.message or error}") from error
    found = bytes_of(one.config["buffer"]["size"])
    if found == 0:
        raise _core.ConfigError("--ram: a buffer of no bytes leaves nothing to choose")
    return found


def usual(config: Config, budget: Budget, sets: Sequence[str] = ()) -> Space:
    """Buffer and its size; where an FTL maps pages, spare flash and collection policy, too.

    What `sets` says of the drive is not chosen.

    Raises:
        ConfigError: the budget of RAM holds no page, or everything is set.
    """
    ram = budget.ram or _RAM * (bytes_of(config["buffer"]["size"]) or 16 << 20)
    page = bytes_of(config["nand"]["page_size"])
    sizes = [size for step in reversed(range(_SIZES)) if (size := ram >> step) >= page]
    if not sizes:
        raise _core.ConfigError(
            f"--ram: found {units.size(ram)}, less than a page of this drive ({config['nand']['page_size']})"
        )
    choices = {"buffer.scheme": list(DEFAULT_BUFFERS), "buffer.size": [short_size(one) for one in sizes]}
    mapping = config["ftl"]["mapping"]
    if (mapping["kind"] if isinstance(mapping, dict) else mapping) == "page":
        most = budget.spare or _SPARES[-1]
        # Under the least that drives are sold with there is the budget itself.
        spares = [one for one in _SPARES if one <= most] or [most]
        choices["ftl.over_provisioning"] = [str(one) for one in spares]
        choices["ftl.victim"] = list(_VICTIMS)
    fixed = keys_of(sets)
    # Another way to say how much flash is spare, unless it says that it is not given.
    exported = [value for text in sets for key, value in leaves_of(text) if key == "ftl.exported"]
    fixed |= {"ftl.over_provisioning"} if exported and exported[-1] != NULL else set()
    free = {key: values for key, values in choices.items() if key not in fixed}
    if not free:
        raise _core.ConfigError(
            f"--set says what {', '.join(choices)} are, so nothing is left to choose; name choices"
        )
    return Space(free)


def chosen(texts: Sequence[str]) -> Space:
    """The choices that `KEY=[VALUE, ...]` name.

    Raises:
        ConfigError: one of them is no list, or empty, or its key is unknown or there twice.
    """
    choices: dict[str, Sequence[str]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        key = key.strip()
        values = _values(value)
        if not equals or not key or not values:
            raise _core.ConfigError(
                f"--choose {text}: write a key and its values, as in ftl.victim=[greedy, cat]"
            )
        # Options of a scheme or a mapping stand below its key; a table stands above its keys.
        if not any(f"{key}.".startswith(f"{one}.") or one.startswith(f"{key}.") for one in keys()):
            raise _core.ConfigError(f"--choose {text}: unknown key `{key}`{nearest(key, [*keys()])}")
        if key in choices:
            raise _core.ConfigError(f"--choose {text}: `{key}` is there twice")
        choices[key] = list(dict.fromkeys(values))
    for name in choices.get("buffer.scheme", ()):
        if not name.startswith("{"):
            check([name], "buffers", "--choose buffer.scheme")
    return Space(choices)


def _values(text: str) -> list[str]:
    """The values of a list in TOML, or of one whose texts have no quotes."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return []
    try:
        found = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return [part for one in text[1:-1].split(",") if (part := one.strip())]
    return [_text(one) for one in found]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_text_in(item)}" for key, item in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _text_in(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else _text(value)
