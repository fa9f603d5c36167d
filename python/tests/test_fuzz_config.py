"""The first cases of the configuration fuzzer; `make fuzz-config` runs many more."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import fuzz_config


def test_random_drives_run_or_are_refused() -> None:
    outcomes = Counter[str]()
    for case in range(300):
        what, text = fuzz_config.attempt(fuzz_config.draw(random.Random(f"7/{case}")))
        assert what != "failed", f"case {case}: {text}"
        outcomes[what] += 1
    # Neither of them is all that happens.
    assert min(outcomes["ran"], outcomes["refused"]) > 30


def test_a_case_depends_on_nothing_before_it() -> None:
    assert fuzz_config.draw(random.Random("7/1")) == fuzz_config.draw(random.Random("7/1"))
    odd = repr(fuzz_config.WILD)
    for case in range(2000):
        experiment = {"a": 1}
        for turn in range(3):
            fuzz_config.spoil(random.Random(f"{case}/{turn}"), experiment)
    assert repr(fuzz_config.WILD) == odd
