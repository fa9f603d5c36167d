"""The commands of tutorial and cookbook run as they stand, on tiny workloads; pages are found."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from eraseblock.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Less of everything where a command would take long: what is asked is the same.
LESS = {
    "nvme-tlc": [
        "nand.channels=1",
        "nand.blocks_per_plane=43",
        "ftl.exported=1875 MB",
        "precondition.state=full",
    ]
}


def commands(page: str) -> list[list[str]]:
    """The commands of each block of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [block.splitlines() for block in re.findall(r"```console\n(.*?)\n```", text, re.DOTALL)]


def run(line: str) -> None:
    program, *words = shlex.split(line)
    assert program == "eraseblock"
    part = [one for device, sets in LESS.items() if device in line for one in sets]
    words = [word if word != "20000" else "3000" for word in words]
    assert main([*words, *(word for one in part for word in ("--set", one))]) == 0, line


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    words = ["trace", "generate", "zipf", "-o", "mysql.ebt", "--requests", "1500", "--set", "footprint=8MiB"]
    assert main([*words, "--set", "read_share=0.3", "--set", "interval=2ms"]) == 0
    return tmp_path


def test_there_are_thirteen_recipes() -> None:
    assert len(commands("cookbook.md")) == 13


@pytest.mark.parametrize("block", commands("cookbook.md"), ids=lambda block: block[0].partition(" --")[0])
@pytest.mark.usefixtures("trace")
def test_recipes_run(block: list[str]) -> None:
    for line in block:
        run(line)


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in commands("tutorial.md"):
        for line in block:
            run(line)


def test_every_page_is_in_the_navigation() -> None:
    site = tomllib.loads((DOCS.parent / "zensical.toml").read_text(encoding="utf-8"))
    listed = set(re.findall(r"[\w-]+\.md", str(site["project"]["nav"])))
    assert listed == {page.name for page in DOCS.glob("*.md")}


def headings(page: Path) -> set[str]:
    """What links to a part of a page may name."""
    fenced = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    text = fenced.sub("", page.read_text(encoding="utf-8"))
    titles, named = re.findall(r"^#+ (.*)$", text, re.MULTILINE), re.findall(r'id="([^"]+)"', text)
    return set(named) | {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def test_links_to_parts_of_pages_lead_there() -> None:
    broken, seen = [], 0
    for page in (*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")):
        for path, part in re.findall(r"\]\(([\w./-]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
            target = (page.parent / path).resolve() if path else page
            seen += 1
            if part not in headings(target):
                broken.append(f"{page.name}: {path}#{part}")
    assert not broken
    assert seen > 5


def test_pages_link_to_what_the_site_has() -> None:
    """What lies beside docs is not on the site: a link there would lead nowhere."""
    astray, seen = [], 0
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in re.findall(r"\]\((?!\w+:)([^)#\s]+)", text):
            target = (page.parent / path).resolve()
            seen += 1
            if not (target.is_file() and target.is_relative_to(DOCS)):
                astray.append(f"{page.relative_to(DOCS)}: {path}")
    assert astray == []
    assert seen > 300
