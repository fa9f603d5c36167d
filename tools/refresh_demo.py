"""Puts part of what the demo prints into the README, and a picture of its report into docs/.

Run by `make figures` after a change in figures; a test compares the README with what the demo prints.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
# The sizes whose rows and verdicts the README shows.
SHOWN = ("4 MiB", "64 MiB")
# Begins a section of the table, or a paragraph below it.
SECTION = re.compile(r" *(\d+ [KMG]iB) ")
# What the first group has is shown only if it is one of these sizes: the table has bounds already.
VERDICT = re.compile(
    r"  (?:(\d+ [KMG]iB|Bound[^:]*|Equal[^:]*)|In short|A larger buffer[^:]*|Why[^:]*|Mind): "
)
BLOCK = re.compile(r"(and prints\n\n```\n)(.*?)(\n```\n)", re.DOTALL)


def demo_output() -> str:
    """What `make demo` prints, of the four buffer sizes only some."""
    run = subprocess.run(["make", "--silent", "demo"], cwd=ROOT, text=True, capture_output=True, check=True)
    lines = [line.rstrip() for line in run.stdout.splitlines()]
    start = next(index for index, line in enumerate(lines) if "requests ·" in line)
    return "\n".join(excerpt(lines[start:]))


def excerpt(lines: list[str]) -> list[str]:
    """Title and head of the table, the rows of some sizes, what stands below them, and their verdicts."""
    rule = next(index for index, line in enumerate(lines) if "───" in line)
    legend = next(index for index, line in enumerate(lines) if line.startswith("* best"))
    title = next(index for index, line in enumerate(lines) if line.startswith("Which buffer"))
    rows = chosen(lines[rule + 1 : legend], SECTION)
    verdicts = chosen(lines[title + 1 :], VERDICT)
    return [*lines[: rule + 1], *rows, *lines[legend : title + 1], *verdicts]


def chosen(lines: list[str], begin: re.Pattern[str]) -> list[str]:
    """The lines of parts that are about a size to be shown, or about none."""
    kept: list[str] = []
    shown = True
    for line in lines:
        if (found := begin.match(line)) is not None or not line.startswith(" "):
            shown = found is None or found[1] is None or found[1] in SHOWN
        # One gap between parts, none before the first.
        if shown and (line or (kept and kept[-1])):
            kept.append(line)
    return kept


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
