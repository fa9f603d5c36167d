"""The claims of the papers, their experiments and workloads fit together."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import reproduction_data as data

WORKLOADS: dict[str, Any] = tomllib.loads((data.FOLDER / "workloads.toml").read_text())["workloads"]


@pytest.mark.parametrize("paper", data.PAPERS)
def test_every_claim_picks_runs_of_its_figure(paper: str) -> None:
    assert data.check_paper(paper, WORKLOADS)[0] > 20


def test_every_paper_with_claims_is_checked() -> None:
    assert {path.parent.name for path in data.FOLDER.glob("*/claims.toml")} == set(data.PAPERS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"48 MiB"', '"47 MiB"', "no run has buffer.size = 47 MiB"),
        ('kind = "order"', 'kind = "ordre"', "unknown kind `ordre`"),
        ('relation = "less"', 'relation = "fewer"', "relation is one of"),
        ('id = "summary-erases"', 'id = "summary-response"', "its id is not its own"),
        ('quantity = "hits"', 'quantity = "hit"', "no quantity `hit`"),
        ('value = "energy_mj"', 'value = "open(energy_mj)"', "only ['at_most', 'bytes', 'share']"),
        ("lb-clock = 0.23", "lb-clok = 0.23", "'buffer.scheme': 'lb-clok'"),
    ],
)
def test_a_claim_that_does_not_fit_is_named(
    old: str, new: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hbm").mkdir()
    for path in (data.FOLDER / "hbm").iterdir():
        (tmp_path / "hbm" / path.name).write_bytes(path.read_bytes())
    claims = tmp_path / "hbm" / "claims.toml"
    text = claims.read_text()
    assert old in text
    claims.write_text(text.replace(old, new))
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    with pytest.raises(data.DataError) as error:
        data.check_paper("hbm", WORKLOADS)
    assert message in str(error.value)
