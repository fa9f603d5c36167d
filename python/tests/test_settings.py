"""The keys of an experiment's file, as they are listed."""

from __future__ import annotations

import eraseblock
from eraseblock.settings import dotted, sections


def _options() -> dict[str, dict[str, object]]:
    return {option["name"]: option for section in sections() for option in section["options"]}


def test_every_value_of_a_drive_is_a_listed_key() -> None:
    keys = _options().keys()
    for device in eraseblock.registry()["devices"]:
        assert {key for key, _ in dotted(device["values"])} <= keys


def test_what_no_drive_may_leave_out_is_said_to_come_from_it() -> None:
    required = {key for key, option in _options().items() if option["required"]}
    for device in eraseblock.registry()["devices"]:
        assert required <= {key for key, _ in dotted(device["values"])}


def test_types_defaults_and_meanings_are_told() -> None:
    options = _options()
    assert options["nand.timing.command"]["type"] == "time"
    assert options["host.replay"]["type"] == "one of open, closed, untimed"
    assert options["host.replay"]["default"] == "open"
    assert "`untimed`: No time" in str(options["host.replay"]["doc"])
    assert all(option["doc"] for option in options.values())
