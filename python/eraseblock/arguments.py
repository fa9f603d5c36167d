"""What functions for Python are called with: each argument is held against its annotation, in one place."""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from functools import cache, wraps
from inspect import Parameter, signature
from numbers import Real
from operator import index
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from eraseblock import _core
from eraseblock.names import nearest
from eraseblock.settings import keys

P = ParamSpec("P")
T = TypeVar("T")

# What an option of the command line is called here, where it is called otherwise.
_NAMES = {"buffer_size": "sizes", "force": "overwrite"}
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?![\w-])")
# What is said for callers of commands alone, as in ` (of compare: --buffer-size 4MiB)`.
_OF_COMMANDS = re.compile(r" \(of [a-z, ]+: --[^()]*\)")
_SET = r"--set (?:'[^']*'|[^\s'()]+)"
_SEVERAL = re.compile(rf"{_SET}(?: {_SET})+")
# Truth values, NumPy's among them.
_TRUTH = ("bool_", "bool")
# Keys of a workload that its requests come from: an argument of its own everywhere.
_REQUESTS = ("path", "generate", "given")
_PACKAGE = __name__.partition(".")[0]
_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", Path: "a path"}


_RECORDS = "a list of records, as `run`, `compare` and `read_records` give it"


def checked(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which says of a wrong kind of argument what it is, and of no option but by its own name.

    What is annotated as `Any` is for the function itself to look at.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            bound = signature(function).bind(*args, **kwargs)
        except TypeError:
            # Python's own words for a missing argument, or one too many.
            return function(*args, **kwargs)
        hints = _hints(function)
        _refuse_unknown(function, bound.arguments, hints)
        for name, value in bound.arguments.items():
            bound.arguments[name] = _taken(name, value, hints.get(name, Any))
        with words_of_python(signature(function).parameters):
            return function(*bound.args, **bound.kwargs)

    return call


@contextmanager
def words_of_python(names: Collection[str]) -> Iterator[None]:
    """Put errors into the words of a caller in Python, who has arguments of these names."""
    try:
        yield
    except _core.EraseblockError as error:
        # The place of an error stays the place that its attribute names.
        whole, place = str(error), getattr(error, "place", None) or ""
        kept = place if whole.startswith(place) else ""
        error.args = (kept + in_python(whole.removeprefix(kept), names),)
        raise


def in_python(message: str, names: Collection[str]) -> str:
    """A message of the command line for callers of a function: its arguments by `names`, else keys."""

    def several(found: re.Match[str]) -> str:
        return f"sets={[one for one in shlex.split(found[0]) if one != '--set']}"

    def called(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        if (here := _NAMES.get(name, name)) in names:
            return here
        return f"workload.{name}" if f"workload.{name}" in keys() else found[0]

    message = _OF_COMMANDS.sub("", message)
    if "sets" in names:
        message = _SEVERAL.sub(several, message)
    message = message.replace("--set ", "sets: " if "sets" in names else "")
    return _OPTION.sub(called, message)


def warn(sentence: str) -> None:
    """Warn whoever called this package, however deep in it the reason was found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(f"{_PACKAGE}."):
        level, frame = level + 1, frame.f_back
    warnings.warn(sentence, stacklevel=level)


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the parameters; what a function returns may not have been imported."""
    texts = {
        name: one.annotation
        for name, one in signature(function).parameters.items()
        if one.annotation is not Parameter.empty
    }
    names = vars(sys.modules[function.__module__])
    return get_type_hints(type("Arguments", (), {"__annotations__": texts}), names)


def _refuse_unknown(function: Callable[..., Any], given: Mapping[str, Any], hints: Mapping[str, Any]) -> None:
    """Refuse keywords beyond those of a function and of the table that it takes further ones by."""
    parameters = signature(function).parameters
    for name, one in parameters.items():
        if one.kind is not Parameter.VAR_KEYWORD or get_origin(hints.get(name)) is not Unpack:
            continue
        further = get_type_hints(get_args(hints[name])[0])
        for key in given.get(name, {}):
            if key not in further:
                known = [*(other for other in parameters if other != name), *further]
                hint = _meant(key, known)
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{key}'{hint}")


def _meant(key: str, known: Collection[str]) -> str:
    """What a keyword that there is not may have been meant for."""
    setting = key.replace("_", ".", 1)
    if (here := _NAMES.get(key, key)) in known:
        return f"; did you mean `{here}`?"
    if "workload" in known and f"workload.{key}" in keys() and key not in _REQUESTS:
        return f"; it goes in `workload`, as in workload={{'{key}': ...}}"
    if "sets" in known and setting in keys():
        return f"; settings go in `sets`, as in sets={{'{setting}': ...}}"
    return "" if key in _REQUESTS else nearest(key, [*known])


def _taken(name: str, value: Any, hint: Any) -> Any:
    """A value of the kind that is asked for; a number of another library as one of Python's."""
    if get_origin(hint) is Unpack:
        hint = get_args(hint)[0]
    table = next((one for one in (hint, *get_args(hint)) if is_typeddict(one)), None)
    if table is not None and isinstance(value, Mapping):
        inside = get_type_hints(table)
        for key in value:
            if name and key not in inside:
                raise _core.ConfigError(f"{name}: there is no `{key}`{nearest(str(key), list(inside))}")
        return {key: _taken(str(key), one, inside.get(key, Any)) for key, one in value.items()}
    if not _fits(value, hint):
        raise _core.ConfigError(
            f"{name}: found {_shown(value)} ({type(value).__name__}), expected {_expected(hint)}"
        )
    kinds = {hint, *get_args(hint)}
    if int in kinds and is_whole(value):
        return index(value)
    return float(value) if float in kinds and isinstance(value, Real) else value


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, of whatever library. Truth values are none."""
    if isinstance(value, bool) or type(value).__name__ in _TRUTH:
        return False
    with suppress(TypeError):
        index(value)
        return True
    return False


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a kind; what is not known here is left to the function."""
    origin, inside = get_origin(hint), get_args(hint)
    found = True
    if origin in (Union, UnionType):
        found = any(_fits(value, one) for one in inside)
    elif origin is Literal:
        # The function says which names there are.
        found = isinstance(value, str)
    elif origin is type:
        found = isinstance(value, type) and issubclass(value, inside[0])
    elif origin is Sequence:
        found = _is_list(value, inside[0])
    elif origin is Mapping or is_typeddict(hint):
        found = isinstance(value, Mapping)
    elif isinstance(hint, type) and hint is not Any:
        found = _is_a(value, hint)
    return found


def _is_list(value: Any, hint: Any) -> bool:
    """Whether it has items of a kind; a text or a mapping is one value, not its letters or keys."""
    # A data frame would give its columns.
    if isinstance(value, str | bytes | Mapping) or is_frame(value) or not isinstance(value, Iterable):
        return False
    # What can be gone through only once, or takes long, is left to the function.
    return not isinstance(value, list | tuple) or all(_fits(one, hint) for one in value)


def _is_a(value: Any, hint: type) -> bool:
    """Whether it is of a class, or has methods of a protocol or an executor. Truth values are no numbers."""
    if getattr(hint, "_is_protocol", False) or hint is Executor:
        # Those that are never called need not be there.
        return any(callable(getattr(value, one, None)) for one in vars(hint) if not one.startswith("_"))
    if hint is bool and type(value).__name__ in _TRUTH:
        return True
    if hint is int:
        return is_whole(value)
    wider = {float: Real, Path: os.PathLike}.get(hint, hint)
    return isinstance(value, wider) and not (hint is float and isinstance(value, bool))


def _expected(hint: Any) -> str:
    """Words for what an argument may be."""
    found = list(dict.fromkeys(_kinds(hint)))
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} or {found[-1]}"


def _kinds(hint: Any) -> Iterator[str]:
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        # None comes last: it is what the function takes of itself.
        for one in sorted(inside, key=lambda one: one is NoneType):
            yield from _kinds(one)
    elif origin is Literal:
        yield _WORDS[str]
    elif origin is Sequence:
        yield _RECORDS if get_origin(inside[0]) is Mapping else "a list of such"
    elif origin is Mapping or is_typeddict(hint):
        yield "a mapping"
    elif hint is NoneType:
        yield "None"
    elif origin is type:
        yield f"a kind of `{inside[0].__name__}`"
    else:
        yield _WORDS.get(hint) or f"a `{getattr(hint, '__name__', hint)}`"


def is_frame(value: Any) -> bool:
    """Whether it is a data frame, of whatever library."""
    return hasattr(type(value), "columns")


def _shown(value: Any) -> str:
    text = "a data frame" if is_frame(value) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
