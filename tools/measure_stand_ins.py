"""Writes docs/stand-ins.md: every stand-in at its whole length beside what was published, or checks the page.

`make stand-ins` measures and writes, which takes some minutes. `make lint` checks, without measuring,
that the page has every stand-in and every published number as the catalogue has them, and that each is
met.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import eraseblock
from eraseblock import _core
from eraseblock.cli.trace.generate import comparison_cells

PAGE = Path(__file__).resolve().parent.parent / "docs" / "stand-ins.md"
HEAD = ["statistic", "published", "generated", "deviation", "where"]
INTRODUCTION = """\
# Stand-ins

Written by `make stand-ins` from the catalogue (`crates/traces/stand-ins/`) and from the requests
themselves, each workload at its whole length, seed 1.

A stand-in is a generator that meets every number that was published of a workload that cannot be had. A
number is *met* if the generated one is within 2 % of it, or the same once it is rounded to the digits
printed; `>` and `<` stand for "most" and "few" in a text. KB, MB and GB are powers of 1024, as SUPA's
totals and means show that they are there. A stand-in cannot know what was not published, and each says
so: take a result on one as a hint, and the recorded workload, where it can be had, as the answer.

    eraseblock trace generate hbm-financial --describe
    eraseblock trace generate hbm-financial --compare --requests 100000
    eraseblock trace generate hbm-financial -o financial.ebt
    eraseblock run experiment.toml --set 'workload.generate={ kind = "standin", name = "hbm-financial" }'

With `requests`, shares, sizes and rates stay what they are, and the space touched grows in proportion;
the highest address needs about a quarter of the whole.
"""

Measured = dict[tuple[str, ...], tuple[str, str]]


def page(measured: dict[str, Measured]) -> str:
    """The page, with the generated numbers from `measured`."""
    parts = [INTRODUCTION]
    for entry in eraseblock.registry()["stand-ins"]:
        name = entry["name"]
        about = json.loads(_core.stand_in(name))
        parts.append(f"\n## `{name}`\n\n{about['title']}. Source: {about['source']}.\n\n")
        parts.append(_table(_rows(about, measured.get(name, {}))))
        parts.append("\nChoices:\n\n" + _list(about["choices"]))
        parts.append("\nCannot know:\n\n" + _list(about["unknown"]))
        if about["variants"]:
            variants = [f"`{key}`: {one['about']}" for key, one in about["variants"].items()]
            parts.append("\nVariants:\n\n" + _list(variants))
    return "".join(parts)


def measure(name: str) -> Measured:
    """The generated numbers of a whole stand-in."""
    rows = json.loads(_core.measure_stand_in((name, None, [])))
    missed = [row["title"] for row in rows if not row["met"]]
    if missed:
        sys.stderr.write(f"{name} misses: {', '.join(missed)}\n")
    cells = [comparison_cells(row) for row in rows]
    return {
        (title, published, at): (generated, deviation) for title, published, generated, deviation, at in cells
    }


def written(text: str) -> dict[str, Measured]:
    """The generated numbers that a page holds."""
    found: dict[str, Measured] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("## `"):
            name = line.removeprefix("## `").removesuffix("`")
        elif line.startswith("| ") and name:
            title, published, generated, deviation, at = line.strip("| ").split(" | ")
            found.setdefault(name, {})[title, published, at] = (generated, deviation)
    return found


def _rows(about: dict[str, Any], measured: Measured) -> list[list[str]]:
    rows = []
    for one in about["statistic"]:
        published = f"{one['published']} {one['unit']}".strip()
        generated, deviation = measured.get((one["title"], published, one["at"]), ("", "not measured"))
        rows.append([one["title"], published, generated, deviation, one["at"]])
    return rows


def _table(rows: list[list[str]]) -> str:
    lines = [HEAD, ["---", "---:", "---:", "---:", "---"], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _list(lines: list[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def main() -> int:
    """Write, or check and say what is stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="measure and write nothing; exit 1 if the page is stale"
    )
    check = parser.parse_args().check
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if check:
        stale = page(written(text)) != text
        missed = any(word in text for word in ("not measured", "missed |"))
        if stale or missed:
            sys.stderr.write(
                "docs/stand-ins.md is stale or has a number that is missed; `make stand-ins` writes it anew\n"
            )
        return int(stale or missed)
    names = [entry["name"] for entry in eraseblock.registry()["stand-ins"]]
    PAGE.write_text(page({name: measure(name) for name in names}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
