"""The fuzzers are a workspace of their own: `--locked` refuses its lock file where that is out of date."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def table(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


def test_that_of_the_fuzzers_knows_what_our_crates_need() -> None:
    locked = {
        package["name"]: sorted(line.split()[0] for line in package.get("dependencies", []))
        for package in table("fuzz/Cargo.lock")["package"]
        if "source" not in package
    }
    manifests = {name: f"crates/{name.removeprefix('eraseblock-')}/Cargo.toml" for name in locked}
    manifests["eraseblock-fuzz"] = "fuzz/Cargo.toml"
    needed = {name: sorted(table(path)["dependencies"]) for name, path in manifests.items()}
    assert len(needed) > 1
    assert locked == needed, "run `cargo metadata --manifest-path fuzz/Cargo.toml`, which mends it"
