"""Puts the table that the demo prints into the README, and a picture of its report into docs/.

Run by `make figures` after a change in figures; a test compares the README with what the demo prints.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
# The size whose rows the README shows.
SHOWN = "  4 MiB"
BLOCK = re.compile(r"(and prints\n\n```\n)(.*?)(\n```\n)", re.DOTALL)


def demo_output() -> str:
    """What `make demo` prints, of the four buffer sizes only one."""
    run = subprocess.run(["make", "--silent", "demo"], cwd=ROOT, text=True, capture_output=True, check=True)
    lines = [line.rstrip() for line in run.stdout.splitlines()]
    start = next(index for index, line in enumerate(lines) if "requests ·" in line)
    return "\n".join(excerpt(lines[start:]))


def excerpt(lines: list[str]) -> list[str]:
    """Title, head, the rows of one buffer size, and what stands below the table."""
    blocks = [list(block) for filled, block in groupby(lines, key=bool) if filled]
    first = next(index for index, block in enumerate(blocks) if "───" in "".join(block))
    (head, rows), sizes = split_head(blocks[first]), [*blocks[first + 1 :]]
    shown = next(block for block in [rows, *sizes] if block[0].startswith(SHOWN))
    parts = [*blocks[:first], [*head, *shown], [" ..."], blocks[-1]]
    return "\n\n".join("\n".join(part) for part in parts).split("\n")


def split_head(block: list[str]) -> tuple[list[str], list[str]]:
    """The lines of a table down to its rule, and those below."""
    rule = next(index for index, line in enumerate(block) if "───" in line)
    return block[: rule + 1], block[rule + 1 :]


def take_picture(report: Path, picture: Path) -> bool:
    """Photograph the top of the report; False where there is no browser."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return False
    switches = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1400,1300"]
    wait = "--virtual-time-budget=10000"
    command = [browser, *switches, wait, f"--screenshot={picture}", report.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    return True


def main() -> int:
    """Refresh both."""
    table = demo_output()
    readme = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda found: f"{found[1]}{table}{found[3]}", readme), encoding="utf-8")
    if not take_picture(ROOT / "out" / "demo" / "report.html", ROOT / "docs" / "report.png"):
        sys.stderr.write("docs/report.png stays as it is: chromium is not installed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
