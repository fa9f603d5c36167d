"""What tells one run from another in messages."""

from __future__ import annotations

from typing import Any

import pytest

from eraseblock import ConfigError
from eraseblock.comparison import Comparison
from eraseblock.experiments import resolve
from eraseblock.results.view import names_of

WORK = {"generate": {"kind": "uniform", "requests": 1000, "footprint": "1 MiB"}}


def _names(config: dict[str, Any]) -> list[str]:
    return names_of([one.config for one in resolve({"workload": WORK, **config})])


def test_a_point_of_a_sweep_is_named_with_its_axes() -> None:
    names = _names(
        {
            "preset": "multibank-2009",
            "buffer": {"scheme": "lru"},
            "ftl": {"over_provisioning": [0.1, 0.2], "allocator": ["dynamic", "round-robin"]},
        }
    )
    assert len(set(names)) == len(names) == 4
    assert "ftl.over_provisioning = 0.2" in names[-1]
    assert "ftl.allocator" in names[-1]


def test_parts_that_other_ftls_do_not_have_are_not_part_of_a_name() -> None:
    names = _names(
        {
            "preset": "multibank-2009",
            "buffer": {"scheme": "lru"},
            "ftl": {"mapping": ["page", "superblock"]},
        }
    )
    assert [name.partition(" on ")[2] for name in names] == ["page", "superblock"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ftls": ["page"], "sets": ["ftl.mapping=bast"]}, "--ftls and --set ftl.mapping"),
        ({"sizes": ["1 MiB"], "sets": ["buffer.size=2MiB"]}, "--buffer-size and --set buffer.size"),
        ({"ftls": ["all", "page"]}, "`all` stands for every one"),
    ],
)
def test_two_options_for_one_key_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Comparison(["trace.spc"], **options).experiments()


def test_cases_name_their_runs() -> None:
    names = _names(
        {
            "preset": "multibank-2009",
            "case": [
                {"name": "one", "ftl": {"mapping": "page"}, "buffer": {"scheme": "lru"}},
                {"name": "two", "ftl": {"mapping": "superblock"}, "buffer": {"scheme": "fab"}, "seed": 2},
            ],
            "buffer": {"size": ["1 MiB", "2 MiB"]},
        }
    )
    assert names == [
        "one of 1 MiB",
        "one of 2 MiB",
        "two of 1 MiB",
        "two of 2 MiB",
    ]


def test_a_run_on_another_drive_is_named_with_it() -> None:
    names = _names({"preset": ["hbm-2010", "nvme-tlc"], "buffer": {"scheme": "lru", "size": "1 MiB"}})
    assert names == ["lru of 1 MiB on bast, hbm-2010", "lru of 1 MiB on page, nvme-tlc"]
