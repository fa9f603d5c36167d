"""`-` in the place of a file: stdin for a trace or an experiment, stdout for a trace that is written."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path

from eraseblock import _core
from eraseblock.piped import DASH, stand_for

# The system's names of stdout.
_STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
# Commands whose arguments are traces, which are read.
_TRACES = (("compare",), ("advise",), ("tune",), ("trace", "info"))
# Options without a value, which say nothing of the token behind them.
_FLAGS = (
    *("--lossy", "--force", "--json", "--skip-bad-lines", "--dark", "--compare", "--verify", "--fresh"),
    *("--prune", "--sensitivity", "--all", "--no-cache", "--explain", "--bounds", "--describe"),
)


@contextmanager
def resolved(tokens: Sequence[str]) -> Iterator[list[str]]:
    """The call with names of files in the place of dashes: what comes through stdin, what goes to stdout.

    What a command says goes to stderr where its trace goes to stdout.

    Raises:
        ConfigError: two dashes for stdin, or stdin is a terminal.
    """
    tokens = _dashed(tokens)
    if DASH not in tokens:
        yield tokens
        return
    folder = Path(tempfile.mkdtemp(prefix="eraseblock-"))
    # Unless --to says another format, it is the compact one.
    source, target = folder / "stdin", folder / "stdout.ebt"
    stand_for(source, "stdin")
    stand_for(target, "stdout")
    try:
        call = _replaced(tokens, source, target)
        if str(target) not in call:
            yield call
            return
        with redirect_stdout(sys.stderr):
            yield call
        if target.exists():
            with target.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _dashed(tokens: Sequence[str]) -> list[str]:
    """The call with a dash for `/dev/stdout` where that is a file, to which the shell leads what is written.

    A pipe or a device is written to under its name; a file would be replaced.
    """
    found = list(tokens)
    if not set(_STDOUT) & set(tokens):
        return found
    with suppress(OSError, ValueError, AttributeError):
        if stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode):
            for at in _written(tokens):
                found[at] = DASH if tokens[at] in _STDOUT else tokens[at]
    return found


def _written(tokens: Sequence[str]) -> list[int]:
    """Places of the trace that is written, if one is."""
    if list(tokens[:2]) == ["trace", "convert"]:
        return _arguments(tokens)[3:4]
    if list(tokens[:2]) == ["trace", "generate"]:
        return [at for at in range(1, len(tokens)) if tokens[at - 1] in ("-o", "--output")]
    return []


def _replaced(tokens: list[str], source: Path, target: Path) -> list[str]:
    found = list(tokens)
    arguments = _arguments(tokens)
    reads = list[int]()
    if any(tokens[: len(command)] == list(command) for command in _TRACES):
        reads = [at for at in arguments if tokens[at] == DASH]
    elif tokens[:1] == ["run"]:
        reads = [at for at in arguments[1:] if tokens[at] == DASH]
    elif tokens[:2] == ["trace", "convert"]:
        reads = [at for at in arguments[2:3] if tokens[at] == DASH]
    writes = [at for at in _written(tokens) if tokens[at] == DASH]
    if len(reads) > 1:
        raise _core.ConfigError("-: stdin can be read once; save one of the two to a file")
    for at in writes:
        found[at] = str(target)
    for at in reads:
        _keep(source)
        found[at] = str(source)
    return found


def _arguments(tokens: Sequence[str]) -> list[int]:
    """Places of what is neither an option nor an option's value, the command among them."""
    found = []
    for at, token in enumerate(tokens):
        before = tokens[at - 1] if at else ""
        valued = before.startswith("-") and before not in (DASH, *_FLAGS) and "=" not in before
        if not valued and (token == DASH or not token.startswith("-")):
            found.append(at)
    return found


def _keep(path: Path) -> None:
    """A trace is read more than once: what comes through stdin becomes a file."""
    if sys.stdin is None or sys.stdin.isatty():
        raise _core.ConfigError("-: stdin is a terminal; send a file to it, as in `eraseblock ... < x.spc`")
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    if path.stat().st_size == 0:
        raise _core.InputError("-: nothing came through stdin")
