"""The command line: one thin file per command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from eraseblock import _core, interrupts
from eraseblock.cli import quick, straight
from eraseblock.terminal.console import say_error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 2 for a wrong call or input, 1 for a failure."""
    # Python has nothing for a stream that was closed before it began.
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    if sys.stdout is None:
        say_error("stdout is closed; send it somewhere, if only to /dev/null")
        return 2
    return _answer(arguments)


def _answer(arguments: Sequence[str] | None) -> int:
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    # Who calls this with arguments has handlers of its own.
    own = arguments is None
    try:
        if own:
            interrupts.end_at_once()
        if quick.answer(tokens):
            sys.stdout.flush()
            return 0
        if (single := straight.found(tokens)) is not None:
            if own:
                interrupts.raise_interrupts()
            single.answer()
            sys.stdout.flush()
            if own:
                interrupts.end_at_once()
            return 0
        from eraseblock.cli import dash
        from eraseblock.cli.app import build_app

        # Without a command it is the help that is asked for.
        app = build_app(None if not tokens or tokens[0].startswith("-") else tokens[0])
        if own:
            interrupts.raise_interrupts()
        with dash.resolved(tokens) as call:
            code = app(
                call, exit_on_error=False, print_error=False, verbose=False, result_action="return_value"
            )
        sys.stdout.flush()
        if own:
            interrupts.end_at_once()
        return int(code or 0)
    except BrokenPipeError:
        # The reader has gone, which is its right; nothing more may be written, not even while Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as interrupt:
        interrupts.leave("; ".join((interrupts.LAST_WORDS, *map(str, interrupt.args))))
    except Exception as error:
        if interrupts.came():
            interrupts.leave()
        code, message = _explain(error)
        if message is None:
            raise
        say_error(message)
        return code


def _explain(error: Exception) -> tuple[int, str | None]:
    """Exit code and sentence for what a user can mend; no sentence for a fault of this program."""
    code, message = 1, None
    match error:
        case _core.ConfigError() | _core.InputError():
            code, message = 2, str(error)
        case _core.SimulationError():
            message = str(error)
        case MemoryError():
            message = "not enough memory for this run; use a smaller drive or fewer --jobs"
        case UnicodeEncodeError(encoding="utf-8"):
            # Python stands in for such bytes of a name with what no text may hold.
            around = error.object[max(0, error.start - 40) : error.end + 20]
            line = next(line for line in around.splitlines() if not line.isprintable())
            code, message = (
                2,
                f"{line!a}: this is no UTF-8; rename the file, or link to it under a plain name",
            )
        case UnicodeEncodeError():
            message = f"output: {error.encoding} lacks letters that are needed; set PYTHONIOENCODING=utf-8"
        case OSError():
            message = f"{error.filename or 'output'}: {(error.strerror or str(error)).lower()}"
        case _:
            code, message = _explain_call(error)
    return code, message


def _commands_with(option: str) -> str:
    """The commands that have this option, in words; empty where there are none."""
    from eraseblock.cli.app import commands_with

    return ", ".join(f"`{name}`" for name in commands_with(option))


def _explain_call(error: Exception) -> tuple[int, str | None]:
    """The same for what the library says of a call."""
    from cyclopts import CycloptsError
    from cyclopts.exceptions import UnknownOptionError, UnusedCliTokensError

    match error:
        case UnusedCliTokensError(unused_tokens=tokens):
            return 2, f"more than this command takes: {' '.join(tokens or ())} (see --help)"
        case UnknownOptionError(token=token) if token.value == "-":
            return (
                2,
                "-: is stdin where a trace or an experiment is read, and stdout where a trace is written",
            )
        case UnknownOptionError(token=token, command_chain=chain):
            option = (token.keyword or token.value).partition("=")[0]
            if not (others := _commands_with(option)):
                return 2, f"{error} (see --help)"
            command = " ".join(["eraseblock", *(chain or ())])
            return 2, f"{option}: not an option of `{command}`, but of {others} (see --help)"
        case CycloptsError():
            return 2, f"{error} (see --help)"
        case _:
            return 1, None
