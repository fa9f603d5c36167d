"""What a folder of results keeps beside its runs."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from eraseblock_reproduction.kept import Kept


def test_what_ends_in_many_threads_at_once_is_all_kept(tmp_path: Path) -> None:
    kept = Kept(tmp_path, "kept.json", fresh=False)
    keys = [json.dumps(["a" * 1000, number]) for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: kept.keep(key, key), keys))
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]
    assert Kept(tmp_path, "kept.json", fresh=False).known == {key: key for key in keys}
