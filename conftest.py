"""What the tests share: the installed command, a small drive, small traces, the records of a sweep."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, cast

import pytest

import eraseblock
from eraseblock.cli import main
from eraseblock.results.record import Record

if TYPE_CHECKING:
    from selenium import webdriver

COMMAND = str(Path(sys.executable).with_name("eraseblock"))
SMALL_DRIVE = """\
preset = "hbm-2010"

[nand]
blocks_per_plane = 300

[ftl]
exported = "32 MiB"
"""
# The same drive for `compare`.
SMALL_SETS = ("--device", "hbm-2010", "--set", "nand.blocks_per_plane=300", "--set", 'ftl.exported="32 MiB"')
SWEEP = f"""\
{SMALL_DRIVE}
mapping = ["page", "bast"]

[buffer]
size = ["128 KiB", "512 KiB", "2 MiB"]
scheme = ["none", "lru", "fab", "bplru"]

[workload.generate]
kind = "zipf"
requests = 4000
footprint = "8 MiB"
interval = "3 ms"
read_share = 0.3
"""

Run = subprocess.CompletedProcess[str]
Cli = Callable[..., Run]
_STREAMS = ("stdout", "stderr")


def pytest_configure() -> None:
    """Lets Ctrl-C through where a shell's background ignores it: tests send it, and would wait for ever."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Filled drives are kept where the tests keep their files, not in the user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ERASEBLOCK_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("ERASEBLOCK_CACHE_SIZE", raising=False)
        yield


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Runs a command line in a folder of its own: in this process, where importing takes no time.

    With variables for its environment it is a process of its own.
    """

    def call(*arguments: str | Path, **environment: str) -> Run:
        words = [*map(str, arguments)]
        if environment:
            return _process(words, tmp_path, environment)
        said: dict[str, str] = {}
        with ExitStack() as stack:
            stack.enter_context(chdir(tmp_path))
            files = {name: stack.enter_context(TemporaryFile("w+", newline="")) for name in _STREAMS}
            stack.enter_context(redirect_stdout(files["stdout"]))
            stack.enter_context(redirect_stderr(files["stderr"]))
            code = _code_of(words)
            for name, file in files.items():
                file.seek(0)
                said[name] = file.read()
        return subprocess.CompletedProcess(["eraseblock", *words], code, **said)

    return call


def _code_of(words: list[str]) -> int:
    try:
        return main(words)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.fixture
def process(tmp_path: Path) -> Cli:
    """Runs the installed command in a folder of its own."""

    def call(*arguments: str | Path, **environment: str) -> Run:
        return _process([*map(str, arguments)], tmp_path, environment)

    return call


def _process(words: list[str], folder: Path, environment: dict[str, str]) -> Run:
    return subprocess.run(
        [COMMAND, *words],
        cwd=folder,
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        timeout=600,
        check=False,
    )


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace in SPC format: 2000 requests of 2 to 16 KiB over 8 MiB, 3 ms apart."""
    path = tmp_path / "small.spc"
    path.write_text("".join(spc_lines(2000)), encoding="utf-8")
    return path


def spc_lines(count: int) -> list[str]:
    """Lines of an SPC trace, the same on every call."""
    dice = random.Random(7)
    lines = []
    for index in range(count):
        sector = 4 * dice.randrange(4096)
        operation = "w" if dice.random() < 0.7 else "r"
        lines.append(f"0,{sector},{2048 * dice.randint(1, 8)},{operation},{index * 0.003:.6f}\n")
    return lines


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    """An experiment of 24 runs on a small drive."""
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """The records of that experiment, run once."""
    path = tmp_path_factory.mktemp("sweep") / "sweep.toml"
    path.write_text(SWEEP, encoding="utf-8")
    return cast(list[Record], eraseblock.run(path))


@pytest.fixture(scope="session")
def results_folder(records: list[Record], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that `-o` writes."""
    folder = tmp_path_factory.mktemp("results")
    eraseblock.save_results(records, folder)
    return folder


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    """A headless browser without a network, shared by all tests: to start one takes longer than most do.

    What pages do while nothing else happens is left out, unless their address has `?idle`: to draw plots
    that nobody looks at takes as long as all else.
    """
    # Few tests need it, and its library takes long to import.
    from time_report import open_browser

    # Pages are open for a second: to optimise their scripts takes longer than it saves.
    driver = open_browser("--js-flags=--no-opt --no-maglev")
    busy = "if (location.search !== '?idle') window.requestIdleCallback = () => 0"
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": busy})
    try:
        yield driver
    finally:
        driver.quit()
