"""Which collection policy: which block is collected next."""

from __future__ import annotations

from eraseblock.advice.answer import Answer, Picture, Table
from eraseblock.advice.case import Case, passed_over
from eraseblock.advice.small import cut_down, doubts_here
from eraseblock.names import check
from eraseblock.results import units
from eraseblock.results.conclusion import conclusions_of
from eraseblock.results.contest import Design
from eraseblock.results.evidence import TIE
from eraseblock.results.headline import ERASES, WAF, column_named
from eraseblock.results.wording import listed, named, why_none

ABOUT = "Which collection policy: which block is collected next?"


def ask(case: Case) -> Answer:
    """Compare all victim policies in steady state, with the drive's share of spare flash."""
    drive = cut_down(case)
    spread = column_named("wear-spread", "advise")
    blocks = drive.flash_blocks(drive.spare)
    victims = check("all", "victims", "advise")
    sets = {**drive.sets(), "nand.blocks_per_plane": blocks, "ftl.victim": victims}
    rows, command = case.runs(buffers=[case.scheme()], ftls=["page"], sets=sets, fit="compact")
    contest = conclusions_of(rows, WAF)[0].verdicts[0].contest
    designs = [one for one in contest.ordered(WAF) if one.value(WAF) is not None]
    columns = (WAF, ERASES, spread)
    table = Table(
        {"policy": "policy", **{one.title: one.title for one in columns}},
        [
            {"policy": one.name, **{c.title: one.value(c) for c in columns}, "trusted": one in contest.ranked}
            for one in designs
        ],
        [[one.name, *(c.show(one.value(c)) for c in columns)] for one in designs],
        0 if designs and designs[0] in contest.ranked else None,
    )
    picture = Picture("bars", "Write amplification by collection policy", "policy", WAF.title)
    ranked = [one for one in designs if one in contest.ranked]
    where = (
        f"with {units.share(drive.spare_of(blocks))} spare flash, the drive full of what the trace touches"
    )
    if not ranked:
        sentence = f"Collection: no policy can be named, as {why_none(contest.designs, WAF)}."
        return Answer("gc", sentence, doubts_here(case, rows), table, picture, (command,))
    sentence = f"Collection: {_choice(ranked)}, {where}.{passed_over(designs)}"
    decisive = [*ranked[0].rows, *(row for one in ranked if one.name == "greedy" for row in one.rows)]
    result = {"policy": ranked[0].name, "waf": ranked[0].value(WAF)}
    return Answer("gc", sentence, doubts_here(case, decisive), table, picture, (command,), result)


def _choice(ranked: list[Design]) -> str:
    best, last = ranked[0], ranked[-1]
    lowest, highest = best.value(WAF) or 0.0, last.value(WAF) or 0.0
    if len(ranked) == 1:
        return f"take {named(best)}: write amplification {lowest:.2f}; there is none to compare it with"
    if highest <= lowest * (1 + TIE):
        return f"it makes no difference which block goes next: write amplification is {lowest:.2f} with all"
    level = [one for one in ranked[1:] if (one.value(WAF) or 0.0) <= lowest * (1 + TIE)]
    greedy = next((one for one in ranked if one.name == "greedy"), None)
    text = f"take {named(best)}: write amplification {lowest:.2f}"
    if level:
        text += f", level with {listed(level)}"
    if greedy is not None and greedy is not best and greedy not in level:
        text += f", {greedy.value(WAF):.2f} with `greedy`"
    return f"{text}; the worst is {named(last)} with {highest:.2f}"
