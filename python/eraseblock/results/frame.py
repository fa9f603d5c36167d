"""Records as a data frame: one row for each, numbers as numbers, sizes in bytes and times in ns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from eraseblock import _core
from eraseblock.arguments import checked
from eraseblock.results.flatten import columns_of
from eraseblock.results.units import bytes_of, nanoseconds_of

if TYPE_CHECKING:
    import polars

Kind = Literal["polars", "pandas", "arrow"]
# Settings are written with their units; names and paths may look the same.
_SETTING = re.compile(r"config\.(?!name$|case$|preset$|workload\.path$)")
_SIZE = re.compile(r"\d+ (?:[KMGT]i)?B|\d+ [kMGT]B")
_TIME = re.compile(r"\d+(?:\.\d+)? (?:ns|us|ms|s)")


@checked
def frame(records: Sequence[Mapping[str, Any]], kind: Kind = "polars") -> Any:
    """A data frame of records: one row each, dotted columns such as `hit_ratio.all` and `config.buffer.size`.

    Sizes are bytes and times ns. The longest lists (`series`, `wear.map`, histograms) are left out.

    Args:
        records: what `run`, `compare` or a device gave.
        kind: `"polars"`; or `"pandas"` or `"arrow"` (a table of pyarrow), where these are installed.

    Raises:
        ConfigError: there is no such kind, or its library is not installed.

    Example:
        >>> import eraseblock as eb
        >>> work = {"generate": {"kind": "uniform", "requests": 1000, "footprint": "1 MiB"}}
        >>> drive = {"preset": "hbm-2010", "precondition": {"state": "empty"}, "workload": work}
        >>> sizes = {"buffer": {"size": ["1 MiB", "2 MiB"]}}
        >>> eb.frame(eb.run({**drive, **sizes}))["config.buffer.size"].to_list()
        [1048576, 2097152]
    """
    if kind not in ("polars", "pandas", "arrow"):
        raise _core.ConfigError(f"frame: there is no `{kind}` (known: polars, pandas, arrow)")
    library = "pyarrow" if kind == "arrow" else kind
    if find_spec(library) is None:
        raise _core.ConfigError(f"frame: {kind} needs the library {library}, which is not installed")
    made = to_frame(records)
    if kind == "arrow":
        return made.to_arrow()
    if kind == "pandas":
        import pandas

        # Column by column: what polars has for it takes yet another library.
        return pandas.DataFrame({name: made[name].to_list() for name in made.columns})
    return made


def to_frame(records: Sequence[Mapping[str, Any]]) -> polars.DataFrame:
    """One row per record, nested keys as dotted columns."""
    import polars

    rows = [columns_of(record) for record in records]
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    columns = {name: _numbers(name, [row.get(name) for row in rows]) for name in names}
    return polars.DataFrame(
        {name: polars.Series(name, values, strict=False) for name, values in columns.items()}
    )


def _numbers(name: str, values: list[Any]) -> list[Any]:
    """The values of a setting without their unit, if all of them have one of a kind."""
    texts = [value for value in values if value is not None]
    if not texts or not _SETTING.match(name) or not all(isinstance(text, str) for text in texts):
        return values
    if all(_SIZE.fullmatch(text) for text in texts):
        return [None if text is None else bytes_of(text) for text in values]
    if all(_TIME.fullmatch(text) for text in texts):
        return [None if text is None else nanoseconds_of(name, text) for text in values]
    return values
