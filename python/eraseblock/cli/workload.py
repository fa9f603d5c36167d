"""Options that say which requests of a trace are meant, and where they lie on a drive."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from cyclopts import Parameter


@dataclass(frozen=True, kw_only=True)
class WorkloadOptions:
    """Keys of the `[workload]` table; what is not given keeps its default."""

    format: Annotated[str | None, Parameter(help="Trace format; see `eraseblock list formats`.")] = None
    volumes: Annotated[
        str | None,
        Parameter(
            help="A trace of several disks: concat (default), or the numbers of some, as in 0,2,5-7; "
            "a drive for each: each, each:0,2,5-7 or busiest:20."
        ),
    ] = None
    ops: Annotated[
        str | None,
        Parameter(help="r: reads, w: all but reads, rw: all; or some of read,write,trim,flush."),
    ] = None
    from_: Annotated[
        str | None,
        Parameter(name="--from", help="Only requests at this time or later, as in 1h; 0 is the first one's."),
    ] = None
    until: Annotated[str | None, Parameter(help="Only requests before this time, as in 90min.")] = None
    from_byte: Annotated[
        str | None, Parameter(help="Only requests from this address on, as in 100GiB; flushes stay.")
    ] = None
    until_byte: Annotated[str | None, Parameter(help="Only requests below this address.")] = None
    skip: Annotated[int | None, Parameter(help="Pass over the first N of the requests left by then.")] = None
    first: Annotated[int | None, Parameter(help="Only the first N of the requests left by then.")] = None
    time_scale: Annotated[
        float | None, Parameter(help="Multiply times: 2 makes a trace twice as long; default: 1.")
    ] = None

    skip_bad_lines: Annotated[
        bool | None,
        Parameter(negative="", help="Pass over lines and records that are wrong, and count them."),
    ] = None

    def table(self) -> dict[str, Any]:
        """What was given, by the keys of the table."""
        return {key.rstrip("_"): value for key, value in asdict(self).items() if value is not None}


Workload = Annotated[WorkloadOptions | None, Parameter(name="*")]
Fit = Annotated[
    str | None,
    Parameter(
        help="A workload larger than the drive: refuse (default), wrap, compact, clip, scale or remap."
    ),
]
