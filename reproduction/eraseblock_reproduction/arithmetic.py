"""Works out quantities: arithmetic over the fields of a record, written as text, and nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from eraseblock import InputError
from eraseblock.toolkit import number_of

_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


class _NothingError(Exception):
    """A field is null: the run has no such figure."""


def evaluate(text: str, fields: Mapping[str, Any]) -> float | None:
    """The number that `text` makes of these fields; None where a run has no such figure.

    Example:
        >>> evaluate("flash.erases.total / 2", {"flash": {"erases": {"total": 9}}})
        4.5
    """
    try:
        return _number(_value(_parsed(text), fields, text), text)
    except (_NothingError, ZeroDivisionError):
        return None


def fields_of(text: str) -> set[str]:
    """The first parts of all fields: `flash`, `config`."""
    calls = {node.func for node in ast.walk(_parsed(text)) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(_parsed(text)) if isinstance(node, ast.Name) and node not in calls}


@cache
def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise InputError(f"quantity `{text}`: not arithmetic: {error.msg}") from error


def _value(node: ast.expr, fields: Mapping[str, Any], text: str) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str() as value) if not isinstance(value, bool):
            return value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, other = (_number(_value(side, fields, text), text) for side in (left, right))
            return _OPERATORS[type(op)](one, other)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_value(operand, fields, text), text)
        case ast.Name() | ast.Attribute():
            return _field(node, fields, text)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](text, *(_value(argument, fields, text) for argument in arguments))
    known = ", ".join(_FUNCTIONS)
    raise InputError(
        f"quantity `{text}`: `{ast.unparse(node)}` is neither arithmetic, a field, nor one of {known}"
    )


def _field(node: ast.expr, fields: Mapping[str, Any], text: str) -> Any:
    path = ast.unparse(node).split(".")
    value: Any = fields
    for key in path:
        if value is None:
            raise _NothingError
        if not isinstance(value, Mapping) or key not in value:
            raise InputError(f"quantity `{text}`: there is no field `{'.'.join(path)}`")
        value = value[key]
    if value is None:
        raise _NothingError
    return value


def _number(value: object, text: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"quantity `{text}`: found {value!r} where a number is needed")
    return value


def _at_most(_text: str, pairs: list[tuple[float, float]], most: float) -> float:
    """The share up to `most` in a distribution of pairs `[value, share]`."""
    return max((share for value, share in pairs if value <= most), default=0.0)


def _share(_text: str, pairs: list[tuple[float, float]], first: float, last: float) -> float:
    """The share of the counts whose classes begin at `first` to `last`."""
    if not pairs:
        raise _NothingError
    return sum(count for start, count in pairs if first <= start <= last) / sum(count for _, count in pairs)


def _bytes(text: str, size: str) -> float:
    number = number_of(size) if isinstance(size, str) else None
    if number is None:
        raise InputError(f"quantity `{text}`: bytes() needs a size such as 1 MiB, found {size!r}")
    return number


_FUNCTIONS: Mapping[str, Callable[..., float]] = {"at_most": _at_most, "share": _share, "bytes": _bytes}
