"""Colours of the report."""

from __future__ import annotations

import re
from pathlib import Path

from eraseblock.report import palette

SCRIPT = Path(palette.__file__).parent / "scripts" / "programs.js"


def test_every_cause_of_programs_has_a_colour() -> None:
    found = re.search(r"const CAUSES = \[(.*)\];", SCRIPT.read_text(encoding="utf-8"))
    assert found is not None
    causes = found.group(1).split(", ")
    for scheme in palette.colours():
        assert {f"--c{place}" for place in range(len(causes))} <= scheme.keys()
