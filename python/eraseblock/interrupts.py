"""What Ctrl-C and SIGTERM do to the command line: an end at once, with no traceback and no half a file.

Imports nothing but what Python has loaded anyway: it is in force before anything else is imported.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

LAST_WORDS = "eraseblock: interrupted"
# Time to put the last run on the disk and to say where it is.
GRACE_S = 0.5
_ENDING = (signal.SIGINT, signal.SIGTERM)
# The first signal that came.
_came: list[int] = []


def end_at_once() -> None:
    """End where the signal comes. For times in which nothing is written: importing, and the very end."""
    _handle(_end)


def raise_interrupts() -> None:
    """Raise `KeyboardInterrupt` where Python can, so that work ends in order; end soon where it cannot."""
    sys.unraisablehook = _unraisable
    threading.excepthook = _raised_in_thread
    _handle(_raise)
    if os.name == "posix":
        from eraseblock import _core

        pipe = _core.end_after_signal([int(one) for one in _ENDING], GRACE_S, LAST_WORDS)
        os.set_blocking(pipe, False)
        signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)


@contextmanager
def handed_over() -> Iterator[None]:
    """Leave the signals to work that ends in order when they come, however long that takes."""
    before = {one: signal.getsignal(one) for one in _ENDING}
    woken = signal.set_wakeup_fd(-1)
    for one in _ENDING:
        signal.signal(one, signal.SIG_IGN)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)


def came() -> bool:
    """Whether a signal has come: what is raised then may be a library's way to say so."""
    return bool(_came)


def leave(words: str = LAST_WORDS) -> NoReturn:
    """End the process as the signal would have; threads that are inside the engine are not waited for."""
    os.write(2, f"{words}\n".encode(errors="backslashreplace"))
    # What a shell says of a process that a signal ended: 130 after Ctrl-C, 143 after SIGTERM.
    os._exit(128 + (_came[0] if _came else signal.SIGINT))


def _handle(handler: signal._HANDLER) -> None:
    for one in _ENDING:
        # Whoever started the process may have wanted it to ignore Ctrl-C.
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    _came.append(number)
    leave()


def _raise(number: int, _frame: FrameType | None) -> None:
    _came.append(number)
    raise KeyboardInterrupt


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """An interrupt in a destructor cannot be raised, and is not told of; the process ends all the same."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def _raised_in_thread(arguments: threading.ExceptHookArgs) -> None:
    if not _came:
        threading.__excepthook__(arguments)
