"""What drives the read tail."""

from __future__ import annotations

from eraseblock.advice.answer import Answer, Picture, Table
from eraseblock.advice.case import Case, doubts_of
from eraseblock.explain.sentence import METRIC, PARTS, QUANTILES, sentences
from eraseblock.results import units

ABOUT = "What do the slowest reads wait for?"


def ask(case: Case) -> Answer:
    """Run the drive as it is, and follow each read back through what it waited for."""
    rows, command = case.runs(buffers=[case.scheme()], sets={"metrics": [METRIC]})
    record = rows[0].record
    waits = record.get(METRIC) or {}
    split: dict[str, dict[str, float]] = waits.get("read") or {}
    figures, shown = list[dict[str, object]](), list[list[str]]()
    told = [part for part in PARTS if split and any(split[one][part] for one in QUANTILES)]
    for quantile, words in QUANTILES.items() if split else ():
        means = split[quantile]
        shown.append([words, *(units.duration(means[key]) for key in ("response", *told))])
        figures.append(
            {"reads": words, "response_ns": means["response"], **{part: means[part] for part in told}}
        )
    titles = {"reads": "reads", "response_ns": "mean", **{part: part for part in told}}
    table = Table(titles, figures, shown)
    picture = Picture("bars", "What reads are made of", "reads", "response_ns", parts=tuple(told))
    said = sentences(record, ["read"])
    if said:
        sentence = f"Read tail: {said[0][0].lower()}{said[0][1:]}"
    elif waits:
        sentence = "Read tail: none, as the workload reads nothing."
    else:
        sentence = "Read tail: none, as the run takes no time (host.replay)."
    worst = max(told, key=lambda part: split["p99"][part], default=None) if split else None
    result = {"part": worst, "p99": split.get("p99")}
    return Answer("tail", sentence, doubts_of(rows), table, picture, (command,), result)
