"""Puts the table that the demo prints into the README, and a picture of its report into docs/.

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
BLOCK = re.compile(r"(and prints\n\n```\n)(.*?)(\n```\n)", re.DOTALL)


def demo_output() -> str:
    """What `make demo` prints, without the last line, which names the report."""
    run = subprocess.run(["make", "--silent", "demo"], cwd=ROOT, text=True, capture_output=True, check=True)
    lines = [line.rstrip() for line in run.stdout.splitlines()]
    return "\n".join(lines[lines.index(next(line for line in lines if "requests ·" in line)) :])


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
