"""Buffer schemes that are written in Python: the class that they derive from, and their way to the engine."""

from __future__ import annotations

import copy
import hashlib
import inspect
import pickle
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from eraseblock import _core
from eraseblock._core import Leave
from eraseblock.names import registry

# What a method says that lets pages go: nothing, a page, pages that go together, or how they go.
Leaves = int | Leave | Sequence[int] | Sequence[Leave] | None


@dataclass(frozen=True)
class Shape:
    """What a buffer is built for."""

    # Pages that it may hold.
    capacity: int
    # Pages of a logical block; page `n` is one of block `n // pages_per_block`.
    pages_per_block: int
    # Pages that the host sees.
    logical_pages: int


class Buffer:
    """A buffer scheme: derive from it, and give the class or an object of it in the place of a name.

    The engine knows which pages are held and which of them are dirty; the scheme says which leave.
    `hit`, `insert`, `evict` and `remove` are all that most schemes need. A page is a number. What a method
    returns that lets pages go: `None`, a page, a list of pages that go together, or `eb.Leave` (or a list of
    them), which says why and how. Pages that are clean are forgotten, dirty ones are written to flash.

    Every run has an object of its own, a copy of the one given. Its options are the attributes that its class
    or its `__init__` sets to numbers, texts or truth values; they are part of the record.

    Example:
        >>> import eraseblock as eb
        >>> class Fifo(eb.Buffer):
        ...     reason = "oldest page"
        ...     def start(self, shape):
        ...         self.pages = {}
        ...     def insert(self, page, write):
        ...         self.pages[page] = True
        ...     def evict(self, page, write):
        ...         oldest = next(iter(self.pages))
        ...         del self.pages[oldest]
        ...         return oldest
        ...     def remove(self, page):
        ...         del self.pages[page]
        >>> device = eb.Device("hbm-2010", buffer=Fifo, buffer_size="8 KiB", precondition={"state": "empty"})
        >>> writes = [device.write(address=2048 * page, size=2048) for page in (0, 1, 2, 3, 4, 1, 0)]
        >>> device.stats()["hit_ratio"]["write"]
        0.14285714285714285
    """

    # What results call it; default: the name of the class.
    name: ClassVar[str | None] = None
    # Whether pages that are read are taken in. With "bypass" it is a write buffer: reads find what it holds,
    # and `hit` is not told of them; what a flush command stores leaves.
    reads: Literal["allocate", "bypass"] = "allocate"
    # Why pages leave that are returned without `Leave`, in a few words.
    reason: str = "chosen by the scheme"
    # Whether it reads what a block lacks before it writes it (`Leave(..., how="pad")`).
    pads_blocks: bool = False

    def start(self, shape: Shape) -> None:
        """Begin with an empty buffer, before the first request."""

    def hit(self, page: int, write: bool) -> Leaves:
        """The host reads or writes a page that is held."""

    def insert(self, page: int, write: bool) -> None:
        """A page has been taken in: dirty from a write, clean from a read."""
        raise NotImplementedError(f"{type(self).__name__} has no method insert")

    def evict(self, page: int, write: bool) -> Leaves:
        """Say what leaves, as there is no room for this page. An answer that makes none ends the run."""
        raise NotImplementedError(f"{type(self).__name__} has no method evict")

    def remove(self, page: int) -> None:
        """A page is gone without having been chosen: the host trimmed it, or a write buffer stored it."""
        raise NotImplementedError(f"{type(self).__name__} has no method remove")

    def admit(self, page: int, write: bool) -> bool:
        """Whether a page that is not held is taken in; else it goes past the buffer."""
        raise NotImplementedError

    def order(self) -> Iterable[int]:
        """All pages, in the order in which they would leave, for flush commands; default: upwards.

        Each is stored by itself, if it is dirty. It stays, unless the buffer is one of writes alone.
        """
        raise NotImplementedError

    def flush(self) -> Leaves:
        """Store everything dirty, in the place of `order`; the pages leave unless `how` is "keep"."""
        raise NotImplementedError

    def force(self, first: int, count: int) -> Leaves:
        """Store these pages of one block, as far as they are held; default: one by one."""
        raise NotImplementedError

    def cleaned(self, page: int) -> None:
        """A page has been stored by a flush command, and stays."""
        raise NotImplementedError


# Methods that are called only where a scheme has its own.
_OPTIONAL = ("hit", "admit", "order", "flush", "force", "cleaned")
_REQUIRED = ("insert", "evict", "remove")

Scheme = Buffer | type[Buffer]


@dataclass(frozen=True)
class Brought:
    """A scheme as it goes to the engine: what stands in a configuration, and what makes its methods."""

    table: dict[str, Any]
    pattern: Buffer
    # The hash of the file of each of its classes, where there is one.
    files: dict[str, str]

    def __call__(self, capacity: int, pages_per_block: int, logical_pages: int) -> dict[str, Any]:
        """The methods of a scheme of its own, which has been started."""
        scheme = copy.deepcopy(self.pattern)
        scheme.start(Shape(capacity, pages_per_block, logical_pages))
        methods: dict[str, Any] = {name: getattr(scheme, name) for name in _REQUIRED}
        for name in _OPTIONAL:
            has = getattr(type(scheme), name) is not getattr(Buffer, name)
            methods[name] = getattr(scheme, name) if has else None
        methods["len"] = getattr(scheme, "__len__", None)
        methods["bypass"] = scheme.reads == "bypass"
        methods["pads"] = scheme.pads_blocks
        methods["reason"] = scheme.reason
        return methods

    def looks_like(self, other: Brought) -> bool:
        """Whether tables would show the same of both."""
        return type(self.pattern) is type(other.pattern) and {**self.table, "python": ""} == {
            **other.table,
            "python": "",
        }

    def is_alike(self, other: Brought) -> bool:
        """Whether the objects are equal in all of their attributes, those that no record tells as well."""
        one, two = vars(self.pattern), vars(other.pattern)
        try:
            if one == two:
                return True
        except ValueError:
            pass  # Arrays are neither equal nor different.
        try:
            return pickle.dumps(one) == pickle.dumps(two)
        except (pickle.PicklingError, AttributeError, TypeError):
            return False

    def other_version(self) -> str | None:
        """The first of its classes that came from a module of this process whose file is another one.

        A class that was sent whole, code and all, is what it was.
        """
        for one in _classes(type(self.pattern)):
            found: Any = sys.modules.get(one.__module__)
            for part in one.__qualname__.split("."):
                found = getattr(found, part, None)
            if found is one and self.files.get(_name_of(one)) != _file_hash(one):
                return _name_of(one)
        return None


def is_scheme(value: object) -> bool:
    """Whether it stands for a scheme in Python."""
    return isinstance(value, Buffer) or (isinstance(value, type) and issubclass(value, Buffer))


def brought(scheme: Scheme) -> Brought:
    """The scheme as it goes to the engine.

    Raises:
        ConfigError: it lacks a method, or its name or an option cannot be.
    """
    pattern = scheme() if isinstance(scheme, type) else scheme
    kind = type(pattern)
    name = pattern.name or kind.__name__
    known = [entry["name"] for entry in registry()["buffers"]]
    if name in known:
        raise _core.ConfigError(f"buffer: {kind.__name__} calls itself `{name}`, as a registered scheme does")
    missing = [one for one in _REQUIRED if getattr(kind, one) is getattr(Buffer, one)]
    if missing:
        raise _core.ConfigError(f"buffer: {kind.__name__} has no method `{missing[0]}`")
    if pattern.reads not in ("allocate", "bypass"):
        raise _core.ConfigError(
            f'buffer: {kind.__name__}.reads: found {pattern.reads!r}, expected "allocate" or "bypass"'
        )
    options = {
        key: value
        for key, value in ((key, _plain(value)) for key, value in _attributes(pattern).items())
        if not key.startswith("_") and isinstance(value, bool | int | float | str)
    }
    for key in ("kind", "python"):
        if key in options:
            raise _core.ConfigError(f"buffer: {kind.__name__} has an option `{key}`, a name that is taken")
    files = {_name_of(one): found for one in _classes(kind) if (found := _file_hash(one)) is not None}
    hidden = {key: value for key, value in vars(pattern).items() if key not in options}
    return Brought({"kind": name, "python": _source_hash(kind, hidden), **options}, pattern, files)


def _plain(value: Any) -> Any:
    """A number or text of numpy's as one of Python's."""
    numpy = sys.modules.get("numpy")
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


def _classes(kind: type) -> list[type]:
    """Those of the scheme itself, the most special first."""
    return [one for one in kind.__mro__ if one not in (Buffer, object)]


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _attributes(scheme: Buffer) -> dict[str, Any]:
    """What stands in its classes, the most special last, and in the object itself."""
    found: dict[str, Any] = {}
    for one in reversed(type(scheme).__mro__):
        if one not in (Buffer, object):
            found |= {key: value for key, value in vars(one).items() if key not in vars(Buffer)}
    return {**found, **vars(scheme)}


def _source_hash(kind: type[Buffer], hidden: dict[str, Any]) -> str:
    """What the scheme is: the files of its classes, or their code where there is no file; and `hidden`.

    That is what the object holds beside its options: numbers, texts, lists, tables and arrays count.
    """
    digest = hashlib.sha256()
    if hidden:
        _add(digest.update, hidden, set())
    for one in _classes(kind):
        digest.update(one.__qualname__.encode())
        source = _source_of(one)
        if source is not None:
            digest.update(source)
            continue
        for name, value in sorted(vars(one).items()):
            # Names that begin so and are no methods, such as `__dict__`, are the interpreter's.
            parts = _functions(value) or ([] if name.startswith("__") else [value])
            for part in parts:
                digest.update(name.encode())
                _add(digest.update, part, set())
    return digest.hexdigest()[:32]


def _source_of(kind: type) -> bytes | None:
    try:
        return Path(inspect.getfile(kind)).read_bytes()
    except (TypeError, OSError):
        return None


def _file_hash(kind: type) -> str | None:
    source = _source_of(kind)
    return None if source is None else hashlib.sha256(source).hexdigest()


def _functions(value: Any) -> list[types.FunctionType]:
    """The functions behind an attribute of a class."""
    if isinstance(value, property):
        found = [value.fget, value.fset, value.fdel]
    elif isinstance(value, cached_property):
        found = [value.func]
    else:
        found = [getattr(value, "__func__", value)]
    return [one for one in found if isinstance(one, types.FunctionType)]


def _add(update: Callable[[bytes], None], value: Any, seen: set[int]) -> None:
    """Add code and what it works with, such that each process comes to the same; unknown objects by type."""
    value = _plain(value)
    update(f"<{type(value).__qualname__}>".encode())
    if isinstance(value, bool | int | float | complex | str | bytes | None):
        update(repr(value).encode())
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, types.CodeType):
        update(value.co_code)
        _add(update, (value.co_names, value.co_varnames, value.co_consts), seen)
    elif isinstance(value, types.FunctionType):
        closure = [_inside(cell) for cell in value.__closure__ or ()]
        for part in (value.__code__, value.__defaults__, value.__kwdefaults__, closure):
            _add(update, part, seen)
    elif isinstance(value, type):
        update(_name_of(value).encode())
    elif isinstance(value, list | tuple):
        for item in value:
            _add(update, item, seen)
    elif isinstance(value, dict):
        for key, item in value.items():
            _add(update, key, seen)
            _add(update, item, seen)
    elif isinstance(value, set | frozenset):
        update(repr(sorted(map(repr, value))).encode())
    elif (numpy := sys.modules.get("numpy")) is not None and isinstance(value, numpy.ndarray):
        update(f"{value.dtype} {value.tolist()!r}".encode())


def _inside(cell: types.CellType) -> Any:
    """What a closure holds there; a cell may be empty as yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
