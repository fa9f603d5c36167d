"""The command: `eraseblock`, and `python -m eraseblock`."""

# Both are part of the interpreter; the module `signal` would import others first.
import _signal  # type: ignore[import-not-found]
import os
import sys


def main() -> int:
    """Heed Ctrl-C from the first moment on, then import and run the command line."""
    for number in (_signal.SIGINT, _signal.SIGTERM):
        # Whoever started the process may have wanted it to ignore Ctrl-C.
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _end)
    from eraseblock.cli import main as run

    return run()


def _end(number: int, _frame: object) -> None:
    os.write(2, b"eraseblock: interrupted\n")
    # What a shell says of a process that a signal ended.
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
