"""The examples on the pages about Python are run as they stand there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```python\n(>>> .*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["python.md", "python-scheme.md"])
def test_examples_on_a_page_run(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    shown = FENCE.findall(text)
    assert len(shown) >= 2
    test = doctest.DocTestParser().get_doctest("\n".join(shown), {}, page, page, 0)
    runner = doctest.DocTestRunner()
    said: list[str] = []
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
