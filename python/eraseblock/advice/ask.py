"""The Python face of `eraseblock advise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eraseblock.advice.answer import as_json
from eraseblock.advice.case import WAF, Case, Wish
from eraseblock.advice.page import keep
from eraseblock.advice.questions import answers, chosen
from eraseblock.arguments import checked
from eraseblock.comparison import DEFAULT_DEVICE
from eraseblock.experiments import Sets, texts_of
from eraseblock.names import as_list
from eraseblock.running import Handling, Quiet


@checked
def advise(
    trace: str | Path,
    *,
    question: str | Sequence[str] = (),
    device: str = DEFAULT_DEVICE,
    workload: Mapping[str, Any] | None = None,
    sets: Sets = (),
    waf: float = WAF,
    endurance: int | None = None,
    jobs: int | None = None,
    out: str | Path | None = None,
) -> dict[str, Any]:
    """Answer questions about a workload on a drive by runs of their own: docs/advice.md says what comes back.

    Args:
        trace: trace file, plain or packed.
        question: `"buffer"`, `"op"`, `"gc"`, `"tail"` or `"lifetime"`, or several; default: all.
        device: preset of the drive.
        workload: further keys of the workload, such as `{"fit": "compact"}`.
        sets: overrides such as `"host.speedup=2"`, or `{"host.speedup": 2}`.
        waf: write amplification that spare flash is to bring.
        endurance: erases that a block endures; default: what the preset says, else 3000.
        jobs: runs at a time; default: one per processor.
        out: folder of results; each run is stored there as it ends, and what is there is not run again.

    Raises:
        ConfigError: a wrong key, value or question.
        InputError: a trace that cannot be read, or does not fit the drive.
        SimulationError: a run that failed on the way.

    Example:
        >>> advise("mysql.load.zst", question="op", waf=1.5)["answers"][0]["result"]  # doctest: +SKIP
        {'waf_goal': 1.5, 'spare': 0.07, 'step': 0.01}
    """
    names = chosen(as_list(question))
    wish = Wish(str(trace), device, workload or {}, texts_of(sets), waf, endurance)
    case = Case(wish, Handling(jobs=jobs, folder=None if out is None else Path(out)), Quiet())
    found = list(answers(case, names))
    case.whole()
    if out is not None:
        keep(found, f"{case.trace_name} on {device}", Path(out))
    return as_json(found, case.trace_name, device)
