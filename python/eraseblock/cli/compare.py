"""`eraseblock compare`: traces x FTLs x buffer sizes x buffer schemes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from eraseblock.cli.options import Running, RunOptions, split
from eraseblock.cli.workload import Fit, Workload, WorkloadOptions
from eraseblock.comparison import DEFAULT_BUFFERS, DEFAULT_DEVICE, Comparison

USAGE = "eraseblock compare [OPTIONS] TRACE..."
EXAMPLES = """\
Examples:

    eraseblock compare mysql.load.zst
    eraseblock compare a.spc b.spc --buffers lru,bplru --device hbm-2010,nvme-tlc
    eraseblock compare mysql.load.zst --buffers all --sort read-p99 --columns read-p99,mean,WAF --top 5
    eraseblock compare mysql.load.zst --buffers lru --set 'ftl.victim=["greedy", "cost-benefit", "cat"]'
    eraseblock compare mysql.load.zst --buffer-size 1MiB,4MiB,16MiB
    eraseblock compare mysql.load.zst --ftls page,bast --json > records.json
    eraseblock compare mysql.load.zst --device hbm-2010 --buffers hbm,bplru --sensitivity
    eraseblock compare big.ascii.zst --fit compact -o out/big
    eraseblock compare server.ebt --volumes 0,2 --ops write,flush --from 1h --until 2h
    eraseblock compare fleet.csv.gz --format alibaba --volumes busiest:20 --buffers lru,fab -o out/fleet
"""


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """What is compared."""

    buffers: Annotated[
        str | None,
        Parameter(help="Buffer schemes, as in lru,bplru; all: every one; default: ten that differ."),
    ] = None
    buffer_size: Annotated[str | None, Parameter(help="Sizes, as in 1MiB,4MiB; default: the device's.")] = (
        None
    )
    ftls: Annotated[
        str | None, Parameter(help="FTLs, as in page,bast; all: every one; default: the device's.")
    ] = None
    device: Annotated[
        str, Parameter(help="Presets of drives, as in hbm-2010,nvme-tlc; see `eraseblock list devices`.")
    ] = DEFAULT_DEVICE


Designs = Annotated[DesignOptions | None, Parameter(name="*")]


def compare(
    *traces: str,
    designs: Designs = None,
    workload: Workload = None,
    fit: Fit = None,
    options: Running = None,
) -> int:
    """Replay TRACES against every combination of drive, FTL, buffer size and scheme, and say which to take.

    Below a table of the best it says by how much they are ahead, and whether that can be trusted.
    A combination that cannot be built is named and left out; so is, unless its scheme was named, one that
    would take very long and say nothing but that. The others run.

    Args:
        traces: Trace files, plain or packed (.gz, .zst, .bz2, .xz).
    """
    from eraseblock.cli.deliver import deliver
    from eraseblock.sweeps import split_errors

    designs, options = designs or DesignOptions(), options or RunOptions()
    comparison = Comparison(
        traces,
        buffers=split(designs.buffers, "--buffers") or DEFAULT_BUFFERS,
        sizes=split(designs.buffer_size, "--buffer-size"),
        ftls=split(designs.ftls, "--ftls"),
        device=split(designs.device, "--device"),
        workload={**(workload or WorkloadOptions()).table(), "fit": fit},
        sets=options.set_ or [],
    )
    experiments, left_out = comparison.without_hopeless()
    return deliver(experiments, options, split_errors, left_out)
