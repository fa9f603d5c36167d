"""All questions by name; asking them in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from eraseblock import _core
from eraseblock.advice import buffer, lifetime, policy, spare, tail
from eraseblock.advice.answer import Answer
from eraseblock.advice.case import Case
from eraseblock.names import nearest

Ask = Callable[[Case], Answer]

# What each asks, and who answers.
QUESTIONS: dict[str, tuple[str, Ask]] = {
    "buffer": (buffer.ABOUT, buffer.ask),
    "op": (spare.ABOUT, spare.ask),
    "gc": (policy.ABOUT, policy.ask),
    "tail": (tail.ABOUT, tail.ask),
    "lifetime": (lifetime.ABOUT, lifetime.ask),
}


def chosen(names: Sequence[str]) -> list[str]:
    """The questions that are asked; all, unless some are named.

    Raises:
        ConfigError: no question has this name.
    """
    for name in names:
        if name not in QUESTIONS:
            hint = nearest(name, list(QUESTIONS))
            known = ", ".join(QUESTIONS)
            raise _core.ConfigError(f"--question: there is no question `{name}`{hint} (known: {known})")
    return list(dict.fromkeys(names)) or list(QUESTIONS)


def answers(case: Case, names: Sequence[str]) -> Iterator[Answer]:
    """Ask one after another."""
    # A drive that cannot be, and a trace that cannot be read, are told before anything runs.
    case.config()
    case.profile()
    for name in chosen(names):
        yield QUESTIONS[name][1](case)
