"""Colours of the report."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import combinations, product
from pathlib import Path

import pytest

from eraseblock.report import palette

SCRIPT = Path(palette.__file__).parent / "scripts" / "programs.js"


def test_every_cause_of_programs_has_a_colour() -> None:
    found = re.search(r"const CAUSES = \[(.*)\];", SCRIPT.read_text(encoding="utf-8"))
    assert found is not None
    causes = found.group(1).split(", ")
    for scheme in palette.colours():
        assert {f"--c{place}" for place in range(len(causes))} <= scheme.keys()


# How an eye without cones for red, green or blue sees linear light (Machado, Oliveira and Fernandes, 2009).
EYES = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.0520)),
    "deutan": ((0.3673, 0.8606, -0.2280), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
    "tritan": ((1.2555, -0.0767, -0.1788), (-0.0784, 0.9308, 0.1476), (0.0047, 0.6914, 0.3039)),
}
CARDS = ("#ffffff", "#1b1f26")
Light = tuple[float, ...]


def light_of(colour: str) -> Light:
    """Linear light of `#rrggbb`."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def seen(light: Light, eye: str) -> Light:
    """The same through an eye."""
    return tuple(min(1.0, max(0.0, sum(a * b for a, b in zip(row, light, strict=True)))) for row in EYES[eye])


def oklab(light: Light) -> Light:
    """Coordinates in which distances are as they are seen, times 100."""
    red, green, blue = light
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    medium = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        100 * (0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short),
        100 * (1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short),
        100 * (0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short),
    )


def contrast(one: str, other: str) -> float:
    """As the Web's guidelines define it."""
    low, high = sorted(
        sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), light_of(colour), strict=True))
        for colour in (one, other)
    )
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_series_are_told_apart_by_every_eye(scheme: int, eye: str) -> None:
    found = palette.colours()[scheme]
    series = [found[f"--s{place}"] for place in range(8)]
    others = [found["--base"], found["--rest"]]
    places = {colour: oklab(seen(light_of(colour), eye)) for colour in (*series, *others)}

    def nearest(pairs: Iterable[tuple[str, str]]) -> float:
        return min(math.dist(places[one], places[other]) for one, other in pairs)

    # A step of 2 is just seen; lines are thin, and shapes and dashes differ as well.
    assert nearest(combinations(series, 2)) > (15 if eye == "normal" else 7)
    assert nearest(product(series, others)) > (13 if eye == "normal" else 6)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_series_stand_out_from_their_card(scheme: int) -> None:
    found = palette.colours()[scheme]
    names = [f"--s{place}" for place in range(8)] + [f"--r{place}" for place in range(8)]
    assert [
        name for name in (*names, "--base", "--neutral") if contrast(found[name], CARDS[scheme]) < 3
    ] == []
