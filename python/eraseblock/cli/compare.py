"""`eraseblock compare`: traces x FTLs x buffer sizes x buffer schemes."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from eraseblock.cli.options import (
    AsJson,
    Events,
    Fresh,
    Jobs,
    Output,
    Prune,
    Sensitivity,
    Sets,
    Verify,
    check_events,
    check_jobs,
    split,
)
from eraseblock.cli.workload import Fit, Workload, WorkloadOptions
from eraseblock.comparison import DEFAULT_DEVICE

USAGE = "eraseblock compare [OPTIONS] TRACE..."
EXAMPLES = """\
Examples:

    eraseblock compare mysql.load.zst
    eraseblock compare a.spc b.spc --buffers lru,bplru --device hbm-2010
    eraseblock compare mysql.load.zst --buffer-size 1MiB,4MiB,16MiB
    eraseblock compare mysql.load.zst --ftls page,bast --json > records.json
    eraseblock compare mysql.load.zst --device hbm-2010 --buffers hbm,bplru --sensitivity
    eraseblock compare big.ascii.zst --fit compact -o out/big
    eraseblock compare server.ebt --volumes 0,2 --ops write,flush --from 1h --until 2h
"""


def compare(
    *traces: str,
    buffers: Annotated[str, Parameter(help="Buffer schemes, as in lru,bplru; all: every one.")] = "all",
    buffer_size: Annotated[
        str | None, Parameter(help="Sizes, as in 1MiB,4MiB; default: the device's.")
    ] = None,
    ftls: Annotated[
        str | None, Parameter(help="FTLs, as in page,bast; all: every one; default: the device's.")
    ] = None,
    device: Annotated[
        str, Parameter(help="Preset of the drive; see `eraseblock list devices`.")
    ] = DEFAULT_DEVICE,
    workload: Workload = None,
    fit: Fit = None,
    set_: Sets = None,
    jobs: Jobs = None,
    verify: Verify = False,
    as_json: AsJson = False,
    output: Output = None,
    fresh: Fresh = False,
    prune: Prune = False,
    sensitivity: Sensitivity = False,
    events: Events = None,
) -> int:
    """Replay TRACES against every combination of buffer scheme, buffer size and FTL, and print a table.

    A combination that cannot be built is named and left out; the others run.

    Args:
        traces: Trace files, plain or packed (.gz, .zst, .bz2, .xz).
    """
    from eraseblock.cli.deliver import Delivery
    from eraseblock.comparison import plan, split_errors

    delivery = Delivery(as_json=as_json, folder=output, fresh=fresh, prune=prune, sensitivity=sensitivity)
    experiments = plan(
        traces,
        buffers=split(buffers, "--buffers"),
        sizes=split(buffer_size, "--buffer-size"),
        ftls=split(ftls, "--ftls"),
        device=device,
        workload={**(workload or WorkloadOptions()).table(), "fit": fit},
        sets=set_ or [],
    )
    return delivery.run(
        experiments, jobs=check_jobs(jobs), verify=verify, events=check_events(events), judge=split_errors
    )
