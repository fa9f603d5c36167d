"""`eraseblock tune`: the best designs under a budget."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from eraseblock import _core
from eraseblock.cli.options import AsJson, Jobs, NoCache, Output, Sets, check_jobs, split
from eraseblock.cli.workload import Fit, Workload, WorkloadOptions
from eraseblock.comparison import DEFAULT_DEVICE

USAGE = "eraseblock tune [OPTIONS] TRACE"
EXAMPLES = """\
Examples:

    eraseblock tune mysql.load.zst --ram 16MiB -o out/tune
    eraseblock tune mysql.load.zst --goal mean,WAF --ram 32MiB --spare 0.28 --lifetime 300
    eraseblock tune mysql.load.zst --choose 'buffer.scheme=[lru, fab]' --choose 'ftl.victim=[greedy, cat]'

It needs Optuna: pip install 'eraseblock[tune]'.
"""


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """What is looked for, and where."""

    goal: Annotated[
        str | None, Parameter(help="Columns that are to be good, as in mean,WAF; default: mean.")
    ] = None
    ram: Annotated[str | None, Parameter(help="The largest buffer, as in 16MiB.")] = None
    spare: Annotated[
        float | None, Parameter(help="The most spare flash, as in 0.28 of what the host sees.")
    ] = None
    lifetime: Annotated[float | None, Parameter(help="The fewest terabytes that can be written (TBW).")] = (
        None
    )
    endurance: Annotated[
        int | None, Parameter(help="Erases that a block endures; default: what the preset says, else 3000.")
    ] = None
    choose: Annotated[
        list[str] | None,
        Parameter(
            negative="",
            consume_multiple=False,
            help="A key and its values, as in 'ftl.victim=[greedy, cat]', in the place of the usual choices; "
            "may be repeated.",
        ),
    ] = None
    runs: Annotated[int, Parameter(help="So many designs are run.")] = 60
    seed: Annotated[int, Parameter(help="Another seed looks in another order.")] = 1
    device: Annotated[str, Parameter(help="Preset of the drive; see `eraseblock list devices`.")] = (
        DEFAULT_DEVICE
    )
    set_: Sets = None
    jobs: Jobs = None
    output: Output = None
    as_json: AsJson = False
    no_cache: NoCache = False


Asked = Annotated[TuneOptions | None, Parameter(name="*")]


def tune(trace: str, /, *, asked: Asked = None, workload: Workload = None, fit: Fit = None) -> int:
    """Look for the best designs for TRACE under a budget of RAM, spare flash and lifetime.

    Of all designs that the choices allow it runs few, each time those that promise most after what was seen.
    With several goals it gives the designs that no other betters. The same command goes on where it was
    stopped, if -o names a folder, and a higher --runs adds to it.

    Args:
        trace: The trace file, plain or packed (.gz, .zst, .bz2, .xz).
    """
    from eraseblock.advice.case import Case, Wish
    from eraseblock.advice.lifetime import ENDURANCE
    from eraseblock.overrides import keys_of
    from eraseblock.running import Handling
    from eraseblock.terminal.caller import CommandLine
    from eraseblock.tuning.goals import goals_of
    from eraseblock.tuning.space import Budget, bytes_in, chosen, usual
    from eraseblock.tuning.tune import Tuning

    asked = asked or TuneOptions()
    if asked.runs < 1:
        raise _core.ConfigError(f"--runs: found {asked.runs}, expected 1 or more")
    if not 0 <= asked.seed < 1 << 32:
        raise _core.ConfigError(f"--seed: found {asked.seed}, expected 0 to 4294967295")
    ram = None if asked.ram is None else bytes_in(asked.ram, asked.device)
    budget = Budget(ram, asked.spare, None if asked.lifetime is None else asked.lifetime * 1e12)
    table = {**(workload or WorkloadOptions()).table(), **({} if fit is None else {"fit": fit})}
    wish = Wish(trace, asked.device, table, asked.set_ or [], endurance=asked.endurance)
    handling = Handling(jobs=check_jobs(asked.jobs), folder=asked.output, cache=not asked.no_cache)
    case = Case(wish, handling, CommandLine())
    config = case.config()
    endurance = asked.endurance or int(config["nand"]["endurance"]) or ENDURANCE
    goals = goals_of(split(asked.goal, "--goal"), budget, endurance)
    space = chosen(asked.choose) if asked.choose else usual(config, budget, wish.sets)
    for key in sorted(keys_of(wish.sets) & space.choices.keys()):
        case.caller.notice(f"--set {key} is about no design: --choose {key} says what is tried")
    tuning = Tuning(case, space, goals)
    tuning.run(asked.runs, asked.seed)
    case.whole()
    if asked.as_json:
        sys.stdout.write(json.dumps(tuning.as_json(), indent=2) + "\n")
    else:
        from eraseblock.terminal.console import out
        from eraseblock.terminal.tune import print_tuning

        print_tuning(out(), tuning)
    return 0 if tuning.front else 1
